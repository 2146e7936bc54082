"""Exports overwrite nothing unasked and leave nothing half-written."""

from __future__ import annotations

import json
import shutil
import subprocess
import time
import zipfile
from pathlib import Path

import pytest

import pliant
from exported import model
from pliant.errors import ModelError, PliantError
from pliant.export import EXPORTS, export
from pliant.export.contents import TAKEN, identifier
from pliant.export.placing import MANIFEST, placed, placed_file


@pytest.mark.parametrize("to", ["c", "python", "latex", "casadi", "cuda"])
def test_files_of_others_stay(to: str, tmp_path: Path) -> None:
    """A folder that no export wrote is refused; of one that an export wrote, its own files are replaced."""
    target = tmp_path / "out"
    target.mkdir()
    (target / "precious.txt").write_text("mine")
    options = {} if to == "latex" else {"functions": ["mass_matrix"]}
    with pytest.raises(PliantError, match="exists already"):
        export(model("lagrange"), to, target, **options)
    with pytest.raises(PliantError, match="no export wrote"):
        export(model("lagrange"), to, target, force=True, **options)
    assert {path.name for path in target.iterdir()} == {"precious.txt"}
    (target / "precious.txt").unlink()
    export(model("lagrange"), to, target, force=True, **options)
    (target / "precious.txt").write_text("mine")
    (target / "robot.yaml").write_text("changed")
    export(model("lagrange"), to, target, force=True, **options)
    assert (target / "precious.txt").read_text() == "mine"
    assert (target / "robot.yaml").read_text() != "changed"
    assert list(tmp_path.iterdir()) == [target]


def write(target: Path, *names: str) -> None:
    with placed(target, force=True) as work:
        for name in names:
            (work / name).parent.mkdir(parents=True, exist_ok=True)
            (work / name).write_text("new")


def held(target: Path) -> set[str]:
    return {path.relative_to(target).as_posix() for path in target.rglob("*")} - {MANIFEST}


def test_files_that_an_export_no_longer_has_go(tmp_path: Path) -> None:
    target = tmp_path / "out"
    write(target, "a.c", "old/b.c", "shared/c.c")
    (target / "shared" / "mine.txt").write_text("mine")
    write(target, "a.c", "new/d.c")
    assert held(target) == {"a.c", "new", "new/d.c", "shared", "shared/mine.txt"}
    (target / "e.c").write_text("mine")
    with pytest.raises(PliantError, match=r"e\.c: was not written by an export"):
        write(target, "a.c", "e.c")
    assert held(target) == {"a.c", "new", "new/d.c", "shared", "shared/mine.txt", "e.c"}
    assert (target / "e.c").read_text() == "mine"


def test_links_in_a_folder_are_not_followed(tmp_path: Path) -> None:
    target, other = tmp_path / "out", tmp_path / "other"
    other.mkdir()
    write(target, "a.c")
    (target / "sub").symlink_to(other)
    with pytest.raises(PliantError, match="stands behind a link"):
        write(target, "sub/b.c")
    (target / "b.c").symlink_to(other / "b.c")
    with pytest.raises(PliantError, match="was not written by an export"):
        write(target, "b.c")
    assert list(other.iterdir()) == []


NO_LISTS = ["", "{}", '{"files": 3}', '{"files": "abc"}', '{"files": [3]}', "[" * 10**5, '{"files": {"a.c": 1}}']
NO_NAMES = [
    "../x",
    "/x",
    "",
    ".",
    "a.c/../../x",
    "b\0c",
    "\ud800",
    "C:\\\\x",
    "..\\\\x",
    "y" * 256,
    "y/" * 3000 + "y",
    "a\n",
]


@pytest.mark.parametrize("text", [*NO_LISTS, *(json.dumps({"files": ["a.c", name]}) for name in NO_NAMES)])
def test_a_manifest_that_is_none(text: str, tmp_path: Path) -> None:
    """It is refused before a file is placed."""
    target = tmp_path / "out"
    write(target, "a.c")
    (target / "a.c").write_text("old")
    (target / MANIFEST).write_text(text)
    (tmp_path / "x").write_text("mine")
    with pytest.raises(PliantError, match="choose another place, or remove it"):
        write(target, "a.c", "new.c")
    assert (tmp_path / "x").read_text() == "mine"
    assert held(target) == {"a.c"}
    assert (target / "a.c").read_text() == "old"


@pytest.mark.parametrize("name", ["lnk/important.txt", "sub/lnk/important.txt", "lnk/inner/only.txt"])
def test_a_forged_manifest_deletes_nothing_elsewhere(name: str, tmp_path: Path) -> None:
    """A folder of a stranger has a link, and its manifest lists what lies behind it."""
    target, victim = tmp_path / "out", tmp_path / "victim"
    (victim / "inner").mkdir(parents=True)
    for file in ("important.txt", "inner/only.txt"):
        (victim / file).write_text("mine")
    write(target, "a.c", "sub/b.c")
    (target / "lnk").symlink_to(victim)
    (target / "sub" / "lnk").symlink_to(victim)
    (target / "a.c").write_text("old")
    (target / MANIFEST).write_text(json.dumps({"format": 1, "files": ["a.c", name]}))
    with pytest.raises(PliantError, match="stands behind a link"):
        write(target, "a.c", "new.c")
    assert held(victim) == {"important.txt", "inner", "inner/only.txt"}
    assert (target / "a.c").read_text() == "old"
    assert not (target / "new.c").exists()


def test_a_manifest_that_is_a_link(tmp_path: Path) -> None:
    target = tmp_path / "out"
    write(target, "a.c")
    (target / MANIFEST).rename(tmp_path / "list.json")
    (target / MANIFEST).symlink_to(tmp_path / "list.json")
    with pytest.raises(PliantError, match="is a link"):
        write(target, "b.c")
    assert held(target) == {"a.c"}


def test_only_files_of_a_manifest_are_removed(tmp_path: Path) -> None:
    """Folders and links that stand where a file stood are those of others; the folder's own list stays."""
    target, other = tmp_path / "out", tmp_path / "other.txt"
    other.write_text("mine")
    write(target, "a.c", "b.c", "c.c", "d/e.c")
    for name in ("b.c", "c.c", "d/e.c"):
        (target / name).unlink()
    (target / "d").rmdir()
    (target / "b.c").mkdir()
    (target / "c.c").symlink_to(other)
    (target / "d").write_text("mine")
    (target / MANIFEST).write_text(json.dumps({"files": ["a.c", "b.c", "c.c", "d/e.c", MANIFEST]}))
    write(target, "new.c")
    assert held(target) == {"b.c", "c.c", "d", "new.c"}
    assert (target / MANIFEST).exists()
    assert other.read_text() == (target / "d").read_text() == "mine"


def test_failure_leaves_the_old_folder(tmp_path: Path) -> None:
    target = tmp_path / "out"
    write(target, "old.txt")
    (target / "old.txt").write_text("old")

    def fail() -> None:
        with placed(target, force=True) as work:
            (work / "new.txt").write_text("new")
            raise RuntimeError("half way")

    with pytest.raises(RuntimeError, match="half way"):
        fail()
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    assert (target / "old.txt").read_text() == "old"


def test_failure_leaves_the_old_file(tmp_path: Path) -> None:
    target, old = tmp_path / "out.urdf", "<!-- Old, written by pliant 0.1 -->"
    target.write_text(old)
    with pytest.raises(PliantError, match="exists already"), placed_file(target, force=False):
        pass

    def fail() -> None:
        with placed_file(target, force=True) as inner:
            inner.write_text("new")
            raise RuntimeError("half way")

    with pytest.raises(RuntimeError, match="half way"):
        fail()
    assert target.read_text() == old
    with placed_file(target, force=True) as inner:
        inner.write_text("new")
    assert target.read_text() == "new"
    assert list(tmp_path.iterdir()) == [target]


@pytest.mark.parametrize("to", ["urdf", "mjcf", "fmu"])
def test_a_file_of_others_stays(to: str, tmp_path: Path) -> None:
    """With `force` a file is replaced if an export wrote it, which it says itself, or if it is empty."""
    target, options = tmp_path / "arm.fmu", {"compilers": []} if to == "fmu" else {}
    arm = pliant.load("two-link").model() if to == "mjcf" else model("lagrange")
    description = f'<fmiModelDescription generationTool="other" description="{"pliant " * 9}"/>'
    with zipfile.ZipFile(tmp_path / "other.zip", "w") as archive:
        archive.writestr("modelDescription.xml", description)
    others = [b"precious", b'<robot name="written by pliant 1"/>', b"PK", (tmp_path / "other.zip").read_bytes()]
    for content in others:
        target.write_bytes(content)
        with pytest.raises(PliantError, match="was not written by an export and stays"):
            export(arm, to, target, force=True, **options)
        assert target.read_bytes() == content
    target.write_bytes(b"")
    export(arm, to, target, force=True, **options)
    written = target.read_bytes()
    assert written
    with pytest.raises(PliantError, match="exists already"):
        export(arm, to, target, **options)
    with placed_file(target, force=True) as inner:
        inner.write_bytes(written)


def test_links_are_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "out").symlink_to(tmp_path / "real")
    with pytest.raises(PliantError, match="neither"):
        export(model("lagrange"), "python", tmp_path / "out", force=True, functions=["bias"])


def test_unwritable_place_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(PliantError, match="file"):
        export(model("lagrange"), "python", tmp_path / "file" / "out", functions=["bias"])


def test_unknown_kind_is_named(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"got 'fortran', expected 'c', 'python'"):
        export(model("lagrange"), "fortran", tmp_path / "out")
    assert set(EXPORTS) == {"c", "python", "latex", "casadi", "cuda", "fmu", "urdf", "mjcf"}


@pytest.mark.full
@pytest.mark.parametrize("to", ["c", "python", "casadi"])
def test_twenty_thousand_operations_in_ten_seconds(to: str, tmp_path: Path) -> None:
    """A 16-dof arm with elastic drives: 65,000 operations, most of them in the linearization."""
    m = pliant.load("lab-arm").model(stiffening="off")
    start = time.process_time()
    export(m, to, tmp_path / "out")
    assert time.process_time() - start < 10


@pytest.mark.parametrize("name", ["time", "main", "linux", "std", "random", "typing", "numpy", "exp", "Link", "int"])
def test_names_that_others_have(name: str) -> None:
    """A robot gives its name to files, functions and a namespace: not that of a module or of the C library."""
    assert identifier(name) == f"{name.lower()}_"
    assert identifier("arm") == "arm"


@pytest.mark.skipif(shutil.which("g++") is None, reason="no C++ compiler")
@pytest.mark.full
def test_no_name_clashes_with_the_c_library() -> None:
    """A namespace of that name compiles behind the headers."""
    names = sorted({identifier(name) for name in TAKEN if "_" not in name})
    text = "#include <cmath>\n#include <cstdio>\n#include <cstdlib>\n#include <ctime>\n#include <unistd.h>\n"
    text += "".join(f"namespace {name} {{ const int n = 1; }}\n" for name in names)
    subprocess.run(["g++", "-x", "c++", "-fsyntax-only", "-"], input=text, text=True, check=True)
