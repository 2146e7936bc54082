"""How the frequencies of an arm move with its configuration."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from pliant.arrays import Array
from pliant.dynamics.sliding_links import rest_state
from pliant.errors import ModelError
from pliant.model import Model
from pliant.options import JointsName
from pliant.signatures import checked
from pliant.view.style import WIDTH, Paths, figure, line

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
    """The first frequencies of an arm while one joint goes through `values` and the others stand.

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
    positions = np.asarray(values, dtype=float)
    if joint not in model.joints:
        raise ModelError(f"joint: got {joint!r}, expected one of {', '.join(model.joints)}")
    if positions.ndim != 1 or len(positions) < 2 or not np.isfinite(positions).all():
        raise ModelError(f"values: shape {positions.shape}; expected at least two finite positions (K,)")
    curves = _frequencies(model, joint, positions, at or {}, joints)[:, :count]
    turns = model.robot.link(joint).joint.type == "revolute"

    def draw(page: Any) -> None:
        axes = page.subplots()
        for k in range(curves.shape[1]):
            axes.plot(np.degrees(positions) if turns else positions, curves[:, k], label=f"{k + 1}", **line(k))
        axes.set_xlabel(f"{joint} ({'deg' if turns else 'm'})")
        axes.set_ylabel(f"frequency (Hz), joints {joints}")
        axes.set_ylim(bottom=min(0.0, float(curves.min())))
        axes.legend(title="mode", loc="center left", bbox_to_anchor=(1.0, 0.5))

    return figure(draw, WIDTH, 2.8, path)


def _frequencies(model: Model, joint: str, positions: Array, at: Mapping[str, float], joints: JointsName) -> Array:
    """(K, modes) Hz."""
    q = rest_state(model.chain)
    for name, value in at.items():
        q[model.index(name)] = value
    rows = []
    for value in positions:
        q[model.index(joint)] = value
        if f"{joint}.motor" in model.coordinates:
            q[model.index(f"{joint}.motor")] = value
        rows.append(model.frequencies(q, joints))
    return np.array(rows)
