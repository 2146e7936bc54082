"""The two-link flexible arm: work against precision, and the time per simulated second at equal accuracy.

Every engine runs the same arm through the same motion (`pliant_bench.two_link`) by settings from coarse to fine. Times
are those of the time stepping alone; building and compiling stand in a note. The error of a run is the larger of its
angle error over 1e-4 rad and its deflection error over 3e-5 m: at most 1 is allowed.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from pliant_bench import equal_frequencies, lumped_chain, two_link
from pliant_bench.equal_accuracy import OURS, PAIRS, CommonMotion, Setting
from pliant_bench.figure import undercut
from pliant_bench.findings import Point, Report
from pliant_bench.peers import PeerRun
from pliant_bench.timing import Effort

PART = "flexible"
EXUDYN, MUJOCO, PINOCCHIO = "Exudyn", "MuJoCo lumped chain", "Pinocchio lumped chain"
ASKED = {EXUDYN: 20.0}
ROUNDS = 3
SHAPES = ((1, 1), (3, 2), (3, 3), (4, 4), (5, 5), (5, 6), (6, 5), (6, 6), (7, 6), (8, 7))
ELEMENTS = ((2, 2e-3), (3, 1e-3), (4, 5e-4), (6, 2.5e-4), (8, 1.25e-4), (12, 6.25e-5), (16, 5e-5))
SEGMENTS = (1, 2, 3, 4, 6, 8, 12, 16)
SLOW_SEGMENTS = (2, 3, 4, 6, 8)  # under a loop in Python
QUICK_END = 0.02
MARGIN = 0.95  # of the largest stable step of RK4, for every engine that steps by it
REFERENCE = "larger of angles over 1e-4 rad and deflections over 3e-5 m, against 21 coordinates, full stiffening"


def measure(report: Report, effort: Effort) -> None:
    """Fill in the curve, the comparisons at equal accuracy and the verdicts."""
    t_end = QUICK_END if effort.quick else two_link.DURATION
    settings = _ours(SHAPES[:1] if effort.quick else SHAPES, t_end)
    for name, module, theirs in (
        (EXUDYN, "exudyn", _exudyn),
        (MUJOCO, "mujoco", partial(_lumped, MUJOCO, lumped_chain.mujoco_run, SEGMENTS)),
        (PINOCCHIO, "pinocchio", partial(_lumped, PINOCCHIO, lumped_chain.pinocchio_run, SLOW_SEGMENTS)),
    ):
        if not report.lacks(name, module):
            settings += theirs(t_end)
    if effort.quick:
        settings = [next(s for s in settings if s.engine == name) for name in dict.fromkeys(s.engine for s in settings)]
    report.tell(f"{PART}: reference ...")
    fine = (3, 3) if effort.quick else (10, 9)
    exact = two_link.pliant_run(*fine, method="dop853", t_end=t_end, stiffening="third-order", rtol=1e-8, atol=1e-11)
    motion = CommonMotion(PART, "two-link", "released from rest", t_end, exact, REFERENCE, _error)
    points = motion.curve(report, settings, 1 if effort.quick else ROUNDS)
    report.points += points.values()
    for rival in dict.fromkeys(setting.engine for setting in points if setting.engine != OURS):
        asked = None if effort.quick else ASKED.get(rival)
        motion.compare(report, points, rival, 1 if effort.quick else PAIRS, asked)
    if not effort.quick:
        _judge(report, list(points.values()))
    equal_frequencies.measure(report, effort)


def _ours(shapes: tuple[tuple[int, int], ...], t_end: float) -> list[Setting]:
    """Shapes per link, the classical Runge-Kutta method near its largest stable step."""
    return [
        Setting(
            OURS, f"{u} + {f} shapes, RK4 at {h * 1e3:.3g} ms", partial(two_link.pliant_run, u, f, step=h, t_end=t_end)
        )
        for u, f in shapes
        for h in [two_link.stable_step(u, f, MARGIN)]
    ]  # fmt: skip


def _exudyn(t_end: float) -> list[Setting]:
    """Cable elements per link, trapezoidal rule."""
    return [
        Setting(EXUDYN, f"2 x {n} elements, {h * 1e3:.3g} ms", partial(two_link.exudyn_run, n, h, t_end))
        for n, h in ELEMENTS
    ]


def _lumped(engine: str, run: Callable[..., PeerRun], counts: tuple[int, ...], t_end: float) -> list[Setting]:
    """Springs per link, RK4 near its largest stable step that divides the output step."""
    found, arm = [], two_link.planar()
    for n in counts:
        chain = lumped_chain.segments(arm, n)
        largest = 2 * np.pi * chain.frequencies(np.zeros(chain.n))[-1]
        h = two_link.OUTPUT_STEP / np.ceil(two_link.OUTPUT_STEP * largest / (2.8 * MARGIN))
        label = f"2 x {n} springs, RK4 at {h * 1e3:.3g} ms"
        found.append(Setting(engine, label, partial(run, arm, t_end, two_link.START, n, h, two_link.OUTPUT_STEP)))
    return found


def _error(angle: float, deflection: float) -> float:
    return max(angle / two_link.ANGLE, deflection / two_link.DEFLECTION)


def _judge(report: Report, points: list[Point]) -> None:
    """Note whether our curve lies below that of each rival, and how accurate the reference itself is."""
    rivals = dict.fromkeys(p.engine for p in points if p.engine != OURS)
    for rival in rivals:
        above = undercut(points, OURS, rival)
        where = "; not beaten: " + ", ".join(f"{p.settings} (error {p.error:.2g})" for p in above) if above else ""
        report.verdicts.append((f"work-precision curve below {rival} wherever it is drawn{where}", not above))
    if rivals:
        nearest = min((p for p in points if p.engine != OURS), key=lambda p: p.error)
        report.note(
            f"The reference is pliant's own converged run; {nearest.engine} ({nearest.settings}) comes to within "
            f"{nearest.error:.2g} of the allowed error. Errors below this are not confirmed by another engine"
        )
