"""Small vibrations of straight arms that couplings, loops or contacts hold between the ends of their links.

`undeformed_modes.py` measures motions by their strain energy, which makes the stiffness one. Here couplings add to it:
springs, taut cables and the oil behind closed valves along their lines; loops leave the motions that keep them closed,
and contacts, while they touch, those that keep their gap.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import casadi as ca
import numpy as np

from pliant.arrays import Array
from pliant.mechanics.actuation.hydraulic_cylinder import CylinderMap
from pliant.mechanics.constraints.contact_forces import gap as gap_of
from pliant.mechanics.constraints.contact_forces import touch
from pliant.mechanics.constraints.couplings import lines
from pliant.mechanics.constraints.loop_constraints import closing_rows, gaps
from pliant.mechanics.links.chain import Chain

SOFT = 1e-7
"""Part of the least squared frequency of a single beam. Motions below it count as free."""
DEPENDENT = 1e-9
"""Singular value of the rows of loops over the largest one, at which a row follows from others."""
ROUNDS, CLOSED, STEP = 60, 1e-8, 0.3
"""Newton's steps towards closed loops, the gap at which they are closed, and the largest move of a joint in one."""


@dataclass(frozen=True)
class Holds:
    """Supports of an arm at a pose: slopes (k, n) of lengths times the roots of their stiffness, and rows (m, n) that
    loops and contacts keep."""

    springs: Array
    rows: Array


class Supports:
    """Couplings, loops and contacts that hold a chain besides its joints."""

    def __init__(self, chain: Chain) -> None:
        self.chain, q = chain, ca.SX.sym("q", chain.n_q)
        still = ca.SX.zeros(chain.n)
        found = lines(chain, q, still) if chain.lines else None
        stiff = [] if found is None else [_stiffness(line, found.L[k]) for k, line in enumerate(chain.lines)]
        springs = ca.SX(0, chain.n) if found is None else ca.mtimes(ca.diag(ca.sqrt(ca.vertcat(*stiff))), found.J)
        gap = gaps(chain, q)[0] if chain.closures else ca.SX(0, 1)
        open_by = [ca.SX(0, 1), *(gap_of(chain, q, k) for k in range(len(chain.contacts)))]
        rows = closing_rows(chain, q, still, every=True).J if chain.closures else ca.SX(0, chain.n)
        touching = [ca.SX(0, chain.n), *(_pressed(chain, q, k) for k in range(len(chain.contacts)))]
        outside = [ca.SX(0, 1)]
        for k, line in enumerate(chain.lines):
            if isinstance(line.drive, CylinderMap) and found is not None:
                outside.append(ca.fabs(found.L[k] - line.drive.dead_length - line.drive.stroke / 2) / line.drive.stroke)
        out = [springs, rows, ca.vertcat(*touching), gap, ca.vertcat(*open_by), ca.vertcat(*outside)]
        self._at = ca.Function("supports", [q], [ca.densify(x) for x in out])

    def at(self, q: Array, contact: int | None = None) -> Holds:
        """Supports at the joint positions of `q` (n_q,), while one contact touches or none."""
        springs, rows = self._numbers(q, contact)[:2]
        return Holds(springs, rows)

    def closed(self, q: Array, contact: int | None = None) -> Array | None:
        """Return the same positions, moved until loops are closed and the contact touches. None if that fails, or a
        cylinder leaves its stroke."""
        c, q = self.chain, q.copy()
        moves = [(s.place, s.index) for s in c.all_shafts if s.place is not None]
        for link in c.links:
            moves += [] if link.joint.is_ball else zip(link.joint_places, link.joint_indices)
        places, indices = ([move[k] for move in dict.fromkeys(moves)] for k in (0, 1))
        for _ in range(ROUNDS):
            _, rows, gap, outside = self._numbers(q, contact)
            if np.abs(gap).max(initial=0.0) < CLOSED:
                return q if outside.max(initial=0.0) <= 0.5 else None
            step = -np.linalg.lstsq(rows[:, indices], gap, rcond=None)[0]
            q[places] += step * min(1.0, STEP / max(np.abs(step).max(initial=0.0), 1e-300))
        return None

    def _numbers(self, q: Array, contact: int | None) -> tuple[Array, Array, Array, Array]:
        """Springs, rows, gaps of the rows, and how far cylinders are from the middle of their strokes, as a part of
        these."""
        found = [np.array(x, dtype=float).reshape(x.shape) for x in self._at(q)]
        springs, rows, touching, gap, open_by, outside = found
        if contact is not None:
            rows, gap = np.vstack([rows, touching[[contact]]]), np.vstack([gap, open_by[[contact]]])
        return springs, rows, gap.ravel(), outside.ravel()


def _stiffness(line: object, L: ca.SX) -> ca.SX:
    """Stiffness of a line along itself, N/m: cables taut, valves closed."""
    found = sum((ca.SX(law.stiffness) for law in line.laws if hasattr(law, "stiffness")), ca.SX(0))  # type: ignore[attr-defined]
    return found + (ca.SX(0) if line.drive is None else line.drive.stiffness(L))  # type: ignore[attr-defined]


def _pressed(chain: Chain, q: ca.SX, number: int) -> ca.SX:
    """(1, n) slope of the gap of a contact: friction creeps, and holds no vibration."""
    found = touch(chain, q, ca.SX.zeros(chain.n), number)
    return ca.SX(ca.mtimes(found.normal.T, found.J))


@dataclass(frozen=True)
class SupportedVibration:
    """Inertia M, stiffness K and rows J of an arm that is held, in `loose` motions without strain and then in
    coordinates whose strain energy is one, by `names`; interface of `Vibration`."""

    M: Array
    K: Array
    J: Array
    loose: int
    names: tuple[str, ...]
    touching: bool = False
    """True while a contact touches."""

    @cached_property
    def own(self) -> Array:
        """Squares of the frequencies of single coordinates."""
        return 1 / np.maximum(np.diag(self.M)[self.loose :], np.finfo(float).tiny)

    def squares(self, kept: Array | slice = slice(None)) -> Array:
        """Rising squares of the frequencies, rad/s, of the motions that are `kept`, free ones left out."""
        return self._modes(kept)[0]

    def pulls(self, kept: Array, count: int) -> tuple[Array, Array]:
        """Squares of the first frequencies of motions that are kept, and the force of each such mode, of unit inertia,
        on every coordinate."""
        squares, shapes = self._modes(kept)
        squares, shapes = squares[:count], shapes[:, :count]
        force = self.M @ shapes * squares - self.K @ shapes
        if len(self.J):
            kept = self._all(kept)
            force = force - self.J.T @ np.linalg.lstsq(self.J[:, kept].T, force[kept], rcond=None)[0]
        return squares, force[self.loose :]

    def _all(self, kept: Array | slice) -> Array:
        every = np.ones(len(self.M), dtype=bool)
        every[self.loose :] = False
        every[self.loose :][kept] = True
        return every

    def _modes(self, kept: Array | slice) -> tuple[Array, Array]:
        """Squares and shapes, of unit inertia, in all coordinates."""
        at = self._all(kept)
        Z = np.eye(int(at.sum()))
        if len(self.J):
            _, sizes, V = np.linalg.svd(self.J[:, at], full_matrices=True)
            Z = V[int(np.sum(sizes > DEPENDENT * sizes.max(initial=0.0))) :].T
        M, K = (Z.T @ x[np.ix_(at, at)] @ Z for x in (self.M, self.K))
        shift = SOFT * float(self.own.min())
        stiff = K + shift * M
        scale = 1 / np.sqrt(np.diag(stiff))
        factor = np.linalg.inv(np.linalg.cholesky(stiff * np.outer(scale, scale))) * scale
        inverse, shapes = (x[..., ::-1] for x in np.linalg.eigh(factor @ M @ factor.T))
        inverse = np.maximum(inverse, np.finfo(float).tiny)
        squares = 1 / inverse - shift
        whole = np.zeros((len(at), len(squares)))
        whole[at] = Z @ (factor.T @ shapes) / np.sqrt(inverse)
        sound = squares > shift
        return squares[sound], whole[:, sound]
