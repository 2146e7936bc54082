"""Couplings as lines between two frames: their lengths, and their forces on the coordinates.

A force f along a line of length L(q) does the work f dL, so that its generalized forces are f dL/dq: the same for every
formulation.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import casadi as ca

from pliant.algebra.rotations import SX
from pliant.mechanics.constraints.coupling_laws import LineDrive
from pliant.mechanics.links.chain import Chain
from pliant.mechanics.links.frames import placed_frame
from pliant.mechanics.links.kinematics import placements

NOWHERE = 1e-30
"""m^2, added to the square of a length, so that frames that coincide have a slope: none."""


class Lines(NamedTuple):
    """All couplings at a state: lengths `L` (k,), their slopes `J` (k, n) along the speeds, and their `rate` (k,)."""

    L: SX
    J: SX
    rate: SX

    def along(self, forces: list[SX]) -> SX:
        """(n,) generalized forces of forces that drive the frames apart."""
        return ca.mtimes(self.J.T, ca.vertcat(*forces))


def lines(chain: Chain, q: SX, qd: SX) -> Lines:
    """Lengths of the couplings of a chain, with their slopes and rates."""
    Q = ca.SX.sym("q", chain.n_q)  # those given may hold prescribed motions, which no derivative can be taken by
    L = _lengths(chain, Q)
    L, J = ca.substitute([ca.densify(L), ca.densify(chain.jacobian(L, Q))], [Q], [q])
    return Lines(L, J, ca.mtimes(J, qd))


def _lengths(chain: Chain, q: SX) -> SX:
    links, found = placements(chain, q), []
    for line in chain.lines:
        (_, a), (_, b) = (placed_frame(chain, q, links, frame) for frame in line.frames)
        found.append(ca.sqrt(ca.sumsqr(b - a) + NOWHERE))
    return ca.vertcat(*found)


def line_energy(chain: Chain, q: SX) -> SX:
    """Energy stored in couplings."""
    L = lines(chain, q, ca.SX.zeros(chain.n)).L
    return sum((law.energy(L[k]) for k, line in enumerate(chain.lines) for law in line.laws), ca.SX(0))


def line_pull(chain: Chain, q: SX) -> SX:
    """(n,) elastic forces of couplings, on the left-hand side of the equations of motion."""
    found = lines(chain, q, ca.SX.zeros(chain.n))
    return found.along([
        sum((law.pull(found.L[k]) for law in line.laws), ca.SX(0)) for k, line in enumerate(chain.lines)
    ])  # fmt: skip


def line_resistance(chain: Chain, q: SX, qd: SX) -> SX:
    """(n,) damping forces of couplings, positive against the motion."""
    found = lines(chain, q, qd)
    return found.along([
        sum((law.resisting(found.L[k], found.rate[k]) for law in line.laws), ca.SX(0))
        for k, line in enumerate(chain.lines)
    ])  # fmt: skip


def pushes(chain: Chain, command: SX, states: dict[tuple[str, str], SX]) -> list[SX]:
    """Forces of the commanded couplings, by their commands."""
    return [drive.push(command[k], y) for k, (_, drive, y) in enumerate(_driven(chain, states))]


def line_pushes(chain: Chain, q: SX, qd: SX, push: SX) -> list[SX]:
    """Whole forces of all couplings, apart, under those of the commanded ones (k,)."""
    if not chain.lines:
        return []
    found, own, out = lines(chain, q, qd), iter(ca.vertsplit(push) if push.shape[0] else ()), []
    for k, line in enumerate(chain.lines):
        acting = sum((law.pull(found.L[k]) + law.resisting(found.L[k], found.rate[k]) for law in line.laws), ca.SX(0))
        out.append((next(own) if line.drive is not None else ca.SX(0)) - acting)
    return out


def line_forces(chain: Chain, q: SX, force: SX) -> SX:
    """(n,) generalized forces of the commanded couplings, by their forces."""
    J = lines(chain, q, ca.SX.zeros(chain.n)).J
    return ca.mtimes(J[[k for k, line in enumerate(chain.lines) if line.drive is not None], :].T, force)


def line_rates(chain: Chain, q: SX, qd: SX, command: SX, states: dict[tuple[str, str], SX]) -> list[SX]:
    """Rates of the states of couplings."""
    found, rates = lines(chain, q, qd), []
    for k, (number, drive, y) in enumerate(_driven(chain, states)):
        rates += drive.rates(command[k], found.L[number], found.rate[number], y)
    return rates


def line_starts(chain: Chain, pushed: SX | None) -> list[SX]:
    """States of couplings that push (m,) by some force, or by none."""
    found = []
    for k, line in enumerate(chain.commanded):
        assert line.drive is not None
        found += line.drive.start(ca.SX(0) if pushed is None else pushed[k])
    return found


def _driven(chain: Chain, states: dict[tuple[str, str], SX]) -> Iterator[tuple[int, LineDrive, list[SX]]]:
    """Numbers of the commanded couplings, their drives, and their states."""
    for number, line in enumerate(chain.lines):
        if line.drive is not None:
            yield number, line.drive, line.own(states)


def closed_valves(chain: Chain, q: SX, force: SX) -> tuple[SX, SX]:
    """Slopes J (m, n) of the lengths of the commanded couplings, and the stiffness (n, n) that they give a state in
    which they push by forces (m,): of the oil behind closed valves, and of forces whose lines turn."""
    Q = ca.SX.sym("q", chain.n_q)
    found = lines(chain, Q, ca.SX.zeros(chain.n))
    driven = [(k, line.drive) for k, line in enumerate(chain.lines) if line.drive is not None]
    J = found.J[[k for k, _ in driven], :]
    oil = ca.diag(ca.vertcat(*(drive.stiffness(found.L[k]) for k, drive in driven)))
    K = ca.mtimes([J.T, oil, J]) - chain.jacobian(ca.mtimes(J.T, force), Q)
    J, K = ca.substitute([ca.densify(J), ca.densify(K)], [Q], [q])
    return J, K


def line_bias(chain: Chain, q: SX, qd: SX) -> tuple[SX, SX]:
    """Slopes J (m, n) of the lengths of the commanded couplings, and gamma (m,) of L'' = J qdd + gamma."""
    Q, V = ca.SX.sym("q", chain.n_q), ca.SX.sym("qd", chain.n)
    rows = [k for k, line in enumerate(chain.lines) if line.drive is not None]
    J = lines(chain, Q, V).J[rows, :]
    gamma = ca.jtimes(ca.mtimes(J, V), Q, chain.rates(Q, V))
    J, gamma = ca.substitute([J, ca.densify(gamma)], [Q, V], [q, qd])
    return J, gamma
