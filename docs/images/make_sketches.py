"""Draws the sketches of docs/learn: frames of a link that bends, a pendulum and two links, the walks of the recursion.

python docs/images/make_sketches.py [FOLDER]
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from pliant.drawing.style import COLORS, STYLE
from pliant.mechanics.shapes import bending_modes

BLUE, RED, GREEN = COLORS[:3]
GREY, DARK, LIGHT = "0.55", "0.25", "0.82"
LOOK = {**STYLE, "mathtext.fontset": "cm", "font.size": 11}
Point = np.ndarray


def turned(angle: float, *point: float) -> Point:
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[c, -s], [s, c]]) @ np.array(point)


def arrow(ax: Axes, start: Point, end: Point, color: str, width: float = 1.4, both: bool = False) -> None:
    style = "<|-|>" if both else "-|>"
    ax.annotate(
        "",
        xy=tuple(end),
        xytext=tuple(start),
        arrowprops={"arrowstyle": style, "color": color, "lw": width, "shrinkA": 0, "shrinkB": 0, "mutation_scale": 11},
    )


def label(ax: Axes, place: Point, text: str, color: str = DARK, **more: object) -> None:
    ax.text(*place, text, color=color, **{"ha": "center", "va": "center", **more})  # type: ignore[arg-type]


def frame(ax: Axes, origin: Point, angle: float, size: float, color: str, names: tuple[str, str]) -> None:
    for k, (axis, name) in enumerate(zip(np.eye(2), names)):
        arrow(ax, origin, origin + size * turned(angle, *axis), color)
        label(ax, origin + (size + 0.055) * turned(angle + (0.03 if k else -0.03), *axis), name, color)


def arc(ax: Axes, center: Point, radius: float, start: float, end: float, color: str) -> None:
    """An arrow along a circle from one angle to another."""
    angles = np.linspace(start, end, 40)
    path = center + radius * np.column_stack([np.cos(angles), np.sin(angles)])
    ax.plot(*path[:-4].T, color=color, lw=1.2)
    arrow(ax, path[-6], path[-1], color, 1.2)


def band(ax: Axes, path: Point, width: float, color: str, edge: str, **more: object) -> None:
    """A link as a strip of even width along a path."""
    slope = np.gradient(path, axis=0)
    across = np.column_stack([-slope[:, 1], slope[:, 0]]) / np.linalg.norm(slope, axis=1)[:, None]
    outline = np.vstack([path + width * across, (path - width * across)[::-1]])
    ax.fill(*outline.T, facecolor=color, edgecolor=edge, **{"lw": 1.0, "zorder": 1, **more})  # type: ignore[arg-type]


def joint(ax: Axes, place: Point, size: float = 0.035) -> None:
    """A circle with a dot: the axis points at the reader."""
    ax.add_patch(plt.Circle(tuple(place), size, facecolor="white", edgecolor=DARK, lw=1.3, zorder=5))
    ax.add_patch(plt.Circle(tuple(place), size / 4, color=DARK, zorder=6))


def canvas(width: float, height: float, x: tuple[float, float], y: tuple[float, float]) -> tuple[Figure, Axes]:
    figure = plt.figure(figsize=(width, height))
    ax = figure.add_axes((0, 0, 1, 1))
    ax.set(xlim=x, ylim=y, aspect="equal")
    ax.axis("off")
    return figure, ax


def frames() -> Figure:
    """One flexible link with its frames; the bent axis is the first mode of a clamped beam."""
    figure, ax = canvas(8.4, 4.7, (-0.72, 2.36), (-0.47, 1.25))
    before, q, length, amplitude = np.radians(-8), np.radians(25), 1.5, 0.18
    root, angle = np.zeros(2), before + q
    shape = bending_modes(1)
    eta = np.linspace(0, 1, 200)
    v, slope = amplitude * shape.evaluate(eta)[:, 0], amplitude * shape.evaluate(eta, 1)[:, 0] / length
    bent = np.array([turned(angle, x, y) for x, y in zip(length * eta, v)])
    straight = np.array([turned(angle, x, 0) for x in length * eta])
    tip, tip_angle = bent[-1], angle + np.arctan(slope[-1])

    band(ax, np.array([turned(before, x, 0) for x in np.linspace(-0.62, 0, 20)]), 0.035, LIGHT, GREY)
    label(ax, turned(before, -0.42, -0.11), "link $i-1$", GREY)
    band(ax, straight, 0.03, "none", GREY, linestyle=(0, (4, 3)))
    ax.plot(*straight.T, color=GREY, lw=0.6, ls=(0, (8, 3, 1.5, 3)))
    band(ax, bent, 0.03, "#cfe3f1", BLUE, zorder=2)
    ax.plot(*bent.T, color=BLUE, lw=0.8, zorder=3)
    beyond = np.array([tip + turned(tip_angle + np.radians(-38), x, 0) for x in np.linspace(0, 0.42, 20)])
    band(ax, beyond, 0.028, LIGHT, GREY)
    label(ax, beyond[-1] + np.array([-0.05, -0.10]), "link $i+1$", GREY)

    clamp = np.array([turned(angle, *p) for p in ((0.0, -0.075), (0.0, 0.075), (0.06, 0.075), (0.06, -0.075))])
    ax.fill(*clamp.T, facecolor=GREY, edgecolor=DARK, hatch="////", lw=0.8, zorder=4)
    ax.annotate(
        "clamp: $v = v' = 0$",
        xy=tuple(turned(angle, 0.045, -0.075)),
        xytext=(0.02, -0.44),
        color=DARK,
        arrowprops={"arrowstyle": "-", "color": GREY, "lw": 0.8},
    )
    joint(ax, root)
    joint(ax, tip)
    ax.annotate(
        "joint axis $z$\n(towards you)",
        xy=(-0.02, -0.035),
        xytext=(-0.36, -0.35),
        color=DARK,
        ha="center",
        arrowprops={"arrowstyle": "-", "color": GREY, "lw": 0.8},
    )

    frame(ax, root, before, 0.36, DARK, ("$x_{i-1}^{tip}$", "$y_{i-1}^{tip}$"))
    frame(ax, root, angle, 0.62, BLUE, ("", "$y_i$"))
    label(ax, turned(angle, 0.64, -0.085), "$x_i$", BLUE)
    arc(ax, root, 0.27, before, angle, RED)
    label(ax, turned((before + angle) / 2, 0.33, 0), "$q_i$", RED)

    k = 118
    section = np.array([bent[k] + turned(angle + np.arctan(slope[k]), 0, y) for y in (-0.075, 0.075)])
    ax.plot(*section.T, color=RED, lw=1.6, zorder=4)
    arrow(ax, straight[k], bent[k], RED)
    label(ax, straight[k] + turned(angle, 0.06, 0.095), "$v(x,t)$", RED, ha="left")
    normal = np.array([bent[k], bent[k] + turned(angle, 0, 0.30)])
    ax.plot(*normal.T, color=GREY, lw=0.8, ls=":")
    leaning = np.array([bent[k], bent[k] + turned(angle + np.arctan(slope[k]), 0, 0.30)])
    ax.plot(*leaning.T, color=GREY, lw=0.8, ls=":")
    arc(ax, bent[k], 0.27, angle + np.pi / 2, angle + np.pi / 2 + np.arctan(slope[k]) + 0.05, RED)
    label(ax, bent[k] + turned(angle + 0.10, 0, 0.36), "$v'(x,t)$", RED)

    for end, depth, name in ((length * eta[k], -0.27, "$x$"), (length, -0.38, "$L$")):
        low, high = turned(angle, 0.0, depth), turned(angle, end, depth)
        for x in (0.0, end):
            ax.plot(*np.array([turned(angle, x, -0.05), turned(angle, x, depth - 0.02)]).T, color=GREY, lw=0.6)
        arrow(ax, low, high, DARK, 0.9, both=True)
        label(ax, turned(angle, 0.72 * end, depth - 0.05), name)

    frame(ax, tip, tip_angle, 0.40, GREEN, ("$x_i^{tip}$", "$y_i^{tip}$"))
    level = np.array([tip, tip + turned(angle, 0.66, 0)])
    ax.plot(*level.T, color=GREY, lw=0.8, ls=":")
    arc(ax, tip, 0.56, angle, tip_angle, GREEN)
    label(ax, tip + turned((angle + tip_angle) / 2, 0.60, 0), "$v'(L,t)$", GREEN, ha="left")
    label(ax, tip + np.array([-0.17, 0.14]), "tip frame", GREEN, ha="right")
    label(ax, turned(angle, -0.02, 0.66) + np.array([-0.24, -0.10]), "link frame", BLUE)
    label(ax, straight[78] + turned(angle, 0.0, 0.235), "deformed", BLUE, rotation=np.degrees(angle) + 9)
    label(ax, straight[172] + turned(angle, 0.0, -0.085), "undeformed", GREY, rotation=np.degrees(angle))
    return figure


def pendulum() -> Figure:
    """The rods of the first two pages."""
    figure, ax = canvas(8.4, 2.7, (-0.40, 2.75), (-0.22, 0.79))
    for start, rods in ((0.0, [(0.95, 0.45, "$L,\\ m$")]), (1.45, [(0.75, 0.22, "$L_1$"), (0.55, 0.62, "$L_2$")])):
        place, angle = np.array([start, 0.0]), 0.0
        for number, (length, turn, name) in enumerate(rods, start=1):
            axis = np.array([place, place + turned(angle, length * 0.72, 0)])
            ax.plot(*axis.T, color=GREY, lw=0.8, ls=":")
            index = f"_{number}" if len(rods) > 1 else ""
            arc(ax, place, 0.34, angle, angle + turn, RED)
            label(ax, place + turned(angle + turn / 2, 0.42, 0), f"$q{index}$", RED)
            angle += turn
            end = place + turned(angle, length, 0)
            band(ax, np.linspace(place, end, 20), 0.028, "#cfe3f1", BLUE)
            middle = (place + end) / 2
            ax.add_patch(plt.Circle(tuple(middle), 0.017, color=DARK, zorder=4))
            label(ax, middle + turned(angle, 0.0, 0.10), name, BLUE)
            joint(ax, place)
            place = end
        ax.plot([start - 0.09, start + 0.09], [-0.075, -0.075], color=DARK, lw=1.3)
        for x in np.linspace(-0.09, 0.07, 5):
            ax.plot([start + x, start + x - 0.03], [-0.075, -0.12], color=DARK, lw=0.8)
        ax.plot([start - 0.045, start, start + 0.045], [-0.075, -0.02, -0.075], color=DARK, lw=1.1)
    arrow(ax, np.array([1.16, 0.62]), np.array([1.16, 0.30]), DARK)
    label(ax, np.array([1.22, 0.46]), "$g$")
    arrow(ax, np.array([-0.3, 0.3]), np.array([-0.05, 0.3]), GREY, 1.0)
    arrow(ax, np.array([-0.3, 0.3]), np.array([-0.3, 0.55]), GREY, 1.0)
    label(ax, np.array([0.0, 0.3]), "$x$", GREY)
    label(ax, np.array([-0.3, 0.6]), "$y$", GREY)
    return figure


def recursion() -> Figure:
    """A chain of three links; motion walks out, forces walk in."""
    figure, ax = canvas(8.4, 3.3, (-0.35, 2.95), (-0.52, 0.78))
    place, angle, places = np.zeros(2), 0.0, [np.zeros(2)]
    for number, (length, turn) in enumerate(((0.85, 0.28), (0.8, -0.42), (0.7, 0.30)), start=1):
        angle += turn
        x = np.linspace(0, 1, 60)
        path = np.array([place + turned(angle, length * s, -0.05 * s**2) for s in x])
        band(ax, path, 0.028, "#cfe3f1", BLUE)
        label(ax, path[30] + turned(angle, 0, 0.075), f"link {number}", BLUE, rotation=np.degrees(angle), fontsize=10)
        joint(ax, place)
        place = path[-1]
        places.append(place)
    ax.fill([-0.16, -0.035, -0.035, -0.16], [-0.14, -0.14, 0.14, 0.14], facecolor=LIGHT, edgecolor=DARK, hatch="////")
    label(ax, np.array([-0.1, 0.21]), "base")
    joint(ax, places[0])
    ax.add_patch(plt.Circle(tuple(places[-1]), 0.03, color=DARK))
    label(ax, places[-1] + np.array([0.15, 0.0]), "tip")
    rows = (
        (0.66, BLUE, "out:  velocities, accelerations of the bases,  $t_i = A_i\\,t_{i-1} + P_i\\,\\dot q_i$", False),
        (-0.28, RED, "in:  forces and resistance,  $f_i + A_{i+1}^T f_{i+1}$", True),
    )
    for height, color, text, inwards in rows:
        ends = [np.array([2.62, height]), np.array([0.0, height])]
        arrow(ax, *(ends if inwards else ends[::-1]), color=color, width=2.0)
        label(ax, np.array([1.31, height - 0.09]), text, color, fontsize=11)
    return figure


SKETCHES: dict[str, Callable[[], Figure]] = {"frames": frames, "pendulum": pendulum, "recursion": recursion}


def main(folder: Path) -> None:
    with plt.rc_context(LOOK):
        for name, draw in SKETCHES.items():
            draw().savefig(folder / f"{name}.svg", metadata={"Date": None})
            plt.close("all")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent)
