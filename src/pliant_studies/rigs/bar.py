"""Bar of the Instituto Superior Técnico: hub and deflection from the voltage."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from pliant.arrays import Array
from pliant.identification.estimate import Identification
from pliant.identification.fitting import identify
from pliant.identification.recording import Recording, Strain
from pliant.identification.response import Response
from pliant.model.robot import Robot
from pliant_studies.checks import Measured
from pliant_studies.measured.measured_runs import load_rig, measured_run

RUNS = ("a05_f08", "a10_f08", "a15_f10")
WINDOW = {"a05_f08": (5.0, 9.9), "a10_f08": (5.0, 9.9), "a15_f10": (5.5, 9.5)}
"""Beginning and end (s) of the predicted part of each run: from a flank of the square wave, or near one."""
LENGTH = 0.4064
GAUGE = Strain("bar", 0.0, at=(-LENGTH / 3, 0.0))
"""Gauge that reads root curvature times L/3: it was calibrated with a static force at the tip."""
WEIGHED = {"bar": 0.1, "deflection": 0.002}
"""Noise (rad) of the fit: large for the hub, which integrates every error of the friction."""
SETTLED = 1.0
"""Time (s) from which on the mean of the gauge is its bias."""
RATE_ROWS = 20
"""Number of rows over which the rate of the hub at the start is taken."""
LINK = "links.bar"
FITTED = (
    f"{LINK}.beam.EI_z", f"{LINK}.beam.mass_per_length", f"{LINK}.joint.drive.rotor_inertia",
    f"{LINK}.joint.friction.viscous", f"{LINK}.joint.friction.coulomb", f"{LINK}.shapes.damping", "input.delay",
    "input.bar.offset",
)  # fmt: skip
SETTINGS: Measured = {"method": "auto", "rtol": 1e-6, "atol": 1e-9}


def columns(name: str) -> dict[str, Array]:
    """Columns of a run with the bias of its gauge removed."""
    run = measured_run(name)
    bias = float(run["deflection_rad"][run["t_s"] >= SETTLED].mean())
    return {**run, "deflection_rad": run["deflection_rad"] - bias}


def window(name: str, calibration: Mapping[str, float] | None = None, before: bool = True) -> Recording:
    """Part of a run that is predicted: it starts with the measured angle and rate, the bar at rest.

    The score of the data takes the rate over the 40 ms after the start (`before=False`), and verdicts depend on that.
    There the voltage has just turned and the hub slows down; fits take the rate over the 40 ms before the start.
    """
    run, (begin, end) = columns(name), WINDOW[name]
    rows = (run["t_s"] >= begin - 1e-9) & (run["t_s"] < end)
    t = run["t_s"][rows] - run["t_s"][rows][0]
    theta = run["theta_rad"][rows]
    first = int(np.argmax(rows))
    sign = -1 if before else 1
    rate = float(run["theta_rad"][first + sign * RATE_ROWS] - theta[0]) / (sign * RATE_ROWS * float(t[1]))
    return Recording(
        t, {"bar": theta, "deflection": run["deflection_rad"][rows]}, q0={"bar": float(theta[0])}, qd0={"bar": rate},
        torque=(t, run["voltage_V"][rows][:, None], "hold"), sensors={"deflection": GAUGE}, name=name,
        noise=WEIGHED, calibration=dict(calibration or {}),
    )  # fmt: skip


def fit(runs: Sequence[str]) -> Identification:
    """Fit of the bar to the windows of these runs, in units of 1 N m per volt. It is made twice, since a damping ratio
    refers to the dampers of the arm that a fit begins with."""
    return fit_once(runs, fit_once(runs, load_rig("ist-bar")).robot)


def fit_once(runs: Sequence[str], robot: Robot) -> Identification:
    """Fit of the bar that begins with the numbers of `robot`."""
    model = robot.model(stiffening="off")
    return identify(model, [window(name) for name in runs], FITTED, stages=(0.3, 1.0), clocks="ignore", **SETTINGS)


def predict(robot: Robot, name: str, calibration: Mapping[str, float], before: bool = True) -> tuple[Recording, Array]:
    """Window of a run, and predicted hub and deflection (N, 2) there."""
    recording, model = window(name, calibration, before), robot.model(stiffening="off")
    response = Response(model, recording, **SETTINGS)
    none = np.zeros(0)
    return recording, response.predict(none, none, none).y


def rigid(robot: Robot, name: str) -> Array:
    """Hub and quasi-static deflection (N, 2) of a bar that cannot bend, on the same motor."""
    known = robot.paths()
    line, EI = known[f"{LINK}.beam.mass_per_length"], known[f"{LINK}.beam.EI_z"]
    J = known[f"{LINK}.joint.drive.rotor_inertia"] + line * LENGTH**3 / 3
    viscous, coulomb = (known[f"{LINK}.joint.friction.{what}"] for what in ("viscous", "coulomb"))
    recording: Any = window(name, before=False)  # its fields may be much else
    t, volts = np.asarray(recording.t), np.asarray(recording.torque[1])[:, 0]
    theta, rate = recording.q0["bar"], recording.qd0["bar"]
    step, out = float(t[1] - t[0]), []
    for volt in volts:
        acceleration = (volt - viscous * rate - coulomb * np.tanh(rate / 0.05)) / J
        out.append((theta, -line * LENGTH**4 / 9 / EI * acceleration))
        rate, theta = rate + step * acceleration, theta + step * rate
    return np.array(out)
