"""Meshes and matrices of strangers: nothing counted twice, no other file opened, no end without an answer."""

from __future__ import annotations

import builtins
import random
import re
import resource
import time
import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse

pytest.importorskip("skfem", reason="the mesh extra is not installed")
meshio: Any = pytest.importorskip("meshio", reason="the mesh extra is not installed")

from pliant.bodies import SolidMesh, from_mesh, mesh_model, read_model, reduce_model  # noqa: E402, I001
from nastran_files import write_op2  # noqa: E402
from pliant.errors import ModelError, PliantError  # noqa: E402
from pliant.mechanics.bodies import library_process as processes  # noqa: E402
from pliant.mechanics.bodies import library_tasks  # noqa: E402
from pliant.mechanics.bodies import body_surface  # noqa: E402
from pliant.mechanics.bodies.body_surface import as_triangles, drawn_surface, skin  # noqa: E402
from pliant.mechanics.bodies.closed_surfaces import closed_surface, filled  # noqa: E402
from pliant.mechanics.bodies.mesh_reading import MESH_FORMATS, check_one_file, read_solid_mesh  # noqa: E402
from pliant.mechanics.bodies.repeated_elements import without_repeats  # noqa: E402
from pliant.robot.parts.bodies.reduced_body import ReducedBody  # noqa: E402
from reliability.damage import torn  # noqa: E402
from solid_bars import LENGTH, bar, frame_model, quadratic  # noqa: E402

END = f"x = {LENGTH}"


def said(words: str) -> Any:
    """One line with these words."""
    return pytest.raises(ModelError, match=rf"\A[^\n]*{words}[^\n]*\Z")


def answer(attempt: Callable[[], object]) -> str:
    """The message by which an attempt was refused; none of one that was not."""
    try:
        attempt()
    except PliantError as error:
        return str(error)
    return ""


# ------------------------------------------------------------------------------------------- elements and nodes twice


def _with_copy(mesh: SolidMesh) -> SolidMesh:
    """The mesh and its copy, with nodes of their own, of which a group is."""
    n = len(mesh.points)
    groups = {"flange": mesh.groups["flange"] + n}
    return replace(
        mesh,
        points=np.concatenate([mesh.points] * 2),
        cells=np.concatenate([mesh.cells, mesh.cells + n]),
        groups=groups,
    )


TWICE: dict[str, Callable[[SolidMesh], SolidMesh]] = {
    "same": lambda mesh: replace(mesh, cells=np.concatenate([mesh.cells, mesh.cells])),
    "turned": lambda mesh: replace(
        mesh, cells=np.concatenate([mesh.cells, mesh.cells[:, [1, 2, 0, 3] if mesh.cells.shape[1] == 4 else
                                                              [1, 2, 3, 0, 5, 6, 7, 4]]])
    ),
    "copied": _with_copy,
}  # fmt: skip


@pytest.mark.parametrize("tetrahedra", [False, True])
@pytest.mark.parametrize("kind", TWICE)
def test_elements_that_stand_twice_count_once(kind: str, tetrahedra: bool) -> None:
    mesh = bar((3, 1, 1), tetrahedra=tetrahedra)
    count = len(mesh.cells)
    with pytest.warns(UserWarning, match=rf"bar.vtk: {count} of {2 * count} elements stand where others do; each is"):
        model = mesh_model(TWICE[kind](mesh), "steel", unit="m")
    expected = mesh_model(mesh, "steel", unit="m")
    assert model.mass.sum() == pytest.approx(expected.mass.sum(), rel=1e-12)
    assert sorted(model.groups["flange"]) == sorted(expected.groups["flange"])
    assert f"{count} of them repeated" in model.about


def test_elements_that_overlap() -> None:
    """Three at a face, or two on the same side of one; whole and bent meshes have none."""
    mesh = bar((4, 1, 1), tetrahedra=True)
    cells = mesh.cells
    other = np.array([[*cells[0][:3], cells[9][3]]])  # on a face of the first, inside of its neighbors
    with said(r"bar.vtk: elements overlap at \d+ faces, the first near \("):
        mesh_model(replace(mesh, cells=np.concatenate([cells, other])), "steel", unit="m")
    brick = bar((4, 1, 1))
    long = brick.cells[0].copy()
    far = brick.cells[1]
    long[np.isin(long, brick.cells[1])] = far[~np.isin(far, brick.cells[0])]
    with said(r"bar.vtk: elements overlap at \d+ faces"):
        mesh_model(replace(brick, cells=np.concatenate([brick.cells, long[None]])), "steel", unit="m")
    mesh_model(quadratic(mesh), "steel", unit="m")


def _bent(points: Any) -> Any:
    """Places of a bar that is twisted, tapered and bent, so that no face is flat."""
    x, y, z = points.T / LENGTH
    turn, thin = 0.9 * x, 1 + 0.4 * x
    y, z = thin * (y * np.cos(turn) - z * np.sin(turn)), thin * (y * np.sin(turn) + z * np.cos(turn))
    return LENGTH * np.stack([x - 0.5 * y * x, y + 4e-3 * x**2, z - 3e-3 * x**3], axis=1)


@pytest.mark.parametrize("shape", [lambda points: points, _bent])
@pytest.mark.parametrize("tetrahedra", [False, True])
@pytest.mark.parametrize("counts", [(2, 2, 1), (2, 2, 2), (1, 1, 3)])
def test_an_element_over_small_ones(counts: tuple[int, int, int], tetrahedra: bool, shape: Any) -> None:
    """With their corners, or with nodes of its own: no face is shared, so that faces tell nothing."""
    small, big = (bar(each, tetrahedra=tetrahedra) for each in (counts, (1, 1, 1)))
    n = len(small.points)
    points = shape(np.concatenate([small.points, big.points]))
    one = replace(small, points=points)
    corner = np.array([int(np.abs(small.points - point).sum(axis=1).argmin()) for point in big.points])
    assert np.allclose(small.points[corner], big.points)
    mesh_model(one, "steel", unit="m")
    for cells in (corner[big.cells], big.cells + n):
        with said(r"bar.vtk: elements overlap"), warnings.catch_warnings():
            warnings.filterwarnings("ignore", ".*nodes stand where others do")
            mesh_model(replace(one, cells=np.concatenate([small.cells, cells])), "steel", unit="m")


@pytest.mark.parametrize("tetrahedra", [False, True])
def test_a_copy_that_is_shifted(tetrahedra: bool) -> None:
    """Two meshes of one place, by a part of an element apart."""
    mesh = bar((4, 2, 2), tetrahedra=tetrahedra)
    points = np.concatenate([mesh.points, mesh.points + np.array([0.011, 0.002, 0.0013])])
    with said(r"bar.vtk: elements overlap, \d+ hold parts of others, the first near \("):
        mesh_model(replace(mesh, points=points, cells=np.concatenate([mesh.cells, mesh.cells + len(mesh.points)])),
                   "steel", unit="m")  # fmt: skip


@pytest.mark.random
@pytest.mark.parametrize("seed", range(6))
def test_sound_meshes_have_nothing_inside(seed: int) -> None:
    """Graded, twisted and sheared ones, with edges of any ratio, of both kinds and turned in space."""
    rng = np.random.default_rng(seed)
    mesh = bar((5, 3, 2), tetrahedra=bool(seed % 2))
    points = mesh.points.copy()
    inner = points + 0.02 * rng.normal(size=points.shape) * np.ptp(points, axis=0) / [5, 3, 2]
    for axis in range(3):  # a grading that keeps order
        low, size = inner[:, axis].min(), np.ptp(inner[:, axis])
        inner[:, axis] = low + size * ((inner[:, axis] - low) / size) ** rng.uniform(0.5, 2.0)
    turned = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    placed = _bent(inner) @ (turned * np.sign(np.linalg.det(turned))) * rng.choice([1e-3, 1.0])
    without_repeats(replace(mesh, points=placed))


def test_elements_that_are_too_unlike_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pliant.mechanics.bodies.repeated_elements.PAIRS", 3)
    monkeypatch.setattr("pliant.mechanics.bodies.repeated_elements.PAIRS_EACH", 0)
    with pytest.warns(UserWarning, match=r"bar.vtk: its elements are too unlike in shape to look for all that overlap"):
        without_repeats(bar((4, 1, 1)))


def test_nodes_at_one_place_are_told() -> None:
    """Two halves that touch and do not hold together are refused; one node that tears is told: it may be a slit."""
    mesh = bar((4, 1, 1))
    n, right = len(mesh.points), mesh.points[mesh.cells].mean(axis=1)[:, 0] > LENGTH / 2
    apart = mesh.cells + n * right[:, None]
    with pytest.warns(UserWarning, match="nodes stand where others do, 4 of 24, the first at"), said("into 2 pieces"):
        from_mesh(replace(mesh, points=np.concatenate([mesh.points] * 2), cells=apart), "steel", "x = 0", END, unit="m")
    torn_at = np.flatnonzero(np.isclose(mesh.points[:, 0], LENGTH / 2))[0]
    cells = np.where((mesh.cells == torn_at) & right[:, None], n, mesh.cells)
    with pytest.warns(UserWarning, match="nodes stand where others do, 1 of 21"):
        mesh_model(
            replace(mesh, points=np.append(mesh.points, mesh.points[[torn_at]], 0), cells=cells), "steel", unit="m"
        )


# ---------------------------------------------------------------------------------------------------- other files


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("bar.inp", "*NODE\n1, 0, 0, 0\n*INCLUDE, INPUT=secret.inp\n", r"`\*INCLUDE, INPUT=secret.inp` names another"),
        ("bar.inp", "*Node, nset=a, input = secret.txt\n", "names another file, which is not opened"),
        ("bar.inp", "*NODE\n1, 0, 0, 0\n*INCLUDE, FILE=secret.inp\n", r"`\*INCLUDE, FILE=secret.inp` names another"),
        ("bar.inp", "*NODE\n1, 0, 0, 0\n * include ,\r\nINPUT=secret.inp\n", r"`\* include ,` names another"),
        ("bar.inp", "*NODE\n1, 0, 0, 0\r*INCLUDE INPUT=a\r", r"`\*INCLUDE INPUT=a` names another"),
        ("bar.inp", "*NSET, NSET=a,\nB ,\n input = a.txt\n", r"`\*NSET, NSET=a, B , input = a.txt` names"),
        ("bar.bdf", "BEGIN BULK\n  include 'secret.bdf'\n", "`include 'secret.bdf'` names another file"),
        ("bar.xdmf", "<Xdmf/>", "got .xdmf, expected a mesh in one file, .avs, .*`meshio convert bar.xdmf bar.vtu`"),
        ("bar.xmf", "<Xdmf/>", "got .xmf, expected a mesh in one file"),
        ("bar.xml", "<dolfin/>", "got .xml, expected a mesh in one file"),
        ("bar.node", "1 3 0 0", "got .node, expected a mesh in one file"),
        ("bar", "1 2 3", "bar: got no ending, expected a mesh in one file"),
    ],
)  # fmt: skip
def test_files_that_name_others_are_not_read(tmp_path: Path, name: str, text: str, words: str) -> None:
    (tmp_path / name).write_text(text)
    with said(words):
        mesh_model(tmp_path / name, "steel", unit="m")


@pytest.mark.parametrize(
    "line", ["*INCLUDE, INPUT=/dev/zero", "*INCLUDE, FILE=/dev/zero", "*INCLUDE,\nINPUT=/dev/zero"]
)
def test_matrices_of_calculix_name_no_other_file(tmp_path: Path, line: str) -> None:
    (tmp_path / "job.inp").write_text(f"*NODE\n1, 0, 0, 0\n{line}\n")
    with said(f"`{re.escape(line.splitlines()[0])}` names another file"):
        read_model(tmp_path / "job.inp", unit="m", mass_unit="kg")


def test_lines_that_name_files_are_looked_for_in_proportion() -> None:
    """Keywords whose lines end in commas, and lines of data that do."""
    for text in ("*A,\n", "1,\n", "*A, B, C,\n1, 2,\n", " " * 20, ","):
        begun = time.process_time()
        check_one_file(b"*X,\n" + text.encode() * (200_000 // len(text)), "abaqus", "a.inp")
        assert time.process_time() < begun + 2


def test_a_reader_opens_no_other_file(tmp_path: Path) -> None:
    """As Abaqus files can ask for one: meshio opens it, the process in which it runs does not."""
    (tmp_path / "other.inp").write_text("*NODE\n1, 0, 0, 0\n")
    (tmp_path / "bar.inp").write_text("*INCLUDE, INPUT=other.inp\n")
    with said("asks for another file, 'other.inp'"):
        processes.in_process(
            "mesh", 100, wrong=str, missing=str, remedy="", files=[str(tmp_path / "bar.inp")], format="abaqus"
        )


@pytest.mark.full
@pytest.mark.parametrize("kind", ["link", "data", "virtual"])
def test_hdf5_files_with_data_in_others(tmp_path: Path, kind: str) -> None:
    import h5py

    mesh = bar((2, 1, 1), tetrahedra=True)
    path = tmp_path / "bar.med"
    meshio.write(path, meshio.Mesh(mesh.points, [("tetra", mesh.cells)]))
    assert read_solid_mesh(path).cells.shape == mesh.cells.shape
    (tmp_path / "secret").write_bytes(b"\0" * 80)
    with h5py.File(path, "a") as file:
        if kind == "link":
            file["stray"] = h5py.ExternalLink("other.h5", "/")
        elif kind == "data":
            file.create_dataset("stray", (10,), "f8", external=[(str(tmp_path / "secret"), 0, 80)])
        else:
            layout = h5py.VirtualLayout((10,), "f8")
            layout[:] = h5py.VirtualSource(str(tmp_path / "other.h5"), "x", (10,))
            file.create_virtual_dataset("stray", layout)
    words = "`/stray` is a link" if kind == "link" else "`/stray` has its values in another file"
    with said(f"bar.med: cannot be read as .med .med.: {words}"):
        read_solid_mesh(path)


def test_what_opens_files_is_imported_before_files_are_watched(monkeypatch: pytest.MonkeyPatch) -> None:
    """The reader of `.med` imports h5py, which may start `uname` at its first import, and that opens `/dev/null`."""
    imported: list[str] = []
    real = builtins.__import__

    def spied(name: str, *more: Any, **named: Any) -> Any:
        imported.append(name)
        return real(name, *more, **named)

    monkeypatch.setattr(builtins, "__import__", spied)
    library_tasks.TASKS["mesh"][0]()
    assert {"meshio", "h5py"} <= set(imported)


# -------------------------------------------------------------------------------------------------- bounds of a reader


@pytest.mark.full
def test_a_mesh_of_ansys_has_the_same_ending(tmp_path: Path) -> None:
    """Two formats end in `.msh`; the first letter says which it is, and one is asked."""
    (tmp_path / "bar.msh").write_text("(abc\n")
    with said("bar.msh: cannot be read as .msh .ansys."):
        read_solid_mesh(tmp_path / "bar.msh")


@pytest.mark.full
def test_a_reader_that_does_not_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Kratos' waits for a line that never comes."""
    monkeypatch.setattr(processes, "SECONDS", 1)
    (tmp_path / "bar.mdpa").write_text("Begin Nodes\n1 0 0 0\n")
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    with said("bar.mdpa: cannot be read as .mdpa .mdpa.: takes more than 1 s of processor time; is it damaged"):
        read_solid_mesh(tmp_path / "bar.mdpa")
    assert resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime < before + 10


@pytest.mark.full
def test_a_reader_that_takes_all_memory(tmp_path: Path) -> None:
    (tmp_path / "bar.inp").write_text("*NODE\n1, 0, 0, 0\n*NSET, NSET=a, GENERATE\n1, 2000000000, 1\n")
    with said("bar.inp: cannot be read as .inp .abaqus.: takes more than 1024 MiB of memory; is it damaged"):
        read_solid_mesh(tmp_path / "bar.inp")


@pytest.fixture(scope="module")
def sound_files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """A bar in every format that meshio writes, as tetrahedra, or else as the triangles around it."""
    folder, solid = tmp_path_factory.mktemp("sound"), bar((3, 1, 1), tetrahedra=True)
    kinds = [("tetra", solid.cells), ("triangle", as_triangles(skin(solid.cells)))]
    found: dict[str, bytes] = {}
    for ending, form in MESH_FORMATS.items():
        for cells in kinds:
            path = folder / f"bar{ending}"
            try:
                meshio.write(path, meshio.Mesh(solid.points, [cells]), file_format=form)
            except (Exception, SystemExit):  # each writer has its own words for what it cannot
                continue
            found.setdefault(ending, path.read_bytes())
    for form, binary in (("gmsh22", False), ("gmsh22", True), ("gmsh", False)):
        meshio.write(folder / "bar.msh", meshio.Mesh(solid.points, kinds[:1]), file_format=form, binary=binary)
        found[f"-{form}-{binary}.msh"] = (folder / "bar.msh").read_bytes()
    return found


@pytest.mark.full
@pytest.mark.random
@pytest.mark.parametrize("seed", range(0, 240, 8))
def test_damaged_meshes_end(sound_files: dict[str, bytes], tmp_path: Path, seed: int, monkeypatch: Any) -> None:
    """A mesh or one line, within the bounds of time and memory."""
    monkeypatch.setattr(processes, "SECONDS", 3)  # half a second is what most take
    for number in range(seed, seed + 8):
        rng = random.Random(number)
        ending = rng.choice(sorted(sound_files))
        path = tmp_path / f"bar{ending}"
        path.write_bytes(torn(rng, sound_files[ending]))
        words = answer(lambda path=path: read_solid_mesh(path))  # type: ignore[misc]
        assert "\n" not in words, ending
        assert "broke down" not in words, ending


# ------------------------------------------------------------------------------------------- matrices of other programs


@pytest.fixture(scope="module")
def arrays(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    path = mesh_model(bar((2, 1, 1)), "aluminium", unit="m").save(tmp_path_factory.mktemp("sound") / "bar.npz")
    return dict(np.load(path))


RECORD = np.zeros(3, dtype=[("a", "<i4")])
WRONG: dict[str, Callable[[Any], Any]] = {
    "0-d": lambda v: v.ravel()[0], "text": lambda v: v.astype(str), "records": lambda v: RECORD,
    "objects": lambda v: np.array([{}]), "complex": lambda v: v.astype(complex), "empty": lambda v: v[:0],
    "two dimensions": lambda v: v[None], "cut": lambda v: v[:-1], "nan": lambda v: np.full(v.shape, np.nan),
    "infinite": lambda v: np.full(v.shape, np.inf), "huge": lambda v: np.full(v.shape, 2**62),
    "too large": lambda v: np.full(v.shape, 2**64 - 1, dtype=np.uint64), "turned": lambda v: v[::-1],
    "negative": lambda v: -v, "half": lambda v: v + 0.5, "truth": lambda v: v.astype(bool),
}  # fmt: skip


@pytest.mark.parametrize("kind", WRONG)
def test_matrices_that_are_none(arrays: dict[str, Any], kind: str, tmp_path: Path) -> None:
    """Read and reduced, or refused in one line, whichever array is wrong."""
    for name, value in arrays.items():
        np.savez(tmp_path / "bar.npz", **{**arrays, name: WRONG[kind](value)})
        words = answer(lambda: _reduced(tmp_path / "bar.npz"))
        assert "\n" not in words, name
        assert not words or len(words) > 20, name


def _reduced(path: Path) -> ReducedBody:
    return reduce_model(read_model(path, unit="m", mass_unit="kg"), "x = 0", END, modes=1)


def test_interfaces_that_hold_every_node() -> None:
    with said("interfaces: they hold every node, so that nothing can bend"):
        reduce_model(mesh_model(bar((1, 1, 1)), "aluminium", unit="m"), "x < 0.15", "x > 0.15", modes=1)


def test_matrices_of_two_sizes(arrays: dict[str, Any], tmp_path: Path) -> None:
    small = mesh_model(bar((1, 1, 1)), "aluminium", unit="m").save(tmp_path / "small.npz")
    mass = {key: value for key, value in np.load(small).items() if key.startswith("M_")}
    np.savez(tmp_path / "bar.npz", **{**arrays, **mass})
    with said(r"bar.npz: mass has shape \(81, 81\), expected 3 or 6 rows and columns for each of 45 nodes"):
        read_model(tmp_path / "bar.npz", unit="m", mass_unit="kg")


def test_a_mass_matrix_without_energy(arrays: dict[str, Any], tmp_path: Path) -> None:
    np.savez(tmp_path / "bar.npz", **{**arrays, "M_data": -arrays["M_data"]})
    with said("mass: negative or zero in a shape"):
        _reduced(tmp_path / "bar.npz")


def test_matrices_that_are_packed_well(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A small file whose list of contents says that they are large."""
    monkeypatch.setattr("pliant.mechanics.bodies.matrix_files.UNPACKED_BASE", 1 << 20)
    np.savez_compressed(tmp_path / "bomb.npz", nodes=np.zeros(1 << 22, dtype=np.int8))
    with said("bomb.npz: larger than 1 MiB unpacked"):
        read_model(tmp_path / "bomb.npz", unit="m", mass_unit="kg")


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        (["*NSET, NSET=a, GENERATE", "1, 100000000000, 1"], "job.dof"),  # which is not there: the set was read
        (["*NSET, NSET=a, GENERATE", "1, 1" + 30 * "0" + ", 1"], "job.dof"),
        (["*NSET, NSET=a, GENERATE", "5, 1, -1"], "job.dof"),
        (["*NSET, NSET=a, GENERATE", "1, 5, 0"], "not an input of CalculiX"),
        (["*NSET, NSET=a, GENERATE", "1"], "not an input of CalculiX"),
        (["*NSET, NSET=a", "1, 2, a"] + ["a, a, a, a"] * 200, "job.dof"),
        (["*NSET, NSET=a", "1, 2, b", "*NSET, NSET=b", "a, 3"] * 100, "job.dof"),
    ],
)
def test_sets_of_calculix(lines: list[str], words: str, tmp_path: Path) -> None:
    nodes = [f"{k}, {k}, 0, 0" for k in range(1, 6)]
    (tmp_path / "job.inp").write_text("\n".join(["*NODE", *nodes, *lines]))
    with said(words):
        read_model(tmp_path / "job.inp", unit="m", mass_unit="kg")


@pytest.fixture(scope="module")
def calculix(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Nodes, list of rows and matrices of two triangles, as CalculiX leaves them."""
    model = mesh_model(bar((1, 1, 1)), "aluminium", unit="m")
    lines = ["*NODE", *(f"{k + 1}, {x!r}, {y!r}, {z!r}" for k, (x, y, z) in enumerate(model.nodes.tolist()))]
    found = {"inp": "\n".join(lines) + "\n"}
    found["dof"] = "".join(f"{k // 3 + 1}.{k % 3 + 1}\n" for k in range(model.size))
    for ending, matrix in (("sti", model.stiffness), ("mas", model.mass)):
        one = sparse.tril(matrix).tocoo()
        found[ending] = "".join(f"{i + 1} {j + 1} {v!r}\n" for i, j, v in zip(one.row, one.col, one.data.tolist()))
    return found


def _calculix_model(folder: Path, files: dict[str, str]) -> Any:
    for ending, text in files.items():
        (folder / f"job.{ending}").write_text(text, encoding="utf-8")
    return read_model(folder / "job.inp", unit="m", mass_unit="kg")


@pytest.mark.parametrize("ending", ["sti", "mas", "dof", "inp"])
def test_files_of_calculix_that_stand_twice(calculix: dict[str, str], tmp_path: Path, ending: str) -> None:
    """`cat job.mas job.mas` had twice the mass; so had a single line of it."""
    mass = _calculix_model(tmp_path, calculix).mass.sum() / 3
    assert mass == pytest.approx(mesh_model(bar((1, 1, 1)), "aluminium", unit="m").mass.sum() / 3, rel=1e-12)
    text = calculix[ending]
    words = {"inp": "job.inp: node .* stands 2 times", "dof": "job.dof: the list has .* entries that stand twice"}
    for added in (text, text.splitlines()[1] + "\n"):
        with said(words.get(ending, f"job.{ending}: the matrix has .* entries that stand twice")):
            _calculix_model(tmp_path, calculix | {ending: text + added})
    with said(words.get(ending, f"job.{ending}: the matrix has 1 entries that stand twice")):
        _calculix_model(tmp_path, calculix | {ending: text + text.splitlines()[1] + "\n"})


@pytest.mark.parametrize(
    ("ending", "old", "new"),
    [
        ("mas", "1 1 ", "1 1_0 "), ("sti", "1 1 ", "1 1 0_"), ("dof", "1.1\n", "1.1.1\n"),
        ("dof", "1.1\n", "\uff11.1\n"),
        ("dof", "2.1\n", "0_2.1\n"), ("inp", "\n2, ", "\n0_2, "), ("inp", ", 0.0\n", ", 0_0.0\n"),
        ("inp", ", 0.0\n", ", \uff10.0\n"), ("inp", "\n2, ", "\n\uff12, "),
    ],
)  # fmt: skip
def test_numbers_of_calculix(calculix: dict[str, str], tmp_path: Path, ending: str, old: str, new: str) -> None:
    """Without underscores and digits of other scripts, as in tables."""
    assert old in calculix[ending]
    with said(rf"\Ajob.{ending}: "):
        _calculix_model(tmp_path, calculix | {ending: calculix[ending].replace(old, new, 1)})


@pytest.mark.parametrize(
    ("lines", "held"),
    [
        (["*NSET, NSET=a,", "GENERATE", "2, 6, 2"], [1, 3, 5]), (["*NSET,", "NSET=a", "2, 6, 2"], [1, 5]),
        (["*NSET, NSET=a,", "2, 6"], [1, 5]), (["*NSET, NSET=a, GENERATE", "6, 2, -2"], [1, 3, 5]),
    ],
)  # fmt: skip
def test_keywords_go_on_behind_a_comma(
    calculix: dict[str, str], tmp_path: Path, lines: list[str], held: list[int]
) -> None:
    text = calculix["inp"] + "\n".join(lines) + "\n"
    assert _calculix_model(tmp_path, calculix | {"inp": text}).groups["a"].tolist() == held


@pytest.mark.parametrize("letter", "KM")
def test_arrays_with_entries_that_stand_twice(arrays: dict[str, Any], letter: str, tmp_path: Path) -> None:
    both = {f"{letter}_{part}": np.repeat(arrays[f"{letter}_{part}"], 2) for part in ("data", "indices")}
    np.savez(tmp_path / "bar.npz", **{**arrays, **both, f"{letter}_indptr": 2 * arrays[f"{letter}_indptr"]})
    with said(f"bar.npz: `{letter}` has {len(arrays[f'{letter}_data'])} entries that stand twice"):
        read_model(tmp_path / "bar.npz", unit="m", mass_unit="kg")
    turned = {f"{letter}_{part}": arrays[f"{letter}_{part}"].copy() for part in ("data", "indices")}
    for each in turned.values():  # an order of one's own is no fault
        each[:2] = each[1::-1]
    np.savez(tmp_path / "bar.npz", **{**arrays, **turned})
    read_model(tmp_path / "bar.npz", unit="m", mass_unit="kg")


def test_sets_of_calculix_that_name_too_much(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sets that hold all before them, or all nodes by ranges of their own, are bounded by the size of the file."""
    monkeypatch.setattr("pliant.mechanics.bodies.matrix_files.MOST_COPIES", 10_000)
    nodes = [f"{k}, {k}, 0, 0" for k in range(1, 301)]
    ranges = [line for k in range(300) for line in (f"*NSET, NSET=a{k}, GENERATE", f"1, {300 + k}")]
    chain = ["*NSET, NSET=b0", *(f"{k}," for k in range(1, 301))]
    chain += [line for k in range(1, 300) for line in (f"*NSET, NSET=b{k}", f"b{k - 1}, {k}")]
    for lines in (ranges, chain):
        (tmp_path / "job.inp").write_text("\n".join(["*NODE", *nodes, *lines]))
        with said("job.inp: its sets name .* by other sets and GENERATE; are they right"):
            read_model(tmp_path / "job.inp", unit="m", mass_unit="kg")


# ----------------------------------------------------------------------------------------- closed surfaces, and TetGen


def test_surfaces_that_are_two() -> None:
    """TetGen fills a cavity, whose mass nobody would see."""
    points, triangles = _surface()
    middle = points.mean(axis=0)
    both = np.concatenate([points, middle + 0.5 * (points - middle)])
    with said("box.stl: has 2 closed surfaces, expected one; a cavity would be filled"):
        closed_surface(both, np.concatenate([triangles, len(points) + triangles[:, ::-1]]), "box.stl")


def test_an_open_surface_is_named_where_it_is_open() -> None:
    points, triangles = _surface()
    whole = {tuple(sorted(edge)) for t in triangles[1:] for edge in ((t[0], t[1]), (t[1], t[2]), (t[2], t[0]))}
    left = triangles[0]
    with pytest.raises(ModelError) as caught:
        closed_surface(points, triangles[1:], "box.stl")
    place = [float(x) for x in str(caught.value).split("near (")[1].split(")")[0].split(",")]
    edges = [points[list(pair)].mean(axis=0) for pair in ((left[0], left[1]), (left[1], left[2]), (left[2], left[0]))]
    assert len(whole) > 3
    assert min(np.abs(edge - place).max() for edge in edges) < 1e-3 * np.ptp(points)


def test_a_corner_that_is_last_in_all_its_triangles_belongs_to_its_surface() -> None:
    points = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    faces = np.array([[0, 2, 1], [0, 1, 3], [1, 2, 3], [2, 0, 3]])
    assert len(closed_surface(points, faces, "corner.stl")[1]) == 4


def test_a_fine_surface_is_thinned_and_stays_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Points of one cell of a grid become one of them; what is left has two triangles at every edge."""
    model = mesh_model(bar((40, 8, 8)), "steel", unit="m")
    whole, _ = drawn_surface(model, 1)
    monkeypatch.setattr(body_surface, "MOST_NUMBERS", 9 * len(whole) // 3)
    vertices, triangles = drawn_surface(model, 1)
    assert 20 < len(vertices) <= len(whole) // 3
    assert set(vertices) <= set(whole)
    assert triangles.shape == (len(triangles), 3)
    assert len(closed_surface(model.nodes[vertices], triangles, "thin.stl")[1]) == len(triangles)
    np.testing.assert_allclose(np.ptp(model.nodes[vertices], axis=0), np.ptp(model.nodes, axis=0), rtol=0.3)


def test_sizes_of_elements_that_nobody_can_hold() -> None:
    points, triangles = _surface()
    with said("size: got 1e-06, which asks for .* tetrahedra in box.stl; give a larger one"):
        filled(points, triangles, "box.stl", 1e-6)


def _surface() -> tuple[Any, Any]:
    mesh = bar((3, 1, 1))
    return closed_surface(mesh.points, as_triangles(skin(mesh.cells)), "box.stl")


@pytest.mark.full
@pytest.mark.random
@pytest.mark.parametrize("seed", range(0, 200, 8))
def test_damaged_surfaces_are_filled_or_refused(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """By TetGen, which may crash or loop over them; what it fills has the volume that the surface encloses."""
    pytest.importorskip("tetgen", reason="the tetgen extra is not installed")
    monkeypatch.setattr(processes, "SECONDS", 3)
    for number in range(seed, seed + 8):
        points, triangles = _damaged_surface(random.Random(number))
        found: list[Any] = []
        words = answer(lambda p=points, t=triangles, f=found: f.append(_filled(p, t)))  # type: ignore[misc]
        assert "\n" not in words, number
        for volume, enclosed in found:
            assert volume == pytest.approx(enclosed, rel=1e-3), number


def _filled(points: Any, triangles: Any) -> tuple[float, float]:
    """Volume of the tetrahedra in a surface, and what the surface encloses if its triangles all face one way."""
    points, triangles = closed_surface(points, triangles, "box.stl")
    nodes, cells = filled(points, triangles, "box.stl", None)
    a, b, c = (points[triangles[:, k]] for k in range(3))
    volume = np.abs(np.linalg.det(nodes[cells[:, 1:]] - nodes[cells[:, :1]])).sum() / 6
    return float(volume), float(abs(np.einsum("ij,ij->", a, np.cross(b, c)))) / 6


def _damaged_surface(rng: random.Random) -> tuple[Any, Any]:
    """A bar with points moved, merged, flattened, scaled, on a line, in another order; or twice."""
    points, triangles = (array.copy() for array in _surface())
    noise = np.random.default_rng(rng.randrange(1 << 30))
    for _ in range(rng.choice([1, 1, 2, 3])):
        one, other, kind = rng.randrange(len(points)), rng.randrange(len(points)), rng.randrange(8)
        if kind == 0:
            points[one] += noise.normal(size=3) * rng.choice([1e-9, 1e-3, 0.05, 1.0, 1e6])
        elif kind == 1:
            points[one] = points[other] * (1 + rng.choice([0.0, 1e-12, 1e-7, 1e-3]))
        elif kind == 2:
            points = points * [1.0, 1.0, rng.choice([0.0, 1e-9, 1e-6, 1e-3])]
        elif kind == 3:
            points = points + noise.normal(size=points.shape) * rng.choice([1e-9, 1e-4, 1e-2])
        elif kind == 4:
            points = points * rng.choice([1e-20, 1e-9, 1e9])
        elif kind == 5:
            triangles = np.concatenate([triangles, triangles + len(points)])
            points = np.concatenate([points, points + rng.choice([0.0, 1e-9, 1e-3, 0.01]) * noise.normal(size=3)])
        elif kind == 6:
            points[one] = points[0] + rng.random() * (points[1] - points[0])
        else:
            points = np.roll(points, 1, axis=0)
    return points, triangles


# ------------------------------------------------------------------------------------------------ files of Nastran


@pytest.mark.full
@pytest.mark.random
@pytest.mark.parametrize("ending", ["bdf", "op2", "op4"])
@pytest.mark.parametrize("seed", range(0, 200, 20))
def test_damaged_files_of_nastran(ending: str, seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    try:
        from pyNastran.bdf.bdf import BDF  # noqa: F401
        from pyNastran.op4.op4 import OP4
    except (ImportError, AttributeError):
        pytest.skip("pyNastran is not installed, or not for this NumPy")
    monkeypatch.setattr(processes, "SECONDS", 5)
    one = frame_model(4)
    cards = [
        f"GRID*   {k + 1:16d}{'':16s}{x:16.9E}{y:16.9E}\n*       {z:16.9E}" for k, (x, y, z) in enumerate(one.nodes)
    ]
    (tmp_path / "bar.bdf").write_text("\n".join([*cards, "SET1,7,1,2"]) + "\n")
    matrices = {"KGG": one.stiffness.toarray(), "MGG": one.mass.toarray()}
    write_op2(tmp_path / "bar.op2", matrices)
    forms = {name: (6, matrix) for name, matrix in matrices.items()}
    OP4(debug=None).write_op4(str(tmp_path / "bar.op4"), forms, is_binary=False)
    sound = (tmp_path / f"bar.{ending}").read_bytes()
    for number in range(seed, seed + 7):  # some take all their time
        (tmp_path / f"bar.{ending}").write_bytes(torn(random.Random(number), sound))
        other = tmp_path / f"bar.{'op4' if ending == 'bdf' else ending}"
        words = answer(lambda other=other: read_model(tmp_path / "bar.bdf", other, unit="m", mass_unit="kg"))  # type: ignore[misc]
        assert "\n" not in words, number
