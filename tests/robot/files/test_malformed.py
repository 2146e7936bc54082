"""Hundreds of damaged files: seeded mutations of the bundled arms, each a `ModelError` that names the place."""

from __future__ import annotations

import copy
import random
from collections.abc import Iterator
from typing import Any

import pytest

from pliant.errors import ModelError
from pliant.model.robot import parse
from pliant.robot import Robot, arms, load
from pliant.robot.files.error_messages import Place, place_text
from pliant.robot.files.yaml import write_yaml
from pliant.robot.parameters import plain

POSITIVE = ("length", "mass_per_length", "EI_y", "EI_z", "GJ", "EA", "stiffness", "gear_ratio", "total_length", "E",
            "G", "density", "outer_diameter", "inner_diameter", "thickness", "coulomb_speed")  # fmt: skip
NOT_NEGATIVE = ("mass", "rotor_inertia", "polar_inertia", "viscous", "coulomb", "damping")
REQUIRED = {
    "links": ("name", "links"),
    "link": ("name",),
    "rigid": ("mass",),
    "beam": ("length",),
    "section": ("shape",),
}
FULL = ("two-link", "rrp", "spin-up", "crane-4dof")
NO_NUMBERS = ["abc", [1, 2], {"a": 1}, True, float("nan"), float("inf"), -float("inf"), None, "", "1/0", [], 10**400]


def _tree(name: str) -> dict[str, Any]:
    """A robot file; of the smaller arms with all defaults written out, so that every key gets damaged."""

    def pruned(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: pruned(entry) for key, entry in value.items() if entry is not None}
        return [pruned(entry) for entry in value] if isinstance(value, list) else value

    tree = pruned(plain(load(name), full=name in FULL))
    for link in tree["links"]:  # a row and an origin exclude each other
        if "dh" in link.get("joint", {}):
            link["joint"].pop("origin", None)
    return tree


def _places(value: Any, place: Place = ()) -> Iterator[tuple[Place, Any]]:
    yield place, value
    entries = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, entry in entries:
        yield from _places(entry, (*place, key))


def _get(tree: Any, place: Place) -> Any:
    for key in place:
        tree = tree[key]
    return tree


def _misspell(rng: random.Random, tree: Any, places: list[Any]) -> str:
    """A key with two letters changed; the message names the mapping and the key."""
    place, mapping = rng.choice([(p, v) for p, v in places if isinstance(v, dict) and v])
    key = rng.choice(list(mapping))
    wrong = key + rng.choice(["x", "_", "s2"])
    parent = _get(tree, place)
    parent[wrong] = parent.pop(key)
    return f"`{wrong}`" if not place else f"`{wrong}` in {place_text(place)}"


def _no_number(rng: random.Random, tree: Any, places: list[Any]) -> str:
    """Something that is no number where one is needed."""
    place, _ = rng.choice([(p, v) for p, v in places if isinstance(v, float)])
    wrong = rng.choice(NO_NUMBERS)
    optional = (
        "section",
        "origin",
        "limits",
        "polar_inertia",
        "stiffness",
        "EI_y",
        "EI_z",
        "GJ",
        "EA",
        "mass_per_length",
    )
    if wrong is None and (any(key in optional for key in place) or place[-1] in POSITIVE):
        wrong = "abc"
    if isinstance(wrong, list) and "section" in place:  # a list there is a column of a table
        wrong = "abc"
    _get(tree, place[:-1])[place[-1]] = wrong
    return _named(place)


def _named(place: Place) -> str:
    """Entries of an inertia or a column are reported as a whole."""
    whole = ("inertia", "axis", "rotary", "x", "width", "height", "diameter", "thickness")
    return place_text(place[:-1] if isinstance(place[-1], int) and place[-2] in whole else place)


def _below_zero(rng: random.Random, tree: Any, places: list[Any]) -> str:
    """A negative number where none may be; zero too where the number must be positive."""
    wanted = [(p, v) for p, v in places if isinstance(v, float) and p[-1] in POSITIVE + NOT_NEGATIVE]
    place, value = rng.choice(wanted)
    _get(tree, place[:-1])[place[-1]] = rng.choice([-1.0, -1e-9, -value - 1.0] + [0.0] * (place[-1] in POSITIVE))
    return place_text(place)


def _drop(rng: random.Random, tree: Any, places: list[Any]) -> str:
    """A required key left out."""
    found = []
    for place, value in places:
        if isinstance(value, dict):
            kind = "links" if not place else "link" if isinstance(place[-1], int) else place[-1]
            found += [(place, key) for key in REQUIRED.get(kind, ()) if key in value and not value.get("slides")]
    place, key = rng.choice(found)
    del _get(tree, place)[key]
    return f"`{key}`" if not place else f"`{key}` in {place_text(place)}"


def _wrong_kind(rng: random.Random, tree: Any, places: list[Any]) -> str:
    """A list, text or number in place of a part."""
    place, _ = rng.choice([(p, v) for p, v in places if p and isinstance(v, dict)])
    _get(tree, place[:-1])[place[-1]] = rng.choice([3.0, "zzz", [1], [[]], True, float("nan")])
    return place_text(place)


def _wrong_length(rng: random.Random, tree: Any, places: list[Any]) -> str:
    """A vector that lost or gained an entry."""
    vectors = [(p, v) for p, v in places if isinstance(v, list) and len(v) == 3 and isinstance(v[0], float)]
    place, vector = rng.choice([(p, v) for p, v in vectors if p[-1] != "x"])
    _get(tree, place[:-1])[place[-1]] = rng.choice([vector[:2], [*vector, 0.0], vector[:1], [vector, vector]])
    return (
        place_text(place)
        if place[-1] in ("xyz", "rpy", "com", "tip", "axis", "inertia", "gravity")
        else place_text(place[:-1])
    )


def _wrong_word(rng: random.Random, tree: Any, places: list[Any]) -> str:
    """A word that is none of those allowed."""
    words = ("type", "method", "boundary", "normalize", "shape", "convention")
    place, word = rng.choice([(p, v) for p, v in places if p and p[-1] in words] or [(("gravity",), "down")])
    _get(tree, place[:-1])[place[-1]] = rng.choice([word + "s", word.upper(), 3.0, None, [word], {word: 1}])
    return place_text(place)


def _no_axis(rng: random.Random, tree: Any, places: list[Any]) -> str:
    index = rng.randrange(len(tree["links"]))
    tree["links"][index].setdefault("joint", {})["axis"] = [0.0, -0.0, rng.choice([0.0, 1e-200])]
    return f"links[{index}].joint.axis"


def _bad_inertia(rng: random.Random, tree: Any, places: list[Any]) -> str:
    place = rng.choice([("payload", "inertia"), ("links", rng.randrange(len(tree["links"])), "tip", "inertia")])
    _get(tree, place[:-2]).setdefault(place[-2], {})
    size = 10.0 ** rng.randint(-6, 6)
    _get(tree, place[:-1])[place[-1]] = rng.choice(
        [[size, size, 2.1 * size], [-size, size, size], [size, size, size, 2 * size, 0, 0], [0.0, size, 2 * size]]
    )
    return place_text(place)


MUTATIONS = (_misspell, _no_number, _below_zero, _drop, _wrong_kind, _wrong_length, _wrong_word, _no_axis, _bad_inertia)
TREES = {name: _tree(name) for name in arms() if name != "box-arm"}  # whose body has a file of its own


@pytest.mark.parametrize("name", TREES)
def test_the_undamaged_trees_are_good(name: str) -> None:
    assert parse(write_yaml(TREES[name])) == load(name)


def _try_damaged(name: str, seed: int) -> None:
    rng = random.Random(f"{name} {seed}")
    tree = copy.deepcopy(TREES[name])
    mutate = MUTATIONS[seed % len(MUTATIONS)]
    place = mutate(rng, tree, list(_places(tree)))
    with pytest.raises(ModelError) as caught:
        parse(write_yaml(tree), source="damaged.yaml")
    text = str(caught.value)
    assert text.startswith("damaged.yaml: "), text
    assert place in text, f"{mutate.__name__}: {place} not named in: {text}"


@pytest.mark.parametrize("name", TREES)
def test_damaged_files_name_the_place(name: str) -> None:
    """Each kind of damage twice in each file."""
    for seed in range(2 * len(MUTATIONS)):
        _try_damaged(name, seed)


@pytest.mark.full
@pytest.mark.random
@pytest.mark.parametrize("name", TREES)
def test_damaged_files_name_the_place_many(name: str) -> None:
    for seed in range(2 * len(MUTATIONS), 1000):
        _try_damaged(name, seed)


@pytest.mark.parametrize("name", TREES)
def test_torn_text_never_escapes(name: str) -> None:
    """Bytes cut out, doubled or overwritten: a robot or a ModelError, never anything else."""
    rng = random.Random(name)
    text = write_yaml(TREES[name])
    refused = 0
    for _ in range(40):
        a, b = sorted(rng.sample(range(len(text)), 2))
        b = min(b, a + 200)
        damage = rng.choice(
            ["", text[a:b] * 2, "".join(rng.choice("{}[]:,&*!|>'\"%@`#-? \n\t0") for _ in range(b - a))]
        )
        try:
            assert isinstance(parse(text[:a] + damage + text[b:]), Robot)
        except ModelError:
            refused += 1
    assert refused > 20
