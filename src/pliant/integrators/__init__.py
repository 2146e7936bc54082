"""Integrators: methods, steps and their lengths, events, for one arm and for many. Nothing here uses a robot."""

from pliant.integrators.driver import solve
from pliant.integrators.problem import CompiledTicks, Events, Hold, Jumps, Problem, SampledInput
from pliant.integrators.settings import METHODS
from pliant.integrators.solution import EventLog, Failure, Solution, Stats, Stiffness
from pliant.integrators.step_loops.loop_state import EventKind
from pliant.integrators.sundials import MULTISTEP

__all__ = [
    "METHODS",
    "MULTISTEP",
    "CompiledTicks",
    "EventKind",
    "EventLog",
    "Events",
    "Failure",
    "Hold",
    "Jumps",
    "Problem",
    "SampledInput",
    "Solution",
    "Stats",
    "Stiffness",
    "solve",
]
