"""Slips of a writer, seeded: something stands twice, or a name is misspelt. What was meant is known.

A file with a slip is refused, or it is read as the one without; never as a third.
"""

from __future__ import annotations

import copy
import functools
import json
import random
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pliant
from pliant.identification.study_file import IdentificationStudy
from pliant.sweeps import SweepStudy

from . import sound
from .damage import Place, places

Slip = Callable[[random.Random, Path], tuple[str, Callable[[], Any], Any]]
"""What was done, the attempt to read it, and what a sound reading gives."""


def misspelt(rng: random.Random, word: str) -> str:
    """Two letters exchanged, one lost, doubled, capital or small, a neighbor of it, or an s too many."""
    k = rng.randrange(len(word))
    before, letter, behind = word[:k], word[k], word[k + 1 :]
    near = chr(ord(letter) + 1) if letter.isalpha() and letter not in "zZ" else "q"
    exchanged = before[:-1] + letter + before[-1:] + behind
    made = (exchanged, before + behind, before + 2 * letter + behind, before + letter.swapcase() + behind)
    return rng.choice([*made, before + near + behind, word + "s"])


def written(tree: Any, twice: Place | None = None, other: Any = None, place: Place = ()) -> str:
    """The tree as JSON, which is YAML too, with the entry at `twice` a second time and `other` in it."""
    if isinstance(tree, dict):
        pairs = [
            f"{json.dumps(str(key))}: {written(value, twice, other, (*place, key))}" for key, value in tree.items()
        ]
        if twice is not None and twice[:-1] == place:
            pairs.append(f"{json.dumps(str(twice[-1]))}: {json.dumps(other)}")
        return "{" + ", ".join(pairs) + "}"
    if isinstance(tree, list | tuple):
        return "[" + ", ".join(written(value, twice, other, (*place, k)) for k, value in enumerate(tree)) + "]"
    return json.dumps(tree)


def in_tree(rng: random.Random, tree: Any) -> tuple[str, str]:
    """What was done to a tree of mappings and lists, and the file."""
    found = [(place, value) for place, value in places(tree) if place and isinstance(place[-1], str) and place[-1]]
    found = [(place, value) for place, value in found if place[-2:-1] != ("sensors",)]  # names of the writer's own
    place, value = rng.choice(found)
    kind = rng.randrange(5)
    if kind < 2:  # a key twice, with the same or another value
        other = (
            value
            if kind == 0
            else rng.choice([1.0, 500.0, "x", None, [0.1, 0.2], {}, copy.deepcopy(rng.choice(found)[1])])
        )
        return f"{place} stands twice", written(tree, place, other)
    if kind == 2:  # a link, or another entry of a list, twice
        lists = [(p, v) for p, v in places(tree) if isinstance(v, list) and v and isinstance(v[0], dict)]
        if lists:
            where, entries = rng.choice(lists)
            changed = copy.deepcopy(tree)
            functools.reduce(lambda t, key: t[key], where, changed).append(copy.deepcopy(rng.choice(entries)))
            return f"an entry of {where} stands twice", written(changed)
    changed = copy.deepcopy(tree)
    holder = functools.reduce(lambda t, key: t[key], place[:-1], changed)
    wrong = misspelt(rng, place[-1])
    if wrong in holder or wrong in _keys():  # bending_z for bending_y is another arm, and no slip that can be seen
        return "nothing", written(tree)
    entries = [(wrong if key == place[-1] else key, entry) for key, entry in holder.items()]
    holder.clear()
    holder.update(entries)
    return f"{place} misspelt `{wrong}`", written(changed)


@functools.cache
def _keys() -> frozenset[str]:
    """All keys of the sound robots."""
    return frozenset(str(key) for tree in sound.robots().values() for place, _ in places(tree) for key in place)


@functools.cache
def _meant(kind: str, name: str) -> Any:
    return {"robot": lambda: pliant.Robot.from_dict(sound.robots()[name])}[kind]()


def robot(rng: random.Random, folder: Path) -> tuple[str, Callable[[], Any], Any]:
    name = rng.choice(sorted(sound.robots()))
    done, text = in_tree(rng, sound.robots()[name])
    path = folder / "arm.yaml"
    path.write_text(text, encoding="utf-8")
    return f"{name}: {done}", lambda: pliant.load(path), _meant("robot", name)


def scenario(rng: random.Random, folder: Path) -> tuple[str, Callable[[], Any], Any]:
    trees = sound.scenarios()
    name = rng.choice(sorted(trees))
    done, text = in_tree(rng, trees[name])
    path = folder / "case.yaml"

    def read(content: str) -> Any:
        path.write_text(content, encoding="utf-8")
        found = pliant.Scenario.load(path)
        return found.to_dict(), [part.tolist() for part in found.start()]

    return f"{name}: {done}", lambda: read(text), read(written(trees[name]))


def sweep(rng: random.Random, folder: Path) -> tuple[str, Callable[[], Any], Any]:
    tree = rng.choice([sound.SWEEP, sound.RANDOM_SWEEP])
    done, text = in_tree(rng, tree)
    path = folder / "study.yaml"

    def read(content: str) -> Any:
        path.write_text(content, encoding="utf-8")
        study = SweepStudy.load(path)
        return study.to_dict(), study.points().tolist()

    return done, lambda: read(text), read(written(tree))


def identify(rng: random.Random, folder: Path) -> tuple[str, Callable[[], Any], Any]:
    (folder / "swing.csv").write_bytes(sound.measured())
    done, text = in_tree(rng, sound.IDENTIFY)
    path = folder / "study.yaml"

    def read(content: str) -> Any:
        path.write_text(content, encoding="utf-8")
        study = IdentificationStudy.load(path)
        runs = study.recordings()
        return study, [(run.t.tolist(), sorted(run.readings)) for run in runs]

    return done, lambda: read(text), read(written(sound.IDENTIFY))


_ELEMENT = re.compile(r"<(\w+)([^<>]*?)/>|<(inertial|link|joint)\b.*?</\3>", re.DOTALL)
_NAME = re.compile(r'(?<=[\s<])([A-Za-z_]+)(?==")|(?<=<)([A-Za-z_]+)')
_VALUE = re.compile(r'(?<=\s)(\w+)="([^"]*)"')


def urdf(rng: random.Random, folder: Path) -> tuple[str, Callable[[], Any], Any]:
    text, path = sound.URDF, folder / "arm.urdf"
    kind = rng.randrange(4)
    if kind == 0:  # an element twice, the second perhaps with other numbers
        chosen = rng.choice(list(_ELEMENT.finditer(text)))
        again = chosen.group()
        if rng.random() < 0.7:
            again = re.sub(r'(?<==")-?[0-9.]+', lambda _: str(rng.choice([500, 0.25, -1, 3])), again)
        at = rng.choice([chosen.start(), chosen.end()])
        done, changed = f"{again[:60]!r} stands twice", text[:at] + again + text[at:]
    elif kind == 1:  # an attribute twice
        value = rng.choice(list(_VALUE.finditer(text, text.index("<robot"))))
        done, changed = f"{value.group()} stands twice", text[: value.end()] + " " + value.group() + text[value.end() :]
    elif kind == 2:  # a link or a joint by the name of another
        names = list(re.finditer(r'<(link|joint) name="([^"]+)"', text))
        tag = rng.choice(["link", "joint"])  # a joint may have the name of a link
        one, two = rng.sample([name for name in names if name[1] == tag], 2)
        done, changed = f"{one.group()} named as {two[2]}", text[: one.start(2)] + two[2] + text[one.end(2) :]
    else:
        name = rng.choice(list(_NAME.finditer(text, text.index("<robot"))))
        right = name.group()
        wrong = misspelt(rng, right)
        changed = text[: name.start()] + wrong + text[name.end() :]
        close = text.find(f"</{right}>", name.end())
        if (
            text[name.start() - 1] == "<"
            and close >= 0
            and "/>" not in text[name.end() : text.find(">", name.end()) + 1]
        ):
            close += len(wrong) - len(right)
            changed = changed[: close + 2] + wrong + changed[close + 2 + len(right) :]
        done = f"{right} misspelt {wrong}"

    def read(content: str) -> Any:
        path.write_text(content, encoding="utf-8")
        return pliant.load(path, tip="tool")

    return done, lambda: read(changed), read(text)


SLIPS: dict[str, Slip] = {f.__name__: f for f in (robot, scenario, sweep, identify, urdf)}
