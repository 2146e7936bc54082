"""Coordinates and speeds that differ in number: states in friendly forms, local derivatives, control, scenarios."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import flyers
from flyers import displaced, satellite, states
from pliant import Scenario, simulate
from pliant.analysis import run_sensitivity
from pliant.control import LQR, PD, ComputedTorque
from pliant.errors import ModelError, UnsupportedModel
from pliant.model import read_state


@pytest.fixture(scope="module")
def model():
    return satellite().model(stiffening="off")


@pytest.fixture(scope="module")
def small():
    """Free base and one joint, rigid."""
    return flyers.small(ball=False)


def test_names_and_sizes(model) -> None:
    assert model.n == model.n_v == len(model.speeds) == model.n_q - 2
    assert model.coordinates[:7] == ("base.x", "base.y", "base.z", "base.qw", "base.qx", "base.qy", "base.qz")
    assert model.coordinates[7:10] == ("upper", "fore", "camera.qw")
    assert [body.name for body in model.robot.bodies] == [link.name for link in model.chain.links]
    assert model.speeds[:6] == ("base.wx", "base.wy", "base.wz", "base.vx", "base.vy", "base.vz")
    assert model.joints == ("upper", "fore", "camera.wx", "camera.wy", "camera.wz")


def test_poses_in_friendly_forms(model) -> None:
    turn = Rotation.from_euler("ZYX", [0.4, -0.2, 0.3])
    quaternion = turn.as_quat(scalar_first=True)
    place = [1.0, 2.0, 3.0]
    forms = (
        {"position": place, "rpy": [0.3, -0.2, 0.4]},
        {"position": place, "quaternion": 5 * quaternion},
        {"position": place, "rotation": turn.as_matrix()},
    )
    for form in forms:
        q = read_state(model, {"base": form, "upper": 0.7})
        assert np.allclose(q[:3], place)
        assert np.allclose(q[3:7], quaternion, atol=1e-14)
        assert np.allclose(model.pose(q, frame="base")[:3, :3], turn.as_matrix(), atol=1e-14)
    ball = read_state(model, {"camera": quaternion})
    assert np.allclose(ball[model.index("camera.qw") :][:4], quaternion)
    qd = read_state(model, {"base": {"linear": [1, 2, 3]}, "camera": {"angular": [4, 5, 6]}, "fore": 7}, "qd")
    assert qd[3:6].tolist() == [1, 2, 3]
    assert qd[[model.speed_index(f"camera.w{x}") for x in "xyz"]].tolist() == [4, 5, 6]
    assert qd[model.speed_index("fore.motor")] == 7


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"base": {"quaternion": [0, 0, 0, 0]}}, "zero length"),
        ({"base": {"rotation": np.ones((3, 3))}}, "no rotation"),
        ({"base": {"rpy": [0, 0, 0], "quaternion": [1, 0, 0, 0]}}, "one turn at most"),
        ({"base": {"place": [0, 0, 0]}}, "expected position"),
        ({"camera": {"position": [0, 0, 0]}}, "expected rpy"),
        ({"base": {"position": [0, 0]}}, "shape"),
        ({"base": {"position": [0, 0, np.nan]}}, "finite"),
        (np.zeros(22), "zero length"),
        (np.zeros(5), "expected .22,.: base.x"),
    ],
)
def test_bad_poses_are_refused_in_one_line(model, given, words: str) -> None:
    with pytest.raises(ModelError, match=words) as caught:
        read_state(model, given)
    assert "\n" not in str(caught.value)


def test_slopes_are_those_of_local_displacements(rng) -> None:
    """d/dt of a displacement from a motion is what A11 and the speeds say, and that of the speeds what A21 does."""
    model = flyers.small(gravity=(0.3, 0.2, -1.0)).model()
    q, qd = states(model, rng)
    tau = rng.normal(size=model.n_joints)
    A = model.linearize(q, qd, tau).A
    n, h = model.n, 1e-5
    for k in rng.choice(n, 6, replace=False):
        e = np.eye(n)[k]
        ahead, behind = (model.forward_dynamics(displaced(model, q, s * h * e), qd, tau) for s in (1, -1))
        slope = (ahead - behind) / (2 * h)
        assert np.abs(slope - A[n:, k]).max() < 1e-6 * np.abs(A[n:, :n]).max()
    # two motions beside each other: exp(-d) of the one from the other, after a short time
    v, dt = rng.normal(size=n), 1e-4
    step = 1e-6 * v
    there = displaced(model, displaced(model, q, step), dt * qd)
    here = displaced(model, q, dt * qd)
    predicted = step + dt * A[:n, :n] @ step
    assert np.abs(displaced(model, here, predicted) - there).max() < 1e-2 * np.abs(dt * A[:n, :n] @ step).max()
    assert np.abs(displaced(model, here, step) - there).max() > 0.1 * np.abs(dt * A[:n, :n] @ step).max()


def test_joints_on_a_free_base_follow_a_reference(small) -> None:
    for law in (PD(40.0, 9.0, [0.8]), ComputedTorque(16.0, 8.0, [0.8])):
        run = simulate(small.model(), 4.0, q0={"base": {"rpy": [0.3, 0.2, 1.0]}}, controller=law)
        assert abs(run["arm"][-1] - 0.8) < 0.02
        assert np.abs(run.q[-1, 4:7] - run.q[0, 4:7]).max() > 0.01  # the base gives way


def test_what_needs_rates_of_coordinates_says_so(small, model) -> None:
    with pytest.raises(UnsupportedModel, match="quaternion"):
        LQR([0.0], 1.0, 1.0).bind(small.model())
    with pytest.raises(ModelError, match=r"camera\.wx is a speed without a position"):
        PD(1.0, 1.0, np.zeros(5)).bind(model).expression(0.0, np.zeros(22), np.zeros(20))


def test_a_run_knows_how_its_end_hangs_on_numbers_of_the_base(small) -> None:
    paths = ["base.mass", "base.inertia.1"]
    model = small.model(parameters=paths)
    spin = np.array([0.3, 1.2, 0.4, 0.1, 0.0, 0.2, 0.9])

    def reach(t, q, qd):
        return q[:3]

    found = run_sensitivity(model, reach, 1.0, qd0=spin)

    def at(changes: dict[str, float]):
        return simulate(small.replace(changes).model(), 1.0, qd0=spin, rtol=1e-11, atol=1e-13).q[-1, :3]

    for k, (path, value) in enumerate({"base.mass": 3.0, "base.inertia.1": 0.9}.items()):
        slope = (at({path: value * 1.001}) - at({path: value * 0.999})) / (0.002 * value)
        assert np.abs(found.gradient[:, k] - slope).max() < 1e-6


def test_a_scenario_gives_poses(small, tmp_path) -> None:
    small.save(tmp_path / "small.yaml")
    text = """
robot: small.yaml
duration: 0.1
initial:
  q: {base: {position: [0, 0, 1], rpy: [0, 0, 90 deg]}, arm: 0.2}
  qd: {base: {angular: [0, 0, 0.5]}}
"""
    (tmp_path / "run.yaml").write_text(text)
    run = Scenario.load(tmp_path / "run.yaml").run()
    assert np.allclose(run.q[0, :8], [0, 0, 1, np.sqrt(0.5), 0, 0, np.sqrt(0.5), 0.2])
    assert run.qd[0, 2] == 0.5


def test_a_base_without_inertia_is_told_what_to_do() -> None:
    with pytest.raises(ModelError, match=r"base\.w.: .* give the free base an inertia"):
        flyers.small(ball=False, base={"type": "free", "mass": 3.0}).model()
