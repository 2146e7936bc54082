"""How the frequencies of an arm move with its configuration."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from pliant.errors import ModelError
from pliant.model import Model
from pliant.options import JointsName
from pliant.signatures import checked
from pliant.view.figure_data import Curve, Panel, Quantity, position_unit
from pliant.view.panel_drawing import panels_figure
from pliant.view.style import Paths

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
        raise ModelError(f"values: got shape {positions.shape}, expected at least two finite positions (K,)")
    curves = np.array([model.frequencies({**(at or {}), joint: float(x)}, joints) for x in positions])[:, :count]
    unit, scale = position_unit(model.robot, joint)
    panel = Panel(
        "frequencies of the arm", Quantity(f"frequency, joints {joints}", "Hz"),
        tuple(Curve(f"mode {k + 1}", scale * positions, curve, k) for k, curve in enumerate(curves.T)),
        x=Quantity(joint, unit), span="from zero",
    )  # fmt: skip
    return panels_figure([panel], path)
