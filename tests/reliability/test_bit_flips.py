"""Saved files with one bit flipped or a block lost: what loads has the numbers that were saved, all else is refused.

1,000 flips of every format, of which the default set tries thirty. A failure names its seed.
"""

from __future__ import annotations

import functools
import json
import random
import shutil
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pliant
from pliant.batch import BatchResult, simulate_batch
from pliant.identification import read_csv
from pliant.sweeps.journal import Journal
from pliant.sweeps.points import Outcomes

from . import sound
from .judge import verdict

FLIPS, SAMPLE, BLOCKS, CHUNK = 1000, 30, 50, 250
Numbers = dict[str, Any]


@dataclass(frozen=True)
class Format:
    """How a format is written, and what is read back from it."""

    write: Callable[[Path], Any]
    read: Callable[[Path], Numbers]


def _run(path: Path) -> Numbers:
    run = pliant.Result.load(path)
    arrays = {
        name: getattr(run, name) for name in ("t", "q", "qd", "qdd", "work", "tau", "power_residual", "parameters")
    }
    return {**arrays, "robot": run.robot.digest(), "options": run.options, "stats": run.stats, "versions": run.versions}


def _batch(path: Path) -> Numbers:
    b = BatchResult.load(path)
    names = ("t", "q", "qd", "work", "parameters", "status", "ended", "limit", "steps", "refused")
    found = {name: np.array(getattr(b, name)) for name in names}
    facts = {"robot": b.model.robot.digest(), "options": b.model.options, "stats": b.stats, "names": b.parameter_names}
    b.dataset.close()
    return found | facts


def _zarr(path: Path) -> None:
    sound.result().dataset.to_zarr(path, zarr_format=2)


def _stored(path: Path) -> None:
    run = sound.result()
    simulate_batch(
        run.model, 0.05, np.tile(run.q[0], (3, 1)), p=np.array([[0.5], [1.0], [2.0]]), step=1e-3, output_step=0.01,
        work=True, store=path,
    )  # fmt: skip


HEAD = ("digest of a study", ["peak", "energy"], 40)


def _journal(folder: Path) -> None:
    folder.mkdir()
    journal = Journal(folder, *HEAD)
    rng = np.random.default_rng(3)
    for k in range(0, 40, 4):
        points = [k, k + 1, k + 2]
        journal.record(Outcomes(points, {name: rng.normal(size=3).tolist() for name in HEAD[1]}, {k + 3: "broke down"}))
    journal.close()


def _points(folder: Path) -> Numbers:
    journal = Journal(folder, *HEAD)
    journal.close()
    found = [(o.points, o.metrics, o.failed) for o in journal.outcomes]
    return {"outcomes": found, "metrics": np.array([list(o.metrics.values()) for o in journal.outcomes])}


def _same_points(a: Numbers, b: Numbers) -> bool:
    """What lost its end is dropped, and its points run again."""
    return bool(a["outcomes"] == b["outcomes"][: len(a["outcomes"])])


FORMATS = {
    "run.nc": Format(lambda path: sound.result().save(path), _run),
    "run.zarr": Format(_zarr, _run),
    "run.csv": Format(lambda path: sound.result().to_csv(path), read_csv),
    "batch.nc": Format(lambda path: sound.batch().save(path), _batch),
    "stored.nc": Format(_stored, _batch),
    "stored.zarr": Format(_stored, _batch),
    "journal": Format(_journal, _points),
}


@functools.cache
def _whole(name: str, folder: Path) -> tuple[Path, Numbers]:
    path = folder / name
    FORMATS[name].write(path)
    return path, FORMATS[name].read(path)


def same(a: Numbers, b: Numbers) -> bool:
    """Equal to the bit."""
    return a.keys() == b.keys() and all(
        x.dtype == b[key].dtype and x.shape == b[key].shape and x.tobytes() == b[key].tobytes()
        if isinstance(x, np.ndarray) and isinstance(b[key], np.ndarray)
        else bool(x == b[key])
        for key, x in a.items()
    )


def _files(path: Path) -> list[Path]:
    return sorted(p for p in path.rglob("*") if p.is_file()) if path.is_dir() else [path]


def _spoil(rng: random.Random, path: Path, block: int) -> None:
    """One bit flipped, or `block` bytes zeroed, somewhere in a file or a folder of files."""
    files = _files(path)
    chosen = rng.choices(files, [p.stat().st_size for p in files])[0]
    raw = bytearray(chosen.read_bytes())
    place = rng.randrange(len(raw))
    if block:
        raw[place : place + block] = bytes(len(raw[place : place + block]))
    else:
        raw[place] ^= 1 << rng.randrange(8)
    chosen.write_bytes(raw)


def damage(name: str, seed: int, folder: Path, block: int = 0) -> str | None:
    """None if a damaged copy is refused, or loads with the numbers of the whole one; else what is wrong."""
    whole, meant = _whole(name, folder)
    spoilt = folder / f"spoilt{Path(name).suffix}"
    shutil.rmtree(spoilt) if spoilt.is_dir() else spoilt.unlink(missing_ok=True)
    shutil.copytree(whole, spoilt) if whole.is_dir() else shutil.copy(whole, spoilt)
    _spoil(random.Random(f"{name} {seed} {block}"), spoilt, block)

    def attempt() -> None:
        if not (_same_points if name == "journal" else same)(FORMATS[name].read(spoilt), meant):
            raise ArithmeticError("loads with other numbers")

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return verdict(attempt)


def _all(name: str, seeds: range, folder: Path, block: int = 0) -> None:
    faults = {seed: fault for seed in seeds if (fault := damage(name, seed, folder, block)) is not None}
    listed = "\n".join(f"{name} {seed}: {fault}" for seed, fault in list(faults.items())[:10])
    assert not faults, f"{len(faults)} of {len(seeds)}:\n{listed}"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("saved")


def _there(name: str) -> None:
    if name.endswith(".zarr"):
        pytest.importorskip("zarr", reason="the zarr extra is not installed")


@pytest.mark.slow_cases("run.zarr")
@pytest.mark.parametrize("name", FORMATS)
def test_flipped_bits_never_change_numbers(name: str, place: Path) -> None:
    _there(name)
    _all(name, range(SAMPLE), place)


@pytest.mark.full
@pytest.mark.random
@pytest.mark.parametrize(("name", "start"), [(name, k) for name in FORMATS for k in range(0, FLIPS, CHUNK)])
def test_a_thousand_flipped_bits(name: str, start: int, place: Path) -> None:
    _there(name)
    _all(name, range(max(start, SAMPLE), start + CHUNK), place)


@pytest.mark.full
@pytest.mark.random
@pytest.mark.parametrize("name", FORMATS)
def test_lost_blocks(name: str, place: Path) -> None:
    """512 bytes of zeros, as a disk leaves them."""
    _there(name)
    _all(name, range(BLOCKS), place, block=512)


@pytest.mark.parametrize("name", FORMATS)
def test_the_judge_sees_another_number(name: str, place: Path) -> None:
    _there(name)
    _, meant = _whole(name, place)
    key = next(key for key, value in meant.items() if isinstance(value, np.ndarray) and value.size > 1)
    other = meant[key].copy()
    other.flat[0] = other.flat[0] + 1 if other.dtype.kind == "i" else np.nextafter(other.flat[0], np.inf)
    assert not same({**meant, key: other}, meant)
    assert same(dict(meant), meant)


def test_sizes_that_no_file_holds_are_refused_before_they_are_read(tmp_path: Path) -> None:
    """A time axis of 10^15 entries in the metadata of a Zarr folder."""
    _there("run.zarr")
    path = tmp_path / "run.zarr"
    _zarr(path)
    for file in (path / ".zmetadata", path / "time" / ".zarray"):
        text = json.loads(file.read_text(encoding="utf-8"))
        (text["metadata"]["time/.zarray"] if "metadata" in text else text)["shape"] = [10**15]
        file.write_text(json.dumps(text), encoding="utf-8")
    with pytest.raises(pliant.ModelError, match="more than its files can hold"):
        pliant.Result.load(path)
