"""Files that programs and other people write, and what reads them: bodies, meshes, tables, saved runs, records.

Of each kind: the sound files, what is damaged of them, what reads them and uses what was read. What carries a digest
must come back as it was, or be refused.
"""

from __future__ import annotations

import functools
import gzip
import io
import json
import os
import random
import re
import sys
import tempfile
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

import pliant
from pliant import bodies
from pliant.batch import BatchResult, simulate_batch
from pliant.compute.llvm import cache
from pliant.errors import ModelError
from pliant.export import placing
from pliant.identification import read_csv
from pliant.identification.resuming import FitProgress
from pliant.identification.study_file import IdentificationStudy
from pliant.mechanics.bodies.mesh_reading import read_solid_mesh
from pliant.robot.files.mesh_files import read_mesh
from pliant.robot.files.urdf_meshes import urdf_meshes
from pliant.robot.files.yaml import write_yaml
from pliant.robot.parts.bodies.reduced_body import ReducedBody
from pliant.studio.file_panel import uploaded
from pliant.sweeps import SweepStudy
from pliant.sweeps.journal import Journal
from pliant.sweeps.points import Outcomes
from pliant.validation.recording_file import RecordingFile

from . import sound
from .file_damage import damaged, hostile_surroundings

Files = dict[str, bytes]


@dataclass(frozen=True)
class FileKind:
    """Files by name, how they are read, and what must be true of what is read.

    Attributes
    ----------
    files : function
        Sound files by their names in a folder.
    read : function
        Reads those of a folder; what it returns is compared where `digest` says so.
    digest : bool
        Whether damage is noticed: what is read is what the sound files give.
    spared : str
        Names of files that stay sound, as a pattern.
    alone : bool
        Whether no other file may be opened, whatever this one says.
    variants : bool
        Whether each folder of `files` is a way of its own to write the same, of which one is drawn.
    needs : tuple of str
        Packages without which nothing is read.
    """

    files: Callable[[], Files]
    read: Callable[[Path], Any]
    digest: bool = False
    spared: str = ""
    alone: bool = True
    variants: bool = False
    needs: tuple[str, ...] = ()

    @property
    def installed(self) -> bool:
        return all(find_spec(name) is not None for name in self.needs)

    @functools.cached_property
    def ways(self) -> list[Files]:
        """Sound files, each time they are written another way."""
        found = self.files()
        if not self.variants:
            return [found]
        ways = sorted({name.split("/")[0] for name in found})
        return [{k.removeprefix(f"{way}/"): v for k, v in found.items() if k.startswith(f"{way}/")} for way in ways]

    @functools.cached_property
    def meant(self) -> Any:
        """What the sound files give."""
        with tempfile.TemporaryDirectory() as folder:
            return self.read_sound(Path(folder))

    def read_sound(self, folder: Path) -> Any:
        """Read all without damage; the last that was read."""
        return [self.read(self._put(folder, files)) for files in self.ways][-1]

    def __call__(self, rng: random.Random, folder: Path) -> None:
        """One damage, drawn; raises what must not be."""
        if not self.installed:
            return
        files = rng.choice(self.ways)
        open_to_damage = [name for name in files if not (self.spared and re.search(self.spared, name))]
        files = dict(files)
        for name in rng.sample(open_to_damage, min(len(open_to_damage), rng.choice([1, 1, 1, 2]))):
            files[name] = damaged(rng, files[name], name, inside=not self.digest)
        meant = self.meant if self.digest else None
        work = self._put(folder, files)
        with opened_outside(work) as strange:
            found = self.read(work)
        if self.alone and strange:
            raise AssertionError(f"opened {strange}")
        if self.digest and not same(found, meant):
            raise ArithmeticError("loads with other content")

    @staticmethod
    def _put(folder: Path, files: Files) -> Path:
        """The files in a new folder inside, among what hostile paths lead to."""
        work = Path(tempfile.mkdtemp(dir=folder)) / "files"
        work.mkdir()
        hostile_surroundings(work)
        for name, content in files.items():
            (work / name).parent.mkdir(parents=True, exist_ok=True)
            (work / name).write_bytes(content)
        return work


class opened_outside:
    """Names of files that Python opens and that `hostile_surroundings` and the system have for strangers' paths."""

    folders: list[tuple[str, list[str]]] = []
    hooked = False

    def __init__(self, work: Path) -> None:
        self.work = os.path.realpath(work)

    def __enter__(self) -> list[str]:
        if not opened_outside.hooked:  # a hook stays for the life of the process
            sys.addaudithook(_note)
            opened_outside.hooked = True
        found: list[str] = []
        opened_outside.folders.append((self.work, found))
        return found

    def __exit__(self, *_: Any) -> None:
        opened_outside.folders.pop()


def _note(event: str, arguments: tuple[Any, ...]) -> None:
    if event == "open" and opened_outside.folders and isinstance(arguments[0], str | os.PathLike):
        work, found = opened_outside.folders[-1]
        name = os.fspath(arguments[0])
        if not isinstance(name, str):
            return
        strangers = (os.path.join(os.path.dirname(work), "secret.txt"), "/etc/passwd", "/dev/zero")
        if os.path.abspath(os.path.join(work, name)) in strangers or os.path.abspath(name) in strangers:
            found.append(name)


def same(a: Any, b: Any) -> bool:
    """Equal, arrays to the bit."""
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(same(a[key], b[key]) for key in a)
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
    return bool(a == b)


def _finite(**arrays: Any) -> None:
    for name, array in arrays.items():
        assert np.isfinite(np.asarray(array)).all(), f"{name} is not finite"


# ------------------------------------------------------------------------------------------------------- tables


def _members(content: bytes) -> bytes:
    """Packed by gzip in two members."""
    half = content.index(b"\n", len(content) // 2) + 1
    return gzip.compress(content[:half], 6, mtime=0) + gzip.compress(content[half:], 6, mtime=0)


def _table() -> Files:
    return {"data.csv.gz": _members(sound.measured())}


def _read_table(work: Path) -> Any:
    found = read_csv(work / "data.csv.gz")
    _finite(**found)
    return found


def _run_table() -> Files:
    with tempfile.TemporaryDirectory() as folder:
        return {"run.csv": sound.result().to_csv(Path(folder) / "run.csv").read_bytes()}


def _trajectory() -> Files:
    move = pliant.planning.JointMotion(
        ("upper", "fore"), np.linspace(0.0, 0.4, 5), np.linspace(0, 1, 10).reshape(5, 2), np.ones((5, 2))
    )
    with tempfile.TemporaryDirectory() as folder:
        to = Path(folder)
        table, text = move.to_csv(to / "move.csv").read_bytes(), move.to_ros(to / "move.yaml").read_bytes()
    return {"table/move.csv": table, "packed/move.csv.gz": _members(table), "ros/move.yaml": text}


def _read_trajectory(work: Path) -> None:
    found = pliant.planning.read_trajectory(next(work.glob("move.*")))
    assert (np.diff(found.t) > 0).all()
    _finite(t=found.t, q=found.q)
    with np.errstate(over="ignore", invalid="ignore"):  # a path through 1e300 is one
        found.at(found.t[:3])


# ------------------------------------------------------------------------------------------- bodies and meshes


@functools.cache
def _bar() -> Any:
    return bodies.brick_mesh([0.0, 0.1, 0.2], [0.0, 0.01], [0.0, 0.01])


def _body() -> Files:
    made = bodies.from_mesh(_bar(), "aluminium", "x = 0", "x = 0.2", unit="m", modes=1)
    return {"body.npz": made._packed(compressed=True)}


def _bare_body() -> Files:
    """Without its digest, as another program writes it."""
    with np.load(io.BytesIO(_body()["body.npz"])) as archive:
        entries = {name: archive[name] for name in archive.files if name != "digest"}
    packed = io.BytesIO()
    np.savez(packed, **entries)
    return {"body.npz": packed.getvalue()}


def _read_body(work: Path) -> Any:
    found = ReducedBody.read(work / "body.npz")
    assert found.mass > 0
    _finite(mass=found.mass, stiffness=found.stiffness, products=found.products, gram=found.gram)
    assert (np.linalg.eigvalsh(found.second) >= -1e-9 * np.abs(found.second).max()).all()
    return found.digest


def _arm_with_body() -> Files:
    link = {"name": "bar", "body": {"file": "body.npz", "damping": 0.01}, "joint": {"axis": [0, 0, 1]}}
    return {**_body(), "arm.yaml": write_yaml({"name": "arm", "links": [link]}).encode()}


def _read_arm(work: Path) -> None:
    arm = pliant.load(work / "arm.yaml")
    arm.save(work / "again.yaml")
    assert pliant.load(work / "again.yaml") == arm


def _network() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Corners and middle of a box, and stiffness and mass of springs between all of them."""
    nodes = np.array([[x, y, z] for x in (0, 1) for y in (0, 1) for z in (0, 1)] + [[0.4, 0.5, 0.6]], dtype=float)
    K, one = np.zeros((27, 27)), np.eye(9)
    for i, j in combinations(range(9), 2):
        along = nodes[i] - nodes[j]
        stretch = np.kron(one[i] - one[j], along / np.linalg.norm(along))
        K += 1e3 * np.outer(stretch, stretch)
    return nodes, K, np.diag(np.repeat(np.arange(1.0, 10.0), 3))


def _matrices() -> Files:
    nodes, K, M = _network()
    arrays: dict[str, Any] = {"nodes": nodes, "set_root": np.arange(4), "triangles": np.array([[0, 1, 2], [1, 2, 3]])}
    for name, matrix in (("K", K), ("M", M)):
        rows, columns = np.nonzero(matrix)
        arrays |= {f"{name}_data": matrix[rows, columns], f"{name}_indices": columns.astype(np.int32),
                   f"{name}_indptr": np.searchsorted(rows, np.arange(28)).astype(np.int32)}  # fmt: skip
    packed = io.BytesIO()
    np.savez(packed, **arrays)
    return {"bar.npz": packed.getvalue()}


def _calculix() -> Files:
    nodes, K, M = _network()
    lines = [
        "*HEADING",
        "** a box",
        "*NODE, NSET=ALL",
        *(f"{k + 1}, {x}, {y}, {z}" for k, (x, y, z) in enumerate(nodes)),
    ]
    lines += ["*NSET, NSET=ROOT, GENERATE", "1, 4, 1", "*NSET, NSET=TIP", "5, 6, 7, 8", "*NSET, NSET=BOTH", "ROOT, TIP"]
    files = {"box.inp": lines, "box.dof": [f"{k + 1}.{axis}" for k in range(9) for axis in (1, 2, 3)]}
    for ending, matrix in (("sti", K), ("mas", M)):
        files[f"box.{ending}"] = [f"{i + 1} {j + 1} {matrix[i, j]:.12g}" for i, j in zip(*np.nonzero(np.tril(matrix)))]
    return {name: "\n".join(lines).encode() + b"\n" for name, lines in files.items()}


def _nastran() -> Files:
    nodes, K, M = _network()
    grids = [f"GRID,{k + 1},,{x},{y},{z}" for k, (x, y, z) in enumerate(nodes)]
    deck = ["$ a box", "SOL 103", "CEND", "BEGIN BULK", *grids, "SET1,7,1,2,3,4", "ENDDATA", ""]
    return {"box.bdf": "\n".join(deck).encode(), "box.op4": _op4({"KGG": K, "MGG": M})}


def _op4(matrices: dict[str, np.ndarray]) -> bytes:
    """Text form of OP4: columns of 27 numbers, three to a line."""
    lines = []
    for name, matrix in matrices.items():
        lines.append(f"{27:8d}{27:8d}{6:8d}{2:8d}{name:8s}1P,3E23.16")
        for k, column in enumerate(matrix.T):
            lines.append(f"{k + 1:8d}{1:8d}{27:8d}")
            lines += ["".join(f"{x:23.16E}" for x in column[i : i + 3]) for i in range(0, 27, 3)]
        lines += [f"{28:8d}{1:8d}{1:8d}", f"{1.0:23.16E}"]
    return ("\n".join(lines) + "\n").encode()


def _read_matrices(file: str, matrices: str | None = None) -> Callable[[Path], Any]:
    def read(work: Path) -> Any:
        model = bodies.read_model(work / file, None if matrices is None else work / matrices, unit="m", mass_unit="kg")
        _finite(nodes=model.nodes, K=model.stiffness.data, M=model.mass.data)
        with np.errstate(all="ignore"):
            bodies.reduce_model(model, "x = 0", "x = 1", unit="m", modes=1)

    return read


def _meshes(*endings: str) -> Callable[[], Files]:
    """A box, cut into five tetrahedra, or its surface, as meshio writes it."""

    def files() -> Files:
        import meshio

        points = np.array([[x, y, z] for z in (0.0, 0.2) for y in (0.0, 0.03) for x in (0.0, 0.02)])
        tetra = np.array([[0, 1, 2, 4], [3, 2, 1, 7], [5, 1, 4, 7], [6, 4, 2, 7], [1, 2, 4, 7]])
        faces = np.sort(tetra[:, [[0, 1, 2], [0, 1, 3], [0, 2, 3], [1, 2, 3]]].reshape(-1, 3), axis=1)
        unique, count = np.unique(faces, axis=0, return_counts=True)
        made = {"hexahedron": np.array([[0, 1, 3, 2, 4, 5, 7, 6]]), "tetra": tetra, "triangle": unique[count == 1]}
        found = {}
        with tempfile.TemporaryDirectory() as folder:
            for name in endings:
                kind, ending = name.split()
                options = dict(_WRITTEN.get(ending, {}))
                path = Path(folder) / f"bar.{options.pop('ending', ending)}"
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    meshio.Mesh(points, [(kind, made[kind])]).write(path, **options)
                for one in sorted(Path(folder).iterdir()):
                    found[f"{ending}/{one.name}"] = one.read_bytes()
                    one.unlink()
        return found

    return files


_WRITTEN: dict[str, dict[str, Any]] = {
    "msh-text": {"ending": "msh", "file_format": "gmsh", "binary": False},
    "msh-binary": {"ending": "msh", "file_format": "gmsh", "binary": True},
    "msh22": {"ending": "msh", "file_format": "gmsh22", "binary": False},
    "msh22-binary": {"ending": "msh", "file_format": "gmsh22", "binary": True},
    "vtk-text": {"ending": "vtk", "binary": False},
    "vtk-old": {"ending": "vtk", "file_format": "vtk42", "binary": True},
    "vtu-text": {"ending": "vtu", "binary": False},
    "stl-text": {"ending": "stl", "binary": False},
}


def _read_mesh(work: Path) -> None:
    found = read_solid_mesh(next(path for path in sorted(work.glob("bar.*")) if path.suffix not in (".h5", ".ele")))
    _finite(points=found.points)
    assert found.cells.size
    assert 0 <= found.cells.min() <= found.cells.max() < len(found.points)


def _drawn() -> Files:
    corners = np.array([[x, y, z] for x in (0.0, 0.1) for y in (0.0, 0.2) for z in (0.0, 0.3)])
    faces = np.array([[0, 1, 3], [0, 3, 2], [4, 6, 7], [4, 7, 5], [0, 4, 5], [0, 5, 1], [2, 3, 7], [2, 7, 6]])
    text = ["solid box"]
    record = np.zeros(len(faces), np.dtype([("floats", "<f4", (12,)), ("attribute", "<u2")]))
    record["floats"][:, 3:] = corners[faces].reshape(-1, 9)
    for face in faces:
        vertices = [f"vertex {x} {y} {z}" for x, y, z in corners[face]]
        text += ["facet normal 0 0 1", "outer loop", *vertices, "endloop", "endfacet"]
    obj = ["mtllib box.mtl", "o box", *(f"v {x} {y} {z}" for x, y, z in corners), "vn 0 0 1"]
    obj += [f"f {a + 1}//1 {b + 1}/1/1 {c - 8}" for a, b, c in faces]
    return {
        "text/box.stl": "\n".join([*text, "endsolid box", ""]).encode(),
        "binary/box.stl": bytes(80) + len(faces).to_bytes(4, "little") + record.tobytes(),
        "obj/box.obj": "\n".join([*obj, ""]).encode(),
    }


def _read_drawn(work: Path) -> None:
    points, faces = read_mesh(next(work.glob("box.*")))
    _finite(points=points)
    assert len(faces)
    assert 0 <= faces.min() <= faces.max() < len(points)


def _drawn_arm() -> Files:
    """Arms whose links are drawn from files, as YAML and as URDF."""
    drawn = _drawn()
    meshes = {"box.stl": drawn["binary/box.stl"], "box.obj": drawn["obj/box.obj"]}
    link = {"name": "bar", "rigid": {"mass": 1.0, "com": [0.1, 0, 0], "inertia": [0.1, 0.1, 0.1]},
            "visuals": [{"mesh": "box.stl", "scale": [1, 2, 1]}, {"mesh": "box.obj"}]}  # fmt: skip
    mesh = '<visual><geometry><mesh filename="box.stl" scale="1 1 2"/></geometry></visual></link>'
    urdf = sound.URDF.replace("</link>", mesh, 1)
    return {
        **{f"yaml/{name}": content for name, content in meshes.items()},
        **{f"urdf/{name}": content for name, content in meshes.items()},
        "yaml/arm.yaml": write_yaml({"name": "arm", "links": [link]}).encode(), "urdf/arm.urdf": urdf.encode(),
    }  # fmt: skip


def _read_drawn_arm(work: Path) -> None:
    path = next(work.glob("arm.*"))
    pliant.load(path)
    if path.suffix == ".urdf":
        urdf_meshes(path)


# -------------------------------------------------------------------------------- runs, records and what is named


def _stored(write: Callable[[Path], Any]) -> Callable[[], Files]:
    """A folder of files."""

    def files() -> Files:
        with tempfile.TemporaryDirectory() as folder:
            write(Path(folder) / "run.zarr")
            paths = sorted(path for path in Path(folder).rglob("*") if path.is_file())
            return {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}

    return files


def _store_batch(path: Path) -> None:
    run = sound.result()
    starts, masses = np.tile(run.q[0], (2, 1)), np.array([[0.5], [1.0]])
    simulate_batch(run.model, 0.02, starts, p=masses, step=1e-3, output_step=0.01, store=path)


def _read_run(work: Path) -> Any:
    run = pliant.Result.load(work / "run.zarr")
    return {"t": run.t, "q": run.q, "qd": run.qd, "robot": run.robot.digest(), "stats": str(run.stats)}


def _read_batch(work: Path) -> Any:
    batch = BatchResult.load(work / "run.zarr")
    found = {name: np.array(getattr(batch, name)) for name in ("t", "q", "qd", "parameters", "status")}
    batch.dataset.close()
    return found


HEAD = ("digest of a study", ["peak", "energy"], 40)


def _journal() -> Files:
    with tempfile.TemporaryDirectory() as folder:
        journal = Journal(Path(folder), *HEAD)
        for k in range(0, 12, 4):
            points = [k, k + 1, k + 2]
            journal.record(Outcomes(points, {name: [0.5, k, -1e-9] for name in HEAD[1]}, {k + 3: "broke down"}))
        journal.close()
        return {journal.path.name: journal.path.read_bytes()}


def _read_journal(work: Path) -> None:
    """What lost its end is dropped; all else is as it was."""
    journal = Journal(work, *HEAD)
    journal.close()
    known = [([k, k + 1, k + 2], [0.5, k, -1e-9], {k + 3: "broke down"}) for k in range(0, 12, 4)]
    for found in journal.outcomes:
        assert (found.points, found.metrics["peak"], found.failed) in known


FIT = {"attempt": 1, "stage": 2, "round": 3, "noise": [[0.1], [0.2]]}


def _fit() -> Files:
    with tempfile.TemporaryDirectory() as folder:
        progress = FitProgress(Path(folder) / "fit.json", "digest of a fit", 2)
        progress.best = (12.5, [[0.5]], np.array([0.3, 0.4]), "converged")
        progress.reached(np.array([0.1, -0.2]), FIT["noise"], **{k: v for k, v in FIT.items() if k != "noise"})  # type: ignore[arg-type]
        return {"fit.json": (Path(folder) / "fit.json").read_bytes()}


def _read_fit(work: Path) -> Any:
    found = FitProgress(work / "fit.json", "digest of a fit", 2)
    numbers = repr((found.attempt, found.stage, found.round, found.noise, found.best))
    return {"u": found.u, "rest": numbers}


KEY = "ab" * 32


def _object() -> Files:
    content = b"object code " * 40
    return {f"{cache.FOLDER}/{KEY}{cache.SUFFIX}": cache.MAGIC + cache._checksum(KEY, content) + content}


def _read_object(work: Path) -> bytes:
    before = os.environ.get("PLIANT_CACHE_DIR")
    os.environ["PLIANT_CACHE_DIR"] = str(work)
    try:
        found = cache.read(KEY)
    finally:
        os.environ.pop("PLIANT_CACHE_DIR") if before is None else os.environ.update(PLIANT_CACHE_DIR=before)
    if found is None:
        raise ModelError("the cache has nothing that can be trusted")
    return found


def _manifest() -> Files:
    listed = {"format": 1, "files": ["arm.yaml", "old.txt", "sub/old.txt"]}
    return {
        f"out/{placing.MANIFEST}": json.dumps(listed).encode(), "out/old.txt": b"old", "out/arm.yaml": b"old",
        "out/sub/old.txt": b"old", "out/notes/mine.txt": b"mine",
    }  # fmt: skip


def _replace_export(work: Path) -> None:
    """Files outside the folder stay, also behind a link, and so do those in it that nobody listed."""
    target, above = work / "out", work.parent / "secret.txt"
    if hasattr(os, "mkfifo"):  # links need no rights there
        (target / "link").symlink_to(work.parent)
    try:
        with placing.placed(target, force=True) as new:
            (new / "arm.yaml").write_text("new", encoding="utf-8")
    finally:
        assert above.exists(), "a file outside the folder was removed"
        assert (target / "notes" / "mine.txt").exists(), "a file of the user was removed"


def _uploads() -> Files:
    arm, scenario = sound.robots()["two-link"], sound.SCENARIO
    with tempfile.TemporaryDirectory() as folder:
        run = sound.result().save(Path(folder) / "run.nc").read_bytes()
    drawn = _drawn_arm()
    return {
        "robot/file.yaml": write_yaml(arm).encode(), "scenario/file.yaml": write_yaml(scenario).encode(),
        "urdf/file.urdf": drawn["urdf/arm.urdf"], "run/file.nc": run, "drawn/file.yml": drawn["yaml/arm.yaml"],
    }  # fmt: skip


def _upload(work: Path) -> None:
    path = next(work.glob("file.*"))
    with uploaded(path.name, path.read_bytes()) as (shelf, name):
        shelf.names()
        repr(shelf.read(name))


def _recording() -> Files:
    (run,) = sound.IDENTIFY["runs"]
    text = {**run, "skip": 0.01, "ringing": [[0.02, 0.06]], "method": "auto"}
    return {"run.yaml": write_yaml(text).encode(), "swing.csv": sound.measured()}


def _read_recording(work: Path) -> None:
    found = RecordingFile.load(work / "run.yaml").recording(sound.result().robot)
    _finite(t=found.t)


def _linked() -> Files:
    """Files that name others: a study its scenario, a scenario its robot, a URDF its side file."""
    case = {"duration": 0.01, "outputs": {"netcdf": None}}
    urdf = {"urdf": "arm.urdf", "flexible": "side.yaml", "tip": "tool"}
    trees = {
        "arm.yaml": sound.robots()["two-link"], "case.yaml": {"robot": "arm.yaml", **case}, "side.yaml": sound.SIDE,
        "other.yaml": {"robot": urdf, **case},
        "study.yaml": {"scenario": "case.yaml", "vary": {"payload.mass": [0.0, 0.5]}, "metrics": ["energy"]},
        "fit.yaml": {**sound.IDENTIFY, "robot": "arm.yaml"},
    }  # fmt: skip
    files = {name: write_yaml(tree).encode() for name, tree in trees.items()}
    return {**files, "arm.urdf": sound.URDF.encode(), "swing.csv": sound.measured()}


def _read_linked(work: Path) -> None:
    faults = []
    for read in (
        lambda: SweepStudy.load(work / "study.yaml").points(),
        lambda: pliant.Scenario.load(work / "other.yaml").start(),
        lambda: IdentificationStudy.load(work / "fit.yaml").recordings(),
    ):
        try:
            read()
        except pliant.PliantError as error:
            faults.append(error)
    if faults:
        raise faults[0]


def _read_run_table(work: Path) -> Any:
    """A table that lost its first line, and the digest with it, is a table of anybody."""
    found = read_csv(work / "run.csv")
    if not (work / "run.csv").read_bytes().startswith(b"# pliant"):
        raise ModelError("the digest went with the first line")
    return found


FILE_KINDS: dict[str, FileKind] = {
    "packed_table": FileKind(_table, _read_table),
    "run_table": FileKind(_run_table, _read_run_table, digest=True),
    "trajectory": FileKind(_trajectory, _read_trajectory, variants=True),
    "body": FileKind(_body, _read_body, digest=True, needs=("skfem",)),
    "bare_body": FileKind(_bare_body, _read_body, needs=("skfem",)),
    "arm_with_body": FileKind(_arm_with_body, _read_arm, alone=False, needs=("skfem",)),
    "matrices": FileKind(_matrices, _read_matrices("bar.npz")),
    "calculix": FileKind(_calculix, _read_matrices("box.inp")),
    "nastran": FileKind(_nastran, _read_matrices("box.bdf", "box.op4"), needs=("pyNastran",)),
    "mesh": FileKind(
        _meshes("tetra msh-text", "tetra msh-binary", "hexahedron msh22", "tetra msh22-binary", "tetra vtk",
                "hexahedron vtk-text", "tetra vtk-old", "tetra vtu", "hexahedron vtu-text", "tetra inp", "tetra bdf",
                "tetra mesh"),
        _read_mesh, variants=True, needs=("meshio",),
    ),
    "surface": FileKind(
        _meshes("triangle stl", "triangle stl-text", "triangle ply", "triangle obj", "triangle off"), _read_mesh,
        variants=True, needs=("meshio", "tetgen"),
    ),
    "drawn_mesh": FileKind(_drawn, _read_drawn, variants=True),
    "drawn_arm": FileKind(_drawn_arm, _read_drawn_arm, variants=True, alone=False),
    "stored_run": FileKind(
        _stored(lambda path: sound.result().dataset.to_zarr(path, zarr_format=2)), _read_run, digest=True,
        needs=("zarr",),
    ),
    "stored_batch": FileKind(_stored(_store_batch), _read_batch, digest=True, needs=("zarr",)),
    "journal": FileKind(_journal, _read_journal),
    "fit": FileKind(_fit, _read_fit, digest=True),
    "object": FileKind(_object, _read_object, digest=True),
    "manifest": FileKind(_manifest, _replace_export, spared="txt$|arm.yaml$"),
    "upload": FileKind(_uploads, _upload, variants=True),
    "recording": FileKind(_recording, _read_recording, alone=False),
    "linked": FileKind(_linked, _read_linked, alone=False),
}  # fmt: skip
