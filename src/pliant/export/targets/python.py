"""A NumPy module of a model: one file that needs nothing but NumPy, for one state or arrays of states."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

from pliant.base.signatures import checked
from pliant.compute.llvm.lanes import LIBRARY_UNARY
from pliant.compute.tape.tape import Tape
from pliant.export.c.function import elements
from pliant.export.contents import FUNCTIONS, chosen, export_name, function, labels, module_text, provenance, shown
from pliant.export.placing import placed
from pliant.export.readme import write_readme
from pliant.export.statements import Language, write
from pliant.export.targets import Target
from pliant.model.model import Model
from pliant.model.robot import Robot, model_of


def python_constant(x: float) -> str:
    """A float that Python reads back bit for bit."""
    if math.isnan(x):
        return "np.nan"
    if math.isinf(x):
        return "np.inf" if x > 0 else "-np.inf"
    return repr(float(x))


_PLAIN = (*LIBRARY_UNARY, "sqrt", "floor", "ceil", "fabs", "sign")
_OF_TWO = {
    **{"pow": "power", "constpow": "power", "fmod": "fmod", "copysign": "copysign", "fmin": "fmin", "fmax": "fmax"},
    **{"atan2": "arctan2", "hypot": "hypot"},
}
_COMPARED = {"lt": "<", "le": "<=", "eq": "==", "ne": "!="}
NUMPY = Language(
    {
        **{name: f"np.{f'arc{name[1:]}' if name[0] == 'a' else name}({{0}})" for name in _PLAIN},
        **{name: f"np.{ours}({{0}}, {{1}})" for name, ours in _OF_TWO.items()},
        **{name: f"(1.0*(({{0}}) {sign} ({{1}})))" for name, sign in _COMPARED.items()},
        "not": "(1.0*(({0}) == 0.0))",
        "and": "(1.0*np.logical_and({0}, {1}))",
        "or": "(1.0*np.logical_or({0}, {1}))",
        "if_else_zero": "np.where(({0}) != 0.0, {1}, 0.0)",
        "erf": "_erf({0})",
    },
    python_constant,
)


@checked
def export_python(
    model: Model | Robot, folder: str | Path, *, functions: Sequence[str] | None = None, force: bool = False
) -> Path:
    """Write a folder with `NAME.py`, `README.md` and `robot.yaml`; returns the folder.

    Parameters
    ----------
    model : Model or Robot
        The arm.
    folder : str or path
        Folder to write.
    functions : sequence of str, optional
        Functions of the model; all by default.
    force : bool
        Replace an earlier export.

    Returns
    -------
    path
        The folder.

    Examples
    --------
    >>> folder = pliant.export.export_python(pliant.load("two-link").model(), "arm", functions=["tip_pose"])
    >>> len(list(folder.glob("*.py")))
    1
    """
    model = model_of(model)
    target, name, which = Path(folder), export_name(model), chosen(model, functions)
    with placed(target, force) as work:
        tapes = {f: Tape.from_function(function(model, f)) for f in which}
        (work / f"{name}.py").write_text(module(model, tapes), encoding="utf-8")
        f = shown(which)
        rest = f"q, qd = np.array({model.layout.rest().tolist()}), np.zeros({model.n})\n"
        call = "" if model.layout.plain else rest
        call += f"{', '.join(FUNCTIONS[f].outputs(model))} = arm.{f}({', '.join(FUNCTIONS[f].inputs)})"
        write_readme(model, "python", work, which, call=call + ("   # p=arm.NOMINAL" if model.parameters else ""))
    return target


def module(model: Model, tapes: dict[str, Tape]) -> str:
    """Text of the module."""
    speeds = "" if model.layout.plain else f"\nSPEEDS = {model.speeds!r}"
    head = module_text(
        model, "module.py.in", name=export_name(model), provenance=repr(provenance(model)),
        coordinates=f"{model.coordinates!r}{speeds}", joints=repr(model.joints), parameters=repr(model.parameters),
        nominal=repr(model.nominal_parameters.tolist()), functions=repr(tuple(tapes)),
    )  # fmt: skip
    return "\n\n\n".join([head.rstrip(), *("\n".join(_definition(model, f, tapes[f])) for f in tapes)]) + "\n"


def _definition(model: Model, name: str, tape: Tape) -> list[str]:
    signature = FUNCTIONS[name]
    inputs = [*signature.inputs, *(["p"] if model.parameters else [])]
    body = write(tape, NUMPY, elements(tape), labels(model))
    shapes = signature.outputs(model)
    arguments = [x if x != "p" else "p=None" for x in inputs]
    lines = [f"def {name}({', '.join(arguments)}):"]
    lines += [f'    """{signature.what[0].upper()}{signature.what[1:]}; leading axes of the inputs are kept."""']
    sizes = zip(inputs, tape.in_sizes)
    lines.append(f"    {', '.join(inputs)}, shape = _states({', '.join(f'({x}, {size}, {x!r})' for x, size in sizes)})")
    lines += [f"    {target} = {text}" for target, text in body.assignments]
    values = iter(body.outputs)
    for (x, _), size in zip(shapes.items(), tape.out_sizes):
        lines.append(f"    {x} = np.empty(({size}, *shape))")
        lines += [f"    {x}[{k}] = {next(values)}" for k in range(size)]
    results = [f"_result({x}, {shape!r})" for x, shape in shapes.items()]
    return [*lines, f"    return {', '.join(results)}"]


TARGET = Target(write=export_python)
