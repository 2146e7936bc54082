"""O(n) dynamics of rigid and flexible chains by the decoupled natural orthogonal complement [MS07].

The twist of every link is linear in the rates through the natural orthogonal complement N = N_l N_d: N_l carries a
twist from link to link, N_d adds the link's own rates. Here a link's own rates are its joint's *and* its
amplitudes'; a body enters only through its moments and its tip map, so that any link that is a map fits. The
generalized inertia matrix factors as U D U^T [MS07] (30) by eliminating, from the tip inwards, each link's
amplitudes and then its joint: an articulated inertia and one pivot per coordinate.

Notes
-----
Deviations from the paper's typesetting: a_{i,i-1} in (4) runs from O_i to O_{i-1}; (27) lacks gamma; (28) is A^T M
A; (32) holds phi-hat, not t-hat; psi_i = psi-hat_i / m-hat_i without A in (33); gravity enters as base
*acceleration* -g. A flexible body adds the columns of its amplitudes to N_d. Bias and eta of (32) travel inwards as
one wrench, since both are carried by the same A^T.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import casadi as ca

from pliant.algebra.inertia import Inertia, shift_wrench, zero
from pliant.algebra.rotations import SX, Rotation, axial, skew
from pliant.mechanics.links.chain import Arrivals, Chain, ChainLink, Step
from pliant.mechanics.links.joints import JointMap
from pliant.mechanics.links.maps.link_maps import Moments, TipMap


@dataclass(frozen=True)
class Port:
    """A place on the way out at which others hang: where it is on its link, and how it moves, in its own axes."""

    map: TipMap
    omega: SX
    alpha: SX
    a: SX


@dataclass(frozen=True)
class Motion:
    """A link on the way out: its maps, angular velocity, and the accelerations of its frame and of its ports, the tip
    first."""

    link: ChainLink
    q: SX
    c: SX
    cd: SX
    ports: tuple[Port, ...]
    omega: SX
    alpha: SX
    a: SX
    cdd: SX | None = None

    @cached_property
    def body(self) -> Moments:
        """Mass integrals of the link, with its hub."""
        body = self.link.body.moments(self.c, self.cd)
        return body.added(self.link.hub) if self.link.hub is not None else body

    @property
    def tip(self) -> TipMap:
        """Where the tip frame is."""
        return self.ports[0].map

    def at(self, port: int) -> tuple[SX, SX, SX]:
        """Angular velocity, angular acceleration and acceleration of a port."""
        here = self.ports[port]
        return here.omega, here.alpha, here.a

    def shafts(self) -> list[tuple[int, tuple[SX, SX]]]:
        """Coordinates of the joint, and angular and linear velocity of the link frame per unit rate of each."""
        return list(zip(self.link.joint_indices, self.link.joint.columns(self.q), strict=True))


Moving = tuple[SX, SX, tuple[Port, ...], SX, SX, SX, SX | None]
"""Motion of a link as steps of its body read it: c, cd, ports, omega, alpha, a, cdd of `Motion`."""


@dataclass(frozen=True)
class Pivot:
    """One eliminated coordinate: pivot m-hat, its reduced force phi-hat, psi (6,) and couplings to what is
    eliminated later."""

    index: int
    inverse: SX
    phi: SX
    psi: SX
    later: tuple[tuple[int, SX], ...] = ()


def forward_dynamics(chain: Chain, q: SX, qd: SX, force: SX, rotor: SX, held: Mapping[int, SX] | None = None) -> SX:
    """(n,) accelerations under generalized forces, in O(n): [MS07] eqs. (30)-(37), amplitudes eliminated link by link.

    `held` gives the accelerations of prescribed coordinates: they are carried outwards and never eliminated.
    """
    held = held or {}
    known = ca.SX.zeros(chain.n)
    for index, value in held.items():
        known[index] = value
    motions = outward_motion(chain, q, qd, known if held else None)
    pivots = inward_elimination(chain, motions, force, rotor, frozenset(held))
    return outward_accelerations(chain, motions, pivots) + known


def inverse_dynamics(chain: Chain, q: SX, qd: SX, qdd: SX | None) -> SX:
    """(n,) inertial forces M qdd + h, gravity included: the same matrices walked out and in once ([MS07] (25),
    (27))."""
    return inward_forces(chain, outward_motion(chain, q, qd, qdd))


def inertial_forces(chain: Chain, q: SX, qd: SX) -> SX:
    """(n,) velocity and gravity terms."""
    return inverse_dynamics(chain, q, qd, None)


def mass_matrix(chain: Chain, q: SX) -> SX:
    """(n, n) generalized inertia matrix by composite inertias, [MS07] (28), (29): each column walks from its link to
    the base."""
    motions = outward_motion(chain, q, ca.SX.zeros(chain.n), None)
    M = ca.SX(chain.n, chain.n)
    beyond = Arrivals(chain, zero())
    for i, motion in reversed(list(enumerate(motions))):
        own, columns, gram = body_blocks(motion, beyond.at(i))
        indices = motion.link.body_indices
        if indices:
            M[list(indices), list(indices)] = gram
        for k, row in enumerate(indices):
            _carry_column(motions, i, row, columns[:3, k], columns[3:, k], M)
        for index, (turn, slide) in motion.shafts():
            n, f = own.times(turn, slide)
            _carry_column(motions, i, index, n, f, M)
            if indices:
                M[list(indices), index] = ca.mtimes(columns.T, ca.vertcat(turn, slide))
        beyond.add(i, to_predecessor(motion, own))
    return ca.densify(ca.tril2symm(_lower(M)))


def diagonal(chain: Chain, motions: list[Motion]) -> SX:
    """(n,) diagonal of the generalized inertia matrix."""
    out, beyond = ca.SX.zeros(chain.n), Arrivals(chain, zero())
    for i, motion in reversed(list(enumerate(motions))):
        link = motion.link
        own, first, second = chain.link_step("composite", _composite, link, walked(motion), beyond.at(i), motion.q)
        if link.body_indices:
            out[list(link.body_indices)] = first
        if link.joint_indices:
            out[list(link.joint_indices)] = second
        beyond.add(i, own)
    return out


def _composite(
    of_joint: Step, of_body: Step, moving: Moving, beyond: Mapping[int, Inertia], q: SX
) -> tuple[Inertia, SX, SX]:
    """The composite inertia that a link hands on, and the inertias of its amplitudes and of its joint's coordinates."""
    own, first = of_body("composite of a link", _composite_body, moving, beyond)
    inertia, second = of_joint("composite through a joint", _composite_joint, q, own)
    return inertia, first, second


def _composite_body(link: ChainLink, moving: Moving, beyond: Mapping[int, Inertia]) -> tuple[Inertia, SX]:
    """Composite inertia about the frame of a link, and the inertias of its amplitudes."""
    own, _, gram = body_blocks(Motion(link, ca.SX(0, 1), *moving), _whole(beyond))
    return own.upper(), ca.diag(gram)


def _composite_joint(joint: JointMap, q: SX, inertia: Inertia) -> tuple[Inertia, SX]:
    """Composite inertia in the frame that a link hangs on, and the inertias of its joint's coordinates."""
    inertia = inertia.whole()
    columns = [ca.vertcat(*screw) for screw in joint.columns(q)]
    own = [ca.mtimes([S.T, inertia.matrix, S]) for S in columns]
    return _to_predecessor(joint, q, inertia).upper(), ca.vertcat(ca.SX(0, 1), *own)


def _whole(arrived: Mapping[int, Inertia]) -> dict[int, Inertia]:
    return {port: inertia.whole() for port, inertia in arrived.items()}


# ------------------------------------------------------------------------------------------- outward


def outward_motion(chain: Chain, q: SX, qd: SX, qdd: SX | None) -> list[Motion]:
    """Angular velocities and accelerations, base to tip; without `qdd` the bias accelerations. Gravity is base
    acceleration -g."""
    base = chain.base
    at_base = base.omega, base.alpha, base.a - chain.gravity
    motions: list[Motion] = []
    for link in chain.links:
        joint, rate = chain.joint(link, q), chain.joint_rate(link, qd)
        before = at_base if link.parent is None else motions[link.parent].at(link.port)
        second = chain.joint_rate(link, qdd) if qdd is not None else None
        c, cd = chain.body(link, q), chain.body_rate(link, qd)
        cdd = chain.body_rate(link, qdd) if qdd is not None else None
        moved, ports = chain.link_step("out to a link", _out, link, (joint, rate, second, *before), (c, cd, cdd))
        motions.append(Motion(link, joint, c, cd, ports, *moved, cdd))
    return motions


def _out(
    of_joint: Step, of_body: Step, joint: tuple[object, ...], body: tuple[object, ...]
) -> tuple[tuple[SX, SX, SX], tuple[Port, ...]]:
    """Motion of a link's frame, and of its ports, from arguments of `across_joint` and the first of `along_body`."""
    moved = of_joint("across a joint", across_joint, *joint)
    return moved, of_body("along a link", along_body, *body, *moved)


def across_joint(joint: JointMap, q: SX, qd: SX, qdd: SX | None, omega: SX, alpha: SX, a: SX) -> tuple[SX, SX, SX]:
    """Carry angular velocity, angular acceleration and acceleration from the frame that a link hangs on to its own."""
    a = a + ca.mtimes(euler_matrix(omega, alpha), joint.position(q))
    omega, alpha, a = (joint.origin_rotation.unapply(x) for x in (omega, alpha, a))
    omega, alpha, a = joint.across(q, qd, omega, alpha, a)
    if qdd is not None:
        for k, (turn, slide) in enumerate(joint.columns(q)):
            alpha, a = alpha + turn * qdd[k], a + slide * qdd[k]
    return omega, alpha, a


def along_body(link: ChainLink, c: SX, cd: SX, cdd: SX | None, omega: SX, alpha: SX, a: SX) -> tuple[Port, ...]:
    """Carry angular velocity, angular acceleration and acceleration from the link frame to its ports."""
    return tuple(Port(port, *across_body(port, cd, cdd, omega, alpha, a)) for port in link.ports(c, cd))


def across_body(tip: TipMap, cd: SX, cdd: SX | None, omega: SX, alpha: SX, a: SX) -> tuple[SX, SX, SX]:
    """Carry angular velocity, angular acceleration and acceleration from the link frame to its tip frame: eqs. (65),
    (70) of [KS09] with the term omega x thetad that (70) lost."""
    turning, moving = ca.mtimes(tip.W, cd), ca.mtimes(tip.J, cd)
    a = a + ca.mtimes(euler_matrix(omega, alpha), tip.p) + 2 * ca.cross(omega, moving) + tip.v_beta
    alpha = alpha + ca.cross(omega, turning) + tip.w_beta
    if cdd is not None:
        a, alpha = a + ca.mtimes(tip.J, cdd), alpha + ca.mtimes(tip.W, cdd)
    return tip.R.unapply(omega + turning), tip.R.unapply(alpha), tip.R.unapply(a)


def euler_matrix(omega: SX, alpha: SX) -> SX:
    """E = alpha^ + omega^ omega^: the acceleration of a point is a + E r. Six products, each formed once."""
    x, y, z = (omega[k] for k in range(3))
    xx, yy, zz, xy, xz, yz = x * x, y * y, z * z, x * y, x * z, y * z
    square = ca.blockcat([[-(yy + zz), xy, xz], [xy, -(xx + zz), yz], [xz, yz, -(xx + yy)]])
    return square + skew(alpha)


# -------------------------------------------------------------------------------------------- inward


def body_wrench(body: Moments, cd: SX, omega: SX, alpha: SX, a: SX) -> tuple[SX, SX, SX]:
    """Inertial moment and force about the frame's origin and the modal forces, for accelerations `alpha`, `a` of the
    frame."""
    E = euler_matrix(omega, alpha)
    f = body.m * a + ca.mtimes(E, body.s)
    X = ca.mtimes(E, body.D)
    modal = ca.SX(0, 1)
    spin: SX = ca.SX.zeros(3)
    if cd.shape[0]:
        W = skew(2 * omega)
        f = f + ca.mtimes(W, ca.mtimes(body.eps, cd)) + body.f_beta
        X = X + ca.mtimes(W, body.P.T) + body.X_beta
        modal = ca.mtimes(body.eps.T, a) + body.modal_forces(E, W) + body.b_beta + ca.mtimes(body.spin.T, alpha)
        spin = ca.cross(omega, ca.mtimes(body.spin, cd))
    return ca.cross(body.s, a) + axial(X) + spin, f, modal


def link_wrench(motion: Motion, handed: Mapping[int, tuple[SX, SX]]) -> tuple[SX, SX, SX]:
    """Moment and force about the link frame and modal forces of body, hub, load and of wrenches handed in at the
    ports."""
    link, none = motion.link, ca.SX(0, 1)
    body = motion.body
    n, f, modal = body_wrench(body, motion.cd, motion.omega, motion.alpha, motion.a)
    if motion.cdd is not None and link.body_indices:
        n, f = n + ca.mtimes(body.coupling(), motion.cdd), f + ca.mtimes(body.eps, motion.cdd)
        modal = modal + ca.mtimes(body.gram, motion.cdd)
    for number, port in enumerate(motion.ports):
        n_port, f_port = handed.get(number, (ca.SX.zeros(3), ca.SX.zeros(3)))
        if number == 0 and link.load is not None:
            n_load, f_load, _ = body_wrench(link.load, none, port.omega, port.alpha, port.a)
            n_port, f_port = n_port + n_load, f_port + f_load
        n_port, f_port = port.map.R.apply(n_port), port.map.R.apply(f_port)
        if link.body_indices:
            modal = modal + ca.mtimes(port.map.W.T, n_port) + ca.mtimes(port.map.J.T, f_port)
        n, f = n + shift_wrench(n_port, f_port, port.map.p), f + f_port
    return n, f, modal


def inward_forces(chain: Chain, motions: list[Motion]) -> SX:
    """(n,) generalized inertial forces from the motions, tip to base."""
    out = ca.SX.zeros(chain.n)
    handed = Arrivals(chain, (ca.SX.zeros(3), ca.SX.zeros(3)))
    for i, motion in reversed(list(enumerate(motions))):
        link, arrived = motion.link, handed.at(i)
        modal, own, *handing = chain.link_step("wrench", _in, link, walked(motion), arrived, motion.q)
        if link.body_indices:
            out[list(link.body_indices)] = modal
        if link.joint_indices:
            out[list(link.joint_indices)] = own
        handed.add(i, tuple(handing))
    return out


def _in(
    of_joint: Step, of_body: Step, moving: Moving, arrived: Mapping[int, tuple[SX, SX]], q: SX
) -> tuple[SX, SX, SX, SX]:
    """Forces on a link's amplitudes and along its joint's axes, and the wrench that it hands on."""
    n, f, modal = of_body("wrench of a link", _wrench, moving, arrived)
    own, n, f = of_joint("wrench through a joint", through_joint, q, n, f)
    return modal, own, n, f


def walked(motion: Motion) -> Moving:
    """Part of a link's motion that steps of its body depend on."""
    return motion.c, motion.cd, motion.ports, motion.omega, motion.alpha, motion.a, motion.cdd


def _wrench(link: ChainLink, moving: Moving, arrived: Mapping[int, tuple[SX, SX]]) -> tuple[SX, SX, SX]:
    """`link_wrench` as a step."""
    return link_wrench(Motion(link, ca.SX(0, 1), *moving), arrived)


def through_joint(joint: JointMap, q: SX, n: SX, f: SX) -> tuple[SX, SX, SX]:
    """Forces along a joint's axes, and the wrench in the frame that the link hangs on."""
    own = [ca.dot(turn, n) + ca.dot(slide, f) for turn, slide in joint.columns(q)]
    return ca.vertcat(ca.SX(0, 1), *own), *_wrench_to_predecessor(joint, q, n, f)


def inward_elimination(
    chain: Chain, motions: list[Motion], force: SX, rotor: SX, held: frozenset[int] = frozenset()
) -> list[list[Pivot]]:
    """Articulated inertias and pivots m-hat, psi, phi-hat, tip to base: [MS07] (31)-(34); per link, in order of
    elimination."""
    pivots: list[list[Pivot]] = []
    beyond, handed = Arrivals(chain, zero()), Arrivals(chain, (ca.SX.zeros(3), ca.SX.zeros(3)))
    for i, motion in reversed(list(enumerate(motions))):
        link = motion.link
        free = [tuple(index not in held for index in own) for own in (link.body_indices, link.joint_indices)]
        body = free[0], walked(motion), handed.at(i), beyond.at(i), chain.body_rate(link, force)
        joint = chain.joint_rate(link, force), chain.joint_rate(link, rotor)
        eliminated, after, M, n, f = chain.link_step("elimination", _eliminate, link, body, (free[1], motion.q), joint)
        pivots.append(_named(link.body_indices, eliminated) + _named(link.joint_indices, after))
        beyond.add(i, M)
        handed.add(i, (n, f))
    return pivots[::-1]


def _eliminate(
    of_joint: Step, of_body: Step, body: tuple[object, ...], joint: tuple[object, ...], acting: tuple[SX, SX]
) -> tuple[list[Pivot], list[Pivot], Inertia, SX, SX]:
    """Pivots of a link's amplitudes and of its joint, and the inertia and wrench that it hands on; from arguments of
    `eliminate_body`, and the first and last ones of `eliminate_joint`."""
    eliminated, *left = of_body("inertia of a link", eliminate_body, *body)
    after, M, n, f = of_joint("inertia through a joint", eliminate_joint, *joint, *left, *acting)
    return eliminated, after, M, n, f


def _named(indices: tuple[int, ...], eliminated: list[Pivot]) -> list[Pivot]:
    """Pivots with the numbers of speeds of the arm in place of those within a body or a joint."""
    return [
        replace(pivot, index=indices[pivot.index], later=tuple((indices[j], value) for j, value in pivot.later))
        for pivot in eliminated
    ]


def eliminate_body(
    link: ChainLink,
    free: tuple[bool, ...],
    moving: Moving,
    arrived: Mapping[int, tuple[SX, SX]],
    beyond: Mapping[int, Inertia],
    force: SX,
) -> tuple[list[Pivot], Inertia, SX]:
    """Eliminate the `free` amplitudes of a link: their pivots, and the inertia and wrench that are left.

    Each is one LDL^T step on [[M, F], [F^T, G]], the last amplitude first. `arrived` are wrenches and `beyond`
    articulated inertias at the ports, `force` acts on the amplitudes.
    """
    motion = Motion(link, ca.SX(0, 1), *moving)
    n, f, modal = link_wrench(motion, arrived)
    own, F, G = body_blocks(motion, _whole(beyond))
    M, wrench, phi, eliminated = own.matrix, ca.vertcat(n, f), force - modal, []
    for k in reversed(range(len(free))):
        if not free[k]:
            continue
        inverse = 1 / G[k, k]
        psi = F[:, k] * inverse
        later = G[:k, k] * inverse
        eliminated.append(Pivot(k, inverse, phi[k], psi, tuple(enumerate(ca.vertsplit(later) if k else ()))))
        M = rank_one(M, F[:, k], psi)
        wrench = wrench + psi * phi[k]
        F, G = F[:, :k] - ca.mtimes(F[:, k], later.T), rank_one(G[:k, :k], G[:k, k], later)
        phi = phi[:k, :] - later * phi[k]
    return eliminated, Inertia.from_matrix(M).upper(), wrench


def eliminate_joint(
    joint: JointMap, free: tuple[bool, ...], q: SX, inertia: Inertia, wrench: SX, force: SX, rotor: SX
) -> tuple[list[Pivot], Inertia, SX, SX]:
    """Eliminate the `free` coordinates of a joint: their pivots, and the inertia and wrench that are left, in the frame
    that the link hangs on."""
    M, eliminated = inertia.whole().matrix, []
    for k, screw in reversed(list(enumerate(joint.columns(q)))):
        if free[k]:
            pivot, M, wrench = _eliminate_axis(k, ca.vertcat(*screw), M, wrench, force[k], rotor[k])
            eliminated.append(pivot)
    inertia = _to_predecessor(joint, q, Inertia.from_matrix(M)).upper()
    return eliminated, inertia, *_wrench_to_predecessor(joint, q, wrench[:3], wrench[3:])


def _eliminate_axis(index: int, S: SX, M: SX, wrench: SX, force: SX, rotor: SX) -> tuple[Pivot, SX, SX]:
    """Eliminate a coordinate of a joint: the inertia that is left has none along its column S, exactly."""
    psi_hat = ca.mtimes(M, S)
    inverse = 1 / (ca.dot(S, psi_hat) + rotor)
    psi = psi_hat * inverse
    phi = force - ca.dot(S, wrench)
    free = is_zero(rotor)
    M = rank_one(M, psi_hat, psi)
    if free:
        M = _without_axis(M, S)
    return Pivot(index, inverse, phi, psi), M, wrench + psi * phi


def _without_axis(M: SX, S: SX) -> SX:
    """Structural zeros along a coordinate axis that the elimination has emptied."""
    for k in range(6):
        if S[k].is_constant() and abs(float(S[k])) == 1.0:
            M[k, :] = 0
            M[:, k] = 0
    return M


def outward_accelerations(chain: Chain, motions: list[Motion], pivots: list[list[Pivot]]) -> SX:
    """(n,) accelerations, base to tip: [MS07] (36), (37)."""
    qdd = ca.SX.zeros(chain.n)
    at: dict[tuple[int | None, int], tuple[SX, SX]] = {(None, 0): (ca.SX.zeros(3), ca.SX.zeros(3))}
    for i, (motion, eliminated) in enumerate(zip(motions, pivots, strict=True)):
        link = motion.link
        numbers = {index: k for own in (link.joint_indices, link.body_indices) for k, index in enumerate(own)}
        inside: dict[bool, list[Pivot]] = {True: [], False: []}
        for pivot in eliminated:
            later = tuple((numbers[j], value) for j, value in pivot.later)
            inside[pivot.index in link.joint_indices].append(replace(pivot, index=numbers[pivot.index], later=later))
        before = at[link.parent, link.port]
        maps = tuple((port.map.R, port.map.p, port.map.W, port.map.J) for port in motion.ports)
        first, second, ports = chain.link_step(
            "acceleration", _accelerate, link, (motion.q, inside[True], *before), (inside[False], maps)
        )
        if link.joint_indices:
            qdd[list(link.joint_indices)] = first
        if link.body_indices:
            qdd[list(link.body_indices)] = second
        at.update({(i, number): moved for number, moved in enumerate(ports)})
    return qdd


def _accelerate(
    of_joint: Step, of_body: Step, joint: tuple[object, ...], body: tuple[object, ...]
) -> tuple[SX, SX, list[tuple[SX, SX]]]:
    """Accelerations of a joint's coordinates, of a link's amplitudes, and of its ports."""
    own, alpha, a = of_joint("acceleration of a joint", _accelerate_joint, *joint)
    cdd, ports = of_body("acceleration of a link", _accelerate_body, *body, alpha, a)
    return own, cdd, ports


def _accelerate_joint(joint: JointMap, q: SX, pivots: list[Pivot], alpha: SX, a: SX) -> tuple[SX, SX, SX]:
    """Accelerations of a joint's coordinates, and of the link frame."""
    a = a + ca.cross(alpha, joint.position(q))
    for R in (joint.origin_rotation, *joint.turns(q)):
        alpha, a = R.unapply(alpha), R.unapply(a)
    qdd, screws = ca.SX.zeros(joint.n_v), joint.columns(q)
    for pivot in reversed(pivots):
        qdd[pivot.index] = pivot.phi * pivot.inverse - ca.dot(pivot.psi, ca.vertcat(alpha, a))
        turn, slide = screws[pivot.index]
        alpha, a = alpha + turn * qdd[pivot.index], a + slide * qdd[pivot.index]
    return qdd, alpha, a


def _accelerate_body(
    link: ChainLink, pivots: list[Pivot], maps: Sequence[tuple[Rotation, SX, SX, SX]], alpha: SX, a: SX
) -> tuple[SX, list[tuple[SX, SX]]]:
    """Accelerations of a link's amplitudes, and of its ports."""
    cdd = ca.SX.zeros(len(link.body_indices))
    for pivot in reversed(pivots):
        coupled = (value * cdd[j] for j, value in pivot.later if not is_zero(value))
        known = ca.dot(pivot.psi, ca.vertcat(alpha, a)) + sum(coupled)
        cdd[pivot.index] = pivot.phi * pivot.inverse - known
    ports = []
    for R, p, W, J in maps:
        turned, moved = alpha + ca.mtimes(W, cdd), a + ca.cross(alpha, p) + ca.mtimes(J, cdd)
        ports.append((R.unapply(turned), R.unapply(moved)))
    return cdd, ports


# -------------------------------------------------------------------------------------------- shared


def body_blocks(motion: Motion, beyond: Mapping[int, Inertia]) -> tuple[Inertia, SX, SX]:
    """Inertia of the link and of what lies beyond its ports about its frame, columns (6, k) that couple its amplitudes
    to the frame, and their gram (k, k)."""
    body, load = motion.body, motion.link.load
    own = Inertia.rigid(body.m, body.s, body.D)
    coupling, eps, gram = body.coupling(), body.eps, body.gram
    for number, inertia in beyond.items():
        port = motion.ports[number].map
        if number == 0 and load is not None:
            inertia = inertia + Inertia.rigid(load.m, load.s, load.D)
        inertia = inertia.rotated(port.R)
        own = own + inertia.shifted(port.p)
        if motion.link.body_indices:
            n, f = inertia.times(port.W, port.J)
            coupling, eps = coupling + n + ca.mtimes(skew(port.p), f), eps + f
            gram = gram + ca.mtimes(port.W.T, n) + ca.mtimes(port.J.T, f)
    if not motion.link.body_indices:
        return own, ca.SX(6, 0), ca.SX(0, 0)
    return own, ca.vertcat(coupling, eps), ca.sparsify(gram)  # elements couple to their neighbors alone


def to_predecessor(motion: Motion, inertia: Inertia) -> Inertia:
    """Inertia in the frame that a link hangs on, from that about the link frame."""
    return _to_predecessor(motion.link.joint, motion.q, inertia)


def _to_predecessor(joint: JointMap, q: SX, inertia: Inertia) -> Inertia:
    for R in (*reversed(joint.turns(q)), joint.origin_rotation):
        inertia = inertia.rotated(R)
    return inertia.shifted(joint.position(q))


def _wrench_to_predecessor(joint: JointMap, q: SX, n: SX, f: SX) -> tuple[SX, SX]:
    for R in (*reversed(joint.turns(q)), joint.origin_rotation):
        n, f = R.apply(n), R.apply(f)
    return shift_wrench(n, f, joint.position(q)), f


def _carry_column(motions: list[Motion], i: int, column: int, n: SX, f: SX, M: SX) -> None:
    """Project the wrench of a unit acceleration of `column` on every coordinate from link `i` inwards."""
    motion = motions[i]
    while True:
        link = motion.link
        for index, (turn, slide) in motion.shafts():
            M[index, column] = ca.dot(turn, n) + ca.dot(slide, f)
        if link.parent is None:
            return
        n, f = _wrench_to_predecessor(link.joint, motion.q, n, f)
        motion, port = motions[link.parent], motions[link.parent].ports[link.port].map
        n, f = port.R.apply(n), port.R.apply(f)
        if motion.link.body_indices:
            M[list(motion.link.body_indices), column] = ca.mtimes(port.W.T, n) + ca.mtimes(port.J.T, f)
        n = shift_wrench(n, f, port.p)


def _lower(M: SX) -> SX:
    """The lower triangle; an entry that was written above the diagonal alone is mirrored."""
    lower: SX = ca.tril(M)
    return lower + ca.project(ca.tril(M.T), lower.sparsity().pattern_inverse(), True)


def rank_one(M: SX, left: SX, right: SX) -> SX:
    """M - left right^T, of which the upper triangle is formed and mirrored."""
    out = M - ca.mtimes(left, right.T)
    return ca.triu(out) + ca.triu(out, False).T  # triu2symm would take the diagonal twice and subtract it again


def is_zero(value: SX) -> bool:
    """Whether an expression is the constant zero."""
    return bool(ca.SX(value).is_zero())
