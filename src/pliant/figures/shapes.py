"""Figure of the shapes in which a link bends."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pliant.arrays import Array
from pliant.base.signatures import checked
from pliant.drawing.figure_data import Curve, Panel, Quantity
from pliant.drawing.panel_drawing import panels_figure
from pliant.drawing.style import Paths
from pliant.errors import ModelError
from pliant.mechanics.links.builders.build_chain import robot_shapes
from pliant.mechanics.shapes.link_shapes import LinkShapes
from pliant.model.automatic_shapes.choices import resolved
from pliant.model.robot import Robot
from pliant.options import FieldName
from pliant.robot.parts.beam import BeamProperties, beam_properties

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_LABELS = {"bending_y": "along y", "bending_z": "along z", "torsion": "twist", "axial": "along x"}


@checked
def mode_shapes(robot: Robot, link: str | int, count: int = 4, path: Paths = None) -> Figure:
    """First shape functions of a link over its length, one pair of axes for each field, with their frequencies.

    Frequencies are those of the link by itself under its own boundary load. For finite elements the natural modes are
    drawn that they represent; for a link in pieces those of the whole straight link.

    Parameters
    ----------
    robot : Robot
        The arm.
    link : str or int
        Name or number of the link.
    count : int
        Number of shapes drawn.
    path : str, path or list of them, optional
        Where to write it.

    Returns
    -------
    matplotlib.figure.Figure

    Examples
    --------
    >>> len(pliant.view.mode_shapes(pliant.load("two-link"), "upper", path="modes.png").axes)
    1
    """
    robot, place = resolved(robot)[0], robot.index(link)
    chosen = robot.links[place]
    shapes = robot_shapes(robot)[place]
    if chosen.body is not None:
        raise ModelError(
            f"links.{chosen.name}: a body from a file, whose modes are no curves; `pliant info` lists them"
        )
    if shapes is None or chosen.beam is None:
        raise ModelError(f"links.{chosen.name}: it has no shapes to draw; give it `shapes` with at least one mode")
    beam = beam_properties(chosen.beam)
    length, frequencies = float(beam.length), shapes.frequencies(beam) / (2 * np.pi)
    eta = np.linspace(0.0, 1.0, 201)
    panels = []
    for field in (part.name for part in shapes.parts):
        columns = [k for k, name in enumerate(shapes.fields) if name == field]
        natural = _natural(shapes, field, columns, eta, beam)[:, :count]
        curves = tuple(
            Curve(f"{k + 1}: {frequencies[columns[k]]:.4g} Hz", length * eta, curve, k)
            for k, curve in enumerate(natural.T)
        )
        along = Quantity("distance from the root", "m")
        panels.append(Panel("mode shapes", Quantity(_LABELS[field], "–"), curves, along, field, "around zero"))
    return panels_figure(panels, path)


def _natural(shapes: LinkShapes, field: FieldName, columns: list[int], eta: Array, beam: BeamProperties) -> Array:
    """(len(eta), k) shapes by rising frequency, each with unit mean square and a positive tip."""
    from scipy.integrate import trapezoid

    powers = np.array([beam.length ** shapes.powers[k] for k in columns])
    values = shapes.evaluate(eta)[:, columns] * powers
    if any(shapes.powers):  # nodal coordinates: their natural modes
        values = values @ _modes(shapes, field, columns, powers, beam)
    norm = np.sqrt(trapezoid(values**2, eta, axis=0))
    return np.asarray(values / norm * np.where(values[-1] < 0, -1.0, 1.0))


def _modes(shapes: LinkShapes, field: FieldName, columns: list[int], powers: Array, beam: BeamProperties) -> Array:
    """(k, k) natural modes of nodal coordinates, in columns by rising frequency."""
    from scipy.linalg import eigh

    block = np.ix_(columns, columns)
    own, scale = shapes.integrals, np.outer(powers, powers)
    mass = own.spin_gram[0][block] if field == "torsion" else own.gram[block]
    return np.asarray(eigh(shapes.strain(field, beam)[block] * scale, mass * scale)[1])
