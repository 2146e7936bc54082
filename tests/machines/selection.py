"""Tests that run on every machine (core.toml)."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

TABLE = Path(__file__).with_name("core.toml")
TESTS = TABLE.parents[1]
KINDS = ("core", "smoke", "everywhere")


@dataclass(frozen=True)
class Entry:
    """One line of the table: a file under tests/, a test in it, or one case of a test."""

    room: str
    name: str
    kind: str = "core"

    @property
    def smoke(self) -> bool:
        return self.kind in ("smoke", "everywhere")

    @property
    def file(self) -> Path:
        return TESTS / self.name.split("::")[0]

    @property
    def node(self) -> str:
        """As pytest names it, seen from the root of the repository."""
        return f"tests/{self.name}"


def entries() -> list[Entry]:
    """All lines of the table; smoke tests are core tests too."""
    table = tomllib.loads(TABLE.read_text(encoding="utf-8"))
    return [Entry(room, name, kind) for room, part in table.items() for kind in KINDS for name in part.get(kind, [])]


def files(smoke: bool = False) -> list[str]:
    """The files to collect, as arguments of pytest seen from the root of the repository."""
    return sorted({entry.node.split("::")[0] for entry in entries() if entry.smoke or not smoke})


def names(node: str) -> tuple[str, str, str]:
    """Under which names the table may hold a test: the case, the test, the file."""
    return node, node.split("[")[0], node.split("::")[0]


def idle(chosen: Iterable[Entry], nodes: Iterable[str]) -> list[str]:
    """Entries that name nothing although their file was collected (it is not where an extra is missing)."""
    named = {name for node in nodes for name in names(node)}
    return [entry.name for entry in chosen if entry.node.split("::")[0] in named and entry.node not in named]
