"""Bodies from files in pictures: their surface goes where their shapes take it, colors are their stress."""

from __future__ import annotations

import base64
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pliant
from bodies import drawn_bar, random_body
from pliant import Joint, Link, Robot
from pliant.robot.files.mesh_files import MOST_FACES
from pliant.robot.parts.bodies.reduced_body import ReducedBody
from pliant.studio.choices import Choices, structure
from pliant.studio.run import Workshop
from pliant.viewer.browser.viewer_meshes import ArmMeshes
from pliant.viewer.colors import strain_colors
from pliant.viewer.page import page_data
from pliant.viewer.scenes.body_skins import BodySkin
from pliant.viewer.scenes.body_surfaces import surface_of
from pliant.viewer.scenes.scene import make_scene
from pliant.viewer.scenes.scene_tubes import tube_faces
from pliant.viewer.scenes.skins import SceneSkin, covered, shows, skins_of
from viewer.test_viewer_scene import Server, pieces


def arm(body: ReducedBody) -> Robot:
    """The body behind a rigid link, each on a joint of its own."""
    first = Link(name="upper", rigid={"mass": 1.0, "tip": [0.4, 0, 0.1], "inertia": [0.1] * 3})
    joint = Joint(axis=(0, 1, 0), origin={"xyz": [0.05, 0, 0], "rpy": [0.3, 0, 0]})
    return Robot(name="arm", links=[first, Link(name="fore", body=body, joint=joint)])


@pytest.fixture(scope="module")
def bar() -> ReducedBody:
    return drawn_bar()


def state(model: pliant.Model) -> np.ndarray:
    return np.array([0.4, -0.7, 0.01, -0.004, 0.006, 0.003])[: model.n]


def test_a_surface_moves_with_the_shapes_of_its_body(bar: ReducedBody) -> None:
    """Its end is where the tip frame is, whatever the magnification; the ghost is not bent."""
    model = arm(bar).model()
    q = state(model)
    scene = make_scene(model, np.zeros(1), q[None])
    (skin,) = skins_of(scene)
    assert isinstance(skin, BodySkin)
    assert covered([skin]) == {1}
    end = np.flatnonzero(np.isclose(skin.surface.points[:, 0], bar.places[1, 0]))
    for magnification in (0.0, 1.0, 3.0):
        bent = q * np.array([1, 1, *[magnification] * 4])
        found = skin.points(list(scene.lines(magnification)), 0)[end].mean(axis=0)
        assert found == pytest.approx(model.pose(bent)[:3, 3], abs=1e-12)


def test_stress_of_a_bent_bar_is_that_of_the_beam(bar: ReducedBody) -> None:
    """E times half the height times the curvature at the clamp, from the second derivative of the tabled shapes."""
    model = arm(bar).model()
    q = state(model)
    (skin,) = skins_of(make_scene(model, np.zeros(1), q[None]))
    assert isinstance(skin, BodySkin)
    root = np.flatnonzero(skin.surface.points[:, 0] == 0.0)
    axial = np.abs(bar.stress[:4, 0] @ q[2:])
    assert skin.surface.von_mises(0)[root].max() == pytest.approx(axial.max(), rel=1e-12)
    assert skin.largest == skin.surface.von_mises(0).max()
    assert skin.parts([], 0, 0.0).max() == 1.0
    assert shows(skin, 0.0)


def test_von_mises_stress_of_known_states() -> None:
    """Tension, shear and pressure from all sides."""
    stress = np.zeros((3, 6, 1))
    stress[0, 0], stress[1, 3], stress[2, :3] = 5.0, 2.0, 7.0
    points = np.array([[0.0, 0, 0], [0, 1, 0], [1, 0, 0]])
    body = random_body(np.random.default_rng(1), 1)
    shown = surface_of(with_surface(body, points, np.array([[0, 1, 2]]), np.zeros((3, 3, 1)), stress), np.ones((1, 1)))
    assert shown is not None
    assert shown.von_mises(0) == pytest.approx([5.0, 2.0 * np.sqrt(3.0), 0.0], abs=1e-12)


def with_surface(body: ReducedBody, points: Any, faces: Any, moves: Any, stress: Any) -> ReducedBody:
    entries: dict[str, Any] = {**body._entries(), "mass": body.mass, "names": body.names, "frames": body.frames}
    return ReducedBody(
        **entries | {"vertices": points, "triangles": faces, "moves": moves, "stress": stress, "about": ""}
    )


def test_a_fine_surface_is_made_coarser(bar: ReducedBody) -> None:
    fine = drawn_bar(stations=1500)
    found = surface_of(fine, np.zeros((1, 4)))
    assert found is not None
    assert len(fine.triangles) > MOST_FACES >= len(found.faces) > 100
    kept = [int(np.flatnonzero((fine.vertices == point).all(axis=1))[0]) for point in found.points]
    assert np.array_equal(found.moves, fine.moves[kept])


def test_a_body_without_a_surface_is_drawn_by_its_frames(rng: np.random.Generator) -> None:
    """A line from the root by further frames to the tip, which carries what hangs there."""
    body = random_body(rng, further=("elbow",))
    model = arm(body).model()
    q = np.array([0.4, -0.7, 0.05, -0.02, 0.03])
    scene = make_scene(model, np.zeros(1), q[None])
    assert skins_of(scene) == ()
    line = list(scene.lines())[1]
    for station, frame in enumerate(("root", "elbow", "tip")):
        assert line.points[0, station] == pytest.approx(model.pose(q, frame=f"fore.{frame}")[:3, 3], abs=1e-12)
    assert line.tip[0] == pytest.approx(model.pose(q), abs=1e-12)
    assert scene.largest_strain == 0.0


def test_visuals_of_a_link_stand_in_place_of_the_surface(bar: ReducedBody) -> None:
    robot = arm(bar)
    fore = robot.links[1].model_copy(update={"visuals": (pliant.robot.Visual(box=[0.4, 0.1, 0.1]),)})
    model = robot.model_copy(update={"links": (robot.links[0], fore)}).model()
    (skin,) = skins_of(make_scene(model, np.zeros(1), state(model)[None]))
    assert isinstance(skin, SceneSkin)


def test_the_page_has_what_its_script_reads(bar: ReducedBody) -> None:
    """Shapes, stress and coordinates as numbers; the colors end at the largest stress, in words beside them."""
    run = pliant.simulate(arm(bar).model(), 0.02, [0.4, -0.7], output_step=0.005)
    data = json.loads(json.dumps(page_data(run, "arm")))
    (skin,) = data["skins"]

    def floats(text: str) -> np.ndarray:
        return np.frombuffer(base64.b64decode(text), "<f4")

    def scaled(entry: dict[str, Any]) -> np.ndarray:
        return entry["scale"] * np.frombuffer(base64.b64decode(entry["data"]), "<i2")

    assert floats(skin["body"]["c"]).reshape(-1, 4) == pytest.approx(run.q[:, 2:], rel=1e-6, abs=1e-12)
    surface = surface_of(bar, run.q[:, 2:])
    assert surface is not None
    assert scaled(skin["body"]["moves"]) == pytest.approx(surface.moves.ravel(), abs=4e-5 * np.abs(bar.moves).max())
    largest = max(surface.von_mises(frame).max() for frame in range(len(run)))
    assert data["stress"] == pytest.approx(largest, rel=1e-12)
    assert data["strain_name"] == "von Mises stress"
    assert float(data["strain_text"].removesuffix(" MPa")) == pytest.approx(largest / 1e6, rel=5e-3)
    assert data["links"][1]["covered"]
    script = (Path(pliant.__file__).parent / "viewer" / "web" / "viewer.js").read_text()
    assert set(re.findall(r"skin\.body\.(\w+)", script)) == {"c", "moves", "stress"}


def test_the_stage_has_the_surface_in_pieces_of_one_color(bar: ReducedBody) -> None:
    """Together they are the surface; each has the color of its mean stress, in steps of eight."""
    model = arm(bar).model()
    scene, server = make_scene(model, np.zeros(1), state(model)[None]), Server()
    placed, (skin,) = list(scene.lines()), skins_of(scene)
    meshes = ArmMeshes(server, "/arm", placed, None, None, [skin])
    meshes.draw(0)
    shown = pieces(server, "fore")
    assert sum(len(mesh.faces) for mesh in shown) == len(skin.faces)
    points, parts = skin.points(placed, 0), skin.parts(placed, 0, 0.0)
    for mesh in shown:
        away = np.linalg.norm(mesh.vertices[:, None] - points[None], axis=-1)
        assert away.min(axis=1).max() < 1e-6
        wanted = 255 * strain_colors(np.asarray(parts[away.argmin(axis=1)].mean()))
        np.testing.assert_allclose(mesh.color, wanted, atol=4)


def test_pictures_of_a_body(bar: ReducedBody, tmp_path: Path) -> None:
    """A movie, figures of deflections, the table of a notebook."""
    run = pliant.simulate(arm(bar).model(), 0.02, [0.4, -0.7], output_step=0.01)
    assert run.to_video(tmp_path / "run.gif").exists()
    assert "fore: deflection" in [plot["title"] for plot in page_data(run, "arm")["plots"]]
    assert "4 coordinates" in run.robot._repr_html_()
    with pytest.raises(pliant.ModelError, match="a body from a file, whose modes are no curves"):
        pliant.view.mode_shapes(run.robot, "fore")


def test_the_studio_runs_it(bar: ReducedBody) -> None:
    """With another number of modes in its beams, which leaves the body."""
    choices = Choices.of(arm(bar), duration=0.01, modes=2)
    assert structure(choices) == arm(bar)
    assert Workshop().run(choices).result.stats.status == "finished"


def test_triangles_of_the_bar_look_outwards(bar: ReducedBody) -> None:
    a, b, c = (bar.vertices[tube_faces(25, 4)[:, k]] for k in range(3))
    assert np.einsum("ki,ki->", a, np.cross(b, c)) / 6 == pytest.approx(0.8 * 0.02 * 0.03, rel=1e-9)
