"""The house has an order: a package imports only what stands above it, and heavy libraries only when they are used."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from sources import nodes

ROOT = Path(__file__).parents[1] / "src" / "pliant"
ORDER = (
    "started", "version", "later", "options", "arrays", "errors", "interrupts", "stages", "deprecation", "derived",
    "content", "tuning", "signatures", "progress", "reading", "array_files", "writing", "quoting", "algebra", "kernels",
    "integrate", "horizon", "robot", "bodies", "shapes", "dynamics", "model", "control", "loads", "protocols",
    "timing", "runs", "batch", "stepping", "gradients", "analysis", "export", "view", "scenario", "identification",
    "validation", "rigs", "ringing", "sweeps", "environments", "products",
    "jax", "torch", "studies", "bench", "cli",
)  # fmt: skip
TWICE = {"RestToRest"}  # a motion of `control`, and the task of an environment that asks for one; both public
DOORS = {  # imports inside a method that point downwards, each for a user's convenience
    ("robot", "model"),  # Robot.model
    ("robot", "export"),  # Robot.to_mjcf
    ("runs", "view"),  # Result.plot and its kin
    ("model", "loads"),
    ("model", "analysis"),
    ("analysis", "view"),  # Campbell.plot and PoseMap.plot
    ("robot", "view"),
    ("model", "view"),
    ("view", "scenario"),  # the studio reads and writes scenario files
    ("bench", "cli"),  # times a command in a fresh process
}


def room(path: Path) -> str:
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


def imports(path: Path) -> list[tuple[str, bool]]:
    """Rooms that a file imports, and whether at the top level."""
    found = []
    for node in nodes(path):
        names: list[str] = []
        if isinstance(node, ast.ImportFrom):
            module = node.module or ""
            if node.level:  # from . or .. import
                parts = path.relative_to(ROOT.parent).with_suffix("").parts[: -node.level]
                module = ".".join([*parts, module] if module else parts)
            names = [f"{module}.{alias.name}" if module == "pliant" else module for alias in node.names]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        for name in names:
            if name.startswith("pliant."):
                found.append((name.split(".")[1], node.col_offset == 0))
    return found


FILES = [
    path for path in sorted(ROOT.rglob("*.py")) if path.parent != ROOT or path.stem not in ("__init__", "__main__")
]


ROOMS = sorted({room(path) for path in FILES})


@pytest.mark.parametrize("own", ROOMS)
def test_imports_point_upwards(own: str) -> None:
    assert own in ORDER, f"{own} has no place in the house: add it to ORDER where it belongs"
    for path in FILES:
        for other, at_top in imports(path) if room(path) == own else ():
            if other == own or other not in ORDER:
                continue
            allowed = ORDER.index(other) < ORDER.index(own)
            if own in ("integrate", "kernels", "horizon") and other in ("robot", "shapes", "dynamics"):
                allowed = False
            if own in ("robot", "shapes", "dynamics") and other in ("kernels", "integrate", "horizon"):
                allowed = False  # mechanics emits expressions and knows no machine code
            assert allowed or (not at_top and (own, other) in DOORS), f"{path.name} imports pliant.{other}"


@pytest.mark.parametrize("own", ROOMS)
def test_a_leading_underscore_stays_at_home(own: str) -> None:
    """What another file needs has a name without one. (A table of NumPy and a call of the system have no other.)"""
    faults = [fault for path in FILES if room(path) == own for fault in _strangers(path)]
    assert faults == []


def _strangers(path: Path) -> Iterator[str]:
    own = {node.name for node in nodes(path) if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    for node in nodes(path):
        if isinstance(node, ast.ImportFrom) and (node.level or (node.module or "").startswith("pliant")):
            yield from (f"{path}:{node.lineno}: {a.name}" for a in node.names if a.name.startswith("_"))
        elif isinstance(node, ast.Attribute) and node.attr.startswith("_") and not node.attr.startswith("__"):
            here = isinstance(node.value, ast.Name) and node.value.id in ("self", "cls")
            if not here and node.attr not in own and node.attr not in ("_ARRAY_API", "_exit"):
                yield f"{path}:{node.lineno}: {ast.unparse(node)}"


def test_a_name_means_one_thing() -> None:
    """A file name, and the name of a class, occurs once. Commands are named by what the user types; the five studies
    have one plan, and write down their references without the library."""
    places: dict[str, list[str]] = {}
    for path in FILES:
        if path.name == "__init__.py" or room(path) in ("cli", "studies"):
            continue
        here = str(path.relative_to(ROOT))
        classes = [node.name for node in nodes(path) if isinstance(node, ast.ClassDef)]
        for name in [path.name, *(name for name in classes if not name.startswith("_"))]:
            places.setdefault(name, []).append(here)
    twice = {name: where for name, where in places.items() if len(where) > 1 and name not in TWICE}
    assert not twice, f"give one of each pair another name: {twice}"


def test_a_run_is_light() -> None:
    """What a run itself needs: none of the libraries for linear algebra, figures and files."""
    heavy = (
        "numba",
        "scipy.linalg",
        "scipy.integrate",
        "xarray",
        "matplotlib",
    )
    run = "import sys, pliant; pliant.simulate(pliant.load('two-link').model(), 0.01)"
    code = f"{run}; print(*[m for m in {heavy!r} if m in sys.modules])"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert found == []


def test_import_is_light() -> None:
    """`import pliant` loads none of the libraries that cost half a second each."""
    heavy = ("xarray", "matplotlib", "scipy", "casadi", "pydantic", "llvmlite")
    code = f"import sys, pliant; print(*[m for m in {heavy!r} if m in sys.modules])"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert found == []
