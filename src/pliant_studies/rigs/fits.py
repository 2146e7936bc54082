"""Identification of the arms that ship: each from one run of the rig alone.

1. The second ring-down frequency of the run gives the start of the fit of link 2.
2. From the encoders, on the first half of the run: stiffness and damping of link 2 and delays of the gauges, for
   several dampings of link 1, with its stiffness from the data sheet or fitted. Choices whose error in the second half
   is within 2 % of the best are not distinguished: the stiffness of the data sheet is then kept, and the middle one of
   the dampings taken. The rest is then fitted to the whole run.
3. From the torques that this arm needs to move as the encoders read: torque constant, viscous and dry friction, and
   offset of the current of each joint, by a linear balance where the joint moves.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product

import numpy as np

from pliant.arrays import Array
from pliant.errors import SimulationError
from pliant.identification.estimate import Identification
from pliant.identification.fitting import identify
from pliant.identification.recording import Recording
from pliant.model.robot import Robot
from pliant.validation.closeness import nrmse
from pliant.validation.decay import Decay, free_decay
from pliant_studies.measured.measured_runs import load_rig, measured_run
from pliant_studies.rigs.two_link import (
    ANGLES,
    CURRENTS,
    FIRST,
    JOINTS,
    RINGING,
    SETTINGS,
    STRAINS,
    built,
    from_encoders,
    gauges,
    joint_torques,
    motion,
)

STIFFNESS = tuple(f"links.{joint}.beam.EI_z" for joint in JOINTS)
DAMPING = tuple(f"links.{joint}.shapes.damping" for joint in JOINTS)
DELAYS = tuple(f"reading.{name}.delay" for name in STRAINS)
DAMPINGS = (0.005, 0.01, 0.02, 0.03, 0.04, 0.06)
"""Damping ratios of link 1 to choose from. Ring-downs have 0.3 to 7 %, more for larger amplitudes."""
ALIKE = 0.02
"""Relative difference of errors up to which choices are not distinguished from the best."""
NEAR = (1.85, 5.68)
"""Frequencies (Hz) about which ring-downs are fitted."""
MOVING = 0.02
"""Rate (rad/s) from which on a joint slides."""
GEARS, EFFICIENCY = (100.0, 50.0), 0.75
WINDOW = 17
"""Number of samples of the local polynomials."""
SLIP = 1e-4
"""Elastic displacement (rad) of a joint before it slips."""


def ring_downs(name: str) -> list[Decay]:
    """Decays of both strains in each window in which the joints do not move."""
    run = measured_run(name)
    strains = np.column_stack([run[s] for s in STRAINS])
    found = []
    for begin, end in RINGING[name]:
        rows = (run["t_s"] >= begin) & (run["t_s"] < end)
        found.append(free_decay(run["t_s"][rows], strains[rows], NEAR))
    return found


def links(name: str) -> Identification:
    """Fit of stiffness, damping and delays to one run, driven by its encoders."""
    return _fitted(name, *first_link(name)[0])


def first_link(name: str) -> tuple[tuple[float, bool], dict[tuple[float, bool], float]]:
    """Chosen damping of link 1 and whether its stiffness is fitted; and the mean NRMSE of both strains in the second
    half of a run for each choice."""
    run = measured_run(name)
    middle, found = 0.5 * float(run["t_s"][-1] - run["t_s"][0]), {}
    for choice in product(DAMPINGS, (False, True)):
        try:
            half = _fitted(name, *choice, middle)
        except SimulationError:  # no optimum
            continue
        t, measured, said = from_encoders(half.robot, name, half.calibration)
        late = t > middle
        found[choice] = float(np.mean([nrmse(said[late, k], measured[late, k]) for k in (0, 1)]))
    return chosen(found), found


def chosen(errors: Mapping[tuple[float, bool], float]) -> tuple[float, bool]:
    """Choice by the errors of all: stiffness not fitted if that is not distinguished from the best, middle damping."""
    alike = sorted(choice for choice, error in errors.items() if error <= (1 + ALIKE) * min(errors.values()))
    alike = [choice for choice in alike if not choice[1]] or alike
    return alike[len(alike) // 2]


def _fitted(name: str, damping: float, stiffness: bool, until: float = np.inf) -> Identification:
    """Fit with this damping of link 1, whose stiffness is fitted or from the data sheet, to a run up to a time."""
    paths = (*(STIFFNESS if stiffness else STIFFNESS[1:]), DAMPING[1])
    robot = load_rig("2dsfl-nominal")
    second = float(np.mean([decay.frequencies[1] for decay in ring_downs(name)]))
    start = robot.paths()[STIFFNESS[1]] * (second / float(built(robot).frequencies()[1])) ** 2
    robot = robot.replace({DAMPING[0]: damping, DAMPING[1]: 0.01})
    run, model = measured_run(name), built(robot, paths)
    t = run["t_s"] - run["t_s"][0]
    late = (t > FIRST) & (t <= until)
    recording = Recording(
        t, {s: (t[late], run[s][late]) for s in STRAINS}, motion=motion(run, model), sensors=gauges(robot), name=name
    )
    names = (*paths, *DELAYS)
    return identify(model, recording, names, start={STIFFNESS[1]: start}, stages=(1.0,), clocks="ignore", **SETTINGS)


def balance(robot: Robot, name: str) -> list[Array]:
    """Torque constant behind the gear, viscous and dry friction, and offset of the torque, of each joint.

    kt i = tau + fv w + fc sign(w) + c is solved for the current, the quantity that the others explain.
    """
    from scipy.signal import savgol_filter

    run, torques = joint_torques(robot, name)
    step, found = float(run["t_s"][1] - run["t_s"][0]), []
    for k, (angle, current) in enumerate(zip(ANGLES, CURRENTS)):
        rate = savgol_filter(run[angle], WINDOW, 4, deriv=1, delta=step)
        moving = (np.abs(rate) > MOVING) & (run["t_s"] - run["t_s"][0] > FIRST)
        A = np.column_stack([torques[:, k], rate, np.sign(rate), np.ones(len(rate))])[moving]
        x = np.linalg.lstsq(A, savgol_filter(run[current], WINDOW, 4)[moving], rcond=None)[0]
        found.append(np.array([1.0, *x[1:]]) / x[0])
    return found


def with_drives(robot: Robot, drives: list[Array]) -> Robot:
    """Arm with these torque constants, frictions and offsets."""
    changes: dict[str, float] = {}
    for joint, gear, (constant, viscous, coulomb, offset) in zip(JOINTS, GEARS, drives):
        place = f"links.{joint}.joint"
        changes[f"{place}.motor.torque_constant"] = float(constant / gear / EFFICIENCY)
        changes[f"{place}.motor.offset"] = float(-offset / constant)
        changes[f"{place}.friction.viscous"] = float(viscous)
        changes[f"{place}.friction.coulomb"] = float(coulomb)
        changes[f"{place}.friction.bristle"] = SLIP
    return robot.replace(changes)


def identified(name: str) -> tuple[Robot, Mapping[str, float]]:
    """Arm and delays of its gauges, from one run alone."""
    found = links(name)
    return with_drives(found.robot, balance(found.robot, name)), found.calibration
