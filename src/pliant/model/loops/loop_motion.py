"""Motion along closed loops: its directions, small motions about a rest, and speeds that follow from others.

Displacements that keep loops closed to first order are Z y with J Z = 0; columns of Z have length one by M. About a
rest the stiffness is d(bias)/dq - d(J^T lambda)/dq along Z: the last is what the forces of the loops do as they turn.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from pliant.arrays import Array, StateLike
from pliant.base.later import LaterModule
from pliant.errors import ModelError, UnsupportedModel
from pliant.model.equilibrium.force_functions import applied
from pliant.model.interpreted import interpreted
from pliant.model.loops import assembly
from pliant.model.states import read_state
from pliant.model.validity import tell

if TYPE_CHECKING:
    from pliant.mechanics.loads.wrenches import Load
    from pliant.model.loops import loop_functions
    from pliant.model.model import Model
else:  # the loops of a known arm need no expressions
    loop_functions = LaterModule("pliant.model.loops.loop_functions")

OPEN = 1e-7
"""Gap (m or rad) up to which a given state counts as closed: dense output leaves as much."""
SHORT = 1e-2
"""Least motion of the rows by a coordinate, over the largest one, at which the coordinate may follow from others."""


class RowSlopes(NamedTuple):
    """Slopes J (m, n) of the rows that are kept, those of J^T lambda (n, n) and of J qd (m, n), along the speeds."""

    J: Array
    of_forces: Array
    of_rates: Array


def row_slopes(model: Model, q: Array, p: ArrayLike | None, multipliers: Array, qd: Array | None = None) -> RowSlopes:
    """Return the slopes of the rows of all loops."""
    n, m = model.n, len(model.constraints)
    if not m:
        return RowSlopes(np.zeros((0, n)), np.zeros((n, n)), np.zeros((0, n)))

    kernel = interpreted(model, "slopes of rows", lambda: loop_functions.row_slopes(model))
    J, *others = kernel.interpreted(q, np.zeros(n) if qd is None else qd, multipliers, model.values(p))
    return RowSlopes(J.reshape(m, n), others[0].reshape(n, n), others[1].reshape(m, n))


class OilSlopes(NamedTuple):
    """Slopes J (m, n) of the lengths of couplings that are commanded, and the stiffness (n, n) that they add, valves
    closed."""

    J: Array
    K: Array


def oil_slopes(model: Model, q: Array, p: ArrayLike | None, forces: Array | None = None) -> OilSlopes:
    """Return the slopes of all commanded couplings under forces (m,) that drive apart."""
    n, m = model.n, len(model.layout.commanded)
    if not m:
        return OilSlopes(np.zeros((0, n)), np.zeros((n, n)))

    kernel = interpreted(model, "slopes of couplings", lambda: loop_functions.oil_slopes(model))
    J, K = kernel.interpreted(q, np.zeros(m) if forces is None else forces, model.values(p))
    return OilSlopes(J.reshape(m, n), K.reshape(n, n))


def closed_state(model: Model, given: StateLike | None, p: ArrayLike | None) -> Array:
    """Read a state as a user gives it. If it is given in part, close the loops. Coordinates that it names stay if
    possible."""
    state = read_state(model, given)
    if not model.constraints or (
        given is not None and not isinstance(given, Mapping) and np.shape(given) == state.shape
    ):
        return state
    found, told = assembly.closed_near(model, state, given, "q", np.asarray(model.values(p)))
    tell(model, told)
    return found


def require_closed(model: Model, q: Array, p: ArrayLike | None, name: str) -> None:
    """Raise `ModelError` for a state with open loops."""
    gaps = np.abs(model.gaps(q, p))
    if gaps.max(initial=0.0) > OPEN:
        loop = model.constraints[int(np.argmax(gaps))].partition(".")[0]
        raise ModelError(
            f"{name}: loop `{loop}` is open by {gaps.max():.3g} there; close it by q = model.assemble(q, held=[...])"
        )


def require_held_still(model: Model, rates: StateLike | None) -> None:
    """Raise `UnsupportedModel` for steady spins of arms with loops."""
    if rates is not None:
        raise UnsupportedModel(
            "rates: steady spins are not built for closed loops and passive joints; simulate the motion with "
            "motion={...}, and ask model.linearize(q, qd)"
        )


def flying(model: Model, J: Array) -> list[int]:
    """Speeds of a free base. Raise `UnsupportedModel` if loops hold it."""
    own = model.layout.base_speeds
    if own and np.abs(J[:, own]).max(initial=0.0) > 1e-9 * np.abs(J).max(initial=0.0):
        raise UnsupportedModel(
            "statics of a free base that loops hold to the world are not built; make it base: {type: fixed} on links "
            "with joints of their own"
        )
    return own


class Directions(NamedTuple):
    """Motion that loops leave to the speeds `free`: Z (n, k) with Z^T M Z = 1, and the multipliers that balance the
    forces on `free`."""

    Z: Array
    multipliers: Array


def directions(model: Model, q: Array, free: list[int], J: Array, force: Array, p: ArrayLike | None) -> Directions:
    """Return the motion that loops leave at a state.

    Multipliers balance the forces (n,) except for the part that accelerates along Z. Where rows depend on one another,
    the smallest multipliers are taken.
    """
    if not free:
        return Directions(np.zeros((model.n, 0)), np.zeros(len(J)))
    M = model.mass_matrix(q, p)
    L = np.linalg.cholesky(M[np.ix_(free, free)])
    A = np.linalg.solve(L, J[:, free].T)
    U, values, Vt = np.linalg.svd(A)
    rank = int((values > assembly.SINGULAR * values.max(initial=0.0)).sum())
    pull = Vt[:rank].T @ ((U[:, :rank].T @ np.linalg.solve(L, force[free])) / values[:rank])
    Z = np.zeros((model.n, len(free) - rank))
    Z[free] = np.linalg.solve(L.T, U[:, rank:])
    return Directions(Z, pull)


def small_motion(
    model: Model, q: Array, free: list[int], loads: Sequence[Load], p: ArrayLike | None, K: Array, noise: Array
) -> tuple[Array, Array, Array]:
    """Return Z (n, k), the motion that loops leave to the speeds `free` about a closed state under its holding torque,
    and the stiffness (k, k) along it with its rounding error, from those (n, n) of the arm without loops. Cylinders
    hold by their oil, valves closed."""
    require_closed(model, q, p, "q")
    force = model.bias(q, np.zeros(model.n), p) - applied(model, loads, p)(q)[0]
    J = row_slopes(model, q, p, np.zeros(len(model.constraints))).J
    base = flying(model, J)
    driven = {shaft.actuated for shaft in model.layout.shafts}
    held = np.vstack([J, oil_slopes(model, q, p).J])
    pull = directions(model, q, [k for k in range(model.n) if k not in driven], held, force, p).multipliers
    Z = directions(model, q, [k for k in free if k not in base], J, force, p).Z
    if base:
        Z = np.hstack([np.eye(model.n)[:, base], Z])
    K = K + oil_slopes(model, q, p, pull[len(J) :]).K
    return Z, Z.T @ (K - row_slopes(model, q, p, pull[: len(J)]).of_forces) @ Z, np.abs(Z.T @ noise @ Z)


def independent_motion(
    model: Model, q: Array, qd: Array, free: list[int], p: ArrayLike | None
) -> tuple[list[int], Array]:
    """Return independent speeds among those `free` at a closed state, and T (2 n, 2 k), by which all displacements and
    changes of speed follow from theirs.

    J d = 0 gives the displacements of the others, J dv = -(d(J v)/dq) d their changes of speed.
    """
    require_closed(model, q, p, "q")
    J, _, of_rates = row_slopes(model, q, p, np.zeros(len(model.constraints)), qd)
    follow = dependent(model, q, J, free, p)
    own, n = [k for k in free if k not in follow], model.n
    Z, N = np.zeros((n, len(own))), np.zeros((n, len(own)))
    Z[own] = np.eye(len(own))
    Z[follow] = -np.linalg.solve(J[:, follow], J[:, own])
    N[follow] = -np.linalg.solve(J[:, follow], of_rates @ Z)
    return own, np.block([[Z, np.zeros(Z.shape)], [N, Z]])


def dependent(model: Model, q: Array, J: Array, free: list[int], p: ArrayLike | None) -> list[int]:
    """Choose as many of the speeds `free` as there are rows; these close the loops. Passive joints come before
    amplitudes, amplitudes before actuated joints. Within each kind, those that move the rows most, by M, come first."""
    actuated = {shaft.actuated for shaft in model.layout.shafts} | {shaft.index for shaft in model.layout.shafts}
    joints = {*model.layout.joint_speeds} - actuated
    order = [[k for k in free if k in joints], [k for k in free if k not in joints | actuated],
             [k for k in free if k in actuated]]  # fmt: skip
    rest, found = J / np.sqrt(np.diag(model.mass_matrix(q, p))), []
    for _ in range(len(J)):
        lengths = np.linalg.norm(rest, axis=0)
        most = max((lengths[k] for k in free if k not in found), default=0.0)
        able = [[k for k in kind if k not in found and lengths[k] > SHORT * most] for kind in order]
        best = next((kind for kind in able if kind), None)
        if best is None or most <= assembly.SINGULAR * np.linalg.norm(J):
            raise ModelError("q: the position is singular, or what is held leaves its loops no way to close")
        k = max(best, key=lambda k: lengths[k])
        found.append(k)
        along = rest[:, k] / lengths[k]
        rest = rest - np.outer(along, along @ rest)
    return sorted(found)
