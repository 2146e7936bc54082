"""Exports overwrite nothing unasked and leave nothing half-written."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

import pliant
from exported import model
from pliant.errors import ModelError, PliantError
from pliant.export import EXPORTS, export
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
    with pytest.raises(PliantError, match="cannot stand there"):
        write(target, "sub/b.c")
    (target / "b.c").symlink_to(other / "b.c")
    with pytest.raises(PliantError, match="was not written by an export"):
        write(target, "b.c")
    assert list(other.iterdir()) == []


@pytest.mark.parametrize(
    "text", ["", "{}", '{"files": 3}', '{"files": [3]}', '{"files": ["../x"]}', '{"files": ["/x"]}', "[" * 10**5]
)
def test_a_manifest_that_is_none(text: str, tmp_path: Path) -> None:
    target = tmp_path / "out"
    write(target, "a.c")
    (target / MANIFEST).write_text(text)
    (tmp_path / "x").write_text("mine")
    with pytest.raises(PliantError, match="choose another place, or remove it"):
        write(target, "a.c")
    assert (tmp_path / "x").read_text() == "mine"


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
    target = tmp_path / "out.fmu"
    target.write_text("old")
    with pytest.raises(PliantError, match="exists already"), placed_file(target, force=False):
        pass

    def fail() -> None:
        with placed_file(target, force=True) as inner:
            inner.write_text("new")
            raise RuntimeError("half way")

    with pytest.raises(RuntimeError, match="half way"):
        fail()
    assert target.read_text() == "old"
    with placed_file(target, force=True) as inner:
        inner.write_text("new")
    assert target.read_text() == "new"
    assert list(tmp_path.iterdir()) == [target]


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
    """A 16-dof arm with elastic drives: 65,000 operations, most of them in the linearisation."""
    m = pliant.load("lab-arm").model(stiffening=False)
    start = time.process_time()
    export(m, to, tmp_path / "out")
    assert time.process_time() - start < 10
