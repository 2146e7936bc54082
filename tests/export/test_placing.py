"""Exports overwrite nothing unasked and leave nothing half-written."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

import pliant
from exported import model
from pliant.errors import ModelError, PliantError
from pliant.export import EXPORTS, export
from pliant.export.placing import placed, placed_file


@pytest.mark.parametrize("to", ["c", "python", "latex", "casadi", "cuda"])
def test_existing_folder_is_left_alone(to: str, tmp_path: Path) -> None:
    target = tmp_path / "out"
    target.mkdir()
    (target / "precious.txt").write_text("mine")
    with pytest.raises(PliantError, match="exists already"):
        export(model("lagrange"), to, target)
    assert (target / "precious.txt").read_text() == "mine"
    options = {} if to == "latex" else {"functions": ["mass_matrix"]}
    export(model("lagrange"), to, target, force=True, **options)
    assert not (target / "precious.txt").exists()
    assert (target / "robot.yaml").is_file()
    assert list(tmp_path.iterdir()) == [target]


def test_failure_leaves_the_old_folder(tmp_path: Path) -> None:
    target = tmp_path / "out"
    target.mkdir()
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
