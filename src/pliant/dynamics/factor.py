"""The inertia matrix as the factors of its elimination, in common axes: one right-hand side in O(n), many for the price
of their products alone.

The elimination of `denoc` leaves a pivot per coordinate, with columns in the axes of its link. Carried to the axes of
the base, about the first link, these columns need no rotation on the way from link to link: a right-hand side costs
four products of six numbers per coordinate, inwards and outwards, whatever the joints between them are.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import casadi as ca

from pliant.algebra.rotations import SX, Rotation
from pliant.dynamics import denoc
from pliant.dynamics.chain import Arrivals, Chain
from pliant.dynamics.denoc import Motion, Pivot, is_zero
from pliant.dynamics.forces import rotors


class Naming:
    """Symbols for the entries of expressions that are not constant; `values` are what they stand for."""

    def __init__(self) -> None:
        self.values: list[SX] = []
        self.symbols: list[SX] = []

    def __call__(self, value: SX) -> SX:
        value = ca.sparsify(ca.SX(value))
        out = ca.SX(value)
        for k, entry in enumerate(value.nonzeros()):
            if not entry.is_constant():
                self.values.append(entry)
                self.symbols.append(ca.SX.sym(f"shared_{len(self.symbols)}"))
                out.nz[k] = self.symbols[-1]
        return out


@dataclass(frozen=True)
class FactoredLink:
    """Pivots of a link in the order of their elimination, the screws of its joint by coordinate, and for each port the
    columns (6, k) of its amplitudes; all in common axes about a common point."""

    indices: tuple[int, ...]
    pivots: tuple[Pivot, ...]
    screws: dict[int, SX]
    ports: tuple[SX, ...]


@dataclass(frozen=True)
class Factor:
    """M = U D U^T of a chain, by links."""

    chain: Chain
    links: tuple[FactoredLink, ...]
    motors: dict[int, SX]

    def solve(self, b: SX) -> SX:
        """(n,) accelerations x of M x = b, in O(n)."""
        phi, x = ca.SX(b), ca.SX.zeros(self.chain.n)
        handed = Arrivals(self.chain, ca.SX.zeros(6))
        for i, link in reversed(list(enumerate(self.links))):
            arrived = handed.at(i)
            wrench: SX = sum(arrived.values(), ca.SX.zeros(6))
            if link.indices:
                met = (ca.mtimes(link.ports[port].T, w) for port, w in arrived.items())
                phi[list(link.indices)] -= sum(met, ca.SX.zeros(len(link.indices)))
            for pivot in link.pivots:
                if pivot.index in link.screws:
                    phi[pivot.index] -= ca.dot(link.screws[pivot.index], wrench)
                wrench = wrench + pivot.psi * phi[pivot.index]
                for j, value in pivot.later:
                    phi[j] -= value * phi[pivot.index]
            handed.add(i, wrench)
        at: dict[tuple[int | None, int], SX] = {(None, 0): ca.SX.zeros(6)}
        for i, (place, own) in enumerate(zip(self.chain.links, self.links, strict=True)):
            a = at[place.parent, place.port]
            for pivot in reversed(own.pivots):
                known = ca.dot(pivot.psi, a) + sum(value * x[j] for j, value in pivot.later)
                x[pivot.index] = phi[pivot.index] * pivot.inverse - known
                if pivot.index in own.screws:
                    a = a + own.screws[pivot.index] * x[pivot.index]
            c = x[list(own.indices)] if own.indices else ca.SX(0, 1)
            for number, columns in enumerate(own.ports):
                at[i, number] = a + ca.mtimes(columns, c)
        for index, inertia in self.motors.items():
            x[index] = b[index] / inertia
        return x

    def named(self, name: Naming) -> Factor:
        """The same with symbols in place of what depends on the state."""
        links = []
        for link in self.links:
            pivots = tuple(
                Pivot(v.index, name(v.inverse), v.phi, name(v.psi), tuple((j, name(value)) for j, value in v.later))
                for v in link.pivots
            )
            screws = {index: name(screw) for index, screw in link.screws.items()}
            links.append(FactoredLink(link.indices, pivots, screws, tuple(map(name, link.ports))))
        return Factor(self.chain, tuple(links), {index: name(value) for index, value in self.motors.items()})

    def inverse(self) -> SX:
        """(n, n) inverse of M."""
        return inverse_of(self.solve, self.chain.n)


def inverse_of(solve: Callable[[SX], SX], n: int) -> SX:
    """(n, n) inverse of a symmetric matrix: its columns from the diagonal down, mirrored."""
    columns = [solve(ca.densify(ca.SX.eye(n)[:, j])) for j in range(n)]
    return ca.tril2symm(ca.tril(ca.horzcat(*columns)))


def factor(chain: Chain, q: SX) -> Factor:
    """The factors of the inertia matrix, rotors included."""
    still = ca.SX.zeros(chain.n)
    motions = denoc.outward_motion(chain, q, still, None)
    inertias = rotors(chain)
    pivots = denoc.inward_elimination(chain, motions, still, inertias)
    motors = {shaft.actuated: inertias[shaft.actuated] for shaft in chain.driven}
    return Factor(chain, tuple(_in_common_axes(chain, motions, pivots)), motors)


def _in_common_axes(chain: Chain, motions: list[Motion], pivots: list[list[Pivot]]) -> list[FactoredLink]:
    at: dict[tuple[int | None, int], tuple[SX, SX]] = {(None, 0): (ca.SX.eye(3), ca.SX.zeros(3))}
    out = []
    for i, (motion, own) in enumerate(zip(motions, pivots, strict=True)):
        link = motion.link
        R, p = at[link.parent, link.port]
        if link.parent is not None:  # the common point is the first link's, wherever a free base may be
            p = p + ca.mtimes(R, link.joint.position(motion.q))
        for turn in (link.joint.origin_rotation, *link.joint.turns(motion.q)):
            R = _turned(R, turn)
        screws = {index: _moved(R, p, *screw) for index, screw in motion.shafts()}
        carried = tuple(
            Pivot(v.index, v.inverse, v.phi, _carried(R, p, v.psi), tuple(c for c in v.later if not is_zero(c[1])))
            for v in own
        )
        ports = []
        for number, port in enumerate(motion.ports):
            here = p + ca.mtimes(R, port.map.p)
            ports.append(_moved(R, here, port.map.W, port.map.J) if link.body_indices else ca.SX(6, 0))
            at[i, number] = _turned(R, port.map.R), here
        out.append(FactoredLink(link.body_indices, carried, screws, tuple(ports)))
    return out


def _turned(R: SX, turn: Rotation) -> SX:
    """R T."""
    return ca.horzcat(*(turn.unapply(row.T) for row in ca.vertsplit(R))).T


def _moved(R: SX, p: SX, turn: SX, slide: SX) -> SX:
    """Columns (6, k) of motion at the point `p`, in axes `R`, about the common point and in common axes."""
    w = ca.mtimes(R, turn)
    return ca.vertcat(w, ca.mtimes(R, slide) + ca.mtimes(ca.skew(p), w))


def _carried(R: SX, p: SX, wrench: SX) -> SX:
    """A wrench likewise."""
    f = ca.mtimes(R, wrench[3:])
    return ca.vertcat(ca.mtimes(R, wrench[:3]) + ca.cross(p, f), f)
