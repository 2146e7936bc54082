"""URDF: the chain, its masses and its frames survive; chosen links become beams without moving anything."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from pliant.errors import ModelError
from pliant.robot import Robot, load

ARM = """<robot name="test arm">
  <link name="base"/>
  <link name="upper-arm"><inertial><origin xyz="0 0 0.5" rpy="0 0 1.2"/><mass value="3"/>
    <inertia ixx="0.3" iyy="0.25" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="fore"><inertial><origin xyz="0.2 0 0"/><mass value="1.5"/>
    <inertia ixx="0.01" iyy="0.05" izz="0.05" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="camera"><inertial><mass value="0.4"/>
    <inertia ixx="0.001" iyy="0.001" izz="0.001" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="tool"/>
  <joint name="j1" type="revolute"><parent link="base"/><child link="upper-arm"/>
    <origin xyz="0 0 0.3" rpy="0.1 0.2 0.3"/>
    <axis xyz="0 1 0"/><limit lower="-1" upper="2" effort="50" velocity="3"/>
    <dynamics damping="0.7" friction="0.2"/></joint>
  <joint name="j2" type="continuous"><parent link="upper-arm"/><child link="fore"/>
    <origin xyz="0.1 0 1.0" rpy="0 0.4 0"/>
    <axis xyz="0 0 1"/></joint>
  <joint name="jc" type="fixed"><parent link="fore"/><child link="camera"/><origin xyz="0 0 0.1"/></joint>
  <joint name="j3" type="fixed"><parent link="fore"/><child link="tool"/><origin xyz="0.5 0 0.2" rpy="0 0 1"/></joint>
</robot>
"""
BEAM = {"mass_per_length": 0.3, "EI_y": 1e4, "EI_z": 1e4}
SLIDES = BEAM | {"slides": True, "total_length": 0.6}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    file = tmp_path / "arm.urdf"
    file.write_text(ARM)
    return file


def _tip(q1: float, q2: float) -> np.ndarray:
    """Forward kinematics of the file above, written out with SciPy."""
    from scipy.spatial.transform import Rotation as R

    T = np.eye(4)
    for xyz, rpy, axis, q in [
        ((0, 0, 0.3), (0.1, 0.2, 0.3), (0, 1, 0), q1),
        ((0.1, 0, 1.0), (0, 0.4, 0), (0, 0, 1), q2),
        ((0.5, 0, 0.2), (0, 0, 1), (0, 0, 1), 0.0),
    ]:
        S = np.eye(4)
        S[:3, :3] = (R.from_euler("xyz", rpy) * R.from_rotvec(np.array(axis) * q)).as_matrix()
        S[:3, 3] = xyz
        T = T @ S
    return T


@pytest.mark.parametrize(
    "flexible",
    [None, {"links": {"upper-arm": {"beam": BEAM, "shapes": {"bending_y": 2}}}},
     {"links": {"fore": {"beam": BEAM | {"length": 0.3}}}},
     {"links": {"upper-arm": {"beam": BEAM, "along": [0, 0, 1]}, "fore": {"beam": BEAM}}}],
)  # fmt: skip
def test_kinematics_survive(path: Path, flexible: object) -> None:
    if flexible and "fore" in flexible["links"]:
        path.write_text(ARM.replace('<mass value="0.4"/>', '<mass value="0"/>').replace('"0.001"', '"0"'))
    robot = load(path, flexible=flexible, tip="tool")
    rigid = robot.replace({f"links.{link.name}.shapes": None for link in robot.links if link.shapes}).model()
    for q1, q2 in [(0.0, 0.0), (0.5, -0.8)]:
        R, p = np.split(rigid.tip_pose([q1, q2])[:3], [3], axis=1)
        p, T = p.ravel(), _tip(q1, q2)
        np.testing.assert_allclose(p, T[:3, 3], atol=1e-12)  # metres: rounding
        if flexible is None:
            np.testing.assert_allclose(R, T[:3, :3], atol=1e-12)


def test_rigid_import(path: Path) -> None:
    robot = load(path, tip="tool")
    assert robot.name == "test arm"
    assert [link.name for link in robot.links] == ["upper_arm", "fore", "tool"]
    upper, fore, tool = robot.links
    assert (upper.joint.type, upper.joint.axis) == ("revolute", (0.0, 1.0, 0.0))
    assert (upper.joint.limits.lower, upper.joint.limits.upper, upper.joint.limits.effort) == (-1.0, 2.0, 50.0)
    assert (upper.joint.friction.viscous, upper.joint.friction.coulomb) == (0.7, 0.2)
    assert fore.joint.limits is None
    assert tool.joint.type == "fixed"
    assert upper.rigid.mass == 3.0
    # the inertial frame is turned by 1.2 rad about z, and the tensor with it
    c, s = np.cos(1.2), np.sin(1.2)
    want = np.array([[c, -s], [s, c]]) @ np.diag([0.3, 0.25]) @ np.array([[c, s], [-s, c]])
    assert upper.rigid.inertia[:2] == pytest.approx((want[0, 0], want[1, 1]), rel=1e-12)
    assert upper.rigid.inertia[3] == pytest.approx(want[0, 1], rel=1e-12)


def test_side_branches_are_lumped(path: Path) -> None:
    """The camera hangs on the forearm: 1.5 kg at x = 0.2 and 0.4 kg at z = 0.1."""
    body = load(path, tip="tool").link("fore").rigid
    assert body.mass == pytest.approx(1.9)
    np.testing.assert_allclose(body.com, [1.5 * 0.2 / 1.9, 0, 0.4 * 0.1 / 1.9], rtol=1e-12)
    m = 1.5 * 0.4 / 1.9  # reduced mass: I_yy = own + m d^2 with d^2 = 0.2^2 + 0.1^2
    assert body.inertia[1] == pytest.approx(0.05 + 0.001 + m * 0.05, rel=1e-12)


def test_a_branch_is_lumped_with_its_attitude(path: Path) -> None:
    """A long camera, turned and off its origin: parallel axes and the turned tensor, written out."""
    turned = ARM.replace('<origin xyz="0 0 0.1"/></joint>', '<origin xyz="0.03 -0.07 0.1" rpy="0.4 -0.3 0.9"/></joint>')
    turned = turned.replace('<inertial><mass value="0.4"/>', '<inertial><origin xyz="0.1 0.02 0"/><mass value="0.4"/>')
    turned = turned.replace('ixx="0.001" iyy="0.001" izz="0.001"', 'ixx="0.001" iyy="0.004" izz="0.0045"')
    path.write_text(turned)
    body = load(path, tip="tool").link("fore").rigid
    R = rotation_matrix([0.4, -0.3, 0.9])
    places = np.array([[0.2, 0, 0], np.array([0.03, -0.07, 0.1]) + R @ [0.1, 0.02, 0]])
    masses = np.array([1.5, 0.4])
    com = masses @ places / 1.9
    tensors = [np.diag([0.01, 0.05, 0.05]), R @ np.diag([0.001, 0.004, 0.0045]) @ R.T]
    for mass, r in zip(masses, places - com):
        tensors.append(mass * (r @ r * np.eye(3) - np.outer(r, r)))
    want = sum(tensors)
    np.testing.assert_allclose(body.com, com, rtol=1e-12)
    np.testing.assert_allclose(body.inertia[:3], np.diag(want), rtol=1e-12)
    np.testing.assert_allclose(body.inertia[3:], [want[0, 1], want[0, 2], want[1, 2]], rtol=1e-12)


def rotation_matrix(rpy: list[float]) -> np.ndarray:
    from scipy.spatial.transform import Rotation

    return np.asarray(Rotation.from_euler("xyz", rpy).as_matrix())


def test_side_file(path: Path, tmp_path: Path) -> None:
    side = tmp_path / "side.yaml"
    side.write_text(
        "format: 1\ngravity: [0, 0, -1.62]\npayload: {mass: 2}\nlinks:\n  upper-arm:\n"
        "    beam: {mass_per_length: 0.3, EI_y: 1e4, EI_z: 1e4}\n    shapes: {bending_y: 2, bending_z: 1}\n"
        "    drive: {stiffness: 1e4, rotor_inertia: 1e-3}\n"
    )
    robot = load(path, flexible=side, tip="tool")
    assert robot.gravity == (0.0, 0.0, -1.62)
    assert robot.payload.mass == 2.0
    upper = robot.links[0]
    assert upper.beam.length == pytest.approx(np.hypot(0.1, 1.0), rel=1e-12)
    assert upper.rigid is None
    assert upper.shapes.number == 3
    assert upper.joint.flexible
    robot.save(tmp_path / "out.yaml")
    assert load(tmp_path / "out.yaml") == robot
    assert isinstance(robot, Robot)


@pytest.mark.parametrize(
    ("old", "new", "options", "words"),
    [
        ("", "", {"tip": "tol"}, "no link `tol`, did you mean `tool`"),
        ("", "", {"tip": "base"}, "no joint leads to link `base`"),
        ("<robot", "<robt", {"tip": "tool"}, "line 19: not valid XML: mismatched tag"),
        ("</robot>", "", {"tip": "tool"}, "line 20: not valid XML: no element found"),
        ("<robot", "<!DOCTYPE a [<!ENTITY b 'c'>]><robot", {"tip": "tool"}, "entities"),
        ('type="revolute"', 'type="floating"', {"tip": "tool"}, "joint `j1`: type floating"),
        ('type="revolute"', 'type="hinge"', {"tip": "tool"}, "got 'hinge', expected one of"),
        ('value="3"', 'value="-3"', {"tip": "tool"}, r"mass.value .link `upper-arm`, line 3.: got -3.0"),
        ('value="3"', 'value="abc"', {"tip": "tool"}, "got 'abc', expected a finite number"),
        ('ixx="0.3"', 'ixx="9"', {"tip": "tool"}, "triangle"),
        ('child link="fore"', 'child link="none"', {"tip": "tool"}, "joint `j2` .line 14.: no link `none`"),
        ("", "", {"tip": "tool", "flexible": {"links": {"upper": {}}}}, "no link `upper` on the chain, did you mean"),
        ("", "", {"tip": "tool", "flexible": {"link": {}}}, "unknown key `link`, did you mean `links`"),
        ("", "", {"tip": "tool", "flexible": {"links": {"fore": {"bean": 1}}}}, "did you mean `beam`"),
        ("", "", {"tip": "tool", "flexible": {"links": {"fore": {"beam": SLIDES}}}}, "would lose their mass"),
        ("", "", {"tip": "tool", "flexible": {"links": {"tool": {"beam": BEAM}}}}, "needs a `length`"),
        ("", "", {"tip": "tool", "flexible": {"links": {"upper-arm": {"beam": 3}}}}, r"links\[0\].beam"),
        ("", "", {"tip": "tool", "flexible": {"links": {"upper-arm": {"beam": BEAM, "along": [0, 0, 0]}}}}, "`along`"),
        ("", "", {"tip": "tool", "flexible": {"links": {"upper-arm": {"beam": BEAM, "along": "z"}}}}, "`along`"),
    ],
)
def test_faults(path: Path, old: str, new: str, options: dict[str, object], words: str) -> None:
    path.write_text(ARM.replace(old, new, 1) if old else ARM)
    with pytest.raises(ModelError, match=words) as caught:
        load(path, **options)
    assert "arm.urdf" in str(caught.value)


def test_names_that_differ_in_other_letters_alone_stay_apart(tmp_path: Path) -> None:
    """`upper-arm` becomes `upper_arm`, unless a link is called so."""
    path = tmp_path / "arm.urdf"
    path.write_text(ARM.replace('"fore"', '"upper_arm"').replace('"j2"', '"j.1"').replace('"j1"', '"j_1"'))
    robot = load(path, tip="tool")
    assert [link.name for link in robot.links][:2] == ["upper_arm_2", "upper_arm"]
    assert [link.joint.name for link in robot.links][:2] == ["j_1", "j_1_2"]
