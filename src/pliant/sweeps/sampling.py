"""Points of a sweep: grid, random, Sobol, Latin hypercube; the same study gives the same points everywhere."""

from __future__ import annotations

from typing import Annotated, Self

import numpy as np
from pydantic import BeforeValidator, Field, model_validator

from pliant.arrays import Array
from pliant.errors import ModelError
from pliant.options import SamplingName, ScaleName
from pliant.robot.files.error_messages import clash, fault
from pliant.robot.parts.fields import Angle, Description, angle, sequence

MOST_POINTS = 10_000_000


def _values(value: object) -> tuple[float, ...] | None:
    return None if value is None else tuple(angle(entry) for entry in sequence(value, "a list of numbers"))


class Axis(Description):
    """The range of one number: `values: [...]`, or `from`, `to` with a `count` for grids; `scale: log` is even in
    ratios. `mean` and `deviation` instead make it normal (not for grids).

    Examples
    --------
    >>> axis = pliant.sweeps.Axis(**{"from": 1.0, "to": 100.0, "count": 3, "scale": "log"})
    >>> print(axis.grid().round(6), axis.at(np.array([0.5])).round(6))
    [  1.  10. 100.] [10.]
    """

    values: Annotated[tuple[float, ...] | None, BeforeValidator(_values)] = Field(
        None, description="all values", examples=[[7, 8, 9]]
    )
    start: Angle | None = Field(None, alias="from", description="begin of a range", examples=[0.0])
    to: Angle | None = Field(None, description="end of a range", examples=[200.0])
    count: int | None = Field(None, description="values of a range in a grid", examples=[9], ge=1)
    scale: ScaleName = Field("linear", description="what is even along the range", examples=["log"])
    mean: Angle | None = Field(None, description="of a normal distribution; not for grids", examples=[0.5])
    deviation: Angle | None = Field(None, description="standard, of a normal distribution", examples=[0.1])

    @model_validator(mode="after")
    def _check(self) -> Self:
        kinds = [self.values is not None, self.start is not None or self.to is not None, self.mean is not None]
        if sum(kinds) != 1:
            raise clash("give `values`, or `from` and `to`, or `mean` and `deviation`")
        if self.values is not None and not self.values:
            raise clash("`values` is empty; give at least one")
        if kinds[1] and (self.start is None or self.to is None or self.start == self.to):
            raise clash("`from` and `to` must both be there, and differ")
        if kinds[1] and self.scale == "log" and not (self.start or 0) * (self.to or 0) > 0:
            raise clash("`scale: log` needs `from` and `to` of one sign")
        if kinds[2] and not (self.deviation or 0) > 0:
            raise clash("`mean` needs a `deviation` above 0")
        return self

    def at(self, fraction: Array) -> Array:
        """Values at fractions (N,) of the range.

        Parameters
        ----------
        fraction : (N,) array
            Fractions from 0 to 1.

        Returns
        -------
        (N,) array
        """
        if self.values is not None:
            index = np.minimum((fraction * len(self.values)).astype(int), len(self.values) - 1)
            return np.asarray(np.array(self.values)[index], dtype=float)
        if self.mean is not None:
            from scipy.special import ndtri

            return np.asarray(self.mean + (self.deviation or 0.0) * ndtri(np.clip(fraction, 1e-12, 1 - 1e-12)))
        low, high = float(self.start or 0.0), float(self.to or 0.0)
        if self.scale == "log":
            return np.asarray(low * (high / low) ** fraction)
        return np.asarray(low + (high - low) * fraction)

    def grid(self) -> Array:
        """Values of a grid.

        Returns
        -------
        (count,) array
        """
        if self.values is not None:
            return np.array(self.values)
        if self.count is None or self.mean is not None:
            raise fault("a list of values, or `from`, `to` and `count`: the points are a grid")
        return self.at(np.linspace(0.0, 1.0, self.count) if self.count > 1 else np.zeros(1))


class Sample(Description):
    """Sampling: the choice of points.

    Examples
    --------
    >>> pliant.sweeps.Sample(method="sobol", count=64, seed=1).count
    64
    """

    method: SamplingName = Field(
        "grid", description="grid over all axes, or points in the space that they span", examples=["sobol"]
    )
    count: int | None = Field(None, description="points, where it is no grid", examples=[64], ge=1)
    seed: int = Field(0, description="of what is drawn", examples=[1], ge=0)


def points(sample: Sample, axes: dict[str, Axis]) -> Array:
    """(N, d) values, one row per point; the last axis of a grid runs fastest."""
    if sample.method == "grid":
        lines = [axis.grid() for axis in axes.values()]
        total = int(np.prod([len(line) for line in lines], dtype=float))
        _check_size(total)
        return np.stack([g.ravel() for g in np.meshgrid(*lines, indexing="ij")], axis=1)
    if sample.count is None:
        raise ModelError(f"sample: method {sample.method!r} needs a `count` of points")
    _check_size(sample.count)
    unit = _unit(sample, len(axes))
    return np.column_stack([axis.at(unit[:, k]) for k, axis in enumerate(axes.values())])


def _unit(sample: Sample, d: int) -> Array:
    """(N, d) points of the unit cube."""
    assert sample.count is not None
    if sample.method == "random":
        return np.random.default_rng(sample.seed).random((sample.count, d))
    from scipy.stats import qmc

    rng = np.random.default_rng(sample.seed)
    if sample.method == "sobol":
        powers = int(np.ceil(np.log2(sample.count)))  # the balance of Sobol points is that of whole powers of two
        return np.asarray(qmc.Sobol(d, rng=rng).random_base2(powers)[: sample.count])
    return np.asarray(qmc.LatinHypercube(d, rng=rng).random(sample.count))


def _check_size(total: int) -> None:
    if total > MOST_POINTS:
        raise ModelError(
            f"sample: {total} points; expected at most {MOST_POINTS}: take fewer values, or another method"
        )
