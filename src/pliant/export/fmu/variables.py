"""The variables of a functional mock-up unit: names, units, start values, and the outputs as expressions."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from pliant.algebra.rotations import SX
from pliant.arrays import StateLike
from pliant.export.contents import parameter_unit
from pliant.mechanics.links.kinematics import placements
from pliant.mechanics.links.section_forces import InternalForces
from pliant.model.coordinate_units import commands, coordinate_units, speed_units
from pliant.model.model import Model
from pliant.robot.files.unique_names import UniqueNames
from pliant.simulation.runs.checks.limits import JointLimit
from pliant.simulation.runs.equations.composition import compose
from pliant.simulation.runs.inputs import read_start


@dataclass(frozen=True)
class Variable:
    """One scalar; its place in the list of all is its value reference. `derivative` is the reference of the variable
    whose rate it is. An event occurs where an `indicator` falls to zero."""

    name: str
    causality: str
    variability: str
    initial: str | None
    unit: str
    description: str
    start: float | None = None
    derivative: int | None = None
    nominal: float | None = None
    indicator: bool = False


@dataclass(frozen=True)
class Output:
    """An output: its name, unit and description, and its expression in q."""

    name: str
    unit: str
    description: str
    expression: SX


def variables(
    model: Model, states: tuple[float, ...], outputs: Sequence[Output], limits: Sequence[JointLimit] = ()
) -> list[Variable]:
    """All variables in the order of `fmu_instance.h`: time, q, qd, states of drives, qdd, rates of the states of
    drives, rates of q, torques, parameters, outputs, distances to limits.

    The rates of q are left out where they are the speeds, as they are without quaternions.
    """
    n_q, n, units, rated = model.n_q, model.n, coordinate_units(model), speed_units(model)
    names, nominal, plain = [structured(name) for name in model.coordinates], nominal_states(model), model.layout.plain
    free = Variable("time", "independent", "continuous", None, "s", "time")
    out = [free]
    amplitudes = _amplitudes(model)
    for k, name in enumerate(names):
        what, kind = f"coordinate {model.coordinates[k]}", "local" if k >= n_q - amplitudes else "output"
        size = None if nominal[k] == 1.0 else nominal[k]
        out.append(Variable(name, kind, "continuous", "exact", units[k], what, states[k], nominal=size))
    speeds = [f"der({name})" if plain else f"speed.{name}" for name in map(structured, model.speeds)]
    for k, (name, of) in enumerate(zip(speeds, model.speeds)):
        text, kind = f"{'rate of' if plain else 'speed'} {of}", "local" if k >= n - amplitudes else "output"
        rate = Variable(name, kind, "continuous", "exact", rated[k], text, states[n_q + k], 1 + k if plain else None)
        out.append(rate)
    drives = [(part.name, state) for part in model.layout.state_parts for state in part.states]
    within = [f"{structured(of)}.{state}" for of, state in drives]
    for name, (of, state), start in zip(within, drives, states[n_q + n :]):
        unit, text = DRIVE_STATES[state.rstrip("23456789")]
        out.append(Variable(name, "local", "continuous", "exact", unit, f"{text} of {of}", start))
    faster = [f"der({name},2)" for name in names] if plain else [f"der({name})" for name in speeds]
    for k, (name, of) in enumerate(zip(faster, model.speeds)):
        text, unit = f"acceleration of {of}", f"{rated[k]}2"
        out.append(Variable(name, "local", "continuous", "calculated", unit, text, None, 1 + n_q + k))
    for k, (name, (of, state)) in enumerate(zip(within, drives)):
        unit, text = DRIVE_STATES[state.rstrip("23456789")]
        unit = "1/s" if unit == "1" else f"{unit}/s"
        text = f"rate of the {text} of {of}"
        out.append(Variable(f"der({name})", "local", "continuous", "calculated", unit, text, None, 1 + n_q + n + k))
    for k, name in enumerate(() if plain else names):
        text, unit = f"rate of {model.coordinates[k]}", "1/s" if units[k] == "1" else f"{units[k]}/s"
        out.append(Variable(f"der({name})", "local", "continuous", "calculated", unit, text, None, 1 + k))
    for joint, (kind, unit) in zip(model.layout.inputs, commands(model)):
        whose = f"joint {joint}" if joint in model.joints else f"coupling {joint}"
        text = f"torque (or force) of {whose}, link side" if kind == "torque" else f"{kind} of {whose}"
        out.append(Variable(f"{kind}.{structured(joint)}", "input", "continuous", "exact", unit, text, 0.0))
    for path, value in zip(model.parameters, model.nominal_parameters.tolist()):
        unit = parameter_unit(path)
        out.append(Variable(structured(path), "parameter", "tunable", "exact", unit, path, value))
    out += [Variable(y.name, "output", "continuous", "calculated", y.unit, y.description) for y in outputs]
    for limit in limits:
        name, text = f"limit.{names[limit.index]}.{limit.side}", f"distance to: {limit.name}"
        out.append(Variable(name, "local", "continuous", "calculated", units[limit.index], text, indicator=True))
    return _unique(out)


DRIVE_STATES = {
    "friction": ("1", "bend of the bristles over the one at which they slip, in the friction"),
    "motor_friction": ("1", "bend of the bristles over the one at which they slip, in the motor friction"),
    "hysteresis": ("1", "bend over the one at which it yields, in the gear"),
    "current": ("A", "current of the motor"),
    "voltage": ("V", "voltage at the motor"),
    "pressure_a": ("MPa", "pressure on the piston's side"),
    "pressure_b": ("MPa", "pressure on the rod's side"),
    "valve": ("1", "opening of the valve"),
}
"""Unit and description of the states that drives have besides positions and rates."""


def outputs(model: Model, forces: InternalForces) -> list[Output]:
    """Outputs: position of the tip, and strain at the root of every flexible link of fixed length."""
    *_, last = placements(model.chain, forces.q)
    found = [
        Output(f"tip.{axis}", "m", f"position of the tip along {axis} of the base", last.p_tip[k])
        for k, axis in enumerate("xyz")
    ]
    coupled = model.layout.couplings or model.robot.contacts or model.constraints  # what these do inside is not known
    for link in () if coupled else model.chain.links:
        shapes = link.body.shapes
        if shapes is None or link.slides or link.piece.number > 1:
            continue
        root = forces.stretches(model.chain.links.index(link), 0.0)
        by_field = root.by_field()
        for field in dict.fromkeys(shapes.fields):
            name, text = link.piece.owner, f"{_STRAIN[field]} at the root of {link.piece.owner}"
            found.append(Output(f"strain.{structured(name)}.{field}", _STRAIN_UNITS[field], text, by_field[field]))
    return found


_STRAIN = {
    "bending_y": "curvature v'' (strain over the distance from the neutral axis)",
    "bending_z": "curvature w'' (strain over the distance from the neutral axis)",
    "torsion": "twist phi'",
    "axial": "axial strain u'",
}
_STRAIN_UNITS = {"bending_y": "1/m", "bending_z": "1/m", "torsion": "rad/m", "axial": "1"}


def start_states(model: Model, q0: StateLike | None, qd0: StateLike | None) -> tuple[float, ...]:
    """Start values of q and qd, read as `simulate` reads them, and of friction, loaded as without torques."""
    (q, qd, _), friction = read_start(model, q0, qd0), len(model.layout.drive_states)
    x = np.concatenate([q, qd])
    if friction:
        p = np.concatenate([np.zeros(model.layout.n_inputs), model.nominal_parameters])
        x = compose(model, None, None, {}, (), None, False, closed=True).start(q, qd, p)
    return tuple(x[: model.n_q + model.n + friction].tolist())


AMPLITUDE = 0.01
"""Size of an amplitude (m or rad) by which solvers scale their absolute tolerance."""


def nominal_states(model: Model) -> tuple[float, ...]:
    """Size of each state: one for joints, motors and rates."""
    amplitudes, ones = _amplitudes(model), (1.0,) * (model.n + len(model.layout.drive_states))
    return (1.0,) * (model.n_q - amplitudes) + (AMPLITUDE,) * amplitudes + ones


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
    """Part of a name in quotes, with characters that the convention lacks replaced."""
    allowed = re.sub(r"[^A-Za-z0-9_!#$%&()*+,\-./:;<>=?@\[\]^{}|~ ]", "_", part)
    return f"'{allowed}'"


def _amplitudes(model: Model) -> int:
    """Number of amplitudes, which stand behind joints and motors. Those are outputs, amplitudes are local."""
    free = sum(link.joint.n_v for link in model.chain.links if link.joint.kind == "free")
    return model.n - free - len(model.layout.all_shafts) - len(model.layout.driven)


def _unique(found: list[Variable]) -> list[Variable]:
    """Make names unique; of two equal ones the later gets a number: a link may be called `time`, or `tip`, say."""
    names, out = UniqueNames(dot="."), []
    for variable in found:
        quote = "'" if variable.name.endswith("'") else ""
        out.append(replace(variable, name=names.give(variable.name.removesuffix("'")) + quote))
    return out


def symbols_and_outputs(model: Model) -> tuple[InternalForces, list[Output]]:
    """Symbols of the state, and the outputs in them."""
    forces = InternalForces(replace(model.chain, closures=(), kept=()))
    return forces, outputs(model, forces)
