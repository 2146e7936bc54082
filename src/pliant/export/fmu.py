"""Functional mock-up units: one file that Simulink, Modelica tools and FMPy can run, FMI 3.0 or 2.0."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from pliant.algebra.runge_kutta import dopri5
from pliant.dynamics.forces import bristle_rates
from pliant.dynamics.section_forces import InternalForces
from pliant.errors import PliantError
from pliant.export.c_function import definition
from pliant.export.c_text import array, c_constant, comment
from pliant.export.contents import description, export_name, labels, provenance, template
from pliant.export.fmu_description import build_description, description_xml
from pliant.export.fmu_variables import Output, Variable, nominal_states, start_states, symbols_and_outputs, variables
from pliant.export.placing import placed_file, require_free, write_texts
from pliant.kernels import Tape
from pliant.kernels.c_functions import controller
from pliant.kernels.cuda_text import Precision
from pliant.kernels.step_control import FIRST_ERROR, LEAST_MEMORY, exponents
from pliant.model import Model
from pliant.options import FmiVersion
from pliant.quoting import quoted
from pliant.signatures import checked

MOST_SECONDS = 600.0
"""That a compiler may take."""


@checked
def export_fmu(
    model: Model, path: str | Path, *, fmi: FmiVersion = "3.0",
    q0: ArrayLike | Mapping[str, ArrayLike | Mapping[str, ArrayLike]] | None = None,
    qd0: ArrayLike | Mapping[str, ArrayLike | Mapping[str, ArrayLike]] | None = None, force: bool = False,
) -> Path:  # fmt: skip
    """Write a functional mock-up unit for model exchange and co-simulation; needs a C compiler.

    Parameters
    ----------
    model : Model
        The arm.
    path : str or path
        The file; `.fmu` is added where it is missing.
    fmi : "3.0" or "2.0"
        Version of the standard.
    q0, qd0 : optional
        Start values of coordinates and rates, given as for `simulate`.
    force : bool
        Whether to replace a file that exists.

    Returns
    -------
    path
        The file.

    Raises
    ------
    UnsupportedModel
        No C compiler.

    Notes
    -----
    Inputs are the joint torques, held over a communication step; parameters are those of the model; outputs are joint
    and motor positions and rates, the tip position, and the strain at the root of each flexible link. Co-simulation
    integrates with an explicit method of order 5 whose step follows the tolerance of the experiment (1e-8 by default).

    Examples
    --------
    >>> import shutil
    >>> if shutil.which("cc"):
    ...     assert pliant.export.export_fmu(pliant.load("two-link").model(), "arm").name == "arm.fmu"
    """
    target = Path(path)
    target = target if target.suffix == ".fmu" else target.with_name(f"{target.name}.fmu")
    require_free(target, force)
    compiler, states = find_compiler(), start_states(model, q0, qd0)
    with tempfile.TemporaryDirectory() as folder, placed_file(target, force) as inner:
        root = Path(folder)
        _write_tree(model, root, fmi, states)
        _compile(compiler, root, export_name(model), fmi)
        _zip(root, inner)
    return target


def find_compiler() -> list[str]:
    """A C compiler and its flags: what CC says, such as `gcc -O3`, else cc, gcc or clang."""
    given = os.environ.get("CC", "").strip()
    if given:
        return _compiler_of(given)
    for name in ("cc", "gcc", "clang"):
        if found := shutil.which(name):
            return [found]
    raise PliantError(
        "fmu: no C compiler found (looked for CC, cc, gcc, clang), and a functional mock-up unit holds compiled code; "
        "install gcc or clang, or set CC to its path"
    )


def _compiler_of(given: str) -> list[str]:
    if whole := shutil.which(given):  # a path with blanks in it
        return [whole]
    try:
        words = shlex.split(given, posix=os.name == "posix")
    except ValueError:  # a quotation that is not closed
        words = []
    found = shutil.which(words[0]) if words else None
    if found is None:
        raise PliantError(
            f"CC: got {given!r}, expected a C compiler that is there, with or without flags; unset or set CC"
        )
    return [found, *words[1:]]


def _write_tree(model: Model, root: Path, fmi: str, states: tuple[float, ...]) -> None:
    """Sources, description and documentation as the standard lays them out."""
    q, outputs = symbols_and_outputs(model)
    name, token = export_name(model), model_token(model)
    sources, wrapper = root / "sources", "fmi3.c" if fmi == "3.0" else "fmi2.c"
    sources.mkdir()
    templates = files("pliant.export") / "templates"
    texts = {file: (templates / file).read_text(encoding="utf-8") for file in (wrapper, "fmu_instance.h")}
    texts |= {"method.h": _method(), "model.h": _header(model, len(outputs), token)}
    write_texts(sources, {**texts, "model.c": _source(model, q, outputs, states)})
    if fmi == "3.0":
        (sources / "buildDescription.xml").write_bytes(build_description(name))
    listed = variables(model, states, outputs)
    (root / "modelDescription.xml").write_bytes(description_xml(model, name, token, listed, fmi))
    (root / "documentation").mkdir()
    (root / "documentation" / "index.html").write_text(documentation(model, listed, fmi), encoding="utf-8")
    (root / "resources").mkdir()
    model.robot.save(root / "resources" / "robot.yaml")


def documentation(model: Model, listed: list[Variable], fmi: str) -> str:
    """The page that a tool shows beside the unit."""
    rows = [(v.name, v.causality, v.unit, "" if v.start is None else f"{v.start:g}", v.description) for v in listed]
    return template("fmu_index.html.in").substitute(
        title=quoted(model.robot.name, "html"), name=export_name(model), fmi=fmi, platform=platform_folder(fmi),
        about=" ".join(f"{quoted(line, 'html')}." for line in description(model)[1:4]), tolerance="1e-8",
        wrapper="fmi3.c" if fmi == "3.0" else "fmi2.c",
        rows="\n".join("<tr>" + "".join(f"<td>{quoted(cell, 'html')}</td>" for cell in row) + "</tr>" for row in rows),
    )  # fmt: skip


def model_token(model: Model) -> str:
    """What ties the binary to the description: robot, options and version in one digest."""
    content = json.dumps(provenance(model), sort_keys=True)
    return "{" + hashlib.sha256(content.encode()).hexdigest()[:32] + "}"


def _header(model: Model, n_outputs: int, token: str) -> str:
    lines = [comment(description(model)), "#ifndef MODEL_H", "#define MODEL_H", ""]
    sizes = {"N": model.n} if model.layout.plain else {"N_Q": model.n_q, "N": model.n}
    sizes |= {"N_FRICTION": len(model.layout.bristled), "N_INPUTS": model.n_joints}
    sizes |= {"N_PARAMETERS": len(model.parameters), "N_OUTPUTS": n_outputs}
    lines += [f"#define {key} {value}" for key, value in sizes.items()]
    lines += [f'#define MODEL_TOKEN "{token}"', "", "extern const double start_states[];"]
    lines += ["extern const double nominal_states[];", "extern const double start_parameters[];", ""]
    return "\n".join([*lines, *(f"{prototype};" for prototype in _prototypes(model)), "", "#endif", ""])


def _method() -> str:
    """The pair of Dormand and Prince and the step controller, as single runs have them."""
    pair = dopri5()
    alpha, beta = exponents(pair.order)
    numbers = {"ALPHA": alpha, "BETA": beta, "FIRST_ERROR": FIRST_ERROR, "LEAST_MEMORY": LEAST_MEMORY}
    lines = ["#ifndef METHOD_H", "#define METHOD_H", "", "#include <math.h>", "", f"#define STAGES {pair.stages}"]
    lines += [f"#define {name} {c_constant(value)}" for name, value in numbers.items()]
    lines += ["", array("static const double A", pair.A), array("static const double ERROR", pair.error), ""]
    return "\n".join([*lines, controller(Precision("double"), "static"), "", "#endif", ""])


_PROTOTYPES = (
    "void model_accelerations(const double *q, const double *qd, const double *r, const double *tau, const double *p, "
    "double *qdd)",
    "void model_outputs(const double *q, const double *qd, const double *qdd, const double *p, double *y)",
)
_RATES = "void model_rates(const double *q, const double *qd, double *rates)"


def _prototypes(model: Model) -> tuple[str, ...]:
    return _PROTOTYPES if model.layout.plain else (*_PROTOTYPES, _RATES)


def _source(model: Model, given: InternalForces, outputs: list[Output], states: tuple[float, ...]) -> str:
    """Accelerations and outputs, and the start values."""
    q, qd, tau, p = given.q, given.qd, ca.SX.sym("tau", model.n_joints), model.parameter_symbols
    chain, r = model.chain, ca.SX.sym("r", len(model.layout.bristled))
    qdd = model.equations.accelerations(q, qd, ca.mtimes(chain.actuation(), tau), {}, r)
    rates = ca.densify(ca.vertcat(qdd, bristle_rates(chain, qd, r)))
    y = ca.densify(ca.vertcat(*(output.expression for output in outputs)))
    functions = [
        ca.Function("qdd", [q, qd, r, tau, p], [ca.cse(rates)], ["q", "qd", "r", "tau", "p"], ["qdd"]),
        ca.Function("y", [q, qd, given.qdd, p], [ca.cse(y)], ["q", "qd", "qdd", "p"], ["y"]),
    ]
    if not chain.plain:
        functions.append(ca.Function("rates", [q, qd], [ca.cse(chain.rates(q, qd))], ["q", "qd"], ["rates"]))
    lines = [comment(description(model)), '#include "model.h"', "", "#include <math.h>", ""]
    lines += [array("const double start_states", np.array(states)), ""]
    lines += [array("const double nominal_states", np.array(nominal_states(model))), ""]
    lines += [array("const double start_parameters", model.nominal_parameters), ""]
    for prototype, f in zip(_prototypes(model), functions):
        lines += [*definition(prototype, Tape.from_function(f), f.name_out(), labels(model)), ""]
    return "\n".join(lines)


# --------------------------------------------------------------------------------------------------- compiling


def platform_folder(fmi: str) -> str:
    """Folder of the binary: the tuple of FMI 3.0, or the names that FMI 2.0 lists."""
    machine = {"amd64": "x86_64", "x64": "x86_64", "arm64": "aarch64"}.get(
        platform.machine().lower(), platform.machine().lower()
    )
    system = {"linux": "linux", "darwin": "darwin", "win32": "windows"}.get(sys.platform, sys.platform)
    if fmi == "2.0" and machine == "x86_64":
        return {"linux": "linux64", "darwin": "darwin64", "windows": "win64"}.get(system, f"{machine}-{system}")
    return f"{machine}-{system}"


def _compile(compiler: list[str], root: Path, name: str, fmi: str) -> None:
    extension = {"darwin": ".dylib", "win32": ".dll"}.get(sys.platform, ".so")
    binary = root / "binaries" / platform_folder(fmi) / f"{name}{extension}"
    binary.parent.mkdir(parents=True)
    sources = [str(root / "sources" / file) for file in ("model.c", "fmi3.c" if fmi == "3.0" else "fmi2.c")]
    flags = ["-std=c99", "-fvisibility=hidden", "-shared", *(["-fPIC"] if sys.platform != "win32" else [])]
    if not any(word.startswith("-O") for word in compiler[1:]):
        flags.insert(0, "-O2")
    _run([*compiler, *flags, *sources, "-lm", "-o", str(binary)])


def _run(command: list[str]) -> None:
    """Run a compiler in a session of its own, so that all it started can be ended with it."""
    with tempfile.TemporaryFile() as words:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=words, stderr=words, start_new_session=os.name == "posix"
        )
        try:
            code = process.wait(MOST_SECONDS)
        except BaseException as error:
            _end(process)
            if isinstance(error, subprocess.TimeoutExpired):
                raise PliantError(
                    f"fmu: the compiler {command[0]} did not finish within {MOST_SECONDS:g} s and was ended; "
                    "set CC to another one"
                ) from None
            raise
        words.seek(0)
        if code:
            said = words.read(20_000).decode("utf-8", "replace").strip()[:2000]
            raise PliantError(f"fmu: the compiler {command[0]} failed:\n{said}")


def _end(process: subprocess.Popen[bytes]) -> None:
    if os.name == "posix":
        os.killpg(process.pid, signal.SIGKILL)  # it leads the group of its own session
    else:
        process.kill()
    process.wait()


def _zip(root: Path, target: Path) -> None:
    """Everything in one file, in an order and with dates that do not depend on the clock."""
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(p for p in root.rglob("*") if p.is_file()):
            entry = zipfile.ZipInfo(path.relative_to(root).as_posix(), date_time=(1980, 1, 1, 0, 0, 0))
            entry.external_attr = (0o755 if "binaries" in path.parts else 0o644) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, path.read_bytes())
