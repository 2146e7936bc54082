"""O(n) dynamics of rigid and flexible chains by the decoupled natural orthogonal complement [MS07].

The twist of every link is linear in the rates through the natural orthogonal complement N = N_l N_d: N_l carries a
twist from link to link, N_d adds the link's own rates. Here a link's own rates are its joint's *and* its
amplitudes'; a body enters only through its moments and its tip map, so that any link that is a map fits. The
generalised inertia matrix factors as U D U^T [MS07] (30) by eliminating, from the tip inwards, each link's
amplitudes and then its joint: an articulated inertia and one pivot per coordinate.

Notes
-----
Deviations from the paper's typesetting: a_{i,i-1} in (4) runs from O_i to O_{i-1}; (27) lacks gamma; (28) is A^T M
A; (32) holds phi-hat, not t-hat; psi_i = psi-hat_i / m-hat_i without A in (33); gravity enters as base
*acceleration* -g. A flexible body adds the columns of its amplitudes to N_d. Bias and eta of (32) travel inwards as
one wrench, since both are carried by the same A^T.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import casadi as ca

from pliant.algebra.inertia import Inertia, shift_wrench, zero
from pliant.algebra.rotations import SX, axial, skew
from pliant.dynamics.bodies import Moments, TipMap
from pliant.dynamics.chain import Arrivals, Chain, ChainLink


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
    cd: SX
    body: Moments
    ports: tuple[Port, ...]
    omega: SX
    alpha: SX
    a: SX
    cdd: SX | None = None

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
    """(n,) accelerations under generalised forces, in O(n): [MS07] eqs. (30)-(37), amplitudes eliminated link by link.

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
    """(n, n) generalised inertia matrix by composite inertias, [MS07] (28), (29): each column walks from its link to
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


# ------------------------------------------------------------------------------------------- outward


def outward_motion(chain: Chain, q: SX, qd: SX, qdd: SX | None) -> list[Motion]:
    """Angular velocities and accelerations, base to tip; without `qdd` the bias accelerations. Gravity is base
    acceleration -g."""
    base = chain.base
    at_base = base.omega, base.alpha, base.a - chain.gravity
    motions: list[Motion] = []
    for link in chain.links:
        joint, rate = chain.joint(link, q), chain.joint_rate(link, qd)
        omega, alpha, a = at_base if link.parent is None else motions[link.parent].at(link.port)
        omega, alpha, a = _across_joint(link, joint, rate, omega, alpha, a)
        c, cd = chain.body(link, q), chain.body_rate(link, qd)
        if qdd is not None:
            second = chain.joint_rate(link, qdd)
            for k, (turn, slide) in enumerate(link.joint.columns(joint)):
                alpha, a = alpha + turn * second[k], a + slide * second[k]
        cdd = chain.body_rate(link, qdd) if qdd is not None else None
        ports = tuple(Port(port, *across_body(port, cd, cdd, omega, alpha, a)) for port in link.ports(c, cd))
        motions.append(Motion(link, joint, cd, link.body.moments(c, cd), ports, omega, alpha, a, cdd))
    return motions


def _across_joint(link: ChainLink, q: SX, qd: SX, omega: SX, alpha: SX, a: SX) -> tuple[SX, SX, SX]:
    """From the frame that a link hangs on to the link frame, without the joint's own acceleration."""
    a = a + ca.mtimes(euler_matrix(omega, alpha), link.joint.position(q))
    omega, alpha, a = (link.joint.origin_rotation.unapply(x) for x in (omega, alpha, a))
    return link.joint.across(q, qd, omega, alpha, a)


def across_body(tip: TipMap, cd: SX, cdd: SX | None, omega: SX, alpha: SX, a: SX) -> tuple[SX, SX, SX]:
    """From the link frame to its tip frame: eqs. (65), (70) of [KS09] with the term omega x thetad that (70) lost."""
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
    """Moment and force about the link frame and modal forces of body, hub, load and of what others hand in at the
    ports."""
    link, none = motion.link, ca.SX(0, 1)
    body = _with_hub(motion)
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
    """(n,) generalised inertial forces from the motions, tip to base."""
    out = ca.SX.zeros(chain.n)
    handed = Arrivals(chain, (ca.SX.zeros(3), ca.SX.zeros(3)))
    for i, motion in reversed(list(enumerate(motions))):
        n, f, modal = link_wrench(motion, handed.at(i))
        if motion.link.body_indices:
            out[list(motion.link.body_indices)] = modal
        for index, (turn, slide) in motion.shafts():
            out[index] = ca.dot(turn, n) + ca.dot(slide, f)
        handed.add(i, _wrench_to_predecessor(motion, n, f))
    return out


def inward_elimination(
    chain: Chain, motions: list[Motion], force: SX, rotor: SX, held: frozenset[int] = frozenset()
) -> list[list[Pivot]]:
    """Articulated inertias and pivots m-hat, psi, phi-hat, tip to base: [MS07] (31)-(34); per link, in order of
    elimination."""
    pivots: list[list[Pivot]] = []
    beyond, handed = Arrivals(chain, zero()), Arrivals(chain, (ca.SX.zeros(3), ca.SX.zeros(3)))
    for i, motion in reversed(list(enumerate(motions))):
        link = motion.link
        n, f, modal = link_wrench(motion, handed.at(i))
        own, columns, gram = body_blocks(motion, beyond.at(i))
        M, wrench = own.matrix, ca.vertcat(n, f)
        phi = force[list(link.body_indices)] - modal if link.body_indices else ca.SX(0, 1)
        eliminated, M, wrench = _eliminate_body(link, M, columns, gram, wrench, phi, held)
        for index, screw in reversed(motion.shafts()):
            if index not in held:
                S = ca.vertcat(*screw)
                pivot, M, wrench = _eliminate_joint(index, S, M, wrench, force[index], rotor[index])
                eliminated.append(pivot)
        pivots.append(eliminated)
        beyond.add(i, to_predecessor(motion, Inertia.from_matrix(M)))
        handed.add(i, _wrench_to_predecessor(motion, wrench[:3], wrench[3:]))
    return pivots[::-1]


def _eliminate_body(
    link: ChainLink, M: SX, F: SX, G: SX, wrench: SX, phi: SX, held: frozenset[int]
) -> tuple[list[Pivot], SX, SX]:
    """Amplitudes out of [[M, F], [F^T, G]], last first, one LDL^T step each."""
    eliminated = []
    for k in reversed(range(len(link.body_indices))):
        if link.body_indices[k] in held:
            continue
        inverse = 1 / G[k, k]
        psi = F[:, k] * inverse
        later = G[:k, k] * inverse
        coupled = tuple(zip(link.body_indices[:k], ca.vertsplit(later) if k else (), strict=True))
        eliminated.append(Pivot(link.body_indices[k], inverse, phi[k], psi, coupled))
        M = rank_one(M, F[:, k], psi)
        wrench = wrench + psi * phi[k]
        F, G = F[:, :k] - ca.mtimes(F[:, k], later.T), rank_one(G[:k, :k], G[:k, k], later)
        phi = phi[:k, :] - later * phi[k]
    return eliminated, M, wrench


def _eliminate_joint(index: int, S: SX, M: SX, wrench: SX, force: SX, rotor: SX) -> tuple[Pivot, SX, SX]:
    """A coordinate of the joint out of the link's inertia: what remains has none along its column S, exactly."""
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
        alpha, a = at[link.parent, link.port]
        a = a + ca.cross(alpha, link.joint.position(motion.q))
        for R in (link.joint.origin_rotation, *link.joint.turns(motion.q)):
            alpha, a = R.unapply(alpha), R.unapply(a)
        screws = dict(motion.shafts())
        for pivot in reversed(eliminated):
            coupled = (value * qdd[j] for j, value in pivot.later if not is_zero(value))
            known = ca.dot(pivot.psi, ca.vertcat(alpha, a)) + sum(coupled)
            qdd[pivot.index] = pivot.phi * pivot.inverse - known
            if pivot.index in screws:
                turn, slide = screws[pivot.index]
                alpha, a = alpha + turn * qdd[pivot.index], a + slide * qdd[pivot.index]
        cdd = chain.body_rate(link, qdd)
        for number, port in enumerate(motion.ports):
            where = port.map
            turned = alpha + ca.mtimes(where.W, cdd)
            moved = a + ca.cross(alpha, where.p) + ca.mtimes(where.J, cdd)
            at[i, number] = where.R.unapply(turned), where.R.unapply(moved)
    return qdd


# -------------------------------------------------------------------------------------------- shared


def body_blocks(motion: Motion, beyond: Mapping[int, Inertia]) -> tuple[Inertia, SX, SX]:
    """Inertia of the link and of what lies beyond its ports about its frame, columns (6, k) that couple its amplitudes
    to the frame, and their gram (k, k)."""
    body, load = _with_hub(motion), motion.link.load
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
    return own, ca.vertcat(coupling, eps), ca.sparsify(gram)  # elements couple to their neighbours alone


def _with_hub(motion: Motion) -> Moments:
    return motion.body.added(motion.link.hub) if motion.link.hub is not None else motion.body


def to_predecessor(motion: Motion, inertia: Inertia) -> Inertia:
    """From the link frame to the frame that it hangs on."""
    joint = motion.link.joint
    for R in (*reversed(joint.turns(motion.q)), joint.origin_rotation):
        inertia = inertia.rotated(R)
    return inertia.shifted(joint.position(motion.q))


def _wrench_to_predecessor(motion: Motion, n: SX, f: SX) -> tuple[SX, SX]:
    joint = motion.link.joint
    for R in (*reversed(joint.turns(motion.q)), joint.origin_rotation):
        n, f = R.apply(n), R.apply(f)
    return shift_wrench(n, f, joint.position(motion.q)), f


def _carry_column(motions: list[Motion], i: int, column: int, n: SX, f: SX, M: SX) -> None:
    """Projects the wrench of a unit acceleration of `column` on every coordinate from link `i` inwards."""
    motion = motions[i]
    while True:
        link = motion.link
        for index, (turn, slide) in motion.shafts():
            M[index, column] = ca.dot(turn, n) + ca.dot(slide, f)
        if link.parent is None:
            return
        n, f = _wrench_to_predecessor(motion, n, f)
        motion, port = motions[link.parent], motions[link.parent].ports[link.port].map
        n, f = port.R.apply(n), port.R.apply(f)
        if motion.link.body_indices:
            M[list(motion.link.body_indices), column] = ca.mtimes(port.W.T, n) + ca.mtimes(port.J.T, f)
        n = shift_wrench(n, f, port.p)


def _lower(M: SX) -> SX:
    """The lower triangle, with what was written above the diagonal alone."""
    lower: SX = ca.tril(M)
    return lower + ca.project(ca.tril(M.T), lower.sparsity().pattern_inverse(), True)


def rank_one(M: SX, left: SX, right: SX) -> SX:
    """M - left right^T, of which the upper triangle is formed and mirrored."""
    out = M - ca.mtimes(left, right.T)
    return ca.triu(out) + ca.triu(out, False).T  # triu2symm would take the diagonal twice and subtract it again


def is_zero(value: SX) -> bool:
    """Whether an expression is the constant zero."""
    return bool(ca.SX(value).is_zero())
