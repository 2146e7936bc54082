"""Residual vibration: amplitude of the tip after a command has ended."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pliant.arrays import Array
from pliant.base.signatures import checked
from pliant.control.trajectories.trajectories import Trajectory, positive
from pliant.errors import ModelError
from pliant.model.model import Model
from pliant.model.robot import Robot, model_of
from pliant.simulation.runs.results import Result
from pliant.simulation.runs.simulation import simulate

SAMPLES = 50
"""Rows of the run for each period of the slowest vibration."""
MOST_ROWS = 20_000
"""Rows of the run at most."""


@dataclass(frozen=True)
class Residual:
    """Run under a command, and the vibration after its end.

    Attributes
    ----------
    peak : float
        Largest distance of the tip from its place at rest after the end of the command, m.
    duration : float
        Duration of the command, s.
    frequency : float
        Lowest natural frequency of the arm at the end with motors held, Hz; 0 if nothing bends.
    run : Result
        From the start until `periods` of that frequency after the end.
    rest : (3,) array
        Place of the tip at rest.
    """

    peak: float
    duration: float
    frequency: float
    run: Result
    rest: Array

    @property
    def distance(self) -> Array:
        """(N,) distance of the tip from its place at rest at the times of the run, m."""
        return np.asarray(np.linalg.norm(self.run.tip - self.rest, axis=1))


@checked
def residual_vibration(model: Model | Robot, trajectory: Trajectory, duration: float, periods: float = 3.0) -> Residual:
    """Return the vibration of the tip after a command, which motors (or joints, where drives are stiff) follow exactly.

    The arm begins at rest where the command begins. After `duration` the motors stand still, and the run goes on for
    some periods of the lowest frequency. With a free base, whose final place is not prescribed, the place of the tip at
    rest is the mean over that time.

    Parameters
    ----------
    model : Model or Robot
        The arm.
    trajectory : Trajectory
        Motion of all motors, and of joints without one, in the order of the joints.
    duration : float
        End of the motion, s.
    periods : float
        Number of periods of the lowest frequency after the end.

    Returns
    -------
    Residual

    Examples
    --------
    >>> model = pliant.load("two-link").model()
    >>> move = pliant.control.Cycloidal([0.0, 0.0], [0.3, 0.2], 0.5)
    >>> found = pliant.planning.residual_vibration(model, move, 0.5)
    >>> found.peak > 0.01, round(found.frequency, 1)
    (True, 2.1)
    """
    model = model_of(model)
    end, watched = positive("duration", duration), positive("periods", periods)
    if trajectory.n != model.n_joints:
        raise ModelError(f"trajectory: it moves {trajectory.n} coordinates, expected {model.n_joints}")
    begin, goal = (rest_behind(model, trajectory(t)[0]) for t in (0.0, end))
    found = model.frequencies(goal)[6 * model.layout.first :]
    slowest = next((float(f) for f in found if f > 0), 0.0)
    more = watched / slowest if slowest else 0.1 * end
    step = max(min(1 / (SAMPLES * slowest) if slowest else end, end / 200), (end + more) / MOST_ROWS)
    run = simulate(
        model, end + more, q0=begin, motion=trajectory.motion(model, commanded(model)), output_step=step, limits=False,
        progress=False,
    )  # fmt: skip
    after = run.tip[run.t >= end]
    rest = after.mean(axis=0) if model.robot.base.is_free else model.tip_pose(goal)[:3, 3]
    peak = float(np.linalg.norm(after - rest, axis=1).max())
    return Residual(peak=peak, duration=end, frequency=slowest, run=run, rest=rest)


def commanded(model: Model) -> tuple[str, ...]:
    """Return the names of the coordinates that a command moves: motors of elastic drives, and joints elsewhere."""
    from pliant.control.controllers.controller import actuated_names

    return actuated_names(model)


def rest_behind(model: Model, positions: Array) -> Array:
    """Return coordinates (n_q,) at rest with the motors (or joints) at these positions (m,)."""
    if model.layout.is_open:
        return model.equilibrium(positions, held="motors")
    given = dict(zip(commanded(model), positions.tolist()))
    return model.equilibrium(model.assemble(given, held=list(given)), held="motors")
