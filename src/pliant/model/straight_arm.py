"""Small vibrations of the straight arm without gravity, as matrices of numbers made directly from the maps of a chain.

What `Model.frequencies` gives there, without a trace: arms with some hundred shapes are assembled in milliseconds.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import casadi as ca
import numpy as np

from pliant.arrays import Array
from pliant.dynamics import Chain
from pliant.dynamics.bodies import LinearBeam, Moments
from pliant.dynamics.chain import ChainLink


class Pencil(NamedTuple):
    """Stiffness and inertia of the motions that have a stiffness, all others free to follow, and their names."""

    K: Array
    M: Array
    names: tuple[str, ...]

    def part(self, kept: Array) -> Pencil:
        """Of some of the motions, the rest held; `kept` is one switch for each."""
        names = tuple(name for name, keep in zip(self.names, kept) if keep)
        return Pencil(self.K[np.ix_(kept, kept)], self.M[np.ix_(kept, kept)], names)

    def modes(self) -> tuple[Array, Array]:
        """Rising squares of the frequencies, rad/s, and shapes of unit inertia; motions without inertia have infinity.

        The reciprocal problem is solved, whose leading values are the accurate ones.
        """
        scale = 1 / np.sqrt(np.diag(self.K))
        factor = np.linalg.inv(np.linalg.cholesky(self.K * np.outer(scale, scale))) * scale
        inverse, vectors = np.linalg.eigh(factor @ self.M @ factor.T)
        inverse, vectors = np.maximum(inverse[::-1], np.finfo(float).tiny), vectors[:, ::-1]
        return 1 / inverse, np.asarray(factor.T @ vectors / np.sqrt(inverse))


class StraightArm:
    """Matrices of a chain whose beams are straight; joints stand where a pose says, sliding beams as described."""

    def __init__(self, chain: Chain) -> None:
        self.chain = chain
        self._links = [_Numbers(link) for link in chain.links]
        K = np.zeros((chain.n, chain.n))
        for link, numbers in zip(chain.links, self._links):
            at = list(link.body_indices)
            K[np.ix_(at, at)] += numbers.stiffness
        for shaft in chain.driven:
            assert shaft.drive is not None
            ends = [shaft.index, shaft.drive.index]
            K[np.ix_(ends, ends)] += float(shaft.drive.stiffness) * np.array([[1.0, -1.0], [-1.0, 1.0]])
        self._K = K

    def inertia(self, q: Array) -> Array:
        """(n, n) inertia matrix at the joint positions of `q` (n_q,)."""
        n, ports = self.chain.n, []
        M = np.zeros((n, n))
        for link, numbers in zip(self.chain.links, self._links):
            before = np.zeros((6, n)) if link.parent is None else ports[link.parent][link.port]
            twist = _across(link, before, q)
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

    def pencils(self, q: Array) -> tuple[Pencil, Pencil]:
        """With the joints (or motors) locked, and with all of them free."""
        M = self.inertia(q)
        held = {shaft.actuated for shaft in self.chain.shafts}
        kept = [k for k in range(self.chain.n) if k not in held]
        T = np.eye(self.chain.n)
        for shaft in self.chain.driven:
            T[shaft.actuated, shaft.index] = 1.0  # motors are measured from their joints
        return self._pencil(M, np.eye(self.chain.n)[:, kept]), self._pencil(M, T)

    def _pencil(self, M: Array, T: Array) -> Pencil:
        """Of the motions that are the columns of T."""
        K, M = T.T @ self._K @ T, T.T @ M @ T
        stiff = K.any(axis=0)
        gives = np.linalg.lstsq(M[np.ix_(~stiff, ~stiff)], M[np.ix_(~stiff, stiff)], rcond=None)[0]
        names = [self.chain.speeds[len(T) - 1 - int(np.argmax(column[::-1] != 0))] for column in T[:, stiff].T]
        return Pencil(
            K[np.ix_(stiff, stiff)], M[np.ix_(stiff, stiff)] - M[np.ix_(stiff, ~stiff)] @ gives, tuple(names)
        )


class _Numbers:
    """A link as numbers: inertia of its frame's twist and its amplitudes, what its tip carries, its places."""

    def __init__(self, link: ChainLink) -> None:
        rest = ca.SX(ca.DM(link.body.rest))
        still = ca.SX.zeros(rest.shape)
        moments = link.body.moments(rest, still)
        k = rest.shape[0]
        self.inertia = np.zeros((6 + k, 6 + k))
        self.inertia[:6, :6] = _rigid(moments) + (0.0 if link.hub is None else _rigid(link.hub))
        if k:
            couples = np.vstack([_number(moments.coupling()), _number(moments.eps)])
            self.inertia[:6, 6:], self.inertia[6:, :6] = couples, couples.T
            self.inertia[6:, 6:] = _number(moments.gram)
        self.load = np.zeros((6, 6)) if link.load is None else _rigid(link.load)
        self.ports = [_port(port) for port in link.ports(rest, still)]
        self.stiffness = _stiffness(link.body, rest)


def _number(x: Any) -> Array:
    return np.array(ca.DM(ca.SX(x)), dtype=float)


def _skew(v: Array) -> Array:
    x, y, z = np.ravel(v)
    return np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])


def _rigid(body: Moments) -> Array:
    """(6, 6) of [angular; linear]."""
    m, S, D = float(_number(body.m)[0, 0]), _skew(_number(body.s)), _number(body.D)
    return np.block([[np.trace(D) * np.eye(3) - D, S], [S.T, m * np.eye(3)]])


def _stiffness(body: Any, rest: Any) -> Array:
    if isinstance(body, LinearBeam):
        return _number(body.stiffness())
    c = ca.SX.sym("c", rest.shape[0])
    return np.array(ca.Function("K", [c], [ca.densify(ca.hessian(body.strain_energy(c), c)[0])])(ca.DM(rest)))


def _port(port: Any) -> Array:
    """(6, 6 + k) twist of a place, in its own axes, per twist of the link and rates of its amplitudes."""
    p, W, J = _number(port.p), _number(port.W), _number(port.J)
    turn = np.hstack([np.eye(3), np.zeros((3, 3)), W])
    shift = np.hstack([-_skew(p), np.eye(3), J])
    R = _number(port.R.matrix)
    return np.vstack([R.T @ turn, R.T @ shift])


def _across(link: ChainLink, before: Array, q: Array) -> Array:
    """(6, n) twist of the link frame, in its own axes, from that of the frame that it hangs on."""
    own = ca.SX(ca.DM(q[list(link.joint_places)]))
    R, p = _number(link.joint.rotation(own).matrix), _number(link.joint.position(own))
    twist = np.vstack([R.T @ before[:3], R.T @ (before[3:] - _skew(p) @ before[:3])])
    for index, column in zip(link.joint_indices, link.joint.columns(own)):
        twist[:, index] += np.concatenate([_number(part).ravel() for part in column])
    return twist
