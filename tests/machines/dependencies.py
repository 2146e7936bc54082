"""Lowest and newest allowed versions: pyproject.toml, read, and environments built from it."""

from __future__ import annotations

import os
import shutil
import sys
import tomllib
from functools import cache
from typing import Any

from packaging.requirements import Requirement

from machines.place import BUILD, ROOT, Machine, Missing, built, caches, current, last, pip, tell, week, wheel

EXTRAS = ("control", "fmu", "rl", "sweep", "video", "zarr")
"""Extras that core tests use."""
TOOLS = ("hypothesis", "pytest", "pytest-xdist")


@cache
def project() -> dict[str, Any]:
    """pyproject.toml"""
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def stated() -> dict[str, list[Requirement]]:
    """Requirements under the name of their extra; those of Pliant itself under `""`, of its build under `build`."""
    own, build = project()["project"], project()["build-system"]
    lists = {"": own["dependencies"], "build": build["requires"], **own["optional-dependencies"]}
    return {extra: [Requirement(line) for line in lines] for extra, lines in lists.items()}


def floor(requirement: Requirement) -> str | None:
    """The lowest version that a requirement allows."""
    found = [part.version for part in requirement.specifier if part.operator == ">="]
    return found[0] if len(found) == 1 else None


def wanted(extras: tuple[str, ...] = EXTRAS, tools: tuple[str, ...] = TOOLS) -> list[Requirement]:
    """What an environment needs to run the core tests."""
    everything = stated()
    own = [requirement for extra in ("", *extras) for requirement in everything[extra]]
    return own + [requirement for requirement in everything["dev"] if requirement.name in tools]


def lowest() -> Machine:
    """The lowest allowed version of everything that pyproject.toml names; what those need in turn is as pip picks."""
    return _environment("lowest", [f"{requirement.name}=={floor(requirement)}" for requirement in wanted()], oldest())


def newest() -> Machine:
    """The newest versions that pyproject.toml allows, a week old at most."""
    return _environment("newest", [str(requirement) for requirement in wanted()], sys.executable, week())


def oldest() -> str:
    """An interpreter of the lowest allowed Python: wheels as old as that are made for no later one."""
    version = project()["project"]["requires-python"].removeprefix(">=")
    if version == f"{sys.version_info.major}.{sys.version_info.minor}":
        return sys.executable
    found = shutil.which(f"python{version}")
    if not found:
        raise Missing(f"the lowest versions are for Python {version}, which is not installed")
    return found


def _environment(name: str, requirements: list[str], base: str, when: str = "") -> Machine:
    folder = BUILD / name
    python = folder / "venv" / ("Scripts" if os.name == "nt" else "bin") / "python"
    recipe = [base, when, *requirements]
    if not current(folder / "venv", recipe):
        made = tell(base, "-m", "venv", str(folder / "venv"))
        if made.returncode:
            raise Missing(f"{base} makes no environment: {last(made.stdout)}")
        pip("install", "--upgrade", "--no-compile", *requirements, python=str(python))
        built(folder / "venv", recipe)
    site = str(wheel(folder))
    return Machine(str(python), {**os.environ, **caches(folder), "PYTHONPATH": site, "PLIANT_TESTED": site})
