"""Misprints of [CE21]: printed forms fail, ours hold. (71), (105), (125), (148) are in test_dual_screw_paper."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

from pliant.algebra.dual import Dual, cross
from pliant.mechanics import Chain, build_chain
from pliant.mechanics.formulations import dual_screw
from pliant.mechanics.formulations.dual_screw_kinematics import (
    PlacedScrews,
    Screws,
    bracket,
    derivative,
    poses,
    tip_shape,
    walk,
)
from pliant.robot import Beam, Joint, Link, Origin, RigidBody, Robot, Shapes

ROUND_OFF = 1e-12  # relative: some hundred products of order one
COM = (0.1, 0.2, -0.1)
BEAM = {"mass_per_length": 5.0, "EI_y": 900.0, "EI_z": 1000.0, "GJ": 800.0, "EA": 1e6, "polar_inertia": 0.02}


def arm(kinds: str) -> Chain:
    """A link a letter: r(igid), or e(lastic) in both planes and torsion; joints stand off the tips, axes are turned."""
    links = []
    for k, kind in enumerate(kinds):
        joint = Joint(origin=Origin(xyz=(0.02, -0.05, 0.1), rpy=(0.3, -0.4, 0.2 + 0.3 * k)))
        if kind == "r":
            body = RigidBody(mass=2.0, com=COM, inertia=(0.1, 0.12, 0.15), tip=(0.1, 0.0, 0.3))
            links.append(Link(name=f"link{k}", joint=joint, rigid=body))
            continue
        shapes = Shapes(bending_y=2, bending_z=1, torsion=1)
        links.append(Link(name=f"link{k}", joint=joint, beam=Beam(length=2.0 - 0.2 * k, **BEAM), shapes=shapes))
    return build_chain(Robot(name="arm", links=links))


def state(chain: Chain) -> tuple[np.ndarray, np.ndarray]:
    q, qd = np.random.default_rng(4).normal(size=(2, chain.n))
    q[chain.n_joints :] *= 0.1
    return q, qd


class Motions:
    """What (78) is made of, in the axes of link i: dual angular velocities, positions and elastic velocities."""

    def __init__(self, chain: Chain, q: ca.SX, qd: ca.SX, i: int) -> None:
        self.chain, self.q, self.qd, self.i = chain, q, qd, i
        self.frames = list(walk(chain, q))
        self.root, self.tip = ([pair[k].X for pair in poses(chain, q)] for k in (0, 1))

    def turn(self, X: object, v: Dual) -> Dual:
        return (self.root[self.i].inverse @ X).apply(v)  # type: ignore[operator]

    def _omega(self, placed: PlacedScrews, X: object) -> Dual:
        return self.turn(X, placed.jacobian_form().omega @ placed.rates(self.qd))

    def omega(self, k: int, j: int) -> Dual:
        """omega_{k,j}: frame j as seen from frame k."""
        return self._omega(self.frames[j].root, self.root[j]) - self._omega(self.frames[k].root, self.root[k])

    def omega_tip(self, k: int, j: int) -> Dual:
        """omega_{k',j}."""
        return self._omega(self.frames[j].root, self.root[j]) - self._omega(self.frames[k].tip, self.tip[k])

    def p(self, k: int) -> Dual:
        """p_{k',k}, from the tip of a link back to its root."""
        link = self.chain.links[k]
        return -self.turn(self.root[k], tip_shape(link.body, self.chain.body(link, self.q))[1].p)

    def p_joint(self, k: int) -> Dual:
        """p_{k+1,k'}."""
        return -self.turn(self.tip[k], Dual.of(self.chain.links[k + 1].joint.origin))

    def v(self, k: int, axes: int | None = None) -> Dual:
        """v_{k,k'}; with `axes` its coordinates in that link, taken for coordinates in link k."""
        link = self.chain.links[k]
        shape = tip_shape(link.body, self.chain.body(link, self.q))[1]
        own = Dual.first_order(ca.mtimes(shape.shift, self.chain.body(link, self.qd)))
        if axes is not None:
            own = (self.root[axes].inverse @ self.root[k]).apply(own)
        return self.turn(self.root[k], own)


def upsilon(m: Motions, j: int, at: Dual, reading: str) -> Dual:
    """(78) for a point at `at` of link i >= j + 2.

    "right" has v_{i-k,(i-k)'} inside its sum; "bracket" ends the sum before it, as the lost bracket does, so that it
    stands once, for the last k; "no elastic velocity" is line 13 of Algorithm 2 as far as it can be read; "line 7" is
    Algorithm 2 with v_22' in the coordinates of link 3.
    """
    i = m.i
    out = -cross(m.omega(i, j), at)
    inner = range(1, i - j)
    for k in inner:
        out = out + cross(m.omega(i - k, j), m.p(i - k))
        if reading in ("right", "line 7") or (reading == "bracket" and k == inner[-1]):
            wrong = reading == "line 7" and i - k == j + 1
            out = out + m.v(i - k, i - k + 1 if wrong else None)
    for k in range(1, i - j + 1):
        out = out + cross(m.omega_tip(i - k, j), m.p_joint(i - k))
    out = out + cross(m.omega(j, j), m.p(j))
    return out if reading == "no elastic velocity" else out + m.v(j)


def errors(kinds: str, reading: str, point: tuple[float, float, float]) -> tuple[float, float]:
    """Relative errors of the derivative of the line of joint 1 in the last link: ours, and by (76)-(78) as read."""
    chain = arm(kinds)
    q, qd = ca.SX.sym("q", chain.n), ca.SX.sym("qd", chain.n)
    i, at = len(kinds) - 1, Dual.of(ca.SX(ca.DM(point)))
    m = Motions(chain, q, qd, i)
    placed = m.frames[i].root
    P = placed.jacobian_form().referred(at)
    line = Screws(P.omega[:, 0], P.v[:, 0])
    truth = ca.jtimes(ca.densify(line.stacked), q, qd)
    ours = derivative(P, placed.rates(qd)).stacked[:, 0]
    read = bracket(Screws(m.omega(i, 0), -upsilon(m, 0, at, reading)), line).stacked
    f = ca.Function("f", [q, qd], [truth, ca.densify(ours), ca.densify(read)])
    a, b, c = (np.array(x) for x in f(*state(chain)))
    scale = np.abs(a).max()
    return float(np.abs(b - a).max() / scale), float(np.abs(c - a).max() / scale)


@pytest.mark.parametrize("kinds", ["eee", "eeee", "reer"])
def test_78_holds_with_its_bracket_round_both_terms(kinds: str) -> None:
    ours, read = errors(kinds, "right", COM)
    assert ours < ROUND_OFF
    assert read < ROUND_OFF


@pytest.mark.parametrize("kinds", ["eeee", "reer"])
def test_78_with_the_lost_bracket_fails(kinds: str) -> None:
    """Two elastic links between the joint and the link: the sum must hold the elastic velocity of each."""
    ours, read = errors(kinds, "bracket", COM)
    assert ours < ROUND_OFF
    assert read > 1e-3  # one elastic velocity among the many terms of four links


@pytest.mark.parametrize("reading", ["no elastic velocity", "line 7"])
def test_algorithm_2_fails(reading: str) -> None:
    """The paper's arm: line 13 ends in v_33' + v_22', which line 7 takes from the axes of link 2, not 3."""
    ours, read = errors("reer", reading, COM)
    assert ours < ROUND_OFF
    assert read > 1e-2


# ----------------------------------------------------------------------------------------------------- (69) and (71)


def test_71_diag_stands_for_a_row_because_of_the_ones_in_69() -> None:
    """diag of mode values needs the row n = [1 ... 1] of (69); one screw an axis does not fit it."""
    chain = arm("e")
    shape = tip_shape(chain.links[0].body, ca.SX.zeros(4))[1]
    fields = chain.links[0].body.shapes.fields  # type: ignore[attr-defined]
    y = [c for c, field in enumerate(fields) if field == "bending_y"]
    ours = np.array(ca.evalf(ca.densify(shape.screws(exact=False).stacked)))[:, y]
    slope, value = np.array(ca.evalf(shape.turn))[2, y], np.array(ca.evalf(shape.shift))[1, y]
    L_z, N_y = np.eye(12)[2], np.eye(12)[7]  # real parts [omega; v] of (72)
    n = np.ones((1, 2))
    with_ones = np.outer(L_z, n) @ np.diag(slope) + np.outer(N_y, n) @ np.diag(value)
    np.testing.assert_allclose(with_ones, ours, atol=ROUND_OFF)
    np.testing.assert_allclose(np.outer(L_z, slope) + np.outer(N_y, value), ours, atol=ROUND_OFF)  # a row a kind
    with pytest.raises(ValueError, match="mismatch"):
        _ = L_z[:, None] @ np.diag(slope)


# ------------------------------------------------------------------------------------- (127), reaction at the far end


def test_127_turns_the_reaction_with_the_tip() -> None:
    """-T_{i+1} acts along the joint axis, which the tip carries: z + theta x z in link axes, printed z alone.

    Torques must do no work on the deflections of clamped links; with the printed axis they do, to first order.
    """
    links = [
        Link(name=n, beam=Beam(length=1.0, **BEAM), shapes=Shapes(bending_y=1, bending_z=1, torsion=1)) for n in "ab"
    ]
    chain = build_chain(Robot(name="two", links=links))
    q = np.array([0.3, -0.8, 0.05, 0.04, -0.03, 0.02, 0.05, 0.01])
    T, z, zero = np.array([3.0, 2.0]), ca.SX(ca.DM([0.0, 0.0, 1.0])), ca.SX.zeros(3)

    def projected(axes: str, scale: float) -> np.ndarray:
        at = ca.SX(ca.DM(np.where(np.arange(8) < 2, q, scale * q)))
        tau = dual_screw.external_forces(chain, at, "a", 0.0, zero, T[0] * z, "link")
        tau += dual_screw.external_forces(chain, at, "a", 1.0, zero, -T[1] * z, axes)  # type: ignore[arg-type]
        tau += dual_screw.external_forces(chain, at, "b", 0.0, zero, T[1] * z, "link")
        return np.array(ca.evalf(tau))[:, 0]

    truth = np.array(ca.evalf(chain.actuation())) @ T
    np.testing.assert_allclose(projected("section", 1.0), truth, atol=ROUND_OFF * 100)
    printed = [np.abs(projected("link", scale) - truth).max() for scale in (1.0, 0.5)]
    assert printed[0] > 1e-2
    assert printed[0] / printed[1] == pytest.approx(2.0, rel=1e-6)  # linear: of the order that the method keeps
