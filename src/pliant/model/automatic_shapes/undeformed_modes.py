"""Small vibrations of the straight arm without gravity, as matrices of numbers made directly from the maps of a chain.

Results equal those of `Model.frequencies`, without a trace. Arms with some hundred shapes take milliseconds.
"""

from __future__ import annotations

from typing import NamedTuple

import casadi as ca
import numpy as np

from pliant.algebra.rotations import SX, Rotation
from pliant.arrays import Array
from pliant.mechanics.links.chain import Chain, ChainLink
from pliant.mechanics.links.maps.link_maps import LinearBeam, Moments
from pliant.model.automatic_shapes.supported_arm import Holds, SupportedVibration, Supports


class Vibration(NamedTuple):
    """Inertia of the motions that have a stiffness, all others free to follow, in coordinates whose stiffness is one.

    Eigenvalues are 1/omega^2, so that those of the lowest frequencies are the accurate ones. The coordinates of a body
    combine its amplitudes from the first on: to hold the last ones of a field is to leave out their rows.
    """

    A: Array
    names: tuple[str, ...]
    touching: bool = False

    def squares(self, kept: Array | slice = slice(None)) -> Array:
        """Rising squares of the frequencies, rad/s, of the motions that are `kept`; infinity without inertia."""
        inverse = np.linalg.eigvalsh(self.A[kept][:, kept])[::-1]
        return np.asarray(1 / np.maximum(inverse, np.finfo(float).tiny))

    @property
    def own(self) -> Array:
        """Squares of the frequencies of single coordinates."""
        return np.asarray(1 / np.diag(self.A))

    def pulls(self, kept: Array, count: int) -> tuple[Array, Array]:
        """Squares of the first frequencies of the motions that are `kept`, and the force of each such mode, of unit
        inertia, on every coordinate."""
        inverse, vectors = (x[..., ::-1][..., :count] for x in np.linalg.eigh(self.A[kept][:, kept]))
        return 1 / inverse, np.asarray((self.A[:, kept] @ (vectors / np.sqrt(inverse))) / inverse)


class StraightArm:
    """Matrices of a chain whose beams are straight; joints stand where a pose says, sliding beams as described."""

    def __init__(self, chain: Chain) -> None:
        self.chain = chain
        self._links = [_Numbers(link) for link in chain.links]
        self._joints = [_Mover(link) for link in chain.links]
        K = np.zeros((chain.n, chain.n))
        for link, numbers in zip(chain.links, self._links):
            at = list(link.body_indices)
            K[np.ix_(at, at)] += numbers.stiffness
        for shaft in chain.driven:
            assert shaft.drive is not None
            ends = [shaft.index, shaft.drive.index]
            K[np.ix_(ends, ends)] += float(shaft.drive.stiffness) * np.array([[1.0, -1.0], [-1.0, 1.0]])
        held = {shaft.actuated for shaft in chain.shafts}
        one, T = np.eye(chain.n), np.eye(chain.n)
        for shaft in chain.driven:
            T[shaft.actuated, shaft.index] = 1.0  # motors are measured from their joints
        self._locked = _Motions(K, one[:, [k for k in range(chain.n) if k not in held]], chain.speeds)
        self._free = _Motions(K, T, chain.speeds)
        self.supports = Supports(chain) if chain.lines or chain.closures or chain.contacts else None

    def inertia(self, q: Array) -> Array:
        """(n, n) inertia matrix at the joint positions of `q` (n_q,)."""
        n = self.chain.n
        ports: list[list[Array]] = []
        M = np.zeros((n, n))
        for link, joint, numbers in zip(self.chain.links, self._joints, self._links):
            before = np.zeros((6, n)) if link.parent is None else ports[link.parent][link.port]
            twist = joint.across(before, q)
            own = np.zeros((len(link.body_indices), n))
            own[range(len(own)), list(link.body_indices)] = 1.0
            moved = np.vstack([twist, own])
            M += moved.T @ numbers.inertia @ moved
            ports.append([port @ moved for port in numbers.ports])
            M += ports[-1][0].T @ numbers.load @ ports[-1][0]
        for shaft in self.chain.shafts:
            M[shaft.index, shaft.index] += float(shaft.rotor)
            if shaft.drive is not None:
                M[shaft.drive.index, shaft.drive.index] += float(shaft.drive.rotor)
        return M

    def vibrations(self, q: Array, contact: int | None = None) -> tuple[Vibration | SupportedVibration, ...]:
        """Vibrations with the joints (or motors) locked, and with all of them free, while one of the contacts touches,
        or none."""
        M, motions = self.inertia(q), (self._locked, self._free)
        if self.supports is None:
            return tuple(one.of(M) for one in motions)
        held = self.supports.at(q, contact)
        return tuple(one.supported(M, held, contact is not None) for one in motions)


class _Motions:
    """Some motions, columns of T: those without stiffness, and factors F with F K F^T = 1 of the others."""

    def __init__(self, K: Array, T: Array, speeds: tuple[str, ...]) -> None:
        K = T.T @ K @ T
        stiff = K.any(axis=0)
        self.loose, held = T[:, ~stiff], K[np.ix_(stiff, stiff)]
        scale = 1 / np.sqrt(np.diag(held))
        factor = np.linalg.inv(np.linalg.cholesky(held * np.outer(scale, scale))) * scale
        self.stiff = T[:, stiff] @ factor.T
        self.names = tuple(speeds[int(np.flatnonzero(column)[-1])] for column in T[:, stiff].T)

    def of(self, M: Array) -> Vibration:
        """Vibration with an inertia matrix. Loose motions follow."""
        meets = self.loose.T @ M @ self.stiff
        gives = np.linalg.lstsq(self.loose.T @ M @ self.loose, meets, rcond=None)[0]
        A = self.stiff.T @ M @ self.stiff - meets.T @ gives
        return Vibration((A + A.T) / 2, self.names)

    def supported(self, M: Array, held: Holds, touching: bool) -> SupportedVibration | Vibration:
        """Vibration with an inertia matrix and supports."""
        if not (held.springs.any() or held.rows.any()):
            return self.of(M)
        every, loose = np.hstack([self.loose, self.stiff]), self.loose.shape[1]
        pulled = held.springs @ every
        K = np.diag(np.append(np.zeros(loose), np.ones(len(self.names)))) + pulled.T @ pulled
        return SupportedVibration(every.T @ M @ every, K, held.rows @ every, loose, self.names, touching)


class _Numbers:
    """A body as numbers: inertia of its frame's twist and its amplitudes, what its tip carries, its places."""

    def __init__(self, link: ChainLink) -> None:
        body, k = link.body, len(link.body.rest)
        self.inertia = np.zeros((6 + k, 6 + k))
        if isinstance(body, LinearBeam):
            self._of_beam(link, body)
        else:
            self._of_any(link)
        if link.hub is not None:
            self.inertia[:6, :6] += _rigid(link.hub)
        self.load = np.zeros((6, 6)) if link.load is None else _rigid(link.load)

    def _of_any(self, link: ChainLink) -> None:
        rest = ca.SX(ca.DM(link.body.rest))
        still = ca.SX.zeros(rest.shape)
        moments = link.body.moments(rest, still)
        self.inertia[:6, :6] = _rigid(moments)
        self._couple(_number(moments.coupling()), _number(moments.eps), _number(moments.gram))
        self.ports = [_port(*map(_number, (x.R.matrix, x.p, x.W, x.J))) for x in link.ports(rest, still)]
        c = ca.SX.sym("c", rest.shape[0])
        hessian = ca.Function("K", [c], [ca.densify(ca.hessian(ca.SX(link.body.strain_energy(c)), c)[0])])
        self.stiffness = np.array(hessian(ca.DM(link.body.rest)), dtype=float)

    def _of_beam(self, link: ChainLink, body: LinearBeam) -> None:
        """The same from the integrals of the shapes: see `LinearBeam`."""
        I, b, fields = body.integrals, body.data, np.array(body.shapes.fields)
        L, mu = float(b.length), float(b.mass_per_length) * float(b.length)
        shifts = L ** np.array(body.shapes.powers, dtype=float)[:, None] * I.axis  # per shape value
        length = L ** (np.array(body.shapes.powers, dtype=float) - (fields != "torsion"))
        turns = length[:, None] * I.turn  # per shape value of torsion, per slope of bending
        offset, spins = np.array(b.offset, dtype=float), L * np.array([b.polar_inertia, *b.rotary], dtype=float)
        first = mu * L * I.first * np.array([1.0, 0.0, 0.0]) + mu * I.mass * offset
        moved = np.outer([1.0, 0.0, 0.0], offset) * mu * L * I.first
        D = np.diag([mu * L * L * I.second, 0.0, 0.0]) + moved + moved.T + mu * I.mass * np.outer(offset, offset)
        self.inertia[:6, :6] = _frame(mu * I.mass, first, np.trace(D) * np.eye(3) - D + np.diag(spins * I.spin_mass))
        eps = mu * I.eps[:, None] * shifts
        lever = mu * L * I.eta_eps[:, None] * np.cross([1.0, 0.0, 0.0], shifts) + np.cross(offset, eps)
        gram = mu * I.gram * (shifts @ shifts.T) + np.outer(length, length) * np.tensordot(spins, I.spin_gram, 1)
        self._couple((lever + length[:, None] * I.spin * spins).T, eps.T, gram)
        self.stiffness = _stiffness(body)
        self.ports = [self._port(body, 1.0, I.tip, I.tip_slope, body.end_rotation, shifts, turns)]
        for place in link.places:
            values, slopes = (np.zeros(len(fields)),) * 2 if place.eta is None else body.station(place.eta)
            self.ports.append(self._port(body, place.eta, values, slopes, place.end, shifts, turns))

    @staticmethod
    def _port(
        body: LinearBeam, eta: float | None, values: Array, slopes: Array, end: Rotation, shifts: Array, turns: Array
    ) -> Array:
        turned = np.where(np.array(body.shapes.fields) == "torsion", values, slopes)
        place = np.zeros(3) if eta is None else _number(body.undeformed(eta))
        return _port(_number(end.matrix), place, (turned[:, None] * turns).T, (values[:, None] * shifts).T)

    def _couple(self, turning: Array, moving: Array, gram: Array) -> None:
        couples = np.vstack([turning, moving])
        self.inertia[:6, 6:], self.inertia[6:, :6], self.inertia[6:, 6:] = couples, couples.T, gram


def _number(x: SX) -> Array:
    return np.array(ca.DM(ca.SX(x)), dtype=float)


def _skew(v: Array) -> Array:
    x, y, z = np.ravel(v)
    return np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])


def _rigid(body: Moments) -> Array:
    D = _number(body.D)
    return _frame(float(_number(body.m)[0, 0]), _number(body.s), np.trace(D) * np.eye(3) - D)


def _frame(mass: float, first: Array, inertia: Array) -> Array:
    """(6, 6) of [angular; linear], from mass, first moment and rotational inertia about the frame."""
    S = _skew(first)
    return np.block([[inertia, S], [S.T, mass * np.eye(3)]])


def _stiffness(body: LinearBeam) -> Array:
    """Stiffness of a beam, the same as `LinearBeam.stiffness`."""
    I, b, fields = body.integrals, body.data, body.shapes.fields
    L = float(b.length)
    bends = np.array([name.startswith("bending") for name in fields])
    shears = {"bending_y": b.GA_y, "bending_z": b.GA_z}
    rigidity = np.array([float(b.rigidity(name)) for name in fields]) / L ** np.where(bends, 3.0, 1.0)
    shear = np.array([float(shears.get(name, 0.0)) for name in fields]) / L
    length = L ** np.array(body.shapes.powers, dtype=float)
    return np.asarray(np.outer(length, length) * (rigidity[:, None] * I.stiffness + shear[:, None] * I.shear))


def _port(R: Array, p: Array, W: Array, J: Array) -> Array:
    """(6, 6 + k) twist of a place, in its own axes, per twist of the link and rates of its amplitudes."""
    turn = np.hstack([np.eye(3), np.zeros((3, 3)), W])
    shift = np.hstack([-_skew(p), np.eye(3), J])
    return np.vstack([R.T @ turn, R.T @ shift])


class _Mover:
    """A joint as numbers: see `JointMap`."""

    def __init__(self, link: ChainLink) -> None:
        joint = link.joint
        self.places, self.indices, self.ball = list(link.joint_places), list(link.joint_indices), joint.is_ball
        self.R, self.p = _number(joint.origin_rotation.matrix), _number(joint.origin).ravel()
        self.slides, self.turns = np.array(joint.slides).reshape(-1, 3), np.array(joint.turning).reshape(-1, 3)

    def across(self, before: Array, q: Array) -> Array:
        """Twist (6, n) of the link frame, in its own axes, from that of the frame that carries it. Joints with
        quaternions stand."""
        own = q[self.places]
        if self.ball:
            turned, p, columns = np.eye(3), self.p, np.eye(6)[:, : len(self.indices)]
        else:
            first = len(self.slides)
            p = self.p + self.R @ (own[:first] @ self.slides)
            turned, columns = np.eye(3), np.zeros((6, len(self.indices)))
            for k in reversed(range(len(self.turns))):
                columns[:3, first + k] = turned.T @ self.turns[k]
                turned = _turned(self.turns[k], own[first + k]) @ turned
            columns[3:, :first] = turned.T @ self.slides.T
        R = self.R @ turned
        twist = np.vstack([R.T @ before[:3], R.T @ (before[3:] - _skew(p) @ before[:3])])
        twist[:, self.indices] += columns
        return twist


def _turned(axis: Array, angle: float) -> Array:
    """Rotation about an axis of length one."""
    N = _skew(axis)
    return np.asarray(np.eye(3) + np.sin(angle) * N + (1 - np.cos(angle)) * N @ N)
