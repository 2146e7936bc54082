"""The two-link rig in its own loop: filters, state feedback and LQG as the rig's computer steps them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib.resources import files
from typing import Any

import numpy as np

from pliant.arrays import Array
from pliant.control import StrainGauge
from pliant.rigs import measured_run
from pliant.robot import Robot
from pliant.stepping import Stepper
from pliant.studies.rigs.two_link import ANGLES, JOINTS, STRAINS, built, gauges

DEFLECTION, RATE = (2 * np.pi * 2.0, 0.9), (2 * np.pi * 40.0, 0.9)
"""Angular frequency (rad/s) and damping of the low-pass of the gauges and of the one that differentiates angles."""


class EulerFilter:
    """w^2/(s^2 + 2 z w s + w^2) with its rate, by Euler's method; what it says holds before it is told."""

    def __init__(self, corner: tuple[float, float], step: float, at: float) -> None:
        self.w, self.z = corner
        self.step, self.fast, self.slow = step, 0.0, at / self.w**2

    @property
    def said(self) -> tuple[float, float]:
        """Value and rate."""
        return self.w**2 * self.slow, self.w**2 * self.fast

    def tell(self, value: float) -> None:
        """The next measurement."""
        change = -2 * self.z * self.w * self.fast - self.w**2 * self.slow + value
        self.fast, self.slow = self.fast + self.step * change, self.slow + self.step * self.fast


class Lqg:
    """The controller of the shoulder in the staircase: a state of its own, every 10 ms."""

    def __init__(self, given: Mapping[str, Any], step: float) -> None:
        self.A, self.B, self.C, self.D = (np.array(given[key]) for key in "ABCD")
        self.every = round(given["sample_time_s"] / step)
        self.z, self.held, self.count = np.zeros(4), 0.0, 0

    def current(self, x: Array, reference: Array) -> float:
        """Held between its samples."""
        if self.count % self.every == 0:
            v = np.concatenate([x, reference])
            self.held = float((self.C @ self.z + self.D @ v)[0])
            self.z = self.A @ self.z + self.B @ v
        self.count += 1
        return self.held


def controllers() -> dict[str, Any]:
    """Gains, filters and sample times of the rig."""
    text = (files("pliant.rigs") / "quanser_2dsfl" / "controllers.json").read_text(encoding="utf-8")
    found: dict[str, Any] = json.loads(text)
    return found


def closed_loop(robot: Robot, name: str, duration: float = np.inf) -> tuple[Array, Array, Array]:
    """Times, measured and predicted angles and strains (N, 4) of a run under its references alone."""
    given, run = controllers(), measured_run(name)
    step, limits = given["sample_time_s"], list(given["saturation_A"].values())
    per_strain = list(given["deflection_per_strain"].values())
    t = run["t_s"] - run["t_s"][0]
    t = t[t <= duration]
    every = round(float(t[1] - t[0]) / step)
    fine = np.arange((len(t) - 1) * every + 1) * step
    references = np.column_stack([np.interp(fine, t, run[f"ref{k}_rad"][: len(t)]) for k in (1, 2)])
    start = [float(run[angle][0]) for angle in ANGLES]
    model, surface = built(robot), [-gauge.at[0] for gauge in gauges(robot).values()]
    arm = Stepper(
        model, method="rodas5p", sensors=[StrainGauge(link, 0.0) for link in JOINTS], q0=dict(zip(JOINTS, start)),
        rtol=1e-5, atol=1e-8,
    )  # fmt: skip
    bent = [EulerFilter(DEFLECTION, step, 0.0) for _ in JOINTS]
    turned = [EulerFilter(RATE, step, angle) for angle in start]
    K, lqg = [np.array(given["lqr"][key]) for key in ("K1", "K2")], Lqg(given["lqg"], step)
    places, said = [model.index(joint) for joint in JOINTS], []
    for k, reference in enumerate(references):
        angles, strains = arm.q[places], np.asarray(arm.outputs) * surface
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
            arm.step(step, currents)
    measured = np.column_stack([run[c][: len(t)] for c in (*ANGLES, *STRAINS)])
    return t, measured, np.array(said)
