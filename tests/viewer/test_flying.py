"""A satellite with a spherical joint: where it is drawn, on the page too, what a camera follows, what plots show."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

import numpy as np
import pytest

import pliant
from browser import Tab
from free_flyer import satellite, states
from pliant.algebra.quaternions import angles, as_quaternion, between, product, to_matrix
from pliant.figures.run_panels import attitude, tip_shift
from pliant.model import Model
from pliant.simulation.runs.quantities.internal_forces import interpolated_states
from pliant.simulation.runs.results import Readings, Result, RunStats
from pliant.studio.choices import Choices
from pliant.studio.run import Workshop
from pliant.studio.run import tip_error as studio_error
from pliant.view import plot
from pliant.viewer.scenes.scene import Scene, make_scene, scene_of
from pliant.viewer.scenes.scene_camera import outlook, touched
from pliant.viewer.scenes.scene_tubes import corners, rings, tube_faces
from pliant.viewer.video_drawing import FrameDrawing


@pytest.fixture(scope="module")
def flyer() -> Model:
    return satellite().model(stiffening="off")


@pytest.fixture(scope="module")
def flight(flyer: Model) -> Result:
    """A made-up run: the base drifts and turns about a skew axis, more than once, the shoulder about another."""
    t = np.linspace(0.0, 2.0, 41)
    q = np.tile(states(flyer, 1), (len(t), 1))
    q[:, :3] += t[:, None] * [3.0, -1.0, 0.5]
    turn = np.array([as_quaternion("rpy", [0.0, 0.0, 4.0 * s], "q") for s in t])
    q[:, 3:7] = product(turn, q[:, 3:7])
    shoulder = [flyer.index(f"upper.q{x}") for x in "wxyz"]
    q[:, shoulder] = product(q[:, shoulder], np.array([as_quaternion("rpy", [0.7 * s, 0.3 * s, 0.0], "q") for s in t]))
    q[25:, 3:7] *= -1.0  # the same attitudes
    qd = 0.1 * np.random.default_rng(1).normal(size=(len(t), flyer.n))
    stats = RunStats("finished", "", "dop853", "", 1, 0, 1, 0, 0, 0.1)
    tau = np.zeros((len(t), flyer.n_joints))
    readings = Readings.of(tau, np.zeros(len(t)), np.zeros_like(qd))
    run = Result(t, q, qd, 0 * t, flyer.robot, asdict(flyer.options), np.array([]), stats, readings, {})
    run.__dict__["model"] = flyer
    return run


@pytest.fixture(scope="module")
def scene(flight: Result) -> Scene:
    return scene_of(flight)


def test_every_link_is_where_the_model_has_it(flyer: Model) -> None:
    """Tips and roots of all links at any attitude, children at stations among them."""
    q = states(flyer, 6, seed=4)
    base, *links = make_scene(flyer, np.arange(6.0), q).lines()
    np.testing.assert_allclose(base.joint, flyer.pose(q, frame="base"), atol=1e-13)
    for part in links:
        np.testing.assert_allclose(part.tip, flyer.pose(q, frame=f"{part.link.name}.tip"), atol=1e-13)
        root = part.joint[:, :3, 3]
        np.testing.assert_allclose(root, flyer.pose(q, frame=f"{part.link.name}.root")[:, :3, 3], atol=1e-13)


def test_the_ghost_flies_along(flyer: Model) -> None:
    """Magnified or rigid: the base stands where it is."""
    q = states(flyer, 3)
    drawn = make_scene(flyer, np.arange(3.0), q)
    first = [next(iter(drawn.lines(m))).joint for m in (0.0, 1.0, 30.0)]
    np.testing.assert_array_equal(first[0], first[1])
    np.testing.assert_array_equal(first[0], first[2])


@pytest.mark.slow
def test_the_base_is_the_box_of_its_inertia(scene: Scene) -> None:
    """A homogeneous box of these edges and mass has the principal moments of the base, about its center of mass."""
    base = scene.links[0]
    assert base.box is not None
    box, body = base.box, satellite().base
    a, b, c = box.edges
    own = np.diag([b * b + c * c, a * a + c * c, a * a + b * b]) * body.mass / 12
    xx, yy, zz, xy, xz, yz = body.inertia
    np.testing.assert_allclose(box.axes @ own @ box.axes.T, [[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]], rtol=1e-12)
    np.testing.assert_array_equal(box.center, body.com)
    assert [link.box is not None for link in scene.links] == [True, False, True, False, False]  # and a wheel
    assert [link.marked for link in scene.links] == [False, True, True, True, True]
    assert [link.loaded for link in scene.links] == [False, True, False, False, True]


@pytest.mark.slow
@pytest.mark.parametrize("size", [1e-6, 1e6])
def test_odd_bases_have_boxes_that_can_be_seen(size: float) -> None:
    """A base of a point mass, or as large as a house: between 6 and 60 % of the reach."""
    robot = satellite().replace({"base.inertia": [size, size, size]})
    model = robot.model(stiffening="off")
    scene = make_scene(model, np.zeros(1), model.chain.rest()[None])
    box = scene.links[0].box
    assert box is not None
    assert ((box.edges >= 0.0599 * scene.reach) & (box.edges <= 0.601 * scene.reach)).all()


def test_boxes_are_closed_and_seen_from_outside(scene: Scene) -> None:
    base = next(iter(scene.lines()))
    surface = rings(base, 7)
    triangles = surface.reshape(-1, 3)[tube_faces(*surface.shape[:2])]
    volume = np.einsum("ki,ki->k", triangles[:, 0], np.cross(triangles[:, 1], triangles[:, 2])).sum() / 6
    assert base.link.box is not None
    assert volume == pytest.approx(base.link.box.edges.prod(), rel=1e-9)
    middle = base.joint[7] @ [*base.link.box.center, 1.0]
    np.testing.assert_allclose(corners(base)[7].mean(axis=0), middle[:3], atol=1e-12)


def test_a_camera_that_follows_sees_everything(scene: Scene) -> None:
    """It needs less room than one that stands, and has the base at the origin."""
    placed = list(scene.lines())
    follows, stands = outlook(scene, placed, follow=True), outlook(scene, placed)
    points = touched(scene, placed, follow=True)
    assert np.linalg.norm(points - follows.center, axis=1).max() <= follows.radius * (1 + 1e-12)
    assert follows.radius < 0.6 * stands.radius
    np.testing.assert_array_equal(scene.base(placed), placed[0].joint[:, :3, 3])
    assert not scene.standing  # no floor without weight
    model = pliant.load("two-link").model()
    arm = make_scene(model, np.zeros(1), model.chain.rest()[None])
    assert (arm.flies, arm.standing) == (False, True)
    np.testing.assert_array_equal(arm.base(list(arm.lines())), np.zeros((1, 3)))


def test_movies_follow_the_base(scene: Scene) -> None:
    """Its first corner is drawn where the camera sees it, less what the base has moved; there is no floor."""
    from matplotlib.figure import Figure

    drawing = FrameDrawing(Figure().add_axes((0, 0, 1, 1)), scene)
    assert len(drawing.axes.lines) == 3  # path, joints, payload
    drawing.show(30)
    base = drawing.arm[0]
    flat, _ = drawing.camera.project(corners(base)[30] - base.joint[30, :3, 3])
    drawn = np.concatenate([path.vertices for path in drawing.shapes.get_paths()])
    nearest = [np.linalg.norm(drawn - corner, axis=1).min() for corner in flat]
    assert np.sum(np.array(nearest) < 1e-9) >= 6  # a cube shows six or seven of its corners


# -------------------------------------------------------------------------------------------------------- between rows


def test_states_between_rows_turn_evenly(flight: Result, flyer: Model) -> None:
    """A third of the way from row to row is a third of the turn, also where the sign of a quaternion changes."""
    t = flight.t[:-1] + np.diff(flight.t) / 3
    found = interpolated_states(flyer.chain, t, flight.t, flight.q)
    np.testing.assert_allclose(np.linalg.norm(found[:, 3:7], axis=1), 1.0, atol=1e-14)
    expected = np.array([as_quaternion("rpy", [0.0, 0.0, 4.0 * s], "q") for s in t])
    first = product(expected, np.tile(flight.q[0, 3:7], (len(t), 1)))
    np.testing.assert_allclose(to_matrix(found[:, 3:7]), to_matrix(first), atol=1e-12)
    np.testing.assert_allclose(found[:, :3], flight.q[0, :3] + t[:, None] * [3.0, -1.0, 0.5], atol=1e-12)


def test_the_short_way_between_quaternions() -> None:
    a, b = (as_quaternion("rpy", [0.0, 0.0, x], "q")[None] for x in (-0.2, 0.4))
    for one in (b, -b):
        middle = to_matrix(between(a, one, np.array([[0.5]])))
        np.testing.assert_allclose(middle[0], to_matrix(as_quaternion("rpy", [0.0, 0.0, 0.1], "q")), atol=1e-14)


def test_angles_pass_full_turns() -> None:
    """About each axis two turns, each reading back as it was given; pitch too, through the quarter turn."""
    s = np.linspace(0.0, 4 * np.pi, 300)
    for k in range(3):
        given = np.zeros((300, 3))
        given[:, k] = s
        found = angles(np.array([as_quaternion("rpy", row, "q") for row in given]))
        np.testing.assert_allclose(found, given, atol=1e-9)
    skew = np.array([[0.3 + x, 0.2, -0.5 * x] for x in s])
    found = angles(np.array([as_quaternion("rpy", row, "q") for row in skew]))
    np.testing.assert_allclose(found, skew, atol=1e-9)


# --------------------------------------------------------------------------------------------------------------- plots


def test_attitude_is_shown_in_degrees(flight: Result, flyer: Model) -> None:
    """Of the base and the shoulder; speeds in rad/s, the place of the base in m."""
    panels = {(panel.of, panel.title): panel for panel in attitude(flight)}
    assert list(panels) == [
        ("base", "attitude"), ("base", "position"), ("base", "angular velocity"), ("upper", "attitude"),
        ("upper", "angular velocity"),
    ]  # fmt: skip
    assert [str(panel.y) for panel in panels.values()][:3] == [
        "angle (deg)",
        "position (m)",
        "angular velocity (rad/s)",
    ]
    yaw = panels["base", "attitude"].curves[2]
    assert yaw.label == "yaw"
    assert yaw.y[-1] - yaw.y[0] == pytest.approx(np.degrees(8.0))
    np.testing.assert_array_equal(
        panels["upper", "angular velocity"].curves[1].y, flight.qd[:, flyer.speed_index("upper.wy")]
    )
    np.testing.assert_array_equal(panels["base", "position"].curves[0].y, flight["base.x"])


def test_rigid_arm_of_a_flyer_flies_along(flight: Result, flyer: Model) -> None:
    """What bending and a drive do to the tip, not what the base does."""
    q = np.array(flight.q)
    for name in flyer.coordinates:
        if "bending" in name or "torsion" in name:
            q[:, flyer.index(name)] = 0.0
    q[:, flyer.index("fore")] = q[:, flyer.index("fore.motor")]
    np.testing.assert_allclose(tip_shift(flight), flight.tip - flyer.tip_pose(q)[:, :3, 3], atol=1e-14)


@pytest.mark.slow
def test_all_figures_of_a_flyer(flight: Result) -> None:
    """Spherical joints have no position; they are left out of the joints, and shown by their attitude."""
    figure = plot(flight, "joints", "attitude", "torques", "deflections", "error")
    assert all(axes.lines for axes in figure.axes)
    labels = " ".join(axes.get_ylabel() for axes in figure.axes)
    assert "deg" in labels
    assert "rad/s" in labels
    assert len(flight.compare(flight).axes) == 3 + 6 + 1  # three joints, two attitudes, the tips


@pytest.mark.slow
def test_a_joint_of_a_branch_carries_what_its_root_section_does(flyer: Model) -> None:
    run = pliant.simulate(flyer, 0.02, qd0={"panel": 3.0, "upper.wy": 1.0, "fore": -2.0})
    weight = np.abs(run.reaction("panel").force).max()
    assert weight > 3.0  # N, of what turns with 3 rad/s
    np.testing.assert_allclose(run.internal("panel", 0.0).moment, -run.reaction("panel").moment, atol=1e-9 * weight)


@pytest.mark.slow
def test_table_and_notebook_show_the_base() -> None:
    robot = satellite()
    text = str(robot)
    assert [line.split()[:3] for line in text.splitlines()][3] == ["base", "free", "rigid"]
    assert "60 kg" in text
    assert "<td style='text-align:left'>base</td><td style='text-align:left'>free</td>" in robot._repr_html_()


@pytest.mark.slow
def test_studio_moves_a_satellite() -> None:
    """The base answers; a spherical joint, which has no position, is refused by name with a controller."""
    given = {"controller": "ideal joints", "maneuver": "move", "move_time": 0.1, "duration": 0.1}
    with pytest.raises(pliant.PliantError, match="spherical joint of upper has no position"):
        Workshop().run(Choices.of(satellite(), **given))
    hinged = satellite().replace({"links.upper.joint.type": "revolute"})
    choices = Choices.of(hinged, **given)
    run = Workshop().run(choices)
    assert run.result["fore.motor"][-1] == pytest.approx(choices.goal[3])
    assert np.abs(run.result.q[-1, :3]).max() > 1e-3
    assert np.isfinite(studio_error(run)).all()


# ------------------------------------------------------------------------------------------------------------ the page


@pytest.fixture(scope="module")
def flying_tab(chromium: Any, flight: Result, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tab]:
    path = flight.to_html(tmp_path_factory.mktemp("flight") / "run.html")
    with Tab.showing(chromium, path) as tab:
        yield tab


@pytest.mark.parametrize("t", [0.0, 1.0, 0.772, 1.27])
def test_page_has_links_where_the_model_has(flying_tab: Tab, flight: Result, flyer: Model, t: float) -> None:
    """At a row and between two: joints and tips of all links, turned and moved; 16 bits leave some micrometres."""
    flying_tab.page.evaluate(f"pliantView.seek({t})")
    found = flying_tab.page.evaluate("pliantView.poses(1)")
    placed = make_scene(flyer, np.array([t]), interpolated_states(flyer.chain, np.array([t]), flight.t, flight.q))
    for part, shown in zip(placed.lines(), found, strict=True):
        for name, wanted in (("root", part.joint[0]), ("tip", part.tip[0])):
            np.testing.assert_allclose(shown[name]["p"], wanted[:3, 3], atol=1e-4)
            np.testing.assert_allclose(np.reshape(shown[name]["R"], (3, 3)), wanted[:3, :3], atol=1e-4)
    assert flying_tab.troubles == []


def test_page_follows_the_base(flying_tab: Tab, flight: Result) -> None:
    """On by default, the base stays in the middle; off, it leaves the picture that began with it."""
    page = flying_tab.page
    assert page.is_visible("#following")
    assert page.is_checked("#follow")
    page.evaluate("pliantView.seek(2)")
    np.testing.assert_allclose(page.evaluate("pliantView.world()"), -flight.q[-1, :3], atol=1e-4)
    page.uncheck("#follow")
    np.testing.assert_array_equal(page.evaluate("pliantView.world()"), [0.0, 0.0, 0.0])
    page.check("#follow")
