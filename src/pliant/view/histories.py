"""Figures over time. Each function fills a figure, or a part of one, with a run."""

from __future__ import annotations

from typing import Any

import numpy as np

from pliant.arrays import Array
from pliant.runs.results import Result
from pliant.view.style import COLOURS, DASHES, energy_unit, legend, length_unit, line, time_axis, zero_line

DEGREES = 180.0 / np.pi
FEW = 4
"""So many joints get axes of their own."""
_BENDING = {"axial": (0, "x"), "bending_y": (1, "y"), "bending_z": (2, "z")}


# ------------------------------------------------------------------------------------------------------------- joints


def _groups(result: Result) -> list[list[str]]:
    """Joints that share axes: each has its own while they are few; of many, turning and sliding ones stand together."""
    if len(result.joints) <= FEW:
        return [[name] for name in result.joints]
    kinds: dict[str, list[str]] = {}
    for name in result.joints:
        kinds.setdefault(result.robot.link(name).joint.type, []).append(name)
    return list(kinds.values())


def _of(names: list[str]) -> str:
    return f"{names[0]}\n" if len(names) == 1 else "joint "


def _turns(result: Result, name: str) -> bool:
    return result.robot.link(name).joint.type == "revolute"


def _drives(result: Result) -> list[str]:
    return [name for name in result.joints if f"{name}.motor" in result.coordinates]


def joints_height(result: Result) -> float:
    """Inches that `joints` needs."""
    return 0.5 + (1.3 if len(result.joints) <= FEW else 2.2) * max(1, len(_groups(result)) + bool(_drives(result)))


def torques_height(result: Result) -> float:
    """Inches that `torques` needs."""
    return 0.5 + (1.3 if len(result.joints) <= FEW else 2.2) * max(1, len(_groups(result)))


def joints(page: Any, result: Result) -> None:
    """Angles in degrees, travels in metres, and how far elastic drives wind up."""
    groups, drives = _groups(result), _drives(result)
    rows = list(_axes(page, max(1, len(groups) + bool(drives))))
    for axes, names in zip(rows, groups):
        unit, scale = ("deg", DEGREES) if _turns(result, names[0]) else ("m", 1.0)
        _lines(axes, result.t, {name: scale * result[name] for name in names}, _places(result))
        word = "angle" if unit == "deg" else "travel"
        axes.set_ylabel(f"{_of(names)}{word} ({unit})")
    if drives:
        turning = all(_turns(result, name) for name in drives)
        scale = DEGREES if turning else 1.0
        wound = {name: scale * (result[f"{name}.motor"] - result[name]) for name in drives}
        _lines(rows[-1], result.t, wound, _places(result), named=len(result.joints) <= FEW)
        rows[-1].set_ylabel(f"wind-up ({'deg' if turning else 'rad or m'})")
        zero_line(rows[-1])
    _finish(page, rows)


def torques(page: Any, result: Result) -> None:
    """Torques of turning joints and forces of sliding ones."""
    groups = _groups(result)
    rows = list(_axes(page, max(1, len(groups))))
    for axes, names in zip(rows, groups):
        values = {name: result.tau[:, result.joints.index(name)] for name in names}
        _lines(axes, result.t, values, _places(result))
        word, unit = ("torque", "N m") if _turns(result, names[0]) else ("force", "N")
        axes.set_ylabel(f"{_of(names)}{word} ({unit})")
        zero_line(axes)
    _finish(page, rows)


def _places(result: Result) -> dict[str, int]:
    """A joint has the same line in all axes."""
    return {name: k for k, name in enumerate(result.joints)}


# -------------------------------------------------------------------------------------------------------- deflections


def bending_links(result: Result) -> dict[str, list[str]]:
    """Flexible links and their fields that displace the axis."""
    found = {}
    for link, shapes in zip(result.robot.links, result.model.link_shapes):
        fields = [] if shapes is None else [name for name in _BENDING if name in shapes.fields]
        if fields:
            found[link.name] = fields
    return found


def deflections(page: Any, result: Result) -> None:
    """End and middle of each flexible link, in its own root frame, one axes a link."""
    links = bending_links(result)
    rows = list(_axes(page, max(1, len(links))))
    if not links:
        _say(rows[0], "no link of this arm bends")
        return
    for axes, (name, fields) in zip(rows, links.items()):
        stations = {"end": result.deflection(name, "tip"), "middle": result.deflection(name, "middle")}
        drawn = [_BENDING[field][0] for field in fields if field != "axial" or len(fields) == 1]
        unit, scale = length_unit(max(float(np.abs(values[:, drawn]).max()) for values in stations.values()))
        values = {
            f"{_BENDING[field][1]}, {station}": scale * shift[:, _BENDING[field][0]]
            for field in fields
            if _BENDING[field][0] in drawn
            for station, shift in stations.items()
        }
        named = axes is rows[0] or set(fields) != set(links[next(iter(links))])
        _lines(axes, result.t, values, {label: k for k, label in enumerate(values)}, named, width=0.8)
        axes.set_ylabel(f"{name}\ndeflection ({unit})")
        zero_line(axes)
    _finish(page, rows)


# ---------------------------------------------------------------------------------------------------------------- tip


def tip(page: Any, result: Result) -> None:
    """The three coordinates of the tip, each on its own axes."""
    rows = list(_axes(page, 3))
    for axes, axis, values in zip(rows, "xyz", result.tip.T):
        axes.plot(result.t, values, **line(0))
        axes.set_ylabel(f"tip {axis} (m)")
        _widen(axes, values)
    _finish(page, rows)


def path(page: Any, result: Result) -> None:
    """The path of the tip: in its plane if it stays in one of the base planes, else in two views."""
    tip = result.tip
    reach = np.ptp(tip, axis=0)
    flat = int(np.argmin(reach))
    planes = [(0, 2), (0, 1)]
    if reach[flat] <= 1e-6 * max(float(reach.max()), 1e-12):
        planes = [next(((a, b) for a, b in ((0, 1), (0, 2), (1, 2)) if flat not in (a, b)))]
    views = page.subplots(1, len(planes), squeeze=False)[0]
    for axes, (a, b) in zip(views, planes):
        axes.plot(tip[:, a], tip[:, b], color="#0072B2", linewidth=1.0)
        axes.plot(*tip[0, [a, b]], "o", markersize=5, markerfacecolor="white", markeredgecolor="black", label="start")
        axes.plot(*tip[-1, [a, b]], "s", markersize=4.5, color="black", label="end")
        axes.set_xlabel(f"tip {'xyz'[a]} (m)")
        axes.set_ylabel(f"tip {'xyz'[b]} (m)")
        _scale(axes, tip[:, a], tip[:, b])
    legend(views[0], 2)


# ------------------------------------------------------------------------------------------------------------- energy


ENERGY_LINES: tuple[dict[str, Any], ...] = (
    {"color": "black", "linestyle": "-", "linewidth": 1.0},
    {"color": COLOURS[0], "linestyle": DASHES[1]},
    {"color": COLOURS[1], "linestyle": DASHES[2]},
    {"color": COLOURS[2], "linestyle": DASHES[3], "linewidth": 1.5},
    {"color": COLOURS[3], "linestyle": (0, (10, 3))},
)
"""Total, kinetic, gravity, strain, work done."""


def energy(page: Any, result: Result) -> None:
    """Energies, potential energy counted from the start; below, what the run gained beyond the work done on it."""
    upper, lower = page.subplots(2, 1, sharex=True, height_ratios=[2.2, 1.0])
    e = result.energy
    gravity = e.gravity - e.gravity[0]
    values = {
        "total": e.kinetic + gravity + e.strain,
        "kinetic": e.kinetic,
        "gravity": gravity,
        "strain": e.strain,
    }
    if np.abs(result.work).max() > 1e-9 * max(float(e.kinetic.max()), 1e-300):
        values["work done"] = result.work
    unit, scale = energy_unit(max(float(np.abs(series).max()) for series in values.values()))
    for (label, series), style in zip(values.items(), ENERGY_LINES):
        upper.plot(result.t, scale * series, label=label, **style)
    legend(upper, len(values))
    upper.set_ylabel(f"energy since start ({unit})")
    zero_line(upper)
    lower.plot(result.t, result.energy_balance, color="black", linewidth=0.9)
    lower.set_ylabel("balance (J)")
    zero_line(lower)
    _finish(page, [upper, lower])


# ------------------------------------------------------------------------------------------------------------- shared


def _axes(page: Any, rows: int) -> Any:
    return page.subplots(rows, 1, sharex=True, squeeze=False)[:, 0]


def _lines(
    axes: Any, t: Array, values: dict[str, Array], places: dict[str, int], named: bool = True, width: float = 1.2
) -> None:
    for label, series in values.items():
        axes.plot(t, series, label=label, linewidth=width, **line(places.get(label, 0) if len(values) > 1 else 0))
    if named:
        legend(axes, len(values))
    _widen(axes, np.concatenate([np.ravel(series) for series in values.values()]))


def _widen(axes: Any, values: Array) -> None:
    """A constant is a line in the middle, not rounding noise blown up to full height."""
    low, high = float(values.min()), float(values.max())
    if not np.isfinite([low, high]).all():
        return
    if high - low <= 1e-9 * max(abs(low), abs(high), 1e-9):
        middle, half = (low + high) / 2, max(abs(low) * 0.1, 0.1)
        axes.set_ylim(middle - half, middle + half)


def _scale(axes: Any, x: Array, y: Array) -> None:
    """Equal scales, unless the path is so shallow that it would be a thread; then the axes say so."""
    from matplotlib.ticker import MaxNLocator

    spans = np.array([np.ptp(x), np.ptp(y)])
    axes.xaxis.set_major_locator(MaxNLocator(5))
    axes.yaxis.set_major_locator(MaxNLocator(5))
    shallow = 0 < spans.min() < spans.max() / 6
    if shallow:
        axes.margins(0.06, 0.12)
        axes.set_title("scales differ", fontsize=8.0, color="0.4", loc="right")
        return
    half = 0.55 * max(float(spans.max()), 1e-6)
    for values, low_high in ((x, axes.set_xlim), (y, axes.set_ylim)):
        middle = (float(values.min()) + float(values.max())) / 2
        low_high(middle - half, middle + half)
    axes.set_aspect("equal", adjustable="box")


def _say(axes: Any, text: str) -> None:
    axes.set_axis_off()
    axes.text(0.5, 0.5, text, ha="center", va="center", color="0.4", transform=axes.transAxes)


def _finish(page: Any, rows: list[Any]) -> None:
    time_axis(rows[-1])
    page.align_ylabels(rows)
