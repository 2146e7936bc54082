"""How the vibrations of an arm change with its pose and with the speed of a joint."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from pliant import analysis
from pliant.arrays import Array
from pliant.errors import ModelError
from pliant.model.model import Model
from pliant.options import JointsName
from pliant.base.signatures import checked
from pliant.drawing.figure_data import Curve, Panel, Quantity, position_unit
from pliant.drawing.panel_drawing import panels_figure
from pliant.drawing.style import WIDTH, Paths, figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@checked
def frequency_map(
    model: Model,
    joint: str,
    values: ArrayLike,
    at: Mapping[str, float] | None = None,
    count: int = 4,
    joints: JointsName = "locked",
    path: Paths = None,
) -> Figure:
    """The first frequencies of an arm at rest while one joint goes through `values` and the others stand.

    Parameters
    ----------
    model : Model
        The arm.
    joint : str
        Name of the joint that moves.
    values : (K,)
        Its positions, rad or m.
    at : mapping, optional
        Positions of other coordinates by name; those of the straight arm by default.
    count : int
        Frequencies drawn.
    joints : "locked" or "free"
        What is held.
    path : str, path or list of them, optional
        Where to write it.

    Returns
    -------
    matplotlib.figure.Figure

    Examples
    --------
    >>> figure = pliant.view.frequency_map(pliant.load("two-link").model(), "fore", [0.0, 0.5, 1.0], count=2)
    >>> len(figure.axes)
    1
    """
    if joint not in model.joints:
        raise ModelError(f"joint: got {joint!r}, expected one of {', '.join(model.joints)}")
    found = analysis.frequency_map(model, {joint: values}, at, joints)
    unit, scale = position_unit(model.robot, joint)
    panel = Panel(
        "frequencies of the arm", Quantity(f"frequency, joints {joints}", "Hz"),
        _modes(scale * found.positions[0], found.frequencies[:, :count]),
        x=Quantity(joint, unit), span="from zero",
    )  # fmt: skip
    return panels_figure([panel], path)


def _modes(x: Array, values: Array) -> tuple[Curve, ...]:
    return tuple(Curve(f"mode {k + 1}", x, curve, k) for k, curve in enumerate(values.T))


def campbell_figure(found: analysis.Campbell, orders: tuple[int, ...], count: int | None, path: Paths) -> Figure:
    """Frequencies and damping over the speed; lines of so many swings per turn from the origin."""
    turns = found.speeds / (2 * np.pi)
    x, frequencies = 60 * turns, found.frequencies[:, :count]
    top = 1.05 * float(frequencies.max())
    lines = []
    for order in orders:
        below = order * np.abs(turns) <= top
        lines.append(Curve(f"{order} per turn", x[below], order * np.abs(turns[below]), "order"))
    speed = Quantity(f"speed of {found.joint}", "rev/min")
    panels = [
        Panel("", Quantity("frequency", "Hz"), (*_modes(x, frequencies), *lines), speed, span="from zero"),
        Panel("", Quantity("damping", "%"), _modes(x, 100 * found.damping[:, :count]), speed, span="around zero"),
    ]
    return panels_figure(panels, path)


def pose_figure(found: analysis.PoseMap, show: str, mode: int, path: Paths, stacked: bool = False) -> Figure:
    """Of two joints, colours over their positions and over the places of the tip, beside each other or `stacked`; of
    one, curves."""
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
