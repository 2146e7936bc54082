"""Clamped-mass modes whose load depends on the configuration: roots beta(M, J, D) of the frequency equation, traced.

The mass M beyond a tip does not change; J and D turn with the outer joints. The roots are computed once and fitted: by
a Fourier series in the angle where one joint matters, else by a double Chebyshev series over the range of log J and of
d = D / sqrt(M J), which is in [-1, 1] for every body. Newton steps in the trace make them exact: [TG95] Section 4.2,
without integrating (38) beside the motion.

Notes
-----
Every smooth beta(q) conserves energy; Newton makes it the root. The signs of the modes are those of the straight arm.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import casadi as ca
import numpy as np
from numpy.polynomial import chebyshev
from numpy.typing import NDArray

from pliant.algebra.rotations import SX
from pliant.arrays import Array
from pliant.errors import UnsupportedModel
from pliant.mechanics.shapes.roots import CLAMPED, Products, clamped_mass_roots
from pliant.mechanics.sliding.sliding_modes import clenshaw, family

HARMONICS = (4, 8, 16, 32, 64)
DEGREES = (4, 7, 11, 17, 25)
CLOSE = 1e-3  # of a root, before Newton: three steps leave 1e-16 of it and of its derivatives
NEWTON_STEPS = 3
MARGIN = 0.02  # of the range, beyond what was sampled
TOO_CLOSE = (
    "tip_load: track: two frequencies of the loaded beam come too close to follow over the motions of the outer "
    "joints; give these joints limits, take fewer modes, or use tip_load: auto"
)

NO_INERTIA = (
    "tip_load: track: in some position of the outer joints all mass beyond the link lies on the axis about which its "
    "tip turns; give the bodies there an inertia, give these joints limits, or use tip_load: auto"
)


class Guess(Protocol):
    """Roots of the frequency equation, close enough for Newton's method."""

    def __call__(self, outer: SX, J: SX, D: SX, mode: int) -> SX:
        """Root number `mode` at the positions of the outer joints, where the load has J and D."""


@dataclass(frozen=True)
class TrackedModes:
    """Modes of one bending plane under a load of constant M and varying J, D, all in units of the beam.

    Attributes
    ----------
    count : int
    M : float
    guess : Guess
    sample : (float, float)
        J and D at which the signs of the modes are chosen: psi(1) > 0 there.
    normalize : "unit" or "tip"
    """

    count: int
    M: float
    guess: Guess
    sample: tuple[float, float]
    normalize: str = "unit"

    def at(self, outer: SX, J: SX, D: SX) -> LoadedModes:
        """The modes in one configuration, where the load has J and D."""
        betas = [self._root(outer, J, D, mode) for mode in range(self.count)]
        shapes = [self._shape(beta, J, D, sign) for beta, sign in zip(betas, self._signs)]
        bents, scales, norms = (list(column) for column in zip(*shapes))
        return LoadedModes(betas, bents, scales, norms)

    def _root(self, outer: SX, J: SX, D: SX, mode: int) -> SX:
        beta = self.guess(outer, J, D, mode)
        for _ in range(NEWTON_STEPS):
            beta = self._newton(beta, J, D)
        return beta

    def _frequency_function(self, beta: SX, J: SX, D: SX) -> SX:
        """Left side of [TG95] (11) over cosh beta."""
        decay = ca.exp(-beta)
        one, t = 2 * decay / (1 + decay**2), (1 - decay**2) / (1 + decay**2)  # 1/cosh, tanh
        c, s = ca.cos(beta), ca.sin(beta)
        terms = CLAMPED.terms(beta, Products(one + c, one - c, c, s - c * t, s + c * t, s * t))
        return sum(w * term for w, term in zip((1.0, self.M * J - D**2, self.M, J, D), terms))

    @cached_property
    def _newton(self) -> ca.Function:
        beta, J, D = ca.SX.sym("beta"), ca.SX.sym("J"), ca.SX.sym("D")
        f = self._frequency_function(beta, J, D)
        return ca.Function("newton", [beta, J, D], [beta - f / ca.jacobian(f, beta)])

    def _shape(self, beta: SX, J: SX, D: SX, sign: float) -> tuple[SX, SX, SX]:
        """1 + nu, C and N = int psi^2 plus the load: as in `sliding_modes`, at length 1."""
        c, s, decay, growth = ca.cos(beta), ca.sin(beta), ca.exp(-beta), ca.exp(beta)
        cosh, sinh = (growth + decay) / 2, (growth - decay) / 2
        upper = s - c - decay - beta**2 * (J * beta * (decay - s - c) + D * (c - s - decay))
        bent = upper / (s + sinh + beta**2 * (J * beta * (c - cosh) + D * (s - sinh)))
        y, y1, y2, y3 = (beta**k * value for k, value in enumerate(family(beta, bent)))
        square = y**2 / 4 + (3 * y * y3 - 2 * y1 * y3 - y1 * y2 + y2**2) / (4 * beta**4)
        scale = sign / ca.sqrt(square) if self.normalize == "unit" else 1 / y
        return bent, scale, scale**2 * (square + self.M * y**2 + 2 * D * y * y1 + J * y1**2)

    @cached_property
    def _signs(self) -> list[float]:
        beta = ca.SX.sym("beta")
        bent, _, _ = self._shape(beta, *self.sample, 1.0)
        tip = ca.Function("tip", [beta], [family(beta, bent)[0]])
        return [1.0 if float(tip(root)) > 0 else -1.0 for root in roots(self.count, self.M, *self.sample)]


@dataclass(frozen=True)
class LoadedModes:
    """Modes under one load: beta, 1 + nu, C and N of each."""

    beta: list[SX]
    bent: list[SX]
    scale: list[SX]
    norm: list[SX]

    def values(self, eta: float) -> list[SX]:
        """psi at a station."""
        return [family(b * eta, n)[0] * C for b, n, C in zip(self.beta, self.bent, self.scale)]

    def slopes(self, eta: float) -> list[SX]:
        """d psi / d eta at a station."""
        return [family(b * eta, n)[1] * C * b for b, n, C in zip(self.beta, self.bent, self.scale)]


@dataclass(frozen=True)
class AngleGuess:
    """Fourier series over the angle of the one joint that matters: coefficients (count, 2 n + 1), complex."""

    series: NDArray[np.complex128]

    def __call__(self, outer: SX, J: SX, D: SX, mode: int) -> SX:
        mean, *waves = self.series[mode]
        c, s = ca.cos(outer[0]), ca.sin(outer[0])
        cn, sn, total = ca.SX(1), ca.SX(0), ca.SX(float(mean.real))
        for wave in waves:
            cn, sn = cn * c - sn * s, sn * c + cn * s
            total += 2 * (float(wave.real) * cn - float(wave.imag) * sn)
        return total


def angle_guess(load: Callable[[Array], tuple[Array, Array]], count: int, M: float) -> AngleGuess:
    """Fit the roots over a turn of the joint; `load` gives J and D at angles."""

    def at(angles: Array) -> Array:
        return np.array([roots(count, M, float(J), float(D)) for J, D in zip(*load(angles))]).T

    for n in HARMONICS:
        step = 2 * np.pi / (2 * n + 1)
        angles: Array = step * np.arange(2 * n + 1, dtype=float)
        series = np.fft.rfft(at(angles)) / (2 * n + 1)
        waves = np.exp(1j * np.outer(np.arange(1, n + 1), angles + step / 2))
        between: Array = series[:, :1].real + 2 * (series[:, 1:] @ waves).real
        if np.abs(between - at(angles + step / 2)).max() < CLOSE:
            return AngleGuess(series)
    raise UnsupportedModel(TOO_CLOSE)


@dataclass(frozen=True)
class LoadGuess:
    """Double Chebyshev series (count, degree + 1, degree + 1) over the ranges of log J and of d = D / sqrt(M J)."""

    M: float
    log_J: tuple[float, float]
    d: tuple[float, float]
    series: Array

    def __call__(self, outer: SX, J: SX, D: SX, mode: int) -> SX:
        x, y = _unit(ca.log(J), self.log_J), _unit(D / ca.sqrt(self.M * J), self.d)
        return clenshaw_of([clenshaw(row, y) for row in self.series[mode]], x)


def load_guess(J: Array, D: Array, count: int, M: float) -> LoadGuess:
    """Fit the roots over the range of sampled loads."""
    if J.min() < 1e-12 * J.max():
        raise UnsupportedModel(NO_INERTIA)
    log_J, d = _widened(np.log(J)), _widened(D / np.sqrt(M * J), -1.0, 1.0)

    def grid(points: Array) -> Array:
        loads = [[(J, d * np.sqrt(M * J)) for d in _range(points, d)] for J in np.exp(_range(points, log_J))]
        return np.array([[roots(count, M, *map(float, load)) for load in row] for row in loads]).transpose(2, 0, 1)

    for degree in DEGREES:
        nodes = np.cos(np.pi * (np.arange(degree + 1) + 0.5) / (degree + 1))
        checks = np.cos(np.pi * np.arange(degree + 2) / (degree + 1))
        series = np.stack([_fit(values, nodes, degree) for values in grid(nodes)])
        if np.abs(np.stack([chebyshev.chebgrid2d(checks, checks, c) for c in series]) - grid(checks)).max() < CLOSE:
            return LoadGuess(M, log_J, d, series)
    raise UnsupportedModel(TOO_CLOSE)


def roots(count: int, M: float, J: float, D: float) -> Array:
    """Roots under one load, by counting and bisection."""
    bound = np.sqrt(M * J)
    return clamped_mass_roots(count, M, J, float(np.clip(D, -bound, bound)))


def _widened(values: Array, low: float = -np.inf, high: float = np.inf) -> tuple[float, float]:
    """The range of the values and a little more; never empty, so that a constant can be fitted too."""
    least, most = float(values.min()), float(values.max())
    room = MARGIN * (most - least) + 1e-6 * max(abs(least), abs(most), 1e-3)
    return max(least - room, low), min(most + room, high)


def _fit(values: Array, nodes: Array, degree: int) -> Array:
    """(degree + 1, degree + 1) Chebyshev coefficients of values on the grid of nodes."""
    along = chebyshev.chebfit(nodes, values, degree)
    return np.asarray(chebyshev.chebfit(nodes, along.T, degree).T)


def clenshaw_of(coefficients: list[SX], z: SX) -> SX:
    """Chebyshev series at z whose coefficients are expressions."""
    b1, b2 = ca.SX(0), ca.SX(0)
    for a in coefficients[:0:-1]:
        b1, b2 = a + 2 * z * b1 - b2, b1
    return coefficients[0] + z * b1 - b2


def _unit(x: SX, span: tuple[float, float]) -> SX:
    return (2 * x - (span[0] + span[1])) / (span[1] - span[0])


def _range(z: Array, span: tuple[float, float]) -> Array:
    return np.asarray((span[0] + span[1] + z * (span[1] - span[0])) / 2)
