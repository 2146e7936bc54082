"""`make release`: check, test, build twice, describe, tag.

The version is that of `src/pliant/version.py`; the changelog has a section of it with a date, the site a page of
release notes. Everything that is missing is named at once, before anything is built. `TRIAL=1` goes on all the same,
leaves out the long tests, and sets no tag.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
DIST = ROOT / "dist"
ENVIRONMENT = ROOT / "build" / "release"
BIN = "Scripts" if os.name == "nt" else "bin"
NOTES = "docs/release-notes/{}.md"
REFUSED = re.compile(r"\bA?GPL|(?<!Lesser )(?<!Library )General Public License", re.IGNORECASE)
"""Licenses that users of an Apache library do not expect among its dependencies; the LGPL of CasADi is none of them."""


def version(root: Path = ROOT) -> str:
    """The version, from the one place where it stands."""
    text = (root / "src" / "pliant" / "version.py").read_text(encoding="utf-8")
    found = re.search(r'^VERSION = "(.+)"$', text, re.MULTILINE)
    return found[1] if found else ""


def section(changelog: str, name: str) -> str | None:
    """What the changelog says under a heading, without it; None where there is no such heading."""
    found = re.search(rf"^## \[{re.escape(name)}\][^\n]*\n(.*?)(?=^## |\Z)", changelog, re.MULTILINE | re.DOTALL)
    return found[1].strip() if found else None


def notes(number: str, root: Path = ROOT) -> str:
    """The page that tells users of a minor version what is new and how to move; empty where there is none."""
    path = root / NOTES.format(minor(number))
    return path.read_text(encoding="utf-8") if path.is_file() else ""


def minor(number: str) -> str:
    """0.2 of 0.2.0 and of 0.2.1rc1."""
    return ".".join(number.split(".")[:2])


def missing(root: Path = ROOT) -> Iterator[str]:
    """What stands between the tree and a release, one line each."""
    number = version(root)
    if not re.fullmatch(r"\d+\.\d+\.\d+((a|b|rc)\d+)?", number):
        yield f"src/pliant/version.py: got {number!r}, expected a version such as 0.2.0"
    changelog = (root / "CHANGELOG.md").read_text(encoding="utf-8")
    if not re.search(rf"^## \[{re.escape(number)}\] - \d{{4}}-\d\d-\d\d$", changelog, re.MULTILINE):
        yield f"CHANGELOG.md: no heading `## [{number}] - YYYY-MM-DD`; move what is unreleased below it"
    elif not section(changelog, number):
        yield f"CHANGELOG.md: nothing under [{number}]; say what users will notice"
    if section(changelog, "Unreleased"):
        yield "CHANGELOG.md: lines under [Unreleased]; move them below the heading of the version"
    page = NOTES.format(minor(number))
    if not notes(number, root).startswith(f"# Pliant {minor(number)}\n"):
        yield f"{page}: no release notes with the title `# Pliant {minor(number)}`; say what is new and how to move"
    elif page.removeprefix("docs/") not in (root / "mkdocs.yml").read_text(encoding="utf-8"):
        yield f"mkdocs.yml: {page} is not in the navigation"
    citation = (root / "CITATION.cff").read_text(encoding="utf-8")
    if f"\nversion: {number}\n" not in citation:
        yield f"CITATION.cff: another version, expected `version: {number}`"
    for name in ("LICENSE", "NOTICE", "SECURITY.md", "CODE_OF_CONDUCT.md", "CONTRIBUTING.md"):
        if not (root / name).is_file():
            yield f"{name}: not there"
    if said("git", "status", "--porcelain", root=root):
        yield "the tree has changes that are not committed; commit them, since only what is committed is built"
    if said("git", "tag", "--list", f"v{number}", root=root):
        yield f"the tag v{number} exists; raise the version in src/pliant/version.py"


def said(*command: str, root: Path = ROOT) -> str:
    return subprocess.run(command, cwd=root, check=True, capture_output=True, text=True).stdout.strip()


def build(target: Path) -> dict[str, str]:
    """Wheel and sdist of the last commit, made in a fresh folder; SHA-256 by file name."""
    epoch = said("git", "log", "-1", "--format=%ct")
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["git", "clone", "--quiet", "--local", str(ROOT), folder], check=True)
        command = [sys.executable, "-m", "hatchling", "build", "--directory", str(target)]
        environment = {**os.environ, "SOURCE_DATE_EPOCH": epoch}
        subprocess.run(command, cwd=folder, check=True, env=environment, stdout=subprocess.DEVNULL)
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(target.iterdir())}


def build_twice() -> dict[str, str]:
    """The files in `dist`, which a second build has to repeat bit by bit."""
    DIST.mkdir(exist_ok=True)
    for path in DIST.iterdir():
        path.unlink()
    first = build(DIST)
    with tempfile.TemporaryDirectory() as folder:
        second = build(Path(folder))
    if first != second:
        raise SystemExit(f"two builds of the same commit differ: {first} and {second}")
    return first


def describe(number: str) -> None:
    """Install the wheel where nothing else is, check it, and list what came along and under which licenses."""
    python = ENVIRONMENT / BIN / "python"
    run(sys.executable, "-m", "venv", "--clear", str(ENVIRONMENT))
    (wheel,) = DIST.glob("*.whl")
    run(str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", str(wheel))
    run(str(python), "-m", "pip", "check", "--disable-pip-version-check")
    bill = DIST / f"pliant-{number}.cdx.json"
    run(sys.executable, "-m", "cyclonedx_py", "environment", str(python), "--output-reproducible", "--of", "JSON",
        "--output-file", str(bill))  # fmt: skip
    audit(json.loads(bill.read_text(encoding="utf-8")))


def audit(bill: dict[str, Any]) -> None:
    """Every package in a CycloneDX bill says its license, and none is refused."""
    wrong = []
    for component in bill["components"]:
        if component["name"] in ("pip", "setuptools"):  # of the environment, not of pliant
            continue
        licenses = [entry.get("expression") or entry["license"].get("id") or entry["license"].get("name", "")
                    for entry in component.get("licenses", [])]  # fmt: skip
        if not licenses or any(REFUSED.search(license) for license in licenses):
            wrong.append(f"{component['name']} {component['version']}: {', '.join(licenses) or 'no license given'}")
    if wrong:
        raise SystemExit("licenses to look at: " + "; ".join(wrong))


def run(*command: str) -> None:
    """A step, shown as it would be typed."""
    print("+", *command, flush=True)
    if subprocess.run(command, cwd=ROOT).returncode:
        raise SystemExit(f"stopped: {' '.join(command)} failed")


def main(trial: bool) -> None:
    number, gaps = version(), list(missing())
    print(f"Pliant {number}" + "".join(f"\n  missing: {gap}" for gap in gaps), flush=True)
    if gaps and not trial:
        raise SystemExit(f"no release: {len(gaps)} things are missing; TRIAL=1 goes on without them and sets no tag")
    run("make", "lint" if trial else "test-full")
    files = build_twice()
    run(sys.executable, "-m", "twine", "check", "--strict", *(str(DIST / name) for name in files))
    describe(number)
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    changes = section(changelog, number) or section(changelog, "Unreleased") or ""
    text = f"{notes(number)}\n## All changes\n\n{changes}\n"
    (DIST / "RELEASE_NOTES.md").write_text(text, encoding="utf-8")
    sums = "".join(f"{digest}  {name}\n" for name, digest in files.items())
    (DIST / "SHA256SUMS").write_text(sums, encoding="utf-8")
    if not trial:
        run("git", "tag", "--annotate", f"v{number}", "--message", f"Pliant {number}")
    print(sums + (f"a trial: no tag v{number}" if trial else f"tagged v{number}; push it and upload dist/"))


if __name__ == "__main__":
    main(trial="--trial" in sys.argv[1:])
