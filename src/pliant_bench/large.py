"""Beams that bend by a third of their length: pieces against geometrically exact beams of Exudyn, at equal accuracy.

Two motions: the spin-up beam brought to 10 rad/s, whose tip lags by 1.08 m of 8 m (the peak is known: `PEAK`), and a
two-link arm of soft beams that falls from straight, so that all their modes ring; both links bend by 0.3 of their
length. Errors are those of tips in the frame at their link's root over its length, and of joint angles, rad; allowed
are 1e-3 of the first motion and 5e-3 of the second.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from pliant.model.robot import Robot, load
from pliant.robot.parts.shapes import Shapes
from pliant_bench import spin_up
from pliant_bench.equal_accuracy import OURS, PAIRS, CommonMotion, Setting
from pliant_bench.exudyn_beams import Discretization
from pliant_bench.exudyn_beams import simulate as exudyn_simulate
from pliant_bench.findings import Report
from pliant_bench.peers import PeerRun, PlanarArm
from pliant_bench.timing import Effort

PART = "large"
EXUDYN = "Exudyn"
ASKED = 10.0
ROUNDS = 3
SPEED, RISE = 10.0, 15.0  # rad/s, s
PEAK = 1.0830201  # m, lag of the spin-up beam without stretch, shear and rotary inertia
START = (0.0, 0.3)  # rad, of the two-link arm
FALL, OUTPUT_STEP = 1.0, 0.004
SOFT = {"upper": 3.2, "fore": 5.5}  # N m^2
STIFF = 2e6  # N, EA of the soft arm in Exudyn: its weight stretches it by 5e-5
QUICK_END = 0.05
COUNTS = (2, 3, 4, 6, 8)
TOLERANCES = (3e-3, 1e-3, 1e-4, 1e-5)
FINE = 16
SPIN_CUTS = (
    ("ancf", 4, 0.02, 1e-3), ("ancf", 4, 0.01, 1e-5), ("ancf", 8, 0.01, 1e-5), ("ancf", 16, 5e-3, 1e-5),
    ("exact", 8, 8e-3, 1e-3), ("exact", 16, 4e-3, 1e-3), ("exact", 32, 2e-3, 1e-3),
)  # fmt: skip
"""Kind of element, number, step and tolerance of Newton's method; coarser steps do not converge."""
FALL_CUTS = tuple(
    (kind, n, h, 1e-4)
    for kind, pairs in {
        "ancf": ((2, 2e-3), (3, 2e-3), (4, 2e-3), (4, 1e-3), (6, 1e-3), (8, 1e-3), (8, 5e-4), (12, 2.5e-4)),
        "exact": ((8, 1e-3), (16, 1e-3), (16, 5e-4), (32, 5e-4)),
    }.items()
    for n, h in pairs
)


def measure(report: Report, effort: Effort) -> None:
    """Fill in the comparisons at equal accuracy, and what the references are worth."""
    there = not report.lacks(EXUDYN, "exudyn")
    for motion, ours, theirs in (_spinning(effort.quick), _falling(effort.quick)):
        report.tell(f"{PART}: {motion.arm}, reference ...")
        settings = [*ours, *(theirs if there else [])]
        if effort.quick:
            settings = [
                next(s for s in settings if s.engine == name) for name in dict.fromkeys(s.engine for s in settings)
            ]
        points = motion.curve(report, settings, 1 if effort.quick else ROUNDS)
        rivals = {setting.engine for setting in points} - {OURS}
        for rival in rivals:
            motion.compare(report, points, rival, 1 if effort.quick else PAIRS, None if effort.quick else ASKED)
        if effort.quick:
            continue
        if motion.arm == "spin-up":
            peak = float(-motion.exact.deflections.min())
            report.verdicts.append((f"peak lag of the reference {peak:.5f} m, within 0.005 % of {PEAK:g} m",
                                    abs(peak / PEAK - 1) < 5e-5))  # fmt: skip
        elif rivals:
            nearest = min((p for s, p in points.items() if s.engine != OURS), key=lambda p: p.error)
            report.note(
                f"{PART}: the reference of the falling arm is pliant's own, in {FINE} pieces per link; Exudyn "
                f"({nearest.settings}) comes to within {nearest.error:.2g} of the allowed error"
            )


def _cubics(robot: Robot, count: int, **stiff: float) -> Robot:
    """The robot with its beams in pieces, a cubic in each."""
    shapes = Shapes(method="elements", count=1, bending_y=True)
    changes: dict[str, Any] = {}
    for link in robot.links:
        changes |= {f"links.{link.name}.shapes": shapes, f"links.{link.name}.beam.pieces": count}
    changes |= {f"links.{name}.beam.EI_z": value for name, value in stiff.items()}
    return robot.replace(changes)


def pliant_run(robot: Robot, t_end: float, output_step: float, tolerance: float, **given: Any) -> PeerRun:
    """pliant by `rodas5p`; `given` goes to `pliant.simulate`. Its time is that of the stepping loop, as Exudyn's is."""
    from pliant.simulation.runs.simulation import simulate

    start = time.perf_counter()
    model = robot.model(stiffening="second-order")
    options = {"method": "rodas5p", "output_step": output_step, "rtol": tolerance, "atol": tolerance / 100, **given}
    simulate(model, output_step, **options)  # traces and compiles
    ready = time.perf_counter()
    result = simulate(model, t_end, **options)
    links = [link.name for link in robot.links]
    return PeerRun(
        "pliant", result.t, np.column_stack([result[name] for name in links]),
        np.column_stack([result.deflection(name)[:, 1] for name in links]), result.stats.wall, ready - start,
        {"coordinates": model.n, "steps": result.stats.steps},
    )  # fmt: skip


def _settings(run: Callable[..., PeerRun], robots: dict[int, Robot], tolerances: Sequence[float]) -> list[Setting]:
    return [
        Setting(OURS, f"{count} pieces per link, rodas5p at {tolerance:g}", partial(run, robot, tolerance=tolerance))
        for count, robot in robots.items()
        for tolerance in tolerances
    ]


def _exudyn(robot: Robot, cuts: Sequence[tuple[str, int, float, float]], t_end: float, **given: Any) -> list[Setting]:
    arm, found = PlanarArm.of(robot), []
    for kind, n, h, tolerance in cuts:
        more: dict[str, Any] = {"spectral_radius": 0.6}
        if len(arm.links) > 1:
            more = {"linear_solver": "EigenSparse", "axial_stiffness": STIFF}
        solver = "trapezoidal" if len(arm.links) > 1 else "generalized-alpha"
        cut = Discretization(n, h, kind=kind, solver=solver, tolerance=tolerance, **more)  # type: ignore[arg-type]
        label = f"{n} {'cable' if kind == 'ancf' else 'linear'} elements per link, {h * 1e3:.3g} ms"
        found.append(Setting(EXUDYN, label, partial(exudyn_simulate, arm, t_end, cut=cut, **given)))
    return found


def _error(length: float, allowed: float) -> Callable[[float, float], float]:
    return lambda angle, deflection: max(angle, deflection / length) / allowed


def _spinning(quick: bool) -> tuple[CommonMotion, list[Setting], list[Setting]]:
    """The spin-up beam."""
    t_end, robot = (QUICK_END if quick else RISE + 1.0), load("spin-up")
    turned = spin_up.angle(SPEED, RISE)  # one object: models keep what they composed with it
    run = partial(pliant_run, t_end=t_end, output_step=spin_up.OUTPUT_STEP, motion={"arm": turned})
    robots = {count: _cubics(robot, count) for count in (2 if quick else FINE, *COUNTS)}
    exact = run(robots[2 if quick else FINE], tolerance=1e-7)
    length = robot.links[0].beam.length  # type: ignore[union-attr]
    motion = CommonMotion(
        PART, "spin-up", f"brought to {SPEED:g} rad/s", t_end, exact,
        f"tip over a thousandth of the length, against {FINE} pieces at 1e-7", _error(length, 1e-3),
    )  # fmt: skip
    given = {"angles": [0.0], "motion": spin_up.motion(SPEED, RISE), "output_step": spin_up.OUTPUT_STEP}
    ours = _settings(run, {count: robots[count] for count in COUNTS}, TOLERANCES)
    return motion, ours, _exudyn(robot, SPIN_CUTS, t_end, **given)


def _falling(quick: bool) -> tuple[CommonMotion, list[Setting], list[Setting]]:
    """The soft two-link arm."""
    t_end, robot = (QUICK_END if quick else FALL), load("two-link")
    run = partial(pliant_run, t_end=t_end, output_step=OUTPUT_STEP, q0=START)
    robots = {count: _cubics(robot, count, **SOFT) for count in (2 if quick else FINE, *COUNTS)}
    exact = run(robots[2 if quick else FINE], tolerance=1e-7)
    motion = CommonMotion(
        PART, "soft-two-link", "released from rest", t_end, exact,
        f"tips over 5 mm and angles over 5e-3 rad, against {FINE} pieces at 1e-7", _error(1.0, 5e-3),
    )  # fmt: skip
    ours = _settings(run, {count: robots[count] for count in COUNTS}, TOLERANCES)
    soft = robot.replace({f"links.{name}.beam.EI_z": value for name, value in SOFT.items()})
    return motion, ours, _exudyn(soft, FALL_CUTS, t_end, angles=START, output_step=OUTPUT_STEP)
