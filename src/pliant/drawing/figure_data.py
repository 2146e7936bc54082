"""Contents of figures as plain data: quantities with units, curves with labels, panels.

Figures of Matplotlib, the page, the movie and the studio draw from panels. Whoever makes a panel decides on contents,
units, order and labels; drawing converts nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np

from pliant.arrays import Array
from pliant.model.robot import Robot

Span = Literal["free", "around zero", "from zero", "log", "equal"]
"""Range of the y axis: that of the curves, the same with a line at zero, from zero on, logarithmic, or equal scales."""


@dataclass(frozen=True)
class Quantity:
    """Label of an axis, and its unit."""

    label: str
    unit: str

    def __str__(self) -> str:
        return f"{self.label} ({self.unit})"


TIME = Quantity("time", "s")


@dataclass(frozen=True)
class Curve:
    """Values `y` over `x`, (N,) each, in the units of the panel; `role` chooses its style, see `style.line`."""

    label: str
    x: Array
    y: Array
    role: int | str = 0


MOST_TURNS = 160
"""Most turning points of a curve on the width of a page; with more, its swings merge into a block."""


@dataclass(frozen=True)
class ColorMap:
    """Values (len(y), len(x)) of a quantity over the plane, colored by their logarithm."""

    x: Array
    y: Array
    values: Array
    quantity: Quantity


@dataclass(frozen=True)
class Panel:
    """One pair of axes.

    Attributes
    ----------
    title : str
    y : Quantity
    curves : tuple of Curve
    x : Quantity
    of : str
        Link, joint or direction that the panel shows, if there are several such panels.
    span : Span
    marks : mapping
        Positions of vertical lines on the x axis, by their label.
    map : ColorMap, optional
        Map behind the curves.
    note : str
        Reason why there are no curves.
    """

    title: str
    y: Quantity
    curves: tuple[Curve, ...] = ()
    x: Quantity = TIME
    of: str = ""
    span: Span = "free"
    marks: Mapping[str, Array] = field(default_factory=dict)
    map: ColorMap | None = None
    note: str = ""

    def midline(self, curve: Curve) -> Array | None:
        """(N,) mean over some swings of a curve that swings too often to be followed, to be drawn over it; else None.

        Swings too small to be seen in the panel, such as rounding, are ignored.
        """
        steps, n = np.sign(np.diff(curve.y)), len(curve.y)
        turns = int(np.count_nonzero(steps[1:] * steps[:-1] < 0))
        if turns <= MOST_TURNS or np.any(np.diff(curve.x) <= 0):
            return None
        weights = np.ones(min(2 * (4 * n // turns) + 1, n))  # eight turns: four swings
        mean = np.convolve(curve.y, weights, "same") / np.convolve(np.ones(n), weights, "same")
        height = np.ptp(np.concatenate([one.y for one in self.curves]))
        return mean if np.ptp(curve.y - mean) > 0.02 * height else None

    def split(self) -> list[Panel]:
        """A panel for each curve."""
        return [replace(self, curves=(curve,), of=curve.label) for curve in self.curves]


def together(panels: list[Panel]) -> list[Panel]:
    """One panel with the curves of all, if they share both axes and have neither maps nor marks; else the panels."""
    first = panels[0]
    if len(panels) == 1 or any((one.x, one.y, one.map) != (first.x, first.y, None) or one.marks for one in panels):
        return panels
    labels = [
        (one, curve, curve.label if curve.label == one.of else f"{one.of} {curve.label}")
        for one in panels
        for curve in one.curves
    ]
    curves = tuple(replace(curve, label=label, role=k) for k, (_, curve, label) in enumerate(labels))
    return [replace(first, curves=curves, of="")]


def position_unit(robot: Robot, joint: str) -> tuple[str, float]:
    """Unit of a joint's position for users, and the factor from radians or meters."""
    return ("deg", 180 / np.pi) if robot.freedoms[joint].turns else ("m", 1.0)


def energy_unit(*values: Array) -> tuple[str, float]:
    """Unit that suits these energies, and the factor from joules."""
    largest = _largest(values)
    if largest >= 1e4:
        return "kJ", 1e-3
    return ("J", 1.0) if largest >= 1e-2 or largest == 0.0 else ("mJ", 1e3)


def length_unit(*values: Array) -> tuple[str, float]:
    """Unit that suits these deflections, and the factor from meters."""
    largest = _largest(values)
    if largest >= 0.5:
        return "m", 1.0
    return ("mm", 1e3) if largest >= 2e-5 or largest == 0.0 else ("µm", 1e6)


def strain_text(strain: float) -> str:
    """Strain as text, in percent or microstrain."""
    return f"{100 * strain:.3g} %" if strain >= 0.01 else f"{float(f'{1e6 * strain:.3g}'):g} µε"


def color_scale(strain: float, stress: float) -> tuple[str, str]:
    """Name of the quantity that colors show, and its largest value: strain of beams, stress of bodies from files, or
    both."""
    shown = [("bending strain", strain_text(strain))] if strain > 0 or not stress > 0 else []
    shown += [("von Mises stress", f"{float(f'{stress / 1e6:.3g}'):g} MPa")] if stress > 0 else []
    names, values = zip(*shown)
    return ", ".join(names), ", ".join(values)


def _largest(values: tuple[Array, ...]) -> float:
    return max(float(np.abs(series).max(initial=0.0)) for series in values)
