"""The recipes of docs/extend.md, executed: one file and one line each, added to a copy of the library."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from sources import ROOT

PAGE = (ROOT / "docs" / "extend.md").read_text(encoding="utf-8")
BLOCK = re.compile(r'^```(python|diff) title="([^"]+)"\n(.*?)^```$', re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Recipe:
    """New files by their paths, changed lines, and the code that tries what was added."""

    title: str
    files: dict[str, str]
    changes: list[tuple[str, str]]
    trial: str

    def apply(self, tree: Path) -> None:
        """Add the file, change the line."""
        for path, text in self.files.items():
            assert not (tree / path).exists(), f"{self.title}: {path} is there already"
            (tree / path).write_text(text, encoding="utf-8")
        for path, text in self.changes:
            before, after = (
                "\n".join(line[1:] for line in text.splitlines() if line.startswith(sign)) for sign in "-+"
            )
            source = (tree / path).read_text(encoding="utf-8")
            assert source.count(before) == 1, f"{self.title}: {path} has {source.count(before)} times {before!r}"
            (tree / path).write_text(source.replace(before, after), encoding="utf-8")


def recipes() -> dict[str, Recipe]:
    """All sections of the page that try what they add."""
    found = {}
    for section in re.split(r"^## ", PAGE, flags=re.MULTILINE)[1:]:
        title, blocks = section.splitlines()[0], BLOCK.findall(section)
        trials = [text for kind, place, text in blocks if (kind, place) == ("python", "try it")]
        if trials:
            files = {place: text for kind, place, text in blocks if kind == "python" and place != "try it"}
            changes = [(place, text) for kind, place, text in blocks if kind == "diff"]
            found[title] = Recipe(title, files, changes, "\n".join(trials))
    return found


RECIPES = recipes()


def test_every_table_has_a_recipe() -> None:
    kinds = ("integrator", "law of friction", "section", "joint", "load", "controller", "export")
    assert [title.removeprefix("Add a ").removeprefix("Add an ") for title in RECIPES] == list(kinds)


@pytest.mark.parametrize("title", RECIPES)
def test_a_recipe_is_one_file_and_one_line(title: str) -> None:
    """A joint needs no file: it is an entry of the table beside its name."""
    recipe = RECIPES[title]
    lines = [
        sum(line.startswith("+") for line in text.splitlines())
        - sum(line.startswith("-") for line in text.splitlines())
        for _, text in recipe.changes
    ]
    assert len(recipe.files) + len(recipe.changes) == 2
    assert all(extra in (0, 1) for extra in lines)


@pytest.fixture(scope="session")
def extended(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the library with everything that the recipes add."""
    tree = tmp_path_factory.mktemp("extended")
    shutil.copytree(ROOT / "src", tree / "src", ignore=shutil.ignore_patterns("__pycache__"))
    for recipe in RECIPES.values():
        recipe.apply(tree)
    return tree / "src"


@pytest.mark.parametrize("title", RECIPES)
def test_what_a_recipe_adds_works(title: str, extended: Path, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", RECIPES[title].trial],
        env={**os.environ, "PYTHONPATH": str(extended), "MPLBACKEND": "Agg"},
        cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
