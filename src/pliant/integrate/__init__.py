"""Integration of ordinary differential equations by compiled stepping loops. Knows no robot."""

from .arguments import METHODS
from .driver import solve
from .problem import Events, Hold, Jumps, Problem, Samples
from .solution import EventLog, Failure, Solution, Stats, Stiffness

__all__ = [
    "METHODS",
    "EventLog",
    "Events",
    "Failure",
    "Hold",
    "Jumps",
    "Problem",
    "Samples",
    "Solution",
    "Stats",
    "Stiffness",
    "solve",
]
