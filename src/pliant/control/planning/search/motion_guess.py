"""First guess of a search, and a lower bound of its duration.

The guess moves the joints on a smooth path, with all other coordinates in static balance with the forces of that
motion. The bound is the shortest time of the stiff arm.
"""

from __future__ import annotations

import numpy as np

from pliant.arrays import Array
from pliant.control.planning.search.motion_forces import ArmForces, StiffArmForces
from pliant.control.planning.search.motion_grid import MotionGrid
from pliant.control.planning.search.motion_response import Driven, DrivenMotion
from pliant.control.planning.search.motion_search import LEAST_TIME, MotionSearch, Unsolved
from pliant.control.planning.search.time_limited import Watch
from pliant.errors import PliantError
from pliant.model.model import Model

SAMPLES = 161
"""Points at which the deflection of the first guess is computed."""
STIFF_INTERVALS, STIFF_DEGREE = 12, 2
"""Grid of the search for the stiff arm."""
STIFF_STARTS = (0.7, 1.3)
"""Durations at which searches for the stiff arm begin, over that of cycloids of each joint alone: a single search may
find a local minimum."""
SAFE = 0.9
"""Lower bound of the duration as a share of the stiff arm's shortest time: modes may help a little."""


def first_guess(
    model: Model, grid: MotionGrid, start: Array, goal: Array, duration: float
) -> tuple[Driven, DrivenMotion]:
    """Return the arm on its grid, and a guess: joints on a quintic path, other coordinates in static balance with the
    forces of that motion.

    Parameters
    ----------
    model : Model
    grid : MotionGrid
    start, goal : (n,) array
        Coordinates at rest.
    duration : float
        Seconds.

    Raises
    ------
    PliantError
        The arm has no response to this motion.
    """
    from scipy.interpolate import make_interp_spline

    arm = ArmForces(model)
    s = np.linspace(0, 1, SAMPLES)
    law, rate, acceleration = _quintic(s)
    shafts, travel = model.layout.shafts, goal - start
    joints = [shaft.index for shaft in shafts]
    moving = np.zeros(model.n)
    for shaft in shafts:
        moving[[shaft.index, shaft.actuated]] = travel[shaft.index]
    q, qd = start + law * travel, rate * moving / duration
    qdd = acceleration * moving / duration**2
    bent, free = [k for k in range(model.n) if k not in joints], list(grid.free)
    for _ in range(2 if free else 0):
        F, by, *_ = arm.slopes(q, qd, qdd)
        q[:, bent] -= np.linalg.solve(by[:, free][:, :, bent], F[:, free, None])[..., 0]
    spline = make_interp_spline(s, q, k=5)
    nodes = np.linspace(0, 1, grid.intervals + 1)
    local = np.zeros((grid.intervals, grid.width))
    local[:, : 2 * grid.n] = np.concatenate([spline(nodes[:-1]), spline(nodes[:-1], 1)], axis=1)
    local[:, grid.inner] = spline(grid.shares, 2)[..., free].reshape(grid.intervals, -1)
    a = spline(nodes, 2)[:, list(grid.actuated)]
    a[[0, -1]] = 0
    driven = Driven(arm, grid, start)
    try:
        return driven, driven.response(a, duration, local)
    except ArithmeticError:
        raise PliantError(
            f"rest_to_rest: the arm does not follow a plain motion of {duration:g} s; give it more time, or more "
            "intervals"
        ) from None


def _quintic(s: Array) -> tuple[Array, Array, Array]:
    """Return shares of the way (N, 1) at shares s (N,) of the duration, and their first and second derivatives."""
    s = s[:, None]
    return s**3 * (10 - 15 * s + 6 * s**2), 30 * s**2 * (1 - s) ** 2, 60 * s * (1 - s) * (1 - 2 * s)


def stiff_shortest_time(
    model: Model, start: Array, goal: Array, limit: Array, watch: Watch | None = None
) -> float | None:
    """Return the shortest time, s, between coordinates at rest (n,) with stiff links and drives, torques within `limit`
    (m,); None if no search finds it."""
    arm = StiffArmForces(model)
    joints = [shaft.index for shaft in model.layout.shafts]
    a, b = start[joints], goal[joints]
    travel, still = b - a, np.zeros(arm.n)
    (F_a, _, _, M_a), (F_b, _, _, M_b) = (arm.slopes(q, still, still) for q in (a, b))
    held, inertia = np.maximum(np.abs(F_a), np.abs(F_b)), np.maximum(np.diag(M_a), np.diag(M_b))
    if (held >= limit).any() or not travel.any():
        return None
    spare = np.maximum(limit - held, 0.1 * limit)
    T = float(np.sqrt(2 * np.pi * np.abs(travel) * inertia / spare).max())  # cycloids of each joint alone
    grid = MotionGrid(arm.n, tuple(arm.actuated), STIFF_INTERVALS, STIFF_DEGREE)
    driven = Driven(arm, grid, a)
    command = _quintic(np.linspace(0, 1, grid.intervals + 1))[2] * travel
    silent = Watch() if watch is None else Watch(watch.time_limit, None, watch.began)
    found = (
        _shortest_from(driven, command, T=factor * T, goal=b, limit=limit, watch=silent) for factor in STIFF_STARTS
    )
    return min((each for each in found if each is not None), default=None)


def _shortest_from(
    driven: Driven, command: Array, *, T: float, goal: Array, limit: Array, watch: Watch
) -> float | None:
    """Return the shortest time from a guess of T seconds with accelerations d2q/ds2 `command` (N + 1, m); None if the
    search does not converge."""
    try:
        guess = driven.response(command, T, np.zeros((driven.grid.intervals, driven.grid.width)))
        found, _, least = MotionSearch(driven, guess, goal=goal, limit=limit, aim=LEAST_TIME, jumps=True).solve(watch)
    except (ArithmeticError, Unsolved):
        return None
    return found.T if least else None
