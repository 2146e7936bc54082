"""Replay of a recording by a model: its inputs simulated, its channels read, and their slopes by friction."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pliant.arrays import Array
from pliant.control.sensing.sensors import Sensor
from pliant.errors import UnsupportedModel
from pliant.identification.calibration import NEUTRAL, calibrated_torque
from pliant.identification.channels import sensed
from pliant.identification.lagging import lagged
from pliant.identification.recording import Recording, Strain
from pliant.identification.response import Response
from pliant.model.model import Model
from pliant.options import MethodName
from pliant.simulation.runs.inputs import listed
from pliant.simulation.runs.quantities.measured_channels import ideal_readings
from pliant.simulation.runs.results import Result
from pliant.simulation.runs.simulation import simulate

FRICTION = ("viscous", "coulomb")


@dataclass(frozen=True)
class Replay:
    """Readings y (N, C) at the times t (N,), and slopes (N, C, F) by the friction of the joints that move freely; F may
    be 0."""

    t: Array
    y: Array
    friction: Array


def replayed(model: Model, recording: Recording, p: Array, method: MethodName, rtol: float, atol: float) -> Replay:
    """Replay the torques, commands, prescribed motion or controller of a recording."""
    if getattr(recording.controller, "sample_time", None) is not None:
        return _sampled(model, recording, p, method, rtol, atol)
    found = Response(model, recording, method, rtol, atol)
    ideal = found.predict(p, found.start_values(p), np.ones(found.size))
    return Replay(ideal.t, ideal.y, _by_friction(model, recording, p, method, rtol, atol))


def _by_friction(model: Model, recording: Recording, p: Array, method: MethodName, rtol: float, atol: float) -> Array:
    """Slopes (N, C, F) by viscous and dry friction of joints that have friction and no prescribed motion."""
    robot = model.robot.replace(dict(zip(model.parameters, p.tolist())))
    known = robot.paths()
    paths = [
        path
        for link in robot.links
        for path in (f"links.{link.name}.joint.friction.{what}" for what in FRICTION)
        if link.joint is not None and path in known and (link.joint.name or link.name) not in recording.motion
    ]
    times = recording.times()
    if not paths:
        return np.zeros((len(times), len(recording.channels), 0))
    o = model.options
    slender = Model(robot, model.equations.formulation, o.rotation, o.stiffening, tuple(paths), o.shapes)
    found = Response(slender, recording, method, rtol, atol)
    own = slender.nominal_parameters
    scale = np.concatenate([np.maximum(np.abs(own), 1e-3), np.ones(found.size - len(own))])
    return found.predict(own, found.start_values(own), scale).slope[:, :, : len(own)]


def _sampled(model: Model, recording: Recording, p: Array, method: MethodName, rtol: float, atol: float) -> Replay:
    """Replay a recording with a sampled controller: a plain run, read afterwards, without slopes."""
    r, times = recording, recording.times()
    step = float(np.median(np.diff(times)))
    run = simulate(
        model, r.t_end, r.q0, r.qd0, equilibrium=r.equilibrium, p=p, controller=r.controller, motion=r.motion,
        torque=calibrated_torque(r.torque, model.joints, r.calibration, r.t_end), loads=listed(r.loads), base=r.base,
        output_step=step, method=method, rtol=rtol, atol=atol, progress=False,
    )  # fmt: skip
    columns = []
    for name in r.channels:
        gain, offset, delay, lag = (
            r.calibration.get(f"reading.{name}.{kind}", usual) for kind, usual in NEUTRAL.items()
        )
        read = np.interp(times - delay, run.t, _read(run, r, name))
        own = np.searchsorted(times, r.reading(name)[0])
        read[own] = lagged(times[own], read[own, None], lag)[0][:, 0]
        columns.append(gain * read + offset)
    return Replay(times, np.column_stack(columns), np.zeros((len(times), len(columns), 0)))


def _read(run: Result, recording: Recording, name: str) -> Array:
    """History of a channel in a run."""
    sensor, part = sensed(recording).get(name, (None, 0))
    if isinstance(sensor, Sensor):
        return ideal_readings(run, sensor)[:, part]
    if isinstance(sensor, Strain):
        return np.asarray(run.strain(sensor.link, sensor.x, sensor.at))
    if sensor is not None or name.endswith(".torque"):
        raise UnsupportedModel(
            f"channel `{name}`: beside a sampled controller, coordinates, rates, tip and strains are read"
        )
    if name.startswith("tip."):
        return np.asarray(run.tip[:, "xyz".index(name[-1])])
    base, _, kind = name.rpartition(".")
    if kind == "rate" and base in run.model.speeds:
        return np.asarray(run.qd[:, run.model.speed_index(base)])
    return np.asarray(run[name])
