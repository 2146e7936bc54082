"""Pipes, devices, sockets and folders in place of files: refused at once, by name; never waited for, never replaced."""

from __future__ import annotations

import os
import socket
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import pliant
from pliant import bodies
from pliant.base.reading import read_input
from pliant.batch import BatchResult
from pliant.errors import ModelError, PliantError
from pliant.identification import read_csv
from pliant.identification.study_file import IdentificationStudy
from pliant.sweeps import SweepStudy
from pliant.sweeps.journal import NAME, Journal

from . import sound
from .judge import watchdog

READERS: dict[str, tuple[str, Callable[[Path], Any]]] = {
    "robot": ("arm.yaml", pliant.load),
    "urdf": ("arm.urdf", pliant.load),
    "side": ("side.yaml", lambda path: pliant.load(_urdf(path.parent), flexible=path, tip="tool")),
    "scenario": ("case.yaml", pliant.Scenario.load),
    "robot of a scenario": ("arm.yaml", lambda path: _scenario(path)),
    "sweep": ("study.yaml", SweepStudy.load),
    "identify": ("study.yaml", IdentificationStudy.load),
    "table": ("data.csv", read_csv),
    "result": ("run.nc", pliant.Result.load),
    "batch": ("run.nc", BatchResult.load),
    "chunk of a batch": ("run.zarr", lambda path: _chunk(path)),
    "mesh of a body": ("bar.vtk", lambda path: _mesh(path)),
    "matrices of a body": ("bar.npz", lambda path: bodies.read_model(path, unit="m", mass_unit="kg")),
    "journal": (NAME, lambda path: Journal(path.parent, "x", ["energy"], 3)),
}


def _urdf(folder: Path) -> Path:
    path = folder / "arm.urdf"
    path.write_text(sound.URDF, encoding="utf-8")
    return path


def _scenario(robot: Path) -> None:
    path = robot.parent / "case.yaml"
    path.write_text(f"robot: {robot}\nduration: 1.0\n", encoding="utf-8")
    pliant.Scenario.load(path)


def _mesh(path: Path) -> None:
    pytest.importorskip("meshio", reason="the mesh extra is not installed")
    bodies.mesh_model(path, "steel", unit="m")


def _chunk(path: Path) -> None:
    """A folder in which what was asked for is one of the files."""
    strange = path.rename(path.with_name("strange"))
    path.mkdir()
    strange.rename(path / "0.0")
    BatchResult.load(path)


def _fifo(path: Path) -> None:
    os.mkfifo(path)


def _device(path: Path) -> None:
    path.symlink_to("/dev/zero")


def _socket(path: Path) -> None:
    here = os.open(".", os.O_RDONLY)
    os.chdir(path.parent)  # the address of a socket is short
    try:
        with socket.socket(socket.AF_UNIX) as s:
            s.bind(path.name)
    finally:
        os.fchdir(here)
        os.close(here)


KINDS = {"pipe": _fifo, "device": _device, "socket": _socket}


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="a system without pipes that have names")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("reader", READERS)
def test_only_regular_files_are_read(reader: str, kind: str, tmp_path: Path) -> None:
    if reader == "chunk of a batch":
        pytest.importorskip("zarr", reason="the zarr extra is not installed")
    name, read = READERS[reader]
    KINDS[kind](tmp_path / name)
    words = "expected a regular file" + {"pipe": "", "socket": "|cannot be read", "device": "|lies outside"}[kind]
    with watchdog(5.0), pytest.raises(ModelError, match=words):
        read(tmp_path / name)


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    (tmp_path / "arm.yaml").mkdir()
    for read in (pliant.load, read_csv, pliant.Result.load):
        with pytest.raises(ModelError, match="got a folder, expected a regular file"):
            read(tmp_path / "arm.yaml")


def test_size_has_a_limit(tmp_path: Path) -> None:
    path = tmp_path / "large"
    path.write_bytes(b"x" * 100)
    assert read_input(path, 100) == b"x" * 100
    with pytest.raises(ModelError, match="large: larger than"):
        read_input(path, 99)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="a system without pipes that have names")
def test_what_is_no_regular_file_is_not_replaced(tmp_path: Path) -> None:
    """Who may, would put a file in the place of /dev/null."""
    path = tmp_path / "arm.yaml"
    _fifo(path)
    with watchdog(5.0), pytest.raises(PliantError, match="got a pipe, expected a regular file"):
        pliant.load("two-link").save(path)
    assert stat.S_ISFIFO(path.stat().st_mode)
