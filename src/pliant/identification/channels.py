"""Channels as expressions of the state, traced with the parameters as symbols, so that they have exact slopes."""

from __future__ import annotations

from typing import Any

import casadi as ca

from pliant.algebra.rotations import SX
from pliant.control.sensing.sensors import Acting, Sensor
from pliant.errors import ModelError
from pliant.identification.recording import Recording, Strain
from pliant.mechanics.links.kinematics import tip_pose
from pliant.mechanics.links.section_forces import InternalForces, section_data
from pliant.model.model import Model
from pliant.robot.files.error_messages import suggestion
from pliant.robot.stations import locate
from pliant.simulation.runs.equations.composition import Composition

AXES = ("tip.x", "tip.y", "tip.z")


def known_channels(model: Model, recording: Recording) -> list[str]:
    """Names that a recording may use."""
    rates = [f"{name}.rate" if name in model.coordinates else name for name in model.speeds]
    torques = [f"{name}.torque" for name in model.joints if name in recording.motion]
    return [*sensed(recording), *model.coordinates, *rates, *AXES, *torques]


def sensed(recording: Recording) -> dict[str, tuple[Any, int]]:
    """Sensor of each further channel of a recording, by its name, and the number of the reading of this sensor."""
    found = {}
    for name, sensor in recording.sensors.items():
        for k, part in enumerate(sensor.parts if isinstance(sensor, Sensor) else ("",)):
            found[f"{name}{part}"] = sensor, k
    return found


def require_channels(model: Model, recording: Recording) -> None:
    """Raise `ModelError` where a recording has a channel that its arm does not have."""
    known = known_channels(model, recording)
    for channel in recording.channels:
        if channel not in known:
            raise ModelError(f"recording {recording.name!r}: no channel `{channel}`{suggestion(channel, known)}")


def readings(composed: Composition, recording: Recording) -> SX:
    """(C,) expression of the ideal readings, in the order of the recording's channels."""
    return ca.vertcat(*(_reading(composed, recording, channel) for channel in recording.channels))


def _reading(composed: Composition, recording: Recording, channel: str) -> SX:
    model = composed.model
    require_channels(model, recording)
    if channel in (further := sensed(recording)):
        (sensor, part), e = further[channel], composed.equations
        if isinstance(sensor, Strain):
            return _strain(composed, recording, sensor)
        if isinstance(sensor, Sensor):
            acting = Acting(e.t, composed.loads, composed.base, _pushes(composed), e.multipliers)
            return ca.SX(sensor.expression(model, e.q, e.qd, e.qdd, acting))[part]
        return _scalar(channel, sensor(e.t, e.q, e.qd))
    if channel in model.coordinates:
        return composed.equations.q[model.index(channel)]
    name, _, kind = channel.rpartition(".")
    if kind == "rate" and name in model.speeds:
        return composed.equations.qd[model.speed_index(name)]
    if channel in model.speeds:
        return composed.equations.qd[model.speed_index(channel)]
    if channel in AXES:
        return tip_pose(model.chain, composed.equations.q)[AXES.index(channel), 3]
    return composed.equations.tau[model.joints.index(name)]


def _pushes(composed: Composition) -> SX:
    """Commands of couplings."""
    return composed.equations.tau[composed.model.n_joints :, :]


def _scalar(channel: str, given: SX) -> SX:
    value = ca.SX(given)
    if value.shape != (1, 1):
        raise ModelError(f"sensor {channel!r}: got shape {value.shape}, expected one value")
    return value


def _strain(composed: Composition, recording: Recording, gauge: Strain) -> SX:
    """Strain of the fiber under a gauge, from the forces of its section."""
    chain = composed.model.chain
    place, eta = locate(composed.model.layout, gauge.link, gauge.x)
    section_data(chain.links[place])
    forces = InternalForces(chain, recording.loads, recording.base)
    value = forces.stretches(place, eta).strain(*gauge.at)
    e = composed.equations
    return forces.at(value, e.t, e.q, e.qd, e.qdd, _pushes(composed), e.multipliers)
