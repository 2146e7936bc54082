"""Slopes of the accelerations by coordinates and speeds, one link after the other.

A change of a link's own coordinates reaches what hangs beyond it only through the motion of its ports. Let a port turn
at omega, its origin move at v, and let changes be dw of its angular velocity, dal and da of its accelerations, in its
axes. Then, in common axes,

    spin = dw,    turn = dal - dw x omega,    slide = da - 2 dw x v,    (turn, slide) about a common point,

are the same at every port beyond it, whatever moves or bends between. (turn, slide) acts like an acceleration of all
that lies beyond: its wrench follows from the articulated inertia there. The wrench of spin follows from rows that are
eliminated once for all columns. These wrenches, and the changes of the link itself, act on a state of rest, so that a
column is solved by a walk inwards from its link and one outwards over the whole arm. Derivatives are taken of one joint
and of one body at a time; nothing is differentiated from link to link, nor through the elimination.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import casadi as ca

from pliant.algebra.inertia import Inertia
from pliant.algebra.rotations import SX
from pliant.mechanics.derivatives.inertia_factor import (
    At,
    ColumnGroup,
    Factor,
    Naming,
    Pose,
    column_group,
    factored,
    hung,
    plus,
    poses,
)
from pliant.mechanics.formulations import denoc
from pliant.mechanics.formulations.denoc import Motion
from pliant.mechanics.links.chain import Arrivals, Chain, ChainLink
from pliant.mechanics.links.joints import JointMap
from pliant.mechanics.links.maps.link_maps import Moments


@dataclass(frozen=True)
class OwnChanges:
    """Changes that follow from those of a joint's or a body's own coordinates and speeds: of the motion of its ports
    (9, K), of the forces on its coordinates (k, K), and of the wrench (6, K) that it hands on."""

    ports: tuple[SX, ...]
    forces: SX
    wrench: SX


@dataclass(frozen=True)
class LinkSlopes:
    """The slopes at coordinates and speeds, and at the accelerations that belong to them."""

    chain: Chain
    q: SX
    qd: SX
    qdd: SX

    @cached_property
    def motions(self) -> list[Motion]:
        """Motions of all links."""
        return denoc.outward_motion(self.chain, self.q, self.qd, self.qdd)

    @cached_property
    def at(self) -> dict[At | None, Pose]:
        """Poses of ports."""
        return poses(self.motions)

    @cached_property
    def _factored(self) -> tuple[Factor, dict[At, Inertia]]:
        return factored(self.chain, self.motions, self.at)

    @property
    def factor(self) -> Factor:
        """Factors of the inertia matrix."""
        return self._factored[0]

    @cached_property
    def turning(self) -> dict[At | None, tuple[SX, SX, SX]]:
        """Angular velocity, angular acceleration and acceleration of every port, in its own axes."""
        base = self.chain.base
        found: dict[At | None, tuple[SX, SX, SX]] = {None: (base.omega, base.alpha, base.a - self.chain.gravity)}
        for i, motion in enumerate(self.motions):
            found[2 * i, 0] = motion.omega, motion.alpha, motion.a
            found.update({(2 * i + 1, number): motion.at(number) for number in range(len(motion.ports))})
        return found

    @cached_property
    def velocities(self) -> dict[At | None, SX]:
        """Velocities of the origins of all ports, in their own axes, as seen from the base.

        They are those of `kinematics.twists`, by the maps of `motions`, so that nothing is computed again.
        """
        found: dict[At | None, SX] = {None: ca.SX.zeros(3)}
        for i, motion in enumerate(self.motions):
            joint, before = motion.link.joint, hung(motion)
            v = found[before] + ca.cross(self.turning[before][0], joint.position(motion.q))
            for R in (joint.origin_rotation, *joint.turns(motion.q)):
                v = R.unapply(v)
            rates = self.chain.joint_rate(motion.link, self.qd)
            for k, (_, slide) in enumerate(joint.columns(motion.q)):
                v = v + slide * rates[k]
            found[2 * i, 0] = v
            for number, port in enumerate(motion.ports):
                moving = v + ca.cross(motion.omega, port.map.p) + ca.mtimes(port.map.J, motion.cd)
                found[2 * i + 1, number] = port.map.R.unapply(moving)
        return found

    @cached_property
    def wrenches(self) -> list[tuple[SX, dict[int, tuple[SX, SX]]]]:
        """Wrench (6,) that each body hands to its joint, and wrenches that are handed to it at its ports."""
        handed, found = Arrivals(self.chain, (ca.SX.zeros(3), ca.SX.zeros(3))), []
        for i, motion in reversed(list(enumerate(self.motions))):
            arrived = handed.at(i)
            n, f, _ = denoc.link_wrench(motion, arrived)
            found.append((ca.vertcat(n, f), arrived))
            handed.add(i, tuple(denoc.through_joint(motion.link.joint, motion.q, n, f)[1:]))
        return found[::-1]

    @cached_property
    def beyond(self) -> frozenset[At | None]:
        """Ports at which other stages hang."""
        return frozenset(stage.parent for stage in self.factor.stages)

    # -------------------------------------------------------------------------------- one joint, one body

    def _body(self, i: int) -> OwnChanges:
        """Changes of a body by its coordinates and their rates."""
        motion, arrived = self.motions[i], self.wrenches[i][1]
        handed = ca.vertcat(*(x for port in sorted(arrived) for x in arrived[port]))
        given = motion.c, motion.cd, motion.cdd, ca.vertcat(*self.turning[2 * i, 0]), handed
        k, ports = len(motion.link.body_indices), len(motion.ports)
        by = _body(motion.link, sorted(arrived), *given)
        parts = ca.vertsplit(by, [9 * number for number in range(ports + 1)] + [9 * ports + k, 9 * ports + k + 6])
        return OwnChanges(tuple(parts[:ports]), *parts[ports:])

    def _joint(self, i: int) -> OwnChanges:
        """Changes of a joint by displacements along its speeds and by these."""
        motion, n = self.motions[i], self.motions[i].link.joint.n_v
        rates = (self.chain.joint_rate(motion.link, x) for x in (self.qd, self.qdd))
        given = motion.q, *rates, ca.vertcat(*self.turning[hung(motion)]), self.wrenches[i][0]
        port, forces, wrench = ca.vertsplit(_joint(motion.link.joint, *given), [0, 9, 9 + n, 15 + n])
        return OwnChanges((port,), forces, wrench)

    @cached_property
    def spins(self) -> tuple[SX, dict[At, SX]]:
        """Forces (n, 3) and wrenches (6, 3) at ports, reduced by elimination, for spins of all that lies beyond about
        the common axes."""
        b, handed = ca.SX.zeros(self.chain.n, 3), {}
        for i, motion in enumerate(self.motions):
            link, frame, own = motion.link, (2 * i, 0), list(motion.link.body_indices)
            wrench = -self._spun(frame, motion.body, motion.cd)
            if own:
                b[own, :] = -ca.mtimes(_spun_forces(motion, self.velocities[frame]), self.at[frame].R.T)
            if link.load is not None:  # part of the body: not among what arrives at the tip
                load = -self._spun((2 * i + 1, 0), link.load, ca.SX(0, 1))
                wrench = wrench + load
                if own:
                    b[own, :] += ca.mtimes(self.factor.stages[2 * i + 1].ports[0].T, load)
            handed[2 * i + 1] = wrench
        return self.factor.inward(b, {}, handed)

    def _spun(self, at: At, body: Moments, cd: SX) -> SX:
        """Wrenches (6, 3) of a body whose frame is at a port, about common axes.

        Its points, which move at u, gain the acceleration 2 e x u by a spin e: with the momentum p = int u and X = int
        u r^T, the force is 2 e x p and the moment int r x (2 e x u) = 2 (tr(X) - X) e.
        """
        (omega, *_), v, pose = self.turning[at], self.velocities[at], self.at[at]
        p = body.m * v + ca.cross(omega, body.s) + ca.mtimes(body.eps, cd)
        X = ca.mtimes(v, body.s.T) + ca.mtimes(ca.skew(omega), body.D) + body.P.T
        moment = 2 * (ca.trace(X) * ca.SX.eye(3) - X) - ca.skew(ca.mtimes(body.spin, cd))
        force = ca.skew(-2 * ca.mtimes(pose.R, p))
        return ca.vertcat(ca.mtimes([pose.R, moment, pose.R.T]) + ca.mtimes(ca.skew(pose.p), force), force)

    # ------------------------------------------------------------------------------------------- columns

    def beyond_port(self, at: At) -> BeyondPort:
        """Motion of a port, and the inertia beyond it."""
        return BeyondPort(
            self.at[at], self.turning[at][0], self.velocities[at], self._factored[1][at], self.spins[1][at]
        )

    def groups(self, forces: SX, name: Naming, factor: Factor) -> tuple[ColumnGroup, ...]:
        """Columns by displacements and speeds of one stage after the other, for further forces whose slopes (n, 2 n)
        are given, in named numbers of the factor."""
        walk = Walk(factor, name(self.spins[0]))
        moving = [s for s, stage in enumerate(factor.stages) if stage.indices]
        return tuple(self._group(s, forces, name, walk) for s in moving)

    def _group(self, s: int, forces: SX, name: Naming, walk: Walk) -> ColumnGroup:
        changes = self._body(s // 2) if s % 2 else self._joint(s // 2)
        own, before = list(walk.factor.stages[s].indices), walk.factor.stages[s].parent
        places = [*own, *(self.chain.n + index for index in own)]
        b = forces[:, places]
        b[own, :] -= changes.forces
        ports = [(s, port) for port in range(len(changes.ports)) if (s, port) in self.beyond]
        wrench = changes.wrench if before is not None else ca.SX(*changes.wrench.shape)  # which the base takes up
        told = [b, wrench, *(changes.ports[port] for _, port in ports)]
        ends = list(itertools.accumulate((block.shape[0] for block in told), initial=0))
        pose, answers = self.at[before].named(name), [self.beyond_port(at).named(name) for at in ports]

        def solve(column: SX) -> SX:
            b, wrench, *others = ca.vertsplit(column, ends)
            acting = {} if before is None else {before: -pose.carried(wrench)}
            found = (answer.reached(change) for answer, change in zip(answers, others, strict=True))
            return walk.solve(b, acting, dict(zip(ports, found, strict=True)))

        return column_group(places, ca.vertcat(*told), solve)


class Reached(NamedTuple):
    """Change of all that lies beyond a port, in common axes: spin (3, K), acceleration (6, K), and the wrench (6, K)
    that comes back."""

    spin: SX
    moved: SX
    back: SX


@dataclass(frozen=True)
class BeyondPort:
    """Numbers of a port from which the wrench for a change of its motion follows: its pose, angular velocity and
    velocity in its own axes, the articulated inertia beyond it, and wrenches (6, 3) for spins about common axes."""

    pose: Pose
    omega: SX
    v: SX
    inertia: Inertia
    spins: SX

    def reached(self, change: SX) -> Reached:
        """Change beyond the port for changes (9, K) of its angular velocity, angular acceleration and acceleration, in
        its own axes."""
        w, of_turn, of_slide = ca.vertsplit(change, [0, 3, 6, 9])
        turn = of_turn + ca.mtimes(ca.skew(self.omega), w)
        slide = of_slide + 2 * ca.mtimes(ca.skew(self.v), w)
        spin = ca.mtimes(self.pose.R, w)
        back = ca.mtimes(self.spins, spin) - self.pose.carried(ca.vertcat(*self.inertia.times(turn, slide)))
        return Reached(spin, self.pose.moved(turn, slide), back)

    def named(self, name: Naming) -> BeyondPort:
        """The same with symbols in place of what depends on the state."""
        A, B, C = (name(block) for block in (ca.triu(self.inertia.A), self.inertia.B, ca.triu(self.inertia.C)))
        return BeyondPort(
            self.pose.named(name), name(self.omega), name(self.v), Inertia(A, B, C).whole(), name(self.spins)
        )


@dataclass(frozen=True)
class Walk:
    """Solution of columns by the factor, and by the forces (n, 3) for spins."""

    factor: Factor
    spins: SX

    def solve(self, b: SX, acting: Mapping[At, SX], reached: Mapping[At, Reached]) -> SX:
        """Accelerations under forces, under wrenches that act at ports, and under changes beyond ports."""
        phi, _ = self.factor.inward(b, {**acting, **{at: found.back for at, found in reached.items()}})
        turning: dict[At | None, SX] = {}
        for s, stage in enumerate(self.factor.stages):
            here, own = turning.get(stage.parent), list(stage.indices)
            if here is not None and own:
                phi[own, :] = plus(phi[own, :], self.spins[own, :], here)
            for port in range(len(stage.ports)):
                spin = reached[s, port].spin if (s, port) in reached else None
                parts = [x for x in (here, spin) if x is not None]
                if parts:
                    turning[s, port] = sum(parts[1:], parts[0])
        return self.factor.outward(b, phi, {at: found.moved for at, found in reached.items()})


def _joint(joint: JointMap, *given: SX) -> SX:
    """Changes of the motion behind a joint, of the forces along its axes and of the wrench before it, by its
    coordinates and speeds."""
    q = ca.SX.sym("q", joint.n_q)
    rate, second, speeds = (ca.SX.sym(name, joint.n_v) for name in ("qd", "qdd", "speeds"))
    before, wrench = ca.SX.sym("before", 9), ca.SX.sym("wrench", 6)
    moved = denoc.across_joint(joint, q, rate, second, *ca.vertsplit(before, [0, 3, 6, 9]))
    outputs = ca.vertcat(*moved, *denoc.through_joint(joint, q, wrench[:3], wrench[3:]))
    by_q = ca.mtimes(ca.jacobian(outputs, q), ca.jacobian(joint.rates(q, speeds), speeds))
    by = ca.horzcat(by_q, ca.jacobian(outputs, rate))
    return _put([by], [q, rate, second, before, wrench], given)[0]


def _body(link: ChainLink, ports: list[int], *given: SX) -> SX:
    """Changes of the motion of a body's ports, of the forces on its coordinates and of the wrench on its frame, by its
    coordinates and speeds, under wrenches at these `ports`."""
    c, cd, cdd = (ca.SX.sym(name, len(link.body_indices)) for name in ("c", "cd", "cdd"))
    moved, handed = ca.SX.sym("moved", 9), ca.SX.sym("handed", 6 * len(ports))
    omega, alpha, a = ca.vertsplit(moved, [0, 3, 6, 9])
    reached = denoc.along_body(link, c, cd, cdd, omega, alpha, a)
    arrived = {p: (handed[6 * k : 6 * k + 3], handed[6 * k + 3 : 6 * k + 6]) for k, p in enumerate(ports)}
    motion = Motion(
        link=link, q=ca.SX(0, 1), c=c, cd=cd, ports=reached, omega=omega, alpha=alpha, a=a, cdd=cdd
    )  # fmt: skip
    n, f, modal = denoc.link_wrench(motion, arrived)
    outputs = ca.vertcat(*(x for port in reached for x in (port.omega, port.alpha, port.a)), modal, n, f)
    by = ca.horzcat(*(ca.jacobian(outputs, x) for x in (c, cd)))
    return _put([by], [c, cd, cdd, moved, handed], given)[0]


def _spun_forces(motion: Motion, v: SX) -> SX:
    """Forces (k, 3) on the amplitudes of a body by spins about the axes of its frame: see `LinkSlopes._spun`."""
    body, omega, columns = motion.body, motion.omega, []
    for k in range(3):
        e = ca.skew(ca.SX.eye(3)[:, k])
        along = ca.mtimes(body.eps.T, 2 * ca.mtimes(e, v)) + ca.mtimes(body.spin.T, ca.mtimes(e, omega))
        columns.append(along + body.modal_forces(2 * ca.mtimes(e, ca.skew(omega)), 2 * e))
    return ca.horzcat(*columns)


def _put(values: list[SX], symbols: list[SX], given: Sequence[SX]) -> list[SX]:
    """Expressions with the values `given` in place of symbols."""
    return ca.substitute(values, symbols, [ca.densify(x) for x in given])
