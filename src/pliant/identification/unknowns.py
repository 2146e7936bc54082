"""The numbers that are fitted: where they start, between which bounds, what is known of them beforehand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pliant.arrays import Array
from pliant.errors import ModelError
from pliant.robot import Robot
from pliant.robot.faults import suggestion

SMALLEST = 1e-6
"""Lower bound of a number that must be positive, as a fraction of its start."""
START_SCALE = 0.01
"""Typical size of an unknown start value, rad or m."""


@dataclass(frozen=True)
class Unknowns:
    """K fitted numbers: P parameters of the robot, then unknown start values of each recording.

    `prior` rows are (mean, standard deviation), NaN where nothing is known beforehand.
    """

    names: tuple[str, ...]
    start: Array
    lower: Array
    upper: Array
    prior: Array
    scale: Array
    P: int


def unknowns(
    robot: Robot,
    parameters: Sequence[str],
    start: Mapping[str, float],
    bounds: Mapping[str, tuple[float, float]],
    prior: Mapping[str, tuple[float, float]],
    starts: Sequence[tuple[str, float]],
) -> Unknowns:
    """Check and gather; `starts` are names and values of the unknown start values."""
    names = (*parameters, *(name for name, _ in starts))
    for what, given in (("start", start), ("bounds", bounds), ("prior", prior)):
        for name in given:
            if name not in names:
                raise ModelError(f"{what}: `{name}` is not fitted{suggestion(name, names)}")
    first, low, high, known = [], [], [], []
    for name, value in (*((path, robot.paths()[path]) for path in parameters), *starts):
        mean, deviation = _prior(name, prior.get(name))
        value = float(start.get(name, value if np.isnan(mean) else mean))
        least, most = _bounds(name, bounds.get(name), robot if name in parameters else None, value)
        if not least <= value <= most or not np.isfinite(value):
            raise ModelError(
                f"start of `{name}`: got {value:g}, expected a number within its bounds [{least:g}, {most:g}]"
            )
        first.append(value)
        low.append(least)
        high.append(most)
        known.append((mean, deviation))
    values, P = np.array(first), len(parameters)
    priors = np.array(known).reshape(-1, 2)
    typical = np.where(np.arange(len(values)) < P, 1.0, START_SCALE)
    deviations = np.where(np.isnan(priors[:, 1]), typical, priors[:, 1])
    scale = np.where(np.abs(values) > 0, np.abs(values), deviations)
    scale[P:] = deviations[P:]
    return Unknowns(names, values, np.array(low), np.array(high), priors, scale, P)


def check_paths(robot: Robot, parameters: Sequence[str]) -> None:
    """Each must be a number of the robot."""
    if isinstance(parameters, str) or not parameters:
        raise ModelError(f"parameters: got {parameters!r}, expected paths such as ['links.upper.beam.EI_z']")
    known = robot.paths()
    if len(set(parameters)) != len(parameters):
        raise ModelError(f"parameters: {', '.join(parameters)}; each may be given once")
    for path in parameters:
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


def _bounds(name: str, given: Any, robot: Robot | None, start: float) -> tuple[float, float]:
    if given is not None:
        try:
            least, most = (float(v) for v in given)
        except (TypeError, ValueError):
            raise ModelError(f"bounds of `{name}`: got {given!r}, expected (lowest, highest)") from None
        if not least < most:
            raise ModelError(f"bounds of `{name}`: got {given!r}, expected lowest < highest")
        return least, most
    if robot is None or _allowed(robot, name, -1.0):
        return -np.inf, np.inf
    return (0.0 if _allowed(robot, name, 0.0) else SMALLEST * abs(start)), np.inf


def _allowed(robot: Robot, path: str, value: float) -> bool:
    """Whether the description takes such a value: it knows that a mass is never negative."""
    try:
        robot.replace({path: value})
    except ModelError:
        return False
    return True
