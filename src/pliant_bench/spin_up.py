"""The spin-up beam of [ZZZ], brought to speed in T seconds: by pliant, and by geometrically exact beams of Exudyn."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from pliant.model.robot import load
from pliant.options import StiffeningName
from pliant_bench.peers import PeerRun, PlanarArm

OUTPUT_STEP = 0.02


def angle(speed: float, T: float) -> Callable[[Any], Any]:
    """Angle of the rate w(t) = (w0/T)(t - T/2pi sin 2pi t/T), then w0; in CasADi operations."""
    import casadi as ca

    def at(t: Any) -> Any:
        rising = speed / T * (t**2 / 2 + (T / (2 * np.pi)) ** 2 * (ca.cos(2 * np.pi * t / T) - 1))
        return ca.if_else(t < T, rising, speed * (t - T / 2))

    return at


def motion(speed: float, T: float) -> Callable[[float], tuple[float, float]]:
    """The same as numbers: angle and rate."""
    position = angle(speed, T)

    def at(t: float) -> tuple[float, float]:
        rate = speed / T * (t - T / (2 * np.pi) * np.sin(2 * np.pi * t / T)) if t < T else speed
        return float(position(t)), float(rate)

    return at


def pliant_run(speed: float, T: float, stiffening: StiffeningName = "third-order", shapes: int = 3) -> PeerRun:
    """pliant over T + 1 seconds."""
    from pliant.simulation.runs.simulation import simulate

    start = time.perf_counter()
    robot = load("spin-up").replace({"links.arm.shapes.bending_y": shapes})
    model = robot.model(stiffening=stiffening)
    ready = time.perf_counter()
    result = simulate(model, T + 1.0, motion={"arm": angle(speed, T)}, method="dop853", output_step=OUTPUT_STEP)
    done = time.perf_counter()
    settings = {"shapes": shapes, "stiffening": stiffening}
    return PeerRun(
        "pliant", result.t, result.q[:, :1], result.deflection("arm")[:, 1:2], done - ready, ready - start, settings
    )


def exudyn_run(speed: float, T: float, kind: Literal["ancf", "exact"] = "ancf", elements: int = 8) -> PeerRun:
    """Exudyn over T + 1 seconds: cubic cable elements, or linear ones with shear, in smaller steps."""
    from pliant_bench.exudyn_beams import Discretization, simulate

    if kind == "ancf":
        cut = Discretization(elements, 0.08 / elements, solver="generalized-alpha", tolerance=1e-5)
    else:
        cut = Discretization(
            elements, 0.064 / elements, kind="exact", solver="generalized-alpha", spectral_radius=0.6, tolerance=1e-3
        )
    arm = PlanarArm.of(load("spin-up"))
    return simulate(arm, T + 1.0, [0.0], motion=motion(speed, T), output_step=OUTPUT_STEP, cut=cut)
