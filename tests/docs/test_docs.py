"""What the documentation shows is true: its Python runs, and every public name stands on a page."""

from __future__ import annotations

import importlib
import json
import os
import re
import runpy
import subprocess
import sys
import tomllib
from pathlib import Path
from types import ModuleType

import pytest
import yaml

import pliant
from pliant.scenario import REGISTRY, Scenario
from sources import ROOT

OWN = ("index.md", "tutorial.md", "extend.md", "how-to/*.md", "learn/*.md")
ROOMS = sorted(path.stem for path in (ROOT / "docs" / "api").glob("*.md"))
PAGES = sorted(path for pattern in OWN for path in (ROOT / "docs").glob(pattern) if "```python\n" in path.read_text())


@pytest.mark.slow_cases("large", "sense", "still")
@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_code_of_a_page_runs(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All blocks of a page, one after another, as a reader would type them."""
    for library in re.findall(r"^import (jax|torch)$", path.read_text(encoding="utf-8"), re.MULTILINE):
        pytest.importorskip(library, reason=f"{library} is not installed (pliant[{library}]; make test-learning)")
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
    """Each block of YAML, with an arm and a duration where it has none, is a scenario."""
    text = (ROOT / "docs" / "how-to" / "scenario.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```yaml\n(.*?)```", text, re.DOTALL)
    assert len(blocks) == 6
    for block in blocks:
        data: dict = {"robot": "two-link", "duration": 1.0}
        for entry in re.split(r"\n(?=\S)", block.strip()):  # a key may stand twice, as alternatives
            Scenario(**{**data, **{k: v for k, v in yaml.safe_load(entry).items() if k != "format"}})


@pytest.mark.parametrize("path", sorted((ROOT / "docs").rglob("*.md")), ids=lambda path: path.stem)
def test_yaml_stands_in_blocks_that_are_highlighted(path: Path) -> None:
    """No indented block begins with a key of a file, which would be printed in one color."""
    text = re.sub(r"```.*?```", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
    blocks = re.findall(r"(?<=\n\n)((?: {4}.*\n)+)", text)
    assert not [block for block in blocks if re.match(r" {4}(?:- )?\w+:(?: [\[{\d]|\n)", block)]


def test_the_site_asks_for_the_list_of_versions() -> None:
    """And the tool that writes it comes with the docs extra."""
    settings = yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))
    assert settings["extra"]["version"] == {"provider": "mike", "default": "latest"}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert any(need.startswith("mike") for need in project["optional-dependencies"]["docs"])


@pytest.mark.full
def test_versions_stand_side_by_side(tmp_path: Path) -> None:
    """With the settings of the site and one page: `latest` is the second of two versions, and readers go there."""
    settings = yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))
    for need in ("mike", "mkdocstrings", "material"):
        pytest.importorskip(need, reason="the docs extra is not installed")
    settings |= {"nav": [{"Home": "index.md"}], "hooks": [], "extra_css": [], "extra_javascript": []}
    (tmp_path / "mkdocs.yml").write_text(yaml.safe_dump(settings), encoding="utf-8")
    (tmp_path / "docs").mkdir()

    def run(*command: str) -> str:
        path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])  # mike asks for mkdocs there
        done = subprocess.run(
            command, cwd=tmp_path, env={**os.environ, "PATH": path}, capture_output=True, text=True, timeout=60
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    mike = (sys.executable, "-c", "from mike.driver import main; main()")
    run("git", "init", "--quiet")
    run("git", "config", "user.name", "somebody")
    run("git", "config", "user.email", "somebody@example.org")
    run("git", "commit", "--quiet", "--allow-empty", "--message", "first")
    for version in ("0.1", "0.2"):
        (tmp_path / "docs" / "index.md").write_text(f"# Of {version}\n")
        run(*mike, "deploy", "--update-aliases", version, "latest")
    run(*mike, "set-default", "latest")
    listed = json.loads(run("git", "show", "gh-pages:versions.json"))
    assert [(entry["version"], entry["aliases"]) for entry in listed] == [("0.2", ["latest"]), ("0.1", [])]
    for version in ("0.1", "0.2"):
        shown = run("git", "show", f"gh-pages:{version}/index.html")
        assert f"Of {version}" in shown
        assert '"provider": "mike"' in shown  # what makes the page list the versions
    assert "latest/" in run("git", "show", "gh-pages:index.html")


def test_api_page_has_every_public_name() -> None:
    pytest.importorskip("mkdocs", reason="the docs extra is not installed")
    text = runpy.run_path(str(ROOT / "docs" / "hooks" / "api.py"))["page"]()
    rooms = {name for name in pliant.__all__ if isinstance(getattr(pliant, name), ModuleType)}
    assert set(re.findall(r"::: pliant\.(\w+)", text)) == set(pliant.__all__) - rooms


@pytest.mark.parametrize("room", ROOMS)
def test_a_page_of_a_room_is_on_the_site(room: str) -> None:
    """It lists all members; tests/docs/test_documentation.py asks for their words."""
    module = {"rigs": "pliant_studies.measured"}.get(room, f"pliant.{room}")
    assert importlib.import_module(module).__all__
    assert f"::: {module}\n" in (ROOT / "docs" / "api" / f"{room}.md").read_text()
    assert f"api/{room}.md" in (ROOT / "mkdocs.yml").read_text()


def test_every_room_has_a_page() -> None:
    """Rooms that `import pliant` offers; parts of a description stand on a page that is made."""
    assert set(pliant._ROOMS) - {"robot"} <= set(ROOMS)
