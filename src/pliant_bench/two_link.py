"""The two-link elastic arm released from (-90, 5) deg under gravity: one motion, run by pliant and by its peers.

The bundled arm is inextensible and released suddenly, so that every mode rings: 26, 45, 96, 130, 211, 260 Hz and on,
with amplitudes from 1e-4 m down to 1e-6 m. Shapes are chosen for the arm at hand. The upper link carries another:
clamped shapes with a heavy tip, which leave the motion of the tip to the joint, as fixed-interface modes do. The fore
link ends free and hangs on a joint without torque: pinned shapes, which bear no moment at the root.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from pliant.model.robot import Robot, load
from pliant.options import StiffeningName
from pliant.robot.parts.joint import Limits
from pliant.robot.parts.shapes import Shapes, TipLoad
from pliant_bench.peers import PeerRun, PlanarArm

START = (-np.pi / 2, np.deg2rad(5.0))
DURATION, OUTPUT_STEP = 2.0, 0.002
ANGLE, DEFLECTION = 1e-4, 3e-5  # rad and m, allowed over 2 s
HEAVY = 100.0  # kg, ten times the arm: the tip of an upper shape stays nearly still


def planar() -> PlanarArm:
    """The arm as peers read it."""
    return PlanarArm.of(load("two-link"))


def robot(upper: int, fore: int) -> Robot:
    """The bundled arm with so many shapes per link."""
    shapes = {
        "links.upper.shapes": Shapes(boundary="clamped-mass", tip_load=TipLoad(mass=HEAVY), bending_y=upper),
        "links.fore.shapes": Shapes(boundary="pinned", bending_y=fore),
        "links.fore.joint.limits": Limits(effort=0.0),
    }
    return load("two-link").replace(shapes)


def pliant_run(
    upper: int = 5,
    fore: int = 6,
    *,
    method: str = "rk4",
    t_end: float = DURATION,
    stiffening: StiffeningName = "second-order",
    **options: Any,
) -> PeerRun:
    """pliant with stiffening; `options` go to `pliant.simulate`, such as step or rtol."""
    from pliant.simulation.runs.simulation import simulate

    start = time.perf_counter()
    model = robot(upper, fore).model(stiffening=stiffening)
    given = {"method": method, "output_step": OUTPUT_STEP, **options}
    simulate(model, OUTPUT_STEP, START, **given)  # traces and compiles
    ready = time.perf_counter()
    result = simulate(model, t_end, START, **given)
    done = time.perf_counter()
    return PeerRun(
        "pliant", result.t, result.q[:, :2],
        np.column_stack([result.deflection(name)[:, 1] for name in ("upper", "fore")]), done - ready, ready - start,
        {
            "upper": upper, "fore": fore, "stiffening": stiffening, **given, "coordinates": model.n,
            "steps": result.stats.steps,
        },
    )  # fmt: skip


def stable_step(upper: int, fore: int, margin: float = 0.9) -> float:
    """A step of the classical Runge-Kutta method: `margin` of its limit 2.8 / (largest frequency)."""
    model = robot(upper, fore).model(stiffening="second-order")
    largest = 2 * np.pi * model.frequencies({"upper": START[0]}, joints="free")[-1]
    return float(DURATION / np.ceil(DURATION * largest / (2.8 * margin)))


def reference(upper: int = 10, fore: int = 9) -> PeerRun:
    """The converged motion: 21 coordinates, every product of the shortening, Dormand-Prince 8(5,3) at 1e-8."""
    return pliant_run(upper, fore, method="dop853", stiffening="third-order", rtol=1e-8, atol=1e-11)


def exudyn_run(elements: int = 8, step: float = 1.25e-4, t_end: float = DURATION, **cut: Any) -> PeerRun:
    """Exudyn's cable elements; EA is so large that stretching moves nothing by 1e-5 m (`cut` may say otherwise)."""
    from pliant_bench.exudyn_beams import Discretization, simulate

    fast = {"tolerance": 1e-4, "linear_solver": "EigenSparse", "reduced_integration": 1}
    given = {"axial_stiffness": 2e9, **fast, **cut}
    return simulate(planar(), t_end, START, output_step=OUTPUT_STEP, cut=Discretization(elements, step, **given))


def mujoco_run(elements: int = 8, step: float = 2e-3 / 6, t_end: float = DURATION) -> PeerRun:
    """MuJoCo's chain of rigid segments, so many springs per link."""
    from pliant_bench import lumped_chain

    return lumped_chain.mujoco_run(planar(), t_end, START, elements, step, OUTPUT_STEP)


def pinocchio_run(elements: int = 8, step: float = 2e-3 / 6, t_end: float = DURATION) -> PeerRun:
    """The same chain by Pinocchio's articulated-body algorithm."""
    from pliant_bench import lumped_chain

    return lumped_chain.pinocchio_run(planar(), t_end, START, elements, step, OUTPUT_STEP)
