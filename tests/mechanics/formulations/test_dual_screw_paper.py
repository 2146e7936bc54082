"""What [CE21] prints: equations as they stand there against ours, and the misprints that fail."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

from pliant.algebra.dual import Dual, cross, inertia_pattern, lower, skew
from pliant.algebra.dual_groups import G1
from pliant.mechanics import Chain, build_chain
from pliant.mechanics.formulations import dual_screw
from pliant.mechanics.formulations.dual_screw_kinematics import Screws, poses, station_shape, tip_shape, walk
from pliant.mechanics.links.maps.link_maps import LinearBeam
from pliant.robot import Beam, Joint, Link, Origin, RigidBody, Robot, Shapes

ROUND_OFF = 1e-12  # relative: some hundred products of order one


def arm() -> Chain:
    """Links as in [CE21] section VI, with offsets at the joints so that every term of (78) is there."""
    beam = {"mass_per_length": 5.0, "EI_y": 900.0, "EI_z": 1000.0, "GJ": 800.0, "EA": 1e6, "polar_inertia": 0.02}
    shapes = Shapes(bending_y=2, bending_z=1, torsion=1, axial=1)
    rigid = RigidBody(
        mass=2.0, com=(0.1, 0.2, -0.1), inertia=(0.1, 0.12, 0.15), tip=(0.1, 0.0, 0.3), tip_rpy=(-np.pi / 2, 0, 0)
    )
    joint = Joint(origin=Origin(xyz=(0.02, -0.05, 0.1), rpy=(0.3, -0.4, 0.2)))
    return build_chain(
        Robot(
            name="arm",
            links=[
                Link(name="column", rigid=rigid),
                Link(name="upper", joint=joint, beam=Beam(length=2.0, **beam), shapes=shapes),
                Link(name="fore", joint=joint, beam=Beam(length=1.8, **beam), shapes=shapes),
                Link(name="tool", joint=joint, rigid=rigid),
            ],
        )
    )


CHAIN = arm()
RNG = np.random.default_rng(4)
Q, QD = RNG.normal(size=(2, CHAIN.n))
Q[4:] *= 0.1


def number(x: object) -> np.ndarray:
    return np.array(ca.evalf(ca.densify(ca.SX(x))))


# ------------------------------------------------------------------------------------------ (78), derivative operators


@pytest.mark.parametrize("i", [1, 2, 3])
def test_auxiliary_velocity_of_78_is_the_telescoped_twist(i: int) -> None:
    """The sums of (78), brackets restored, give the relative velocity that `derivative` telescopes."""
    q, qd = ca.SX(ca.DM(Q)), ca.SX(ca.DM(QD))
    frames, found = list(walk(CHAIN, q)), list(poses(CHAIN, q))
    root = [pair[0].X for pair in found]
    tips = [pair[1].X for pair in found]

    def to_i(X: G1, v: Dual) -> Dual:
        return (root[i].inverse @ X).apply(v)

    def omega(placed: object, X: G1) -> Dual:
        P = placed.jacobian_form()  # type: ignore[attr-defined]
        return to_i(X, P.omega @ placed.rates(qd))  # type: ignore[attr-defined]

    placed = frames[i].root
    P, u = placed.jacobian_form(), placed.rates(qd)
    for j in range(i):
        base = omega(frames[j].root, root[j])
        upsilon = Dual.of(ca.SX.zeros(3))
        for k in range(j, i):  # (i - k)' and i - k of the paper
            link = CHAIN.links[k]
            _, shape = tip_shape(link.body, CHAIN.body(link, q))
            rate = Dual.first_order(ca.mtimes(shape.shift, CHAIN.body(link, qd)))
            upsilon = (
                upsilon - cross(base - omega(frames[k].root, root[k]), to_i(root[k], shape.p)) + to_i(root[k], rate)
            )
            origin = Dual.of(CHAIN.links[k + 1].joint.origin)
            upsilon = upsilon - cross(base - omega(frames[k].tip, tips[k]), to_i(tips[k], origin))
        later = [
            c for c, index in enumerate(placed.indices) if c > placed.indices.index(CHAIN.links[j].joint_indices[0])
        ]
        twist = Screws(P.omega[:, later], P.v[:, later]).times(u[later])
        np.testing.assert_allclose(number(upsilon.stacked), number(twist.v.stacked), atol=ROUND_OFF * 100)


# ----------------------------------------------------------------------------------------------- (71), sign of -psi_z'


def test_printed_71_turns_the_section_the_wrong_way() -> None:
    """A section stays normal to the axis: the z component of R-hat e_x is the slope of w, so theta_y = -psi_z'."""
    body = CHAIN.links[1].body
    assert isinstance(body, LinearBeam)
    c = np.zeros(body.size)
    c[body.shapes.fields.index("bending_z")] = 0.01
    eta, step = 0.6, 1e-5
    ends = [np.array(ca.evalf(body.point(ca.SX(ca.DM(c)), eta + d)[0]))[:, 0] for d in (-step, step)]
    tangent = (ends[1] - ends[0]) / (ends[1] - ends[0])[0]
    theta = number(station_shape(body, ca.SX(ca.DM(c)), eta).theta)[:, 0]
    ours = np.eye(3)[0] + np.cross(theta, np.eye(3)[0])
    printed = np.eye(3)[0] + np.cross(theta * [1, -1, 1], np.eye(3)[0])
    assert abs(tangent[2]) > 1e-3
    np.testing.assert_allclose(ours, tangent, atol=1e-9)  # central differences: step^2 times the third derivative
    assert abs(printed[2] - tangent[2]) == pytest.approx(2 * abs(tangent[2]), rel=1e-6)


# ------------------------------------------------------------------------------------------- (105), lower wedge, I-hat


def test_printed_105_is_not_the_linear_part_of_104() -> None:
    """[w]_ before J-hat and I-hat before n-hat give the first-order part of (104); [w]^ and bare n-hat do not."""
    rng = np.random.default_rng(8)
    J = np.diag([0.3, 0.1, 0.2])
    w, wi, alpha, n = (Dual(ca.SX(ca.DM(rng.normal(size=3))), ca.SX(ca.DM(rng.normal(size=3)))) for _ in range(4))

    def exact(h: float) -> np.ndarray:
        """Rotary row of (104) with elastic parts scaled by h."""
        a, b, c, d = (number(x.real + h * x.dual)[:, 0] for x in (w, wi, alpha, n))
        return J @ c + J @ np.cross(b, a) + np.cross(a, J @ a) - d

    real, rate = exact(0.0), (exact(1.0) - exact(-1.0)) / 2  # quadratic in h: the central difference is exact
    J_hat, I_hat = number(inertia_pattern(ca.SX(ca.DM(J)))), number(inertia_pattern(ca.SX.eye(3)))
    W, x = number(skew(wi).matrix), number(w.stacked)[:, 0]
    shared = J_hat @ number(alpha.stacked)[:, 0] + J_hat @ W @ x
    ours = shared + number(lower(w)) @ J_hat @ x - I_hat @ number(n.stacked)[:, 0]
    printed = shared + number(skew(w).matrix) @ J_hat @ x - number(n.stacked)[:, 0]
    truth = np.concatenate([real + rate, real])
    np.testing.assert_allclose(ours, truth, atol=ROUND_OFF)
    assert np.abs(printed - truth).max() > 0.1
    only_wedge = shared + number(skew(w).matrix) @ J_hat @ x - I_hat @ number(n.stacked)[:, 0]
    only_bare = shared + number(lower(w)) @ J_hat @ x - number(n.stacked)[:, 0]
    assert np.abs(only_wedge - truth).max() > 0.1
    assert np.abs(only_bare - truth).max() > 0.1


def test_rotary_inertia_of_104_differs_by_the_terms_that_the_notes_name() -> None:
    """(104) minus the energy form J(wd + thdd) + w x J(w + thd) is thd x J(w + thd) + J(w x thd) on the frame."""
    rng = np.random.default_rng(9)
    J = np.diag([0.3, 0.1, 0.2])
    w, thetad, alpha = rng.normal(size=(3, 3))
    section = w + thetad
    paper = J @ alpha + J @ np.cross(w, section) + np.cross(section, J @ section)
    energy = J @ alpha + np.cross(w, J @ section)
    np.testing.assert_allclose(paper - energy, np.cross(thetad, J @ section) + J @ np.cross(w, thetad), atol=1e-15)


# ---------------------------------------------------------------------------------------------- (125), torque wrenches


def test_torques_as_dual_wrenches_of_125_to_127(rng) -> None:
    """T_i on link i and -T_{i+1} at its distal end project to T; printed R-hat of (125) cannot act on 12 numbers."""
    q = ca.SX(ca.DM(Q))
    T = rng.normal(size=4)
    tau = ca.SX.zeros(CHAIN.n)
    for i, link in enumerate(CHAIN.links):
        axis = ca.SX(ca.DM(link.joint.axes[0]))
        tau += dual_screw.external_forces(CHAIN, q, link.name, 0.0, ca.SX.zeros(3), T[i] * axis, "link")
        if i + 1 < len(CHAIN.links):
            end, _ = tip_shape(link.body, CHAIN.body(link, q))
            origin = CHAIN.links[i + 1].joint.origin_rotation  # the axis is the same before and after the turn
            reaction = -T[i + 1] * end.apply(origin.apply(ca.SX(ca.DM(CHAIN.links[i + 1].joint.axes[0]))))
            tau += dual_screw.external_forces(CHAIN, q, link.name, 1.0, ca.SX.zeros(3), reaction, "section")
    expected = number(CHAIN.actuation()) @ T
    np.testing.assert_allclose(number(tau)[:, 0], expected, atol=ROUND_OFF * 100)


def test_printed_125_needs_the_twelve_by_twelve_rotation() -> None:
    R = next(iter(poses(CHAIN, ca.SX(ca.DM(Q)))))[0].X.matrix
    w = ca.vertcat(ca.SX.zeros(6), ca.SX(ca.DM([0, 0, -1.0])), ca.SX.zeros(3))
    with pytest.raises(RuntimeError, match=r"[Dd]imension"):
        ca.mtimes(R, w)
    bar = ca.diagcat(R, R)
    np.testing.assert_allclose(number(ca.mtimes(bar, w))[6:9, 0], -number(R)[:3, 2], atol=ROUND_OFF)


# ---------------------------------------------------------------------------------------- (148), velocity of a section


@pytest.mark.parametrize("q3", [0.4, -1.1])
def test_printed_148_counts_the_tip_rotation_twice(q3: float) -> None:
    """Velocity of frame 3_e per unit thetad_3 of link 2: (149) and P-check say -x s3 along x2, (148) says -2 x s3."""
    beam = {"mass_per_length": 5.0, "EI_y": 900.0, "EI_z": 1000.0, "GJ": 800.0, "EA": 1e6}
    links = [Link(name=n, beam=Beam(length=1.0, **beam), shapes=Shapes(bending_y=1)) for n in ("second", "third")]
    chain = build_chain(Robot(name="planar", links=links))
    q = ca.SX(ca.DM([0.3, q3, 0.0, 0.0]))
    _, frames = walk(chain, q)
    shape = tip_shape(chain.links[0].body, ca.SX.zeros(1))[1]
    slope, deflection = number(shape.turn)[2, 0], number(shape.shift)[:, 0]
    x, (s3, c3) = 0.7, (np.sin(q3), np.cos(q3))
    P = frames.root.P.referred(Dual.of(ca.SX(ca.DM([x, 0, 0]))))
    column = number(P.v.real)[:, frames.root.indices.index(2)]
    R = np.array([[c3, -s3, 0], [s3, c3, 0], [0, 0, 1]])
    rotation_part = (R @ column - deflection) / slope
    np.testing.assert_allclose(rotation_part, [-x * s3, x * c3, 0], atol=ROUND_OFF)  # (149)
    printed = np.array(
        [-x * s3 - x * s3, x * c3, 0]
    )  # lines (u2 + thetad3) x [...] and the last line of (148) at theta = 0
    assert np.abs(printed - rotation_part).max() == pytest.approx(abs(x * s3))
