"""Move modules as a table says, and rewrite what names them: imports, dotted names in strings and pages, paths.

python .ci/move.py .ci/moves.tsv        in the root of a clean checkout
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path.cwd()
SRC = ROOT / "src"
TEXT = {".py", ".md", ".toml", ".yaml", ".yml", ".ipynb", ".txt", ".cfg", ".tsv", ".html", ".js", ".sh", ".in", ""}
SKIP = {"moves.tsv", "move.py", "CHANGELOG.md"}


def dotted(path: str) -> str:
    return path.removesuffix("/__init__").replace("/", ".")


def table(path: Path) -> dict[str, str]:
    rows = [line.split("\t") for line in path.read_text().splitlines()]
    return {old: new for old, new in rows if new != "-"}


moves = table(Path(sys.argv[1]))
modules = {dotted(old): dotted(new) for old, new in moves.items()}
packages = {dotted(old) for old in moves if old.endswith("/__init__")}


DATA = {
    "pliant/arms": "pliant/robot/arms",
    "pliant/view/web": "pliant/viewer/web",
    "pliant/view/report.css": "pliant/drawing/report.css",
}
"""Files that are no modules."""

PUBLIC = {
    f"pliant.{name}"
    for name in (
        "batch", "bodies", "gradients", "jax", "loads", "rigs", "ringing", "scenario", "studies", "torch", "view",
    )
}  # fmt: skip
"""Public modules that stay importable under their old names."""

ROOMS = {
    "pliant/drawing": "Styles, panels and report pages that figures and rooms draw with.",
    "pliant/base": "What every room uses: caches, checks of arguments, files read and written, progress, interrupts.",
    "pliant/learning": "Models inside JAX and PyTorch.",
    "pliant/robot/parts": "Parts of the description of an arm: links, joints, beams, drives, contacts.",
    "pliant/robot/files": "Robot files: YAML and URDF in and out, the paths in them, and their error messages.",
    "pliant/mechanics/links": "Links as maps of coordinates, joined to a chain.",
    "pliant/mechanics/sliding": "Beams that slide out of their hubs.",
    "pliant/mechanics/formulations": "Formulations of the equations of motion, a file or two for each paper.",
    "pliant/mechanics/actuation": "Friction, gears, motors and damping.",
    "pliant/mechanics/constraints": "Loops, contacts, couplings and stops, and the forces that they carry.",
    "pliant/mechanics/derivatives": "Derivatives of the dynamics.",
    "pliant/compute/tape": "Instruction tapes: a CasADi function as a list of scalar operations.",
    "pliant/compute/llvm": "Machine code for the processor.",
    "pliant/compute/cuda": "Source code for graphics processors.",
    "pliant/compute/loops": "Python functions of numbers, translated: stepping loops of many runs.",
    "pliant/control/trajectories": "Desired motions and input shapers.",
    "pliant/control/controllers": "Controllers.",
    "pliant/control/sensing": "Sensors, sampled controllers and their clocks.",
    "pliant/control/estimation": "State estimation.",
    "pliant/simulation": "Simulation: single runs, batches, steppers, gradients and scenarios.",
    "pliant/export/c": "Export to C and CUDA.",
    "pliant/export/fmu": "Export to functional mock-up units.",
    "pliant/figures": "Figures of results.",
    "pliant/studio": "The studio.",
}


def files() -> list[Path]:
    found = subprocess.run(["git", "ls-files", "-z"], capture_output=True, text=True, check=True).stdout.split("\0")
    return [ROOT / name for name in found if name and (ROOT / name).is_file() and not (ROOT / name).is_symlink()]


def move_files() -> None:
    for old, new in moves.items():
        if old != new:
            target = ROOT / "src" / f"{new}.py"
            target.parent.mkdir(parents=True, exist_ok=True)
            subprocess.run(["git", "mv", f"src/{old}.py", str(target)], check=True)
    data = dict(DATA)
    for name in subprocess.run(["git", "ls-files", "src"], capture_output=True, text=True, check=True).stdout.split():
        if name.endswith(".py"):
            continue
        for old, new in (("pliant/rigs/", "pliant_studies/measured/"), ("pliant/studies/", "pliant_studies/")):
            if name.startswith(f"src/{old}"):
                data[name.removeprefix("src/")] = new + name.removeprefix(f"src/{old}")
    for old, new in data.items():
        (SRC / new).parent.mkdir(parents=True, exist_ok=True)
        subprocess.run(["git", "mv", f"src/{old}", f"src/{new}"], check=True)


def faces_of() -> dict[str, dict[str, str]]:
    """Names that each package passes on, by the module that each comes from (old names)."""
    faces: dict[str, dict[str, str]] = {}
    for old in moves:
        if not old.endswith("/__init__"):
            continue
        package = dotted(old)
        names: dict[str, str] = {}
        for node in ast.walk(ast.parse((SRC / f"{old}.py").read_text())):
            if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "pliant":
                for alias in node.names:
                    if f"{node.module}.{alias.name}" not in modules:
                        names[alias.asname or alias.name] = node.module or ""
        faces[package] = names
    return faces


faces = faces_of()


def defining(package: str, name: str) -> str:
    """The module in which a name of a package stands."""
    while package in faces and name in faces[package] and faces[package][name] != package:
        package = faces[package][name]
    return package


def statement(node: ast.ImportFrom, indent: str, inside: bool) -> str | None:
    """The import anew, one statement for each module that it names now; None where nothing changes."""
    source = node.module or ""
    if node.level or source.split(".")[0] != "pliant":
        return None
    groups: dict[str, list[str]] = {}
    changed = False
    for alias in node.names:
        whole = f"{source}.{alias.name}"
        shown = f" as {alias.asname}" if alias.asname else ""
        if whole in modules and source in packages | {"pliant"}:
            if not inside and whole in PUBLIC:
                groups.setdefault(source, []).append(f"{alias.name}{shown}")
                continue
            parent, _, name = modules[whole].rpartition(".")
            if name != alias.name and not alias.asname:
                shown = f" as {alias.name}"
            changed |= modules[whole] != whole
            groups.setdefault(parent, []).append(f"{name}{shown}")
        else:
            if not inside and source in PUBLIC | {"pliant"}:
                groups.setdefault(source, []).append(f"{alias.name}{shown}")
                continue
            home = defining(source, alias.name) if inside else source
            parent = modules.get(home, home)
            changed |= parent != source
            groups.setdefault(parent, []).append(f"{alias.name}{shown}")
    if not changed:
        return None
    return (
        ("\n" + indent)
        .join(
            f"from {parent} import {', '.join(names)}" if parent else f"import {', '.join(names)}"
            for parent, names in groups.items()
        )
        .replace("pliant", DONE)
    )


def rewritten(text: str, inside: bool) -> str:
    """Imports of a Python file anew."""
    try:
        tree = ast.parse(text)
    except SyntaxError:
        return text
    lines = text.splitlines(keepends=True)
    nodes = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    for node in sorted(nodes, key=lambda node: -node.lineno):
        indent = " " * node.col_offset
        new = statement(node, indent, inside)
        if new is None:
            continue
        last = lines[node.end_lineno - 1]
        tail = last.encode()[node.end_col_offset :].decode()
        first = lines[node.lineno - 1][: node.col_offset]
        lines[node.lineno - 1 : node.end_lineno] = [first + new + tail]
    return "".join(lines)


DONE = "\x01liant"
NAMES = re.compile(r"(?<![\w/.])pliant(?:\.[A-Za-z_]\w*)+")


def renamed(match: re.Match[str]) -> str:
    """A dotted name whose longest known beginning is moved."""
    parts = match[0].split(".")
    for k in range(len(parts), 1, -1):
        head = ".".join(parts[:k])
        if head in PUBLIC:
            return match[0]
        if head in modules:
            return ".".join([modules[head], *parts[k:]])
    return match[0]


LATER = re.compile(r'later\(\s*[\w".]+,\s*(\{.*?\})', re.DOTALL)


def later_tables(text: str, path: Path) -> str:
    """Modules in tables of names that a package imports later: from the package on, or whole if they are elsewhere."""
    here = dotted(str(path.relative_to(ROOT / "src")).removesuffix(".py"))
    old = next((name for name, new in modules.items() if new == here and name in packages), here)

    def entry(match: re.Match[str]) -> str:
        new = modules.get(f"{old}.{match[1]}", f"{old}.{match[1]}")
        return f': "{new.removeprefix(here + ".")}"'.replace("pliant", DONE)

    return LATER.sub(lambda m: m[0].replace(m[1], re.sub(r': "([\w.]+)"', entry, m[1])), text)


PATHS = {f"{old}.py": f"{new}.py" for old, new in moves.items() if old != new}
PATHS |= {
    old.removeprefix("pliant/"): new.removeprefix("pliant/")
    for old, new in PATHS.items()
    if "/" in old.removeprefix("pliant/")
}
WRITTEN = re.compile(r"(?<![\w/.])(src/)?([a-z_]+(?:/\w+)+\.py)\b")


def paths(text: str) -> str:
    """Paths of files, from src/ on or from the package on."""
    return WRITTEN.sub(lambda m: (m[1] or "") + PATHS.get(m[2], m[2]), text)


def main() -> None:
    move_files()
    for room, about in ROOMS.items():
        (ROOT / "src" / room / "__init__.py").write_text(f'"""{about}"""\n')
    subprocess.run(["git", "add", "src"], check=True)
    for path in files():
        if path.suffix not in TEXT or path.name in SKIP or ".git/" in str(path):
            continue
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
        new = rewritten(text, SRC in path.parents) if path.suffix == ".py" else text
        if path.name == "__init__.py" and "later(" in new:
            new = later_tables(new, path)
        new = paths(NAMES.sub(renamed, new)).replace(DONE, "pliant")
        if new != text:
            path.write_text(new, encoding="utf-8")


main()
