"""C99 source of a model: header, functions, a Makefile, and a test that checks itself against embedded numbers."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pliant.export.contents import FUNCTIONS, chosen, description, export_name, function, identifier
from pliant.export.placing import placed
from pliant.export.statements import Language, Statements, write
from pliant.kernels import Tape
from pliant.model import Model

Array = NDArray[np.float64]

TOLERANCE = 1e-12
"""What the test driver allows, relative to the largest element: both sides round the same operations."""


LONGEST_FUNCTION = 600
"""Assignments in one C function; a longer one is cut in parts of `PART`."""

PART = 150
"""Compilers need time that grows with the square of a block of code."""


def c_constant(x: float) -> str:
    """A double that C reads back bit for bit."""
    if math.isnan(x):
        return "NAN"
    if math.isinf(x):
        return "INFINITY" if x > 0 else "-INFINITY"
    text = repr(float(x))
    return text if any(mark in text for mark in ".e") else f"{text}.0"


_PLAIN = (
    *(
        "exp",
        "log",
        "sqrt",
        "sin",
        "cos",
        "tan",
        "asin",
        "acos",
        "atan",
        "floor",
        "ceil",
        "fabs",
        "erf",
        "sinh",
        "cosh",
    ),
    *("tanh", "asinh", "acosh", "atanh", "log1p", "expm1"),
)
_OF_TWO = ("pow", "fmod", "copysign", "fmin", "fmax", "atan2", "hypot", "remainder")
_COMPARED = {"lt": "<", "le": "<=", "eq": "==", "ne": "!="}
C = Language(
    {
        **{name: f"{name}({{0}})" for name in _PLAIN},
        **{name: f"{name}({{0}}, {{1}})" for name in _OF_TWO},
        **{name: f"(double)(({{0}}) {sign} ({{1}}))" for name, sign in _COMPARED.items()},
        "constpow": "pow({0}, {1})",
        "not": "(double)(({0}) == 0.0)",
        "and": "(double)(({0}) != 0.0 && ({1}) != 0.0)",
        "or": "(double)(({0}) != 0.0 || ({1}) != 0.0)",
        "sign": "(double)((({0}) > 0.0) - (({0}) < 0.0))",
        "if_else_zero": "(({0}) != 0.0 ? ({1}) : 0.0)",
    },
    c_constant,
)


def export_c(model: Model, folder: str | Path, *, functions: Sequence[str] | None = None, force: bool = False) -> Path:
    """Write a folder with `NAME.h`, `NAME.c`, `NAME_test.c`, `Makefile` and `robot.yaml`; returns the folder."""
    target, name, which = Path(folder), export_name(model), chosen(functions)
    with placed(target, force) as work:
        traced = {f: function(model, f) for f in which}
        tapes = {f: Tape.from_function(traced[f]) for f in which}
        (work / f"{name}.h").write_text(header(model, which))
        (work / f"{name}.c").write_text(source(model, tapes))
        (work / f"{name}_test.c").write_text(test_driver(model, traced))
        (work / "Makefile").write_text(template("Makefile.in").substitute(name=name))
        model.robot.save(work / "robot.yaml")
    return target


def template(name: str) -> Template:
    """A text of the package with $placeholders."""
    return Template((files("pliant.export") / "templates" / name).read_text())


def comment(lines: Iterable[str]) -> str:
    """A block comment."""
    return "/* " + "\n   ".join(lines).replace("\n   \n", "\n\n") + "\n*/\n"


def prototype(model: Model, name: str) -> str:
    """Declaration of an exported function without the semicolon."""
    signature = FUNCTIONS[name]
    sizes = {"q": model.n, "qd": model.n, "qdd": model.n, "tau": model.n_joints}
    given = [f"const double {x}[{max(sizes[x], 1)}]" for x in signature.inputs]
    if model.parameters:
        given.append(f"const double p[{len(model.parameters)}]")
    given += [f"double {x}[{max(math.prod(shape), 1)}]" for x, shape in signature.outputs(model).items()]
    return f"void {export_name(model)}_{name}({', '.join(given)})"


def header(model: Model, functions: Sequence[str]) -> str:
    """Declarations, sizes and what the numbers mean."""
    name, guard = export_name(model), f"{export_name(model).upper()}_H"
    sizes = {"N": model.n, "N_JOINTS": model.n_joints, "N_PARAMETERS": len(model.parameters)}
    lines = [comment(description(model)), f"#ifndef {guard}", f"#define {guard}", ""]
    lines += [f"#define {name.upper()}_{key} {value}" for key, value in sizes.items()]
    lines += [f'#define {name.upper()}_ROBOT_SHA256 "{model.robot.digest()}"', ""]
    lines += ["#ifdef __cplusplus", 'extern "C" {', "#endif", ""]
    if model.parameters:
        lines += ["/* The nominal parameters. */", f"extern const double {name}_nominal[{len(model.parameters)}];", ""]
    for f in functions:
        shapes = (f"{x} {' x '.join(map(str, shape))}" for x, shape in FUNCTIONS[f].outputs(model).items())
        lines += [f"/* {FUNCTIONS[f].what}: {', '.join(shapes)}. */", f"{prototype(model, f)};", ""]
    return "\n".join([*lines, "#ifdef __cplusplus", "}", "#endif", "", f"#endif /* {guard} */", ""])


def source(model: Model, tapes: dict[str, Tape]) -> str:
    """Definitions of all functions."""
    name = export_name(model)
    lines = [comment(description(model)), f'#include "{name}.h"', "", "#include <math.h>", ""]
    if model.parameters:
        lines += [array(f"const double {name}_nominal", model.nominal_parameters), ""]
    for f, tape in tapes.items():
        shapes = FUNCTIONS[f].outputs(model)
        lines += [f"/* {FUNCTIONS[f].what} */", *definition(prototype(model, f), tape, list(shapes), labels(model)), ""]
    return "\n".join(lines)


def elements(tape: Tape) -> list[list[str]]:
    """How inputs are written: q[0], q[1], ..."""
    return [[f"{name}[{k}]" for k in range(size)] for name, size in zip(tape.in_names, tape.in_sizes)]


def labels(model: Model) -> dict[str, str]:
    """Words for the elements of q, for the names of sines and cosines."""
    return {f"q[{k}]": identifier(name) for k, name in enumerate(model.coordinates)}


def definition(prototype: str, tape: Tape, outputs: Sequence[str], labels: dict[str, str]) -> list[str]:
    """Lines of a C function; a very long one is cut in parts."""
    body = write(tape, C, elements(tape), labels)
    if len(body.assignments) > LONGEST_FUNCTION:
        return _in_parts(prototype, tape, write(tape, C, elements(tape), labels, work="t"), outputs)
    lines = [f"    const double {name} = {text};" for name, text in body.assignments]
    return [prototype, "{", *lines, *_unused(tape, body.used, outputs), *_results(tape, body, outputs), "}"]


def _in_parts(prototype: str, tape: Tape, body: Statements, outputs: Sequence[str]) -> list[str]:
    """Static functions of bounded length that share one array of temporaries.

    They are called through a table: a compiler would otherwise put them back together.
    """
    name, arguments = prototype.removeprefix("void ").removesuffix(")").split("(")
    inputs = [x for x in arguments.split(", ") if x.startswith("const ")]
    assignments = [f"    {target} = {text};" for target, text in body.assignments]
    lines: list[str] = []
    starts = range(0, len(assignments), PART)
    for k, start in enumerate(starts):
        lines += [f"static void {name}_{k + 1}({', '.join([*inputs, 'double *restrict t'])})", "{"]
        lines += [f"    (void){x};" for x in tape.in_names]
        lines += [*assignments[start : start + PART], "}", ""]
    parts = ", ".join(f"{name}_{k + 1}" for k in range(len(starts)))
    types = ", ".join([*["const double *"] * len(inputs), "double *restrict"])
    return [
        *lines,
        f"static void (*const {name}_parts[{len(starts)}])({types}) = {{",
        *textwrap.wrap(parts, 110, initial_indent="    ", subsequent_indent="    "),
        "};",
        "",
        prototype,
        "{",
        f"    double t[{len(assignments)}];",
        "    int k;",
        f"    for (k = 0; k < {len(starts)}; k++) {{",
        f"        {name}_parts[k]({', '.join([*tape.in_names, 't'])});",
        "    }",
        *_results(tape, body, outputs),
        "}",
    ]


def _unused(tape: Tape, used: frozenset[str], outputs: Sequence[str]) -> list[str]:
    read = {text.split("[")[0] for text in used}
    empty = [name for name, size in zip(outputs, tape.out_sizes) if not size]
    return [f"    (void){name};" for name in (*tape.in_names, *empty) if name not in read]


def _results(tape: Tape, body: Statements, outputs: Sequence[str]) -> list[str]:
    values = iter(body.outputs)
    return [f"    {x}[{k}] = {next(values)};" for x, size in zip(outputs, tape.out_sizes) for k in range(size)]


def array(declaration: str, values: Array) -> str:
    """An initialised array, four numbers a line."""
    texts = [c_constant(x) for x in values.ravel().tolist()] or ["0.0"]
    rows = [", ".join(texts[k : k + 4]) for k in range(0, len(texts), 4)]
    return f"{declaration}[{len(texts)}] = {{\n    " + ",\n    ".join(rows) + "\n};"


# ------------------------------------------------------------------------------------------------- test driver


def reference_states(model: Model, count: int = 3, seed: int = 0) -> dict[str, Array]:
    """Seeded states near rest: joints of order one, amplitudes small against their links."""
    rng = np.random.default_rng(seed)
    n, m = model.n, model.n_joints
    scale = np.where(np.arange(n) < m, 1.0, 1e-2)
    q = rng.uniform(0.2, 0.9, (count, n)) * scale
    qd, qdd = rng.normal(size=(count, n)) * scale, rng.normal(size=(count, n)) * scale
    p = np.tile(model.nominal_parameters, (count, 1)) * rng.uniform(0.95, 1.05, (count, len(model.parameters)))
    return {"q": q, "qd": qd, "qdd": qdd, "tau": rng.normal(size=(count, m)), "p": p}


def test_driver(model: Model, functions: Mapping[str, Any]) -> str:
    """A program that runs every function at reference states and compares with the numbers of the model."""
    name, states = export_name(model), reference_states(model)
    arrays, checks = [], []
    used = dict.fromkeys(x for f in functions for x in FUNCTIONS[f].inputs)
    for x in [*used, *(["p"] if model.parameters else [])]:
        arrays.append(array(f"static const double {x}_given", states[x]))
    for f in functions:
        inputs = [*FUNCTIONS[f].inputs, *(["p"] if model.parameters else [])]
        values = reference_values(functions[f], [states[x] for x in inputs])
        shapes = FUNCTIONS[f].outputs(model)
        arguments = [f"{x}_given + k*{max(states[x].shape[1], 1)}" for x in inputs] + list(shapes)
        checks.append(f"        {{\n            double {', '.join(f'{x}[{_size(s)}]' for x, s in shapes.items())};")
        checks.append(f"            {name}_{f}({', '.join(arguments)});")
        for (x, shape), value in zip(shapes.items(), values):
            arrays.append(array(f"static const double {f}_{x}", value))
            check = f'check("{f}: {x}", {x}, {f}_{x} + k*{_size(shape)}, {math.prod(shape)})'
            checks.append(f"            failures += {check};")
        checks.append("        }")
    return template("test.c.in").substitute(
        name=name, comment=comment(description(model)), arrays="\n\n".join(arrays), checks="\n".join(checks),
        states=len(states["q"]), tolerance=c_constant(TOLERANCE),
    )  # fmt: skip


test_driver.__test__ = False  # type: ignore[attr-defined]  # a program for the user, not one of pytest's


def reference_values(f: Any, inputs: Sequence[Array]) -> list[Array]:
    """Outputs of a function as CasADi's virtual machine evaluates them, one row a state, row-major."""
    rows = [[np.array(y, dtype=float).ravel() for y in f.call(list(state))] for state in zip(*inputs)]
    return [np.array(column) for column in zip(*rows)]


def _size(shape: tuple[int, ...]) -> int:
    return max(math.prod(shape), 1)
