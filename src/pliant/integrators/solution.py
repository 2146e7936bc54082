"""Results of a run: rows, events, costs, and the reason of an early end."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from pliant.arrays import Array
from pliant.integrators.step_loops.loop_state import LoopStatus

Status = Literal["finished", "event", "stopped", "interrupted", "failed"]


@dataclass(frozen=True)
class Stiffness:
    """Rates of the linearized equations, and the steps that each method would need.

    Attributes
    ----------
    rate : float
        Largest \\|lambda\\| of df/dx, 1/s.
    index : int
        Coordinate with the largest part in that eigenvector.
    visible_rate : float
        Largest \\|lambda\\| among the modes whose amplitude the tolerance can see, averaged over the span.
    explicit_steps, stiff_steps : float
        Estimated steps over the span.
    gain : float
        Estimated cost of the explicit run over that of the stiff one.
    """

    rate: float
    index: int
    visible_rate: float
    explicit_steps: float
    stiff_steps: float
    gain: float


@dataclass(frozen=True)
class Stats:
    """Cost of a run, the method that ran and why.

    `crawling` is true when an explicit method was held back by stability and not by accuracy for long; `stiffness`
    then names the coordinate. `over` counts fixed steps that may have leapt over what the arm meets.
    """

    method: str
    reason: str
    steps: int
    rejected: int
    rhs: int
    jacobians: int
    factorizations: int
    wall: float
    crawling: bool = False
    stiffness: Stiffness | None = None
    over: int = 0


@dataclass(frozen=True)
class EventLog:
    """Events in order of time: `index` is the number of the function, `x` the state there."""

    t: Array
    x: Array
    index: npt.NDArray[np.int64]


@dataclass(frozen=True)
class Failure:
    """Where a run broke down: time, the step that was tried, and the coordinate that went first."""

    kind: Literal["non-finite", "step underflow", "no convergence", "runaway", "singular", "sundials"]
    t: float
    step: float
    index: int


@dataclass(frozen=True)
class Solution:
    """Rows at the requested times (or at every step), up to where the run came.

    `t_end`, `x_end` is the last state reached, even where no row was asked for.
    """

    t: Array
    x: Array
    status: Status
    message: str
    stats: Stats
    t_end: float
    x_end: Array
    events: EventLog
    failure: Failure | None = None


def breakdown(status: int, t1: float, least: float) -> tuple[str, str]:
    """Kind and message of the failure of a run to `t1` that takes no step below `least`."""
    if status == LoopStatus.NONFINITE:
        return "non-finite", "the state stopped being finite"
    if status == LoopStatus.UNDERFLOW:
        said = f"a run to {t1:g} s takes none below {least:.2g} s"
        return "step underflow", f"the step became too small to advance ({said})"
    if status == LoopStatus.RUNAWAY:
        return "runaway", "the run ran away"
    if status == LoopStatus.SINGULAR:
        return "singular", "the loops cannot be closed: their position is singular, or the step was too long"
    return "no convergence", "Newton's iteration did not converge; take a smaller step"


def stopped(limit: str, t: float) -> str:
    """Message of a run that met a limit of its caller."""
    return f"{limit} at t = {t:.6g} s"
