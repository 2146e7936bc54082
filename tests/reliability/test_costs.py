"""Small files with many entries: what they cost grows as they do, or they are refused by their size."""

from __future__ import annotations

import copy
import io
import time
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import pliant
from pliant.errors import PliantError
from pliant.identification import read_csv
from pliant.robot.files.yaml import write_yaml
from pliant.robot.parts.bodies.reduced_body import ReducedBody

from . import sound

FACTOR, MOST = 8, 24.0
"""How much larger the second file is, and the largest ratio of times: 64 would be quadratic."""


def _robot(change: Callable[[dict[str, Any], int], Any]) -> Callable[[Path, int], Callable[[], Any]]:
    def made(folder: Path, n: int) -> Callable[[], Any]:
        tree = copy.deepcopy(sound.robots()["two-link"])
        tree["frames"] = [{"name": "wall", "link": "base", "origin": {"xyz": [0.0, 0.0, 1.0]}}]
        change(tree, n)
        (folder / f"arm{n}.yaml").write_text(write_yaml(tree), encoding="utf-8")
        return lambda: pliant.load(folder / f"arm{n}.yaml")

    return made


def _columns(folder: Path, n: int) -> Callable[[], Any]:
    (folder / f"{n}.csv").write_text(",".join(f"c{k}" for k in range(n)) + "\n" + ",".join(["1.0"] * n) + "\n")
    return lambda: read_csv(folder / f"{n}.csv")


def _entries(folder: Path, n: int) -> Callable[[], Any]:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for k in range(n):
            archive.writestr(f"entry{k}.npy", b"")
    (folder / f"{n}.npz").write_bytes(packed.getvalue())
    return lambda: ReducedBody.read(folder / f"{n}.npz")


def _links(tree: dict[str, Any], n: int) -> None:
    rigid = {"mass": 1.0, "com": [0.1, 0.0, 0.0], "inertia": [0.01, 0.01, 0.01]}
    tree["links"] = [{"name": f"l{k}", "joint": {}, "rigid": rigid} for k in range(n)]
    tree.pop("payload", None)


SPRING, BALL = {"stiffness": 10.0, "length": 1.0}, {"type": "spherical"}
READ: dict[str, tuple[int, Callable[[Path, int], Callable[[], Any]]]] = {
    "columns": (1000, _columns),
    "entries of a body": (1000, _entries),
    "links": (125, _robot(_links)),
    "frames": (400, _robot(lambda t, n: t["frames"].extend({"name": f"f{k}", "link": "fore"} for k in range(n)))),
    "frames of one name": (400, _robot(lambda t, n: t["frames"].extend([{"name": "f", "link": "fore"}] * n))),
    "frames on no link": (400, _robot(lambda t, n: t["frames"].extend(
        {"name": f"f{k}", "link": "x"} for k in range(n)))),
    "visuals": (400, _robot(lambda t, n: t["links"][0].update(visuals=[{"box": [0.1, 0.1, 0.1]}] * n))),
    "unknown keys": (400, _robot(lambda t, n: t.update({f"key{k}": 1 for k in range(n)}))),
    "contacts": (250, _robot(lambda t, n: t.update(contacts=[{"name": f"c{k}", "radius": 0.1, "stiffness": 1e5} for k in
                                                             range(n)]))),
    "couplings": (250, _robot(lambda t, n: t.update(couplings=[
        {"name": f"c{k}", "between": ["wall", "fore.tip"], "spring": SPRING} for k in range(n)]))),
    "loops": (250, _robot(lambda t, n: t.update(loops=[
        {"name": f"c{k}", "between": ["fore.tip", "wall"], "joint": BALL} for k in range(n)]))),
}  # fmt: skip
"""Number of entries of the small file, and what makes a file and reads it."""


@pytest.mark.full
@pytest.mark.parametrize("kind", READ)
def test_twice_as_much_takes_twice_as_long(kind: str, tmp_path: Path) -> None:
    few, make = READ[kind]
    spent = []
    for n in (few, few * FACTOR):
        read, begin = make(tmp_path, n), time.process_time()
        try:
            read()
        except PliantError as error:
            assert len(str(error)) < 4000  # noqa: PT017 - read or refused, in time
        spent.append(time.process_time() - begin)
    assert spent[1] < max(MOST * spent[0], 1.0), spent
    assert spent[1] < 20.0
