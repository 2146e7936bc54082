"""Long modules of LLVM IR, cut into pieces that several threads compile.

A tape is written as parts: functions that are called only by one function, which runs them in order. Some of them can
stand in a module of their own, beside copies of the few functions that they call themselves. The code of a part does
not depend on its module: the bits of a kernel are the same.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable
from typing import NamedTuple

from pliant.compute.llvm import threads

LENGTH = 1_000_000
"""Characters of IR in one piece, about 8,000 steps: less than a second of LLVM's work."""
MOST_COPIED = 0.1
"""Largest share of a piece that may be copies of called functions."""

_HEAD = re.compile(r"^define internal (void @\w+_part\d+\()([^)]*)\) noinline #0 \{\n", re.MULTILINE)
_END = "\n}\n"


class ModulePart(NamedTuple):
    """A function of the module: the place of its text, and its declaration for another module."""

    start: int
    end: int
    declared: str


def cut(text: str, attributes: str) -> list[str]:
    """Cut a module: first the module itself without the parts moved, then the pieces with these parts. Each ends with
    `attributes`, as the module does."""
    parts = _parts(text) if len(text) >= 2 * LENGTH else []
    moved = [part for part in parts if part.start < len(text) - LENGTH]
    called = text[: moved[0].start] if moved else ""
    if not moved or len(called) > MOST_COPIED * LENGTH:
        return [text]
    groups = itertools.groupby(moved, lambda part: (part.start - len(called)) // LENGTH)
    others = ["".join(text[p.start : p.end].replace("internal ", "", 1) for p in group) for _, group in groups]
    between = (text[a.end : b.start] for a, b in itertools.pairwise(moved))
    whole = [called, *(part.declared for part in moved), *between, text[moved[-1].end :]]
    return ["".join(whole), *(called + other + attributes for other in others)]


def _parts(text: str) -> list[ModulePart]:
    found = []
    for head in _HEAD.finditer(text):
        types = ", ".join(parameter.rsplit(" ", 1)[0] for parameter in head[2].split(", "))
        end = text.index(_END, head.end()) + len(_END)
        found.append(ModulePart(head.start(), end, f"declare {head[1]}{types})\n"))
    return found


def compiled(texts: list[str], compile_one: Callable[[str], bytes]) -> list[bytes]:
    """Object code of each text, compiled in as many threads as batches use."""
    found: list[bytes] = [b""] * len(texts)

    def work(next_block: Callable[[], tuple[int, int] | None]) -> None:
        while block := next_block():
            for k in range(*block):
                found[k] = compile_one(texts[k])

    threads.share(work, len(texts), 1, min(threads.get_threads(), len(texts)))
    return found
