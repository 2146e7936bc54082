"""Frequencies of an arm over the position of a joint."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from numpy.typing import ArrayLike

from pliant.analysis.map_figures import mode_curves
from pliant.analysis.pose_maps import frequency_map as pose_map
from pliant.base.signatures import checked
from pliant.drawing.figure_data import Panel, Quantity, position_unit
from pliant.drawing.panel_drawing import panels_figure
from pliant.drawing.style import Paths
from pliant.errors import ModelError
from pliant.model.model import Model
from pliant.model.robot import Robot, model_of
from pliant.options import JointsName

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@checked
def frequency_map(
    model: Model | Robot,
    joint: str,
    values: ArrayLike,
    at: Mapping[str, float] | None = None,
    count: int = 4,
    joints: JointsName = "locked",
    path: Paths = None,
) -> Figure:
    """First frequencies of an arm at rest, over the position of one joint.

    Parameters
    ----------
    model : Model or Robot
        The arm.
    joint : str
        Name of the joint that moves.
    values : (K,)
        Positions of the joint, rad or m.
    at : mapping, optional
        Positions of other coordinates by name; those of the straight arm by default.
    count : int
        Number of frequencies drawn.
    joints : "locked" or "free"
        Whether joints are held.
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
    model = model_of(model)
    if joint not in model.joints:
        raise ModelError(f"joint: got {joint!r}, expected one of {', '.join(model.joints)}")
    found = pose_map(model, {joint: values}, at, joints)
    unit, scale = position_unit(model.robot, joint)
    panel = Panel(
        "frequencies of the arm", Quantity(f"frequency, joints {joints}", "Hz"),
        mode_curves(scale * found.positions[0], found.frequencies[:, :count]),
        x=Quantity(joint, unit), span="from zero",
    )  # fmt: skip
    return panels_figure([panel], path)
