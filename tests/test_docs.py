"""What the documentation shows is true: its Python runs, and every public name stands on a page."""

from __future__ import annotations

import importlib
import inspect
import re
import runpy
import textwrap
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import pytest
import yaml

import pliant
from pliant.scenario import REGISTRY, Scenario

ROOT = Path(__file__).parents[1]
OWN = ("index.md", "tutorial.md", "extend.md", "how-to/*.md")
ROOMS = sorted(path.stem for path in (ROOT / "docs" / "api").glob("*.md"))
PAGES = sorted(path for pattern in OWN for path in (ROOT / "docs").glob(pattern) if "```python\n" in path.read_text())


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_code_of_a_page_runs(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All blocks of a page, one after another, as a reader would type them."""
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", path.read_text(encoding="utf-8"), re.DOTALL)
    exec(compile("\n".join(blocks), str(path), "exec"), {"__name__": "__main__"})


def test_scenario_page_names_every_part() -> None:
    """What a scenario file may name stands on the page of scenarios."""
    text = (ROOT / "docs" / "how-to" / "scenario.md").read_text(encoding="utf-8")
    words = set(re.findall(r"[\w-]+", text))
    assert [name for names in REGISTRY.values() for name in names if name not in words] == []
    assert [name for name in Scenario.model_fields if name not in words] == []


def test_snippets_of_the_scenario_page_are_sound() -> None:
    """Each indented block, with an arm and a duration where it has none, is a scenario."""
    text = (ROOT / "docs" / "how-to" / "scenario.md").read_text(encoding="utf-8")
    blocks = [b for b in re.findall(r"(?:(?<=\n\n)|^)((?:    .*\n)+)", text) if ":" in b]
    assert len(blocks) == 5
    for block in blocks:
        data: dict = {"robot": "two-link", "duration": 1.0}
        for entry in re.split(r"\n(?=\S)", textwrap.dedent(block).strip()):  # a key may stand twice, as alternatives
            Scenario(**{**data, **{k: v for k, v in yaml.safe_load(entry).items() if k != "format"}})


def undocumented(room: ModuleType) -> list[str]:
    """Public classes, their public methods and properties, and functions of a module that say nothing of themselves.

    What a dataclass writes for itself (its signature) does not count, nor what a class inherits from its base.
    """
    found = []
    for name in room.__all__:
        thing = getattr(room, name)
        if inspect.isclass(thing):
            text = (vars(thing).get("__doc__") or "").strip()
            if not text or text.startswith(f"{name}("):
                found.append(name)
            found += [f"{name}.{own}" for own, member in vars(thing).items() if not _says(thing, own, member)]
        elif callable(thing) and not (inspect.getdoc(thing) or "").strip():
            found.append(name)
    return found


def _says(thing: type, name: str, member: object) -> bool:
    """Whether a member is private, not ours, or documented (a method may take the words of the one it overrides)."""
    function = getattr(member, "fget", None) or getattr(member, "func", None) or getattr(member, "__func__", member)
    ours = inspect.isfunction(function) and function.__module__.startswith("pliant")
    if name.startswith(("_", "model_")) or not ours or function.__name__ == "<lambda>":
        return True
    return bool((inspect.getdoc(getattr(thing, name)) or inspect.getdoc(function) or "").strip())


def test_public_names_are_documented() -> None:
    assert undocumented(pliant) == []


def test_missing_words_are_noticed() -> None:
    """The judge judges: each kind of silence is found, words are not."""

    @dataclass
    class Silent:
        number: float = 0.0

    class Half:
        """Says something."""

        def method(self) -> None: ...

        @property
        def value(self) -> float:
            return 0.0

    def function() -> None: ...

    for thing in (Half.method, vars(Half)["value"].fget, function):
        thing.__module__ = "pliant.made_up"
    room = ModuleType("room")
    room.__dict__.update(Silent=Silent, Half=Half, function=function, __all__=["Silent", "Half", "function"])
    assert undocumented(room) == ["Silent", "Half.method", "Half.value", "function"]


def test_api_page_has_every_public_name() -> None:
    pytest.importorskip("mkdocs", reason="the docs extra is not installed")
    text = runpy.run_path(str(ROOT / "docs" / "hooks" / "api.py"))["page"]()
    rooms = {name for name in pliant.__all__ if isinstance(getattr(pliant, name), ModuleType)}
    assert set(re.findall(r"::: pliant\.(\w+)", text)) == set(pliant.__all__) - rooms


@pytest.mark.parametrize("room", ROOMS)
def test_names_of_a_room_are_documented(room: str) -> None:
    """Its page lists all members, so each needs a docstring of its own; the page is on the site."""
    module = importlib.import_module(f"pliant.{room}")
    assert f"::: pliant.{room}\n" in (ROOT / "docs" / "api" / f"{room}.md").read_text()
    assert f"api/{room}.md" in (ROOT / "mkdocs.yml").read_text()
    assert undocumented(module) == []


def test_every_room_has_a_page() -> None:
    """Rooms that `import pliant` offers; studies are read through `pliant reproduce`."""
    assert set(pliant._ROOMS) - {"studies"} <= set(ROOMS)
