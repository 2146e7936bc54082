"""C99 source of a model: header, functions, a plant, a Makefile, and a test that checks itself against numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np

from pliant.base.signatures import checked
from pliant.compute.tape.tape import Tape
from pliant.control.controllers.mpc import MPC
from pliant.control.sensing.sensors import Sensor
from pliant.errors import ModelError
from pliant.export.c.check import test_driver
from pliant.export.c.function import CFunction, c_prototype
from pliant.export.c.plant import CPlant
from pliant.export.c.predictive import CPredictive
from pliant.export.c.text import REALS, CReal, array, comment, room
from pliant.export.contents import (
    FUNCTIONS,
    chosen,
    description,
    export_name,
    function,
    input_sizes,
    labels,
    shown,
    template,
)
from pliant.export.placing import placed, write_texts
from pliant.export.readme import write_readme
from pliant.export.targets import Target
from pliant.export.typical_states import reference_states
from pliant.mechanics.loads.wrenches import Load
from pliant.model.model import Model
from pliant.model.robot import Robot, model_of
from pliant.options import PrecisionName
from pliant.protocols import Control, MovingBase
from pliant.simulation.runs.inputs import listed


@checked
def export_c(
    model: Model | Robot, folder: str | Path, *, functions: Sequence[str] | None = None,
    precision: PrecisionName = "double", step: float | None = None, controller: Control | None = None,
    loads: Sequence[Load] | Load = (),
    base: MovingBase | None = None, sensors: Sequence[Sensor] | None = None, q0: Any = None, qd0: Any = None,
    force: bool = False,
) -> Path:  # fmt: skip
    """Write a folder with `NAME.h`, `NAME.c`, `NAME_test.c`, `Makefile`, `README.md` and `robot.yaml`; returns it.

    With `step` there is a plant besides: `NAME_init(&state)` and `NAME_step(&state, tau, y)`, a step of the classical
    Runge-Kutta method over arm, controller and loads, as `pliant.Stepper` takes it.

    With an `MPC` as `controller`, and without `step`, there is the controller itself: `NAME_mpc_reset`,
    `NAME_mpc_prepare` and `NAME_mpc_step(&mpc, t, x, tau)`, by the same method as in Python and in the memory of one
    struct.

    Parameters
    ----------
    model : Model or Robot
        The arm.
    folder : str or path
        Folder to write.
    functions : sequence of str, optional
        Functions of the model; all by default.
    precision : "double" or "single"
        Type of all numbers.
    step : float, optional
        Seconds of a step of the plant; without it there is no plant.
    controller : optional
        Controller of the plant: a law of `pliant.control`, continuous or sampled, whose torques are added to those
        given to a step. Or an `MPC`, which is then exported itself.
    loads : sequence of Load
        Loads on the plant.
    base : MovingBase, optional
        Motion of its base.
    sensors : sequence of Sensor, optional
        Sensors that a step reads, without noise; by default an encoder at each joint and the position of the tip.
    q0, qd0 : optional
        Start of the plant, given as for `simulate`.
    force : bool
        Replace an earlier export.

    Returns
    -------
    path
        The folder.

    Examples
    --------
    >>> folder = pliant.export.export_c(pliant.load("two-link").model(), "arm", functions=["mass_matrix"])
    >>> (folder / "Makefile").exists()
    True
    >>> law = pliant.control.PD(50.0, 5.0, [0.3, -0.2])
    >>> folder = pliant.export.export_c(
    ...     pliant.load("two-link").model(), "plant", functions=["mass_matrix"], step=1e-3, controller=law,
    ...     precision="single",
    ... )
    >>> "void two_link_elastic_arm_step(" in (folder / "two_link_elastic_arm.h").read_text()
    True
    >>> model = pliant.load("two-link").model()
    >>> mpc = pliant.control.MPC(model, 0.2, 10, [0.0, 0.0], Q={"joints": 100.0, "rates": 1.0}, R=1e-4)
    >>> folder = pliant.export.export_c(model, "mpc", functions=["tip_pose"], controller=mpc)
    >>> "int two_link_elastic_arm_mpc_step(" in (folder / "two_link_elastic_arm.h").read_text()
    True
    """
    model = model_of(model)
    target, name, which, real = Path(folder), export_name(model), chosen(model, functions), REALS[precision]
    part: CPlant | CPredictive | None = None
    if step is not None:
        part = CPlant(model, real, step, controller=controller, loads=loads, base=base, sensors=sensors, q0=q0, qd0=qd0)
        model = part.model
    elif isinstance(controller, MPC):
        part, controller = CPredictive(model, real, controller), None
    if step is None and (any(x is not None for x in (controller, base, sensors, q0, qd0)) or listed(loads)):
        raise ModelError("step: got None beside parts of a plant, expected its step in seconds, such as 1e-3")
    with placed(target, force) as work:
        traced = {f: function(model, f) for f in which}
        written = {f: _written(model, f, traced[f], real) for f in which}
        every = [*written.values(), *(part.functions if part else ())]
        texts = {f"{name}.h": header(model, written, real, part), f"{name}.c": source(model, written, real, part)}
        texts |= {f"{name}_test.c": test_driver(model, traced, written, real, part)}
        texts |= {"cortex_m.c": template("cortex_m.c").template}
        made = template("Makefile.in").substitute(name=name, stack=max(f.stack for f in every))
        write_texts(work, {**texts, "Makefile": made})
        words = {"sample": _sample(model, written, real), "modelica": _modelica(model, written)}
        write_readme(model, "c", work, which, **words, real=real.name, memory=_memory(every),
                     plant=part.readme() if part else "")  # fmt: skip
    return target


def _written(model: Model, name: str, traced: ca.Function, real: CReal) -> CFunction:
    """A function of the model in C."""
    given, sizes, outputs = reference_states(model), input_sizes(model, name), FUNCTIONS[name].outputs(model)
    states = np.hstack([given[x] for x in sizes])
    prototype = c_prototype(f"{export_name(model)}_{name}", sizes, outputs, real)
    return CFunction.of(prototype, Tape.from_function(traced), outputs, labels(model), real, states=states)


def header(model: Model, functions: Mapping[str, CFunction], real: CReal, part: CPlant | CPredictive | None) -> str:
    """Text of the header: declarations, sizes, and a comment on the meaning of the numbers."""
    name, guard = export_name(model), f"{export_name(model).upper()}_H"
    sizes = {"N": model.n} if model.layout.plain else {"N_Q": model.n_q, "N": model.n}
    sizes |= {"N_JOINTS": model.n_joints, "N_PARAMETERS": len(model.parameters)}
    lines = [comment(description(model)), f"#ifndef {guard}", f"#define {guard}", ""]
    lines += [f"#define {name.upper()}_{key} {value}" for key, value in sizes.items()]
    lines += [f'#define {name.upper()}_ROBOT_SHA256 "{model.robot.digest()}"', ""]
    lines += ["#ifdef __cplusplus", 'extern "C" {', "#endif", ""]
    if model.parameters:
        nominal = f"extern const {real.name} {name}_nominal[{len(model.parameters)}];"
        lines += ["/* The nominal parameters. */", nominal, ""]
    for f, written in functions.items():
        shapes = (f"{x} {' x '.join(map(str, shape))}" for x, shape in FUNCTIONS[f].outputs(model).items())
        lines += written.declaration(f"{FUNCTIONS[f].what}: {', '.join(shapes)}")
    lines += part.declarations() if part else []
    return "\n".join([*lines, "#ifdef __cplusplus", "}", "#endif", "", f"#endif /* {guard} */", ""])


def source(model: Model, functions: Mapping[str, CFunction], real: CReal, part: CPlant | CPredictive | None) -> str:
    """Text of the source: definitions of all functions."""
    name = export_name(model)
    lines = [comment(description(model)), f'#include "{name}.h"', "", "#include <math.h>", ""]
    if model.parameters:
        lines += [array(f"const {real.name} {name}_nominal", model.nominal_parameters, real), ""]
    for f, written in functions.items():
        lines += [f"/* {FUNCTIONS[f].what} */", *written.lines, ""]
    return "\n".join([*lines, *(part.definitions() if part else [])])


# ------------------------------------------------------------------------------------------------- for the README


def _sample(model: Model, functions: Mapping[str, CFunction], real: CReal) -> str:
    """Example of a call in C, at rest."""
    f, name = shown(list(functions)), export_name(model)
    inputs, outputs = input_sizes(model, f), FUNCTIONS[f].outputs(model)
    declared = [f"{x}[{max(size, 1)}] = {{0}}" for x, size in inputs.items() if x != "p"]
    declared += [f"{x}[{room(shape)}]" for x, shape in outputs.items()]
    lent = [f"work[{functions[f].size}]"] if functions[f].work else []
    given = [f"{name}_nominal" if x == "p" else x for x in inputs]
    rest = enumerate(model.layout.rest().tolist()) if "q" in inputs and not model.layout.plain else ()
    upright = "".join(f"q[{k}] = {real.constant(x)};\n" for k, x in rest if x)
    called = f"{name}_{f}({', '.join([*given, *outputs, *(['work'] if lent else [])])});"
    lines = [f"{real.name} {', '.join(declared)};", *(f"static {functions[f].lent.name} {each};" for each in lent)]
    return "\n".join([*lines, f"{upright}{called}"])


def _modelica(model: Model, functions: Mapping[str, CFunction]) -> str:
    """Example of an external function of Modelica; a matrix is a vector of its rows."""
    f, name = shown(list(functions)), export_name(model)
    inputs, outputs = input_sizes(model, f), FUNCTIONS[f].outputs(model)
    lines = [f"function {f}", *(f"  input Real {x}[{size}];" for x, size in inputs.items())]
    lines += [f"  output Real {x}[{room(shape)}];" for x, shape in outputs.items()]
    lent = ["work"] if functions[f].work else []
    lines += [f"protected\n  Real work[{functions[f].work}];"] if lent else []
    lines += [f'external "C" {name}_{f}({", ".join([*inputs, *outputs, *lent])})']
    return "\n".join([*lines, f'  annotation(Include = "#include \\"{name}.h\\"", Library = "{name}");', f"end {f};"])


def _memory(every: Sequence[CFunction]) -> str:
    """Table of the stack and work of each function."""
    lines = [f"| `{f.name}` | {f.stack} | {f.work * f.lent.bytes if f.work else ''} |" for f in every]
    return "\n".join(["| function | stack (bytes) | `work` (bytes) |", "|---|---|---|", *lines])


TARGET = Target(write=export_c)
