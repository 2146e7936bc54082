"""The matrices behind `denoc`, written out: N_l, N_d, the generalized inertia matrix and its U D U^T factors [MS07].

For reading, teaching and testing: `denoc` itself never forms them. The twist of a link is extended by its amplitude
rates, t_i = [omega; v; cd], so that flexible links fit the paper's equations unchanged:

    t_i = A_{i,i-1} t_{i-1} + P_i [qd_i; cd_i],    t = N_l N_d qd,    I = N_d^T N_l^T M N_l N_d = U D U^T.

A_{i,i-1} carries the *tip* of link i-1, with its amplitude rates, to the frame of link i; P_i holds p_i of the joint
and a unit column per amplitude; M_i is the inertia of body, hub and tip load. Coordinates stand in the order of
elimination: link by link, the joint before the amplitudes.

Notes
-----
Deviations from the typesetting, each held by a test: a_{i,i-1} of (4) runs from O_i to O_{i-1}, so that v_i = v_{i-1}
+ omega x p with p the position of O_i; (27) lacks gamma; (28) is A^T M A with the same A twice; (32) holds phi-hat;
psi_i of (33) is psi-hat_i / m-hat_i without A. Twists are [angular; linear] here, [linear; angular] in the paper, and
each stands in the axes of its own link, so that A contains a rotation.
"""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca

from pliant.algebra.inertia import Inertia
from pliant.algebra.rotations import SX, skew
from pliant.mechanics.formulations import denoc
from pliant.mechanics.formulations.motion_equations import solve_positive
from pliant.mechanics.links.chain import Chain, ChainLink
from pliant.mechanics.links.maps.link_maps import TipMap


@dataclass(frozen=True)
class LinkBlock:
    """Blocks of a link with k amplitudes: `A` (6+k, 6+k of its predecessor), `P` (6+k, coordinates), `M` (6+k, 6+k).

    `coordinates` are the indices in `q` of the columns of `P`, `before` the number of its predecessor.
    """

    A: SX
    P: SX
    M: SX
    coordinates: tuple[int, ...]
    before: int | None


@dataclass(frozen=True)
class Complement:
    """Decoupled natural orthogonal complement N = N_l N_d and block-diagonal M; columns of `N_d` follow `order`."""

    N_l: SX
    N_d: SX
    M: SX
    order: tuple[int, ...]

    @property
    def N(self) -> SX:
        """The natural orthogonal complement, (7) and (8b): t = N qd."""
        return ca.mtimes(self.N_l, self.N_d)

    @property
    def generalised_inertia(self) -> SX:
        """I = N^T M N, (26), rows and columns in `order`."""
        return ca.mtimes([self.N.T, self.M, self.N])


@dataclass(frozen=True)
class Factors:
    """Unit upper triangular `U` and pivots `D` = m-hat of I = U diag(D) U^T, rows in `order`."""

    U: SX
    D: SX
    order: tuple[int, ...]

    def solve(self, phi: SX) -> SX:
        """Accelerations of I qdd = phi by (30): U phi-hat = phi, D phi-tilde = phi-hat, U^T qdd = phi-tilde."""
        n = len(self.order)
        x = [phi[i] for i in range(n)]
        for j in reversed(range(n)):
            for i in range(j):
                x[i] = x[i] - self.U[i, j] * x[j]
        x = [x[i] / self.D[i] for i in range(n)]
        for j in range(n):
            for i in range(j):
                x[j] = x[j] - self.U[i, j] * x[i]
        return ca.vertcat(*x)


def link_blocks(chain: Chain, q: SX) -> list[LinkBlock]:
    """A, P and M of every link."""
    blocks = []
    ports: dict[tuple[int | None, int], SX] = {(None, 0): ca.SX.eye(6)}
    for i, link in enumerate(chain.links):
        c = chain.body(link, q)
        for number, port in enumerate(link.ports(c, ca.SX.zeros(c.shape))):
            ports[i, number] = port_columns(port)
        before = ports[link.parent, link.port]
        k = len(link.body_indices)
        joint = chain.joint(link, q)
        across = propagation(link.joint.rotation(joint).matrix, link.joint.position(joint))
        A = ca.vertcat(ca.mtimes(across, before), ca.SX.zeros(k, before.shape[1]))
        M = _link_inertia(link, c, ports[i, 0])
        blocks.append(LinkBlock(A, _own_columns(link, joint), M, _coordinates(link), link.parent))
    return blocks


def propagation(R: SX, p: SX) -> SX:
    """(6, 6) A of (4): twist of a frame at `p` with axes `R`, from the twist [omega; v] of the frame that holds `p`."""
    return ca.blockcat([[R.T, ca.SX.zeros(3, 3)], [-ca.mtimes(R.T, skew(p)), R.T]])


def port_columns(port: TipMap) -> SX:
    """(6, 6+k) twist of a place on a link from the extended twist of the link."""
    R = port.R.matrix
    own = ca.vertcat(ca.mtimes(R.T, port.W), ca.mtimes(R.T, port.J))
    return ca.densify(ca.horzcat(propagation(R, port.p), own))


def complement(chain: Chain, q: SX) -> Complement:
    """N_l and N_d of (8c), and M of (20)."""
    blocks = link_blocks(chain, q)
    rows = []
    for i in range(len(blocks)):
        rows.append(ca.horzcat(*(_carry(blocks, j, i) for j in range(len(blocks)))))
    order = tuple(index for block in blocks for index in block.coordinates)
    return Complement(
        ca.vertcat(*rows), ca.diagcat(*(block.P for block in blocks)), ca.diagcat(*(block.M for block in blocks)), order
    )


def generalised_inertia(chain: Chain, q: SX) -> SX:
    """(n, n) I by composite inertias, (28) and (29).

    M~_i = M_i + A_{i+1,i}^T M~_{i+1} A_{i+1,i} and i_ij = P_i^T M~_i A_ij P_j for i >= j; sums over all successors on a
    tree.
    """
    blocks = link_blocks(chain, q)
    out = ca.SX.zeros(chain.n, chain.n)
    composite = [block.M for block in blocks]
    for i in reversed(range(len(blocks))):
        A, before = blocks[i].A, blocks[i].before
        if before is not None:
            composite[before] = composite[before] + ca.mtimes([A.T, composite[i], A])
        for j in inner_links(blocks, i):
            value = ca.mtimes([blocks[i].P.T, composite[i], _carry(blocks, j, i), blocks[j].P])
            for a, row in enumerate(blocks[i].coordinates):
                for b, column in enumerate(blocks[j].coordinates):
                    out[row, column] = out[column, row] = value[a, b]
    return out


def factors(chain: Chain, q: SX, rotor: SX | None = None) -> Factors:
    """U and D by (33), (34), each element in closed form: u_ij = p_i^T A_ji^T psi_j, d_j = m-hat_j.

    `rotor` (n,) is a diagonal that reflected rotor inertias add to I.
    """
    blocks = link_blocks(chain, q)
    order = [index for block in blocks for index in block.coordinates]
    place = {index: k for k, index in enumerate(order)}
    U, D = ca.SX.eye(len(order)), ca.SX.zeros(len(order))
    articulated = [block.M for block in blocks]
    for i in reversed(range(len(blocks))):
        M_hat = articulated[i]
        for a in reversed(range(len(blocks[i].coordinates))):
            index = blocks[i].coordinates[a]
            p = blocks[i].P[:, a]
            psi_hat = ca.mtimes(M_hat, p)
            m_hat = ca.dot(p, psi_hat) + (0 if rotor is None else rotor[index])
            psi = psi_hat / m_hat
            M_hat = M_hat - ca.mtimes(psi_hat, psi.T)
            D[place[index]] = m_hat
            _fill_column(blocks, i, a, psi, place, U)
        A, before = blocks[i].A, blocks[i].before
        if before is not None:
            articulated[before] = articulated[before] + ca.mtimes([A.T, M_hat, A])
    return Factors(U, D, tuple(order))


def velocity_terms(chain: Chain, q: SX, qd: SX) -> tuple[SX, SX]:
    """Accelerations td of all links without second derivatives (gravity as base acceleration -g), and wrenches gamma.

    N^T (M td + gamma) are the velocity and gravity terms: (27) with the gamma that the print lost; gamma = w* - M td
    by (16).
    """
    blocks = link_blocks(chain, q)
    td, gamma = [], []
    for motion, block in zip(denoc.outward_motion(chain, q, qd, None), blocks, strict=True):
        acceleration = ca.vertcat(motion.alpha, motion.a, ca.SX.zeros(motion.cd.shape))
        wrench = ca.vertcat(*denoc.link_wrench(motion, {}))
        td.append(acceleration)
        gamma.append(wrench - ca.mtimes(block.M, acceleration))
    return ca.vertcat(*td), ca.vertcat(*gamma)


def nonrecursive_forward_dynamics(chain: Chain, q: SX, qd: SX, force: SX, rotor: SX) -> SX:
    """(n,) accelerations the O(n^3) way that [MS07] compares with: I by (29), its Cholesky factor, two substitutions.

    The factor is taken as L D L^T, the Cholesky factorization without square roots.
    """
    I = denoc.mass_matrix(chain, q) + ca.diag(rotor)
    return solve_positive(I, force - denoc.inertial_forces(chain, q, qd))


def _carry(blocks: list[LinkBlock], j: int, i: int) -> SX:
    """A_ij = A_{i,i-1} ... A_{j+1,j}, the identity for i = j: (6); zero where j does not carry i."""
    path = inner_links(blocks, i)
    if j not in path:
        return ca.SX.zeros(blocks[i].M.shape[0], blocks[j].M.shape[0])
    out = ca.SX.eye(blocks[j].M.shape[0])
    for k in reversed(path[: path.index(j)]):
        out = ca.mtimes(blocks[k].A, out)
    return out


def inner_links(blocks: list[LinkBlock], i: int) -> list[int]:
    """Numbers of link i and of all that carry it, inwards."""
    path, k = [i], blocks[i].before
    while k is not None:
        path.append(k)
        k = blocks[k].before
    return path


def _fill_column(blocks: list[LinkBlock], last: int, a: int, psi: SX, place: dict[int, int], U: SX) -> None:
    """u_ij of every coordinate before column `a` of link `last`: psi carried to the base."""
    column = place[blocks[last].coordinates[a]]
    for i in inner_links(blocks, last):
        block = blocks[i]
        for b, index in enumerate(block.coordinates[:a] if i == last else block.coordinates):
            U[place[index], column] = ca.dot(block.P[:, b], psi)
        psi = ca.mtimes(block.A.T, psi)


def _coordinates(link: ChainLink) -> tuple[int, ...]:
    return (*link.joint_indices, *link.body_indices)


def _own_columns(link: ChainLink, q: SX) -> SX:
    """(6+k, own coordinates) P_i: p_i of the joint, unit columns for the amplitudes."""
    k = len(link.body_indices)
    body = ca.vertcat(ca.SX.zeros(6, k), ca.SX.eye(k))
    screws = (ca.vertcat(turn, slide, ca.SX.zeros(k)) for turn, slide in link.joint.columns(q))
    return ca.densify(ca.horzcat(*screws, body))


def _link_inertia(link: ChainLink, c: SX, tip: SX) -> SX:
    """(6+k, 6+k) inertia of body, hub and tip load in the extended twist."""
    body = link.body.moments(c, ca.SX.zeros(c.shape))
    whole = body if link.hub is None else body.added(link.hub)
    frame = Inertia.rigid(whole.m, whole.s, whole.D).matrix
    F = ca.vertcat(body.coupling(), body.eps)
    M = ca.blockcat([[frame, F], [F.T, body.gram]])
    if link.load is not None:
        load = Inertia.rigid(link.load.m, link.load.s, link.load.D).matrix
        M = M + ca.mtimes([tip.T, load, tip])
    return ca.densify(M)
