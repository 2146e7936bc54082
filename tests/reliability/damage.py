"""Seeded damage to sound files: keys lost, doubled, renamed and filled with nonsense; bytes torn and flipped.

The same seed gives the same file on every machine.
"""

from __future__ import annotations

import copy
import math
import random
from collections.abc import Iterator
from typing import Any

from pliant.robot.files.yaml import write_yaml

Place = tuple[Any, ...]

NUMBERS = [0, -1, 1, 2, 0.0, -0.0, 1e-300, 5e-324, 1e-12, 1e6, 1e12, 1e300, -1e300, 10**30, -(10**400), math.nan,
           math.inf, -math.inf, 1.5, 50, 51, 1000]  # fmt: skip
WORDS = ["", " ", "abc", "auto", "track", "pi/2", "90 deg", "1/0", "nan", "1e400 deg", "../../x", "/etc/passwd", "..",
         "a" * 5000, "naïve ☃ 𝄞", "\u202egnp", "a\nb", "null", "!!python/none", "${HOME}", "~", "%s%n", "x\u0000y",
         "__class__", "links", "two-link", "0x10", "1_000", "1:30", "2001-01-01"]  # fmt: skip
PARTS = [None, True, False, [], {}, [[]], {"a": 1}, [1, 2, 3], [None], {"": None}, {"type": "pd"}, {"1": 2}, [{}] * 40]

TAGS = [
    "!!python/object/apply:os.system ['touch executed']",
    "!!python/name:os.system",
    "!!python/object/new:subprocess.Popen [['touch', 'executed']]",
    "!!binary aGVsbG8=",
    "!!set {a, b}",
    "!!timestamp 2001-01-01",
    "!include /etc/passwd",
    "!<tag:yaml.org,2002:float> 1",
    "&a [*a]",
    "*nobody",
    "&x {<<: *x}",
    "? [1, 2] : 3",
    "|\n  text",
    "- - - -",
    "\t- 1",
    "{a: 1, a: 2}",
]
BOMB = "\n".join(
    ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    + [f"a{k}: &a{k} [{', '.join([f'*a{k - 1}'] * 10)}]" for k in range(1, 12)]
)


def places(value: Any, place: Place = ()) -> Iterator[tuple[Place, Any]]:
    """Every place of a tree of mappings and lists, and what stands there."""
    yield place, value
    entries = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, entry in entries:
        yield from places(entry, (*place, key))


def _get(tree: Any, place: Place) -> Any:
    for key in place:
        tree = tree[key]
    return tree


def nonsense(rng: random.Random, near: Any = None) -> Any:
    """A value that stands nowhere in a sound file, or one near a sound number."""
    kind = rng.randrange(5 if isinstance(near, int | float) and not isinstance(near, bool) else 3)
    if kind == 0:
        return rng.choice(NUMBERS)
    if kind == 1:
        return rng.choice(WORDS)
    if kind == 2:
        return copy.deepcopy(rng.choice(PARTS))
    return near * rng.choice([-1, 0, 1e-9, 1e-3, 1e3, 1e9, 1e-200, 1e200])


def _alter(rng: random.Random, tree: Any) -> None:
    """One change of a tree, in place."""
    found = [(place, value) for place, value in places(tree) if place]
    if not found:
        return
    place, value = rng.choice(found)
    holder, key = _get(tree, place[:-1]), place[-1]
    kind = rng.randrange(8)
    if kind == 0:
        del holder[key]
    elif kind == 1 and isinstance(holder, dict):
        holder[rng.choice([f"{key}x", str(key).upper(), "", "links", "☃", str(key)[::-1]])] = holder.pop(key)
    elif kind == 2 and isinstance(holder, list):
        holder.insert(rng.randrange(len(holder) + 1), copy.deepcopy(value))
    elif kind == 3:  # what stands elsewhere
        other = copy.deepcopy(rng.choice(found)[1])
        holder[key] = other
    elif kind == 4 and isinstance(holder, dict):
        holder[rng.choice(["name", "type", "x", "format", "shapes", "drive", "motion", "inertia"])] = nonsense(rng)
    elif kind == 5 and rng.random() < 0.2:
        deep: Any = 1
        for _ in range(rng.choice([5, 29, 40, 200])):
            deep = rng.choice([[deep], {"a": deep}])
        holder[key] = deep
    else:
        holder[key] = nonsense(rng, value)


def damaged_tree(rng: random.Random, tree: Any) -> Any:
    """A tree with one to three changes."""
    tree = copy.deepcopy(tree)
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        _alter(rng, tree)
    return tree


def torn(rng: random.Random, raw: bytes) -> bytes:
    """Bytes cut off, flipped, doubled, overwritten or written in another code."""
    kind = rng.randrange(9)
    a = rng.randrange(len(raw) + 1)
    b = min(len(raw), a + rng.choice([1, 3, 20, 200]))
    if kind == 0:
        return raw[:a]
    if kind == 1:
        return raw[:a] + raw[b:]
    if kind == 2:
        return raw[:a] + raw[a:b] * 3 + raw[b:]
    if kind == 3:
        return raw[:a] + rng.randbytes(b - a) + raw[b:]
    if kind == 4:
        whole = bytearray(raw)
        for _ in range(rng.choice([1, 5, 50])):
            if whole:
                whole[rng.randrange(len(whole))] ^= 1 << rng.randrange(8)
        return bytes(whole)
    if kind == 5:
        return raw[:a] + rng.choice([b"\0", b"\xff\xfe", b"\r", b"\xc3", b"{{{[[[", b"\x1b[2J", b"---\n"]) + raw[a:]
    if kind == 6:
        return rng.randbytes(rng.choice([0, 1, 8, 1000]))
    if kind == 7 and len(raw) < 100_000:
        return raw.decode("utf-8", "replace").encode(rng.choice(["utf-16", "utf-32", "utf-8-sig"]))
    return raw[b:] + raw[:a]


def damaged_yaml(rng: random.Random, tree: Any) -> bytes:
    """A YAML file out of a tree: damaged as a tree, as text, or as bytes."""
    kind = rng.randrange(10)
    if kind < 6:
        text = _written(damaged_tree(rng, tree))
    elif kind == 6:
        text = _with_tag(rng, write_yaml(tree))
    elif kind == 7 and rng.random() < 0.3:
        text = rng.choice([BOMB, "[" * 100_000, "a: " * 5000, "- " * 3000, "{" * 3000, "&a " * 500, "a: 1\n" * 2000])
    else:
        return torn(rng, write_yaml(tree).encode())
    return text.encode("utf-8", "surrogatepass")


def _written(tree: Any) -> str:
    try:
        return write_yaml(tree)
    except ValueError:  # an integer that Python does not print
        return repr(type(tree))


def _with_tag(rng: random.Random, text: str) -> str:
    """A tag, an anchor or a stray structure in place of some value."""
    lines = text.splitlines()
    k = rng.randrange(len(lines))
    head, colon, _ = lines[k].partition(":")
    lines[k] = f"{head}: {rng.choice(TAGS)}" if colon else f"{lines[k]} {rng.choice(TAGS)}"
    return "\n".join(lines) + "\n"
