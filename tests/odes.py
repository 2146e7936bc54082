"""Differential equations with known answers, as problems for the steppers."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import casadi as ca
import numpy as np

from pliant.compute import Kernel
from pliant.integrators import Events, Problem


def make(f: Callable[[Any, Any, Any], Any], n: int, n_parameters: int = 0, n_positions: int = 0) -> Problem:
    """A problem with compiled f, compiled exact Jacobian on demand, and the expression for SUNDIALS."""
    t, x, p = ca.SX.sym("t"), ca.SX.sym("x", n), ca.SX.sym("p", n_parameters)
    xdot = ca.densify(ca.SX(f(t, x, p)))
    function = ca.Function("f", [t, x, p], [xdot])
    outputs = [ca.densify(ca.jacobian(xdot, x)), ca.densify(ca.jacobian(xdot, t))]
    rhs, jacobian = Kernel(function), Kernel(ca.Function("J", [t, x, p], outputs))
    return Problem(rhs.address, n, n_parameters, lambda: jacobian.address, n_positions, function, owner=(rhs, jacobian))


def make_events(g: Callable[[Any, Any, Any], Any], n: int, n_parameters: int = 0, **options: Any) -> Events:
    """Event functions g(t, x, p)."""
    t, x, p = ca.SX.sym("t"), ca.SX.sym("x", n), ca.SX.sym("p", n_parameters)
    values = ca.densify(ca.SX(g(t, x, p)))
    kernel = Kernel(ca.Function("g", [t, x, p], [values]))
    return Events(kernel.address, values.shape[0], owner=kernel, **options)


@cache
def pendulum() -> Problem:
    return make(lambda t, x, p: ca.vertcat(x[1], -ca.sin(x[0])), 2, n_positions=1)


def pendulum_energy(x: np.ndarray) -> np.ndarray:
    return 0.5 * x[:, 1] ** 2 - np.cos(x[:, 0])


@cache
def oscillator() -> Problem:
    return make(lambda t, x, p: ca.vertcat(x[1], -x[0]), 2, n_positions=1)


@cache
def kepler() -> Problem:
    def f(t: Any, x: Any, p: Any) -> Any:
        return ca.vertcat(x[2:], -x[:2] / ca.sumsqr(x[:2]) ** 1.5)

    return make(f, 4, n_positions=2)


KEPLER_START = np.array([0.5, 0.0, 0.0, np.sqrt(3.0)])  # excentricity 0.5, period 2 pi


@cache
def wave() -> Problem:
    """Nonlinear, driven by time, four equations; see `wave_exact`."""

    def f(t: Any, x: Any, p: Any) -> Any:
        return 2 * t * ca.vertcat(x[1] ** 0.2 * x[3], 5 * ca.exp(5 * (x[2] - 1)) * x[3], x[3], -ca.log(x[0]))

    return make(f, 4)


def wave_exact(t: Any) -> np.ndarray:
    s, c = np.sin(np.square(t)), np.cos(np.square(t))
    return np.stack([np.exp(s), np.exp(5 * s), s + 1, c], axis=-1)


@cache
def van_der_pol() -> Problem:
    return make(lambda t, x, p: ca.vertcat(x[1], p[0] * (1 - x[0] ** 2) * x[1] - p[1] * x[0]), 2, 2, 1)


@cache
def explosive() -> Problem:
    """x' = x^2 in the second of three coordinates: infinite at t = 1/x0."""
    return make(lambda t, x, p: ca.vertcat(-x[0], x[1] ** 2, ca.cos(t)), 3)


@cache
def held() -> Problem:
    """x' = -x + p, exact between samples."""
    return make(lambda t, x, p: -x + p[0], 1, 1)


STIFF_RATE = 1.0e5


@cache
def stiff_chain() -> Problem:
    """A pendulum that carries eleven damped springs of 1e3 ... 1e5 rad/s on its back, the last the stiffest."""
    rates = np.geomspace(1e3, STIFF_RATE, 11)

    def f(t: Any, x: Any, p: Any) -> Any:
        q, v = x[:12], x[12:]
        swing = -9.81 * ca.sin(q[0])
        springs = -(rates**2) * q[1:] - 0.1 * rates * v[1:] + v[0] ** 2 + swing
        return ca.vertcat(v, swing + 0.3 * ca.sum1(q[1:]), springs)

    return make(f, 24, n_positions=12)


STIFF_START = np.concatenate([[1.0], np.zeros(23)])


@cache
def linear(n: int, seed: int) -> tuple[Problem, np.ndarray]:
    """x' = A x with a dense random A whose LU needs pivoting."""
    A = np.random.default_rng(seed).normal(size=(n, n))
    A -= 1.0 * np.sqrt(n) * np.eye(n)
    return make(lambda t, x, p: ca.mtimes(ca.DM(A), x), n), A
