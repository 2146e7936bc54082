"""What a release rests on: version, changelog, locks, the conda recipe, and builds that repeat themselves."""

from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

import pliant
from sources import ROOT

PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
LOCKS = sorted((ROOT / "release" / "locks").glob("py*.txt"))


def script(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, ROOT / "release" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


release = script("release")
READY = "# Changelog\n\n## [Unreleased]\n\n## [1.2.3] - 2026-11-16\n\n- Beams bend.\n\n## [1.2.2] - 2026-01-01\n"


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A repository that is ready for release 1.2.3."""
    (tmp_path / "src" / "pliant").mkdir(parents=True)
    (tmp_path / "src" / "pliant" / "version.py").write_text('VERSION = "1.2.3"\n')
    (tmp_path / "CHANGELOG.md").write_text(READY)
    (tmp_path / "CITATION.cff").write_text("cff-version: 1.2.0\nversion: 1.2.3\n")
    (tmp_path / "docs" / "release-notes").mkdir(parents=True)
    (tmp_path / "docs" / "release-notes" / "1.2.md").write_text("# Pliant 1.2\n\nBeams bend.\n")
    (tmp_path / "mkdocs.yml").write_text("nav:\n  - New: release-notes/1.2.md\n")
    for name in ("LICENSE", "NOTICE", "SECURITY.md", "CODE_OF_CONDUCT.md", "CONTRIBUTING.md"):
        (tmp_path / name).write_text("text\n")
    for command in (["init", "--quiet"], ["add", "."], ["commit", "--quiet", "--message", "all"]):
        git(tmp_path, *command)
    return tmp_path


def git(folder: Path, *command: str) -> None:
    who = ("-c", "user.name=somebody", "-c", "user.email=somebody@example.org")
    subprocess.run(["git", *who, *command], cwd=folder, check=True, capture_output=True)


def test_a_tree_that_is_ready(tree: Path) -> None:
    assert list(release.missing(tree)) == []
    assert release.section(READY, "1.2.3") == "- Beams bend."
    assert release.notes("1.2.3", tree) == "# Pliant 1.2\n\nBeams bend.\n"
    assert [release.minor(number) for number in ("0.2.0", "0.2.1rc1", "1.10.0")] == ["0.2", "0.2", "1.10"]


@pytest.mark.parametrize(
    ("file", "old", "new", "said"),
    [
        ("src/pliant/version.py", "1.2.3", "next", "version.py: got 'next'"),
        ("CHANGELOG.md", "[1.2.3]", "[1.2.4]", "no heading `## [1.2.3] - YYYY-MM-DD`"),
        ("CHANGELOG.md", "2026-11-16", "soon", "no heading `## [1.2.3] - YYYY-MM-DD`"),
        ("CHANGELOG.md", "- Beams bend.\n", "", "nothing under [1.2.3]"),
        ("CHANGELOG.md", "[Unreleased]\n", "[Unreleased]\n\n- More.\n", "lines under [Unreleased]"),
        ("docs/release-notes/1.2.md", "", None, "1.2.md: no release notes"),
        ("docs/release-notes/1.2.md", "# Pliant 1.2\n", "# Pliant 1.1\n", "1.2.md: no release notes"),
        ("mkdocs.yml", "1.2.md", "1.1.md", "1.2.md is not in the navigation"),
        ("CITATION.cff", "version: 1.2.3", "version: 1.2.2", "CITATION.cff: another version"),
        ("NOTICE", "text\n", None, "NOTICE: not there"),
    ],
)
def test_what_is_missing_is_named(tree: Path, file: str, old: str, new: str | None, said: str) -> None:
    path = tree / file
    if new is None:
        path.unlink()
    else:
        path.write_text(path.read_text().replace(old, new))
    git(tree, "commit", "--quiet", "--all", "--message", "changed")
    assert any(said in line for line in release.missing(tree))


def test_uncommitted_changes_and_a_tag_that_exists(tree: Path) -> None:
    git(tree, "tag", "v1.2.3")
    (tree / "NOTICE").write_text("other\n")
    assert [line.split(";")[0] for line in release.missing(tree)] == [
        "the tree has changes that are not committed",
        "the tag v1.2.3 exists",
    ]


@pytest.mark.parametrize(
    ("licenses", "refused"),
    [
        ([{"expression": "BSD-3-Clause AND MIT"}], False),
        ([{"license": {"name": "GNU Lesser General Public License v3 or later (LGPLv3+)"}}], False),
        ([{"license": {"id": "GPL-3.0-only"}}], True),
        ([{"license": {"name": "License :: OSI Approved :: GNU General Public License v3"}}], True),
        ([{"license": {"id": "AGPL-3.0-only"}}], True),
        ([], True),
    ],
)
def test_licenses_are_judged(licenses: list[Any], refused: bool) -> None:
    bill = {"components": [{"name": "beam", "version": "1.0", "licenses": licenses}]}
    if not refused:
        release.audit(bill)
        return
    with pytest.raises(SystemExit, match=r"beam 1\.0"):
        release.audit(bill)


def test_one_version() -> None:
    """Files that cannot read it say the same as `version.py`."""
    assert release.version() == pliant.__version__
    assert f"\nversion: {pliant.__version__}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert PROJECT["project"]["dynamic"] == ["version"]


# ------------------------------------------------------------------------------------------------- locks and recipe


def test_every_python_that_was_at_hand_has_a_lock() -> None:
    assert {"py3.11.txt"} <= {path.name for path in LOCKS}
    assert {path.stem.removeprefix("py") for path in LOCKS} <= set(script("lock").versions())


ENTRY = re.compile(r"^([\w.-]+)==(\S+)(?: ; [^\\\n]*)? \\\n(?:    --hash=sha256:[0-9a-f]{64}.*\n)+", re.MULTILINE)


@pytest.mark.parametrize("path", LOCKS, ids=lambda path: path.stem)
def test_a_lock_holds_what_pyproject_asks_for(path: Path) -> None:
    """Every package with hashes and from no named place; what the project names is there, in a version it allows."""
    text = path.read_text(encoding="utf-8")
    assert "://" not in text
    assert "--index-url" not in text
    entries = ENTRY.findall(text)
    assert len(entries) == len(re.findall(r"^[A-Za-z0-9]", text, re.M)), "a package without hashes"
    locked = {plain(name): version for name, version in entries}
    python = path.stem.removeprefix("py")
    own = PROJECT["project"]
    for line in (*own["dependencies"], *own["optional-dependencies"]["dev"], *PROJECT["build-system"]["requires"]):
        wanted = Requirement(line)
        if wanted.marker is None or wanted.marker.evaluate({"python_version": python, "sys_platform": "linux"}):
            assert wanted.specifier.contains(locked[plain(wanted.name)], prereleases=True), line


def plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


RENAMED = {"matplotlib": "matplotlib-base"}  # without a window system, which we never open


def test_the_conda_recipe_says_what_pyproject_says() -> None:
    recipe = yaml.safe_load((ROOT / "release" / "conda" / "recipe.yaml").read_text(encoding="utf-8"))
    own = PROJECT["project"]
    assert recipe["context"]["version"] == pliant.__version__

    def needs(lines: list[str]) -> dict[str, SpecifierSet]:
        found = [Requirement(line) for line in lines]
        return {RENAMED.get(plain(r.name), plain(r.name)): r.specifier for r in found}

    run, host = needs(recipe["requirements"]["run"]), needs(recipe["requirements"]["host"])
    assert run.pop("python") == host.pop("python") == SpecifierSet(own["requires-python"])
    assert run == needs(own["dependencies"])
    assert host.pop("pip") == SpecifierSet()
    assert host == needs(PROJECT["build-system"]["requires"])
    assert recipe["build"]["python"]["entry_points"] == [f"{k} = {v}" for k, v in own["scripts"].items()]
    about = recipe["about"]
    assert (about["summary"], about["license"]) == (own["description"], own["license"])
    patterns = [path for pattern in own["license-files"] for path in sorted(ROOT.glob(pattern))]
    assert about["license_file"] == [path.relative_to(ROOT).as_posix() for path in patterns]


def test_the_hook_of_pre_commit_is_make_lint() -> None:
    config = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8"))
    ((hook,),) = [repo["hooks"] for repo in config["repos"]]
    assert (hook["entry"], hook["pass_filenames"]) == ("make lint", False)


def test_the_paper_cites_what_its_bibliography_has() -> None:
    text = (ROOT / "paper" / "paper.md").read_text(encoding="utf-8")
    known = re.findall(r"^@\w+\{([\w-]+),", (ROOT / "paper" / "paper.bib").read_text(encoding="utf-8"), re.MULTILINE)
    assert set(re.findall(r"(?<![\w])@([a-z]+\d*)", text)) == set(known)
    for figure in re.findall(r"\]\((\S+\.png)\)", text):
        assert (ROOT / "paper" / figure).is_file(), figure


# ----------------------------------------------------------------------------------------------------------- builds


@pytest.mark.full
def test_builds_repeat_themselves(tmp_path: Path) -> None:
    """Two copies in folders of different names, made at different times with different rights: the same bits."""
    built = []
    for name, mask in (("one", 0o022), ("another place", 0o077)):
        copy = tmp_path / name / "pliant"
        listed = subprocess.run(["git", "ls-files"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
        for file in listed.splitlines():
            (copy / file).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / file, copy / file)
            (copy / file).chmod(0o666 & ~mask)
        command = [sys.executable, "-m", "hatchling", "build", "--directory", str(tmp_path / name / "dist")]
        subprocess.run(command, cwd=copy, check=True, capture_output=True)
        built.append({path.name: path.read_bytes() for path in (tmp_path / name / "dist").iterdir()})
    assert {Path(name).suffix for name in built[0]} == {".whl", ".gz"}
    assert built[0] == built[1]
