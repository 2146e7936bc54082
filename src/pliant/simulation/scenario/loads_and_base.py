"""Loads on the arm of a scenario and the motion of its base, made from plain data.

A vector is three numbers, or a trajectory of three coordinates such as `{type: sine, amplitude: [0, 5, 0],
frequency: 2}`. Such a trajectory takes the place of a function of time in `pliant.loads`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from pliant.arrays import Array
from pliant.base.later import Named
from pliant.base.signatures import checked
from pliant.control.trajectories.trajectories import Trajectory, numbers
from pliant.errors import ModelError
from pliant.mechanics.loads.moving_base import Base, BasePath
from pliant.mechanics.loads.point_wrenches import Vector
from pliant.mechanics.loads.wrenches import Distributed, Wrench
from pliant.options import AxesName, Station, WrenchAxesName

ZERO = (0.0, 0.0, 0.0)
VectorSignal: TypeAlias = ArrayLike | Trajectory
"""Three numbers, or a trajectory of three coordinates."""


@dataclass(frozen=True, eq=False)
class _Wrench(Wrench):
    breaks: tuple[float, ...] = ()


@dataclass(frozen=True, eq=False)
class _Distributed(Distributed):
    breaks: tuple[float, ...] = ()


@dataclass(frozen=True, eq=False)
class _Base(Base):
    breaks: tuple[float, ...] = ()


@dataclass(frozen=True, eq=False)
class _BasePath(BasePath):
    breaks: tuple[float, ...] = ()


@checked
def wrench(
    force: VectorSignal = ZERO,
    moment: VectorSignal = ZERO,
    link: str | None = None,
    x: float | Station = "tip",
    axes: WrenchAxesName = "base",
    frame: str | None = None,
) -> Wrench:
    """Force and moment on a section or at a frame: see `pliant.loads.Wrench`.

    Parameters
    ----------
    force, moment : three numbers or a trajectory of three coordinates
        N and N m; one of them at least.
    link : str
        The last by default.
    x : number, "tip" or "middle"
        Station in meters.
    axes : "base", "link", "section" or "frame"
        In which the vectors are given.
    frame : str
        Name of a frame, instead of `link` and `x`.
    """
    if force is ZERO and moment is ZERO:
        raise ModelError("a wrench needs a `force` or a `moment`")
    place = -1 if link is None else link
    return _Wrench(_vector("force", force), _vector("moment", moment), place, x, axes, frame, _breaks(force, moment))


@checked
def distributed(
    force: VectorSignal = ZERO,
    moment: VectorSignal = ZERO,
    link: str | None = None,
    start: float | Station = 0.0,
    end: float | Station = "tip",
    axes: AxesName = "base",
    profile: Mapping[str, ArrayLike] | None = None,
) -> Distributed:
    """Force and moment per length: see `pliant.loads.Distributed`.

    Parameters
    ----------
    force, moment : three numbers or a trajectory of three coordinates
        N/m and N; one of them at least.
    link : str
        The last by default.
    start, end : number, "tip" or "middle"
        Stations in meters between which it acts.
    axes : "base", "link" or "section"
        In which the vectors are given.
    profile : mapping
        `{x: [...], factor: [...]}` varies them along the link.
    """
    if force is ZERO and moment is ZERO:
        raise ModelError("a distributed load needs a `force` or a `moment`")
    f, n = _vector("force", force), _vector("moment", moment)
    place = -1 if link is None else link
    return _Distributed(f, n, place, start, end, axes, _profile(profile), _breaks(force, moment))


def shaken(acceleration: VectorSignal = ZERO, angular_velocity: VectorSignal = ZERO) -> Base:
    """A base by its acceleration and angular velocity in its own axes: see `pliant.loads.Base`.

    Parameters
    ----------
    acceleration : three numbers or a trajectory of three coordinates
        m/s^2.
    angular_velocity : three numbers or a trajectory of three coordinates
        rad/s.
    """
    a, omega = _vector("acceleration", acceleration), _vector("angular_velocity", angular_velocity)
    return _Base(a, omega, breaks=_breaks(acceleration, angular_velocity))


def carried(position: VectorSignal = ZERO, rpy: VectorSignal = ZERO) -> BasePath:
    """A base by its place and attitude in axes that stand still: see `pliant.loads.BasePath`.

    Parameters
    ----------
    position : three numbers or a trajectory of three coordinates
        m.
    rpy : three numbers or a trajectory of three coordinates
        Roll, pitch and yaw, rad.
    """
    return _BasePath(_vector("position", position), _vector("rpy", rpy), _breaks(position, rpy))


LOADS = Named(
    "pliant",
    {
        "distributed": "simulation.scenario.loads_and_base.distributed",
        "wrench": "simulation.scenario.loads_and_base.wrench",
    },
)
"""Loads by name, each made from plain data by keyword."""
BASES: dict[str, Callable[..., Base | BasePath]] = {"carried": carried, "shaken": shaken}


def _vector(name: str, given: VectorSignal) -> Vector:
    """Three numbers, or a function of t from a trajectory of three coordinates."""
    if isinstance(given, Trajectory):
        if given.n != 3:
            raise ModelError(f"{name}: its signal has {given.n} coordinates, expected 3 (x, y, z)")
        return given.expression
    return tuple(float(v) for v in numbers(name, given, 3))


def _breaks(*given: VectorSignal) -> tuple[float, ...]:
    return tuple(b for item in given for b in getattr(item, "breaks", ()))


def _profile(given: Mapping[str, ArrayLike] | None) -> Callable[[Array], Array] | None:
    if given is None:
        return None
    if not isinstance(given, Mapping) or set(given) != {"x", "factor"}:
        raise ModelError(f"profile: got {given!r}, expected a mapping with `x` and `factor`, lists of equal length")
    x = numbers("profile.x", given["x"])
    factor = numbers("profile.factor", given["factor"], len(x))
    if len(x) < 2 or not (np.diff(x) > 0).all():
        raise ModelError(f"profile.x: got {given['x']!r}, expected at least two rising stations in meters")
    return lambda stations: np.interp(stations, x, factor)
