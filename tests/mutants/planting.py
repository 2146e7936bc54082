"""The lists of planted bugs, read and applied to a copy of the source."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path

LISTS = Path(__file__).with_name("lists")
TESTS = LISTS.parents[1]
ROOT = TESTS.parent
SOURCE = ROOT / "src"


def room_of(file: str, source: Path = SOURCE) -> str:
    """Room of a file, down to the second folder: `mechanics.links`, `cli`, `pliant_bench`; a loose file is its own."""
    package, *inside = Path(file).with_suffix("").parts
    if package != "pliant":
        return package
    folders = [
        part
        for k, part in enumerate(inside[:2])
        if (source / package / Path(*inside[: k + 1]) / "__init__.py").exists()
    ]
    return ".".join(folders) or inside[0]


class BrokenEntry(Exception):
    """An entry that cannot be planted, or whose tests fail without it."""


@dataclass(frozen=True)
class Mutant:
    """One bug: in `file` the text `old`, which stands there exactly once, becomes `new`; `tests` are to notice."""

    name: str
    room: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...]

    @property
    def selection(self) -> tuple[str, ...]:
        """The tests as pytest takes them, seen from the root of the repository."""
        return tuple(f"tests/{test}" for test in self.tests)

    def text(self, source: Path = SOURCE) -> str:
        """The file with the bug in it. Raises BrokenEntry where the entry does not fit the source any more."""
        path = source / self.file
        if not path.is_file():
            raise BrokenEntry(f"{self.name}: {self.file} does not exist")
        text = path.read_text(encoding="utf-8")
        found = text.count(self.old)
        if found != 1:
            raise BrokenEntry(f"{self.name}: the old text occurs {found} times in {self.file}, expected once")
        text = text.replace(self.old, self.new)
        if path.suffix == ".py":
            try:
                compile(text, self.file, "exec")
            except SyntaxError as error:
                raise BrokenEntry(f"{self.name}: {self.file} does not compile with the new text: {error}") from error
        return text


def mutants(folder: Path = LISTS) -> list[Mutant]:
    """All entries; the file lists/<room>.toml has those of a room."""
    found = []
    for path in sorted(folder.glob("*.toml")):
        for entry in tomllib.loads(path.read_text(encoding="utf-8"))["mutant"]:
            tests = tuple(entry.pop("tests"))
            found.append(Mutant(room=path.stem, tests=tests, **entry))
    return found
