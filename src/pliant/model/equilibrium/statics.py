"""Rest of an arm under gravity and loads, with its joints standing or spinning steadily."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from pliant.arrays import Array, StateLike
from pliant.base.later import LaterModule
from pliant.errors import ModelError, PliantError
from pliant.model.buckling import curves_upwards, growing, tell_unstable
from pliant.model.equilibrium.steady_spin import STEADY, require_steady, steady_rates
from pliant.model.states import EQUILIBRIUM, read_state
from pliant.model.validity import bent_beams, steep, tell
from pliant.options import HeldName
from pliant.robot.parts.angles import in_radians

if TYPE_CHECKING:
    from pliant.mechanics.loads.wrenches import Load
    from pliant.model.equilibrium import closed_statics, force_functions, loop_statics
    from pliant.model.loops import loop_motion
    from pliant.model.model import Model
else:  # the rest of a known arm needs no expressions
    closed_statics, force_functions, loop_motion, loop_statics = (
        LaterModule(f"pliant.{name}")
        for name in (
            "model.equilibrium.closed_statics",
            "model.equilibrium.force_functions",
            "model.loops.loop_motion",
            "model.equilibrium.loop_statics",
        )
    )

MOST_STEPS = 50
CONVERGED = 1e-13
"""Newton step over what has settled so far, both measured by their strain energy, at which the rest is found."""
STALLED = 1e-8
"""Newton steps that no longer shrink are rounding if they are this small: a true one of half the digits is the last."""
PIECES = 8
"""Pieces of a beam that buckles. At 1.5 of the buckling load its tip turns within 0.02 degrees of the exact rod."""


def holding_torque(model: Model, q: Array, qd: Array, loads: Sequence[Load], p: ArrayLike | None) -> Array:
    """Return the torques under which no actuated joint accelerates."""
    if not model.layout.is_open:
        return closed_statics.holding_torque(model, q, qd, loads, p)
    rows = [shaft.actuated for shaft in model.layout.shafts]
    load = force_functions.applied(model, loads, p, qd)(q)[0] if len(loads) else 0.0
    return np.asarray((model.bias(q, qd, p) - load)[rows])


def resting(model: Model, held: HeldName = "joints") -> tuple[list[int], list[int]]:
    """Coordinates that settle with the joints or the motors held, and the rows of the balance that place them.
    Amplitudes have rows of their own, as do joints behind motors that are held. A motor is placed by the balance of its
    joint.

    Amplitudes have rows of their own, and joints behind motors that are held; a motor is placed by the balance of the
    joint that it drives.
    """
    drives = {shaft.actuated: shaft.index for shaft in model.layout.driven}
    joints = model.layout.joint_speeds
    unknown = [k for k in range(model.n) if k not in joints]
    if held == "joints":
        return unknown, [drives.get(k, k) for k in unknown]
    unknown = [*drives.values(), *(k for k in unknown if k not in drives)]
    return unknown, unknown


def places(model: Model, speeds: list[int]) -> list[int]:
    """Places of the coordinates whose rates these speeds are."""
    return [model.coordinates.index(model.speeds[k]) for k in speeds]


def equilibrium(
    model: Model, joints: StateLike, loads: Sequence[Load], p: ArrayLike | None, held: HeldName = "joints",
    rates: StateLike | None = None, stable: bool = False,
) -> Array:  # fmt: skip
    """Coordinates (n,) at rest, or in steady spin, with the joints or the motors held, by Newton's method from the
    straight arm. With `stable`, go on from an unstable rest to a stable one."""
    m = model.n_joints
    if not model.layout.is_open:
        loop_motion.require_held_still(model, rates)
        return closed_statics.settled(model, read_state(model, joints, "joints"), loads, p, held)
    try:
        given = np.asarray(in_radians(joints), dtype=float)
    except (TypeError, ValueError):
        given = np.full(0, np.nan)
    if given.shape != (m,) or not np.isfinite(given).all():
        raise ModelError(f"joints: got {joints!r}, expected {m} finite numbers ({', '.join(model.joints)})")
    q = np.zeros(model.n_q) if model.layout.plain else model.layout.rest()
    q[model.layout.shaft_places()] = given
    return (_settled_stably if stable else settled)(model, q, loads, p, held, rates)


def _settled_stably(
    model: Model, q: Array, loads: Sequence[Load], p: ArrayLike | None, held: HeldName, rates: StateLike | None
) -> Array:
    """Newton's rest if it is stable, else the one that lies downhill of the undeformed arm."""
    free = _settling(model, held)
    try:
        rest, K = _newton(model, q, loads, p, held, rates)
    except PliantError:
        if rates is not None:
            raise
    else:
        growth = None if curves_upwards(K) else growing(model, rest, free, loads, p, rates)
        if growth is None:
            return rest
        if growth.follows:
            raise PliantError(
                f"stable: got an unstable rest ({growth.words}) of an arm that spins or under loads that follow it, "
                "which have no potential and no rest downhill; give loads in base axes, or reduce them"
            )
    try:
        found = closed_statics.downhill(model, None, model.layout.followed(q.copy()), free, loads, p)
        return settled(model, found, loads, p) if held == "joints" else found  # with the motors that joints place
    except PliantError:
        whole = [beam.name for beam in bent_beams(model) if len(beam.pieces) == 1 and not beam.slides]
        remedy = f"; a beam in one piece has small deflections only: write `pieces: {PIECES}` in the beam of "
        raise PliantError(
            "stable: no stable rest found; stiffen the links or reduce the load"
            + (remedy + ", ".join(whole) if whole else "")
        ) from None


def _settling(model: Model, held: HeldName) -> list[int]:
    """Speeds that settle by their own balances. Motors are not among them: their joints place them."""
    return [k for k, row in zip(*resting(model, held)) if k == row]


def state_or_rest(
    model: Model,
    q: StateLike | None,
    p: ArrayLike | None = None,
    loads: Sequence[Load] = (),
    rates: StateLike | None = None,
) -> Array:
    """Coordinates as given, with loops closed if only some are given, or those of rest if none are."""
    if q is None or (isinstance(q, str) and q == EQUILIBRIUM):
        return rest(model, loads, p, rates)
    return _closed(model, q, p)


def _closed(model: Model, q: StateLike | None, p: ArrayLike | None) -> Array:
    """Coordinates as given, with loops closed."""
    return loop_motion.closed_state(model, q, p) if model.constraints else read_state(model, q)


def rest(model: Model, loads: Sequence[Load] = (), p: ArrayLike | None = None, rates: StateLike | None = None) -> Array:
    """Coordinates (n_q,) at rest, or in steady spin, with the joints as they are described. For a free base that falls,
    or that loads would move, those of the undeformed arm."""
    q = _closed(model, None, p)
    pushed = len(loads) > 0 or rates is not None or gravity_of(model, p).any()
    if pushed if model.layout.first else not (pushed or _is_pressed(model)):
        return q
    if any(coupling.states for coupling in model.layout.commanded):
        return loop_statics.rest_on_couplings(model, q, loads, p)
    found = settled(model, q, loads, p, rates=rates)
    tell(model, steep(model, found))
    return found


def _is_pressed(model: Model) -> bool:
    """Return whether something besides gravity, loads and spin may bend an arm at rest, or move its joints."""
    robot, layout = model.robot, model.layout
    return bool(robot.couplings or robot.contacts or layout.driven or not layout.is_open)


def settled(
    model: Model, q: Array, loads: Sequence[Load] = (), p: ArrayLike | None = None, held: HeldName = "joints",
    rates: StateLike | None = None,
) -> Array:  # fmt: skip
    """Coordinates (n_q,) at rest, or in steady spin, with the joints (and a free base) where `q` has them. Warn of an
    unstable rest."""
    if not model.layout.is_open:
        return closed_statics.settled(model, q, loads, p, held)
    found, K = _newton(model, q, loads, p, held, rates)
    if not curves_upwards(K):
        tell_unstable(model, found, _settling(model, held), loads, p, rates)
    return found


def _newton(
    model: Model, q: Array, loads: Sequence[Load], p: ArrayLike | None, held: HeldName, rates: StateLike | None
) -> tuple[Array, Array]:
    """Coordinates (n_q,) of an open arm at rest, stable or not, and the stiffness of the coordinates that settle by
    their own balances."""
    n, q = model.n, model.layout.followed(q.copy())
    model.layout.check_travel(q)
    unknown, rows = resting(model, held)
    at = places(model, unknown)
    qd = np.zeros(n) if rates is None else steady_rates(model, rates)
    if rates is not None and unknown:
        require_steady(model, q, qd, loads, p, rows)
    if not unknown:
        return q, np.zeros((0, 0))
    loaded, last = None, np.inf
    if len(loads):
        loaded = force_functions.applied(model, loads, p, qd if rates is not None else None)
    if _has_play(model):
        _press(model, q, model.bias(q, qd, p) - (0.0 if loaded is None else loaded(q)[0]), p, held)
    for _ in range(MOST_STEPS):
        force, slope = (0.0, 0.0) if loaded is None else loaded(q)
        residual = (model.bias(q, qd, p) - force)[rows]
        K = model.stiffness(q, p=p) - slope if rates is None else force_functions.slopes(model, q, qd, loads, p)[0]
        K = K[np.ix_(rows, unknown)]
        try:
            step = np.linalg.solve(K, residual)
        except np.linalg.LinAlgError:
            if not _has_play(model):
                break
            step = np.linalg.lstsq(K, residual, rcond=None)[0]  # what carries nothing stays where it is in its play
        q[at] -= step
        weight = np.sqrt(np.abs(np.diag(K)))  # squares of amplitudes times it are energies, whatever their units
        size, whole = float(np.linalg.norm(weight * step)), float(np.linalg.norm(weight * q[at]))
        if size <= CONVERGED * whole or last <= size <= STALLED * whole:
            if rates is not None:
                require_steady(model, q, qd, loads, p, rows)
            own = np.equal(rows, unknown)
            return q, K[np.ix_(own, own)]
        last = size
    raise PliantError(
        f"equilibrium: no static rest found near the straight arm at joints {_positions(model, q)}; "
        "the load may exceed what the links can carry (buckling): stiffen the links, reduce the load, or give "
        "stable=True and `pieces` in their beams"
    )


def _has_play(model: Model) -> bool:
    """Return whether a gear has play. Inside the play its motor has no place of its own."""
    freedoms = (freedom for link in model.robot.links for freedom in link.joint.freedoms)
    return any(freedom.elastic and freedom.drive.play for freedom in freedoms)


def _press(model: Model, q: Array, load: Array, p: ArrayLike | None, held: HeldName) -> None:
    """Press the teeth of elastic gears together, as far as the loads (n,) of their joints bend the springs."""
    for shaft, twist in zip(model.chain.driven, force_functions.spring_twists(model, load, p)):
        assert shaft.drive is not None
        if held == "motors":
            q[shaft.place] = q[shaft.drive.place] - twist
        else:
            q[shaft.drive.place] = q[shaft.place] + twist


def settled_arms(model: Model, q: Array, p: Array | None = None) -> Array:
    """Coordinates (B, n_q) of many arms at rest under gravity, the joints where `q` has them; parameters are (B, P)."""
    if _has_play(model):
        values = [None] * len(q) if p is None else np.broadcast_to(p, (len(q), np.shape(p)[-1]))
        return np.array([settled(model, x, (), v) for x, v in zip(q, values)])
    q, (unknown, rows) = np.array(q, dtype=float), resting(model)
    at, still, last = places(model, unknown), np.zeros((len(q), model.n)), np.inf
    for _ in range(MOST_STEPS if unknown else 0):
        K = np.atleast_3d(model.stiffness(q, p=p))[:, rows][:, :, unknown]
        step = np.linalg.solve(K, model.bias(q, still, p)[:, rows, None])[..., 0]
        q[:, at] -= step
        weight = np.sqrt(np.abs(np.diagonal(K, axis1=1, axis2=2)))
        size, whole = (np.linalg.norm(weight * x, axis=1) for x in (step, q[:, at]))
        if ((size <= CONVERGED * whole) | ((last <= size) & (size <= STALLED * whole))).all():
            own = np.equal(rows, unknown)
            if not curves_upwards(K[:, own][:, :, own]):
                values = [None] * len(q) if p is None else np.broadcast_to(p, (len(q), np.shape(p)[-1]))
                for x, v in zip(q, values):
                    tell_unstable(model, x, _settling(model, "joints"), (), v)
            return q
        last = size
    if unknown:
        raise PliantError("equilibrium: an arm finds no static rest near the straight one; stiffen its links")
    return q


def _positions(model: Model, q: Array) -> Array:
    return q[[shaft.place for shaft in model.layout.shafts if shaft.place is not None]]


def rest_slope(
    model: Model, q: ArrayLike, loads: Sequence[Load] = (), p: ArrayLike | None = None, named: Collection[int] = ()
) -> Array:
    """Derivative (n_q, P) of the state of static rest `q` by the parameters with joints held, -K^-1 d(force)/dp. Arms
    with loops, passive joints or cylinders use their balance, in which `named` joints stand if others can follow."""
    if not model.layout.is_open or any(coupling.states for coupling in model.layout.commanded):
        along = loop_statics.slope_of_rest(model, np.asarray(q), loads, p, named)
        slope = np.zeros((model.n_q, along.shape[1]))
        known = [k for k, name in enumerate(model.speeds) if name in model.coordinates]
        slope[places(model, known)] = along[known]
        return slope

    K, by_p = force_functions.rest_force_slopes(model, q, loads, p)
    unknown, rows = resting(model)
    slope = np.zeros((model.n_q, len(model.parameters)))
    if unknown:
        slope[places(model, unknown)] = -np.linalg.solve(K[np.ix_(rows, unknown)], by_p[rows])
    return slope


def gravity_of(model: Model, p: ArrayLike | None) -> Array:
    """(3,) acceleration of free fall with these parameters."""
    if not model.parameters:
        return np.array(model.robot.gravity, dtype=float)
    return force_functions.gravity(model, p)


def require_no_fall(model: Model, p: ArrayLike | None) -> None:
    """Raise `ModelError` for a free base under gravity."""
    gravity = gravity_of(model, p) if model.layout.first else np.zeros(3)
    if gravity.any():
        raise ModelError(
            f"gravity: got {gravity.tolist()} on a free base, which falls; set gravity to [0, 0, 0], or hold the base "
            "by base: {type: fixed}"
        )


def require_balance(
    model: Model, q: Array, loads: Sequence[Load], p: ArrayLike | None, rates: StateLike | None
) -> None:
    """Raise `ModelError` for a free base that loads, or spinning links, would move."""
    if not model.layout.first:
        return
    qd, base = steady_rates(model, rates), model.layout.base_speeds
    parts = [force_functions.applied(model, [load], p, qd)(q)[0][base] for load in loads]
    left = model.bias(q, qd, p)[base] - sum(parts, np.zeros(6))
    size = np.max([*np.abs(parts).ravel(), *np.abs(model.mass_matrix(q, p)[base]) @ qd**2])
    if np.abs(left).max() > STEADY * size:
        cause = "loads" if len(loads) else "rates"
        raise ModelError(
            f"{cause}: what acts on the free base does not add up to zero, so that it does not rest; balance it, or "
            "hold the base by base: {type: fixed}"
        )
