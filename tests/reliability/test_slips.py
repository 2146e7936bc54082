"""11,000 files in which something stands twice or a name is misspelt: refused, or read as the file that was meant."""

from __future__ import annotations

import random
import warnings
from pathlib import Path

import pytest

from .judge import verdict
from .slips import SLIPS

SHARES = {"robot": 3000, "scenario": 2500, "sweep": 1500, "identify": 1500, "urdf": 2500}
FIRST = {"robot": 25, "scenario": 20, "sweep": 15, "identify": 15, "urdf": 40}
"""Those of them that the default set tries."""
CHUNK = 250


def one(kind: str, seed: int, folder: Path) -> str | None:
    """None if the slip is refused with words, or read as what was meant; else what is wrong."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        done, read, meant = SLIPS[kind](random.Random(f"slip {kind} {seed}"), folder)

        def attempt() -> None:
            if read() != meant:
                raise ArithmeticError("read as something else")

        fault = verdict(attempt)
    return None if fault is None else f"{done}\n{fault}"


def _try(kind: str, seeds: range, folder: Path) -> None:
    faults = {seed: fault for seed in seeds if (fault := one(kind, seed, folder)) is not None}
    listed = "\n".join(f"{kind} {seed}: {fault}" for seed, fault in list(faults.items())[:10])
    assert not faults, f"{len(faults)} of {len(seeds)}:\n{listed}"


@pytest.mark.parametrize("kind", SLIPS)
def test_slips(kind: str, tmp_path: Path) -> None:
    """The first few."""
    _try(kind, range(FIRST[kind]), tmp_path)


@pytest.mark.full
@pytest.mark.random
@pytest.mark.parametrize(("kind", "start"), [(k, s) for k, n in SHARES.items() for s in range(0, n, CHUNK)])
def test_slips_many(kind: str, start: int, tmp_path: Path) -> None:
    """The rest."""
    _try(kind, range(max(start, FIRST[kind]), start + CHUNK), tmp_path)


def test_more_than_ten_thousand() -> None:
    assert sum(SHARES.values()) >= 10_000
    assert set(SHARES) == set(SLIPS)
