"""Whole URDF trees: free roots, planar and floating joints, beams with branches; Pinocchio reads the same text."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from pliant.cli import app
from pliant.errors import ModelError
from pliant.robot import Robot, load
from pliant.robot.files.urdf import from_urdf


def body(name: str, m: float, com: str, moments: tuple[float, ...], rpy: str = "0.3 -0.2 0.7") -> str:
    named = zip(("ixx", "iyy", "izz", "ixy", "ixz", "iyz"), moments)
    inertia = " ".join(f'{key}="{value}"' for key, value in named)
    return (
        f'<link name="{name}"><inertial><origin xyz="{com}" rpy="{rpy}"/><mass value="{m}"/>'
        f"<inertia {inertia}/></inertial></link>\n"
    )


def joint(name: str, kind: str, parent: str, child: str, xyz: str, rpy: str, rest: str = "") -> str:
    return (
        f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>'
        f'<origin xyz="{xyz}" rpy="{rpy}"/>{rest}</joint>\n'
    )


LIMIT = '<limit effort="10" velocity="3" lower="-2" upper="2"/>'
TREE = (
    '<robot name="tree">\n'
    + body("root", 7.0, "0.05 -0.02 0.04", (0.9, 1.1, 0.7, 0.05, -0.03, 0.02))
    + body("left", 2.0, "0.1 0.02 0.3", (0.08, 0.09, 0.05, 0.004, 0.006, -0.003))
    + body("left_arm", 1.3, "0.2 -0.04 0.01", (0.02, 0.06, 0.05, 0.003, -0.001, 0.002))
    + body("left_hand", 0.6, "0.03 0.01 0.05", (0.004, 0.005, 0.003, 0.0002, 0.0, -0.0003))
    + body("left_eye", 0.3, "0.01 0.02 0.0", (0.001, 0.0012, 0.0008, 0.0001, 0.0, 0.0))
    + body("right", 1.7, "-0.1 0.05 0.2", (0.05, 0.04, 0.03, -0.002, 0.003, 0.001))
    + body("right_arm", 0.9, "0.15 0.03 -0.02", (0.012, 0.03, 0.025, 0.001, 0.002, -0.0015))
    + '<link name="tool"/>\n'
    + joint("j_left", "revolute", "root", "left", "0.2 0.1 0.3", "0.1 -0.2 0.3", '<axis xyz="0.3 0.9 0.2"/>' + LIMIT)
    + joint("j_left_arm", "prismatic", "left", "left_arm", "0.1 0 0.5", "0.4 0 0.2", '<axis xyz="1 0.2 0"/>' + LIMIT)
    + joint("j_left_eye", "fixed", "left", "left_eye", "-0.1 0.05 0.4", "0 0.7 0.3")
    + joint("j_left_hand", "continuous", "left_arm", "left_hand", "0.4 0.02 0.1", "0 0.3 0.1", '<axis xyz="0 0 1"/>')
    + joint("j_right", "MIDDLE", "root", "right", "-0.2 -0.1 0.25", "0.2 0.1 -0.4", "<axis xyz='0 0 1'/>")
    + joint("j_right_arm", "revolute", "right", "right_arm", "0.3 0.1 0", "0.5 0.6 0", '<axis xyz="0 1 0"/>' + LIMIT)
    + joint("j_tool", "fixed", "right_arm", "tool", "0.35 0 0.05", "0 0 0.8")
    + "</robot>"
)
LEAVES = ("left_hand", "left_eye", "tool")


def test_a_tree_is_that_of_pinocchio() -> None:
    for middle, floating in (("continuous", False), ("planar", True), ("floating", False)):
        compared(TREE.replace("MIDDLE", middle), floating)


def compared(text: str, floating: bool) -> None:
    """Mass matrix, bias and poses, after the change of coordinates: twists linear first there, planar speeds turned."""
    pin = pytest.importorskip("pinocchio", reason="pinocchio (extra bench) is not installed")
    robot = from_urdf(Robot, text, {}, floating=floating)
    model = robot.model()
    free = (pin.JointModelFreeFlyer(),) if floating else ()
    twin = pin.buildModelFromXML(text, *free)
    data = twin.createData()
    twin.gravity.linear = np.array(robot.gravity)
    rng = np.random.default_rng(4)
    q, v = model.chain.rest(), rng.uniform(-1, 1, model.n)
    x, T = pin.neutral(twin), np.zeros((twin.nv, model.n))  # v_pin = T v, with T of the state
    drift = np.zeros(twin.nv)  # dT/dt v
    for link in model.chain.links:
        name = "root_joint" if link.name == "base" else f"j_{link.name}"
        if not link.joint_indices:
            continue
        k = twin.getJointId(name)
        at, by = twin.idx_qs[k], twin.idx_vs[k]
        own, along = list(link.joint_places), list(link.joint_indices)
        if link.joint.kind == "free":
            position, turn = rng.uniform(-1, 1, 3), rng.normal(size=4)
            q[own] = [*position, *turn / np.linalg.norm(turn)]
            x[at : at + 7] = [*q[own[:3]], *q[own[4:]], q[own[3]]]
            T[by : by + 3, along[3:]] = T[by + 3 : by + 6, along[:3]] = np.eye(3)
        elif link.joint.kind == "planar":
            q[own] = rng.uniform(-1, 1, 3)
            c, s = np.cos(q[own[2]]), np.sin(q[own[2]])
            x[at : at + 4] = [*q[own[:2]], c, s]
            T[by : by + 3, along] = [[c, s, 0], [-s, c, 0], [0, 0, 1]]
            drift[by : by + 2] = v[along[2]] * np.array([[-s, c], [-c, -s]]) @ v[along[:2]]
        else:
            q[own] = rng.uniform(-1, 1, 1)
            x[at : at + twin.nqs[k]] = q[own] if twin.nqs[k] == 1 else [np.cos(q[own[0]]), np.sin(q[own[0]])]
            T[by, along] = 1
    M = pin.crba(twin, data, x)
    M = np.triu(M) + np.triu(M, 1).T
    bias = pin.rnea(twin, data, x, T @ v, drift)
    np.testing.assert_allclose(model.mass_matrix(q), T.T @ M @ T, atol=1e-12 * np.abs(M).max())
    np.testing.assert_allclose(model.bias(q, v), T.T @ bias, atol=1e-12 * np.abs(bias).max())
    pin.framesForwardKinematics(twin, data, x)
    for leaf in LEAVES:
        expected = data.oMf[twin.getFrameId(leaf)].homogeneous
        np.testing.assert_allclose(model.pose(q, frame=f"{leaf}.tip"), expected, atol=1e-12)


def test_the_robot_of_a_tree() -> None:
    robot = from_urdf(Robot, TREE.replace("MIDDLE", "planar"), {}, floating=True)
    assert [link.name for link in robot.links] == [
        "left", "left_arm", "left_hand", "left_eye", "right", "right_arm", "tool"
    ]  # fmt: skip
    assert [link.parent for link in robot.links] == [None, None, None, "left", "base", None, None]
    assert (robot.base.type, robot.base.mass) == ("free", 7.0)
    assert robot.link("right").joint.type == "planar"
    chain = from_urdf(Robot, TREE.replace("MIDDLE", "floating"), {}, "tool", floating=True)
    assert [link.joint.type for link in chain.links] == ["free", "revolute", "fixed"]
    assert chain.base.mass == pytest.approx(7.0 + 2.0 + 1.3 + 0.6 + 0.3)  # the left branch is held still


@pytest.mark.parametrize("axis", [(1.0, 0.0, 0.0), (0.0, 0.0, -1.0), (0.3, -0.5, 0.8)])
def test_a_planar_joint_moves_across_its_axis(axis: tuple[float, ...]) -> None:
    """The frame beyond stays in a plane normal to the axis and turns about it; masses do not move."""
    text = TREE.replace("MIDDLE", "planar").replace(
        "<axis xyz='0 0 1'/>", f"<axis xyz='{axis[0]} {axis[1]} {axis[2]}'/>"
    )
    model = from_urdf(Robot, text, {}).model()
    still = from_urdf(Robot, text.replace('"planar"', '"fixed"'), {}).model()
    home = model.pose(np.zeros(model.n), frame="right.tip")
    n = still.pose(np.zeros(still.n), frame="right.root")[:3, :3] @ np.array(axis) / np.linalg.norm(axis)
    states = [
        {"j_right.x": 0.4, "j_right.y": -0.3},
        {"j_right.angle": 0.7},
        {"j_right.x": 0.1, "j_right.y": 0.2, "j_right.angle": 1},
    ]
    joint = np.array(home[:3, 3]) - home[:3, :3] @ np.array([0.3, 0.1, 0.0])  # the next joint is the tip of this link
    for given in states:
        q = np.zeros(model.n)
        for name, value in given.items():
            q[model.index(name)] = value
        pose = model.pose(q, frame="right.tip")
        origin = pose[:3, 3] - pose[:3, :3] @ np.array([0.3, 0.1, 0.0])
        moved = origin - joint
        assert abs(n @ moved) < 1e-14
        assert np.linalg.norm(moved) == pytest.approx(np.hypot(*(q[model.index(f"j_right.{x}")] for x in "xy")))
        turn = pose[:3, :3] @ home[:3, :3].T
        np.testing.assert_allclose(turn @ n, n, atol=1e-14)
        assert np.trace(turn) == pytest.approx(1 + 2 * np.cos(q[model.index("j_right.angle")]))
    flying, held = (from_urdf(Robot, t, {}, floating=True).model() for t in (text, text.replace('"planar"', '"fixed"')))
    rows = [flying.speed_index(name) for name in held.speeds]
    found, expected = (m.mass_matrix(m.chain.rest()) for m in (flying, held))
    np.testing.assert_allclose(found[np.ix_(rows, rows)], expected, atol=1e-13)


def test_a_beam_carries_its_branches_where_they_are() -> None:
    """The farthest joint is its end; the other hangs on the section beside it. Frames stay where they were."""
    text = TREE.replace("MIDDLE", "continuous")
    side = {"links": {"left": {"beam": {"EI_y": 1e4, "EI_z": 1e4}, "shapes": {"bending_y": 2}}}}
    robot, rigid = from_urdf(Robot, text, side), from_urdf(Robot, text, {}).model()
    assert robot.link("left").beam.length == pytest.approx(np.hypot(0.1, 0.5))
    assert robot.link("left_arm").at == "tip"
    u = np.array([0.1, 0.0, 0.5]) / np.hypot(0.1, 0.5)
    assert robot.link("left_eye").at.x == pytest.approx(u @ np.array([-0.1, 0.05, 0.4]))
    model = robot.model()
    q = np.linspace(-0.4, 0.7, rigid.n)
    for leaf in LEAVES:
        there = np.concatenate([q, np.zeros(model.n - rigid.n)])
        np.testing.assert_allclose(
            model.pose(there, frame=f"{leaf}.tip"), rigid.pose(q, frame=f"{leaf}.tip"), atol=1e-12
        )


def test_a_curved_beam_carries_its_branches_where_they_are() -> None:
    """Frames stay where the file has them, behind and beside the beam, and so does the mass lumped onto it."""
    text = TREE.replace("MIDDLE", "continuous")
    section = {"shape": "tube", "outer_diameter": 0.03, "inner_diameter": 0.026}
    beam = {"material": "aluminium", "section": section, "length": 0.55, "curvature": [0.7, -1.1], "twist": 0.8}
    side = {"links": {"left": {"beam": beam}}}
    robot, rigid = from_urdf(Robot, text, side), from_urdf(Robot, text, {}).model()
    assert 0.25 < robot.link("left_eye").at.x < 0.35
    model, q = robot.model(), np.linspace(-0.4, 0.7, rigid.n)
    for leaf in LEAVES:
        frame = f"{leaf}.tip"
        np.testing.assert_allclose(model.pose(q, frame=frame), rigid.pose(q, frame=frame), atol=1e-12)

    def inertia(text: str, side: dict[str, Any]) -> np.ndarray:
        return from_urdf(Robot, text, side, tip="left_hand").model(stiffening="off").mass_matrix([0.3, 0.1, -0.6])

    light = text.replace('value="0.3"', 'value="0"').replace(
        'ixx="0.001" iyy="0.0012" izz="0.0008" ixy="0.0001"', 'ixx="0" iyy="0" izz="0" ixy="0"'
    )
    expected = inertia(text, {}) - inertia(light, {})
    np.testing.assert_allclose(inertia(text, side) - inertia(light, side), expected, atol=1e-13)
    del beam["length"]
    with pytest.raises(ModelError, match="link `left` is a curved beam, which needs its `length` along the curve"):
        from_urdf(Robot, text, side)


def test_a_hub_of_the_side_file_keeps_the_rotor_of_the_file() -> None:
    """A moment that no body has, of a rotor, stays beside the hub that is stated for a rigid link."""
    moments = (0.0, 0.0, 0.004, 0.0, 0.0, 0.0)
    text = TREE.replace("MIDDLE", "continuous").replace(
        body("right", 1.7, "-0.1 0.05 0.2", (0.05, 0.04, 0.03, -0.002, 0.003, 0.001)),
        body("right", 0.0, "0 0 0", moments, rpy="0 0 0"),
    )
    hub = {"mass": 0.5, "com": [0.1, 0.0, 0.0], "inertia": [0.001, 0.002, 0.003]}
    bare, given = from_urdf(Robot, text, {}).model(), from_urdf(Robot, text, {"links": {"right": {"hub": hub}}}).model()
    q, k = np.zeros(bare.n), bare.speeds.index("j_right")
    assert (given.mass_matrix(q) - bare.mass_matrix(q))[k, k] == pytest.approx(0.003 + 0.5 * 0.1**2, abs=1e-12)


NO_MOMENTS = 'ixx="0" iyy="0" izz="0" ixy="0" ixz="0" iyz="0"'
MOMENTS = 'ixx="0.9" iyy="1.1" izz="0.7" ixy="0.05" ixz="-0.03" iyz="0.02"'
BEAM = {"mass_per_length": 3, "EI_y": 1e4}


@pytest.mark.parametrize(
    ("kind", "changes", "options", "words"),
    [
        (
            "continuous", {"<axis xyz='0 0 1'/>": '<mimic joint="j_left"/>'}, {},
            "joint `j_right`: mimic joints are not supported; fix it, or choose a tip beside it",
        ),
        (
            "planar", {"<axis xyz='0 0 1'/>": '<dynamics damping="0.2"/>'}, {},
            "joint `j_right`: type planar has no axis for `dynamics`; remove it",
        ),
        (
            "floating", {"<axis xyz='0 0 1'/>": LIMIT}, {},
            "joint `j_right`: type floating has no axis for `limit`; remove it",
        ),
        ("planar", {"'0 0 1'": "'0 0 0'"}, {}, "got an axis of zero length, expected the normal of the plane"),
        ("continuous", {'"right_arm"': '"base"'}, {}, "link `base` is not the root"),
        (
            "continuous", {'value="7.0"': 'value="0"', MOMENTS: NO_MOMENTS}, {"floating": True},
            "link `root` is the root and has no mass, which a free base needs",
        ),
        (
            "planar", {}, {"side": {"links": {"right": {"beam": BEAM}}}},
            "link `right` is a beam on a planar joint, whose axes it would turn",
        ),
    ],
)  # fmt: skip
def test_wrong_trees_are_refused_by_name(
    kind: str, changes: dict[str, str], options: dict[str, Any], words: str
) -> None:  # fmt: skip
    text = TREE.replace("MIDDLE", kind)
    for old, new in changes.items():
        assert old in text
        text = text.replace(old, new)
    with pytest.raises(ModelError, match=words) as caught:
        from_urdf(Robot, text, **{"side": {}, **options})
    assert "\n" not in str(caught.value)


def test_the_command_line_lets_a_root_float(tmp_path: Path) -> None:
    path = tmp_path / "tree.urdf"
    path.write_text(TREE.replace("MIDDLE", "continuous"))
    assert load(path, floating=True).base.is_free
    assert not load(path).base.is_free
    result = CliRunner().invoke(app, ["info", str(path), "--floating", "--json"])
    assert result.exit_code == 0, result.output
    assert "base.qw" in result.output
    robot = load(path)
    robot.save(tmp_path / "tree.yaml")
    assert load(tmp_path / "tree.yaml") == robot
    assert isinstance(robot, Robot)
    with pytest.raises(ModelError, match="`floating` are for URDF files"):
        load("two-link", floating=True)
