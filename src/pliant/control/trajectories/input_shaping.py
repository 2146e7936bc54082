"""Input shaping: a command convolved with a few impulses, so that a vibration of known frequency cancels itself.

ZV (two impulses) cancels the vibration at the design frequency. ZVD (three) also makes its first derivative by
frequency zero. EI (three) leaves a chosen vibration at the design frequency and is the most robust. Convolved shapers
cancel several frequencies.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from pliant.arrays import AnglesLike, Array, Expression
from pliant.base.signatures import checked
from pliant.control.trajectories.trajectories import Trajectory, numbers, positive
from pliant.errors import ModelError
from pliant.model.model import Model
from pliant.model.robot import Robot, model_of
from pliant.options import ShaperName


@checked
@dataclass(frozen=True)
class Shaper:
    """Impulses `amplitudes` (k,) that sum to 1, at `times` (k,) from 0, in seconds.

    Parameters
    ----------
    times : tuple of float
        From 0, rising, s.
    amplitudes : tuple of float
        Their sum is 1.

    Examples
    --------
    >>> shaper = pliant.control.zv(frequency=2.0)
    >>> shaper.duration, shaper.amplitudes
    (0.25, (0.5, 0.5))
    >>> print(shaper.residual([2.0, 2.2]).round(3) + 0.0)
    [0.    0.156]
    """

    times: tuple[float, ...]
    amplitudes: tuple[float, ...]
    tunable: ClassVar = ("times", "amplitudes")

    def __post_init__(self) -> None:
        times, amplitudes = numbers("times", self.times), numbers("amplitudes", self.amplitudes)
        if len(times) != len(amplitudes) or times[0] != 0 or not (np.diff(times) > 0).all():
            raise ModelError(f"times: got {self.times}, expected one rising time per amplitude, from 0")
        if abs(amplitudes.sum() - 1) > 1e-9:
            raise ModelError(f"amplitudes: their sum is {amplitudes.sum()!r}, expected 1")

    @property
    def duration(self) -> float:
        """Time by which a shaped command is longer, s."""
        return self.times[-1]

    def __mul__(self, other: Shaper) -> Shaper:
        """Return the convolution, which cancels the frequencies of both."""
        grid: dict[float, float] = {}
        for t, a in zip(self.times, self.amplitudes):
            for s, b in zip(other.times, other.amplitudes):
                key = next((k for k in grid if abs(k - t - s) < 1e-12), t + s)
                grid[key] = grid.get(key, 0.0) + a * b
        times = sorted(grid)
        return Shaper(tuple(times), tuple(grid[t] for t in times))

    def residual(self, frequency: ArrayLike, damping: float = 0.0) -> Array:
        """Return the vibration after the last impulse, as a share of that after one impulse.

        Parameters
        ----------
        frequency : (...,) array
            Hz.
        damping : float
            Damping ratio of the vibration.

        Returns
        -------
        (...,) array
        """
        w = 2 * np.pi * np.asarray(frequency, dtype=float)[..., None]
        t, a = np.array(self.times), np.array(self.amplitudes)
        decay, wd = np.exp(-damping * w * (t[-1] - t)), w * np.sqrt(1 - damping**2)
        return np.asarray(np.abs((a * decay * np.exp(1j * wd * t)).sum(-1)))


def _half_period(frequency: float, damping: float) -> tuple[float, float]:
    """Return half the damped period, s, and the decay over it."""
    f = positive("frequency", frequency)
    if not 0 <= damping < 1:
        raise ModelError(f"damping: got {damping!r}, expected a ratio from 0 to below 1")
    root = np.sqrt(1 - damping**2)
    return float(1 / (2 * f * root)), float(np.exp(-damping * np.pi / root))


@checked
def zv(frequency: float, damping: float = 0.0) -> Shaper:
    """Return a ZV shaper, with zero vibration at `frequency`: two impulses half a period apart.

    Parameters
    ----------
    frequency : float
        Frequency of the vibration, Hz.
    damping : float
        Damping ratio, from 0 to below 1.

    Returns
    -------
    Shaper

    Examples
    --------
    >>> print(np.round(pliant.control.zv(2.0, damping=0.05).amplitudes, 4))
    [0.5392 0.4608]
    """
    half, K = _half_period(frequency, damping)
    return Shaper((0.0, half), (1 / (1 + K), K / (1 + K)))


@checked
def zvd(frequency: float, damping: float = 0.0) -> Shaper:
    """Return a ZVD shaper, with zero vibration and zero derivative by frequency: ZV convolved with itself.

    Parameters
    ----------
    frequency : float
        Frequency of the vibration, Hz.
    damping : float
        Damping ratio, from 0 to below 1.

    Returns
    -------
    Shaper
        Three impulses.

    Examples
    --------
    >>> pliant.control.zvd(2.0).amplitudes
    (0.25, 0.5, 0.25)
    """
    once = zv(frequency, damping)
    return once * once


@checked
def ei(frequency: float, damping: float = 0.0, tolerance: float = 0.05) -> Shaper:
    """Return an EI (extra-insensitive) shaper: a vibration of `tolerance` at `frequency`, zero on both sides of it.

    Without damping, amplitudes (1 + V)/4, (1 - V)/2, (1 + V)/4 are exact. With damping, each is weighed by its decay
    until the last impulse, so that the vibration there is the same function of frequency.

    Parameters
    ----------
    frequency : float
        Frequency of the vibration, Hz.
    damping : float
        Damping ratio, from 0 to below 1.
    tolerance : float
        Share of the vibration that is left at `frequency`, below 1.

    Returns
    -------
    Shaper
        Three impulses.

    Examples
    --------
    >>> print(pliant.control.ei(2.0, tolerance=0.05).residual(2.0).round(6))
    0.05
    """
    half, K = _half_period(frequency, damping)
    V = positive("tolerance", tolerance)
    if V >= 1:
        raise ModelError(f"tolerance: got {tolerance!r}, expected a share below 1")
    weights = np.array([(1 + V) / 4, (1 - V) / 2 * K, (1 + V) / 4 * K**2])
    weights /= weights.sum()
    return Shaper((0.0, half, 2 * half), tuple(float(w) for w in weights))


SHAPERS: dict[str, Callable[..., Shaper]] = {"zv": zv, "zvd": zvd, "ei": ei}


@checked
def shaper_for(
    model: Model | Robot,
    joints: AnglesLike,
    kind: ShaperName = "zvd",
    modes: int | Sequence[int] = 1,
    damping: float = 0.0,
    **options: float,
) -> Shaper:
    """Return a shaper for vibrations of the arm at rest in `joints`, its joints held.

    Parameters
    ----------
    model : Model or Robot
        The arm.
    joints : (m,)
        Positions at which the joints are held.
    kind : "zv", "zvd" or "ei"
    modes : int or sequence of int
        Number of the lowest frequencies to cancel, or their numbers from 1.
    damping : float
        Damping ratio of the vibrations.
    **options : float
        Further arguments of the shaper, such as `tolerance` of "ei".

    Returns
    -------
    Shaper
        For several modes the convolution of their shapers.

    Examples
    --------
    >>> shaper = pliant.control.shaper_for(pliant.load("two-link").model(), [0.0, 0.0], kind="zv", modes=2)
    >>> len(shaper.times)
    4
    """
    model = model_of(model)
    if kind not in SHAPERS:
        raise ModelError(f"kind: got {kind!r}, expected one of {', '.join(SHAPERS)}")
    f = model.frequencies(model.equilibrium(numbers("joints", joints, model.n_joints)))
    f = f[6 * model.layout.first :]  # a free base does not swing
    chosen = range(1, modes + 1) if isinstance(modes, int) else modes
    if not chosen or any(not 1 <= k <= len(f) for k in chosen):
        raise ModelError(f"modes: got {modes!r}, expected numbers from 1 to {len(f)}")
    shaper = Shaper((0.0,), (1.0,))
    for k in chosen:
        shaper = shaper * SHAPERS[kind](float(f[k - 1]), damping, **options)
    return shaper


@checked
class Shaped(Trajectory):
    """A trajectory convolved with a shaper: sum of A_k times the trajectory t_k seconds late.

    Parameters
    ----------
    trajectory : Trajectory
        Trajectory to shape.
    shaper : Shaper
        Impulses.

    Examples
    --------
    >>> move = pliant.control.Step([0.0], [1.0])
    >>> q, _, _ = pliant.control.Shaped(move, pliant.control.zv(2.0))([0.1, 0.3])
    >>> print(q[:, 0])
    [0.5 1. ]
    """

    tunable = ("trajectory", "shaper", "joints")

    def __init__(self, trajectory: Trajectory, shaper: Shaper) -> None:
        self.trajectory, self.shaper, self.n = trajectory, shaper, trajectory.n
        self.breaks = tuple(sorted({b + late for b in trajectory.breaks for late in shaper.times}))
        if trajectory.coordinates is not None:
            self.coordinates = trajectory.coordinates
        if trajectory.joints is not None:
            self.joints = Shaped(trajectory.joints, shaper)

    def expression(self, t: Expression) -> Expression:
        """Return (n, 1) positions."""
        parts = zip(self.shaper.times, self.shaper.amplitudes)
        return ca.SX(sum(amplitude * self.trajectory.expression(t - late) for late, amplitude in parts))
