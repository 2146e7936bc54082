"""Small vibrations of an arm about rest or steady spin: natural frequencies, mode shapes and damping ratios."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from pliant.algebra.natural_modes import ROOM, natural_modes
from pliant.arrays import Array, StateLike
from pliant.base.later import LaterModule
from pliant.errors import ModelError, PliantError
from pliant.model.equilibrium.steady_spin import require_steady, steady_rates

if TYPE_CHECKING:
    from pliant.mechanics.loads.wrenches import Load
    from pliant.model.equilibrium import force_functions
    from pliant.model.loops import loop_motion
    from pliant.model.model import Model
else:  # the frequencies of a known arm need no expressions
    force_functions, loop_motion = (
        LaterModule("pliant.model.equilibrium.force_functions"),
        LaterModule("pliant.model.loops.loop_motion"),
    )

REAL = 1e-8
"""Real or imaginary part of a root over its size that counts as none: half the digits."""
SYMMETRIC = 1e-9
"""Skew part of the stiffness over its largest entry, coordinates measured by their inertia: rounding leaves 1e-15."""
ROUNDING = 2.0**-50
"""Change of angles (radians) and of other coordinates (relative) that shows what rounding does to the stiffness."""


def _floating_modes(K: Array, M: Array, noise: Array) -> tuple[Array, Array]:
    """Squares and shapes of a free base, whose speeds come first, and of what it carries.

    Its six rigid motions meet no stiffness. They are removed exactly, not by a threshold: the other modes have no
    momentum, so that M of the rest is reduced by the motion of the base. Shifts first, then turns about the center of
    mass of the whole, are factors of M of the base, shown in the order of its speeds.
    """
    order = [3, 4, 5, 0, 1, 2]
    rigid = np.zeros((len(M), 6))
    rigid[np.ix_(order, order)] = np.linalg.inv(np.linalg.cholesky(M[np.ix_(order, order)])).T
    gives = np.linalg.solve(M[:6, :6], M[:6, 6:])
    squares, Y = natural_modes(K[6:, 6:], M[6:, 6:] - M[6:, :6] @ gives, noise[6:, 6:])
    return np.append(np.zeros(6), squares), np.hstack([rigid, np.vstack([-gives @ Y, Y])])


def _require_rest(model: Model, loads: Sequence[Load], rates: StateLike | None) -> None:
    if model.layout.first and (len(loads) or rates is not None):
        raise ModelError(
            f"{'loads' if len(loads) else 'rates'}: a free base does not rest under them; ask "
            "model.linearize(q, qd, loads=loads)"
        )


def modes(model: Model, q: Array, free: list[int], loads: Sequence[Load], p: ArrayLike | None) -> tuple[Array, Array]:
    """Squared frequencies, ascending, and mode shapes (n, modes) of the free coordinates about q."""
    _require_rest(model, loads, None)
    if not free:
        return np.zeros(0), np.zeros((model.n, 0))
    motion = small_motions(model, q, free, loads, p)
    if motion.follows:
        raise ModelError(
            "loads: a load that follows the arm has no potential, and the arm under it no real modes; give it in base "
            "axes, or ask model.frequencies(q, loads=loads) or model.linearize(q, loads=loads)"
        )
    solve = _floating_modes if model.layout.first else natural_modes
    squares, shapes = solve(motion.K, motion.M, motion.noise)
    return squares, motion.Z @ shapes


class SmallMotions(NamedTuple):
    """Directions Z (n, k) of small motions, stiffness and inertia along them, rounding error of the stiffness, and
    whether the stiffness has no potential."""

    Z: Array
    K: Array
    M: Array
    noise: Array
    follows: bool


def small_motions(model: Model, q: Array, free: list[int], loads: Sequence[Load], p: ArrayLike | None) -> SmallMotions:
    """Small motions of all free speeds, or of those that loops leave."""
    K, M = model.stiffness(q, loads, p), model.mass_matrix(q, p)
    if model.layout.is_open:
        own = np.ix_(free, free)
        follows = _follows(*finite(K, M))
        return SmallMotions(np.eye(model.n)[:, free], K[own], M[own], rounding(model, K, q, loads, p)[own], follows)
    noise = rounding(model, K, q, loads, p)
    Z, K, noise = loop_motion.small_motion(model, q, free, loads, p, K, noise)
    K, M = finite(K, Z.T @ M @ Z)
    return SmallMotions(Z, K, M, noise, _follows(K, M))


def finite(K: Array, M: Array) -> tuple[Array, Array]:
    if not (np.isfinite(K).all() and np.isfinite(M).all()):
        raise PliantError("frequencies: M or K has NaN at this q, expected finite numbers; check the robot's own")
    return K, M


def _follows(K: Array, M: Array) -> bool:
    """Return whether the stiffness has no potential."""
    size = np.sqrt(np.diag(M))
    return skew(K / np.outer(size, size))


def skew(K: Array) -> bool:
    """Return whether stiffnesses (..., k, k), with coordinates scaled, are not symmetric."""
    return bool(np.abs(K - np.swapaxes(K, -1, -2)).max(initial=0.0) > SYMMETRIC * np.abs(K).max(initial=0.0))


def rounding(model: Model, K: Array, q: Array, loads: Sequence[Load], p: ArrayLike | None) -> Array:
    """Estimate the rounding error of each entry of the stiffness K at q from its change with the last bits of q.

    Gravity does not hold a joint with a vertical axis, but its moments about the axis cancel to rounding only.
    """
    angles = np.zeros(model.n_q)
    for shaft in model.layout.shafts:
        if shaft.place is not None:
            angles[shaft.place] = float(shaft.turns)
    random = np.random.default_rng(0)
    nearby = (q + ROUNDING * random.uniform(-1, 1, model.n_q) * (np.abs(q) + angles) for _ in range(3))
    return np.asarray(ROOM * np.max([np.abs(model.stiffness(state, loads, p) - K) for state in nearby], axis=0))


def frequencies(
    model: Model, q: Array, free: list[int], loads: Sequence[Load], p: ArrayLike | None, rates: StateLike | None = None
) -> Array:
    """Natural frequencies (Hz), ascending, undamped: under loads that follow the arm, and in steady spin too.

    M qdd + G qd + K q = 0 with the skew part G of the forces' slopes by the rates. Motions exp(s t) that grow count as
    negative, |s| each.
    """
    _require_rest(model, loads, rates)
    if rates is None and (not free or not small_motions(model, q, free, loads, p).follows):
        squares, _ = modes(model, q, free, loads, p)
        return hertz(squares)
    if model.layout.is_open:
        qd = steady_rates(model, rates)
        require_steady(model, q, qd, loads, p, free)
        by_q, by_qd = (a[np.ix_(free, free)] for a in force_functions.slopes(model, q, qd, loads, p))
        K, M = finite(by_q, model.mass_matrix(q, p)[np.ix_(free, free)])
    else:
        loop_motion.require_held_still(model, rates)
        _, K, M, *_ = small_motions(model, q, free, loads, p)
        by_qd = np.zeros(K.shape)  # nothing turns
    return roots(K, by_qd, M)


def roots(K: Array, by_qd: Array, M: Array) -> Array:
    """Frequencies (Hz), ascending, of M qdd + G qd + K q = 0, those of motions that grow as negative numbers."""
    scale = 1 / np.sqrt(np.diag(M))
    K, G, M = (a * np.outer(scale, scale) for a in (K, (by_qd - by_qd.T) / 2, M))
    zero, one = np.zeros(M.shape), np.eye(len(M))
    s = np.linalg.eigvals(np.block([[zero, one], [-np.linalg.solve(M, K), -np.linalg.solve(M, G)]]))
    s[np.abs(s) < REAL * np.abs(s).max()] = 0.0
    swings = s[s.imag > REAL * np.abs(s)]
    falls = np.sort(s[np.abs(s.imag) <= REAL * np.abs(s)].real)[::-1]
    falls = falls[: len(falls) // 2]  # of each pair the one that grows
    grows = swings.real > REAL * np.abs(swings)
    return np.sort(np.concatenate([np.where(grows, -1, 1) * np.abs(swings), -falls])) / (2 * np.pi)


def hertz(squares: Array) -> Array:
    """Frequencies of squared angular frequencies, negative ones for negative squares."""
    return np.asarray(np.sign(squares) * np.sqrt(np.abs(squares)) / (2 * np.pi))


def damping_ratios(model: Model, q: Array, free: list[int], p: ArrayLike | None) -> Array:
    """Ratio of each mode of the free coordinates about q."""
    return ratios(model, q, modes(model, q, free, (), p), p)


def ratios(model: Model, q: Array, found: tuple[Array, Array], p: ArrayLike | None) -> Array:
    """Ratio of modes (squared frequencies and shapes) to first order, phi^T D phi / 2 omega; NaN without
    a frequency."""
    squares, Phi = found
    D = force_functions.damping(model, q, p)
    omega = np.sqrt(np.where(squares > 0, squares, np.nan))
    return np.asarray(np.einsum("ik,ij,jk->k", Phi, D, Phi) / (2 * omega))
