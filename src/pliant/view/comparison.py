"""Two runs in one figure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pliant.errors import ModelError
from pliant.runs.results import Result
from pliant.signatures import checked
from pliant.view.style import WIDTH, Paths, figure, legend, length_unit, time_axis

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_LINES: tuple[dict[str, Any], ...] = (
    {"color": "#0072B2", "linestyle": "-", "linewidth": 1.6},
    {"color": "black", "linestyle": (0, (4, 2)), "linewidth": 1.0},
)


@checked
def compare(result: Result, other: Result, labels: tuple[str, str] | None = None, path: Paths = None) -> Figure:
    """Joints of two runs over each other, and the distance between their tips.

    Parameters
    ----------
    result, other : Result
        Of arms with the same joints; times may differ, the second is interpolated.
    labels : two str, optional
        By default what tells the runs apart: formulation, method, or first and second.
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
    joints = [name for name in result.joints if name in other.joints]
    if not joints:
        raise ModelError(
            f"other: its joints are {', '.join(other.joints)}; expected some of {', '.join(result.joints)} to compare"
        )
    names = labels or _labels(result, other)

    def draw(page: Any) -> None:
        rows = page.subplots(len(joints) + 1, 1, sharex=True)
        for axes, joint in zip(rows, joints):
            turning = result.robot.link(joint).joint.type == "revolute"
            for run, label, style in zip((result, other), names, _LINES):
                axes.plot(run.t, run[joint] * (180 / np.pi if turning else 1.0), label=label, **style)
            axes.set_ylabel(f"{joint} ({'deg' if turning else 'm'})")
        legend(rows[0], 2)
        apart = _distance(result, other)
        unit, scale = length_unit(float(apart.max()))
        rows[-1].plot(_shared_times(result, other), scale * apart, color="black", linewidth=0.9)
        rows[-1].set_ylabel(f"tips apart ({unit})")
        rows[-1].set_ylim(bottom=0.0)
        time_axis(rows[-1])
        page.align_ylabels(rows)

    return figure(draw, WIDTH, 0.5 + 1.4 * (len(joints) + 1), path)


def _shared_times(result: Result, other: Result) -> Any:
    last = min(result.t[-1], other.t[-1])
    return result.t[result.t <= last]


def _distance(result: Result, other: Result) -> Any:
    times = _shared_times(result, other)
    there = np.column_stack([np.interp(times, other.t, column) for column in other.tip.T])
    return np.linalg.norm(result.tip[: len(times)] - there, axis=1)


def _labels(result: Result, other: Result) -> tuple[str, str]:
    for one, two in (
        (result.robot.name, other.robot.name),
        (result.options["formulation"], other.options["formulation"]),
        (f"rotation {result.options['rotation']}", f"rotation {other.options['rotation']}"),
        (_stiffening(result), _stiffening(other)),
        (result.stats.method, other.stats.method),
    ):
        if one != two:
            return str(one), str(two)
    return "first", "second"


def _stiffening(result: Result) -> str:
    return "with stiffening" if result.options["stiffening"] else "without stiffening"
