"""`robot.to_urdf()`: read back, it is the rigid skeleton, whatever its links and joints are made of."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pytest

import pliant
from arms import MECHANISMS, sampled
from pliant import Robot, UnsupportedModel
from trees import random_tree

QUICK = ("lab-arm",)
OPEN = [arm for arm in pliant.robot.arms() if arm not in MECHANISMS]
ARMS = [pytest.param(arm, marks=() if arm in QUICK else pytest.mark.full) for arm in OPEN]


def rigid(robot: Robot) -> Robot:
    """The robot without amplitudes and drives: what URDF can hold of it."""
    links = []
    for link in robot.links:
        axes = tuple(axis.model_copy(update={"drive": None}) for axis in link.joint.axes)
        joint = link.joint.model_copy(update={"drive": None, "axes": axes})
        body = None if link.body is None else link.body.model_copy(update={"modes": 0})
        links.append(link.model_copy(update={"shapes": None, "joint": joint, "body": body}))
    return Robot.from_dict(robot.model_copy(update={"links": tuple(links)}).to_dict())


def written(robot: Robot) -> dict[str, str]:
    """Names of the coordinates and speeds of a robot in what is read back: those of the joints, which have no dots."""
    free = [freedom.name(body.name) for body in robot.bodies for freedom in body.joint.freedoms]
    return {name: name.replace(".", "_") for name in free}


def compared(robot: Robot, again: Robot, seed: int) -> float:
    """Largest difference of inertia matrices and of accelerations at random states, which bias, gravity and friction
    make, over the largest entry."""
    one, two = (arm.model("denoc", stiffening="off") for arm in (robot, again))
    rng, names = np.random.default_rng(seed), written(robot)
    at, of, driven = (
        [theirs.index(names.get(name, name)) for name in ours]
        for ours, theirs in zip(*((m.coordinates, m.speeds, m.joints) for m in (one, two)))
    )
    worst = 0.0
    for _ in range(3):
        q, qd = rng.normal(size=one.n_q), rng.normal(size=one.n)
        for link in one.chain.links:
            if link.joint.is_ball:
                quaternion = list(link.joint_places[-4:])
                q[quaternion] /= np.linalg.norm(q[quaternion])
        q = np.where(["slide" in name for name in one.coordinates], np.abs(q) + 0.3, q)
        p, pd = np.zeros(two.n_q), np.zeros(two.n)
        p[at], pd[of] = q, qd
        tau, turned = rng.normal(size=one.n_joints), np.zeros(two.n_joints)
        turned[driven] = tau
        pairs = [
            (one.mass_matrix(q), two.mass_matrix(p)[np.ix_(of, of)]),
            (one.forward_dynamics(q, qd, tau), two.forward_dynamics(p, pd, turned)[of]),
        ]
        worst = max(worst, *(float(np.abs(a - b).max() / np.abs(a).max()) for a, b in pairs))
    return worst


@pytest.mark.parametrize("arm", ARMS)
def test_read_back_it_is_the_rigid_skeleton(arm: str) -> None:
    robot = pliant.load(arm)
    again = pliant.load(robot.to_urdf())
    assert not any(link.bends for link in again.links)
    assert again.gravity == robot.gravity
    assert compared(rigid(robot), again, 1) <= 1e-12


@pytest.mark.parametrize("seed", sampled(range(12), 1))
def test_trees_of_any_joints(seed: int) -> None:
    robot = rigid(random_tree(seed, flying=seed % 3 == 0))
    if any(link.joint.type == "spherical" for link in robot.links):
        with pytest.raises(UnsupportedModel, match=r"link `\w+` has a spherical joint"):
            robot.to_urdf()
        return
    again = pliant.load(robot.to_urdf())
    assert compared(robot, again, seed) <= 1e-12


def test_what_urdf_holds_and_what_is_told(tmp_path: Path) -> None:
    """Limits and friction come back, others are told; curved beams and offset sections are where they are."""
    friction = {"viscous": 0.4, "coulomb": 0.2, "bristle": 0}
    limits = {"lower": -0.5, "upper": 1.5, "speed": 2.0, "effort": 30.0}
    section = {
        "shape": "rectangle",
        "width": 0.05,
        "height": 0.08,
        "offset": [0.01, -0.02],
        "rotation": 0.3,
    }
    channel = {"length": 0.9, "material": "steel", "section": section}
    hook = {"length": 0.7, "mass_per_length": 2.0, "polar_inertia": 0.01, "curvature": [0.4, 1.1], "pieces": 3}
    robot = Robot.from_dict(
        {
            "format": 1, "name": "<all> & \"sundry\" -- of it", "gravity": [0.1, -9.7, 0.3],
            "links": [
                {"name": "world", "joint": {"limits": limits, "friction": friction}, "beam": channel},
                {"name": "hook", "joint": {"type": "prismatic", "axis": [0, 1, 0], "limits": {"lower": -0.2},
                 "drive": {"rotor_inertia": 0.01, "gear_ratio": 50}}, "beam": hook, "tip": {"mass": 0.5}},
            ],
            "frames": [{"name": "eye", "link": "world", "x": 0.3, "origin": {"xyz": [0, 0, 0.1]}}],
        }
    )  # fmt: skip
    path = robot.to_urdf(tmp_path / "all.urdf")
    assert Path(path).read_text() == robot.to_urdf()
    again = pliant.load(path)
    assert compared(rigid(robot), again, 3) <= 1e-12
    first, hung = again.link("world").joint, again.link("hook").joint
    assert first.limits == robot.links[0].joint.limits
    assert (first.friction.viscous, first.friction.coulomb) == (0.4, 0.2)
    assert hung.limits is not None
    assert (hung.limits.lower, hung.limits.upper, hung.limits.speed) == (-0.2, None, None)
    q = np.array([0.3, 0.1])
    ours, theirs = (arm.model(stiffening="off").pose(q, frame=f) for arm, f in ((robot, "eye"), (again, "eye.root")))
    for a, b in zip(ours, theirs):
        np.testing.assert_allclose(a, b, atol=1e-12)
    head = Path(path).read_text().split("<robot")[0]
    assert "joint hook: its drive, rotor_inertia 0.01 kg m^2 (kg) behind gear_ratio 50.0" in head
    assert all(word in head for word in ("bristle", "gravity", "limits that are not given"))
    assert ET.parse(path).getroot().get("name") == robot.name


def test_text_is_read_as_a_file_is() -> None:
    text = pliant.load("two-link").to_urdf()
    assert pliant.load("\n " + text) == pliant.load(text)
    with pytest.raises(pliant.ModelError, match="URDF text: line 1: not valid XML"):
        pliant.load("<robot")


def test_a_moment_about_one_axis_alone_is_read_as_a_rotor() -> None:
    """What no body has, a wheel of a description has; a moment too large beside others is still refused."""
    robot = pliant.Robot(name="wheel", links=[pliant.Link.wheel("wheel", axis=[1, 2, 2], inertia=0.3, mass=2.0)])
    again = pliant.load(robot.to_urdf())
    assert compared(robot, again, 5) <= 1e-12
    bad = pliant.load("two-link").to_urdf().replace('ixx="0.0" iyy="', 'ixx="0.1" iyy="7')
    with pytest.raises(pliant.ModelError, match="triangle inequality"):
        pliant.load(bad)
