"""Channels as expressions of the state, traced with the parameters as symbols, so that they have exact slopes."""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np

from pliant.dynamics.kinematics import tip_pose
from pliant.errors import ModelError
from pliant.identification.recording import Recording, Strain
from pliant.loads.stations import fraction, place_of
from pliant.model import Model
from pliant.robot import RobotView, beam_properties
from pliant.robot.faults import suggestion
from pliant.runs.composition import Composition
from pliant.runs.internal_forces import RunHistory, RunSymbols
from pliant.shapes import section_profile

AXES = ("tip.x", "tip.y", "tip.z")


def known_channels(model: Model, recording: Recording) -> list[str]:
    """Names that a recording may use."""
    rates = [f"{name}.rate" for name in model.coordinates]
    torques = [f"{name}.torque" for name in model.joints if name in recording.motion]
    return [*recording.sensors, *model.coordinates, *rates, *AXES, *torques]


def readings(composed: Composition, recording: Recording) -> Any:
    """(C,) expression of what the sensors would read, in the order of the recording's channels."""
    return ca.vertcat(*(_reading(composed, recording, channel) for channel in recording.channels))


def _reading(composed: Composition, recording: Recording, channel: str) -> Any:
    model = composed.model
    if channel in recording.sensors:
        sensor = recording.sensors[channel]
        if isinstance(sensor, Strain):
            return _strain(composed, recording, sensor)
        return _scalar(channel, sensor(composed.t, composed.q, composed.qd))
    if channel in model.coordinates:
        return composed.q[model.index(channel)]
    name, _, kind = channel.rpartition(".")
    if kind == "rate" and name in model.coordinates:
        return composed.qd[model.index(name)]
    if channel in AXES:
        return tip_pose(model.chain, composed.q)[AXES.index(channel), 3]
    if kind == "torque" and name in model.joints and name in recording.motion:
        return composed.tau[model.joints.index(name)]
    known = known_channels(model, recording)
    raise ModelError(f"recording {recording.name!r}: no channel `{channel}`{suggestion(channel, known)}")


def _scalar(channel: str, value: Any) -> Any:
    value = ca.SX(value)
    if value.shape != (1, 1):
        raise ModelError(f"sensor {channel!r}: shape {value.shape}; expected one value")
    return value


def _strain(composed: Composition, recording: Recording, gauge: Strain) -> Any:
    """N/EA - y M_z/EI_z + z M_y/EI_y from the forces of the section, as `Result.strain` has it."""
    model = composed.model
    nothing = np.zeros((1, model.n))
    run = RunHistory(
        model, np.zeros(1), nothing, nothing, nothing, model.nominal_parameters, recording.loads, recording.base
    )  # fmt: skip
    place, eta = run.station(gauge.link, gauge.x)
    symbols = RunSymbols(run)
    force, moment = symbols.section(place, eta)
    stiff = _section_stiffness(model, gauge.link, gauge.x)
    y, z = gauge.at
    value = -y * moment[2] / stiff["EI_z"] if y else ca.SX(0)
    value += z * moment[1] / stiff["EI_y"] if z else 0
    value += force[0] / stiff["EA"] if _given(stiff["EA"]) else 0
    given = ca.vertcat(symbols.t, symbols.q, symbols.qd, symbols.qdd)
    return ca.substitute(value, given, ca.vertcat(composed.t, composed.q, composed.qd, composed.qdd))


def _section_stiffness(model: Model, link: str, x: float | str) -> dict[str, Any]:
    place = place_of(model.chain, link)
    symbols = dict(zip(model.parameters, ca.vertsplit(model.parameter_symbols) if model.parameters else []))
    beam = beam_properties(RobotView(model.robot, symbols).links[place].beam)
    profile, eta = section_profile(beam), fraction(model.chain.links[place], x)
    return {name: getattr(beam, name) * float(profile(name, np.array([eta]))[0]) for name in ("EI_y", "EI_z", "EA")}


def _given(value: Any) -> bool:
    return isinstance(value, ca.SX) or bool(value)
