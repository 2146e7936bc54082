"""Closed loop of the two-link rig: filters, state feedback and LQG as the rig's computer steps them."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Protocol

import numpy as np

from pliant.arrays import Array
from pliant.control.sensing.sensors import StrainGauge
from pliant.model.robot import Robot
from pliant.simulation.stepper.stepper import Stepper
from pliant_studies.checks import Measured, Numbers
from pliant_studies.measured.measured_runs import measured_run
from pliant_studies.rigs.simple import lumped_stage, rigid_stage
from pliant_studies.rigs.two_link import ANGLES, JOINTS, STRAINS, built, gauges

DEFLECTION, RATE = (2 * np.pi * 2.0, 0.9), (2 * np.pi * 40.0, 0.9)
"""Angular frequency (rad/s) and damping of the low-pass filter of the gauges, and of that which differentiates angles.
"""


class EulerFilter:
    """Filter w^2/(s^2 + 2 z w s + w^2) and its rate, by Euler's method; its output precedes its input by one step."""

    def __init__(self, corner: tuple[float, float], step: float, at: float) -> None:
        self.w, self.z = corner
        self.step, self.fast, self.slow = step, 0.0, at / self.w**2

    @property
    def said(self) -> tuple[float, float]:
        """Filtered value and rate."""
        return self.w**2 * self.slow, self.w**2 * self.fast

    def tell(self, value: float) -> None:
        """Step by the next measurement."""
        change = -2 * self.z * self.w * self.fast - self.w**2 * self.slow + value
        self.fast, self.slow = self.fast + self.step * change, self.slow + self.step * self.fast


class Lqg:
    """Controller of the shoulder in the staircase, which has states of its own and runs every 10 ms."""

    def __init__(self, given: Numbers, step: float) -> None:
        self.A, self.B, self.C, self.D = (np.array(given[key]) for key in "ABCD")
        self.every = round(given["sample_time_s"] / step)
        self.z, self.held, self.count = np.zeros(4), 0.0, 0

    def current(self, x: Array, reference: Array) -> float:
        """Current at a step, held between the samples of the controller."""
        if self.count % self.every == 0:
            v = np.concatenate([x, reference])
            self.held = float((self.C @ self.z + self.D @ v)[0])
            self.z = self.A @ self.z + self.B @ v
        self.count += 1
        return self.held


def controllers() -> Measured:
    """Gains, filters and sample times of the rig."""
    text = (files("pliant_studies.measured") / "quanser_2dsfl" / "controllers.json").read_text(encoding="utf-8")
    found: Measured = json.loads(text)
    return found


class Plant(Protocol):
    """Plant of the loop."""

    def read(self) -> tuple[Array, Array]:
        """Both angles and both strains."""
        ...

    def step(self, duration: float, currents: list[float]) -> None:
        """Step under constant currents."""
        ...


class FlexibleArm:
    """Plant that is an arm of pliant, from rest."""

    def __init__(self, robot: Robot, start: list[float]) -> None:
        model = built(robot)
        self.surface, self.places = [-gauge.at[0] for gauge in gauges(robot).values()], list(map(model.index, JOINTS))
        self.arm = Stepper(
            model, method="rodas5p", sensors=[StrainGauge(link, 0.0) for link in JOINTS], q0=dict(zip(JOINTS, start)),
            rtol=1e-5, atol=1e-8,
        )  # fmt: skip

    def read(self) -> tuple[Array, Array]:
        """Both angles and both strains."""
        return self.arm.q[self.places], np.asarray(self.arm.outputs) * self.surface

    def step(self, duration: float, currents: list[float]) -> None:
        """Step under constant currents."""
        self.arm.step(duration, currents)


class Stages:
    """Plant of the maker's two uncoupled stages, with springs that bend or are rigid."""

    def __init__(self, start: list[float], step: float, bending: bool) -> None:
        self.stages = [(lumped_stage if bending else rigid_stage)(k, step) for k in (0, 1)]
        self.x = [np.concatenate([[angle], np.zeros(len(one.A) - 1)]) for angle, one in zip(start, self.stages)]
        self.currents = [0.0, 0.0]

    def read(self) -> tuple[Array, Array]:
        """Both angles and both strains."""
        strains = [one.strain(x, current) for one, x, current in zip(self.stages, self.x, self.currents)]
        return np.array([x[0] for x in self.x]), np.array(strains)

    def step(self, duration: float, currents: list[float]) -> None:
        """Step under constant currents, over the time that the stages were made for."""
        self.currents = currents
        self.x = [one.A @ x + one.B * current for one, x, current in zip(self.stages, self.x, currents)]


def closed_loop(robot: Robot, name: str, duration: float = np.inf) -> tuple[Array, Array, Array]:
    """Times, measured and predicted angles and strains (N, 4) of a run under its references alone."""
    run = measured_run(name)
    t = run["t_s"] - run["t_s"][0]
    t = t[t <= duration]
    measured = np.column_stack([run[c][: len(t)] for c in (*ANGLES, *STRAINS)])
    return t, measured, _looped(FlexibleArm(robot, measured[0, :2].tolist()), name, t)


def closed_stages(name: str, bending: bool) -> Array:
    """Predicted angles and strains (N, 4) of the maker's stages in the same loop."""
    run = measured_run(name)
    start = [float(run[angle][0]) for angle in ANGLES]
    return _looped(Stages(start, controllers()["sample_time_s"], bending), name, run["t_s"] - run["t_s"][0])


def _looped(plant: Plant, name: str, t: Array) -> Array:
    """Angles and strains (N, 4) of a plant in the loop of a run."""
    given, run = controllers(), measured_run(name)
    step, limits = given["sample_time_s"], list(given["saturation_A"].values())
    per_strain = list(given["deflection_per_strain"].values())
    every = round(float(t[1] - t[0]) / step)
    fine = np.arange((len(t) - 1) * every + 1) * step
    references = np.column_stack([np.interp(fine, t, run[f"ref{k}_rad"][: len(t)]) for k in (1, 2)])
    bent = [EulerFilter(DEFLECTION, step, 0.0) for _ in JOINTS]
    turned = [EulerFilter(RATE, step, float(run[angle][0])) for angle in ANGLES]
    K, lqg = [np.array(given["lqr"][key]) for key in ("K1", "K2")], Lqg(given["lqg"], step)
    said = []
    for k, reference in enumerate(references):
        angles, strains = plant.read()
        if k % every == 0:
            said.append([*angles, *strains])
        currents = []
        for j in (0, 1):
            deflection, bending = bent[j].said
            x = np.array([angles[j], deflection, turned[j].said[1], bending])
            goal = np.array([reference[j], 0.0, 0.0, 0.0])
            by_state = name == "lqr_square" or j == 1
            asked = float(K[j] @ (goal - x)) if by_state else lqg.current(x, goal)
            currents.append(float(np.clip(asked, -limits[j], limits[j])))
            bent[j].tell(per_strain[j] * float(strains[j]))
            turned[j].tell(float(angles[j]))
        if k + 1 < len(references):
            plant.step(step, currents)
    return np.array(said)
