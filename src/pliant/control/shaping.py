"""Input shaping: a command convolved with a few impulses, so that a vibration of known frequency cancels itself.

ZV (two impulses) cancels at the design frequency, ZVD (three) also in the first derivative, EI (three) leaves a chosen
vibration at the design frequency and is the most robust. Several frequencies are served by convolving shapers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from pliant.arrays import Array, Expression
from pliant.control.trajectories import Trajectory, numbers, positive
from pliant.errors import ModelError
from pliant.model import Model
from pliant.options import ShaperName
from pliant.signatures import checked


@checked
@dataclass(frozen=True)
class Shaper:
    """Impulses `amplitudes` (k,) that sum to 1, at `times` (k,) from 0, in seconds."""

    times: tuple[float, ...]
    amplitudes: tuple[float, ...]

    def __post_init__(self) -> None:
        times, amplitudes = numbers("times", self.times), numbers("amplitudes", self.amplitudes)
        if len(times) != len(amplitudes) or times[0] != 0 or not (np.diff(times) > 0).all():
            raise ModelError(f"times: got {self.times}, expected one rising time per amplitude, from 0")
        if abs(amplitudes.sum() - 1) > 1e-9:
            raise ModelError(f"amplitudes: their sum is {amplitudes.sum()!r}, expected 1")

    @property
    def duration(self) -> float:
        """By how much a shaped command is longer, seconds."""
        return self.times[-1]

    def __mul__(self, other: Shaper) -> Shaper:
        """Convolution: the shaper that serves the frequencies of both."""
        grid: dict[float, float] = {}
        for t, a in zip(self.times, self.amplitudes):
            for s, b in zip(other.times, other.amplitudes):
                key = next((k for k in grid if abs(k - t - s) < 1e-12), t + s)
                grid[key] = grid.get(key, 0.0) + a * b
        times = sorted(grid)
        return Shaper(tuple(times), tuple(grid[t] for t in times))

    def residual(self, frequency: ArrayLike, damping: float = 0.0) -> Array:
        """Vibration left after the last impulse, as a share of that of one impulse; `frequency` in Hz."""
        w = 2 * np.pi * np.asarray(frequency, dtype=float)[..., None]
        t, a = np.array(self.times), np.array(self.amplitudes)
        decay, wd = np.exp(-damping * w * (t[-1] - t)), w * np.sqrt(1 - damping**2)
        return np.asarray(np.abs((a * decay * np.exp(1j * wd * t)).sum(-1)))


def _half_period(frequency: float, damping: float) -> tuple[float, float]:
    """Half the damped period (s) and the decay over it."""
    f = positive("frequency", frequency)
    if not 0 <= damping < 1:
        raise ModelError(f"damping: got {damping!r}, expected a ratio from 0 to below 1")
    root = np.sqrt(1 - damping**2)
    return float(1 / (2 * f * root)), float(np.exp(-damping * np.pi / root))


@checked
def zv(frequency: float, damping: float = 0.0) -> Shaper:
    """Zero vibration at `frequency` (Hz): two impulses half a period apart."""
    half, K = _half_period(frequency, damping)
    return Shaper((0.0, half), (1 / (1 + K), K / (1 + K)))


@checked
def zvd(frequency: float, damping: float = 0.0) -> Shaper:
    """Zero vibration and zero derivative in frequency: ZV convolved with itself."""
    once = zv(frequency, damping)
    return once * once


@checked
def ei(frequency: float, damping: float = 0.0, tolerance: float = 0.05) -> Shaper:
    """Extra-insensitive: a vibration of `tolerance` at `frequency`, zero on either side of it.

    The undamped one is exact, amplitudes (1 + V)/4, (1 - V)/2, (1 + V)/4. With damping the impulses are those whose
    vibration, counted at the time of the last one, is the same function of frequency: each is weighed by its decay.
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
    model: Model,
    joints: ArrayLike,
    kind: ShaperName = "zvd",
    modes: int | Sequence[int] = 1,
    damping: float = 0.0,
    **options: Any,
) -> Shaper:
    """A shaper for vibrations of the arm at rest in `joints`, its joints held.

    `modes` is how many of the lowest frequencies to serve, or their numbers from 1.
    """
    if kind not in SHAPERS:
        raise ModelError(f"kind: got {kind!r}, expected one of {', '.join(SHAPERS)}")
    f = model.frequencies(model.equilibrium(numbers("joints", joints, model.n_joints)))
    chosen = range(1, modes + 1) if isinstance(modes, int) else modes
    if not chosen or any(not 1 <= k <= len(f) for k in chosen):
        raise ModelError(f"modes: got {modes!r}, expected numbers from 1 to {len(f)}")
    shaper = Shaper((0.0,), (1.0,))
    for k in chosen:
        shaper = shaper * SHAPERS[kind](float(f[k - 1]), damping, **options)
    return shaper


@checked
class Shaped(Trajectory):
    """A trajectory convolved with a shaper: sum of A_k times the trajectory t_k seconds late."""

    def __init__(self, trajectory: Trajectory, shaper: Shaper) -> None:
        self.trajectory, self.shaper, self.n = trajectory, shaper, trajectory.n
        self.breaks = tuple(sorted({b + late for b in trajectory.breaks for late in shaper.times}))

    def expression(self, t: Expression) -> Expression:
        """(n, 1) positions."""
        parts = zip(self.shaper.times, self.shaper.amplitudes)
        return ca.SX(sum(amplitude * self.trajectory.expression(t - late) for late, amplitude in parts))
