"""What is wrong with a mesh, a file or an interface is said in one line that names it."""

from __future__ import annotations

import struct
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("skfem", reason="the mesh extra is not installed")
meshio: Any = pytest.importorskip("meshio", reason="the mesh extra is not installed")

from pliant.bodies import Interface, SolidMesh, brick_mesh, from_mesh, mesh_model, reduce_model  # noqa: E402
from pliant.errors import ModelError  # noqa: E402
from pliant.robot.parts.materials import Material  # noqa: E402
from solid_bars import LENGTH, bar  # noqa: E402

END = f"x = {LENGTH}"


def said(words: str) -> Any:
    """One line with these words."""
    return pytest.raises(ModelError, match=rf"\A[^\n]*{words}[^\n]*\Z")


@pytest.fixture(scope="module")
def small() -> Any:
    return mesh_model(bar((4, 1, 1)), "aluminium", unit="m")


@pytest.mark.parametrize(
    ("root", "tip", "words"),
    [
        ("x < -1", END, "interface root: 'x < -1' catches no node; the mesh has x 0 to 0.4, y"),
        ("x = 0", "flnge", "interface tip: got 'flnge', expected a group .* did you mean `flange`"),
        ("x = 0", "box(1, 2, 3)", "interface tip: got 'box"),
        ("x = 0", "cylinder(0,0,0, 0,0,0, 1)", "interface tip: got 'cylinder"),
        ("x = 0", "x < 0.2", "interfaces root and tip: share nodes"),
        ("x = 0", f"{END} and y = 0.006", "interface tip: its 3 nodes lie on a line"),
    ],
)
def test_interfaces(small: Any, root: str, tip: str, words: str) -> None:
    with said(words):
        reduce_model(small, root, tip, modes=0)


def test_interfaces_by_group_box_and_cylinder(small: Any) -> None:
    """The same end of the bar in four words."""
    bodies = [
        reduce_model(small, "x = 0", where, modes=0)
        for where in (
            END, "flange", "box(0.39, -1, -1, 0.41, 1, 1)", "cylinder(0.39, 0, 0, 2, 0, 0, 0.02, 0.02)",
        )
    ]  # fmt: skip
    assert {body.digest for body in (replace(body, about="") for body in bodies)} == {
        replace(bodies[0], about="").digest
    }


@pytest.mark.parametrize(
    ("numbers", "words"),
    [
        ({"modes": -1}, "modes: got -1"),
        ({"modes": 1000}, "modes: got 1000"),
        ({"frequency": 0.0}, "frequency: got 0"),
        ({"damping": 1.0}, "damping: got 1"),
        ({"modes": 1, "frequency": 3.0}, "modes, frequency: got both"),
        ({"unit": "furlong"}, "unit: got 'furlong'"),
        ({"frames": {"tip": "x = 0.2"}}, "frames: `tip` has an argument of its own"),
    ],
)
def test_numbers(small: Any, numbers: dict[str, Any], words: str) -> None:
    with said(words):
        reduce_model(small, "x = 0", END, **numbers)


def test_inverted_and_flat_elements() -> None:
    mesh = bar((4, 1, 1), tetrahedra=True)
    turned = mesh.cells.copy()
    turned[5] = turned[5, [1, 0, 2, 3]]
    with said("bar.vtk: 1 of 24 elements are flat or inside out, the first near"):
        mesh_model(replace(mesh, cells=turned), "steel", unit="m")
    brick = bar((4, 1, 1))
    with said("bar.vtk: 4 of 4 elements are flat or inside out"):  # top and bottom exchanged in one corner
        mesh_model(replace(brick, cells=brick.cells[:, [4, 1, 2, 3, 0, 5, 6, 7]]), "steel", unit="m")
    flat = replace(mesh, points=mesh.points * [1.0, 1.0, 0.0])
    with said("elements are flat or inside out"):
        mesh_model(flat, "steel", unit="m")


def test_elements_that_are_all_numbered_the_other_way_are_the_same_body() -> None:
    mesh = bar((6, 1, 1), tetrahedra=True)
    other = replace(mesh, cells=mesh.cells[:, [1, 0, 2, 3]])
    one, two = (from_mesh(m, "steel", "x = 0", END, unit="m", modes=1) for m in (mesh, other))
    np.testing.assert_allclose(one.stiffness, two.stiffness, rtol=1e-9, atol=1e-3)

    def volume(body: Any) -> float:
        a, b, c = (body.vertices[body.triangles[:, k]] for k in range(3))
        return float(np.einsum("ij,ij->i", a, np.cross(b, c)).sum() / 6)

    assert volume(one) == pytest.approx(volume(two), rel=1e-9)
    assert volume(one) == pytest.approx(one.mass / 7850.0, rel=1e-3)  # seen from outside; places are rounded


def test_the_surface_is_closed_and_seen_from_outside() -> None:
    """Of hexahedra and tetrahedra: each edge once in either direction, and the volume inside is that of the bar."""
    from pliant.mechanics.bodies.body_surface import as_triangles, skin

    for tetrahedra in (False, True):
        mesh = bar((3, 2, 2), tetrahedra=tetrahedra)
        triangles = as_triangles(skin(mesh.cells))
        edges = [tuple(edge) for edge in triangles[:, [[0, 1], [1, 2], [2, 0]]].reshape(-1, 2)]
        assert len(set(edges)) == len(edges)
        assert {(b, a) for a, b in edges} == set(edges)
        a, b, c = (mesh.points[triangles[:, k]] for k in range(3))
        assert np.einsum("ij,ij->", a, np.cross(b, c)) / 6 == pytest.approx(LENGTH * 0.012 * 0.009)


def test_units_are_asked_for_and_suspected() -> None:
    with pytest.raises(TypeError, match="unit"):
        from_mesh(bar((4, 1, 1)), "steel", "x = 0", END)  # type: ignore[call-arg]
    millimetres = bar((4, 1, 1), (300.0, 10.0, 8.0))
    with pytest.warns(UserWarning, match=r"bar.vtk: 300 m long in all with the unit 'm'; is it in 'mm'\?"):
        mesh_model(millimetres, "steel", unit="m")
    assert mesh_model(millimetres, "steel", unit="mm").nodes.max() == pytest.approx(0.3)


def test_materials() -> None:
    with said("material: got 'aluminum', expected a known one, did you mean `aluminium`"):
        mesh_model(bar((4, 1, 1)), "aluminum", unit="m")
    with said("material cfrp: E / .* is 11, expected Poisson's ratio"):
        mesh_model(bar((4, 1, 1)), "cfrp", unit="m")
    assert mesh_model(bar((2, 1, 1)), Material(E=1e9, G=0.4e9, density=1000.0), unit="m").freedoms == 3


def test_stiffness_that_is_singular(small: Any) -> None:
    """Two pieces; bricks that touch in an edge alone; supports in the matrix; half of it."""
    apart = brick_mesh(np.linspace(0, 0.4, 9), [0, 0.02], [0, 0.02], lambda c: (c[:, 0] > 0.2) & (c[:, 0] < 0.25))
    with said("the mesh falls into 2 pieces"):
        from_mesh(apart, "steel", "x = 0", END, unit="m")
    hinge = brick_mesh([0, 0.2, 0.4], [-0.01, 0, 0.01], [0, 0.02], lambda c: (c[:, 0] > 0.2) == (c[:, 1] > 0))
    with said("stiffness: singular with the interfaces held"):
        from_mesh(hinge, "steel", "x = 0", "x = 0.1", unit="m")
    held = small.stiffness.copy()
    held[0, 0] += 1e9
    with said("stiffness: resists rigid motion"):
        reduce_model(replace(small, stiffness=held), "x = 0", END)
    from scipy import sparse

    with said("mass: expected a symmetric matrix"):
        replace(small, mass=sparse.triu(small.mass))
    lopsided = small.mass.copy()
    lopsided[0, 0] *= 1.5
    with said("mass: inertia in integrals and in the matrix differ"):
        reduce_model(replace(small, mass=lopsided), "x = 0", END)


# ---------------------------------------------------------------------------------------------------------- files


def written(mesh: SolidMesh, path: Path) -> Path:
    kind = {4: "tetra", 8: "hexahedron"}[mesh.cells.shape[1]]
    sets = dict(mesh.groups)
    meshio.write(path, meshio.Mesh(mesh.points, [(kind, mesh.cells)], point_sets=sets if path.suffix == ".inp" else {}))
    return path


@pytest.mark.parametrize(
    ("ending", "tetrahedra"), [(".vtk", False), (".inp", False), (".msh", True), (".bdf", True)]
)  # each is read in a process of its own
def test_files_give_the_same_body(tmp_path: Path, ending: str, tetrahedra: bool) -> None:
    mesh = bar((5, 1, 1), tetrahedra=tetrahedra)
    expected = from_mesh(mesh, "steel", "x = 0", END, unit="m", modes=1)
    path = written(mesh, tmp_path / f"bar{ending}")
    tip = "flange" if ending == ".inp" else END
    body = from_mesh(path, "steel", "x = 0", tip, unit="m", modes=1)
    np.testing.assert_allclose(body.stiffness, expected.stiffness, rtol=1e-6, atol=1.0)  # digits of the files
    assert body.about.startswith(f"bar{ending}: ")


def test_physical_groups_of_gmsh(tmp_path: Path) -> None:
    mesh = bar((4, 1, 1), tetrahedra=True)
    from pliant.mechanics.bodies.body_surface import skin

    faces = skin(mesh.cells)
    end = faces[np.isclose(mesh.points[faces][:, :, 0], LENGTH).all(axis=1)]
    whole = meshio.Mesh(
        mesh.points, [("triangle", end), ("tetra", mesh.cells)],
        cell_data={"gmsh:physical": [np.full(len(end), 7), np.full(len(mesh.cells), 1)],
                   "gmsh:geometrical": [np.full(len(end), 7), np.full(len(mesh.cells), 1)]},
        field_data={"bolted": np.array([7, 2]), "all": np.array([1, 3])},
    )  # fmt: skip
    meshio.write(tmp_path / "bar.msh", whole, file_format="gmsh22")
    one = from_mesh(tmp_path / "bar.msh", "steel", "x = 0", "bolted", unit="m", modes=1)
    two = from_mesh(mesh, "steel", "x = 0", END, unit="m", modes=1)
    np.testing.assert_allclose(one.stiffness, two.stiffness, rtol=1e-6, atol=1.0)


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("bar.msh", b"hello", "bar.msh: cannot be read as .msh"),
        (
            "bar.vtk",
            b"# vtk DataFile Version 3.0\nx\nASCII\nDATASET UNSTRUCTURED_GRID\nPOINTS 9 float\n0 0",
            "bar.vtk:",
        ),
        ("bar.stl", b"solid x\nendsolid x\n", "bar.stl:"),
        ("bar.xyz", b"1 2 3", "bar.xyz: got .xyz, expected a mesh in one file"),
    ],
)
def test_files_that_are_not_what_they_say(tmp_path: Path, name: str, text: bytes, words: str) -> None:
    (tmp_path / name).write_bytes(text)
    with said(words):
        from_mesh(tmp_path / name, "steel", "x = 0", END, unit="m")


def test_files_without_solids(tmp_path: Path) -> None:
    points = bar((1, 1, 1)).points
    meshio.write(tmp_path / "quads.vtk", meshio.Mesh(points, [("quad", np.array([[0, 1, 3, 2]]))]))
    with said("quads.vtk: got quad, expected tetrahedra, hexahedra, or a closed surface"):
        mesh_model(tmp_path / "quads.vtk", "steel", unit="m")
    meshio.write(tmp_path / "mixed.vtk", meshio.Mesh(points, [("tetra", np.array([[0, 1, 2, 4]])),
                                                              ("wedge", np.array([[0, 1, 2, 4, 5, 6]]))]))  # fmt: skip
    with said("mixed.vtk: got elements tetra, wedge; expected one kind"):
        mesh_model(tmp_path / "mixed.vtk", "steel", unit="m")
    with said("nowhere.msh: cannot be read: No such file"):
        mesh_model(tmp_path / "nowhere.msh", "steel", unit="m")


def stl(path: Path, mesh: SolidMesh, leave_out: int = 0) -> Path:
    """The skin of a mesh as binary STL."""
    from pliant.mechanics.bodies.body_surface import as_triangles, skin

    corners = mesh.points[as_triangles(skin(mesh.cells))][leave_out:]
    records = b"".join(struct.pack("<12fH", 0, 0, 0, *map(float, t.ravel()), 0) for t in corners)
    path.write_bytes(b"\0" * 80 + struct.pack("<I", len(corners)) + records)
    return path


def test_open_surfaces(tmp_path: Path) -> None:
    path = stl(tmp_path / "open.stl", bar((3, 1, 1)), leave_out=1)
    with said(r"open.stl: the surface is open: 3 edges do not have two triangles, one near \("):
        mesh_model(path, "steel", unit="m")


def test_surfaces_without_tetgen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "tetgen.py").write_text("raise ImportError")  # in the process that would use it
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(Exception, match=r"needs TetGen \(its license is the AGPL\); in the folder"):
        mesh_model(stl(tmp_path / "bar.stl", bar((3, 1, 1))), "steel", unit="m")


def test_closed_surfaces_are_filled(tmp_path: Path) -> None:
    pytest.importorskip("tetgen", reason="the tetgen extra is not installed")
    path = stl(tmp_path / "bar.stl", bar((8, 1, 1)))
    body = from_mesh(path, "steel", "x = 0", Interface(END), unit="m", modes=1)
    expected = from_mesh(bar((8, 1, 1)), "steel", "x = 0", END, unit="m", modes=1)
    assert body.mass == pytest.approx(expected.mass, rel=1e-6)
    np.testing.assert_allclose(body.frequencies[:2], expected.frequencies[:2], rtol=0.02)  # a coarse mesh
    finer = mesh_model(path, "steel", unit="m", size=0.006)
    assert finer.size > 2 * mesh_model(path, "steel", unit="m").size
