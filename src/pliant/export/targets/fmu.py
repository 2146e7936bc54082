"""Functional mock-up units: one file that Simulink, Modelica tools and FMPy can run, FMI 3.0 or 2.0."""

from __future__ import annotations

import hashlib
import json
import tempfile
import zipfile
from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from pliant.algebra.tableaux import explicit
from pliant.arrays import StateLike
from pliant.base.quoting import quoted
from pliant.base.signatures import checked
from pliant.compute.cuda.text import Precision
from pliant.compute.tape.tape import Tape
from pliant.errors import PliantError
from pliant.export.c.function import definition
from pliant.export.c.text import array, c_constant, comment, quoted_string
from pliant.export.compiling import Platform, compile_library, compiler_of, find_compiler, target_platform
from pliant.export.contents import description, export_name, labels, provenance, template
from pliant.export.fmu.description import Dependencies, build_description, description_xml, sources
from pliant.export.fmu.functions import UnitFunctions
from pliant.export.fmu.variables import Variable, nominal_states, start_states, symbols_and_outputs, variables
from pliant.export.placing import placed_file, require_free, write_texts
from pliant.export.targets import Target
from pliant.integrators.cuda.c_functions import controller
from pliant.integrators.step_control import (
    FIRST_ERROR,
    LEAST_MEMORY,
    MOST_CLOSING,
    NEARLY_CLOSED,
    SINGULAR,
    exponents,
)
from pliant.model.model import Model
from pliant.model.robot import Robot, model_of
from pliant.options import FmiVersion
from pliant.simulation.runs.checks.limits import JointLimit, joint_limits
from pliant.simulation.runs.checks.neglected_terms import fitted_to_start


@checked
def export_fmu(
    model: Model | Robot, path: str | Path, *, fmi: FmiVersion = "3.0",
    q0: StateLike | None = None,
    qd0: ArrayLike | Mapping[str, ArrayLike | Mapping[str, ArrayLike]] | None = None,
    limits: bool = True, compilers: Sequence[str] | None = None, force: bool = False,
) -> Path:  # fmt: skip
    """Write a functional mock-up unit for model exchange and co-simulation; its binaries need a C compiler.

    Parameters
    ----------
    model : Model or Robot
        The arm.
    path : str or path
        The file; `.fmu` is added where it is missing.
    fmi : "3.0" or "2.0"
        Version of the standard.
    q0, qd0 : optional
        Start values of coordinates and rates, given as for `simulate`.
    limits : bool
        End a run where a joint leaves the limits that the robot file gives it, as `simulate` does; ends of travel of
        sliding beams always hold.
    compilers : sequence of str, optional
        C compilers with or without flags, one for each platform that the file is to serve, such as
        `["gcc", "x86_64-w64-mingw32-gcc"]`; each reports for which platform it compiles. By default the one of this
        machine (CC, cc, gcc or clang). No compiler (`[]`): the sources alone.
    force : bool
        Whether to replace a file that exists.

    Returns
    -------
    path
        The file.

    Raises
    ------
    PliantError
        No C compiler, or two of them for one platform.

    Notes
    -----
    Inputs are the joint torques, held over a communication step; parameters are those of the model; outputs are joint
    and motor positions and rates, the tip position, and the strain at the root of each flexible link. Co-simulation
    integrates with an explicit method of order 5 whose step follows the tolerance of the experiment (1e-8 by default).
    Where a joint leaves its limits, a step ends, and the unit asks to end the run; in model exchange the distances to
    limits are event indicators. Directional (FMI 3: also adjoint) derivatives are exact.

    Examples
    --------
    >>> import shutil
    >>> if shutil.which("cc"):
    ...     assert pliant.export.export_fmu(pliant.load("two-link").model(), "arm").name == "arm.fmu"
    """
    model = model_of(model)
    target = Path(path)
    target = target if target.suffix == ".fmu" else target.with_name(f"{target.name}.fmu")
    require_free(target, force)
    platforms = _platforms(compilers)
    model = fitted_to_start(model, q0, qd0)
    states, bounds = start_states(model, q0, qd0), joint_limits(model, limits)
    with tempfile.TemporaryDirectory() as folder, placed_file(target, force) as inner:
        root = Path(folder)
        _write_tree(model, root, fmi, states, bounds, list(platforms))
        levels = {root / "sources" / file: _LEVELS.get(file, "-O2") for file in sources(fmi)}
        for platform, compiler in platforms.items():
            library = root / "binaries" / platform.folder(fmi) / f"{export_name(model)}{platform.extension}"
            compile_library(compiler, platform, levels, library)
        _zip(root, inner)
    return target


_LEVELS = {"derivatives.c": "-O1"}
"""Level of optimization of a source: derivatives are long and called seldom, and so compile in half the time."""


def platform_folder(fmi: str) -> str:
    """Folder of the binary for this machine."""
    return Platform.here().folder(fmi)


def _platforms(compilers: Sequence[str] | None) -> dict[Platform, list[str]]:
    """The compiler of each platform."""
    if isinstance(compilers, str):
        compilers = [compilers]
    found: dict[Platform, list[str]] = {}
    for compiler in [find_compiler()] if compilers is None else map(compiler_of, compilers):
        target = target_platform(compiler)
        if target in found:
            raise PliantError(
                f"compilers: {found[target][0]} and {compiler[0]} both compile for {target.folder('3.0')}, expected "
                "one for each platform; leave one out"
            )
        found[target] = compiler
    return found


def _write_tree(
    model: Model, root: Path, fmi: str, states: tuple[float, ...], limits: Sequence[JointLimit],
    platforms: Sequence[Platform],
) -> None:  # fmt: skip
    """Sources, description and documentation as the standard lays them out."""
    given, outputs = symbols_and_outputs(model)
    functions = UnitFunctions(model, given, tuple(outputs))
    name, token = export_name(model), model_token(model, limits)
    derivatives = functions.changes() + (functions.gradients() if fmi == "3.0" else [])
    folder, wrapper = root / "sources", sources(fmi)[-1]
    folder.mkdir()
    templates = files("pliant.export") / "templates"
    texts = {file: (templates / file).read_text(encoding="utf-8") for file in (wrapper, "fmu_instance.h")}
    texts |= {"method.h": _method(functions.meets > 0), "model.h": _header(functions, limits, token, derivatives)}
    texts |= {"model.c": _source(functions, states, limits), "derivatives.c": _derivatives(model, derivatives)}
    write_texts(folder, texts)
    if fmi == "3.0":
        (folder / "buildDescription.xml").write_bytes(build_description(name))
    listed = variables(model, states, outputs, limits)
    on = Dependencies(listed, functions.dependencies(), [limit.index for limit in limits])
    (root / "modelDescription.xml").write_bytes(description_xml(model, name, token, listed, on, fmi))
    (root / "documentation").mkdir()
    page = documentation(model, listed, fmi, [platform.folder(fmi) for platform in platforms])
    (root / "documentation" / "index.html").write_text(page, encoding="utf-8")
    (root / "resources").mkdir()
    model.robot.save(root / "resources" / "robot.yaml")


def documentation(model: Model, listed: list[Variable], fmi: str, folders: Sequence[str]) -> str:
    """HTML page that a tool shows beside the unit."""
    rows = [(v.name, v.causality, v.unit, "" if v.start is None else f"{v.start:g}", v.description) for v in listed]
    return template("fmu_index.html.in").substitute(
        title=quoted(model.robot.name, "html"), name=export_name(model), fmi=fmi,
        platforms=", ".join(folders) or "none",
        about=" ".join(f"{quoted(line, 'html')}." for line in description(model)[1:4]), tolerance="1e-8",
        sources=", ".join(f"<code>{file}</code>" for file in sources(fmi)),
        rows="\n".join("<tr>" + "".join(f"<td>{quoted(cell, 'html')}</td>" for cell in row) + "</tr>" for row in rows),
    )  # fmt: skip


def model_token(model: Model, limits: Sequence[JointLimit]) -> str:
    """Token that ties the binary to the description: digest of robot, options, version and limits."""
    content = json.dumps([provenance(model), [limit.name for limit in limits]], sort_keys=True)
    return "{" + hashlib.sha256(content.encode()).hexdigest()[:32] + "}"


def _prototype(function: ca.Function) -> str:
    given = [f"const double *{name}" for name in function.name_in()]
    given += [f"double *{name}" for name in function.name_out()]
    return f"void model_{function.name()}({', '.join(given)})"


def _header(
    functions: UnitFunctions, limits: Sequence[JointLimit], token: str, derivatives: Sequence[ca.Function]
) -> str:
    model = functions.model
    lines = [comment(description(model)), "#ifndef MODEL_H", "#define MODEL_H", ""]
    sizes = {"N": model.n} if model.layout.plain else {"N_Q": model.n_q, "N": model.n}
    sizes |= {"N_FRICTION": len(model.layout.drive_states), "N_INPUTS": model.layout.n_inputs}
    sizes |= {"N_PARAMETERS": len(model.parameters), "N_OUTPUTS": len(functions.outputs), "N_LIMITS": len(limits)}
    sizes |= {"N_CLOSED": len(model.constraints), "N_MEETS": functions.meets}
    lines += [f"#define {key} {value}" for key, value in sizes.items()]
    lines += [f'#define MODEL_TOKEN "{token}"', "", "extern const double start_states[];"]
    lines += ["extern const double nominal_states[];", "extern const double start_parameters[];", ""]
    lines += ["/* One end of the range of a coordinate: `direction` is 1 at its upper end, -1 at its lower one. */"]
    lines += ["typedef struct {", "    int place, speed;", "    double direction, value;", "    const char *name;"]
    lines += ["} Limit;", f"extern const Limit limits[{max(len(limits), 1)}];", ""]
    written = [*functions.evaluated, *derivatives]
    return "\n".join([*lines, *(f"{_prototype(f)};" for f in written), "", "#endif", ""])


def _method(meets: bool) -> str:
    """Text of `method.h`: the pair of Dormand and Prince and the step controller, those of single runs."""
    pair = explicit("dopri5")
    alpha, beta = exponents(pair.order)
    numbers = {"ALPHA": alpha, "BETA": beta, "FIRST_ERROR": FIRST_ERROR, "LEAST_MEMORY": LEAST_MEMORY}
    numbers |= {"NEARLY_CLOSED": NEARLY_CLOSED, "SINGULAR": SINGULAR}
    lines = ["#ifndef METHOD_H", "#define METHOD_H", "", "#include <math.h>", "", f"#define STAGES {pair.stages}"]
    lines += [f"#define MOST_CLOSING {MOST_CLOSING}"]
    lines += [f"#define {name} {c_constant(value)}" for name, value in numbers.items()]
    lines += ["", array("static const double A", pair.A), array("static const double ERROR", pair.error), ""]
    return "\n".join([*lines, controller(Precision("double"), "static", meets), "", "#endif", ""])


def _source(functions: UnitFunctions, states: tuple[float, ...], limits: Sequence[JointLimit]) -> str:
    """Text of `model.c`: accelerations and outputs, start values and limits."""
    model = functions.model
    lines = [comment(description(model)), '#include "model.h"', "", "#include <math.h>", ""]
    lines += [array("const double start_states", np.array(states)), ""]
    lines += [array("const double nominal_states", np.array(nominal_states(model))), ""]
    lines += [array("const double start_parameters", model.nominal_parameters), ""]
    rows = [
        f"{{{limit.index}, {limit.speed}, {c_constant(limit.direction)}, {c_constant(limit.value)}, "
        f"{quoted_string(limit.name)}}}"
        for limit in limits
    ]
    lines += [f"const Limit limits[{max(len(rows), 1)}] = {{", *(f"    {row}," for row in rows or ["{0}"]), "};", ""]
    return "\n".join([*lines, *_definitions(functions.evaluated, model)])


def _derivatives(model: Model, written: Sequence[ca.Function]) -> str:
    """Text of `derivatives.c`: changes of the functions along a direction, and gradients."""
    lines = [comment(description(model)), '#include "model.h"', "", "#include <math.h>", ""]
    return "\n".join([*lines, *_definitions(written, model)])


def _definitions(functions: Sequence[ca.Function], model: Model) -> list[str]:
    found = [definition(_prototype(f), Tape.from_function(f), f.name_out(), labels(model)) for f in functions]
    return [line for lines in found for line in (*lines, "")]


def _zip(root: Path, target: Path) -> None:
    """Pack everything into one file, in an order and with dates that do not depend on the clock."""
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(p for p in root.rglob("*") if p.is_file()):
            entry = zipfile.ZipInfo(path.relative_to(root).as_posix(), date_time=(1980, 1, 1, 0, 0, 0))
            entry.external_attr = (0o755 if "binaries" in path.parts else 0o644) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, path.read_bytes())


TARGET = Target(write=export_fmu, ending=".fmu")
