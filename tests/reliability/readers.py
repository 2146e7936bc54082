"""One wrong file a seed, given to whatever reads files of its kind, and used as far as it can be used."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import pliant
from pliant.batch import BatchResult
from pliant.identification import Recording
from pliant.identification.study_file import IdentificationStudy
from pliant.simulation.runs.files.csv_files import read_csv
from pliant.sweeps import SweepStudy

from . import sound
from .damage import NUMBERS, WORDS, damaged_yaml, torn
from .file_kinds import FILE_KINDS

Reader = Callable[[random.Random, Path], Any]


def robot(rng: random.Random, folder: Path) -> None:
    """A robot file; one that is sound all the same goes around once more."""
    trees = sound.robots()
    path = folder / "arm.yaml"
    path.write_bytes(damaged_yaml(rng, trees[rng.choice(sorted(trees))]))
    arm = pliant.load(path)
    arm.save(folder / "again.yaml")
    assert pliant.load(folder / "again.yaml") == arm
    assert len(str(arm)) > 10
    arm.paths()


def equations(rng: random.Random, folder: Path) -> None:
    """The model of a damaged small arm: finite numbers, or a message."""
    trees = sound.robots()
    path = folder / "arm.yaml"
    path.write_bytes(damaged_yaml(rng, trees[rng.choice(sound.SMALL)]))
    arm = pliant.load(path)
    if len(arm.links) * (1 + sum(link.shapes.number for link in arm.links if link.shapes is not None)) > 60:
        return  # large is not wrong, and compiling takes its time
    model = arm.model()
    q, rest = model.chain.rest(), np.zeros(model.n)  # a beam that slides has a length
    for name, value in (
        ("forward_dynamics", lambda: model.forward_dynamics(q, rest, np.zeros(model.n_joints))),
        ("frequencies", lambda: model.frequencies(q)),
        ("energy", lambda: model.energy(q, rest).total),
    ):
        found = value()
        if name != "forward_dynamics":
            assert np.isfinite(found).all(), f"{name}: {found}"


def scenario(rng: random.Random, folder: Path) -> None:
    trees = sound.scenarios()
    path = folder / "case.yaml"
    path.write_bytes(damaged_yaml(rng, trees[rng.choice(sorted(trees))]))
    found = pliant.Scenario.load(path)
    found.start()
    found.save(folder / "again.yaml")


def sweep(rng: random.Random, folder: Path) -> None:
    path = folder / "study.yaml"
    path.write_bytes(damaged_yaml(rng, rng.choice([sound.SWEEP, sound.RANDOM_SWEEP])))
    study = SweepStudy.load(path)
    assert np.isfinite(study.points()).all()
    study.digest()


def identify(rng: random.Random, folder: Path) -> None:
    (folder / "swing.csv").write_bytes(sound.measured())
    path = folder / "study.yaml"
    path.write_bytes(damaged_yaml(rng, sound.IDENTIFY))
    study = IdentificationStudy.load(path)
    assert all(isinstance(run, Recording) for run in study.recordings())


def table(rng: random.Random, folder: Path) -> None:
    """CSV: cells and lines damaged, or bytes."""
    raw = sound.measured()
    if rng.random() < 0.5:
        lines = raw.decode().splitlines()
        k = rng.randrange(len(lines))
        cells = lines[k].split(",")
        cells[rng.randrange(len(cells))] = str(rng.choice([*map(repr, NUMBERS[:-4]), *WORDS, '"', '"a,b', ";;", "\t"]))
        lines[k] = rng.choice([",", ";", "\t", ",,"]).join(cells)
        raw = "\n".join(rng.sample(lines, len(lines)) if rng.random() < 0.1 else lines).encode("utf-8", "replace")
    else:
        raw = torn(rng, raw)
    path = folder / "data.csv"
    path.write_bytes(raw)
    gaps = rng.random() < 0.5
    found = read_csv(path, rng.choice([None, ["time", "encoder"]]), gaps)
    Recording(found["time"], {"upper": found["encoder"]}) if {"time", "encoder"} <= set(found) else None


_ATTRIBUTE = re.compile(r'="([^"]*)"')


def urdf(rng: random.Random, folder: Path) -> None:
    """URDF: attributes, elements and bytes damaged; sometimes with a sound side file."""
    text = sound.URDF
    kind = rng.randrange(6)
    if kind < 3:
        for _ in range(rng.choice([1, 1, 2, 4])):
            chosen = rng.choice(list(_ATTRIBUTE.finditer(text)))
            value = rng.choice(
                [*(str(x) for x in NUMBERS if abs(x) != 10**400), *WORDS, "base", "fore", "1 2", "1 2 3 4", "fixed",
                 "floating", "planar", "nan nan nan", "0 0 0", "1e300 0 0", "prismatic"]
            )  # fmt: skip
            value = value.replace("&", "").replace("<", "").replace('"', "").replace("\0", "")
            text = text[: chosen.start(1)] + value + text[chosen.end(1) :]
        raw = text.encode("utf-8", "replace")
    elif kind == 3:
        lines = text.splitlines()
        for _ in range(rng.choice([1, 2, 5])):
            k = rng.randrange(len(lines))
            lines[k : k + 1] = rng.choice([[], [lines[k]] * 2, [rng.choice(lines)], [lines[k], rng.choice(lines)]])
        raw = "\n".join(lines).encode()
    elif kind == 4 and rng.random() < 0.4:
        absurd = [XML_BOMB, OUTSIDE, "<a>" * 20_000, "<robot/>", "<robot name='x'><link/></robot>", ""]
        raw = rng.choice(absurd).encode()
    else:
        raw = torn(rng, text.encode())
    path = folder / "arm.urdf"
    path.write_bytes(raw)
    side = rng.choice([None, None, sound.SIDE, {"links": {"fore": {}}}])
    pliant.load(path, flexible=side, tip=rng.choice(["tool", "tool", None, "fore", "camera", "base", "☃", ""]))


XML_BOMB = """<?xml version="1.0"?><!DOCTYPE r [<!ENTITY a "aaaaaaaaaa">
<!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;"><!ENTITY c "&b;&b;&b;&b;&b;&b;&b;&b;&b;&b;">
<!ENTITY d "&c;&c;&c;&c;&c;&c;&c;&c;&c;&c;"><!ENTITY e "&d;&d;&d;&d;&d;&d;&d;&d;&d;&d;">
<!ENTITY f "&e;&e;&e;&e;&e;&e;&e;&e;&e;&e;"><!ENTITY g "&f;&f;&f;&f;&f;&f;&f;&f;&f;&f;">
<!ENTITY h "&g;&g;&g;&g;&g;&g;&g;&g;&g;&g;">]><robot name="&h;"><link name="a"/></robot>"""
OUTSIDE = """<?xml version="1.0"?><!DOCTYPE r [<!ENTITY x SYSTEM "file:///etc/passwd">]>
<robot name="x"><link name="&x;"/><link name="b"/>
<joint name="j" type="fixed"><parent link="&x;"/><child link="b"/></joint></robot>"""


def side(rng: random.Random, folder: Path) -> None:
    """The side file of a sound URDF."""
    (folder / "arm.urdf").write_text(sound.URDF)
    (folder / "side.yaml").write_bytes(damaged_yaml(rng, sound.SIDE))
    pliant.load(folder / "arm.urdf", flexible=folder / "side.yaml", tip="tool")


def result(rng: random.Random, folder: Path) -> None:
    """A result file: bytes torn, or whole but with other content."""
    found = pliant.Result.load(_damaged(rng, folder, sound.result()))
    assert found.q.shape == found.qd.shape == (len(found), found.model.n)
    assert found.tau.shape == (len(found), found.model.n_joints)
    repr(found)
    if np.isfinite(found.q).all() and np.isfinite(found.qd).all():
        found.to_csv(folder / "run.csv")


def batch(rng: random.Random, folder: Path) -> None:
    """A file of many runs, damaged in the same ways."""
    found = BatchResult.load(_damaged(rng, folder, sound.batch()))
    assert found.q.shape == found.qd.shape == (len(found), len(found.t), found.model.n)
    repr(found)
    for k in range(len(found)):
        repr(found.arm(k))


def _damaged(rng: random.Random, folder: Path, whole: pliant.Result | BatchResult) -> Path:
    path = folder / "run.nc"
    if rng.random() < 0.5:
        path.write_bytes(torn(rng, whole.save(folder / "whole.nc").read_bytes()))
        return path
    data = whole.dataset.copy(deep=True)
    if rng.random() < 0.7:  # behind the digest stand the checks that files of the first format have
        data.attrs.pop("digest")
        data.attrs["format"] = 1
    key = rng.choice([*data.attrs, *data.data_vars])
    if key in data.attrs:
        text = str(data.attrs[key])
        a = rng.randrange(len(text) + 1)
        data.attrs[key] = rng.choice(
            ["", "{}", "[]", "null", "3", text[:a], text[:a] + text[a + 3 :], text.replace("1", "NaN"), 7, 2.5, -1,
             text.replace(":", ": {", 1), text.replace("two-link", "x" * 300), text.replace("0.0", "1e400"), [1, 2],
             text.replace('"payload.mass"', '"payload"'), text.replace("denoc", "kane"), "[" * 5000]
        )  # fmt: skip
    else:
        kind = rng.randrange(5)
        if kind == 0:
            data = data.drop_vars(key)
        elif kind == 1:
            data = data.isel({data[key].dims[0]: slice(0, 0)})
        elif kind == 2:
            data[key] = data[key] * rng.choice([np.nan, np.inf, 1e300])
        elif kind == 3:
            data[key] = data[key].astype(rng.choice([str, int, "complex128", "float32"]))
        else:
            data[key] = (("other", "strange"), np.ones((2, 3)))
    data.to_netcdf(path, engine="h5netcdf", invalid_netcdf=True)
    return path


READERS: dict[str, Reader] = {
    f.__name__: f for f in (robot, equations, scenario, sweep, identify, table, urdf, side, result, batch)
} | FILE_KINDS
