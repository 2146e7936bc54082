"""Integration of ordinary differential equations by compiled stepping loops. Knows no robot."""

from pliant.compute.integrate.driver import solve
from pliant.compute.integrate.problem import CompiledTicks, Events, Hold, Jumps, Problem, SampledInput
from pliant.compute.integrate.settings import METHODS
from pliant.compute.integrate.solution import EventLog, Failure, Solution, Stats, Stiffness
from pliant.compute.integrate.step_loops.loop_state import EventKind
from pliant.compute.integrate.sundials import MULTISTEP

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
