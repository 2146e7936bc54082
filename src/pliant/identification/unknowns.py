"""Fitted numbers: their start, bounds, priors and typical sizes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from pliant.arrays import Array
from pliant.errors import ModelError
from pliant.model.robot import Robot
from pliant.robot.files.error_messages import suggestion

SMALLEST = 1e-6
"""Lower bound, as a fraction of its start, of a number that must be positive."""
START_SCALE = 0.01
"""Typical size of an unknown start value, rad or m."""
FAR = 1e4
"""Factor on the start of a number: one that may be so large has no upper bound."""
EDGE = 1e-6
"""Distance from a bound, as a part of the typical size of a number, within which the number is at the bound."""
HALVINGS = 60
"""Halvings of the interval in which a bound is looked for."""


@dataclass(frozen=True)
class Other:
    """A fitted number that is not one of the robot: its start, its typical size, and its lower bound."""

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
        """Return whether the description accepts these values together. It refuses inertias that no body has, for
        example."""
        return _allowed(self.robot, dict(zip(self.names[: self.P], values.tolist())))

    def at_bound(self, values: Array) -> tuple[str, ...]:
        """Names of numbers at a bound, or at the edge of what the description accepts together."""
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
    """Check and collect the fitted numbers; `others` are unknown start values and numbers of the calibration."""
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
    """Check that each parameter is given once, and that all `paths` are numbers of the robot."""
    if isinstance(parameters, str) or not parameters:
        raise ModelError(f"parameters: got {parameters!r}, expected paths such as ['links.upper.beam.EI_z']")
    known = robot.paths()
    if len(set(parameters)) != len(parameters):
        raise ModelError(f"parameters: {', '.join(parameters)}; each may be given once")
    for path in paths:
        if path not in known:
            raise ModelError(f"parameters: the robot has no number `{path}`{suggestion(str(path), known)}")


def _prior(name: str, given: tuple[float, float] | None) -> tuple[float, float]:
    """Mean and standard deviation that are known beforehand; NaN without."""
    if given is None:
        return np.nan, np.nan
    try:
        mean, deviation = (float(v) for v in given)
    except (TypeError, ValueError):
        raise ModelError(f"prior of `{name}`: got {given!r}, expected (mean, standard deviation)") from None
    if not (np.isfinite(mean) and np.isfinite(deviation) and deviation > 0):
        raise ModelError(f"prior of `{name}`: got {given!r}, expected a finite mean and a standard deviation above 0")
    return mean, deviation


def _bounds(own: Other, given: tuple[float, float] | None, robot: Robot | None, start: float) -> tuple[float, float]:
    """Bounds of a number: the given ones, or those of the description if it is a number of the `robot`."""
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
    """Least value that the description accepts beside its other numbers: a mass is never negative, say."""
    if _allowed(robot, {path: -1.0 - abs(start)}):
        return -np.inf
    if _allowed(robot, {path: 0.0}):
        return 0.0
    small = SMALLEST * abs(start)
    return small if _allowed(robot, {path: small}) else _edge(robot, path, start, small)


def _highest(robot: Robot, path: str, start: float) -> float:
    """Greatest value that the description accepts: an efficiency is at most 1, say."""
    far = FAR * (abs(start) or 1.0)
    return np.inf if _allowed(robot, {path: far}) else _edge(robot, path, start, far)


def _edge(robot: Robot, path: str, inside: float, outside: float) -> float:
    """Last accepted value on the way from an accepted one to a refused one."""
    if not _allowed(robot, {path: inside}):
        return outside if outside > inside else -np.inf  # the description reports such a start itself
    for _ in range(HALVINGS):
        middle = 0.5 * (inside + outside)
        inside, outside = (middle, outside) if _allowed(robot, {path: middle}) else (inside, middle)
    return inside


def _allowed(robot: Robot, changes: Mapping[str, float]) -> bool:
    """Return whether the description accepts such values."""
    try:
        robot.replace(changes)
    except ModelError:
        return False
    return True
