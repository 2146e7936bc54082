"""Stiffness: the largest eigenvalues of the linearized equations, and the choice of `auto` that follows from them.

An explicit method needs steps of about S/|lambda_max|, whatever the accuracy; a damped implicit one needs to follow
only the modes that the tolerance can see, at a higher price per step.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from pliant.arrays import Array, Complex
from pliant.integrators.solution import Stiffness

CHEAP_STEPS = 5_000  # an explicit run of so many steps ends within a fraction of a second: accuracy is worth more
VISIBLE = (
    3.0  # amplitude over tolerance from which a damped method follows a mode: it errs by a third where it does not
)
LEAST_GAIN = 3.0  # the estimate of gain is rough; below this the explicit method is the safer choice


def difference_jacobian(f: Callable[[Array], Array], x: Array) -> Array:
    """Central differences of f at x: rates need few digits, and no second kernel has to be compiled."""
    J = np.empty((len(x), len(x)))
    for j in range(len(x)):
        delta = 1e-6 * max(abs(x[j]), 1e-2)
        step = np.zeros(len(x))
        step[j] = delta
        J[:, j] = (f(x + step) - f(x - step)) / (2 * delta)
    return J


def measure(
    J: Array,
    f: Array,
    x: Array,
    *,
    span: float,
    rtol: float,
    atol: Array,
    n_positions: int,
    stability: float,
    order: int,
    noise: float = 1.0,
) -> Stiffness:
    """Rates of J and the steps that an explicit method of the given order and the stiff method would take.

    Parameters
    ----------
    J, f, x : (n, n), (n,), (n,)
        Jacobian, derivative and state at the start.
    stability, order : float, int
        Stability radius and order of the explicit method.
    noise : float
        Modes below this multiple of the tolerance do not count.
    """
    n = len(x)
    rates, V = np.linalg.eig(J)
    W = np.linalg.pinv(V)
    size = np.abs(rates)
    fastest = int(np.argmax(size))
    index = int(np.argmax(np.abs(V[:, fastest] * W[fastest])))  # participation: free of units
    if n_positions <= index < 2 * n_positions:
        index -= n_positions  # a rate and its position move together: name the position
    counted = np.isfinite(atol)
    counted[n_positions : 2 * n_positions] = False
    shares = np.abs(V[counted]) / (atol + rtol * np.abs(x))[counted, None]
    driven = np.abs(W)[:, n_positions:].max(axis=1) if n_positions else np.zeros(n)  # by a unit acceleration of any one
    excitation = np.maximum(np.abs(W @ f), driven)
    amplitude = np.sqrt(np.mean(shares**2, axis=0)) * excitation / np.maximum(size, 1e-9 / span)
    lasting = _lasting(amplitude / (VISIBLE * noise), rates, span)
    mean = np.where(lasting < span, np.sqrt(np.maximum(amplitude, 1.0)), np.maximum(amplitude, 1.0))  # over its decay
    explicit_steps = _steps(size * mean ** (1 / (order + 1)) / 6, lasting, span, float(size[fastest]) / stability)
    stiff_steps = _steps(size * mean ** (1 / 6) / 2, lasting, span, 0.0)
    explicit_cost, stiff_cost = {5: 6, 8: 12}[order], 10 + n  # evaluations of f; a Jacobian costs about n of them
    gain = float(explicit_steps * explicit_cost / (stiff_steps * stiff_cost))
    visible = _steps(size, lasting, span, 0.0) / span
    return Stiffness(float(size[fastest]), index, visible, explicit_steps, stiff_steps, gain)


def _lasting(reach: Array, rates: Array | Complex, span: float) -> Array:
    """Time for which each mode stays visible as it decays; `reach` is its first amplitude over the visible one.

    A mode that grows until it is visible counts from the start: a damped method would hold it down.
    """
    decay = np.maximum(-rates.real, 1e-9 / span)
    seen = np.log(np.maximum(reach, np.finfo(float).tiny)) + rates.real * span > 0.0
    fading = np.minimum(np.log(np.maximum(reach, 1.0)) / decay, span)
    return np.where((rates.real > 0.0) & seen, span, fading)


def _steps(demand: Array, lasting: Array, span: float, at_least: float) -> float:
    """Steps over the span, with the rate at each moment set by the most demanding visible mode; `demand` in steps/s."""
    floor = max(20.0 / span, at_least)
    steps, reached = 0.0, 0.0
    for k in np.argsort(-demand):
        if lasting[k] > reached:
            steps += max(float(demand[k]), floor) * (float(lasting[k]) - reached)
            reached = float(lasting[k])
    return steps + floor * (span - reached)


def choose(found: Stiffness, explicit: str) -> tuple[str, str]:
    """The method that `auto` takes, and why."""
    rate = f"fastest rate {found.rate:.3g} 1/s (coordinate {found.index})"
    if found.explicit_steps <= CHEAP_STEPS:
        return explicit, f"{rate}: about {found.explicit_steps:.2g} explicit steps are cheap"
    seen = f"on average the tolerance can see {found.visible_rate:.3g} 1/s"
    if found.gain < LEAST_GAIN:
        return explicit, f"{rate}, {seen}: an implicit method would gain a factor {found.gain:.2g} only"
    return "rodas5p", (
        f"{rate}, {seen}: {explicit} would need {found.explicit_steps:.2g} steps, rodas5p about {found.stiff_steps:.2g}"
    )
