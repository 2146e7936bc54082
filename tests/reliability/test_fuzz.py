"""2,000 wrong files of every kind that is read, and wrong calls of every public function; a few of each every day.

Whatever comes out is a sound object or a `PliantError` with words in it, within ten seconds and a gigabyte; NumPy's
warnings count as errors, and files with a digest give what was written or are refused. A failure names its kind and
seed, which `one(kind, seed, folder)` plays again.
"""

from __future__ import annotations

import functools
import random
import warnings
from pathlib import Path

import pytest

import pliant
from pliant.robot.files.yaml import MOST_BYTES

from . import calls as public_calls
from .calls import BASES, RECORDS, Call, public, wrong_call
from .judge import verdict
from .readers import READERS

SHARES = {**dict.fromkeys(READERS, 2000), "equations": 400, "call": 1500}
"""Inputs of each kind."""
FIRST = {"robot": 80, "equations": 10, "scenario": 40, "sweep": 14, "identify": 30, "table": 70, "urdf": 60, "side": 20,
         "result": 5, "batch": 5, "call": 60, "packed_table": 30, "run_table": 10, "trajectory": 15, "body": 8,
         "bare_body": 12, "arm_with_body": 4, "matrices": 12, "calculix": 12, "nastran": 1, "mesh": 12, "surface": 4,
         "drawn_mesh": 30, "drawn_arm": 10, "stored_run": 1, "stored_batch": 1, "journal": 30, "fit": 30, "object": 30,
         "manifest": 20, "upload": 3, "recording": 6, "linked": 2}  # fmt: skip
"""Those of them that the default set tries."""
CHUNK = 100
OF_FILES = 1000
"""Files that one process tries; what it imports first takes as long as reading a few hundred."""


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where wrong input leaves its files: relative paths in it lead nowhere else."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@functools.cache
def _table(folder: Path) -> dict[str, Call]:
    return public_calls.calls(folder)


def one(kind: str, seed: int, folder: Path) -> str | None:
    """Try one input; None if the answer is good."""
    rng = random.Random(f"{kind} {seed}")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("error", RuntimeWarning)
        if kind == "call":
            table = _table(folder)
            return verdict(lambda: wrong_call(rng, table))
        return verdict(lambda: READERS[kind](rng, folder))


def _try(kind: str, seeds: range, folder: Path) -> None:
    faults = {seed: fault for seed in seeds if (fault := one(kind, seed, folder)) is not None}
    listed = "\n\n".join(f"{kind} {seed}: {fault}" for seed, fault in faults.items())
    assert not faults, f"{len(faults)} of {len(seeds)} inputs:\n{listed}"


@pytest.mark.parametrize("kind", SHARES)
def test_wrong_input(kind: str, place: Path) -> None:
    """The first few."""
    _try(kind, range(FIRST[kind]), place)


@pytest.mark.full
@pytest.mark.random
@pytest.mark.parametrize(("kind", "start"), [(k, s) for k in ("equations", "call") for s in range(0, SHARES[k], CHUNK)])
def test_wrong_input_many(kind: str, start: int, place: Path) -> None:
    """The rest, of what is computed."""
    _try(kind, range(max(start, FIRST[kind]), start + CHUNK), place)


@pytest.mark.full
@pytest.mark.random
@pytest.mark.parametrize("start", range(0, 2000, OF_FILES))
@pytest.mark.parametrize("kind", [kind for kind in READERS if kind != "equations"])
def test_wrong_files_many(kind: str, start: int) -> None:
    """The rest, of what is read, where memory and processor time are bounded by the system."""
    pytest.importorskip("resource", reason="a system that bounds no process")
    from .trials import faults_of

    faults = faults_of(kind, range(start, start + OF_FILES))
    assert not faults, "\n\n".join(f"{kind} {seed}: {fault}" for seed, fault in faults.items())


def test_every_kind_has_its_share() -> None:
    assert set(SHARES) == set(FIRST) == {*READERS, "call"}
    assert min(SHARES[kind] for kind in READERS if kind != "equations") >= 2000


def test_every_public_function_is_called(place: Path) -> None:
    """With sound arguments each call goes well (or finds no such file): so it is the nonsense that is refused."""
    table = _table(place)
    missing = set(public()) - set(table)
    assert not missing, f"not tried with wrong arguments: {sorted(missing)}; add them to calls.py"
    assert set(public()).isdisjoint(RECORDS | BASES)


@pytest.mark.full
def test_sound_calls_go_well(place: Path) -> None:
    pytest.importorskip("control", reason="the control extra is not installed")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, call in _table(place).items():
            if name not in ("Result.load", "Scenario.load"):
                call.function(**call.arguments)


def test_the_judge_can_fail() -> None:
    def broken() -> None:
        raise KeyError("x")

    def silent() -> None:
        raise pliant.PliantError("no")

    def endless() -> None:
        while True:
            pass

    assert "KeyError" in str(verdict(broken))
    assert "says nothing" in str(verdict(silent))
    assert "hang" in str(verdict(endless, 0.2))
    assert verdict(lambda: None) is None


# --------------------------------------------------------------------------------------------- absurd sizes


@pytest.mark.parametrize("links", [1001, 1_000_000])
def test_endless_chains_are_refused_soon(tmp_path: Path, links: int) -> None:
    """A million links: as a file too large to be one, as data too many to be an arm."""
    link = {"name": "a", "rigid": {"mass": 1.0}}

    def as_data() -> None:
        with pytest.raises(pliant.ModelError, match="1 to 1000 links"):
            pliant.Robot.from_dict({"name": "long", "links": [link] * links})

    path = tmp_path / "long.yaml"
    path.write_text("name: long\nlinks:\n" + "- {name: a, rigid: {mass: 1}}\n" * links)

    def as_file() -> None:
        words = "larger than" if path.stat().st_size > MOST_BYTES else "1 to 1000 links"
        with pytest.raises(pliant.ModelError, match=words):
            pliant.load(path)

    assert verdict(as_data, 2.0) is None
    assert verdict(as_file, 5.0) is None


def test_a_long_urdf_is_refused_soon(tmp_path: Path) -> None:
    count = 1200
    links = "".join(f'<link name="l{k}"/>' for k in range(count + 1))
    joints = "".join(
        f'<joint name="j{k}" type="fixed"><parent link="l{k}"/><child link="l{k + 1}"/></joint>' for k in range(count)
    )
    path = tmp_path / "long.urdf"
    path.write_text(f'<robot name="long">{links}{joints}</robot>')

    def load() -> None:
        with pytest.raises(pliant.ModelError, match="at most 1000"):
            pliant.load(path)

    assert verdict(load) is None


# --------------------------------------------------------------------------------- the bounds of memory and time


@pytest.mark.full
def test_bounds_end_what_goes_beyond_them() -> None:
    """One file takes two gigabytes, one never ends in machine code; those behind them are tried all the same."""
    pytest.importorskip("resource", reason="a system that bounds no process")
    from .trials import faults_of

    faults = faults_of("beyond", range(6))
    assert faults.keys() == {1, 3}
    assert "MemoryError" in faults[1]
    assert "ended with -" in faults[3]
