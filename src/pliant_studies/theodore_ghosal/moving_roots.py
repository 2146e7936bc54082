"""The frequency equation while its load changes: beta as a function of M, J, D, and of the length of a sliding beam.

The clamped-mass equation [TG95] (38) is linear in w = (1, M J - D^2, M, J, D): f = w . T(beta). Its differential form
(40) and all derivatives of beta follow from w, T and their derivatives by implicit differentiation.

Notes
-----
[TG95] (47) prints 1 + m_p^2/(rho A l) where 1 + m_p/(rho A l) is meant; its equations (41)-(44) and (46) are right.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np

from pliant.algebra.tableaux import explicit
from pliant.arrays import Array
from pliant.mechanics.shapes.roots import CLAMPED, clamped_mass_roots, products
from pliant.mechanics.shapes.tip_load import LoadRatios

LENGTH_POWERS = np.array([0, 4, 1, 3, 2])  # w falls with these powers of the length


def frequency_terms(beta: float, derivative: int = 0) -> Array:
    """T(beta), T'(beta) or T''(beta), each over the same positive scale, so that ratios of them are exact."""
    x, p = beta, products(beta)
    _, below, a, b, d, e = p
    table = (
        CLAMPED.terms(x, p),
        (-b, 4 * x**3 * below + x**4 * b, -b - 2 * x * e, -3 * x**2 * d - 2 * x**3 * a, -4 * x * e - 2 * x**2 * d),
        (
            -2 * e,
            12 * x**2 * below + 8 * x**3 * b + 2 * x**4 * e,
            -4 * e - 2 * x * d,
            -6 * x * d - 12 * x**2 * a + 2 * x**3 * b,
            -4 * e - 8 * x * d - 4 * x**2 * a,
        ),
    )
    return np.array(table[derivative])


def _weights(load: LoadRatios) -> Array:
    return np.array([1.0, load.E, load.M, load.J, load.D])


def beta_rate(beta: float, load: LoadRatios, M_d: float = 0.0, J_d: float = 0.0, D_d: float = 0.0) -> float:
    """Rate of a root for given rates of the load, [TG95] (40)-(44): the differential form of the frequency equation."""
    E_d = M_d * load.J + load.M * J_d - 2 * load.D * D_d
    change = np.array([0.0, E_d, M_d, J_d, D_d])
    return float(-(change @ frequency_terms(beta)) / (_weights(load) @ frequency_terms(beta, 1)))


def load_at_length(
    length: float, mass_per_length: float, mass: float, inertia: float = 0.0, first_moment: float = 0.0
) -> LoadRatios:
    """Ratios of a constant tip load on a beam of the given free length."""
    mu = mass_per_length
    return LoadRatios(mass / (mu * length), inertia / (mu * length**3), first_moment / (mu * length**2))


def beta_length_derivatives(beta: float, load: LoadRatios, length: float) -> tuple[float, float]:
    """First and second derivative of a root with respect to the free length of a beam that carries a constant load.

    From f(beta(l), l) = 0: f_b b' + f_l = 0 and f_b b'' + f_bb b'^2 + 2 f_bl b' + f_ll = 0.
    """
    w = _weights(load)
    w_l = -LENGTH_POWERS * w / length
    w_ll = LENGTH_POWERS * (LENGTH_POWERS + 1) * w / length**2
    T, T_b, T_bb = (frequency_terms(beta, k) for k in range(3))
    first = -(w_l @ T) / (w @ T_b)
    second = -(w @ T_bb * first**2 + 2 * (w_l @ T_b) * first + w_ll @ T) / (w @ T_b)
    return float(first), float(second)


def follow_beta(beta: float, rate: Callable[[float, float], float], times: Array, substeps: int = 8) -> Array:
    """Integrate d beta/dt = rate(t, beta) from times[0], where beta is given, and return beta at all times.

    By the classical Runge-Kutta method, as beside equations of motion; roots found afresh are the check.
    """
    path = [beta]
    for start, stop in pairwise(times):
        h = (stop - start) / substeps
        for t in start + h * np.arange(substeps):
            beta = explicit("rk4").step(rate, float(t), beta, float(h))
        path.append(beta)
    return np.array(path)


def roots_along(n: int, loads: list[LoadRatios]) -> Array:
    """First n roots for each load of a sequence, by root finding, shape (len(loads), n)."""
    return np.array([clamped_mass_roots(n, load.M, load.J, load.D) for load in loads]).reshape(-1, n)
