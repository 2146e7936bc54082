"""Where a joint stands: rpy origins and both kinds of DH row, against the chains of elementary motions they mean."""

from __future__ import annotations

import casadi
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from pliant.errors import ModelError
from pliant.robot import DH, Beam, Joint, Link, Origin, RigidBody, Robot
from pliant.robot.parts.joint import origin_transform
from pliant.robot.parts.link import tip_rotation
from pliant.robot.symbolic_view import RobotView

A, ALPHA, D, THETA = 0.3, 0.4, -0.2, 0.7


def _turn(axis: str, angle: float) -> np.ndarray:
    T = np.eye(4)
    T[:3, :3] = Rotation.from_euler(axis, angle).as_matrix()
    return T


def _shift(x: float, y: float, z: float) -> np.ndarray:
    T = np.eye(4)
    T[:3, 3] = x, y, z
    return T


def _homogeneous(R: object, p: object) -> np.ndarray:
    T = np.eye(4)
    T[:3, :3], T[:3, 3] = R, p
    return T


def test_modified_row() -> None:
    joint = Joint(dh=DH(a=A, alpha=ALPHA, d=D, theta=THETA))
    want = _turn("x", ALPHA) @ _shift(A, 0, 0) @ _shift(0, 0, D) @ _turn("z", THETA)
    np.testing.assert_allclose(_homogeneous(*origin_transform(joint)), want, atol=1e-15)


@pytest.mark.parametrize("body", ["beam", "rigid"])
def test_standard_row_with_the_body_between(body: str) -> None:
    """origin, joint motion q, body, tip rotation = Rz(theta + q) Tz(d) Tx(a) Rx(alpha)."""
    q = 0.25
    joint = Joint(dh=DH(a=A, alpha=ALPHA, d=D, theta=THETA, convention="standard"))
    part = {"beam": Beam(length=A, mass_per_length=1)} if body == "beam" else {"rigid": RigidBody(mass=1)}
    link = Link(name="a", joint=joint, **part)
    reach = link.beam.length if link.beam else link.rigid.tip[0]
    got = _homogeneous(*origin_transform(link.joint)) @ _turn("z", q) @ _shift(reach, 0, 0)
    got = got @ _homogeneous(tip_rotation(link), [0, 0, 0])
    want = _turn("z", THETA + q) @ _shift(0, 0, D) @ _shift(A, 0, 0) @ _turn("x", ALPHA)
    np.testing.assert_allclose(got, want, atol=1e-15)


def test_origin_and_tip_rpy() -> None:
    joint = Joint(origin=Origin(xyz=(1, 2, 3), rpy=(0.1, 0.2, 0.3)))
    R, p = origin_transform(joint)
    np.testing.assert_allclose(R, Rotation.from_euler("xyz", (0.1, 0.2, 0.3)).as_matrix(), atol=1e-15)
    assert p == [1.0, 2.0, 3.0]
    link = Link(name="a", rigid=RigidBody(mass=1, tip_rpy=("pi/2", 0, 0)))
    assert tip_rotation(link) == [[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]]


def test_an_explicit_tip_wins_and_must_agree_with_a() -> None:
    row = DH(a=A, convention="standard")
    with pytest.raises(ModelError, match=r"reaches 0\.5 along x but `joint.dh.a` is 0\.3"):
        Link(name="a", joint=Joint(dh=row), rigid=RigidBody(mass=1, tip=(0.5, 0, 0)))
    link = Link(name="a", joint=Joint(dh=row), rigid=RigidBody(mass=1))
    robot = Robot(name="r", links=[link])
    assert robot.replace({"links.a.rigid.tip.0": 0.5}).links[0].rigid.tip == (0.5, 0.0, 0.0)


def test_symbols_in_a_row() -> None:
    robot = Robot(name="r", links=[Link(name="a", joint=Joint(dh=DH(a=A, alpha=ALPHA, d=D)), rigid=RigidBody(mass=1))])
    s = casadi.SX.sym("s", 2)
    view = RobotView(robot, {"links.a.joint.dh.alpha": s[0], "links.a.joint.dh.d": s[1]})
    R, p = origin_transform(view.links[0].joint)
    f = casadi.Function("f", [s], [casadi.vertcat(*[casadi.SX(entry) for entry in (*p, *R[2])])])
    want_R, want_p = origin_transform(robot.links[0].joint)
    np.testing.assert_allclose(f([ALPHA, D]).full().ravel(), [*want_p, *want_R[2]], atol=1e-15)


def test_axes_become_unit_vectors() -> None:
    assert Joint(axis=(0, 0, -2)).axis == (0.0, 0.0, -1.0)
    assert Joint(axis=(3, 0, 4)).axis == (0.6, 0.0, 0.8)
