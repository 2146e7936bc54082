"""Vibrations of an arm while a joint spins steadily: frequencies and damping over the speed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from pliant.analysis.poles import damping, followed, natural, require_vibrations, vibrations
from pliant.arrays import Array, Complex, StateLike
from pliant.base.signatures import checked
from pliant.control.trajectories.trajectories import numbers
from pliant.errors import ModelError
from pliant.mechanics.loads.wrenches import Load
from pliant.model.model import Model
from pliant.model.robot import Robot, model_of
from pliant.model.states import read_state

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from pliant.drawing.style import Paths


@dataclass(frozen=True)
class Campbell:
    """Vibrations of an arm whose `joint` spins at `speeds`; each column is one vibration, followed from speed to speed.

    Attributes
    ----------
    joint : str
        Joint that spins.
    speeds : (N,) array
        Speeds, rad/s, or m/s of a slide.
    values : (N, k) complex array
        Eigenvalues, 1/s: the one of each pair with positive imaginary part.

    Examples
    --------
    >>> robot = pliant.load("spin-up")
    >>> found = pliant.analysis.campbell(robot.model(), robot.links[0].name, np.linspace(0.0, 4.0, 5))
    >>> bool(found.frequencies[-1, 0] > found.frequencies[0, 0])  # spin stiffens
    True
    """

    joint: str
    speeds: Array
    values: Complex

    @property
    def frequencies(self) -> Array:
        """(N, k) natural frequencies, Hz."""
        return natural(self.values)

    @property
    def damping(self) -> Array:
        """(N, k) damping ratios, negative for growing vibrations."""
        return damping(self.values)

    def crossings(self, order: float = 1.0) -> list[tuple[int, float]]:
        """Vibrations, and speeds at which they oscillate `order` times per turn, interpolated linearly.

        Parameters
        ----------
        order : float
            Oscillations per turn.

        Returns
        -------
        list of (int, float)
            Number of the vibration, from 0, and speed in rad/s.

        Examples
        --------
        >>> swings = 2j * np.pi * np.array([[2.0], [2.0]])  # 2 Hz, whatever the speed
        >>> pliant.analysis.Campbell("arm", np.array([0.0, 8 * np.pi]), swings).crossings()
        [(0, 12.566370614359172)]
        """
        away = self.frequencies - order * np.abs(self.speeds)[:, None] / (2 * np.pi)
        found = []
        for row, k in zip(*np.nonzero(np.sign(away[:-1]) * np.sign(away[1:]) <= 0)):
            before, after = away[row, k], away[row + 1, k]
            if after != 0 or before != 0:
                share = before / (before - after) if before != after else 0.0
                speed = self.speeds[row] + share * (self.speeds[row + 1] - self.speeds[row])
                found.append((int(k), float(speed)))
        return sorted(set(found), key=lambda one: one[1])

    def plot(self, orders: Sequence[int] = (1, 2, 3), count: int | None = None, path: Paths = None) -> Figure:
        """Draw the Campbell diagram: frequencies and damping over the speed, with lines of oscillations per turn.

        Parameters
        ----------
        orders : sequence of int
            Oscillations per turn.
        count : int, optional
            Number of vibrations; all by default.
        path : str, path or list of them, optional
            File to write.

        Returns
        -------
        matplotlib.figure.Figure

        Examples
        --------
        >>> swings = 2j * np.pi * np.array([[2.0], [2.1]])
        >>> figure = pliant.analysis.Campbell("arm", np.array([0.0, 10.0]), swings).plot(orders=(1,))
        >>> len(figure.axes)
        2
        """
        from pliant.analysis.map_figures import campbell_figure

        return campbell_figure(self, tuple(orders), count, path)


@checked
def campbell(
    model: Model | Robot,
    joint: str,
    speeds: ArrayLike,
    at: StateLike | None = None,
    loads: Sequence[Load] = (),
    p: ArrayLike | None = None,
) -> Campbell:
    """Vibrations about steady spins of a joint: joints and motors keep their speeds, and the rest of the arm vibrates.

    At every speed the arm is bent by the spin (`Model.equilibrium`), and linearized there with damping and gyroscopic
    terms. A spin that is not steady, such as one about a level axis under gravity, is refused.

    Parameters
    ----------
    model : Model or Robot
        The arm. Spin stiffens it if its `stiffening` is of second order or more.
    joint : str
        Name of the joint that spins; its motor where the drive is elastic.
    speeds : (N,) array
        Rising speeds, rad/s; 2 or more, close enough to follow a vibration from one to the next.
    at : positions of the joints, optional
        Positions for `Model.equilibrium`; the straight arm by default.
    loads : sequence of Load
        Objects of `pliant.loads`, taken at t = 0.
    p : (P,) array, optional
        Values of the model's parameters; nominal by default.

    Returns
    -------
    Campbell

    Examples
    --------
    >>> model = pliant.load("spin-up").model()
    >>> pliant.analysis.campbell(model, model.joints[0], [0.0, 2.0, 4.0]).frequencies.shape[0]
    3
    """
    model = model_of(model)
    rates = numbers("speeds", speeds)
    if len(rates) < 2 or not (np.diff(rates) > 0).all():
        raise ModelError("speeds: expected two or more finite numbers (N,) that rise")
    if joint not in model.joints:
        raise ModelError(f"joint: got {joint!r}, expected one of {', '.join(model.joints)}")
    pose = read_state(model, at)[model.layout.shaft_places()]
    found = [_about(model, pose, {joint: float(rate)}, loads, p) for rate in rates]
    require_vibrations(found[0][0])
    return Campbell(joint, rates, followed(found))


def _about(
    model: Model, pose: Array, spin: dict[str, float], loads: Sequence[Load], p: ArrayLike | None
) -> tuple[Complex, Complex]:
    q = model.equilibrium(pose, loads, p, "motors" if model.layout.driven else "joints", spin)
    qd = read_state(model, spin, "qd")
    return vibrations(model.linearize(q, qd, loads=loads, joints="locked", p=p).A)
