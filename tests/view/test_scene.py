"""The drawing stands where the model says."""

from __future__ import annotations

import numpy as np
import pytest

import pliant
from pliant.view.scene import exponentials, frame_rows, make_scene, scene_of


@pytest.mark.parametrize("name", ["two-link", "lab-arm", "rrp", "puma", "canadarm2"])
def test_tip_is_the_models(name: str) -> None:
    """Rigid, flexible, sliding and driven links: the outermost frame is `tip_pose`, but for rounding."""
    model = pliant.load(name).model()
    q = model.chain.rest() + 0.05 * np.random.default_rng(1).normal(size=(7, model.n))
    scene = make_scene(model, np.arange(7.0), q)
    *_, last = scene.lines()
    np.testing.assert_allclose(last.tip, model.tip_pose(q), atol=1e-13 * scene.reach + 1e-14)


def test_stations_are_the_results(swing: pliant.Result) -> None:
    """A middle station is where `Result.deflection` has it, in the frame of its link."""
    scene = scene_of(swing)
    upper = scene.links[0]
    middle = upper.shift.shape[1] // 2
    np.testing.assert_allclose(upper.shift[:, middle], swing.deflection("upper", 0.5), atol=1e-14)
    np.testing.assert_allclose(upper.turn[:, -1], swing.rotation("upper"), atol=1e-14)


def test_rigid_ghost_has_no_deflection(swing: pliant.Result) -> None:
    """Without magnification the arm is straight and its joints stand where they do."""
    scene = scene_of(swing, 20)
    upper, fore = scene.lines(0.0)
    q = swing.q[frame_rows(swing.t, 20)]
    elbow = np.column_stack([np.cos(q[:, 0]), np.sin(q[:, 0]), 0 * q[:, 0]])
    np.testing.assert_allclose(upper.points[:, -1], elbow, atol=1e-14)
    np.testing.assert_allclose(fore.joint[:, :3, 3], elbow, atol=1e-14)


def test_magnified_deflection_is_a_multiple(swing: pliant.Result) -> None:
    """Of the first link, whose root does not move."""
    scene = scene_of(swing, 10)
    straight, bent, more = (next(scene.lines(m)).points for m in (0.0, 1.0, 4.0))
    np.testing.assert_allclose(more - straight, 4 * (bent - straight), atol=1e-13)


def test_wind_up_of_a_drive_is_magnified() -> None:
    """The rigid arm's joint stands where the motor does; the spring's twist counts as deflection."""
    model = pliant.load("lab-arm").model()
    q = np.zeros((1, model.n))
    q[0, model.index("upper")], q[0, model.index("upper.motor")] = 0.3, 0.4
    upper = make_scene(model, np.zeros(1), q).links[1]
    assert (upper.joint[0], upper.motor[0]) == (0.3, 0.4)


def test_strain_is_the_curvatures(swing: pliant.Result) -> None:
    """Bending strain is half the width times the curvature; slopes by differences at 25 stations give it to 2 %."""
    scene = scene_of(swing)
    upper = scene.links[0]
    exact = np.abs(swing.curvature("upper", 0.25)[:, 2]) * upper.half[0, 0]
    np.testing.assert_allclose(upper.strain[:, 6], exact, atol=0.02 * exact.max())


def test_sliding_beam_has_material_behind_its_mouth() -> None:
    """The part inside the sleeve ends where the total length says."""
    robot = pliant.load("rrp")
    model = robot.model()
    scene = make_scene(model, np.zeros(1), model.chain.rest()[None])
    beam = robot.link("slide").beam
    assert beam is not None
    assert beam.total_length is not None
    np.testing.assert_allclose(scene.links[-1].straight[0, 0], [beam.length - beam.total_length, 0, 0], atol=1e-14)


def test_frames_are_evenly_spaced_rows() -> None:
    t = np.sort(np.random.default_rng(2).uniform(0, 1, 500))
    rows = frame_rows(t, 50)
    assert rows[0] == 0
    assert rows[-1] == 499
    assert len(rows) <= 50
    assert np.abs(np.diff(t[rows]) - 1 / 49).max() < 4 * np.diff(t).max()
    np.testing.assert_array_equal(frame_rows(t, None), np.arange(500))


def test_rotations_of_vectors() -> None:
    """Orthonormal, with the vector as axis, smooth at zero."""
    theta = np.random.default_rng(3).normal(size=(40, 3)) * np.logspace(-12, 0.5, 40)[:, None]
    R = exponentials(theta)
    np.testing.assert_allclose(R @ np.swapaxes(R, -1, -2), np.broadcast_to(np.eye(3), R.shape), atol=1e-14)
    np.testing.assert_allclose(np.einsum("nij,nj->ni", R, theta), theta, atol=1e-14)
