"""The drawing stands where the model says."""

from __future__ import annotations

import numpy as np
import pytest

import pliant
from crooked import HEIGHT, WIDTH
from figures.test_figure_values import rigid_tip
from pliant.robot import Beam, Joint, Link, Robot, Section, Shapes
from pliant.robot.parts.beam import beam_properties
from pliant.viewer.colors import strain_colors
from pliant.viewer.scenes.scene import exponentials, frame_rows, make_scene, readable_magnification, scene_of
from pliant.viewer.scenes.scene_camera import outlook
from pliant.viewer.scenes.scene_tubes import rings, tube_faces


@pytest.mark.slow_cases("canadarm2")
@pytest.mark.parametrize("name", ["two-link", "lab-arm", "rrp", "puma", "canadarm2"])
def test_tip_is_the_models(name: str) -> None:
    """Rigid, flexible, sliding and driven links: the outermost frame is `tip_pose`, but for rounding."""
    model = pliant.load(name).model(stiffening="off")
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


@pytest.mark.parametrize(("sag", "times"), [(0.0, 1.0), (1e-6, 1000.0), (3e-4, 500.0), (0.04, 5.0), (0.25, 1.0)])
def test_deflections_are_magnified_until_they_are_seen(sag: float, times: float) -> None:
    """No point moves by more than a tenth of the reach, here 2 m, and what is as large as that stays as it is."""
    model = pliant.load("two-link").model(stiffening="off")
    state = model.state({"fore.bending_y.1": sag / 2.0})  # a unit mode moves the tip by two
    scene = make_scene(model, np.zeros(1), state[None])
    assert readable_magnification(scene) == times


def test_wind_up_of_a_drive_is_magnified() -> None:
    """The rigid arm's joint stands where the motor does; the spring's twist counts as deflection."""
    model = pliant.load("lab-arm").model(stiffening="off")
    q = np.zeros((1, model.n))
    q[0, model.index("upper")], q[0, model.index("upper.motor")] = 0.3, 0.4
    upper = make_scene(model, np.zeros(1), q).links[1]
    assert (upper.joint[0, 0], upper.motor[0, 0]) == (0.3, 0.4)


def test_strain_is_the_curvatures(swing: pliant.Result) -> None:
    """Bending strain is half the width times the curvature; slopes by differences at 25 stations give it to 2 %."""
    scene = scene_of(swing)
    upper = scene.links[0]
    exact = np.abs(swing.curvature("upper", 0.25)[:, 2]) * upper.half[0, 0]
    np.testing.assert_allclose(upper.strain[:, 6], exact, atol=0.02 * exact.max())


def test_sliding_beam_has_material_behind_its_mouth() -> None:
    """The part inside the sleeve ends where the total length says."""
    robot = pliant.load("rrp")
    model = robot.model(stiffening="off")
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


# ------------------------------------------------------------------------------------- an arm that is asymmetric


@pytest.mark.parametrize(("field", "half"), [("bending_y", WIDTH / 2), ("bending_z", HEIGHT / 2)])
def test_strain_of_a_sagging_beam(field: str, half: float) -> None:
    """Under its own weight a clamped beam has M = mu g (L - x)^2 / 2 and the strain M c / EI at the outer fibre.

    Width lies along y and height along z, so c is half the width where it bends along y. Slopes of four modes give the
    strain of the inner two thirds to 1.4 %; the wrong half size would miss it by a factor of 2.5.
    """
    gravity = (0.0, -9.81, 0.0) if field == "bending_y" else (0.0, 0.0, -9.81)
    section = Section(shape="rectangle", width=WIDTH, height=HEIGHT)
    beam = Beam(length=0.73, material="aluminium", section=section)
    link = Link(name="arm", joint=Joint(), beam=beam, shapes=Shapes(**{field: 4}))
    model = Robot(name="sag", gravity=gravity, links=(link,)).model(stiffening="off")
    (drawn,) = make_scene(model, np.zeros(1), model.equilibrium([0.0])[None]).links
    properties = beam_properties(beam)
    x = np.linspace(0, 0.73, len(drawn.half))
    EI = properties.EI_z if field == "bending_y" else properties.EI_y
    strain = properties.mass_per_length * 9.81 * (0.73 - x) ** 2 / 2 * half / EI
    np.testing.assert_allclose(drawn.strain[0, :17], strain[:17], rtol=0.02)
    np.testing.assert_allclose(drawn.half, np.broadcast_to([WIDTH / 2, HEIGHT / 2], drawn.half.shape))


def test_ghost_is_the_rigid_arm_at_the_motors(crooked: pliant.Result) -> None:
    """Every joint frame and the tip, for drives that wind up by several millimetres at the tip."""
    *_, last = scene_of(crooked).lines(0.0)
    np.testing.assert_allclose(last.tip[:, :3, 3], rigid_tip(crooked), atol=1e-12)
    assert np.linalg.norm(last.tip[:, :3, 3] - crooked.tip, axis=1).max() > 1e-3
    for link in scene_of(crooked).links:
        motor = f"{link.name}.motor" if f"{link.name}.motor" in crooked.coordinates else link.name
        np.testing.assert_array_equal(link.motor[:, 0], crooked[motor])


def test_rings_lie_on_the_section(crooked: pliant.Result) -> None:
    """Corners of a rectangle stand half a width along y and half a height along z from the axis, at the section."""
    placed = next(part for part in scene_of(crooked, 9).lines() if part.link.name == "upper")
    surface = rings(placed, 4)
    axes = placed.sections[4]
    away = surface - placed.points[4][:, None]
    local = np.einsum("sij,smi->smj", axes, away)
    np.testing.assert_allclose(np.abs(local[:, :, 1]), WIDTH / 2, rtol=0.01)  # square to the axis, not to the section
    np.testing.assert_allclose(np.abs(local[:, :, 2]), HEIGHT / 2, rtol=0.01)
    triangles = surface.reshape(-1, 3)[tube_faces(*surface.shape[:2])]
    volume = np.einsum("ki,ki->k", triangles[:, 0], np.cross(triangles[:, 1], triangles[:, 2])).sum() / 6
    assert volume == pytest.approx(WIDTH * HEIGHT * 0.73, rel=0.01)  # closed, and seen from outside


def test_strain_colors_run_from_calm_to_hot() -> None:
    low, middle, high = strain_colors(np.array([0.0, 0.5, 1.0]))
    np.testing.assert_allclose(low, [0.36, 0.49, 0.62])
    np.testing.assert_allclose(middle, [0.55, 0.75, 0.35])
    np.testing.assert_allclose(high, [0.84, 0.24, 0.12])
    np.testing.assert_allclose(strain_colors(np.array([0.125])), [[0.28, 0.545, 0.64]])
    np.testing.assert_allclose(strain_colors(np.array([-1.0, 7.0])), [low, high])


def test_the_camera_sees_everything_and_the_floor_is_below(crooked: pliant.Result) -> None:
    scene = scene_of(crooked)
    placed = list(scene.lines())
    seen = outlook(scene, placed)
    points = np.concatenate([part.points.reshape(-1, 3) for part in placed])
    assert np.linalg.norm(points - seen.center, axis=1).max() <= seen.radius * (1 + 1e-12)
    assert np.linalg.norm(seen.center) <= seen.radius * (1 + 1e-12)  # the base too
    assert seen.floor < (points @ scene.up).min()
    np.testing.assert_allclose(np.cross(*seen.level), scene.up, atol=1e-12)
    np.testing.assert_allclose(seen.level @ seen.level.T, np.eye(2), atol=1e-12)
    assert np.linalg.norm(seen.towards) == pytest.approx(1.0)
    assert seen.towards @ scene.up > 0.2  # from above


@pytest.mark.parametrize(("gravity", "least"), [((0.0, -9.81, 0.0), 0.9), ((0.0, 0.0, -9.81), 0.7)])
def test_a_flat_motion_is_seen_from_its_side(gravity: tuple[float, float, float], least: float) -> None:
    """The two-link arm moves in the plane of x and y, upright or lying."""
    robot = pliant.load("two-link").model_copy(update={"gravity": gravity})
    model = robot.model(stiffening="off")
    q = np.array([[0.1, 0.4, 0.0, 0.0], [-0.7, 0.2, 0.0, 0.0]])
    scene = make_scene(model, np.array([0.0, 1.0]), q)
    assert abs(outlook(scene, list(scene.lines())).towards[2]) > least
