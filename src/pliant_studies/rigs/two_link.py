"""Two-link rig: predictions from its encoders and its currents, for each window."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from pliant.arrays import Array, Booleans
from pliant.control.trajectories.measured_motion import MeasuredMotion
from pliant.identification.recording import Recording, Strain
from pliant.identification.response import Response
from pliant.model.model import Model
from pliant.model.robot import Robot
from pliant.protocols import PositionLaw
from pliant_studies.checks import Measured
from pliant_studies.measured.measured_runs import measured_run

RUNS = ("lqr_square", "lqg_staircase")
JOINTS = ("shoulder", "elbow")
ANGLES, STRAINS, CURRENTS = ("theta1_rad", "theta2_rad"), ("strain1", "strain2"), ("i1_cmd_A", "i2_cmd_A")
WINDOWS = {
    "lqr_square": [(10.33 + 2.5 * k, 12.73 + 2.5 * k) for k in range(7)],
    "lqg_staircase": [(1.0 + 4 * k, 4.98 + 4 * k) for k in range(9)],
}
"""Windows (s) that are predicted from the currents; each begins with both joints at rest."""
RINGING = {
    "lqr_square": [(6.6, 7.8), (11.5, 12.8), (16.6, 17.8), (21.5, 22.8), (26.6, 27.8)],
    "lqg_staircase": [(19.4, 21.0), (23.0, 25.0), (27.0, 29.0)],
}
"""Windows (s) in which stiction holds both joints."""
FIRST = 1.0
"""Seconds at the start that are not compared where the encoders drive the arm."""
SURFACE = (0.0254 * 0.050 / 2, 0.0254 * 0.035 / 2)
"""Half the thickness (m) of each link by its data sheet, at which the gauges are glued on."""
THIN = 0.0254 * 0.032 / 2
"""Half the thickness (m) of link 2 in the arm that is called estimated."""
SETTINGS: Measured = {"method": "auto", "rtol": 1e-5, "atol": 1e-8}
NONE = np.zeros(0)


def gauges(robot: Robot) -> dict[str, Strain]:
    """Gauges at the clamps, on the side that is stretched when the tip of a link is ahead."""
    surface = (SURFACE[0], THIN if robot.name.endswith("estimated") else SURFACE[1])
    return {name: Strain(link, 0.0, at=(-half, 0.0)) for name, link, half in zip(STRAINS, JOINTS, surface)}


def motion(run: Mapping[str, Array], model: Model) -> Mapping[str, PositionLaw]:
    """Motion of both joints as the encoders read, by local polynomials over 68 ms."""
    angles = np.column_stack([run[name] for name in ANGLES])
    return MeasuredMotion(run["t_s"] - run["t_s"][0], angles, order=4, window=17).motion(model)


def built(robot: Robot, parameters: tuple[str, ...] = ()) -> Model:
    """Model of all comparisons."""
    return robot.model(stiffening="off", parameters=parameters)


def from_encoders(robot: Robot, name: str, calibration: Mapping[str, float]) -> tuple[Array, Array, Array]:
    """Times after the first second, and measured and predicted strains (N, 2)."""
    run, model = measured_run(name), built(robot)
    t = run["t_s"] - run["t_s"][0]
    recording = Recording(
        t, {s: run[s] for s in STRAINS}, motion=motion(run, model), sensors=gauges(robot), name=name,
        calibration=calibration,
    )  # fmt: skip
    late = t > FIRST
    return t[late], np.column_stack([run[s] for s in STRAINS])[late], _said(model, recording)[late]


def _said(model: Model, recording: Recording) -> Array:
    return Response(model, recording, **SETTINGS).predict(NONE, NONE, NONE).y


def rows_of(run: Mapping[str, Array], begin: float, end: float) -> Booleans:
    """Whether each row of a run lies in a window."""
    return np.asarray((run["t_s"] >= begin - 1e-9) & (run["t_s"] < end))


def measured_windows(name: str) -> list[tuple[Array, Array]]:
    """Times, and measured angles and strains (N, 4), of every window."""
    run = measured_run(name)
    found = []
    for begin, end in WINDOWS[name]:
        rows = rows_of(run, begin, end)
        found.append((run["t_s"][rows], np.column_stack([run[c][rows] for c in (*ANGLES, *STRAINS)])))
    return found


def from_currents(robot: Robot, name: str, calibration: Mapping[str, float]) -> list[Array]:
    """Predicted angles and strains (N, 4) in every window under the commanded currents, from rest."""
    run, model, found = measured_run(name), built(robot), []
    for begin, end in WINDOWS[name]:
        rows = rows_of(run, begin, end)
        t = run["t_s"][rows] - run["t_s"][rows][0]
        angles = {joint: run[angle][rows] for joint, angle in zip(JOINTS, ANGLES)}
        recording = Recording(
            t, {**angles, **{s: run[s][rows] for s in STRAINS}}, q0={joint: float(a[0]) for joint, a in angles.items()},
            torque=(t, np.column_stack([run[c][rows] for c in CURRENTS]), "hold"), sensors=gauges(robot), name=name,
            calibration=calibration,
        )  # fmt: skip
        found.append(_said(model, recording))
    return found


def joint_torques(robot: Robot, name: str) -> tuple[Mapping[str, Array], Array]:
    """Run, and torques (N, 2) that move the arm without friction as the encoders read."""
    still = {f"links.{joint}.joint.friction": {"viscous": 0.0} for joint in JOINTS}
    run, model = measured_run(name), built(robot.replace(still))
    t = run["t_s"] - run["t_s"][0]
    channels = {f"{joint}.torque": t for joint in JOINTS}
    return run, _said(model, Recording(t, channels, motion=motion(run, model), name=name))
