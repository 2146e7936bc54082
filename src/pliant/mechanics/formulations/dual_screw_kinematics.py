"""Linearized kinematics of a flexible chain in terms of dual screws [CE21] sections III and IV.

Every elastic displacement and rate is the dual part of a number, so the chain is linear in them at each step. Columns
of screws stand in the order they occur along the chain, L_1, S_1', L_2, S_2', ...: what carries stands left of what is
carried.

Notes
-----
Beyond the paper: prismatic joints (a screw N instead of a line L), fixed joints, offsets between tip frame and joint,
axial shapes, finite elements. Row 2 of (71) is -psi_z' here, since theta_y = -w'. The partial angular velocity of an
exact tip rotation is theta_k + 1/2 theta x theta_k to first order; printed (94), (95) lack the second term, because
(27) drops theta x thetad before the partial velocity is taken. It is kept unless the chain's rotation is "linear", as
printed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import casadi as ca

from pliant.algebra.dual import Dual, columns, cross, expand
from pliant.algebra.dual_groups import G1, G2
from pliant.algebra.rotations import SX, AxisRotation, Identity, Rotation
from pliant.errors import UnsupportedModel
from pliant.mechanics.links.chain import Chain, ChainLink
from pliant.mechanics.links.joints import vector
from pliant.mechanics.links.maps.linear_body import LinearBody
from pliant.mechanics.links.maps.link_maps import Body, LinearBeam


@dataclass(frozen=True)
class Screws:
    """Dual screws as columns: angular parts `omega` (3, m) and linear parts `v` (3, m) at one point, in one frame."""

    omega: Dual
    v: Dual

    def referred(self, p: Dual) -> Screws:
        """The same screws at the point seen at `p` from the old one: U-hat of (60)."""
        return Screws(self.omega, self.v - cross(p, self.omega))

    def turned(self, R: Rotation) -> Screws:
        """The same screws in axes that the rigid rotation `R` maps from: the real part of R-bar of (63)."""
        return Screws(unapply(R, self.omega), unapply(R, self.v))

    def bent(self, theta: SX) -> Screws:
        """The same screws in axes turned by the elastic rotation `theta`: R-hat^-1 = 1 - eps theta^ of (25)."""
        return Screws(_bent(theta, self.omega), _bent(theta, self.v))

    def followed_by(self, other: Screws) -> Screws:
        """Screws with further columns to the right."""
        return Screws(columns([self.omega, other.omega], 3), columns([self.v, other.v], 3))

    def times(self, u: SX) -> Screws:
        """The twist of speeds `u`, (91)."""
        return Screws(self.omega @ u, self.v @ u)

    @property
    def stacked(self) -> SX:
        """(12, m) as in (58): [omega_r; omega_d; v_r; v_d]."""
        return ca.vertcat(self.omega.stacked, self.v.stacked)


@dataclass(frozen=True)
class Shape:
    """Displacement of a section by amplitudes: R-hat = 1 + eps theta^ (24), p-hat (46), and the rows of Psi (71)."""

    theta: SX
    p: Dual
    turn: SX
    shift: SX

    def screws(self, exact: bool) -> Screws:
        """S-check of (95), in link axes: real parts Psi; the dual part is half of theta x Psi for an exact rotation."""
        half = ca.mtimes(ca.skew(0.5 * self.theta), self.turn) if exact else ca.SX(*self.turn.shape)
        return Screws(Dual(self.turn, half), Dual.of(self.shift))


@dataclass(frozen=True)
class PlacedScrews:
    """A frame of a link: coordinates that move it, its projecting matrix P-check (93) and which columns are elastic."""

    indices: tuple[int, ...]
    elastic: tuple[bool, ...]
    P: Screws

    def jacobian_form(self) -> Screws:
        """P-hat of (92): as P-check, but elastic columns are of order one as a whole, because their speeds are."""
        return Screws(self._jacobian(self.P.omega), self._jacobian(self.P.v))

    def _jacobian(self, X: Dual) -> Dual:
        parts = [Dual.first_order(X.real[:, k]) if e else X[:, k] for k, e in enumerate(self.elastic)]
        return columns(parts, 3)

    def rates(self, qd: SX) -> SX:
        """Speeds of the columns."""
        return qd[list(self.indices)] if self.indices else ca.SX(0, 1)


@dataclass(frozen=True)
class LinkFrames:
    """A link on the way out: frame i at its controlled end and frame i' at its distal end."""

    link: ChainLink
    root: PlacedScrews
    tip: PlacedScrews


def walk(chain: Chain, q: SX) -> Iterator[LinkFrames]:
    """Projecting matrices of every link, base to tip: (88), (89), (93), (94)."""
    exact = chain.rotation == "exact"
    at = {(None, 0): PlacedScrews((), (), Screws(columns([], 3), columns([], 3)))}  # type: dict[tuple[int | None, int], PlacedScrews]
    for i, link in enumerate(chain.links):
        before = at[link.parent, link.port]
        P, indices, elastic = before.P, before.indices, before.elastic
        joint = chain.joint(link, q)
        P = P.referred(Dual.of(link.joint.position(joint))).turned(link.joint.origin_rotation)
        for R in link.joint.turns(joint):
            P = P.turned(R)
        if link.joint_indices:
            P = P.followed_by(joint_screw(link, joint))
            indices, elastic = (*indices, *link.joint_indices), (*elastic, *(False for _ in link.joint_indices))
        root = PlacedScrews(indices, elastic, P)
        for number, (end, shape) in enumerate(port_shapes(link, chain.body(link, q))):
            at[i, number] = _carried(root, link, end, shape, exact)
        yield LinkFrames(link, root, at[i, 0])


def _carried(root: PlacedScrews, link: ChainLink, end: Rotation, shape: Shape, exact: bool) -> PlacedScrews:
    """The frame of a port, beyond the amplitudes of its link."""
    P, indices, elastic = root.P.referred(shape.p), root.indices, root.elastic
    if link.flexible:
        P = P.followed_by(shape.screws(exact)).bent(shape.theta)
        indices, elastic = (*indices, *link.body_indices), (*elastic, *(True for _ in link.body_indices))
    return PlacedScrews(indices, elastic, P.turned(end))


def joint_screw(link: ChainLink, q: SX) -> Screws:
    """L-hat of (58), (115): a line through the joint, or for a prismatic joint the direction N; as many as it has
    axes."""
    turn, slide = (ca.sparsify(ca.horzcat(*parts)) for parts in zip(*link.joint.columns(q)))
    return Screws(Dual.of(turn), Dual.of(slide))


def port_shapes(link: ChainLink, c: SX) -> list[tuple[Rotation, Shape]]:
    """Fixed rotation of every port, and its displacement by the amplitudes."""
    none, still = ca.SX(3, c.shape[0]), ca.SX(3, 1)
    root = Shape(still, Dual.of(still), none, none)
    found = [tip_shape(link.body, c)]
    for place in link.places:
        found.append((place.end, root if place.eta is None else station_shape(link.body, c, place.eta)))
    return found


def tip_shape(body: Body, c: SX) -> tuple[Rotation, Shape]:
    """Fixed rotation of the distal frame, and its displacement by the amplitudes."""
    if not isinstance(body, LinearBeam | LinearBody):
        if body.names:
            raise UnsupportedModel(
                f"formulation 'dual-screw' knows linear bodies alone, not a {type(body).__name__}; use another"
            )
        tip = body.tip(ca.SX(0, 1), ca.SX(0, 1))
        return tip.R, Shape(ca.SX(3, 1), Dual.of(tip.p), ca.SX(3, 0), ca.SX(3, 0))
    numbers = body.numbers
    return body.end_rotation, _bend(numbers.turn, numbers.shift, numbers.end, c)


def station_shape(body: Body, c: SX, eta: float) -> Shape:
    """Displacement of the section at `eta` = x / length by the amplitudes, (75): frame i_e."""
    z = ca.SX.sym("c", c.shape[0])
    p, theta = body.point(z, eta)
    turn, shift = (ca.sparsify(ca.densify(ca.jacobian(x, z))) for x in (theta, p))
    return _bend(turn, shift, expand(ca.SX(p), z, c).real, c)


def _bend(turn: SX, shift: SX, straight: SX, c: SX) -> Shape:
    turn, shift = ca.sparsify(turn), ca.sparsify(shift)
    return Shape(ca.mtimes(turn, c), Dual(ca.sparsify(straight), ca.mtimes(shift, c)), turn, shift)


def derivative(P: Screws, u: SX) -> Screws:
    """dP-hat/dt of a Jacobian form by the operators (76)-(79): each column c becomes ad(t_c) c.

    t_c is the dual twist, relative to the frame, of what carries the column. It telescopes to minus the twist of all
    columns that stand to the right, which is omega-hat_ij and -upsilon-hat_{a,j} of (77), (78) without their sums. For
    an elastic screw the term v_{j,j'} drops by itself: the column is of order one, and so is that velocity.
    """
    m = P.omega.shape[1]
    parts: list[Screws] = []
    relative = Screws(Dual.of(ca.SX(3, 1)), Dual.of(ca.SX(3, 1)))
    for k in reversed(range(m)):
        column = Screws(P.omega[:, k], P.v[:, k])
        parts.append(bracket(relative, column))
        relative = Screws(relative.omega - column.omega * u[k], relative.v - column.v * u[k])
    parts.reverse()
    return Screws(columns([p.omega for p in parts], 3), columns([p.v for p in parts], 3))


def bracket(t: Screws, s: Screws) -> Screws:
    """[d-hat] of (77) applied to a screw: ad(t) s, with omega = t.omega and upsilon = -t.v."""
    return Screws(cross(t.omega, s.omega), cross(t.omega, s.v) + cross(t.v, s.omega))


def poses(chain: Chain, q: SX) -> Iterator[tuple[G2, G2]]:
    """Dual homogeneous transformations T-hat_i^0 and T-hat_i'^0 of every link frame, (49), (50)."""
    at: dict[tuple[int | None, int], G2] = {(None, 0): G2(G1(ca.SX.eye(3), ca.SX.zeros(3)), Dual.of(ca.SX.zeros(3)))}
    for i, link in enumerate(chain.links):
        joint = chain.joint(link, q)
        pose = at[link.parent, link.port] @ _rigid(link.joint.rotation(joint), link.joint.position(joint))
        for number, (end, shape) in enumerate(port_shapes(link, chain.body(link, q))):
            at[i, number] = pose @ G2(G1(ca.SX.eye(3), shape.theta), shape.p) @ _rigid(end, ca.SX.zeros(3))
        yield pose, at[i, 0]


def base_vector(chain: Chain, q: SX, x: SX) -> Iterator[tuple[Dual, Dual]]:
    """A constant vector of the base in the axes of each link's two frames: bar-R_0^i of (123)."""
    at = {(None, 0): Dual.of(x)}  # type: dict[tuple[int | None, int], Dual]
    for i, link in enumerate(chain.links):
        root = unapply(link.joint.origin_rotation, at[link.parent, link.port])
        for R in link.joint.turns(chain.joint(link, q)):
            root = unapply(R, root)
        for number, (end, shape) in enumerate(port_shapes(link, chain.body(link, q))):
            at[i, number] = unapply(end, _bent(shape.theta, root))
        yield root, at[i, 0]


def accelerations(chain: Chain, q: SX, qd: SX) -> Iterator[tuple[Dual, Dual, Dual]]:
    """Dual angular velocity, angular acceleration and acceleration at u-dot = 0 of each frame that bears inertia.

    The recursive form of (dP-hat/dt) u of (96), with gravity as an acceleration -g of the base, which may move besides.
    """
    base = chain.base
    still = tuple(Dual.of(ca.sparsify(x)) for x in (base.omega, base.alpha, base.a - chain.gravity))
    at = {(None, 0): still}  # type: dict[tuple[int | None, int], tuple[Dual, ...]]
    for i, link in enumerate(chain.links):
        before = at[link.parent, link.port]
        omega, alpha, a = _across_joint(link, chain.joint(link, q), chain.joint_rate(link, qd), *before)
        yield omega, alpha, a
        for number, (end, shape) in enumerate(port_shapes(link, chain.body(link, q))):
            at[i, number] = _across_body(shape, end, chain.body_rate(link, qd), omega, alpha, a)
        if link.load is not None:
            omega, alpha, a = at[i, 0]
            yield omega, alpha, a


def _across_body(shape: Shape, end: Rotation, cd: SX, omega: Dual, alpha: Dual, a: Dual) -> tuple[Dual, ...]:
    """Carry the motion of the link frame to one of its ports."""
    turning, moving = Dual.first_order(ca.mtimes(shape.turn, cd)), Dual.first_order(ca.mtimes(shape.shift, cd))
    a = a + _field(omega, alpha, shape.p) + cross(omega, moving + moving)
    alpha, omega = alpha + cross(omega, turning), omega + turning
    return tuple(unapply(end, _bent(shape.theta, x)) for x in (omega, alpha, a))


def _across_joint(link: ChainLink, q: SX, qd: SX, omega: Dual, alpha: Dual, a: Dual) -> tuple[Dual, Dual, Dual]:
    """Carry the motion of the predecessor's tip frame to the link frame, without the joint's own acceleration."""
    joint = link.joint
    a = a + _field(omega, alpha, Dual.of(joint.position(q)))
    omega, alpha, a = (unapply(joint.origin_rotation, x) for x in (omega, alpha, a))
    first = len(joint.slides)
    for k, axis in enumerate(joint.slides):
        a = a + cross(omega, 2 * (ca.sparsify(vector(axis)) * qd[k]))
    for k, (axis, R) in enumerate(zip(joint.turning, joint.turns(q))):
        omega, alpha, a = (unapply(R, x) for x in (omega, alpha, a))
        motion = ca.sparsify(vector(axis)) * qd[first + k]
        omega, alpha = omega + motion, alpha + cross(omega, motion)
    return omega, alpha, a


def _field(omega: Dual, alpha: Dual, p: Dual) -> Dual:
    """Return alpha x p + omega x (omega x p)."""
    return cross(alpha, p) + cross(omega, cross(omega, p))


def unapply(R: Rotation, X: Dual) -> Dual:
    """Return R^T X, column by column where the rotation is about one axis."""
    return Dual(_unapply(R, X.real), _unapply(R, X.dual))


def _unapply(R: Rotation, X: SX) -> SX:
    if isinstance(R, Identity) or X.nnz() == 0:
        return X
    if isinstance(R, AxisRotation):
        return ca.sparsify(ca.horzcat(*(R.unapply(X[:, k]) for k in range(X.shape[1]))))
    return ca.mtimes(R.matrix.T, X)


def _bent(theta: SX, X: Dual) -> Dual:
    return Dual(X.real, X.dual - ca.mtimes(ca.skew(theta), X.real))


def _rigid(R: Rotation, p: SX) -> G2:
    return G2(G1(R.matrix, ca.SX.zeros(3)), Dual.of(p))
