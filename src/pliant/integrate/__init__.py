"""Integration of ordinary differential equations by compiled stepping loops. Knows no robot."""

from pliant.integrate.driver import solve
from pliant.integrate.loop_state import EventKind
from pliant.integrate.problem import CompiledTicks, Events, Hold, Jumps, Problem, SampledInput
from pliant.integrate.settings import METHODS
from pliant.integrate.solution import EventLog, Failure, Solution, Stats, Stiffness
from pliant.integrate.sundials import MULTISTEP

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
