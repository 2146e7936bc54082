"""Factors of the inertia matrix in common axes: a right-hand side in O(n), many for the price of their products alone.

The elimination of `denoc` leaves a pivot per coordinate, with columns in the axes of its link. Carried to the axes of
the base, about the first link, these columns need no rotation on the way from link to link: a right-hand side costs
four products of six numbers per coordinate, inwards and outwards, whatever the joints between them are. A link is two
stages, its joint and its body, which are alike here: own coordinates, and ports at which the next stages hang.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

import casadi as ca

from pliant.algebra.inertia import Inertia, zero
from pliant.algebra.rotations import SX, Rotation
from pliant.mechanics.formulations import denoc
from pliant.mechanics.formulations.denoc import Motion, Pivot
from pliant.mechanics.formulations.generalized_forces import rotors
from pliant.mechanics.links.chain import Arrivals, Chain

At = tuple[int, int]
"""Number of a stage, and of one of its ports."""


class Naming:
    """Symbols for the entries of expressions that are not constant; `values` are what they stand for."""

    def __init__(self) -> None:
        self.values: list[SX] = []
        self.symbols: list[SX] = []
        self._known: dict[int, SX] = {}

    def __call__(self, value: SX) -> SX:
        value = ca.sparsify(ca.SX(value))
        out = ca.SX(value)
        for k, entry in enumerate(value.nonzeros()):
            if not entry.is_constant():
                out.nz[k] = self._symbol(entry)
        return out

    def _symbol(self, entry: SX) -> SX:
        found = self._known.get(entry.element_hash())
        if found is None:
            found = self._known[entry.element_hash()] = ca.SX.sym(f"shared_{len(self.symbols)}")
            self.values.append(entry)
            self.symbols.append(found)
        return found


@dataclass(frozen=True)
class FactoredStage:
    """A joint or a body: the port that it hangs on, None for the base; its coordinates, eliminated last first; the
    numbers of their elimination, in common axes about a common point; and for each port the columns (6, k) by which
    they move it.

    `inverse` (k,) of the pivots; `psi` (6, k); `coupling` (k, k), above the diagonal. With the signs of `psi` and
    `coupling`, all products are added: they are those of [MS07], negative.
    """

    parent: At | None
    indices: tuple[int, ...]
    inverse: SX
    psi: SX
    coupling: SX
    ports: tuple[SX, ...]

    def named(self, name: Naming) -> FactoredStage:
        """The same with symbols in place of what depends on the state."""
        inverse, psi, coupling = (name(x) for x in (self.inverse, self.psi, self.coupling))
        return FactoredStage(self.parent, self.indices, inverse, psi, coupling, tuple(map(name, self.ports)))


@dataclass(frozen=True)
class Factor:
    """M = U D U^T of a chain, by stages, of which joint and body of link i are numbers 2 i and 2 i + 1. Wrenches are
    those that act on a stage."""

    n: int
    stages: tuple[FactoredStage, ...]
    motors: dict[int, SX]

    def solve(self, b: SX) -> SX:
        """(n,) accelerations x of M x = b, in O(n)."""
        return self.outward(b, self.inward(b)[0])

    def inward(
        self, b: SX, at_ports: Mapping[At, SX] | None = None, handed: Mapping[int, SX] | None = None
    ) -> tuple[SX, dict[At, SX]]:
        """Forces (n, K) reduced by elimination, and wrenches (6, K) that arrive at ports; further wrenches may act
        `at_ports`, or be `handed` on by a stage."""
        phi, arrived, handed = ca.SX(b), dict(at_ports or {}), handed or {}
        none = ca.SX.zeros(6, b.shape[1])
        for s, stage in reversed(list(enumerate(self.stages))):
            wrenches, own = [arrived.get((s, port), none) for port in range(len(stage.ports))], list(stage.indices)
            wrench = sum(wrenches[1:], wrenches[0])
            if own:
                force = phi[own, :]
                for columns, here in zip(stage.ports, wrenches, strict=True):
                    force = plus(force, columns.T, here)
                for k in reversed(range(1, len(own))):
                    force[:k, :] = plus(force[:k, :], stage.coupling[:k, k], force[k, :])
                phi[own, :], wrench = force, plus(wrench, stage.psi, force)
            if stage.parent is not None:
                arrived[stage.parent] = arrived.get(stage.parent, none) + wrench + handed.get(s, none)
        return phi, arrived

    def outward(self, b: SX, phi: SX, moved: Mapping[At, SX] | None = None) -> SX:
        """(n, K) accelerations; ports may be `moved` by further ones (6, K)."""
        x, moved = ca.SX.zeros(phi.shape), moved or {}
        at: dict[At | None, SX] = {None: ca.SX.zeros(6, phi.shape[1])}
        for s, stage in enumerate(self.stages):
            a, own = at[stage.parent], list(stage.indices)
            if own:
                found = plus(ca.repmat(stage.inverse, 1, phi.shape[1]) * phi[own, :], stage.psi.T, a)
                for k in range(1, len(own)):
                    found[k, :] = plus(found[k, :], stage.coupling[:k, k].T, found[:k, :])
                x[own, :] = found
            for port, columns in enumerate(stage.ports):
                further = plus(a, columns, x[own, :]) if own else a
                at[s, port] = further + moved[s, port] if (s, port) in moved else further
        for index, inertia in self.motors.items():
            x[index, :] = b[index, :] / inertia
        return x

    def named(self, name: Naming) -> Factor:
        """The same with symbols in place of what depends on the state."""
        motors = {index: name(value) for index, value in self.motors.items()}
        return Factor(self.n, tuple(stage.named(name) for stage in self.stages), motors)

    def inverse(self) -> SX:
        """(n, n) inverse of M."""
        return inverse_of(self.solve, self.n)


@dataclass(frozen=True)
class ColumnGroup:
    """Columns (m, K) at `places` among many, and the solution `x` (n,) for one of them, in `symbols` (m,)."""

    places: tuple[int, ...]
    columns: SX
    symbols: SX
    x: SX


def column_group(places: Iterable[int], columns: SX, solve: Callable[[SX], SX]) -> ColumnGroup:
    """Columns without the rows that are zero in all of them; one row is left at least."""
    columns = ca.sparsify(columns)
    live = sorted(set(columns.sparsity().row())) or [0]
    symbols, column = ca.SX.sym("column", len(live)), ca.SX.zeros(columns.shape[0])
    column[live] = symbols
    return ColumnGroup(tuple(places), columns[live, :], symbols, solve(column))


def plus(z: SX, x: SX, y: SX) -> SX:
    """z + x y, products added one after the other."""
    return ca.mac(x, y, ca.densify(z))  # what z has no entry for would be dropped


def inverse_of(solve: Callable[[SX], SX], n: int) -> SX:
    """(n, n) inverse of a symmetric matrix: its columns from the diagonal down, mirrored."""
    columns = [solve(ca.densify(ca.SX.eye(n)[:, j])) for j in range(n)]
    return ca.tril2symm(ca.tril(ca.horzcat(*columns)))


def factor(chain: Chain, q: SX) -> Factor:
    """The factors of the inertia matrix, rotors included."""
    motions = denoc.outward_motion(chain, q, ca.SX.zeros(chain.n), None)
    return factored(chain, motions, poses(motions))[0]


@dataclass(frozen=True)
class Pose:
    """Pose of a port in common axes: rotation from its own axes, and place from the common point."""

    R: SX
    p: SX

    def moved(self, turn: SX, slide: SX) -> SX:
        """Columns (6, k) of motion at the port, in its axes, about the common point and in common axes."""
        w = ca.mtimes(self.R, turn)
        return ca.vertcat(w, ca.mtimes(self.R, slide) + ca.mtimes(ca.skew(self.p), w))

    def named(self, name: Naming) -> Pose:
        """The same with symbols in place of what depends on the state."""
        return Pose(name(self.R), name(self.p))

    def carried(self, wrench: SX) -> SX:
        """Wrenches (6, k) at the port, in its axes, about the common point and in common axes."""
        f = ca.mtimes(self.R, wrench[3:, :])
        return ca.vertcat(ca.mtimes(self.R, wrench[:3, :]) + ca.mtimes(ca.skew(self.p), f), f)


def poses(motions: list[Motion]) -> dict[At | None, Pose]:
    """Poses of the ports of all stages, and of the base; the common point is the first link's, wherever a free base may
    be."""
    at: dict[At | None, Pose] = {None: Pose(ca.SX.eye(3), ca.SX.zeros(3))}
    for i, motion in enumerate(motions):
        link = motion.link
        before = at[hung(motion)]
        R, p = before.R, before.p
        if link.parent is not None:
            p = p + ca.mtimes(R, link.joint.position(motion.q))
        for turn in (link.joint.origin_rotation, *link.joint.turns(motion.q)):
            R = _turned(R, turn)
        at[2 * i, 0] = Pose(R, p)
        for number, port in enumerate(motion.ports):
            at[2 * i + 1, number] = Pose(_turned(R, port.map.R), p + ca.mtimes(R, port.map.p))
    return at


def hung(motion: Motion) -> At | None:
    """The port that a link hangs on."""
    link = motion.link
    return None if link.parent is None else (2 * link.parent + 1, link.port)


def factored(chain: Chain, motions: list[Motion], at: Mapping[At | None, Pose]) -> tuple[Factor, dict[At, Inertia]]:
    """The factors, and the articulated inertia beyond each port, in its own axes."""
    beyond, inertias, rotor = Arrivals(chain, zero()), {}, rotors(chain)
    none = ca.SX.zeros(3), ca.SX.zeros(3)
    stages: list[FactoredStage] = []
    for i, motion in reversed(list(enumerate(motions))):
        link, arrived = motion.link, beyond.at(i)
        bodies, joints = (list(own) for own in (link.body_indices, link.joint_indices))
        free, no_force = (True,) * len(bodies), ca.SX.zeros(len(bodies))
        no_wrenches = dict.fromkeys(arrived, none)
        pivots, inertia, _ = denoc.eliminate_body(link, free, denoc.walked(motion), no_wrenches, arrived, no_force)
        after, handed, *_ = denoc.eliminate_joint(
            link.joint, (True,) * len(joints), motion.q, inertia, ca.SX.zeros(6), ca.SX.zeros(len(joints)),
            rotor[joints] if joints else ca.SX(0, 1),
        )  # fmt: skip
        beyond.add(i, handed)
        inertias.update({(2 * i, 0): inertia.whole(), **{(2 * i + 1, k): I.whole() for k, I in arrived.items()}})
        frame = at[2 * i, 0]
        places = [Pose(frame.R, at[2 * i + 1, number].p) for number in range(len(motion.ports))]
        moving = tuple(
            place.moved(port.map.W, port.map.J) if bodies else ca.SX(6, 0)
            for place, port in zip(places, motion.ports, strict=True)
        )
        stages.append(
            FactoredStage((2 * i, 0), link.body_indices, *_numbers(pivots, frame, ca.SX(6, len(bodies))), moving)
        )
        screws = ca.horzcat(ca.SX(6, 0), *(ca.vertcat(*screw) for screw in link.joint.columns(motion.q)))
        moving = (frame.moved(screws[:3, :], screws[3:, :]),)
        stages.append(FactoredStage(hung(motion), link.joint_indices, *_numbers(after, frame, screws), moving))
    motors = {shaft.actuated: rotor[shaft.actuated] for shaft in chain.driven}
    return Factor(chain.n, tuple(stages[::-1]), motors), inertias


def _numbers(pivots: list[Pivot], frame: Pose, screws: SX) -> tuple[SX, SX, SX]:
    """Inverse pivots, psi in common axes and couplings of a stage, in the order of its coordinates. Those of a joint
    are coupled by the screws (6, k) of what is eliminated later."""
    k = len(pivots)
    inverse, psi, coupling = ca.SX.zeros(k), ca.SX(6, k), ca.SX(k, k)
    for pivot in pivots:
        inverse[pivot.index], psi[:, pivot.index] = pivot.inverse, -pivot.psi
        coupling[: pivot.index, pivot.index] = ca.mtimes(screws[:, : pivot.index].T, -pivot.psi)
        for j, value in pivot.later:
            coupling[j, pivot.index] -= value
    return inverse, frame.carried(psi), ca.sparsify(coupling)


def _turned(R: SX, turn: Rotation) -> SX:
    """Return R T."""
    return ca.horzcat(*(turn.unapply(row.T) for row in ca.vertsplit(R))).T
