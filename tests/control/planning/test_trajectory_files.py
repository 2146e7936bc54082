"""Joint trajectories in files: tables and the text form of ROS, in and out, and what is wrong with them."""

from __future__ import annotations

import numpy as np
import pytest

from pliant import ModelError
from pliant.planning import JointMotion, read_trajectory

T = np.array([0.0, 0.25, 1.0])
Q = np.array([[0.1, -2.0], [0.25, 1e-7], [1.5, 3.0]])


@pytest.fixture
def motion() -> JointMotion:
    return JointMotion(("a", "b_joint"), T, Q, 2 * Q, 3 * Q, 4 * Q)


def test_there_and_back(motion, tmp_path) -> None:
    ros = read_trajectory(motion.to_ros(tmp_path / "m.yaml"))
    assert ros.joints == motion.joints
    for name in ("t", "q", "qd", "qdd", "tau"):
        np.testing.assert_allclose(getattr(ros, name), getattr(motion, name), rtol=1e-9, atol=1e-12)
    table = read_trajectory(motion.to_csv(tmp_path / "m.csv"))
    np.testing.assert_allclose(table.q, Q, rtol=1e-11)
    np.testing.assert_allclose(table.t, T)
    assert table.qd is None
    head = (tmp_path / "m.csv").read_text().splitlines()[0]
    assert head.split(",")[:5] == ["time", "a", "b_joint", "a.rate", "b_joint.rate"]


POINT = "{positions: [0.0, 1.0], time_from_start: {sec: 0, nanosec: 0}}"


def ros(points: str, names: str = "[a, b]") -> str:
    return f"joint_names: {names}\npoints:\n" + "".join(f"- {p}\n" for p in points.split("\n"))


def test_other_forms(tmp_path) -> None:
    file = tmp_path / "plan.yaml"
    file.write_text("joint_trajectory:\n  joint_names: [a]\n  points:\n"
                    "  - {positions: [0.0], velocities: [], time_from_start: {secs: 1, nsecs: 500000000}}\n"
                    "  - {positions: [2.0], time_from_start: 2.0}\n---\n")  # fmt: skip
    found = read_trajectory(file)
    np.testing.assert_allclose(found.t, [0.0, 0.5])  # counted from the first point
    assert found.qd is None
    np.testing.assert_allclose(found.at(np.array([0.25]))[0], [1.0])


def test_rates_are_used() -> None:
    flat = JointMotion(("a",), np.array([0.0, 1.0]), np.array([[0.0], [1.0]]), np.array([[1.0], [1.0]]))
    np.testing.assert_allclose(flat.at(np.array([0.25, 0.5])), [[0.25], [0.5]])
    given = JointMotion(
        ("a",), flat.t, flat.q, np.zeros((2, 1)), np.zeros((2, 1))
    )  # a quintic: 10 s^3 - 15 s^4 + 6 s^5
    np.testing.assert_allclose(given.at(np.array([0.25])), [[10 / 64 - 15 / 256 + 6 / 1024]])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "expected a JointTrajectory with"),
        ("- 1\n- 2", "expected a JointTrajectory with"),
        ("joint_names: [a\n", "line 1, column 16: not valid YAML"),
        (ros(POINT), "list of two points at least"),
        (ros(f"{POINT}\n{POINT}"), "times must rise: point 2 is at 0 s, the one before at 0 s"),
        (ros(f"{POINT}\n{{positions: [1.0], time_from_start: 1}}"), r"line 4: points\[1\]: positions: got \[1.0\]"),
        (ros(f"{POINT}\n{{positions: [1.0, x], time_from_start: 1}}"), "expected 2 finite numbers, one per joint"),
        (ros(f"{POINT}\n{{positions: [1.0, 2.0], time_from_strt: 1}}"), "did you mean `time_from_start`"),
        (ros(f"{POINT}\n{{positions: [1.0, 2.0], time_from_start: soon}}"), "got 'soon', expected seconds"),
        (ros(f"{POINT}\n{{positions: [1, 2], velocities: [1, 2], time_from_start: 1}}"), "has no velocities"),
        (ros(f"{POINT}\n{POINT}", "[a, a]"), "expected a list of different names"),
        (f"names: [a]\n{ros(POINT)}", "unknown key `names`, did you mean `joint_names`"),
    ],
)
def test_what_is_wrong_in_a_message(text: str, message: str, tmp_path) -> None:
    file = tmp_path / "move.yaml"
    file.write_text(text)
    with pytest.raises(ModelError, match=message):
        read_trajectory(file)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("times,a\n0,1\n1,2\n", "no column `time`, did you mean `times`"),
        ("time,a.rate\n0,1\n1,2\n", "no column of a joint"),
        ("time,a\n0,1\n1,2\n0.5,3\n", "times must rise: point 3 is at 0.5 s, the one before at 1 s"),
        ("time,a\n0,1\n", "got 1 points, expected two"),
        ("time,a\n0,1\n1,x\n", "line 3, column `a`"),
    ],
)
def test_what_is_wrong_in_a_table(text: str, message: str, tmp_path) -> None:
    file = tmp_path / "move.csv"
    file.write_text(text)
    with pytest.raises(ModelError, match=message):
        read_trajectory(file)
