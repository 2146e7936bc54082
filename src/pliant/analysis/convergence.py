"""Convergence of a result with the number of modes or elements."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from pliant.arrays import Array
from pliant.base.signatures import checked
from pliant.errors import ModelError
from pliant.model.automatic_shapes.choices import resolved
from pliant.model.robot import Robot


@dataclass(frozen=True)
class Convergence:
    """`values` of a quantity for rising `counts`.

    Attributes
    ----------
    counts : (K,)
        Numbers of shapes.
    values : (K,)
        Values of the quantity.
    limit : float
        Value extrapolated from the last three counts by a power law in 1/count.
    order : float
        Power of 1/count; NaN where the last three values do not follow a power law.
    """

    counts: tuple[int, ...]
    values: Array
    limit: float
    order: float

    @property
    def changes(self) -> Array:
        """Differences (len - 1,) of values from the ones before."""
        return np.diff(self.values)

    @property
    def error(self) -> float:
        """Estimated error of the last value: |last - limit|."""
        return float(abs(self.values[-1] - self.limit))

    def __str__(self) -> str:
        rows = [f"{count:6d}  {value:.12g}" for count, value in zip(self.counts, self.values)]
        return "\n".join([" count  value", *rows, f"order {self.order:.2f}, limit {self.limit:.12g}"])


@checked
def with_shapes(robot: Robot, count: int, links: Sequence[str] | None = None) -> Robot:
    """The robot with `count` modes in every field that a link has, or `count` elements; by default on all links.

    Parameters
    ----------
    robot : Robot
        The arm.
    count : int
        Modes of each field, or elements.
    links : sequence of str, optional
        Names of links; all that bend by default.

    Returns
    -------
    Robot

    Examples
    --------
    >>> pliant.analysis.with_shapes(pliant.load("two-link"), 3).model().n
    8
    """
    if count < 1:
        raise ModelError(f"count: got {count!r}, expected at least 1")
    robot = resolved(robot)[0]
    data = robot.to_dict()
    chosen = [link.name for link in robot.links if link.shapes is not None] if links is None else list(links)
    unknown = [name for name in chosen if name not in {link.name for link in robot.links if link.shapes is not None}]
    if unknown or not chosen:
        raise ModelError(f"links: {', '.join(unknown) or 'none'} not flexible; see the robot's `shapes`")
    for link in data["links"]:
        if link["name"] in chosen:
            shapes = link["shapes"]
            if shapes.get("method") == "elements":
                shapes["count"] = count
            else:
                for name in ("bending_y", "bending_z", "torsion", "axial"):
                    if shapes.get(name):
                        shapes[name] = count
    return Robot.from_dict(data)


@checked
def convergence(
    robot: Robot,
    quantity: Callable[[Robot], float],
    counts: Sequence[int] = (1, 2, 3, 4, 6, 8),
    vary: Callable[[Robot, int], Robot] = with_shapes,
) -> Convergence:
    """Compute `quantity(robot)`, any number that follows from a robot, for rising numbers of shapes.

    Parameters
    ----------
    robot : Robot
        The arm.
    quantity : function
        Returns a number for a robot.
    counts : sequence of int
        Rising numbers of shapes.
    vary : function
        Returns the robot with so many shapes for (robot, count).

    Returns
    -------
    Convergence

    Examples
    --------
    >>> arm = pliant.load("two-link")
    >>> found = pliant.analysis.convergence(arm, lambda robot: robot.model().frequencies()[0], counts=(1, 2, 3))
    >>> bool(abs(found.changes[1]) < abs(found.changes[0]))
    True
    """
    if len(counts) < 3 or any(b <= a for a, b in pairwise(counts)) or counts[0] < 1:
        raise ModelError(f"counts: got {tuple(counts)}, expected at least three rising positive counts")
    values = np.array([float(quantity(vary(robot, count))) for count in counts])
    limit, order = _power_law(np.array(counts[-3:], dtype=float), values[-3:])
    return Convergence(tuple(counts), values, limit, order)


def _power_law(n: Array, v: Array) -> tuple[float, float]:
    """Limit and order p of v = limit + a n^-p through three points; the last value and NaN where there is none."""
    first, second = v[1] - v[0], v[2] - v[1]
    if first == 0 or second == 0 or first * second < 0:
        return float(v[2]), float("nan")

    def miss(p: float) -> float:
        return float((n[2] ** -p - n[1] ** -p) / (n[1] ** -p - n[0] ** -p) - second / first)

    low, high = 1e-3, 60.0
    if miss(low) * miss(high) > 0:
        return float(v[2]), float("nan")
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if miss(low) * miss(middle) > 0 else (low, middle)
    a = first / (n[1] ** -low - n[0] ** -low)
    return float(v[2] - a * n[2] ** -low), float(low)
