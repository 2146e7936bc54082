"""Predictions of the rigs: from encoders, from currents or voltage, and in closed loop."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from pliant.model.robot import Robot
from pliant.protocols import TorqueTable
from pliant.simulation.runs.results import Result
from pliant.simulation.runs.simulation import simulate
from pliant_studies.checks import Measured, Numbers
from pliant_studies.measured.measured_runs import CALIBRATIONS, load_rig, measured_run
from pliant_studies.rigs import bar, loop, simple, two_link
from pliant_studies.rigs.fits import DAMPINGS, STIFFNESS, ring_downs
from pliant_studies.study import StudyRuns, Tell

IDENTIFIED = {"lqr_square": "2dsfl-from-square", "lqg_staircase": "2dsfl-from-staircase"}
"""Arm that was identified from each run alone."""
BARS = {name: f"ist-bar-without-{name[:3]}" for name in bar.RUNS}
"""Bar that was fitted to the two other runs, by run."""
OTHER = {"lqr_square": "lqg_staircase", "lqg_staircase": "lqr_square"}
FRICTION = tuple(f"links.shoulder.joint.{part}" for part in ("friction.coulomb", "motor.offset"))
"""Numbers of the shoulder that differ between the runs by more than their uncertainty."""
FRICTION_MOVED = "predicted, friction of the day"


@dataclass
class RigRuns(StudyRuns):
    """Predictions and measurements by run and model."""

    encoders: dict[str, Measured] = field(default_factory=dict)
    currents: dict[str, Measured] = field(default_factory=dict)
    loops: dict[str, Measured] = field(default_factory=dict)
    bars: dict[str, Measured] = field(default_factory=dict)
    histories: dict[str, Result | Numbers] = field(default_factory=dict)


def arms(name: str) -> dict[str, tuple[Robot, Mapping[str, float]]]:
    """Arms that predict a run, with the calibration of their gauges."""
    rigs = {
        "data sheet": "2dsfl-nominal", "published estimate": "2dsfl-estimated",
        "predicted": IDENTIFIED[OTHER[name]], "fitted": IDENTIFIED[name],
    }  # fmt: skip
    return {title: (load_rig(rig), CALIBRATIONS.get(rig, {})) for title, rig in rigs.items()}


def perform(quick: bool, tell: Tell) -> RigRuns:
    """Every run; a quick study closes the loop only with the arms identified on the other run."""
    settings = {"two-link": two_link.SETTINGS, "bar": bar.SETTINGS, "dampings": DAMPINGS}
    runs = RigRuns({"quick": quick, "identified": IDENTIFIED, **settings})
    for name in two_link.RUNS:
        tell(f"{name}: from the encoders")
        _encoders(runs, name)
        tell(f"{name}: from the currents")
        _currents(runs, name)
        tell(f"{name}: closed loop")
        _loops(runs, name, quick)
    tell("the bar")
    for name in bar.RUNS:
        _bar(runs, name)
    _histories(runs)
    return runs


def _encoders(runs: RigRuns, name: str) -> None:
    found: Measured = {}
    for title, (robot, calibration) in arms(name).items():
        found["t"], found["measured"], found[title] = two_link.from_encoders(robot, name, calibration)
    found["lumped"], found["rigid"] = simple.strains_from_encoders(name)
    robot, calibration = arms(name)["predicted"]
    found["predicted, frequency moved"] = two_link.from_encoders(_tuned(robot, name), name, calibration)[2]
    runs.encoders[name] = found


def _tuned(robot: Robot, name: str) -> Robot:
    """Arm with the stiffness of link 1 changed until its first frequency is that of the ring-downs of a run."""
    wanted = float(np.mean([decay.frequencies[0] for decay in ring_downs(name)]))
    for _ in range(4):
        now = float(two_link.built(robot).frequencies()[0])
        robot = robot.replace({STIFFNESS[0]: robot.paths()[STIFFNESS[0]] * (wanted / now) ** 2})
    return robot


def _currents(runs: RigRuns, name: str) -> None:
    windows = two_link.measured_windows(name)
    found: Measured = {"t": [t for t, _ in windows], "measured": [rows for _, rows in windows]}
    for title, (robot, calibration) in arms(name).items():
        found[title] = two_link.from_currents(robot, name, calibration)
    calibration = arms(name)["predicted"][1]
    found[FRICTION_MOVED] = two_link.from_currents(_with_friction(name), name, calibration)
    found["lumped"], found["rigid"] = simple.from_currents(name), simple.from_currents(name, bending=False)
    runs.currents[name] = found


def _with_friction(name: str) -> Robot:
    """Arm that predicts a run, with dry friction and offset of the shoulder as identified in that run."""
    known = arms(name)["fitted"][0].paths()
    return arms(name)["predicted"][0].replace({path: known[path] for path in FRICTION})


def _loops(runs: RigRuns, name: str, quick: bool) -> None:
    found: Measured = {}
    for title, (robot, _) in arms(name).items():
        if title == "predicted" or not quick:
            found["t"], found["measured"], found[title] = loop.closed_loop(robot, name)
    if not quick:
        found[FRICTION_MOVED] = loop.closed_loop(_with_friction(name), name)[2]
    for title, bending in (("lumped", True), ("rigid", False)):
        found[title] = loop.closed_stages(name, bending)
    runs.loops[name] = found


def _bar(runs: RigRuns, name: str) -> None:
    robot, calibration = load_rig(BARS[name]), CALIBRATIONS[BARS[name]]
    recording, said = bar.predict(robot, name, calibration, before=False)
    channels = np.column_stack([recording.reading(channel)[1] for channel in recording.channels])
    early = bar.predict(robot, name, calibration)[1]
    runs.bars[name] = {
        "t": recording.t, "measured": channels, "predicted": said, "rate before the start": early,
        "rigid": bar.rigid(robot, name),
    }  # fmt: skip


def _histories(runs: RigRuns) -> None:
    """Keep one full run of each identified arm, and all series."""
    for name in two_link.RUNS:
        robot, _ = arms(name)["predicted"]
        run = measured_run(name)
        rows = two_link.rows_of(run, *two_link.WINDOWS[name][0])
        t = run["t_s"][rows] - run["t_s"][rows][0]
        torque: TorqueTable = (t, np.column_stack([run[c][rows] for c in two_link.CURRENTS]), "hold")
        start = {joint: float(run[a][rows][0]) for joint, a in zip(two_link.JOINTS, two_link.ANGLES)}
        runs.histories[f"first window of {name}"] = simulate(
            two_link.built(robot), float(t[-1]), start, torque=torque, output_step=0.01, rtol=1e-6, progress=False
        )
        series = {k.replace(",", ""): v for k, v in runs.encoders[name].items()}
        runs.histories[f"encoders {name}"] = series
        runs.histories[f"loop {name}"] = dict(runs.loops[name])
    for name in bar.RUNS:
        runs.histories[f"bar {name}"] = dict(runs.bars[name])


def recorded_locked(run: str) -> list[Measured]:
    """Ring-downs of a run: angle of the elbow (degrees), frequencies (Hz) and damping ratios of both modes."""
    data = measured_run(run)
    found = []
    for (begin, end), decay in zip(two_link.RINGING[run], ring_downs(run)):
        rows = (data["t_s"] >= begin) & (data["t_s"] < end)
        elbow = float(np.degrees(data["theta2_rad"][rows].mean()))
        found.append({"elbow": elbow, "frequencies": decay.frequencies.tolist(), "damping": decay.damping.tolist()})
    return found
