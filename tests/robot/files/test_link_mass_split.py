"""Links of a URDF file as beams: mass, center and inertia stay those of the file; the lump rides where it bends."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.linalg import eigh

from pliant import ModelError, Robot, load
from pliant.robot import FORMULATIONS
from pliant.robot.mass_sum import MassSum
from pliant.robot.skeleton import joined, skeleton

FULL = 'ixx="0.09" iyy="0.25" izz="0.28" ixy="0.02" ixz="-0.015" iyz="0.01"'
ARM = f"""<robot name="arm">
  <link name="ground"/>
  <link name="one"><inertial><origin xyz="0.25 0.04 -0.06" rpy="0.2 -0.1 0.3"/><mass value="6"/>
    <inertia {FULL}/></inertial></link>
  <link name="two"><inertial><origin xyz="0.03 0.05 0.31" rpy="-0.3 0.2 0.5"/><mass value="4"/>
    <inertia ixx="0.17" iyy="0.16" izz="0.05" ixy="-0.012" ixz="0.02" iyz="0.015"/></inertial></link>
  <link name="camera"><inertial><origin xyz="0.02 0.03 -0.04"/><mass value="0.7"/>
    <inertia ixx="0.003" iyy="0.004" izz="0.002" ixy="0.0003" ixz="0" iyz="-0.0002"/></inertial></link>
  <link name="three"><inertial><origin xyz="-0.02 0.2 0.03"/><mass value="2.5"/>
    <inertia ixx="0.05" iyy="0.02" izz="0.055" ixy="0.004" ixz="-0.003" iyz="0.006"/></inertial></link>
  <link name="tool"><inertial><origin xyz="0.01 0.02 0.05"/><mass value="0.8"/>
    <inertia ixx="0.004" iyy="0.003" izz="0.002" ixy="0" ixz="0.0004" iyz="0"/></inertial></link>
  <joint name="j1" type="continuous"><parent link="ground"/><child link="one"/>
    <origin xyz="0.1 0 0.4" rpy="0.3 -0.2 0.1"/><axis xyz="0 0.6 0.8"/></joint>
  <joint name="j2" type="continuous"><parent link="one"/><child link="two"/>
    <origin xyz="0.62 0.1 -0.05" rpy="-0.4 0.5 0.2"/><axis xyz="0 1 0"/></joint>
  <joint name="jc" type="fixed"><parent link="two"/><child link="camera"/>
    <origin xyz="-0.06 0.07 0.5" rpy="0.2 0.4 0"/></joint>
  <joint name="j3" type="continuous"><parent link="two"/><child link="three"/>
    <origin xyz="0.02 -0.05 0.71" rpy="0.1 0.7 -0.3"/><axis xyz="1 0 0"/></joint>
  <joint name="j4" type="fixed"><parent link="three"/><child link="tool"/>
    <origin xyz="0.03 0.45 0.02" rpy="0.5 0.1 0"/></joint>
</robot>"""
"""Centers beside every axis, full inertia tensors, a branch and a tool."""
PANDA = """<robot name="elbow"><link name="ground"/><link name="link5"/>
  <link name="link4"><inertial><origin xyz="-5.317e-02 1.04419e-01 2.7454e-02"/><mass value="3.587895"/>
    <inertia ixx="2.5853e-02" iyy="1.9552e-02" izz="2.8323e-02" ixy="7.796e-03" ixz="-1.332e-03" iyz="8.641e-03"/>
  </inertial></link>
  <joint name="joint4" type="revolute"><parent link="ground"/><child link="link4"/>
    <origin rpy="1.5707963267948966 0 0"/><axis xyz="0 0 1"/>
    <limit lower="-3.07" upper="-0.07" effort="87" velocity="2.2"/></joint>
  <joint name="joint5" type="fixed"><parent link="link4"/><child link="link5"/>
    <origin xyz="-0.0825 0.384 0" rpy="-1.5707963267948966 0 0"/></joint></robot>"""
BESIDE = f"""<robot name="beside"><link name="ground"/><link name="tool"/>
  <link name="rod"><inertial><origin xyz="0.4 0.06 0"/><mass value="4"/><inertia {FULL}/></inertial></link>
  <joint name="j" type="continuous"><parent link="ground"/><child link="rod"/><axis xyz="1 0 0"/></joint>
  <joint name="e" type="fixed"><parent link="rod"/><child link="tool"/><origin xyz="0.8 0 0"/></joint></robot>"""
STIFF = {"EI_y": 900.0, "EI_z": 700.0, "GJ": 500.0}
BENDS = {"bending_y": 1, "bending_z": 1, "torsion": 1}


def made(text: str, *names: str, beam: dict[str, Any] = STIFF, chain: str | None = None, **extra: Any) -> Robot:
    """The arm with some links as beams; one at which the chain ends is as long as it is with its tool."""
    links: dict[str, Any] = {name: {"beam": beam, "shapes": BENDS, **extra} for name in names}
    if chain == "three":
        links["three"] |= {"beam": {**beam, "length": 0.45}, "along": [0.03, 0.45, 0.02]}
    return load(text, flexible={"links": links}, tip=chain)


def rigid(robot: Robot) -> Robot:
    return robot.replace({f"links.{link.name}.shapes": None for link in robot.links if link.shapes is not None})


def whole(robot: Robot) -> MassSum:
    """All mass about the origin of the base, joints at zero."""
    poses, total = [], MassSum.nothing()
    for bone in skeleton(robot).bones:
        poses.append(bone.pose if bone.parent is None else joined(poses[bone.parent], bone.pose))
        total = total + bone.mass.moved(*poses[-1])
        for _, carried in bone.carried:
            total = total + carried.moved(*joined(poses[-1], bone.tip))
    return total


def same_mass(found: Robot, expected: Robot) -> None:
    """To rounding: sums of a few dozen terms of this size."""
    one, two = whole(found), whole(expected)
    for a, b in ((one.m, two.m), (one.s, two.s), (one.I, two.I)):
        np.testing.assert_allclose(a, b, rtol=0.0, atol=1e-12 * (1.0 + np.abs(b).max()))


@pytest.mark.parametrize("tip", [None, "tool", "three"])
def test_a_rigid_arm_moves_as_pinocchio_says(tip: str | None) -> None:
    """Three asymmetric links as beams that do not bend, with a branch that is kept or lumped, a tool or none."""
    arm = made(ARM, "one", "two", "three", chain=tip)
    same_mass(arm, load(ARM, tip=tip))
    pin = pytest.importorskip("pinocchio", reason="pinocchio (extra bench) is not installed")
    model, theirs = rigid(arm).model(), pin.buildModelFromXML(ARM)
    if tip == "three":  # without the tool, which is lumped onto the last beam
        assert arm.links[-1].name == "three_end"
        assert [link.name for link in arm.links].count("tool") == 1
    data, rng = theirs.createData(), np.random.default_rng(3)
    for _ in range(5):
        a, v, tau = rng.uniform(-3, 3, 3), rng.normal(size=3), 5 * rng.normal(size=3)
        q = np.column_stack([np.cos(a), np.sin(a)]).ravel()
        # accelerations are some 100 rad/s^2: rounding of both, times the condition of M
        np.testing.assert_allclose(model.forward_dynamics(a, v, tau), pin.aba(theirs, data, q, v, tau), rtol=1e-9)


@pytest.mark.parametrize(
    ("text", "name", "q", "torque"), [(PANDA, "link4", 0.0, -1.8713), (BESIDE, "rod", 0.0, 4 * 9.81 * 0.06)]
)
def test_a_center_beside_the_axis_weighs(text: str, name: str, q: float, torque: float) -> None:
    """The torque that holds the weight, m g times the arm of the center in the file."""
    arm, stiff = made(text, name), load(text)
    assert rigid(arm).model().holding_torque([q])[0] == pytest.approx(torque, rel=1e-4)
    assert rigid(arm).model().holding_torque([q])[0] == pytest.approx(stiff.model().holding_torque([q])[0], rel=1e-12)
    same_mass(arm, stiff)


def test_formulations_files_and_exports_keep_it(tmp_path: Any) -> None:
    arm, stiff = made(ARM, "one", "two", "three", chain="three"), load(ARM, tip="three")
    arm.save(tmp_path / "arm.yaml")
    assert load(tmp_path / "arm.yaml") == arm
    same_mass(load(arm.to_urdf()), stiff)
    q = np.append([0.3, -0.2, 0.5], np.zeros(9))  # bent, the dual screws have rotations of first order
    M = [arm.model(name, stiffening="off").mass_matrix(q) for name in ("denoc", "dual-screw", "gibbs-appell")]
    for other in M[1:]:
        np.testing.assert_allclose(other, M[0], atol=1e-12 * np.abs(M[0]).max())
    u = np.array([0.03, 0.45, 0.02]) / np.linalg.norm([0.03, 0.45, 0.02])
    loaded = arm.replace({"payload.mass": 2.0})
    assert loaded.carried(len(arm.links) - 1)[0].mass == 2.0
    end = rigid(arm).model().tip_pose(np.zeros(3))[:3, 3]  # the end of the beam, not of its lump
    there = stiff.model().pose(np.zeros(3), frame="three.root") @ [*0.45 * np.array(u), 1.0]
    np.testing.assert_allclose(end, there[:3], atol=1e-12)


def _fine(L: float, beam: Any, x: float, lump: MassSum, count: int) -> np.ndarray:
    """Frequencies, Hz, of a clamped beam of `count` Hermite elements of each plane, linear ones of torsion, whose node
    at `x` carries a rigid body (about that node): written out from textbooks."""
    n = 5 * (count + 1)  # v, theta_z, w, theta_y, phi of every node
    edges = np.sort(np.append(np.linspace(0, L, count), x))
    M, K = np.zeros((n, n)), np.zeros((n, n))
    j, (j_y, j_z), mu = beam.polar_inertia, beam.rotary, beam.mass_per_length
    for e, h in enumerate(np.diff(edges)):
        k = np.array([[12, 6 * h, -12, 6 * h], [6 * h, 4 * h * h, -6 * h, 2 * h * h],
                      [-12, -6 * h, 12, -6 * h], [6 * h, 2 * h * h, -6 * h, 4 * h * h]]) / h**3  # fmt: skip
        m = h / 420 * np.array([[156, 22 * h, 54, -13 * h], [22 * h, 4 * h * h, 13 * h, -3 * h * h],
                                [54, 13 * h, 156, -22 * h], [-13 * h, -3 * h * h, -22 * h, 4 * h * h]])  # fmt: skip
        r = np.array([[36, 3 * h, -36, 3 * h], [3 * h, 4 * h * h, -3 * h, -h * h],
                      [-36, -3 * h, 36, -3 * h], [3 * h, -h * h, -3 * h, 4 * h * h]]) / (30 * h)  # fmt: skip
        turned = np.diag([1, -1, 1, -1])  # theta_y = -w'
        at = 5 * e + np.arange(10)
        for first, EI, spin, T in ((0, beam.EI_z, j_z, np.eye(4)), (2, beam.EI_y, j_y, turned)):
            rows = np.ix_(at[[first, first + 1, first + 5, first + 6]], at[[first, first + 1, first + 5, first + 6]])
            K[rows] += EI * T @ k @ T
            M[rows] += T @ (mu * m + spin * r) @ T
        rows = np.ix_(at[[4, 9]], at[[4, 9]])
        K[rows] += beam.GJ / h * np.array([[1, -1], [-1, 1]])
        M[rows] += j * h / 6 * np.array([[2, 1], [1, 2]])
    # the body: velocity of its center is v + omega x c, of [v, theta_z, w, theta_y, phi]
    m, c, inertia = lump.about_com()
    omega = np.array([[0, 0, 0, 0, 1], [0, 0, 0, 1, 0], [0, 1, 0, 0, 0]], dtype=float)
    cross = np.array([[0, -c[2], c[1]], [c[2], 0, -c[0]], [-c[1], c[0], 0]])
    velocity = np.array([[0, 0, 0, 0, 0], [1, 0, 0, 0, 0], [0, 0, 1, 0, 0]], dtype=float) - cross @ omega
    node = 5 * int(np.argmin(np.abs(edges - x))) + np.arange(5)
    M[np.ix_(node, node)] += m * velocity.T @ velocity + omega.T @ inertia @ omega
    return np.sqrt(eigh(K[5:, 5:], M[5:, 5:], eigvals_only=True)) / (2 * np.pi)


def test_the_lump_twists_its_beam() -> None:
    """Bending and torsion coupled by the center beside the axis, against finite elements of our own."""
    elements = {"method": "elements", "count": 10, "bending_y": 1, "bending_z": 1, "torsion": 1}
    arm = made(BESIDE, "rod", beam={**STIFF, "GJ": 90.0}, shapes=elements)
    rod, lump = arm.link("rod"), arm.link("rod_lump")
    body = MassSum.lump(lump.rigid)
    expected = _fine(rod.beam.length, rod.beam, lump.at.x, body, 24)[:5]
    found = arm.model(stiffening="off").frequencies()[:5]
    # the twist has a kink at the lump, which a linear element that spans it does not follow: 0.33 % in the fourth
    np.testing.assert_allclose(found, expected, rtol=5e-3)
    centered = MassSum(body.m, np.zeros(3), body.I)
    assert abs(_fine(rod.beam.length, rod.beam, lump.at.x, centered, 24)[0] / expected[0] - 1) > 0.01


@pytest.mark.full
def test_all_formulations_accelerate_it_alike() -> None:
    arm = made(ARM, "one", "three", chain="three")
    q, v = np.linspace(-0.3, 0.04, arm.model().n), np.linspace(0.3, -0.2, arm.model().n)
    names = [name for name in FORMULATIONS if name != "dual-screw"]  # which has rotations of first order
    found = [arm.model(name, stiffening="off").forward_dynamics(q, v, [1.0, 2.0, -3.0]) for name in names]
    for other in found[1:]:
        np.testing.assert_allclose(other, found[0], rtol=1e-7, atol=1e-7 * np.abs(found[0]).max())


def cylinder(mass: float, length: float, radius: float) -> str:
    along, across = mass * radius**2 / 2, mass * (length**2 / 12 + radius**2 / 4)
    return f'ixx="{along!r}" iyy="{across!r}" izz="{across!r}" ixy="0" ixz="0" iyz="0"'


def test_a_uniform_link_is_all_beam() -> None:
    """A cylinder along the beam needs no lump; half of its mass given, the rest rides in its middle."""
    text = BESIDE.replace("0.4 0.06 0", "0.4 0 0").replace(FULL, cylinder(4.0, 0.8, 0.03))
    arm = made(text, "rod")
    beam = arm.link("rod").beam
    assert [link.name for link in arm.links] == ["rod", "tool"]
    assert beam.mass_per_length == pytest.approx(5.0, rel=1e-14)
    assert beam.polar_inertia == pytest.approx(5.0 * 0.03**2 / 2, rel=1e-12)
    assert beam.rotary == pytest.approx((5.0 * 0.03**2 / 4,) * 2, rel=1e-10)
    same_mass(arm, load(text))
    half = made(text, "rod", beam={**STIFF, "mass_per_length": 2.5})
    assert half.link("rod").beam.mass_per_length == 2.5
    assert half.link("rod_lump").rigid.mass == pytest.approx(2.0, rel=1e-14)
    assert half.link("rod_lump").at.x == pytest.approx(0.4, rel=1e-12)
    same_mass(half, load(text))


def test_hub_and_tip_of_the_side_file_are_parts_of_the_link() -> None:
    lumps = {"hub": {"mass": 0.5, "inertia": [1e-3, 2e-3, 2e-3]}, "tip": {"mass": 0.3, "com": [0.0, 0.02, 0.0]}}
    arm = made(BESIDE, "rod", beam={**STIFF, "polar_inertia": 0.003}, **lumps)
    rod = arm.link("rod")
    assert (rod.joint.hub.mass, rod.tip.mass, rod.beam.polar_inertia, rod.beam.rotary) == (0.5, 0.3, 0.003, None)
    same_mass(arm, load(BESIDE))


@pytest.mark.parametrize(
    ("old", "new", "side", "words"),
    [
        (
            "",
            "",
            {"beam": {**STIFF, "mass_per_length": 6.0}},
            "4 kg and its beam 4.8 kg .* the rest of -0.8 kg .* at mo",
        ),
        ("", "", {"beam": {**STIFF, "mass_per_length": 4.9}}, r"the rest of 0.08 kg .* at most 3\.\d+ kg/m"),
        ("", "", {"hub": {"mass": 3.0}, "tip": {"mass": 1.5}}, "has -0.5 kg without the `hub` and `tip`"),
        (FULL, 'ixx="0" iyy="0" izz="0" ixy="0" ixz="0" iyz="0"', {}, "could carry at most .* kg: its center is at"),
        ("0.4 0.06", "0.9 0.06", {}, "center of mass at 0.9 m along the beam of 0.8 m, not within"),
        ('value="4"', 'value="0"', {}, "has no mass in this file; give its beam `mass_per_length`"),
        (
            "",
            "",
            {"beam": {**STIFF, "length": 0.8, "curvature": [0.0, 0.4]}},
            "curved beam, whose mass is on no straight line",
        ),
        ("", "", {"beam": {**STIFF, "slides": True, "total_length": 1.0}}, "0.06 m beside the axis of its beam"),
    ],
)
def test_contradictions_are_told_with_numbers(old: str, new: str, side: dict[str, Any], words: str) -> None:
    with pytest.raises(ModelError, match=words):
        made(BESIDE.replace(old, new, 1), "rod", **side)


def test_a_link_without_mass_takes_that_of_the_side_file() -> None:
    text = BESIDE.replace('value="4"', 'value="0"').replace(FULL, 'ixx="0.1" iyy="0" izz="0" ixy="0" ixz="0" iyz="0"')
    arm = made(text, "rod", beam={**STIFF, "mass_per_length": 2.0, "polar_inertia": 0.01})
    mass = whole(arm)
    assert (mass.m, mass.s[0]) == pytest.approx((1.6, 0.64))
    assert mass.I[0, 0] == pytest.approx(0.1 + 0.01 * 0.8)  # with the rotor of the file
