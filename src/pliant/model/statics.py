"""Static rest and small vibrations of an arm under gravity and loads."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from pliant.algebra.pencil import ROOM, natural_modes
from pliant.arrays import Array
from pliant.derived import Same
from pliant.errors import ModelError, PliantError
from pliant.signatures import require_loads

if TYPE_CHECKING:
    from pliant.model.model import Model

Applied = Callable[[ArrayLike], tuple[Array, Array]]
"""q -> generalised forces (n,) and their slopes (n, n)."""
MOST_STEPS = 50
CONVERGED = 1e-13
"""Newton step over what has settled so far, both measured by their strain energy, at which the rest is found."""
STALLED = 1e-8
"""Newton steps that no longer shrink are rounding if they are this small: a true one of half the digits is the last."""
SYMMETRIC = 1e-9
"""Skew part of the stiffness over its largest entry, coordinates measured by their inertia: rounding leaves 1e-15."""
ROUNDING = 2.0**-50
"""Change of angles (radians) and of other coordinates (relative) that shows what rounding does to the stiffness."""


def applied(model: Model, loads: Sequence[Any], p: ArrayLike | None) -> Applied:
    """Forces of the loads on the arm at rest at t = 0."""
    n = model.n
    if not len(loads):
        return lambda q: (np.zeros(n), np.zeros((n, n)))
    require_loads(loads)
    q, rest, values = ca.SX.sym("q", n), ca.SX.zeros(n), model.values(p)
    Q = sum((load.expression(model.chain, ca.SX(0), q, rest) for load in loads), ca.SX.zeros(n))
    function = ca.Function("applied", [q, model.parameter_symbols], [Q, ca.densify(ca.jacobian(Q, q))])

    def at(state: ArrayLike) -> tuple[Array, Array]:
        force, slope = function(np.asarray(state, dtype=float), values)
        return np.array(force, dtype=float).ravel(), np.array(slope, dtype=float)

    return at


def resting(model: Model) -> tuple[list[int], list[int]]:
    """Coordinates that settle at static rest with the joints held, and the rows of the balance that place them.

    Amplitudes have rows of their own; a motor is placed by the balance of the joint that it drives.
    """
    motors = {link.drive.index: link.shaft for link in model.chain.links if link.drive is not None}
    unknown = list(range(model.n_joints, model.n))
    return unknown, [int(motors.get(k, k) or 0) for k in unknown]


def equilibrium(model: Model, joints: ArrayLike, loads: Sequence[Any], p: ArrayLike | None) -> Array:
    """Coordinates (n,) at rest with the joints held, by Newton's method from the straight arm."""
    n, m = model.n, model.n_joints
    given = np.asarray(joints, dtype=float)
    if given.shape != (m,) or not np.isfinite(given).all():
        raise ModelError(f"joints: got {joints!r}, expected {m} finite numbers ({', '.join(model.joints)})")
    q = np.concatenate([given, np.zeros(n - m)])
    model.chain.check_travel(q)
    for link in model.chain.links:
        if link.drive is not None:
            q[link.drive.index] = q[link.shaft]
    unknown, rows = resting(model)
    if not unknown:
        return q
    forces, zero, last = applied(model, loads, p), np.zeros(n), np.inf
    for _ in range(MOST_STEPS):
        force, slope = forces(q)
        residual = (model.bias(q, zero, p) - force)[rows]
        K = (model.stiffness(q, p=p) - slope)[np.ix_(rows, unknown)]
        try:
            step = np.linalg.solve(K, residual)
        except np.linalg.LinAlgError:
            break
        q[unknown] -= step
        weight = np.sqrt(np.abs(np.diag(K)))  # squares of amplitudes times it are energies, whatever their units
        size, whole = float(np.linalg.norm(weight * step)), float(np.linalg.norm(weight * q[unknown]))
        if size <= CONVERGED * whole or last <= size <= STALLED * whole:
            return q
        last = size
    raise PliantError(
        f"equilibrium: no static rest found near the straight arm at joints {given}; "
        "the load may exceed what the links can carry (buckling): stiffen the links or reduce the load"
    )


def rest_slope(model: Model, q: ArrayLike, loads: Sequence[Any] = (), p: ArrayLike | None = None) -> Array:
    """(n, P) derivative of the state of static rest `q` by the parameters, joints held: -K^-1 d(force)/dp."""

    def slopes() -> Any:
        x, rest, symbols = ca.SX.sym("q", model.n), ca.SX.zeros(model.n), model.parameter_symbols
        force = model.equations.bias(x, rest)
        force -= sum((load.expression(model.chain, ca.SX(0), x, rest) for load in loads), rest)
        return ca.Function("slopes", [x, symbols], [ca.jacobian(force, x), ca.jacobian(force, symbols)])

    function = model.derived("slopes of rest", tuple(map(Same, loads)), slopes)
    K, by_p = (np.array(ca.densify(o), dtype=float) for o in function(q, model.values(p)))
    unknown, rows = resting(model)
    slope = np.zeros((model.n, len(model.parameters)))
    if unknown:
        slope[unknown] = -np.linalg.solve(K[np.ix_(rows, unknown)], by_p[rows])
    return slope


def modes(model: Model, q: Array, free: list[int], loads: Sequence[Any], p: ArrayLike | None) -> tuple[Array, Array]:
    """Squared frequencies, ascending, and mode shapes (n, modes) of the free coordinates about q."""
    if not free:
        return np.zeros(0), np.zeros((model.n, 0))
    K, M = model.stiffness(q, loads, p), model.mass_matrix(q, p)
    if not (np.isfinite(K).all() and np.isfinite(M).all()):
        raise PliantError("frequencies: M or K has NaN at this q, expected finite numbers; check the robot's own")
    size = np.sqrt(np.diag(M))
    scaled = K / np.outer(size, size)
    if np.abs(scaled - scaled.T).max() > SYMMETRIC * np.abs(scaled).max():
        raise ModelError(
            "loads: a load that follows the arm has no potential, and the arm under it no real modes; "
            "give it in base axes, or ask linearize"
        )
    shapes = np.zeros((model.n, len(free)))
    squares, shapes[free] = natural_modes(*(X[np.ix_(free, free)] for X in (K, M, _rounding(model, K, q, loads, p))))
    return squares, shapes


def damping_ratios(model: Model, q: Array, free: list[int], p: ArrayLike | None) -> Array:
    """Ratio of each mode of the free coordinates about q to first order, phi^T D phi / 2 omega; NaN without a
    frequency."""
    squares, Phi = modes(model, q, free, (), p)
    D = -model.mass_matrix(q, p) @ model.linearize(q, p=p).A[model.n :, model.n :]
    omega = np.sqrt(np.where(squares > 0, squares, np.nan))
    return np.asarray(np.einsum("ik,ij,jk->k", Phi, D, Phi) / (2 * omega))


def _rounding(model: Model, K: Array, q: Array, loads: Sequence[Any], p: ArrayLike | None) -> Array:
    """What rounding may have left in each entry of the stiffness K at q: how much it moves with the last bits of q.

    Gravity does not hold a joint with a vertical axis, but its moments about the axis cancel to rounding only.
    """
    angles = np.zeros(model.n)
    for link in model.chain.links:
        if link.joint_index is not None and link.joint.turns:
            angles[link.joint_index] = 1.0
    random = np.random.default_rng(0)
    nearby = (q + ROUNDING * random.uniform(-1, 1, model.n) * (np.abs(q) + angles) for _ in range(3))
    return np.asarray(ROOM * np.max([np.abs(model.stiffness(state, loads, p) - K) for state in nearby], axis=0))
