"""Visuals on the arm: meshes are read whole, stand where the URDF puts them, and bend with their links."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pytest

import pliant
from pliant.robot import Visual
from pliant.robot.files.mesh_files import MOST_FACES, read_mesh
from pliant.viewer.scenes.scene import make_scene
from pliant.viewer.scenes.scene_tubes import ball
from pliant.viewer.scenes.skins import covered, skins_of
from sources import ROOT

CORNERS = np.array([[x, y, z] for x in (0.0, 2.0) for y in (0.0, 3.0) for z in (0.0, 5.0)])
QUADS = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
"""Faces of a box, seen from outside."""


def triangles(quads=QUADS):
    return [(a, b, c) for q in quads for a, b, c in ((q[0], q[1], q[2]), (q[0], q[2], q[3]))]


def stl(path: Path, points, faces) -> Path:
    body = b"".join(struct.pack("<12fH", 0, 0, 0, *points[list(face)].ravel(), 0) for face in faces)
    path.write_bytes(b"solid in name only".ljust(80) + struct.pack("<I", len(faces)) + body)
    return path


def volume(points, faces) -> float:
    a, b, c = (points[faces[:, k]] for k in range(3))
    return float(np.einsum("ki,ki->", a, np.cross(b, c))) / 6


def center(points, faces):
    """Of the surface."""
    a, b, c = (points[faces[:, k]] for k in range(3))
    area = np.linalg.norm(np.cross(b - a, c - a), axis=1)
    return area @ (a + b + c) / 3 / area.sum()


def written(tmp_path: Path, kind: str) -> Path:
    path = tmp_path / f"box.{kind[:3]}"
    if kind == "stl":
        return stl(path, CORNERS, triangles())
    if kind == "stl in text":
        lines = (f"vertex {x:g} {y:g} {z:g}" for face in triangles() for x, y, z in CORNERS[list(face)])
        path.write_text("solid box\nfacet normal 0 0 0\nouter loop\n" + "\n".join(lines) + "\nendsolid\n")
    else:
        rows = [*(f"v {x} {y} {z}" for x, y, z in CORNERS), "vn 0 0 1"]
        rows += ["f " + " ".join(f"{k - 8}//1" for k in quad) for quad in QUADS]
        path.write_text("# a box\n" + "\n".join(rows))
    return path


@pytest.mark.parametrize("kind", ["stl", "stl in text", "obj"])
def test_a_box_is_read_whole(tmp_path: Path, kind: str) -> None:
    points, faces = read_mesh(written(tmp_path, kind))
    assert (len(points), len(faces)) == (8, 12)
    assert volume(points, faces) == pytest.approx(30.0)


@pytest.mark.slow
def test_a_fine_mesh_is_made_coarser_and_keeps_its_form(tmp_path: Path) -> None:
    points, faces = ball(200, 151)
    found = read_mesh(stl(tmp_path / "ball.stl", points, faces))
    assert len(faces) > 5 * MOST_FACES
    assert 0.1 * MOST_FACES < len(found[1]) <= MOST_FACES
    assert volume(*found) == pytest.approx(4 / 3 * np.pi, rel=0.05)


THREE = "v 0 0 0\nv 1 0 0\nv 0 1 0\n"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.stl", "solid\n"),
        ("a.obj", "v 0 0 0\nf 1 2 3\n"),
        ("a.obj", "v 1 2\nf 1 1 1\n"),
        ("a.obj", THREE + "f 1 2 99999999999999999999999\n"),
        ("a.obj", "v -1e308 0 0\nv 1e308 0 0\nv 0 1e308 0\nf 1 2 3\n"),
        ("a.obj", "v nan 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n"),
    ],
)
def test_what_is_no_mesh_is_told_in_one_line(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(pliant.ModelError, match=rf"^{name}: got no triangles, expected a mesh in (STL|OBJ)$"):
        read_mesh(tmp_path / name)


@pytest.mark.parametrize("text", [THREE + "f 1 1 1\n", "v 3 1 2\n" * 3 + "f 1 2 3\nf 3 2 1\n"])
def test_a_mesh_without_area_is_told_in_one_line(tmp_path: Path, text: str) -> None:
    """It was read, and the page that should show it failed."""
    (tmp_path / "a.obj").write_text(text)
    with pytest.raises(
        pliant.ModelError, match=r"^a.obj: none of its [12] triangles has an area; is its scale right\?$"
    ):
        read_mesh(tmp_path / "a.obj")


def test_every_visual_of_a_urdf_stands_where_pinocchio_has_it() -> None:
    """With two links made beams, whose axes are turned, and one more link lumped onto its parent."""
    pin = pytest.importorskip("pinocchio")
    folder = ROOT / "examples" / "urdf"
    arm = pliant.load(folder / "ur5_like.urdf", flexible=folder / "ur5_like_side.yaml", tip="wrist_2_link")
    model = arm.model()
    angles = np.array([0.3, -0.8, 1.1, 0.4, -0.6])
    scene = make_scene(model, np.zeros(1), _at(model, angles)[None])
    skins = skins_of(scene)
    placed = list(scene.lines(0.0))
    other = pin.buildModelFromUrdf(str(folder / "ur5_like.urdf"))
    shapes = pin.buildGeomFromUrdf(other, str(folder / "ur5_like.urdf"), pin.GeometryType.VISUAL)
    data, seen = other.createData(), shapes.createData()
    pin.updateGeometryPlacements(other, data, shapes, seen, np.append(angles, 0.0))
    expected = np.array([place.translation for place in seen.oMg])
    centers = np.array([center(skin.points(placed, 0), skin.faces) for skin in skins])
    gap = np.linalg.norm(centers[:, None] - expected[None], axis=-1)
    assert gap.min(axis=1).max() < 1e-9
    assert sorted(gap.argmin(axis=1)) == list(range(7))


def _at(model, angles):
    q = np.zeros(model.n)
    for shaft, angle in zip(model.layout.shafts, angles):
        q[[shaft.index, shaft.actuated]] = angle
    return q


@pytest.mark.parametrize("pieces", [None, 3])
def test_a_visual_bends_with_its_beam(pieces: int | None) -> None:
    """A point on the axis, and one beside it, go where a frame at their section goes."""
    at, beside = 0.53, (0.0, 0.04, -0.07)
    arm = pliant.robot.parse("""
name: bent
gravity: [0, 0, 0]
links:
  - name: boom
    joint: {axis: [0, 1, 0], origin: {xyz: [0.1, 0.2, 0.3], rpy: [0.2, 0.1, 0.4]}}
    beam: {length: 0.8, mass_per_length: 2.0, EI_y: 90, EI_z: 40, GJ: 30, polar_inertia: 0.001}
    shapes: {bending_y: 2, bending_z: 2, torsion: 1}
frames:
  - {name: eye, link: boom, x: 0.53, origin: {xyz: [0, 0.04, -0.07]}}
""").replace({} if pieces is None else {"links.boom.beam.pieces": pieces})
    small = {"sphere": 1e-6, "origin": {"xyz": [at, beside[1], beside[2]]}}
    arm = arm.model_copy(update={"links": (arm.links[0].model_copy(update={"visuals": (Visual(**small),)}),)})
    model = arm.model()
    q = np.linspace(0.2, 0.02, model.n) * np.resize([1.0, -0.3, 0.2, -0.1], model.n)
    scene = make_scene(model, np.zeros(1), q[None])
    (skin,) = skins_of(scene)
    assert covered([skin]) == set(range(pieces or 1))
    found = skin.points(list(scene.lines()), 0).mean(axis=0)
    rigid = skin.points(list(scene.lines(0.0)), 0).mean(axis=0)
    assert np.linalg.norm(rigid - model.pose(_at(model, [q[0]]), frame="eye")[:3, 3]) < 1e-9
    moved = np.linalg.norm(model.pose(q, frame="eye")[:3, 3] - rigid)
    assert moved > 0.02
    assert np.linalg.norm(found - model.pose(q, frame="eye")[:3, 3]) < 5e-3 * moved


@pytest.mark.filterwarnings("ignore:.*no such mesh; it is not drawn")
def test_a_mesh_that_is_not_there_is_told_and_the_link_drawn_from_its_numbers(tmp_path: Path) -> None:
    text = """<robot name="a"><link name="ground"/><link name="upper"><visual><geometry>
      <mesh filename="package://nowhere/upper.stl"/></geometry></visual><inertial><mass value="1"/>
      <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
      <joint name="j" type="continuous"><parent link="ground"/><child link="upper"/></joint></robot>"""
    (tmp_path / "a.urdf").write_text(text)
    with pytest.warns(
        UserWarning, match=r"a\.urdf: 1 meshes are not drawn \(no folder of the package of 'package://nowhere"
    ):
        assert pliant.load(tmp_path / "a.urdf").links[0].visuals == ()
    arm = pliant.load("two-link")
    link = arm.links[0].model_copy(update={"visuals": (Visual(mesh=str(tmp_path / "gone.stl")),)})
    model = arm.model_copy(update={"links": (link, *arm.links[1:])}).model()
    with pytest.warns(UserWarning, match=r"upper: .*gone\.stl: no such mesh, .* it is drawn from its numbers"):
        assert skins_of(make_scene(model, np.zeros(1), np.zeros((1, model.n)))) == ()


def test_visuals_change_no_number(tmp_path: Path) -> None:
    arm = pliant.load("two-link")
    stl(tmp_path / "box.stl", CORNERS, triangles())
    arm.save(tmp_path / "arm.yaml")
    text = (tmp_path / "arm.yaml").read_text()
    text = text.replace("- name: upper\n", "- name: upper\n  visuals: [{mesh: box.stl, scale: [0.1, 0.1, 0.1]}]\n")
    (tmp_path / "dressed.yaml").write_text(text)
    dressed = pliant.load(tmp_path / "dressed.yaml")
    assert dressed.links[0].visuals[0].mesh == "box.stl"
    assert dressed.paths() == arm.paths()
    assert pliant.load(tmp_path / "arm.yaml").digest() == arm.digest()


@pytest.mark.parametrize("given", [{}, {"sphere": 0.1, "mesh": "a.stl"}])
def test_a_visual_is_one_thing(given: dict) -> None:
    with pytest.raises(ValueError, match="expected one of mesh, box, cylinder, sphere"):
        Visual(**given)


RED = [1.0, 0.0, 0.0]


def dressed_run() -> pliant.Result:
    arm = pliant.load("two-link")
    looks = Visual(box=[0.3, 0.2, 0.2], origin={"xyz": [0.2, 0, 0]}, color=RED)
    rigid = [
        link.model_copy(update={"shapes": None, "visuals": (looks,)}) if link.beam is not None else link
        for link in arm.links
    ]
    return pliant.simulate(arm.model_copy(update={"links": tuple(rigid)}).model(), 0.1)


def red(picture: np.ndarray) -> int:
    """Pixels that are, in light or in shade."""
    r, g, b = (picture[..., k].astype(int) for k in range(3))
    return int(((r > 90) & (r > 3 * g) & (r > 3 * b)).sum())


@pytest.mark.full
def test_the_page_shows_them(tab, tmp_path: Path) -> None:
    tab.page.goto(dressed_run().to_html(tmp_path / "run.html").as_uri())
    tab.until("globalThis.pliantView && pliantView.ready")
    tab.page.wait_for_timeout(300)
    assert red(tab.picture("#view")) > 2000
    assert tab.troubles == []


def test_movies_show_them(tmp_path: Path) -> None:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    from pliant.viewer.scenes.scene import scene_of
    from pliant.viewer.video_drawing import FrameDrawing

    figure = Figure(figsize=(3, 3))
    canvas = FigureCanvasAgg(figure)
    FrameDrawing(figure.add_axes((0, 0, 1, 1)), scene_of(dressed_run(), 2), ghost=False).show(0)
    canvas.draw()
    assert red(np.asarray(canvas.buffer_rgba())) > 2000
