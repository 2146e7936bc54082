"""Figures 3-5 and 8-18 of [ZZZ], and tables."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pliant.results import Result
from pliant.studies.drawing import MANY, finish, legend, letter, skeleton
from pliant.studies.flexible_joints.checks import diverged, residual, tip, twist
from pliant.studies.flexible_joints.runs import BOOMS, INERTIAS, STIFFNESSES, Runs
from pliant.studies.study import Figure, Table
from pliant.view.style import time_axis, zero_line

STYLES = {"high": MANY[0], "first": MANY[1], "zero": MANY[3]}
JOINTS = ("upper_boom", "lower_boom", "wrist_pitch", "wrist_yaw", "wrist_roll")


def illustrate(runs: Runs) -> list[Figure]:
    """One for each figure of the paper."""
    speeds = runs.settings["speeds"]
    caption = "Fig. {} of the paper: tip deflection during and after the spin-up, {}; zero, first and high order."
    found = [
        _spins(runs, "fig03", caption.format(3, "below 3 rad/s"), [s for s in speeds if s < 3]),
        _spins(runs, "fig04", caption.format(4, "3 rad/s"), [3.0]),
        _spins(runs, "fig05", caption.format(5, "above 3 rad/s"), [s for s in speeds if s in (8.0, 10.0)]),
        Figure("fig08", "Fig. 8 of the paper: motion of the arm dropping under gravity, high-order model, seen from "
               "the side; grey to black as time goes on, circles are joints.", _drop(runs), 3.6),
    ]  # fmt: skip
    sweep = "Fig. {} of the paper: {} for three rotor inertias."
    rotor = [(f"rotor {J:g}", f"rotors {J:g} kg m²") for J in INERTIAS]
    boom: tuple[tuple[str, str, Callable[[Result], Any]], ...] = (
        ("torsional angle of the first joint", "$\\epsilon_1$ (mrad)", lambda r: 1e3 * twist(r, JOINTS[0])),
        ("axial displacement of the first link's tip", "$u_x$ (mm)", lambda r: 1e3 * r.deflection(BOOMS[0])[:, 0]),
        ("deflection in y of the first link's tip", "$v_y$ (mm)", lambda r: 1e3 * r.deflection(BOOMS[0])[:, 1]),
        ("deflection in z of the first link's tip", "$w_z$ (mm)", lambda r: 1e3 * r.deflection(BOOMS[0])[:, 2]),
        ("torsion of the first link's tip", "$\\theta_x$ (mrad)", lambda r: 1e3 * r.rotation(BOOMS[0])[:, 0]),
    )
    for number, (text, label, quantity) in enumerate(boom, start=9):
        found.append(Figure(f"fig{number:02d}", sweep.format(number, text), _sweep(runs, rotor, label, quantity), 2.5))
    spring = [(f"stiffness {K:.3g}", f"{K / 1e6:.2f} MN m/rad") for K in STIFFNESSES]
    for number, joint in enumerate(JOINTS, start=14):
        caption = f"Fig. {number} of the paper: angle of joint {number - 13} for four joint stiffnesses."
        label = f"$q_{{2,{number - 13}}}$ (deg)"
        found.append(Figure(f"fig{number}", caption, _sweep(runs, spring, label, _angle(joint)), 2.5))
    return found


def _angle(joint: str) -> Callable[[Result], Any]:
    return lambda run: np.degrees(run[joint])


def _spins(runs: Runs, name: str, caption: str, speeds: Sequence[float]) -> Figure:
    def draw(page: Any) -> None:
        rows = page.subplots(len(speeds), 1, sharex=True, squeeze=False)[:, 0]
        for axes, speed in zip(rows, speeds):
            low = float(tip(runs.spins["high", speed]).min())
            for order, style in STYLES.items():
                run = runs.spins[order, speed]
                values = tip(run)
                shown = np.abs(values) < 4 * abs(low)
                last = len(shown) if shown.all() else int(np.argmin(shown))
                text = f"{order} order" + (" (diverges)" if diverged(run) and len(speeds) == 1 else "")
                axes.plot(run.t[:last], values[:last], label=text, **style)
            axes.set_ylim(1.25 * low, -0.5 * low)
            zero_line(axes)
            axes.set_ylabel("$u_y$ (m)")
            letter(axes, f"$\\omega_0$ = {speed:g} rad/s")
        legend(rows[0], 3)
        time_axis(rows[-1])

    return Figure(name, caption, draw, 0.7 + 1.9 * len(speeds))


def _drop(runs: Runs) -> Callable[[Any], None]:
    def draw(page: Any) -> None:
        run = runs.falls["rotor 10"]
        rows = np.linspace(0, len(run) - 1, 9).astype(int)
        corners = skeleton(run.model, run.q[rows], run.parameters)
        axes = page.subplots()
        for k, (row, points) in enumerate(zip(rows, corners)):
            grey = str(0.75 - 0.75 * k / (len(rows) - 1))
            axes.plot(points[:, 0], points[:, 1], "-", color=grey, linewidth=1.6)
            axes.plot(points[::2, 0], points[::2, 1], "o", color=grey, markersize=3)
            axes.annotate(f"{run.t[row]:.2g} s", points[-1, :2], xytext=(4, 0), textcoords="offset points",
                          fontsize=7.5, va="center")  # fmt: skip
        axes.plot(run.tip[:, 0], run.tip[:, 1], color="#0072B2", linestyle=(0, (1, 1.3)), linewidth=0.9)
        axes.set_aspect("equal", adjustable="datalim")
        axes.margins(x=0.08, y=0.05)
        axes.set_xlabel("X (m)")
        axes.set_ylabel("Y (m)")

    return draw


def _sweep(
    runs: Runs, lines: Sequence[tuple[str, str]], label: str, quantity: Callable[[Result], Any]
) -> Callable[[Any], None]:
    def draw(page: Any) -> None:
        axes = page.subplots()
        for (name, text), style in zip(lines, MANY):
            run = runs.falls[name]
            axes.plot(run.t, quantity(run), label=text, **style)
        axes.set_ylabel(label)
        finish(axes, len(lines))

    return draw


def tabulate(runs: Runs) -> list[Table]:
    """Peaks and residual vibrations, sweeps."""
    rows: list[list[Any]] = []
    for speed in runs.settings["speeds"]:
        row: list[Any] = [speed]
        for order in ("zero", "first", "high"):
            run = runs.spins[order, speed]
            row += ["diverges", ""] if diverged(run) else [float(tip(run).min()), float(run.t[tip(run).argmin()])]
        rows.append([*row, residual(runs.spins["high", speed])])
    spin = Table("Largest backward deflection of the tip (m) and its time (s)", ("speed (rad/s)", "zero order", "at",
                 "first order", "at", "high order", "at", "residual amplitude, high (m)"), rows)  # fmt: skip
    falls = [
        [name, *np.degrees(run.q[-1, :5]).tolist(), float(1e3 * np.abs(twist(run, JOINTS[0])).max())]
        for name, run in runs.falls.items()
    ]
    fall = Table("Free fall of Canadarm2: joint angles at the end (deg), largest twist of joint 1 (mrad)",
                 ("run", *(f"q2,{k + 1}" for k in range(5)), "epsilon 1"), falls)  # fmt: skip
    return [spin, fall]
