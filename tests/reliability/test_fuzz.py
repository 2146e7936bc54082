"""10,000 wrong inputs: files of every kind and calls of every public function (394 of them in the default set).

Whatever comes out is a sound object or a `PliantError` with words in it, within ten seconds; NumPy's warnings count as
errors. A failure names its kind and seed, which `one(kind, seed)` plays again.
"""

from __future__ import annotations

import functools
import random
import warnings
from pathlib import Path

import pytest

import pliant
from pliant.robot.yaml_text import MOST_BYTES

from . import calls as public_calls
from .calls import BASES, RECORDS, Call, public, wrong_call
from .judge import verdict
from .readers import READERS

SHARES = {"robot": 1800, "equations": 400, "scenario": 1300, "sweep": 900, "identify": 900, "table": 1000, "urdf": 1000,
          "side": 600, "result": 400, "batch": 200, "call": 1500}  # fmt: skip
"""Inputs of each kind: ten thousand."""
FIRST = {"robot": 80, "equations": 10, "scenario": 40, "sweep": 14, "identify": 30, "table": 70, "urdf": 60, "side": 20,
         "result": 5, "batch": 5, "call": 60}  # fmt: skip
"""Those of them that the default set tries."""
CHUNK = 100


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
@pytest.mark.parametrize(("kind", "start"), [(k, s) for k, n in SHARES.items() for s in range(0, n, CHUNK)])
def test_wrong_input_many(kind: str, start: int, place: Path) -> None:
    """The rest."""
    _try(kind, range(max(start, FIRST[kind]), start + CHUNK), place)


def test_ten_thousand() -> None:
    assert sum(SHARES.values()) == 10_000
    assert set(SHARES) == {*READERS, "call"}


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
