"""Damaged, exchanged, planted and misplaced files in the cache of object code: always the bits of a run without one."""

from __future__ import annotations

import os
import shutil
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import pliant
from pliant.compute.llvm import cache, llvm

CASES = 200
QUICK = (7,)
"""That of `make test`: a planted kernel; tests/compute/llvm/test_object_cache.py has others, one kernel each."""
STATE = np.array([0.3, -0.4, 0.01, -0.02]), np.array([1.0, -2.0, 0.1, 0.2]), np.array([0.5, -0.3])
Random = np.random.Generator


def _bits() -> bytes:
    """Of an evaluation and a run, with kernels and stepping loops loaded or compiled anew."""
    llvm.compiled_loop.cache_clear()
    m = pliant.load("two-link").model()
    run = pliant.simulate(m, 0.02, STATE[0], torque=STATE[2], progress=False)
    return m.forward_dynamics(*STATE).tobytes() + run.q.tobytes() + run.qd.tobytes()


def _flip(path: Path, rng: Random) -> None:
    data = bytearray(path.read_bytes())
    data[rng.integers(len(data))] ^= 1 << int(rng.integers(8))
    path.write_bytes(data)


def _zero(path: Path, rng: Random) -> None:
    data = bytearray(path.read_bytes())
    start = int(rng.integers(len(data)))
    data[start : start + 512] = bytes(len(data[start : start + 512]))
    if path.read_bytes() == data:
        data[0] = 0
    path.write_bytes(data)


def _cut(path: Path, rng: Random) -> None:
    path.write_bytes(path.read_bytes()[: rng.integers(path.stat().st_size)])


def _lengthen(path: Path, rng: Random) -> None:
    path.write_bytes(path.read_bytes() + rng.bytes(int(rng.integers(1, 5000))))


def _noise(path: Path, rng: Random) -> None:
    path.write_bytes(cache.MAGIC + rng.bytes(path.stat().st_size))


def _exchange(path: Path, rng: Random) -> None:
    others = sorted(other for other in path.parent.iterdir() if other != path and other.is_file())
    path.write_bytes(others[rng.integers(len(others))].read_bytes())


def _plant(path: Path, rng: Random) -> None:
    """Another kernel's code with the right checksum, by a hand that may write the file."""
    others = sorted(other for other in path.parent.iterdir() if other != path and other.is_file())
    data = others[rng.integers(len(others))].read_bytes()[len(cache.MAGIC) + 32 :]
    cache.write(path.stem, data)
    path.chmod(0o666)


def _plant_in_an_open_folder(path: Path, rng: Random) -> None:
    _plant(path, rng)
    path.chmod(0o600)
    path.parent.chmod(0o777)


def _pipe(path: Path, rng: Random) -> None:
    path.unlink()
    os.mkfifo(path)


def _folder(path: Path, rng: Random) -> None:
    path.unlink()
    path.mkdir()


def _link(path: Path, rng: Random) -> None:
    path.unlink()
    path.symlink_to(["/dev/zero", "/nowhere", str(path), "/dev/full"][rng.integers(4)])


def _remove(path: Path, rng: Random) -> None:
    path.unlink()


def _file_instead_of_the_folder(path: Path, rng: Random) -> None:
    for one in path.parent.iterdir():
        one.unlink()
    path.parent.rmdir()
    path.parent.write_bytes(rng.bytes(100))


DAMAGE: list[Callable[[Path, Random], None]] = [
    _flip, _zero, _cut, _lengthen, _noise, _exchange, _plant, _plant_in_an_open_folder, _pipe, _folder, _link, _remove,
    _file_instead_of_the_folder,
]  # fmt: skip


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, bytes]:
    """A cache with all that is needed, and the bits without one."""
    place = tmp_path_factory.mktemp("filled") / "objects"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PLIANT_CACHE_DIR", str(place))
        with_cache = _bits()
        patch.setattr(cache, "read", lambda key: None)
        patch.setattr(cache, "write", lambda key, data: None)
        assert _bits() == with_cache
    return place, with_cache


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs the files of a Unix")
@pytest.mark.parametrize("seed", [pytest.param(k, marks=[pytest.mark.full] * (k not in QUICK)) for k in range(CASES)])
def test_a_damaged_cache_gives_the_same_bits(
    seed: int, filled: tuple[Path, bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One file of a filled cache, or all, damaged in a way that the seed draws."""
    place, rng = tmp_path / "objects", np.random.default_rng(seed)
    monkeypatch.setenv("PLIANT_CACHE_DIR", str(place))
    place = cache.location()
    shutil.copytree(filled[0] / cache.FOLDER, place)
    place.chmod(0o700)
    files = sorted(place.iterdir())
    harm = DAMAGE[seed % len(DAMAGE)]
    for k in rng.permutation(len(files))[: len(files) if seed % 5 == 1 else 1]:
        if files[k].is_file():
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of a hand that writes
                harm(files[k], rng)
    monkeypatch.setattr(cache, "_warned", False)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        assert _bits() == filled[1], harm.__name__
    assert len(seen) <= 1, [str(one.message) for one in seen]
