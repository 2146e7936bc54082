"""Tableaux: methods as data that checks itself when it is made."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from .trees import order_defect

Floats = npt.NDArray[np.float64]
ROUND_OFF = 2e-13  # coefficients are printed with 16 digits and reach a few hundred in size


def _check(name: str, what: str, defect: float, limit: float = ROUND_OFF) -> None:
    if not defect <= limit:
        raise ValueError(f"tableau {name}: {what} violated by {defect:.1e}, expected at most {limit:.0e}")


def _freeze(*arrays: Floats) -> None:
    for array in arrays:
        array.setflags(write=False)


def nested_dense(b: Floats, last: int, extra: Floats) -> Floats:
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
        Promises, verified here by the order conditions.
    """

    name: str
    A: Floats
    c: Floats
    error: Floats
    error_low: Floats
    dense: Floats
    stages: int
    order: int
    error_order: int
    dense_order: int

    def __post_init__(self) -> None:
        A, b = self.A, self.A[self.stages - 1]
        _freeze(A, self.c, self.error, self.error_low, self.dense)
        _check(self.name, "A is not strictly lower triangular by", float(np.abs(np.triu(A)).max()), 0.0)
        _check(self.name, "row sums", float(np.abs(A.sum(axis=1) - self.c).max()))
        _check(self.name, f"order {self.order}", order_defect(b, A, A, self.order))
        if self.error.size:
            _check(
                self.name, f"embedded order {self.error_order}", order_defect(b - self.error, A, A, self.error_order)
            )
        if self.error_low.size:
            _check(self.name, "lower error estimate", abs(float(self.error_low.sum())))
        for theta in (0.3, 0.75, 1.0):
            weights = self.dense @ theta ** np.arange(1, self.dense.shape[1] + 1)
            _check(self.name, f"dense order {self.dense_order}", order_defect(weights, A, A, self.dense_order, theta))

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
    A: Floats
    C: Floats
    c: Floats
    d: Floats
    b: Floats
    error: Floats
    dense: Floats
    gamma: float
    order: int
    error_order: int
    dense_order: int

    def __post_init__(self) -> None:
        _freeze(self.A, self.C, self.c, self.d, self.b, self.error, self.dense)
        Gamma = np.linalg.inv(np.eye(len(self.c)) / self.gamma - self.C)
        alpha = self.A @ Gamma
        beta = alpha + Gamma
        limit = 1e-11  # the inverse of Gamma loses two digits of the sixteen printed
        _check(self.name, "row sums of alpha", float(np.abs(alpha.sum(axis=1) - self.c).max()), limit)
        _check(self.name, "row sums of Gamma", float(np.abs(Gamma.sum(axis=1) - self.d).max()), limit)
        _check(self.name, f"order {self.order}", order_defect(self.b @ Gamma, alpha, beta, self.order), limit)
        embedded = (self.b - self.error) @ Gamma
        _check(
            self.name,
            f"embedded order {self.error_order}",
            order_defect(embedded, alpha, beta, self.error_order),
            limit,
        )
        for theta in (0.3, 0.75, 1.0):
            weights = (self.dense @ theta ** np.arange(1, self.dense.shape[1] + 1)) @ Gamma
            defect = order_defect(weights, alpha, beta, self.dense_order, theta)
            _check(self.name, f"dense order {self.dense_order}", defect, limit)
        at_infinity = 1.0 - self.b @ Gamma @ np.linalg.solve(beta, np.ones(len(self.c)))
        _check(self.name, "L-stability, R(infinity) = 0", abs(float(at_infinity)), limit)
