"""Figures 3-5 and 8-18 of [ZZZ], and tables."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from pliant.arrays import Array
from pliant.drawing.style import time_axis, zero_line
from pliant.simulation.runs.results import Result
from pliant_studies.drawing import MANY, legend, letter, shared_legend, skeleton
from pliant_studies.flexible_joints.measures import diverged, tip, twist
from pliant_studies.flexible_joints.runs import BOOMS, HEAVY, INERTIAS, READINGS, STIFFNESSES, Runs
from pliant_studies.study import Figure, Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Page

STYLES = {"high": MANY[0], "first": MANY[1], "zero": MANY[3]}
BEGINNING = {4: (", the first second", 1.0), 5: (", the first quarter second", 0.25)}
"""Joints of the wrist of which only the beginning of a vibration is drawn: words and seconds."""
Quantity = Callable[[Result], Array]
JOINTS = ("upper_boom", "lower_boom", "wrist_pitch", "wrist_yaw", "wrist_roll")


def illustrate(runs: Runs) -> list[Figure]:
    """Figures of the paper."""
    speeds = runs.settings["speeds"]
    caption = "Fig. {} of the paper: tip deflection during and after the spin-up, {}; zero, first and high order."
    found = [
        _spins(runs, "fig03", caption.format(3, "below 3 rad/s"), [s for s in speeds if s < 3]),
        _spins(runs, "fig04", caption.format(4, "3 rad/s"), [3.0]),
        _spins(runs, "fig05", caption.format(5, "above 3 rad/s"), [s for s in speeds if s in (8.0, 10.0)]),
        Figure("fig08", "Fig. 8 of the paper: motion of the arm dropping under gravity, motors free, high-order model, "
               "seen from the side; grey to black as time goes on, circles are joints. At 2 s the elbow snaps "
               "straight.", partial(_drop, runs), 4.4, 3.6),
    ]  # fmt: skip
    boom: tuple[tuple[str, str, Quantity], ...] = (
        ("torsional angle of the first joint", "$\\epsilon_1$ (mrad)", lambda r: 1e3 * twist(r, JOINTS[0])),
        ("axial displacement of the first link's tip", "$u_x$ (mm)", lambda r: 1e3 * r.deflection(BOOMS[0])[:, 0]),
        ("deflection in y of the first link's tip", "$v_y$ (mm)", lambda r: 1e3 * r.deflection(BOOMS[0])[:, 1]),
        ("deflection in z of the first link's tip", "$w_z$ (mm)", lambda r: 1e3 * r.deflection(BOOMS[0])[:, 2]),
        ("torsion of the first link's tip", "$\\theta_x$ (mrad)", lambda r: 1e3 * r.rotation(BOOMS[0])[:, 0]),
    )
    for number, (text, label, quantity) in enumerate(boom, start=9):
        caption = (
            f"Fig. {number} of the paper: {text} for three rotor inertias, motors free, joints of 2.66 MN m/rad (left) "
            "and 2.66 kN m/rad (right)."
        )
        short = 0.1 if number == 9 else 2.0
        caption += f" On the left the first {short:g} s of a vibration that goes on." if number == 9 else ""
        found.append(Figure(f"fig{number:02d}", caption, partial(_rotors, runs, label, quantity, short), 2.6))
    for number, joint in enumerate(JOINTS, start=14):
        caption = (
            f"Fig. {number} of the paper: angle of joint {number - 13} for four joint stiffnesses (MN m/rad) and rigid "
            f"joints, motors free (left) and held (right{BEGINNING.get(number - 13, ('', 0.0))[0]})."
        )
        found.append(Figure(f"fig{number}", caption, partial(_joint, runs, number - 13, joint), 2.6))
    return found


def _spins(runs: Runs, name: str, caption: str, speeds: Sequence[float]) -> Figure:
    def draw(page: Page) -> None:
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


def _drop(runs: Runs, page: Page) -> None:
    run = runs.falls["long"]
    rows = [int(np.argmin(np.abs(run.t - t))) for t in (0, 0.5, 0.75, 1, 1.25, 1.5, 1.75, 2)]
    corners = skeleton(run.model, run.q[rows], run.parameters)
    axes = page.subplots()
    for k, (row, points) in enumerate(zip(rows, corners)):
        gray = str(0.75 - 0.75 * k / (len(rows) - 1))
        axes.plot(points[:, 0], points[:, 1], "-", color=gray, linewidth=1.6)
        axes.plot(points[::2, 0], points[::2, 1], "o", color=gray, markersize=3)
        axes.annotate(f"{run.t[row]:.3g} s", points[-1, :2], xytext=(4, 0), textcoords="offset points",
                      fontsize=7.5, va="center")  # fmt: skip
    axes.plot(run.tip[: rows[-1], 0], run.tip[: rows[-1], 1], color="#0072B2", linestyle=(0, (1, 1.3)), linewidth=0.9)
    axes.set_aspect("equal", adjustable="box")
    axes.margins(x=0.12, y=0.05)
    axes.set(xlabel="X (m)", ylabel="Y (m)")


def _rotors(runs: Runs, label: str, quantity: Quantity, stiff_until: float, page: Page) -> None:
    """Draw stiff joints, up to a time, beside soft ones."""
    row = page.subplots(1, 2)
    for axes, reading, until in zip(row, READINGS, (stiff_until, np.inf)):
        for J, style in zip(INERTIAS, MANY):
            run = runs.falls[f"rotor {J:g}, {reading}"]
            shown = run.t <= until
            axes.plot(run.t[shown], quantity(run)[shown], label=f"rotors {J:g} kg m²", **style)
        axes.set_title(f"joints 2.66 {reading}/rad", fontsize=8.5)
        time_axis(axes)
    row[0].set_ylabel(label)
    shared_legend(page, row[0])


def _joint(runs: Runs, number: int, joint: str, page: Page) -> None:
    """Draw a joint angle with free motors, and with held ones: of the wrist's yaw and roll only the beginning."""
    until = BEGINNING.get(number, ("", np.inf))[1]
    row = page.subplots(1, 2)
    for axes, (title, sweep) in zip(row, (("motors free", runs.falls), ("motors held", runs.braked))):
        run = sweep["rigid joints"]
        shown = run.t <= (until if sweep is runs.braked else np.inf)
        axes.plot(run.t[shown], np.degrees(run[joint])[shown], label="rigid joints", color="0.8", linewidth=3.2)
        for K, style in zip(STIFFNESSES, MANY):
            run = sweep[f"stiffness {K:.2f} MN m"]
            shown = run.t <= (until if sweep is runs.braked else np.inf)
            thin = {**style, "linewidth": min(style["linewidth"], 1.4)}
            axes.plot(run.t[shown], np.degrees(run[joint])[shown], label=f"{K:.2f}", **thin)
        axes.set_title(title, fontsize=8.5)
        time_axis(axes)
    row[0].set_ylabel(f"$q_{{2,{number}}}$ (deg)")
    shared_legend(page, row[0])


def tabulate(runs: Runs) -> list[Table]:
    """Tables of peaks and residual vibrations, and of sweeps."""
    spins = runs.numbers["spins"]
    rows: list[list[object]] = []
    for speed in spins["high"]:
        row: list[object] = [float(speed)]
        for order in ("zero", "first", "high"):
            one = spins[order][speed]
            row += ["diverges", ""] if one["diverged"] else [one["peak (m)"], one["at (s)"]]
        rows.append([*row, spins["high"][speed]["residual (m)"]])
    spin = Table("Largest backward deflection of the tip (m) and its time (s)", ("speed (rad/s)", "zero order", "at",
                 "first order", "at", "high order", "at", "residual amplitude, high (m)"), rows,
                 "Three modes each.")  # fmt: skip
    return [spin, _rotor_table(runs), _stiffness_table(runs)]


def _rotor_table(runs: Runs) -> Table:
    fall = runs.numbers["fall"]
    rows: list[list[object]] = []
    for name, twists in fall["twist"].items():
        inertias = HEAVY if name.endswith("heavy") else INERTIAS
        for k, J in enumerate(inertias):
            last = [values["1.75 s"][k] for values in fall["deformation"][name].values()]
            rows.append([name.split(",")[0] + "/rad", J, *(1e3 * x for x in (twists["1.75 s"][k], *last))])
    return Table("Free fall for 1.75 s: root mean squares by rotor inertia", ("joints 2.66", "rotors (kg m^2)",
                 "epsilon 1 (mrad)", "u_x (mm)", "v_y (mm)", "w_z (mm)", "theta_x (mrad)"), rows)  # fmt: skip


def _stiffness_table(runs: Runs) -> Table:
    braked, fall = runs.numbers["braked"], runs.numbers["fall"]
    rows = [
        [name, drops["3 s"], braked["frequency (Hz)"][name], fall["joints"].get(f"{name} MN m", {}).get("1.75 s", 0.0)]
        for name, drops in braked["drop (m)"].items()
    ]
    return Table("Joint stiffness (MN m/rad): drop of the tip and lowest frequency with the motors held, and distance "
                 "of the tip from the arm with rigid joints, over its way, with the motors free",
                 ("stiffness", "drop (m)", "frequency (Hz)", "distance, motors free"), rows)  # fmt: skip
