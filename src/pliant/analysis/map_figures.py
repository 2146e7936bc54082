"""Figures of frequencies over speeds and poses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pliant.arrays import Array
from pliant.drawing.figure_data import Curve, Panel, Quantity, position_unit
from pliant.drawing.panel_drawing import panels_figure
from pliant.drawing.style import WIDTH, Paths, figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from pliant.analysis.campbell import Campbell
    from pliant.analysis.pose_maps import PoseMap


def mode_curves(x: Array, values: Array) -> tuple[Curve, ...]:
    """Curves of modes 1, 2, ... over a common axis."""
    return tuple(Curve(f"mode {k + 1}", x, curve, k) for k, curve in enumerate(values.T))


def campbell_figure(found: Campbell, orders: tuple[int, ...], count: int | None, path: Paths) -> Figure:
    """Figure of frequencies and damping over the speed; lines from the origin are oscillations per turn."""
    turns = found.speeds / (2 * np.pi)
    x, frequencies = 60 * turns, found.frequencies[:, :count]
    top = 1.05 * float(frequencies.max())
    lines = []
    for order in orders:
        below = order * np.abs(turns) <= top
        lines.append(Curve(f"{order} per turn", x[below], order * np.abs(turns[below]), "order"))
    speed = Quantity(f"speed of {found.joint}", "rev/min")
    panels = [
        Panel("", Quantity("frequency", "Hz"), (*mode_curves(x, frequencies), *lines), speed, span="from zero"),
        Panel("", Quantity("damping", "%"), mode_curves(x, 100 * found.damping[:, :count]), speed, span="around zero"),
    ]
    return panels_figure(panels, path)


def pose_figure(found: PoseMap, show: str, mode: int, path: Paths, stacked: bool = False) -> Figure:
    """Figure of a map. For two joints: colors over their positions and over the places of the tip, beside each other or
    `stacked`. For one joint: curves over its position."""
    robot = found.robot
    units = [position_unit(robot, name) for name in found.joints]
    scaled = [scale * grid for (_, scale), grid in zip(units, found.positions)]
    axes = [Quantity(name, unit) for name, (unit, _) in zip(found.joints, units)]
    if show == "frequency":
        quantity, values = Quantity(f"frequency {mode}", "Hz"), found.frequencies[..., mode - 1]
    else:
        quantity, values = Quantity("least damping", "%"), 100 * found.least_damping
    if len(axes) == 1:
        panel = Panel("", quantity, (Curve(quantity.label, scaled[0], values),), axes[0])
        return panels_figure([panel], path)
    width, height, rows = (WIDTH / 2, 5.6, 2) if stacked else (WIDTH, 3.0, 1)
    return figure(lambda page: _two_maps(page, rows, scaled, axes, found.tip, quantity, values), width, height, path)


def _two_maps(
    page: Any, rows: int, scaled: list[Array], axes: list[Quantity], tip: Array, quantity: Quantity, values: Array
) -> None:
    joints, places = page.subplots(rows, 2 // rows)
    limits = {"vmin": float(values.min()), "vmax": float(values.max()), "cmap": "viridis", "shading": "gouraud"}
    joints.pcolormesh(*np.meshgrid(*scaled, indexing="ij"), values, rasterized=True, **limits)
    if np.ptp(values) > 0:
        lines = joints.contour(*np.meshgrid(*scaled, indexing="ij"), values, colors="white", linewidths=0.6)
        joints.clabel(lines, fontsize=7)
    joints.set_xlabel(str(axes[0]))
    joints.set_ylabel(str(axes[1]))
    a, b = np.sort(np.argsort(-np.ptp(tip.reshape(-1, 3), axis=0), kind="stable")[:2]).tolist()
    image = places.pcolormesh(tip[..., a], tip[..., b], values, rasterized=True, **limits)
    places.set_xlabel(f"tip {'xyz'[a]} (m)")
    places.set_ylabel(f"tip {'xyz'[b]} (m)")
    places.set_aspect("equal", adjustable="datalim")
    page.colorbar(image, ax=places if rows == 1 else [joints, places], label=str(quantity))
