"""Stiffness: the largest eigenvalues of the linearised equations, and the choice of `auto` that follows from them.

An explicit method needs steps of about S/|lambda_max|, whatever the accuracy; a damped implicit one needs to follow
only the modes that the tolerance can see, at a higher price per step.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from .solution import Stiffness

Floats = npt.NDArray[np.float64]
CHEAP_STEPS = 5_000  # an explicit run of so many steps ends within a fraction of a second: accuracy is worth more
LEAST_GAIN = 3.0  # the estimate of gain is rough; below this the explicit method is the safer choice


def difference_jacobian(f: Callable[[Floats], Floats], x: Floats) -> Floats:
    """Central differences of f at x: rates need few digits, and no second kernel has to be compiled."""
    J = np.empty((len(x), len(x)))
    for j in range(len(x)):
        delta = 1e-6 * max(abs(x[j]), 1e-2)
        step = np.zeros(len(x))
        step[j] = delta
        J[:, j] = (f(x + step) - f(x - step)) / (2 * delta)
    return J


def measure(
    J: Floats,
    f: Floats,
    x: Floats,
    *,
    span: float,
    rtol: float,
    atol: Floats,
    n_positions: int,
    stability: float,
    order: int,
    costly_jacobian: bool,
    noise: float = 1.0,
) -> Stiffness:
    """Rates of J and the steps that an explicit method of the given order and the stiff method would take.

    A mode is visible when the excitation at hand (f itself, or a unit acceleration of any one coordinate) drives it
    to more than `noise` times the tolerance, measured on all coordinates but the rates.
    """
    n = len(x)
    rates, V = np.linalg.eig(J)
    W = np.linalg.pinv(V)
    size = np.abs(rates)
    fastest = int(np.argmax(size))
    index = int(np.argmax(np.abs(V[:, fastest] * W[fastest])))  # participation: free of units
    if n_positions <= index < 2 * n_positions:
        index -= n_positions  # a rate and its position move together: name the position
    driven = np.abs(W)[:, n_positions:].max(axis=1) if n_positions else np.zeros(n)
    excitation = np.maximum(np.abs(W @ f), driven)
    counted = np.isfinite(atol)
    counted[n_positions : 2 * n_positions] = False
    weight = atol[counted] + rtol * np.abs(x[counted])
    with np.errstate(divide="ignore", invalid="ignore"):
        amplitude = excitation / size
    reach = (np.abs(V[counted]) / weight[:, None]).max(axis=0) * np.where(size > 0, amplitude, 0.0)
    dies_soon = -rates.real * span > 200.0  # the transient is over within a small part of the span
    visible = float(size[(reach > noise) & ~dies_soon].max(initial=10.0 / span))
    tolerance = min(max(rtol, float(weight.min(initial=1.0))), 1e-2)
    per_visible = 2.0 * tolerance ** (1.0 / (order + 1))
    explicit_steps = span * max(float(size[fastest]) / stability, visible / (3.0 * per_visible))
    stiff_steps = span * visible / (2.0 * tolerance ** (1.0 / 6.0))
    stages = {5: 6, 8: 12}[order]
    stiff_cost = 10.0 + (n if costly_jacobian else n / 4)  # in evaluations of f: stages, Jacobian, linear algebra
    gain = explicit_steps * stages / (stiff_steps * stiff_cost)
    return Stiffness(float(size[fastest]), index, visible, explicit_steps, stiff_steps, gain)


def choose(found: Stiffness, explicit: str) -> tuple[str, str]:
    """The method that `auto` takes, and why."""
    rate = f"fastest rate {found.rate:.3g} 1/s (coordinate {found.index})"
    if found.explicit_steps <= CHEAP_STEPS:
        return explicit, f"{rate}: about {found.explicit_steps:.2g} explicit steps are cheap"
    seen = f"fastest rate the tolerance can see {found.visible_rate:.3g} 1/s"
    if found.gain < LEAST_GAIN:
        return explicit, f"{rate}, {seen}: an implicit method would gain a factor {found.gain:.2g} only"
    return "rodas5p", (
        f"{rate}, {seen}: {explicit} would need {found.explicit_steps:.2g} steps, rodas5p about {found.stiff_steps:.2g}"
    )
