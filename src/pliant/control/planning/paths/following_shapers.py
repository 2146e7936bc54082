"""Input shapers along a path, whose frequency follows the pose.

A shaper delays parts of a motion by halves of a period. If the frequency f(u) changes along the way u, it delays them
in the phase of the vibration, phi = integral of f(u) dt, in which all periods are equal: the way as a function of phi
is convolved with the impulses, and the time follows from dt = d phi / f(u). One pass cancels one vibration.
"""

from __future__ import annotations

import numpy as np

from pliant.arrays import Array
from pliant.control.planning.paths.joint_paths import DENSE, JointPath, Progress, smooth
from pliant.control.planning.residual_vibration import rest_behind
from pliant.control.trajectories.input_shaping import zv, zvd
from pliant.model.model import Model

POSES = 7
"""Poses along a path at which frequencies are computed."""


def frequencies_along(model: Model, path: JointPath, count: int) -> tuple[Array, Array]:
    """Return shares of the way (POSES,), and the `count` lowest frequencies there (POSES, count), motors held, Hz."""
    u = np.linspace(0.0, 1.0, POSES)
    rows = [model.frequencies(rest_behind(model, q))[6 * model.layout.first :] for q in path.at(u)]
    return u, np.array([[f for f in row if f > 0][:count] for row in rows])


def followed(progress: Progress, u: Array, hertz: Array, robust: bool) -> Progress:
    """Return a progress shaped for a vibration of frequency `hertz` (P,), Hz, at shares `u` (P,) of the way; `robust`
    takes a ZVD shaper instead of ZV."""
    shaper = zvd(1.0) if robust else zv(1.0)  # its times are phases, in periods
    phase = _integral(progress.t, smooth(u, hertz, progress.u))
    whole = np.linspace(0.0, phase[-1] + shaper.duration, 2 * DENSE)
    way = np.zeros_like(whole)
    for delay, amplitude in zip(shaper.times, shaper.amplitudes):
        way += amplitude * smooth(phase, progress.u, whole - delay)
    t = _integral(whole, 1 / smooth(u, hertz, way))
    even = np.linspace(0.0, t[-1], DENSE)
    return Progress(even, smooth(t, way, even))


def _integral(x: Array, y: Array) -> Array:
    """Return (N,) the integral of y over x from the first sample on, by the trapezoidal rule."""
    return np.append(0.0, np.cumsum((y[1:] + y[:-1]) / 2 * np.diff(x)))
