"""The numbers that are fitted: where they start, between which bounds, what is known of them beforehand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pliant.arrays import Array
from pliant.errors import ModelError
from pliant.model.robot import Robot
from pliant.robot.files.error_messages import suggestion

SMALLEST = 1e-6
"""Lower bound of a number that must be positive, as a fraction of its start."""
START_SCALE = 0.01
"""Typical size of an unknown start value, rad or m."""
FAR = 1e4
"""Times its start: a number that may be so large has no upper bound."""
EDGE = 1e-6
"""Of the typical size of a number: so near to a bound it is there."""
HALVINGS = 60
"""Of an interval in which a bound is looked for."""


@dataclass(frozen=True)
class Other:
    """A fitted number that is none of the robot: where it starts, its typical size, and the least that it may be."""

    name: str
    value: float
    size: float = START_SCALE
    least: float = -np.inf


@dataclass(frozen=True)
class Unknowns:
    """K fitted numbers: P parameters of the robot, unknown start values of each recording, then its calibration.

    `prior` rows are (mean, standard deviation), NaN where nothing is known beforehand.
    """

    names: tuple[str, ...]
    start: Array
    lower: Array
    upper: Array
    prior: Array
    scale: Array
    P: int
    robot: Robot

    def allowed(self, values: Array) -> bool:
        """Whether the description takes these values together, as it does not if moments of inertia are no body's."""
        return _allowed(self.robot, dict(zip(self.names[: self.P], values.tolist())))

    def at_bound(self, values: Array) -> tuple[str, ...]:
        """Names of numbers at the edge of what they may be, alone or together."""
        edge = EDGE * self.scale
        simple = (values - self.lower <= edge) | (self.upper - values <= edge)
        found = {name for name, there in zip(self.names, simple) if there}
        for k in range(self.P):
            for way in (edge[k], -edge[k]):
                moved = values.copy()
                moved[k] += way
                if not self.allowed(moved):
                    found.add(self.names[k])
        return tuple(name for name in self.names if name in found)


def unknowns(
    robot: Robot,
    parameters: Sequence[str],
    start: Mapping[str, float],
    bounds: Mapping[str, tuple[float, float]],
    prior: Mapping[str, tuple[float, float]],
    others: Sequence[Other],
) -> Unknowns:
    """Check and gather; `others` are unknown start values and numbers of the calibration."""
    names = (*parameters, *(other.name for other in others))
    for what, given in (("start", start), ("bounds", bounds), ("prior", prior)):
        for name in given:
            if name not in names:
                raise ModelError(f"{what}: `{name}` is not fitted{suggestion(name, names)}")
    first, low, high, known = [], [], [], []
    described = robot.paths()
    for own in (*(Other(path, described[path]) for path in parameters), *others):
        mean, deviation = _prior(own.name, prior.get(own.name))
        value = float(start.get(own.name, own.value if np.isnan(mean) else mean))
        mine = robot if own.name in parameters else None
        least, most = _bounds(own, bounds.get(own.name), mine, value)
        if not least <= value <= most or not np.isfinite(value):
            raise ModelError(
                f"start of `{own.name}`: got {value:g}, expected a number within its bounds [{least:g}, {most:g}]"
            )
        first.append(value)
        low.append(least)
        high.append(most)
        known.append((mean, deviation))
    values, P = np.array(first), len(parameters)
    priors = np.array(known).reshape(-1, 2)
    typical = np.array([1.0] * P + [other.size for other in others])
    deviations = np.where(np.isnan(priors[:, 1]), typical, priors[:, 1])
    scale = np.where(np.abs(values) > 0, np.abs(values), deviations)
    scale[P:] = deviations[P:]
    return Unknowns(names, values, np.array(low), np.array(high), priors, scale, P, robot)


def check_paths(robot: Robot, parameters: Sequence[str], paths: Sequence[str]) -> None:
    """Each is given once, and those that are `paths` must be numbers of the robot."""
    if isinstance(parameters, str) or not parameters:
        raise ModelError(f"parameters: got {parameters!r}, expected paths such as ['links.upper.beam.EI_z']")
    known = robot.paths()
    if len(set(parameters)) != len(parameters):
        raise ModelError(f"parameters: {', '.join(parameters)}; each may be given once")
    for path in paths:
        if path not in known:
            raise ModelError(f"parameters: the robot has no number `{path}`{suggestion(str(path), known)}")


def _prior(name: str, given: Any) -> tuple[float, float]:
    if given is None:
        return np.nan, np.nan
    try:
        mean, deviation = (float(v) for v in given)
    except (TypeError, ValueError):
        raise ModelError(f"prior of `{name}`: got {given!r}, expected (mean, standard deviation)") from None
    if not (np.isfinite(mean) and np.isfinite(deviation) and deviation > 0):
        raise ModelError(f"prior of `{name}`: got {given!r}, expected a finite mean and a standard deviation above 0")
    return mean, deviation


def _bounds(own: Other, given: Any, robot: Robot | None, start: float) -> tuple[float, float]:
    if given is not None:
        try:
            least, most = (float(v) for v in given)
        except (TypeError, ValueError):
            raise ModelError(f"bounds of `{own.name}`: got {given!r}, expected (lowest, highest)") from None
        if not least < most:
            raise ModelError(f"bounds of `{own.name}`: got {given!r}, expected lowest < highest")
        return least, most
    if robot is None:
        return own.least, np.inf
    return _lowest(robot, own.name, start), _highest(robot, own.name, start)


def _lowest(robot: Robot, path: str, start: float) -> float:
    """The least value that the description takes beside its other numbers: it knows that a mass is never negative."""
    if _allowed(robot, {path: -1.0 - abs(start)}):
        return -np.inf
    if _allowed(robot, {path: 0.0}):
        return 0.0
    small = SMALLEST * abs(start)
    return small if _allowed(robot, {path: small}) else _edge(robot, path, start, small)


def _highest(robot: Robot, path: str, start: float) -> float:
    """Likewise the greatest: an efficiency is at most 1, a moment of inertia at most the sum of the two others."""
    far = FAR * (abs(start) or 1.0)
    return np.inf if _allowed(robot, {path: far}) else _edge(robot, path, start, far)


def _edge(robot: Robot, path: str, inside: float, outside: float) -> float:
    """The last value that is allowed on the way from one that is to one that is not."""
    if not _allowed(robot, {path: inside}):
        return outside if outside > inside else -np.inf  # whoever gave such a start is told of it by the description
    for _ in range(HALVINGS):
        middle = 0.5 * (inside + outside)
        inside, outside = (middle, outside) if _allowed(robot, {path: middle}) else (inside, middle)
    return inside


def _allowed(robot: Robot, changes: Mapping[str, float]) -> bool:
    """Whether the description takes such values."""
    try:
        robot.replace(changes)
    except ModelError:
        return False
    return True
