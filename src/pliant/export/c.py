"""C99 source of a model: header, functions, a Makefile, and a test that checks itself against embedded numbers."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from pathlib import Path

from pliant.export.c_check import test_driver
from pliant.export.c_text import C, array, c_constant, comment, room
from pliant.export.contents import FUNCTIONS, chosen, description, export_name, function, input_sizes, labels, template
from pliant.export.placing import placed, write_texts
from pliant.export.readme import write_readme
from pliant.export.statements import Statements, write
from pliant.kernels import Tape
from pliant.model import Model
from pliant.signatures import checked

LONGEST_FUNCTION = 600
"""Assignments in one C function; a longer one is cut in parts of `PART`."""

PART = 150
"""Compilers need time that grows with the square of a block of code."""


@checked
def export_c(model: Model, folder: str | Path, *, functions: Sequence[str] | None = None, force: bool = False) -> Path:
    """Write a folder with `NAME.h`, `NAME.c`, `NAME_test.c`, `Makefile`, `README.md` and `robot.yaml`; returns it.

    Parameters
    ----------
    model : Model
        The arm.
    folder : str or path
        What to write.
    functions : sequence of str, optional
        Of the model; all by default.
    force : bool
        Replace what stands there.

    Returns
    -------
    path
        The folder.

    Examples
    --------
    >>> folder = pliant.export.export_c(pliant.load("two-link").model(), "arm", functions=["mass_matrix"])
    >>> (folder / "Makefile").exists()
    True
    """
    target, name, which = Path(folder), export_name(model), chosen(model, functions)
    with placed(target, force) as work:
        traced = {f: function(model, f) for f in which}
        tapes = {f: Tape.from_function(traced[f]) for f in which}
        texts = {f"{name}.h": header(model, which), f"{name}.c": source(model, tapes)}
        texts |= {f"{name}_test.c": test_driver(model, traced)}
        write_texts(work, {**texts, "Makefile": template("Makefile.in").substitute(name=name)})
        write_readme(model, "c", work, which, sample=_sample(model, which), modelica=_modelica(model, which))
    return target


def prototype(model: Model, name: str) -> str:
    """Declaration of an exported function without the semicolon."""
    signature = FUNCTIONS[name]
    given = [f"const double {x}[{max(size, 1)}]" for x, size in input_sizes(model, name).items()]
    given += [f"double {x}[{max(math.prod(shape), 1)}]" for x, shape in signature.outputs(model).items()]
    return f"void {export_name(model)}_{name}({', '.join(given)})"


def header(model: Model, functions: Sequence[str]) -> str:
    """Declarations, sizes and what the numbers mean."""
    name, guard = export_name(model), f"{export_name(model).upper()}_H"
    sizes = {"N": model.n} if model.layout.plain else {"N_Q": model.n_q, "N": model.n}
    sizes |= {"N_JOINTS": model.n_joints, "N_PARAMETERS": len(model.parameters)}
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
        *(f"    (void){name};" for name in _empty(tape, outputs)),
        *_results(tape, body, outputs),
        "}",
    ]


def _unused(tape: Tape, used: frozenset[str], outputs: Sequence[str]) -> list[str]:
    read = {text.split("[")[0] for text in used}
    return [f"    (void){name};" for name in (*tape.in_names, *_empty(tape, outputs)) if name not in read]


def _empty(tape: Tape, outputs: Sequence[str]) -> list[str]:
    return [name for name, size in zip(outputs, tape.out_sizes) if not size]


def _results(tape: Tape, body: Statements, outputs: Sequence[str]) -> list[str]:
    values = iter(body.outputs)
    return [f"    {x}[{k}] = {next(values)};" for x, size in zip(outputs, tape.out_sizes) for k in range(size)]


# ------------------------------------------------------------------------------------------------- for the README


def shown(functions: Sequence[str]) -> str:
    """The function that examples call."""
    return "forward_dynamics" if "forward_dynamics" in functions else functions[0]


def _sample(model: Model, functions: Sequence[str]) -> str:
    """A call in C, at rest."""
    f = shown(functions)
    inputs, outputs = input_sizes(model, f), FUNCTIONS[f].outputs(model)
    declared = [f"{x}[{max(size, 1)}] = {{0}}" for x, size in inputs.items() if x != "p"]
    declared += [f"{x}[{room(shape)}]" for x, shape in outputs.items()]
    name = export_name(model)
    given = [f"{name}_nominal" if x == "p" else x for x in inputs]
    rest = enumerate(model.layout.rest().tolist()) if "q" in inputs and not model.layout.plain else ()
    upright = "".join(f"q[{k}] = {c_constant(x)};\n" for k, x in rest if x)
    return f"double {', '.join(declared)};\n{upright}{name}_{f}({', '.join([*given, *outputs])});"


def _modelica(model: Model, functions: Sequence[str]) -> str:
    """The same as an external function; a matrix is a vector of its rows."""
    f, name = shown(functions), export_name(model)
    inputs, outputs = input_sizes(model, f), FUNCTIONS[f].outputs(model)
    lines = [f"function {f}", *(f"  input Real {x}[{size}];" for x, size in inputs.items())]
    lines += [f"  output Real {x}[{room(shape)}];" for x, shape in outputs.items()]
    lines += [f'external "C" {name}_{f}({", ".join([*inputs, *outputs])})']
    return "\n".join([*lines, f'  annotation(Include = "#include \\"{name}.h\\"", Library = "{name}");', f"end {f};"])
