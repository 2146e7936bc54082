"""Rooms have an order: a room imports only rooms below it, deferred and typing imports counted."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from sources import SOURCE, module_name, nodes, python_files

ORDER = (
    "version", "errors", "options", "arrays", "base", "algebra", "robot", "mechanics", "compute", "integrators",
    "model", "drawing", "protocols", "control", "simulation", "control.planning", "analysis", "identification",
    "validation", "export", "sweeps", "figures", "viewer", "environments", "learning", "studio", "cli", "pliant",
    "pliant_bench", "pliant_studies",
)  # fmt: skip
"""From the lowest room up. `pliant` is its `__init__` and `__main__`; planning simulates, the rest of control does
not."""
LOOSE = {"__init__", "__main__", "errors", "options", "arrays", "protocols", "version"}
BACK = {
    ("analysis.map_figures", "analysis.campbell"): "a figure of a result, which its method draws",
    ("analysis.map_figures", "analysis.pose_maps"): "a figure of a result, which its method draws",
    ("integrators.sundials", "integrators.settings"): "settings look whether the library is there",
    ("control.planning.plan_figure", "control.planning.plan_motion"): "a figure of a result, which its method draws",
    ("identification.figures", "identification.estimate"): "a figure of a result, which its method draws",
    ("identification.recording", "identification.calibration"): "readings take a calibration, which is a reading",
    (
        "model.equilibrium.statics",
        "model.equilibrium.closed_statics",
    ): "rest of trees and of mechanisms, two cases of one search",
    (
        "model.equilibrium.statics",
        "model.equilibrium.loop_statics",
    ): "rest of trees and of mechanisms, two cases of one search",
    ("robot.description", "robot.cylinder_bodies"): "a heavy cylinder becomes links of the robot that has it",
    (
        "simulation.runs.equations.composition",
        "simulation.runs.equations.composed_equations",
    ): "a run and its equations",
    (
        "simulation.runs.quantities.error_estimate",
        "simulation.runs.results",
    ): "an estimate of a result, which its method makes",
    ("simulation.scenario.scenario", "simulation.scenario.recordings"): "a scenario may stand in a recording file",
}
"""Pairs inside a room that import each other, with the reason."""
EVERYWHERE = "model.model"
"""Functions of the room `model` take a `Model`, and its methods call them."""


def room(module: str) -> str:
    """Room of a module, by its dotted name."""
    package, *inside = module.split(".")
    if package != "pliant" or not inside or inside[0] == "__main__":
        return package
    return "control.planning" if inside[:2] == ["control", "planning"] else inside[0]


MODULES = {module_name(path): path for path in python_files()}
FACES = {name for name, path in MODULES.items() if path.name == "__init__.py"}
ROOMS = sorted({room(name) for name in MODULES})


@cache
def imports(module: str) -> tuple[str, ...]:
    """Modules that a module imports, wherever the import stands."""
    found: dict[str, None] = {}
    for node in nodes(MODULES[module]):
        if isinstance(node, ast.ImportFrom):
            assert not node.level, f"{module}: imports are absolute"
            source = node.module or ""
            for alias in node.names:
                whole = f"{source}.{alias.name}"
                found[whole if whole in MODULES else source] = None
        elif isinstance(node, ast.Import):
            found |= dict.fromkeys(alias.name for alias in node.names)
    return tuple(name for name in found if name in MODULES and name != module)


@cache
def edges() -> dict[str, tuple[str, ...]]:
    """Imports among modules that do work: a face only passes names on."""
    return {module: tuple(n for n in imports(module) if n not in FACES) for module in MODULES if module not in FACES}


def inner(module: str) -> str:
    return module.removeprefix("pliant.")


@pytest.mark.parametrize("own", ROOMS)
def test_a_room_imports_only_rooms_below_it(own: str) -> None:
    assert own in ORDER, f"{own} has no place in the order of rooms"
    wrong = [
        f"{module} imports {other}"
        for module, others in edges().items()
        for other in others
        if room(module) == own and ORDER.index(room(other)) > ORDER.index(own)
    ]
    assert wrong == []
    apart = {"mechanics": "compute", "robot": "compute", "compute": "mechanics", "integrators": "mechanics"}
    assert [m for m, others in edges().items() if room(m) == own and apart.get(own) in map(room, others)] == []


def test_no_circle() -> None:
    """But for pairs inside a room, each with a reason."""
    found = {a: [b for b in others if not _back(a, b)] for a, others in edges().items()}
    state: dict[str, int] = {}

    def visit(module: str, way: list[str]) -> None:
        if state.get(module) == 1:
            raise AssertionError(" -> ".join([*way[way.index(module) :], module]))
        if module in state:
            return
        state[module] = 1
        for other in found[module]:
            visit(other, [*way, module])
        state[module] = 2

    for module in found:
        visit(module, [])


def _back(module: str, other: str) -> bool:
    a, b = inner(module), inner(other)
    return (b, a) in BACK or (a, b) in BACK or (b == EVERYWHERE and a.startswith("model."))


def test_every_exception_is_needed() -> None:
    """Both modules of a pair import each other, and are in one room."""
    for a, b in BACK:
        first, second = f"pliant.{a}", f"pliant.{b}"
        assert room(first) == room(second), (a, b)
        assert second in imports(first) or first in imports(second), (a, b)


def test_faces_are_for_others() -> None:
    """Inside `pliant` a name comes from the module that defines it; users import it from the folder."""
    wrong = []
    for module in edges():
        if module.split(".")[0] != "pliant":
            continue
        for node in nodes(MODULES[module]):
            if isinstance(node, ast.ImportFrom) and node.module in FACES:
                passed = _passed_on(node.module)
                wrong += [f"{module}: {node.module}.{alias.name}" for alias in node.names if alias.name in passed]
    assert wrong == []


@cache
def _passed_on(face: str) -> frozenset[str]:
    return frozenset(
        alias.asname or alias.name
        for node in nodes(MODULES[face])
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0].startswith("pliant")
        for alias in node.names
        if f"{node.module}.{alias.name}" not in MODULES
    )


def test_nothing_lies_loose() -> None:
    assert {path.stem for path in (SOURCE / "pliant").glob("*.py")} == LOOSE


def test_every_folder_says_what_it_knows() -> None:
    folders = {path.parent for path in python_files()}
    assert [str(folder) for folder in folders if not (folder / "__init__.py").exists()] == []
    silent = [face for face in FACES if not ast.get_docstring(ast.parse(MODULES[face].read_text(encoding="utf-8")))]
    assert silent == []


@pytest.mark.parametrize("own", ROOMS)
def test_a_leading_underscore_stays_at_home(own: str) -> None:
    """What another file needs has a name without one. (A table of NumPy and a call of the system have no other.)"""
    faults = [fault for name, path in MODULES.items() if room(name) == own for fault in _strangers(path)]
    assert faults == []


def _strangers(path: Path) -> Iterator[str]:
    own = {node.name for node in nodes(path) if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    for node in nodes(path):
        if isinstance(node, ast.ImportFrom) and (node.level or (node.module or "").startswith("pliant")):
            strange = [alias for alias in node.names if alias.name.startswith("_")]
            yield from (f"{path}:{node.lineno}: {alias.name}" for alias in strange)
        elif isinstance(node, ast.Attribute) and node.attr.startswith("_") and not node.attr.startswith("__"):
            here = isinstance(node.value, ast.Name) and node.value.id in ("self", "cls")
            if not here and node.attr not in own and node.attr not in ("_ARRAY_API", "_exit"):
                yield f"{path}:{node.lineno}: {ast.unparse(node)}"


def test_known_arms_are_light() -> None:
    """Run and rest of an arm that is known need no library for expressions, linear algebra, figures or files."""
    heavy = ("casadi", "numba", "scipy", "xarray", "matplotlib")
    work = "m = pliant.load('two-link').model(); pliant.simulate(m, 0.01); m.equilibrium([0.1, 0.2])"
    code = f"import sys, pliant; {work}; print(*[m for m in {heavy!r} if m in sys.modules])"
    for _ in range(2):  # the second time it is known
        said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert said.split() == []


def test_known_runs_build_no_equations(tmp_path: Path) -> None:
    """Controlled motion, deflections, strains, error estimates and pages of an arm that is known come from records."""
    page = tmp_path / "run.html"
    code = f"""
import sys, pliant
from pliant.control import PD
model = pliant.load("lab-arm").model()
goal = model.equilibrium([0.1] * model.n_joints)
run = pliant.simulate(model, 0.01, q0=goal, controller=PD(kp=100.0, kd=10.0, reference=[0.1] * model.n_joints))
print(run.deflection("upper").shape, run.tip.shape, run.to_html({str(page)!r}).name)
print("pliant.model.building" in sys.modules)
"""
    for _ in range(2):  # the second time it is known
        said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert said.splitlines()[1] == "False"


def test_import_is_light() -> None:
    """`import pliant` loads none of the libraries that cost half a second each."""
    heavy = ("xarray", "matplotlib", "scipy", "casadi", "pydantic", "llvmlite")
    code = f"import sys, pliant; print(*[m for m in {heavy!r} if m in sys.modules])"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert found == []
