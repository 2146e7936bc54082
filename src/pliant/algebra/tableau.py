"""Runge-Kutta and Rosenbrock tableaux: integration methods as data that checks itself when it is made.

The checks refuse a change in any of the first eight digits of any coefficient. They are sums of a few products with a
limit on their rounding errors, or conditions in exact rational arithmetic. No check depends on the order in which a
processor adds. All conditions up to the full order are proven in exact arithmetic in ``tests/integrators``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import factorial
from typing import TypeVar

import numpy as np

from pliant.arrays import Array

X = TypeVar("X", float, Array)

EPS = float(np.finfo(np.float64).eps)
NONE: Array = np.empty(0)
TYPED = 1e-12
"""Defect allowed to sums without rounding: coefficients of order one to a hundred, typed with 16 digits."""


def _check(name: str, what: str, terms: Array) -> None:
    """Refuse a tableau whose `terms` do not add up to zero along the first axis.

    A sum of n terms, added in any order, each a product of two coefficients rounded to 53 bits, is off by less than
    (n + 2) EPS / 2 times the sum of their magnitudes. The limit is four times that: no machine can exceed it, and it
    lies far below a unit in the eighth digit of a coefficient.
    """
    limit = 2.0 * (len(terms) + 2) * EPS * np.abs(terms).sum(axis=0)
    defect = np.abs(terms.sum(axis=0))
    if not (defect <= limit).all():
        raise ValueError(f"tableau {name}: {what} violated by {defect.max():.1e}, limit {limit.max():.0e}")


def _dot(a: Sequence[Fraction], b: Sequence[Fraction]) -> Fraction:
    return sum((x * y for x, y in zip(a, b)), Fraction(0))


def _freeze(*arrays: Array) -> None:
    for array in arrays:
        array.setflags(write=False)


def rows(size: int, entries: dict[int, dict[int, float]]) -> Array:
    """Matrix from its nonzero entries, each row a dict {column: value}."""
    matrix = np.zeros((size, size))
    for i, row in entries.items():
        for j, value in row.items():
            matrix[i, j] = value
    return matrix


def nested_dense(b: Array, last: int, extra: Array) -> Array:
    """Coefficients of theta^1, theta^2, ... per stage of y0 + theta (F0 + (1-theta) (F1 + theta (F2 + ...))).

    F0 = b, F1 = e_0 - b, F2 = 2 b - e_0 - e_last are cubic Hermite interpolation; rows of `extra` follow.
    """
    first, end = np.eye(len(b))[[0, last]]
    layers = [b, first - b, 2 * b - first - end, *extra]
    inner = np.zeros((1, len(b)))  # polynomial in theta, lowest power first
    for depth in range(len(layers) - 1, -1, -1):
        inner[0] += layers[depth]
        raised = np.vstack([np.zeros(len(b)), inner])
        inner = raised if depth % 2 == 0 else np.vstack([inner, np.zeros(len(b))]) - raised
    return np.ascontiguousarray(inner[1:].T)


@dataclass(frozen=True)
class ExplicitTableau:
    """An explicit Runge-Kutta method whose last stage is the first of the next step, with dense output.

    Parameters
    ----------
    A, c : (s, s), (s,)
        Stages; those after `stages` serve the dense output alone. Row ``stages - 1`` of A is the step itself.
    error, error_low : (s,)
        Weights of the error estimate, and of a second, lower estimate (may be empty).
    dense : (s, d)
        Coefficient of theta^1 ... theta^d of each stage.
    order, error_order, dense_order : int
        Promises, proven in the tests by the order conditions.
    """

    name: str
    A: Array
    c: Array
    error: Array
    error_low: Array
    dense: Array
    stages: int
    order: int
    error_order: int
    dense_order: int

    def __post_init__(self) -> None:
        A, c, b = self.A, self.c, self.A[self.stages - 1]
        _freeze(A, c, self.error, self.error_low, self.dense)
        if np.triu(A).any():
            raise ValueError(
                f"tableau {self.name}: A has entries on or above its diagonal, expected an explicit method"
            )
        _check(self.name, "row sums", np.vstack([A.T, -c]))
        _check(self.name, "dense output at the end of the step", np.vstack([self.dense.T, -b]))
        for k, moment in enumerate((np.ones(len(c)), c)):
            power = -np.eye(self.dense.shape[1])[k] / (k + 1)
            _check(self.name, f"order {k + 1} of the dense output", np.vstack([self.dense * moment[:, None], power]))
            for what, error in (("error estimate", self.error), ("lower error estimate", self.error_low)):
                if error.size:
                    _check(self.name, f"{what} at order {k + 1}", error * moment)

    @property
    def adaptive(self) -> bool:
        """Whether there is an error estimate."""
        return self.error.size > 0

    @property
    def error_power(self) -> int:
        """k where the estimated error of a step h goes with h^k; two estimates together (of orders q and r, as
        E_q^2 / (E_q^2 + 0.01 E_r^2)^1/2) go with 2 (q + 1) - (r + 1), the order of dop853."""
        return self.order if self.error_low.size else self.error_order + 1

    @cached_property
    def low_storage(self) -> tuple[tuple[float, float, float], ...]:
        """(clock, weight, ahead) of each stage, where a stage starts from the slope before it alone.

        A stage is at the time clock h, and the one behind it at x + ahead h k; the step adds weight h k of each.
        """
        s = self.stages - 1
        ahead = np.diag(self.A[:s, :s], -1)
        if (self.A[:s, :s] != np.diag(ahead, -1)).any():
            raise ValueError(f"tableau {self.name}: a stage needs more than the slope before it, expected one entry")
        return tuple(zip(self.c[:s].tolist(), self.A[s, :s].tolist(), [*ahead.tolist(), 1.0]))

    def step(self, f: Callable[[float, X], X], t: float, x: X, h: float) -> X:
        """x after one step of xdot = f(t, x), in plain Python."""
        s = self.stages - 1
        k: list[X] = []
        at = x
        for weights in self.A[: s + 1].tolist():
            at = x + h * sum(weight * slope for weight, slope in zip(weights, k) if weight)
            if len(k) < s:
                k.append(f(t + float(self.c[len(k)]) * h, at))
        return at

    @cached_property
    def stability(self) -> float:
        """Radius of the largest half disc Re z <= 0 in which \\|R(z)\\| <= 1, up to 1e-3."""
        s = self.stages - 1
        A, b = self.A[:s, :s], self.A[s, :s]
        coefficients, power = [1.0], np.ones(s)
        for _ in range(s):
            coefficients.append(float(b @ power))
            power = A @ power
        radius = np.arange(0.02, 12.0, 0.02)
        z = radius[:, None] * np.exp(1j * np.linspace(np.pi / 2, np.pi, 46))
        outside = (np.abs(np.polyval(coefficients[::-1], z)) > 1.001).any(axis=1)
        return float(radius[int(np.argmax(outside))])


@dataclass(frozen=True)
class RosenbrockTableau:
    """A stiffly accurate, L-stable Rosenbrock method in the transformed variables u = Gamma k of [HW] IV.7, (7.25).

    Parameters
    ----------
    A, C : (s, s)
        Transformed coefficients: A = alpha Gamma^-1 and C = 1/gamma - Gamma^-1.
    c, d : (s,)
        Stage times sum_j alpha_ij, and the weights sum_j gamma_ij of df/dt.
    b, error : (s,)
        Weights of the step and of its error estimate.
    dense : (s, m)
        Coefficient of theta^1 ... theta^m of each stage.
    gamma : float
        The diagonal of Gamma.
    """

    name: str
    A: Array
    C: Array
    c: Array
    d: Array
    b: Array
    error: Array
    dense: Array
    gamma: float
    order: int
    error_order: int
    dense_order: int

    def __post_init__(self) -> None:
        _freeze(self.A, self.C, self.c, self.d, self.b, self.error, self.dense)
        unit = np.eye(len(self.c))
        repeats = (self.A[-2:] == self.A[-3:-1] + unit[-3:-1]).all() and (self.b == self.A[-1] + unit[-1]).all()
        if not (repeats and (self.error == unit[-1]).all()):
            raise ValueError(
                f"tableau {self.name}: the last two stages, the step and the estimate do not add one increment each"
            )
        inverse = unit / self.gamma - self.C  # of Gamma
        _check(self.name, "row sums of alpha", np.vstack([(self.A * self.d).T, -self.c]))
        _check(self.name, "row sums of Gamma", np.vstack([(inverse * self.d).T, -np.ones(len(self.c))]))
        _check(self.name, "dense output at the end of the step", np.vstack([self.dense.T, -self.b]))
        self._check_unbranched_trees()

    def _check_unbranched_trees(self) -> None:
        """Conditions of the trees without branches, b Gamma beta^(k-1) 1 = 1/k!, in exact rational arithmetic.

        Only the one of the full order sees the last entry of C. There is no rounding but that of the table, typed with
        16 digits: 6e-15. A unit in the eighth digit of any entry gives at least 2e-11.
        """
        lower = [[Fraction(v) for v in row[:i]] for i, row in enumerate(self.C)]
        A = [[Fraction(v) for v in row[:i]] for i, row in enumerate(self.A)]
        weights = [[Fraction(v) for v in column] for column in (self.b, *self.dense.T)]
        gamma, through = Fraction(self.gamma), [Fraction(1)] * len(A)
        for k in range(1, self.order + 1):
            stage: list[Fraction] = []  # Gamma times `through`, by substitution
            for row, value in zip(lower, through):
                stage.append(gamma * (value + _dot(row, stage)))
            powers = [Fraction(int(j == k), factorial(k)) for j in range(1, self.dense.shape[1] + 1)]
            targets = [Fraction(1, factorial(k)), *(powers if k <= self.dense_order else [])]
            defect = max(abs(_dot(w, stage) - target) for w, target in zip(weights, targets))
            if k <= self.error_order:
                defect = max(defect, abs(stage[-1]))
            if defect > TYPED:
                raise ValueError(f"tableau {self.name}: order {k} violated by {float(defect):.1e}, limit {TYPED:.0e}")
            through = [_dot(row, stage) + own for row, own in zip(A, stage)]
