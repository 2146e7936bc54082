"""The variables of a functional mock-up unit: names, units, start values, and the outputs as expressions."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np

from pliant.dynamics.kinematics import placements
from pliant.dynamics.section_forces import InternalForces
from pliant.errors import ModelError
from pliant.export.contents import coordinate_units, parameter_unit, torque_units
from pliant.model import Model, read_state
from pliant.runs.composition import compose


@dataclass(frozen=True)
class Variable:
    """One scalar; its place in the list of all is its value reference. `derivative` is the reference it is the rate
    of."""

    name: str
    causality: str
    variability: str
    initial: str | None
    unit: str
    description: str
    start: float | None = None
    derivative: int | None = None
    nominal: float | None = None


@dataclass(frozen=True)
class Output:
    """An output: what it is and its expression in q."""

    name: str
    unit: str
    description: str
    expression: Any


def variables(model: Model, states: tuple[float, ...], outputs: list[Output]) -> list[Variable]:
    """time, q, qd, friction, qdd, its rates, torques, parameters, outputs: the layout of `fmu_instance.h`."""
    n, units = model.n, coordinate_units(model)
    names, nominal = [structured(name) for name in model.coordinates], nominal_states(model)
    free = Variable("time", "independent", "continuous", None, "s", "time")
    out = [free]
    shown = ["output" if k < _shown(model) else "local" for k in range(n)]
    for k, name in enumerate(names):
        what = f"coordinate {model.coordinates[k]}"
        size = None if nominal[k] == 1.0 else nominal[k]
        out.append(Variable(name, shown[k], "continuous", "exact", units[k], what, states[k], nominal=size))
    for k, name in enumerate(names):
        text = f"rate of {model.coordinates[k]}"
        rate = Variable(f"der({name})", shown[k], "continuous", "exact", f"{units[k]}/s", text, states[n + k], 1 + k)
        out.append(rate)
    bristles = [link.name for link in model.chain.bristled]
    bent = [f"{structured(name)}.friction" for name in bristles]
    for name, of, start in zip(bent, bristles, states[2 * n :]):
        text = f"friction of {of}: bend of its bristles over the one at which they slip"
        out.append(Variable(name, "local", "continuous", "exact", "1", text, start))
    for k, name in enumerate(names):
        text = f"acceleration of {model.coordinates[k]}"
        unit = f"{units[k]}/s2"
        out.append(Variable(f"der({name},2)", "local", "continuous", "calculated", unit, text, None, 1 + n + k))
    for k, (name, of) in enumerate(zip(bent, bristles)):
        text = f"rate of the friction of {of}"
        out.append(Variable(f"der({name})", "local", "continuous", "calculated", "1/s", text, None, 1 + 2 * n + k))
    for joint, unit in zip(model.joints, torque_units(model)):
        text = f"torque (or force) of joint {joint}, link side"
        out.append(Variable(f"torque.{structured(joint)}", "input", "continuous", "exact", unit, text, 0.0))
    for path, value in zip(model.parameters, model.nominal_parameters.tolist()):
        unit = parameter_unit(path)
        out.append(Variable(structured(path), "parameter", "tunable", "exact", unit, path, value))
    out += [Variable(y.name, "output", "continuous", "calculated", y.unit, y.description) for y in outputs]
    _require_unique(out)
    return out


def outputs(model: Model, forces: InternalForces) -> list[Output]:
    """Position of the tip, and strain at the root of every flexible link of fixed length."""
    *_, last = placements(model.chain, forces.q)
    found = [
        Output(f"tip.{axis}", "m", f"position of the tip along {axis} of the base", last.p_tip[k])
        for k, axis in enumerate("xyz")
    ]
    for link, shapes in zip(model.chain.links, model.link_shapes, strict=True):
        if shapes is None or link.slides:
            continue
        root = forces.stretches(model.chain.links.index(link), 0.0)
        by_field = root.by_field()
        for field in dict.fromkeys(shapes.fields):
            text = f"{_STRAIN[field]} at the root of {link.name}"
            found.append(Output(f"strain.{structured(link.name)}.{field}", _STRAIN_UNITS[field], text, by_field[field]))
    return found


_STRAIN = {
    "bending_y": "curvature v'' (strain over the distance from the neutral axis)",
    "bending_z": "curvature w'' (strain over the distance from the neutral axis)",
    "torsion": "twist phi'",
    "axial": "axial strain u'",
}
_STRAIN_UNITS = {"bending_y": "1/m", "bending_z": "1/m", "torsion": "rad/m", "axial": "1"}


def start_states(model: Model, q0: Any, qd0: Any) -> tuple[float, ...]:
    """Start values of q and qd, read as `simulate` reads them, and of friction, loaded as without torques."""
    q, qd, friction = read_state(model, q0, "q0"), read_state(model, qd0, "qd0"), len(model.chain.bristled)
    x = np.concatenate([q, qd])
    if friction:
        p = np.concatenate([np.zeros(model.n_joints), model.nominal_parameters])
        x = compose(model, None, None, {}, (), None, False).start(q, qd, p)
    return tuple(x[: 2 * model.n + friction].tolist())


AMPLITUDE = 0.01
"""Size of an amplitude (m or rad) by which solvers scale their absolute tolerance."""


def nominal_states(model: Model) -> tuple[float, ...]:
    """Size of each state: one for joints, motors and rates."""
    ones = (1.0,) * (model.n + len(model.chain.bristled))
    return tuple(1.0 if k < _shown(model) else AMPLITUDE for k in range(model.n)) + ones


def structured(name: str) -> str:
    """A name in the structured convention of FMI: `upper.bending_y.1` is `upper.bending_y[1]`."""
    out = ""
    for part in name.split("."):
        if part.isdigit() and out:
            out += f"[{part}]"
        else:
            plain = re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", part)
            out += ("." if out else "") + (part if plain else _quoted(part))
    return out


def _quoted(part: str) -> str:
    """In quotes, with characters that the convention lacks replaced."""
    allowed = re.sub(r"[^A-Za-z0-9_!#$%&()*+,\-./:;<>=?@\[\]^{}|~ ]", "_", part)
    return f"'{allowed}'"


def _shown(model: Model) -> int:
    """Joints and motors are outputs, amplitudes are local."""
    return model.n_joints + len(model.chain.driven)


def _require_unique(found: list[Variable]) -> None:
    seen: set[str] = set()
    for variable in found:
        if variable.name in seen:
            raise ModelError(f"fmu: two variables would be called {variable.name!r}; rename a link")
        seen.add(variable.name)


def symbols_and_outputs(model: Model) -> tuple[InternalForces, list[Output]]:
    """Symbols of the state, and the outputs in them."""
    forces = InternalForces(model.chain)
    return forces, outputs(model, forces)
