"""Loops, couplings and contacts as they are drawn: where the arm has them, at every magnification, in every picture."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure

import pliant
from browser import Tab
from coupled_arms import strung
from linkages import four_bar
from pliant import Link, RigidBody, Robot
from pliant.robot import Contact, Joint, Surface
from pliant.simulation.runs.results import Result
from pliant.viewer.browser.viewer_meshes import FittingMeshes
from pliant.viewer.page import to_html
from pliant.viewer.scenes.scene import Scene, make_scene, readable_magnification, scene_of
from pliant.viewer.scenes.scene_camera import outlook, touched
from pliant.viewer.scenes.scene_fittings import Fitting, Held, Pushed, Spanned
from pliant.viewer.video_drawing import Camera, FrameDrawing, faces
from viewer.test_viewer_scene import Server


def fitting(scene: Scene, name: str) -> Fitting:
    return next(part for part in scene.fittings if part.name == name)


def crane(count: int = 4) -> tuple[pliant.Model, np.ndarray]:
    """A bent hydraulic crane, and places of it."""
    model = pliant.load("hydraulic-crane").model(stiffening="off")
    q = np.zeros((count, model.n))
    q[:, :3] = np.linspace((0.1, 0.2, -1.2), (0.9, 0.8, -0.4), count)
    q[:, 3:] = 1e-2 * np.sin(np.arange(count * (model.n - 3))).reshape(count, -1)
    return model, q


def test_cylinders_end_where_the_arm_has_their_frames() -> None:
    """The barrel keeps its length and stays on its foot; the rod ends at the eye, wherever the boom bends to."""
    model, q = crane()
    scene = make_scene(model, np.arange(4.0), q)
    placed, cylinder = list(scene.lines()), model.robot.couplings[0].cylinder
    barrel, rod = (fitting(scene, f"coupling/lift/{part}") for part in ("barrel", "rod"))
    foot, eye = (model.pose(q, frame=name)[:, :3, 3] for name in ("lift_foot", "lift_eye"))
    along = (eye - foot) / np.linalg.norm(eye - foot, axis=1, keepdims=True)
    first, second = (part.place.maps(placed) for part in (barrel, rod))
    np.testing.assert_allclose(first[:, :3, 3], foot, atol=1e-12)
    np.testing.assert_allclose(first[:, :3, 0], 0.92 * cylinder.dead_length * along, atol=1e-12)
    np.testing.assert_allclose(second[:, :3, 3] + second[:, :3, 0], eye, atol=1e-12)
    assert (np.linalg.norm(second[:, :3, 3] - foot, axis=1) < 0.92 * cylinder.dead_length).all()  # no gap between them
    for axis in (1, 2):
        np.testing.assert_allclose(np.einsum("fi,fi->f", first[:, :3, axis], along), 0.0, atol=1e-12)
        np.testing.assert_allclose(np.linalg.norm(first[:, :3, axis], axis=1), 1.0, rtol=1e-12)
    width = np.linalg.norm(barrel.mesh[0][:, 1:], axis=1).max()
    assert width == pytest.approx(1.2 * np.sqrt(cylinder.areas[0] / np.pi))
    assert np.linalg.norm(rod.mesh[0][:, 1:], axis=1).max() < width


def test_magnified_deflections_take_fittings_along() -> None:
    model, q = crane()
    scene = make_scene(model, np.arange(4.0), q)
    rigid = q.copy()
    rigid[:, 3:] = 0.0
    rod = fitting(scene, "coupling/lift/rod").place
    maps = rod.maps(list(scene.lines(0.0)))
    ends = maps[:, :3, 3] + maps[:, :3, 0]
    np.testing.assert_allclose(ends, model.pose(rigid, frame="lift_eye")[:, :3, 3], atol=1e-12)
    twice = rod.maps(list(scene.lines(2.0)))
    once = rod.maps(list(scene.lines(1.0)))
    away = [np.linalg.norm(T[:, :3, 3] + T[:, :3, 0] - ends, axis=1) for T in (once, twice)]
    np.testing.assert_allclose(away[1], 2 * away[0], rtol=0.05)  # to first order of the rotations


def test_brackets_reach_from_the_link_to_the_frame() -> None:
    """The foot of the lift stands 0.3 m beside the column, at a height of 0.75 m."""
    model, q = crane()
    scene = make_scene(model, np.arange(4.0), q)
    T = fitting(scene, "bracket/lift_foot").place.maps(list(scene.lines()))
    np.testing.assert_allclose(T[:, :3, 3], np.tile([0.0, 0.0, 0.75], (4, 1)), atol=1e-12)
    np.testing.assert_allclose(T[:, :3, 3] + T[:, :3, 0], model.pose(q, frame="lift_foot")[:, :3, 3], atol=1e-12)
    assert "bracket/pin" not in {part.name for part in make_scene(*four_bar_state()).fittings}


def four_bar_state() -> tuple[pliant.Model, np.ndarray, np.ndarray]:
    model = four_bar().model()
    q = np.array([model.assemble({"crank": angle, "rocker": 1.6}, held=["crank"]) for angle in (0.4, 0.9)])
    return model, np.arange(2.0), q


def test_a_loop_has_its_pin() -> None:
    model, t, q = four_bar_state()
    scene = make_scene(model, t, q)
    pin = fitting(scene, "loop/pin")
    assert isinstance(pin.place, Held)
    at = pin.place.maps(list(scene.lines()))
    np.testing.assert_allclose(at[:, :3, 3], model.pose(q, frame="rocker.tip")[:, :3, 3], atol=1e-10)
    spans = np.ptp(pin.mesh[0], axis=0)
    assert spans[2] > 1.2 * spans[0]  # it lies along z, its axis
    assert scene.torn(1.0) < 1e-10


def test_deflections_are_magnified_as_far_as_loops_look_closed() -> None:
    """Drawn larger, the end of the rod leaves the piston; it is drawn with twice as much at most of what is allowed."""
    model = pliant.load("slider-crank").model(stiffening="off")
    result = pliant.simulate(model, 0.3, {"crank": 0.5}, motion={"crank": lambda t: 0.5 + 20 * t}, progress=False)
    scene = scene_of(result, 60)
    assert scene.torn(1.0) < 1e-6
    chosen = readable_magnification(scene)
    assert chosen > 1
    assert scene.torn(chosen) <= 0.02 * scene.reach < scene.torn(3 * chosen)


def test_springs_cables_and_forces_are_drawn() -> None:
    model = strung().model(stiffening="off")
    scene = make_scene(model, np.zeros(1), np.full((1, model.n), 0.1))
    names = [part.name for part in scene.fittings]
    assert [name for name in names if name.startswith("coupling/")] == [
        "coupling/strut/barrel", "coupling/strut/rod", "coupling/strut/spring", "coupling/rope/cable",
        "coupling/ram/barrel", "coupling/ram/rod",
    ]  # fmt: skip
    placed = list(scene.lines())
    for name in ("coupling/strut/spring", "coupling/rope/cable"):
        part = fitting(scene, name)
        points = part.points(part.place.maps(placed), 0)
        ends = [frame.at(placed)[0, :3, 3] for frame in part.place.frames]
        along = (points - ends[0]) @ (ends[1] - ends[0]) / np.sum((ends[1] - ends[0]) ** 2)
        assert along.min() == pytest.approx(0.0, abs=0.02)
        assert along.max() == pytest.approx(1.0, abs=0.02)
    coil = fitting(scene, "coupling/strut/spring").mesh[0]
    turns = np.unwrap(np.arctan2(coil[::6, 2], coil[::6, 1]))
    assert (turns[-1] - turns[0]) / (2 * np.pi) == pytest.approx(9.0)
    post = fitting(scene, "coupling/strut/rod").place.frames[0].at(placed)[0, :3, 3]
    assert (np.abs(touched(scene, placed, False) - post).max(axis=1) < 1e-12).any()  # the camera sees it


def pressed(**surface: Any) -> Result:
    """A ball that slides and rubs on a surface, pressed by its weight."""
    slide = Link(name="slide", joint=Joint(type="prismatic", axis=(1, 0, 0)), rigid=RigidBody(mass=0.1))
    body = RigidBody(mass=0.5, inertia=(1e-3, 1e-3, 1e-3))
    ball = Link(name="ball", joint=Joint(type="prismatic", axis=(0, 0, 1)), rigid=body)
    contact = Contact(name="ground", radius=0.05, stiffness=1e5, damping=5.0, friction=0.3, surface=Surface(**surface))
    robot = Robot(name="pressed", links=[slide, ball], contacts=[contact])
    model = robot.model()
    return pliant.simulate(model, 0.3, {"ball": 0.06}, {"slide": 1.0}, progress=False, output_step=0.01)


def test_arrows_are_the_forces_on_the_sphere() -> None:
    """Normal force and friction together, from the point of contact; none before it is touched. The largest is 0.3 of
    the reach."""
    run = pressed()
    scene = scene_of(run)
    part = fitting(scene, "force/ground")
    assert isinstance(part.place, Pushed)
    maps = part.place.maps(list(scene.lines()))
    normal, friction = run["ground.force"], run["ground.friction"]
    assert normal[0] < 1e-30
    assert np.abs(maps[0, :3, :3]).max() < 1e-30
    largest = np.hypot(normal, friction).max()
    arrows = maps[:, :3, 0] * largest / (0.3 * scene.reach)
    np.testing.assert_allclose(arrows[:, 2], normal, atol=1e-9 * largest)
    np.testing.assert_allclose(arrows[:, 0], -friction, atol=1e-9 * largest)  # against the sliding, along x
    assert friction.max() > 0.1 * largest
    center = run.model.pose(run.q, frame="tip")[:, :3, 3]
    np.testing.assert_allclose(maps[:, :3, 3], center - [0, 0, 0.05], atol=1e-12)
    between = scene_of(run, np.array([0.5 * (run.t[-2] + run.t[-1])]))  # a movie has pictures between the rows
    found = fitting(between, "force/ground").place
    np.testing.assert_allclose(found.force[0, 2], normal[-2:].mean(), rtol=1e-12)


@pytest.mark.parametrize(
    ("surface", "low", "high"),
    [
        ({}, (None, None, 0.0), (None, None, 0.0)),
        ({"type": "box", "size": (0.4, 0.2, 0.02)}, (-0.2, -0.1, -0.01), (0.2, 0.1, 0.01)),
        ({"type": "sphere", "radius": 0.03}, (-0.03, -0.03, -0.03), (0.03, 0.03, 0.03)),
        ({"type": "capsule", "radius": 0.02, "length": 0.1}, (-0.02, -0.02, -0.07), (0.02, 0.02, 0.07)),
    ],
    ids=["plane", "box", "sphere", "capsule"],
)
def test_surfaces_have_their_sizes(surface: dict[str, Any], low: Any, high: Any) -> None:
    run = pressed(**surface)
    scene = scene_of(run, 3)
    part = fitting(scene, "surface/0")
    assert part.color[3] < 1
    points = part.points(part.place.maps(list(scene.lines())), 0)
    for axis, (a, b) in enumerate(zip(low, high)):
        if a is not None:
            assert points[:, axis].min() == pytest.approx(a, abs=2e-3)
            assert points[:, axis].max() == pytest.approx(b, abs=2e-3)
    if not surface:  # of a plane as much as lies below the sphere
        x = run["slide"]
        assert points[:, 0].min() < x.min()
        assert points[:, 0].max() > x.max()


def test_the_stage_moves_fittings_and_takes_another_run() -> None:
    model, q = crane()
    scene, server = make_scene(model, np.arange(4.0), q), Server()
    placed = list(scene.lines())
    shown = FittingMeshes(server, "/fittings", scene.fittings)
    shown.place(scene.fittings, placed)
    shown.draw(2, np.array([1.0, 0.0, 0.0]))
    for part, mesh in zip(scene.fittings, shown.meshes, strict=True):
        expected = part.points(part.place.maps(placed), 2) - [1.0, 0.0, 0.0]
        np.testing.assert_allclose(mesh.vertices, expected, atol=1e-6)
    assert shown.fits(make_scene(model, np.arange(2.0), q[:2] + 0.1).fittings)
    assert not shown.fits(make_scene(*four_bar_state()).fittings)
    gone: list[str] = []
    for name, mesh in server.meshes.items():
        mesh.remove = lambda name=name: gone.append(name)
    shown.remove()
    assert gone == [f"/fittings/{part.name}" for part in scene.fittings]


def test_movies_draw_fittings() -> None:
    """From both sides, each in its color and as clear as it is."""
    run = pressed()
    scene = scene_of(run, 5)
    placed = list(scene.lines())
    camera = Camera.at(outlook(scene, placed), scene.up)
    shown = [(part, part.place.maps(placed)) for part in scene.fittings]
    bare, dressed = faces(placed, 4, 0.0, camera)[0], faces(placed, 4, 0.0, camera, fittings=shown)
    assert len(dressed[0]) == len(bare) + sum(len(part.mesh[1]) for part in scene.fittings)
    assert (dressed[1][:, 3] == 0.55).sum() == len(fitting(scene, "surface/0").mesh[1])
    drawing = FrameDrawing(Figure(figsize=(4, 3)).add_axes((0, 0, 1, 1)), scene, ghost=False)
    drawing.show(4)
    assert len(drawing.shapes.get_paths()) == len(dressed[0])


@pytest.mark.slow
def test_the_page_has_them_where_the_scene_has(chromium: Any, tmp_path: Path) -> None:
    """By its own arithmetic: frames on bent links, lines between them, arrows between two rows of the run."""
    for number, run in enumerate((pressed(), crane_run())):
        scene = scene_of(run, 600)
        with Tab.showing(chromium, to_html(run, tmp_path / f"{number}.html")) as tab:
            for k in (0, len(scene) // 2, len(scene) - 1):
                tab.page.evaluate(f"pliantView.seek({float(scene.t[k])!r})")
                for m in (1.0, 3.0):
                    placed = list(scene.lines(m))
                    found = tab.page.evaluate(f"pliantView.fittings({m})")
                    for part, seen in zip(scene.fittings, found, strict=True):
                        maps = part.place.maps(placed)
                        T = maps[min(k, len(maps) - 1)]
                        columns = np.array(seen["columns"]).T
                        np.testing.assert_allclose(seen["origin"], T[:3, 3], atol=2e-4 * scene.reach)
                        same = (
                            slice(None) if isinstance(part.place, Held) else slice(0, 1)
                        )  # y and z are anywhere across
                        np.testing.assert_allclose(columns[:, same], T[:3, :3][:, same], atol=1e-3 * scene.reach)
                        if isinstance(part.place, Spanned):
                            np.testing.assert_allclose(columns[:, 1:].T @ columns[:, 1:], np.eye(2), atol=1e-6)
            assert tab.troubles == []


def crane_run() -> Result:
    model = pliant.load("hydraulic-crane").model(stiffening="off")
    return pliant.simulate(model, 0.05, {"boom": 0.4, "jib": -1.0}, equilibrium=True, progress=False)


def test_deflections_are_magnified_as_far_as_contacts_look_touched() -> None:
    beam = pliant.Beam(length=0.8, mass_per_length=0.9, EI_y=60.0, EI_z=60.0)
    link = Link(name="arm", joint=Joint(axis=(0, -1, 0)), beam=beam, shapes=pliant.Shapes(bending_z=1))
    contact = Contact(name="ground", radius=0.02, stiffness=1e5, surface=Surface(frame="ground"))
    ground = pliant.Frame(name="ground", link="base", origin={"xyz": (0, 0, -0.03)})
    robot = Robot(name="leaning", links=[link], frames=[ground], contacts=[contact])
    free = robot.model_copy(update={"contacts": ()})
    scenes = [make_scene(arm.model(stiffening="off"), np.zeros(1), np.array([[0.0, -1e-3]])) for arm in (robot, free)]
    with_ground, without = (readable_magnification(scene) for scene in scenes)
    assert 1 < with_ground < without
    assert scenes[0].torn(with_ground) <= 0.02 * scenes[0].reach
    assert scenes[1].torn(with_ground) == 0.0
