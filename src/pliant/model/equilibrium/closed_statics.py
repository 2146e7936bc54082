"""Rest of arms with loops or passive joints: bias = S tau + J^T lambda along the directions that loops leave."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from pliant.arrays import Array
from pliant.errors import PliantError
from pliant.model import buckling
from pliant.model.equilibrium import statics
from pliant.model.equilibrium.force_functions import Applied, applied
from pliant.model.loops import assembly
from pliant.model.loops.loop_motion import directions, flying, require_closed, row_slopes
from pliant.model.small_vibrations import skew
from pliant.model.states import moved
from pliant.options import HeldName

if TYPE_CHECKING:
    from pliant.mechanics.loads.wrenches import Load
    from pliant.model.model import Model

MOST_STEPS = 200
LONGEST_STEP = 0.3
"""Radians or meters of one step towards rest."""
FLAT = 1e-9
"""Curvature of the potential over the largest one, at which a direction is neither held nor driven away."""
ROUNDED = 1e-13
"""Force along a direction over those that cancel in it, at which nothing pushes along it."""
KICKS = 5
"""Times that a rest from which the arm would fall is left, by this many radians."""
KICK = 0.1


def holding_torque(model: Model, q: Array, qd: Array, loads: Sequence[Load], p: ArrayLike | None) -> Array:
    """Torques that balance the actuated joints. Forces of loops balance the others."""
    require_closed(model, q, p, "q")
    driven = [shaft.actuated for shaft in model.layout.shafts]
    force = model.bias(q, qd, p) - applied(model, loads, p, qd)(q)[0]
    J = row_slopes(model, q, p, np.zeros(len(model.constraints))).J
    free = [k for k in range(model.n) if k not in driven]
    return np.asarray((force - J.T @ directions(model, q, free, J, force, p).multipliers)[driven])


def settled(model: Model, q: Array, loads: Sequence[Load], p: ArrayLike | None, held: HeldName) -> Array:
    """Coordinates (n_q,) at stable rest with loops closed and the actuated joints, or their motors, where `q` has them.

    Newton's steps along Z; where the potential does not curve upwards they go downhill. Motors are placed by the
    balance of the joints that they drive.
    """
    layout, shafts = model.layout, model.layout.shafts
    q, by = layout.followed(np.array(q)), assembly.mechanism(model, model.values(p)) if model.constraints else None
    layout.check_travel(q)
    stand = {shaft.index if held == "joints" else shaft.actuated for shaft in shafts}
    motors = {shaft.actuated: shaft.index for shaft in layout.driven} if held == "joints" else {}
    stand |= set(motors)
    if by:
        q = by.closed(q, stand)
        by.require_regular(q, stand)
    stand |= set(flying(model, row_slopes(model, q, p, np.zeros(len(model.constraints))).J))
    free = [k for k in range(model.n) if k not in stand]
    q = downhill(model, by, q, free, loads, p) if free else q
    return _with_motors(model, q, free, motors, applied(model, loads, p), p) if motors else q


def downhill(
    model: Model, by: assembly.Mechanism | None, q: Array, free: list[int], loads: Sequence[Load], p: ArrayLike | None
) -> Array:
    """Coordinates at a stable rest of the free speeds, searched from q on."""
    loaded, stand = applied(model, loads, p), [k for k in range(model.n) if k not in free]
    last, kicks, rng = np.inf, 0, np.random.default_rng(0)
    whole = np.sqrt(np.trace(model.mass_matrix(q, p)[np.ix_(free, free)]))
    for _ in range(MOST_STEPS):
        force, given = loaded(q)
        force = model.bias(q, np.zeros(model.n), p) - force
        J = row_slopes(model, q, p, np.zeros(len(model.constraints))).J
        Z, pull = directions(model, q, free, J, force, p)
        K = Z.T @ (model.stiffness(q, p=p) - given - row_slopes(model, q, p, pull).of_forces) @ Z
        curves, V = np.linalg.eigh((K + K.T) / 2)
        flat = FLAT * np.abs(curves).max(initial=0.0)
        if curves.min(initial=np.inf) > flat:
            y = -np.linalg.solve(K, Z.T @ force)
        else:
            slope = V.T @ Z.T @ force
            pushed = np.abs(slope) > ROUNDED * np.abs(force[free]) @ np.abs(Z[free]).max(axis=1)
            y = -V @ np.where(pushed, slope / np.maximum(np.abs(curves), np.abs(slope) / whole), 0.0)
        size = float(np.linalg.norm(y))
        if size <= statics.CONVERGED * whole or last <= size <= statics.STALLED * whole:
            if curves.min(initial=0.0) >= -flat or kicks == KICKS:
                if curves.min(initial=0.0) < -flat or skew(K):
                    buckling.tell_unstable(model, q, free, loads, p)
                return q
            y, kicks, size = V[:, 0] * KICK * whole * rng.choice([-1, 1]), kicks + 1, np.inf
        step = Z @ y
        step *= min(1.0, LONGEST_STEP / max(np.abs(step).max(), 1e-300))
        q, last = moved(model.layout, q, step), size
        if by:
            q = by.closed(q, stand)
    raise PliantError(
        "equilibrium: no static rest found; passive joints may have nothing to rest on, or the load may exceed what "
        "the links can carry (buckling): hold more joints, stiffen the links or reduce the load"
    )


def _with_motors(
    model: Model, q: Array, free: list[int], motors: dict[int, int], loaded: Applied, p: ArrayLike | None
) -> Array:
    """Put motors where the springs of their gears carry the load of their joints."""
    rows, at = list(motors.values()), statics.places(model, list(motors))
    J = row_slopes(model, q, p, np.zeros(len(model.constraints))).J
    for _ in range(statics.MOST_STEPS):
        force = model.bias(q, np.zeros(model.n), p) - loaded(q)[0]
        force = force - J.T @ directions(model, q, free, J, force, p).multipliers
        step = np.linalg.solve(model.stiffness(q, p=p)[np.ix_(rows, list(motors))], force[rows])
        q[at] -= step
        if np.abs(step).max() <= statics.CONVERGED * max(1.0, np.abs(q[at]).max()):
            return q
    raise PliantError("equilibrium: no place found for the motors of elastic drives; check their stiffness")
