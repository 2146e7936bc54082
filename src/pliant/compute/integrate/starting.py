"""Start and breakdown of a run: its first step, its least step, and the message for an early end."""

from __future__ import annotations

import numpy as np

from pliant.arrays import Array
from pliant.compute.integrate.loop_state import Clock, LoopStatus
from pliant.compute.integrate.methods import error_power
from pliant.compute.integrate.state import State
from pliant.compute.integrate.step_control import LEAST_FIRST, first_step

#: A step this small a part of the span would take 1e13 like it: a breakdown, not patience.
HOPELESS = 1e-13


def least_step(t0: float, t1: float) -> float:
    """Length below which a run from t0 to t1 takes no step."""
    return max(4 * float(np.spacing(max(abs(t0), abs(t1)))), HOPELESS * (t1 - t0))


def first_guess(state: State, method: str, span: float, slope: Array, rtol: float, atol: Array) -> float:
    """Hairer's estimate of a first step within `span` from f and its change along an Euler step, [HW] II.4."""
    t, x, m = float(state.clock[Clock.T]), state.x.copy(), state.problem.n_positions
    weight = atol + rtol * np.abs(x)
    if method == "rodas5p":
        weight[m : 2 * m] = np.inf

    def norm(v: Array) -> float:
        scaled = np.abs(v / weight)
        largest = scaled.max()  # taken out of the squares, which would overflow on absurd rates
        if not 0 < largest < np.inf:
            return float(largest)
        return float(largest * np.sqrt(np.mean((scaled / largest) ** 2)))

    d0, d1 = norm(x), norm(slope)
    h0 = min(first_step(d0, d1), span)
    if h0 == 0.0:
        return 1.0
    bend = norm(state.evaluate(t + h0, x + h0 * slope) - slope) / h0
    largest = max(d1, bend)
    h1 = max(LEAST_FIRST, 1e-3 * h0) if largest <= 1e-15 else (0.01 / largest) ** (1.0 / error_power(method))
    return float(min(100 * h0, h1, span)) if np.isfinite(h1) else h0


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
