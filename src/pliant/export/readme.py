"""`README.md` of an exported folder: the model, the meaning and units of the numbers, and how to use the files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from pliant.base.quoting import quoted
from pliant.export.contents import FUNCTIONS, export_name, parameter_unit, template
from pliant.model.coordinate_units import coordinate_units, speed_units, torque_units
from pliant.model.model import Model
from pliant.version import VERSION

WHAT = {
    "c": "C99 source, self-contained.",
    "python": "A NumPy module, self-contained.",
    "latex": "The equations on paper.",
    "casadi": "Serialized CasADi functions for optimal control.",
    "cuda": "CUDA source, self-contained: one thread per arm.",
}


def write_readme(model: Model, to: str, folder: Path, functions: Sequence[str], **words: object) -> None:
    """Write `README.md`; `words` fill the placeholders that only one kind of export has."""
    (folder / "README.md").write_text(readme(model, to, functions, **words), encoding="utf-8")
    model.robot.save(folder / "robot.yaml")


def readme(model: Model, to: str, functions: Sequence[str], **words: object) -> str:
    """Text of `README.md`."""
    o, name = model.options, export_name(model)
    usage = template(f"readme_{to}.md.in").substitute(
        name=name, pass_p=" p," if model.parameters else "",
        functions=_functions(model, functions), first=next(iter(functions), ""), **words,
    )  # fmt: skip
    return template("readme.md.in").substitute(
        title=quoted(model.robot.name, "markdown"), what=WHAT[to], digest=model.robot.digest(), version=VERSION,
        options=f"formulation {o.formulation}, rotation {o.rotation}, stiffening {model.level}, shapes {o.shapes}",
        command=again(model, to), equation="M(q) qdd + bias(q, qd) = S tau", tables=tables(model),
        usage=usage.rstrip(),
    )  # fmt: skip


def again(model: Model, to: str) -> str:
    """Python call that writes this export again from its robot file, without the choice of functions."""
    o = model.options
    options = f"{o.formulation!r}, rotation={o.rotation!r}, stiffening={o.stiffening!r}, parameters={o.parameters!r}"
    return f'export(pliant.load("robot.yaml").model({options}, shapes={o.shapes!r}), {to!r}, PATH)'


def tables(model: Model) -> str:
    """Coordinates, torques and parameters, with their places and units."""
    rows = [(f"q[{k}]", c, unit) for k, (c, unit) in enumerate(zip(model.coordinates, coordinate_units(model)))]
    if not model.layout.plain:
        rows += [(f"qd[{k}]", f"speed {v}", u) for k, (v, u) in enumerate(zip(model.speeds, speed_units(model)))]
    rows += [
        (f"tau[{k}]", f"torque of {j}", unit) for k, (j, unit) in enumerate(zip(model.joints, torque_units(model)))
    ]
    for k, (path, value) in enumerate(zip(model.parameters, model.nominal_parameters.tolist())):
        rows.append((f"p[{k}]", f"{path}, nominal {value!r}", parameter_unit(path)))
    return "\n".join(["| place | what | unit |", "|---|---|---|", *(f"| `{a}` | {b} | {c} |" for a, b, c in rows)])


def _functions(model: Model, functions: Sequence[str]) -> str:
    inputs = {f: ", ".join([*FUNCTIONS[f].inputs, *(["p"] if model.parameters else [])]) for f in functions}
    rows = []
    for f in functions:
        outputs = [f"{x} ({' x '.join(map(str, shape))})" for x, shape in FUNCTIONS[f].outputs(model).items()]
        rows.append(f"| `{f}` | {inputs[f]} | {', '.join(outputs)} | {FUNCTIONS[f].what} |")
    return "\n".join(["| function | inputs | outputs | |", "|---|---|---|---|", *rows])
