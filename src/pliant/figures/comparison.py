"""Two runs in one figure."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pliant.arrays import Array
from pliant.base.signatures import checked
from pliant.base.stages import work
from pliant.drawing.figure_data import Curve, Panel, Quantity, length_unit, position_unit
from pliant.drawing.panel_drawing import panels_figure
from pliant.drawing.style import Paths
from pliant.errors import ModelError
from pliant.figures.run_panels import attitudes, positions
from pliant.model.stiffening.stiffening_order import Level
from pliant.simulation.runs.results import Result

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@checked
@work("compare", "drawing a figure")
def compare(result: Result, other: Result, labels: tuple[str, str] | None = None, path: Paths = None) -> Figure:
    """Joints of two runs over each other, and the distance between their tips.

    Parameters
    ----------
    result, other : Result
        Runs of arms with the same joints; times may differ, the second is interpolated.
    labels : two str, optional
        Labels of the runs; by default the first difference between them: formulation, method, or first and second.
    path : str, path or list of them, optional
        Where to write it.

    Returns
    -------
    matplotlib.figure.Figure

    Examples
    --------
    >>> arm = pliant.load("two-link")
    >>> first, second = (pliant.simulate(arm.model(name), 0.1) for name in ("denoc", "lagrange"))
    >>> len(pliant.view.compare(first, second).axes) > 1
    True
    """
    first, second = _series(result), _series(other)
    joints = [name for name in first if name in second]
    if not joints:
        raise ModelError(
            f"other: its joints are {', '.join(other.joints)}; expected some of {', '.join(result.joints)} to compare"
        )
    names = labels or _labels(result, other)

    panels = []
    for name in joints:
        unit = first[name][0]
        both = zip(names, (result.t, other.t), (first[name][1], second[name][1]), ("first", "second"))
        quantity = Quantity("angle" if unit == "deg" else "travel", unit)
        panels.append(Panel("joint positions", quantity, tuple(Curve(*each) for each in both), of=name))
    return panels_figure([*panels, tips_apart(result, other)], path)


def _series(result: Result) -> dict[str, tuple[str, Array]]:
    """Unit and values of the positions of all joints, and of the angles of a free base and of spherical joints."""
    found = {}
    for name, values in positions(result).items():
        unit, scale = position_unit(result.robot, name)
        found[name] = (unit, scale * values)
    for name, turned in attitudes(result).items():
        for label, values in zip(("roll", "pitch", "yaw"), np.degrees(turned).T):
            found[f"{name}, {label}"] = ("deg", values)
    return found


def tips_apart(result: Result, other: Result) -> Panel:
    """Distance between the tips at the times that both runs have. The second run is interpolated by cubics, so that
    different rows do not look like a distance."""
    from scipy.interpolate import make_interp_spline

    t = result.t[result.t <= min(result.t[-1], other.t[-1])]
    rows = np.unique(other.t, return_index=True)[1]
    there = make_interp_spline(other.t[rows], other.tip[rows], min(3, len(rows) - 1))(t)
    apart = np.linalg.norm(result.tip[: len(t)] - there, axis=1)
    unit, scale = length_unit(apart)
    curve = Curve("distance", t, scale * apart, "balance")
    return Panel("distance between the tips", Quantity("tips apart", unit), (curve,), span="from zero")


def _labels(result: Result, other: Result) -> tuple[str, str]:
    """First words that tell the runs apart."""
    return next((pair for pair in zip(_words(result), _words(other)) if pair[0] != pair[1]), ("first", "second"))


def _words(run: Result) -> tuple[str, ...]:
    """Robot and choices of a run, in words."""
    o = run.options
    stiffening = f"stiffening {Level(o['stiffening'])}"
    return run.robot.name, str(o["formulation"]), f"rotation {o['rotation']}", stiffening, run.stats.method
