"""Input shapers whose frequencies follow the pose, on the way along a path.

A shaper delays parts of a motion by halves of a period. Where the frequency changes with the pose, it does so in the
phase of the vibration, phi = integral of omega(u) dt, in which periods are all alike: the way u as a function of phi is
convolved with the impulses, and the time follows from dt = d phi / omega(u). One pass serves one vibration.
"""

from __future__ import annotations

import numpy as np

from pliant.arrays import Array
from pliant.control.planning.joint_paths import DENSE, JointPath, Progress, smooth
from pliant.control.planning.residual_vibration import rest_behind
from pliant.control.trajectories.input_shaping import zv, zvd
from pliant.model.model import Model

POSES = 7
"""At which frequencies are found along a path."""


def frequencies_along(model: Model, path: JointPath, count: int) -> tuple[Array, Array]:
    """Shares of the way (POSES,) and the lowest frequencies there (POSES, count), motors held, Hz."""
    u = np.linspace(0.0, 1.0, POSES)
    rows = [model.frequencies(rest_behind(model, q))[6 * model.layout.first :] for q in path.at(u)]
    return u, np.array([[f for f in row if f > 0][:count] for row in rows])


def followed(progress: Progress, u: Array, hertz: Array, robust: bool) -> Progress:
    """A motion shaped for a vibration of `hertz` (P,) at shares `u` (P,) of the way."""
    period_phase = zvd(1.0) if robust else zv(1.0)  # phases in periods
    phase = _integral(progress.t, smooth(u, hertz, progress.u))
    whole = np.linspace(0.0, phase[-1] + period_phase.duration, 2 * DENSE)
    way = np.zeros_like(whole)
    for late, amplitude in zip(period_phase.times, period_phase.amplitudes):
        way += amplitude * smooth(phase, progress.u, whole - late)
    t = _integral(whole, 1 / smooth(u, hertz, way))
    even = np.linspace(0.0, t[-1], DENSE)
    return Progress(even, smooth(t, way, even))


def _integral(x: Array, y: Array) -> Array:
    """(N,) by trapezia, from 0."""
    return np.append(0.0, np.cumsum((y[1:] + y[:-1]) / 2 * np.diff(x)))
