"""Inverse kinematics of the flexible arm, and straight lines of its tip."""

from __future__ import annotations

import numpy as np
import pytest

import pliant
from pliant.control import TipLine, inverse_kinematics


@pytest.mark.parametrize("deflected", [True, False])
def test_the_tip_is_there(two_link, deflected: bool) -> None:
    target = np.array([1.2, -0.6, 0.0])
    joints = inverse_kinematics(two_link, target, guess=[-1.0, 1.0], deflected=deflected)
    sagged, straight = two_link.equilibrium(joints), np.concatenate([joints, [0, 0]])
    np.testing.assert_allclose(two_link.tip_pose(sagged if deflected else straight)[:3, 3], target, atol=1e-9)
    other = two_link.tip_pose(straight if deflected else sagged)[:3, 3]
    assert np.linalg.norm(other - target) > 0.01  # the sag matters here


def test_random_reachable_targets(two_link) -> None:
    rng = np.random.default_rng(7)
    for joints in rng.uniform([-3, 0.3], [0, 2.5], size=(5, 2)):
        target = two_link.tip_pose(two_link.equilibrium(joints))[:3, 3]
        found = inverse_kinematics(two_link, target, guess=joints + 0.2)
        np.testing.assert_allclose(found, joints, atol=1e-8)


def test_pose_of_a_spatial_arm() -> None:
    model = pliant.load("crane-4dof").model()
    joints = np.array([0.3, 0.6, 1.8, 0.4])
    pose = model.tip_pose(model.equilibrium(joints))
    np.testing.assert_allclose(inverse_kinematics(model, pose, guess=joints + 0.1), joints, atol=1e-8)
    with pytest.raises(pliant.ModelError, match="with a rotation"):
        inverse_kinematics(model, np.ones((4, 4)))


def test_joint_limits_are_respected() -> None:
    robot = pliant.load("two-link").to_dict()
    robot["links"][1]["joint"] = {"limits": {"lower": -3.0, "upper": 0.0}}
    model = pliant.Robot.model_validate(robot).model()
    joints = inverse_kinematics(model, [1.2, -0.6, 0.0], guess=[-1.0, 1.0], tries=80)
    assert joints[1] <= 0
    robot["links"][1]["joint"] = {"limits": {"lower": -0.1, "upper": 0.1}}
    stiff = pliant.Robot.model_validate(robot).model()
    with pytest.raises(pliant.ModelError, match="reached only beyond the joint limits"):
        inverse_kinematics(stiff, [1.2, -0.6, 0.0])


def test_straight_lines(two_link) -> None:
    corners = np.array([[1.2, -0.6, 0.0], [0.8, -1.4, 0.0], [0.5, -1.0, 0.0]])
    line = TipLine(two_link, corners, 1.0, guess=[-1.0, 1.0])
    q, qd, qdd = line(line.breaks)
    np.testing.assert_allclose(qd, 0, atol=1e-12)
    np.testing.assert_allclose(qdd, 0, atol=1e-9)
    for joints, corner in zip(q, corners):
        np.testing.assert_allclose(two_link.tip_pose(two_link.equilibrium(joints))[:3, 3], corner, atol=1e-9)
    for t in np.linspace(*line.breaks[:2], 12):
        tip = two_link.tip_pose(two_link.equilibrium(line(t)[0]))[:3, 3]
        along = (corners[1] - corners[0]) / np.linalg.norm(corners[1] - corners[0])
        away = (tip - corners[0]) - along * ((tip - corners[0]) @ along)
        assert np.linalg.norm(away) < 1e-5  # quintic spline through 21 stations of a smooth path


@pytest.mark.slow_cases("options2-out of reach")
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"points": [[1, 0, 0]], "duration": 1.0}, "points: got shape"),
        ({"points": [[1, 0, 0], [1, 0, 0]], "duration": 1.0}, "two neighbors"),
        ({"points": [[1, 0, 0], [3, 0, 0]], "duration": 1.0}, "out of reach"),
        ({"points": [[1, 0, 0], [1.2, 0, 0]], "duration": 1.0, "law": "fast"}, "law: got 'fast'"),
        ({"points": [[1, 0, 0], [1.2, 0, 0]], "duration": 1.0, "samples": 2}, "samples: got 2"),
    ],
)
def test_bad_lines(two_link, options, message: str) -> None:
    with pytest.raises(pliant.ModelError, match=message):
        TipLine(two_link, **options)
