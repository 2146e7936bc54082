"""Independent model of the two-link arm of [KS09] from its energies, without the mechanics of the library.

Each link is a beam clamped to its joint, v(x, t) = sum_j phi_j(x) a_j(t) in clamped-free shapes. A point of a link
whose root moves with velocity u (in the axes of the link) and turns at the rate w has the velocity
[u_x - w v, u_y + w x + vd]. Squared and integrated along the link, with F = int phi, X = int x phi, G = int phi phi^T
and K = int phi'' phi''^T, that is

    2 T/mu = L u.u + w^2 (L^3/3 + a.G a) + ad.G ad + 2 u_y (w L^2/2 + F.ad) - 2 u_x w F.a + 2 w X.ad,
    V = mu g int r_y dx + EI/2 a.K a.

The second joint sits at the tip of the first link and turns with its slope. Lagrange's equations follow by automatic
differentiation.
"""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca
import numpy as np

from pliant.algebra.rotations import SX
from pliant.arrays import Array

LENGTH, MASS_PER_LENGTH, EI, GRAVITY = 1.0, 5.0, 1000.0, 9.81
POINTS = 48  # of the quadrature along a link


@dataclass(frozen=True)
class Swing:
    """Joint angles (N, 2) in rad and end deflections (N, 2) in m; `drift` is energy over the largest kinetic one."""

    angles: Array
    deflections: Array
    drift: float


@dataclass(frozen=True)
class Shapes:
    """Integrals F, X, G, K of the shapes of a link, and their values and slopes at its tip."""

    F: Array
    X: Array
    G: Array
    K: Array
    tip: Array
    slope: Array


def swing(modes: int, start: tuple[float, float], times: Array) -> Swing:
    """Swing of the arm, released at rest and undeformed, with `modes` shapes per link."""
    from scipy.integrate import solve_ivp

    shapes = clamped_free(modes)
    y, yd = ca.SX.sym("y", 2 + 2 * modes), ca.SX.sym("yd", 2 + 2 * modes)
    T, V = _energies(shapes, y, yd)
    momentum = ca.gradient(T, yd)
    force = ca.gradient(T - V, y) - ca.jtimes(momentum, y, yd)
    x = ca.vertcat(y, yd)
    rate = ca.Function("rate", [x], [ca.vertcat(yd, ca.solve(ca.jacobian(momentum, yd), force))], {"cse": True})
    energy = ca.Function("energy", [x], [T + V, T])
    begin = np.concatenate([start, np.zeros(2 + 4 * modes)])
    found = solve_ivp(lambda t, state: rate(state).full()[:, 0], (0.0, times[-1]), begin, "DOP853", times, rtol=1e-8,
                      atol=1e-11)  # fmt: skip
    total, kinetic = (values.full()[0] for values in energy(found.y))
    amplitudes = found.y[2 : 2 + 2 * modes].T.reshape(-1, 2, modes)
    return Swing(found.y[:2].T, amplitudes @ shapes.tip, float(np.abs(total - total[0]).max() / kinetic.max()))


def _energies(s: Shapes, y: SX, yd: SX) -> tuple[SX, SX]:
    """Kinetic and potential energy of both links."""
    m = s.F.size
    q, a, b = y[:2], y[2 : 2 + m], y[2 + m :]
    tip = ca.vertcat(LENGTH, ca.dot(s.tip, a))
    elbow = ca.mtimes(_turn(q[0]), tip)
    heading = q[0] + ca.dot(s.slope, a) + q[1]
    T, V = ca.SX(0), ca.SX(0)
    for c, angle, root in ((a, q[0], ca.SX.zeros(2)), (b, heading, elbow)):
        u = ca.mtimes(_turn(angle).T, ca.jtimes(root, y, yd))
        w, cd = ca.jtimes(angle, y, yd), ca.jtimes(c, y, yd)
        twice = LENGTH * ca.sumsqr(u) + w**2 * (LENGTH**3 / 3 + ca.bilin(s.G, c, c)) + ca.bilin(s.G, cd, cd)
        twice += 2 * u[1] * (w * LENGTH**2 / 2 + ca.dot(s.F, cd)) - 2 * u[0] * w * ca.dot(s.F, c)
        T += MASS_PER_LENGTH / 2 * (twice + 2 * w * ca.dot(s.X, cd))
        height = LENGTH * root[1] + ca.sin(angle) * LENGTH**2 / 2 + ca.cos(angle) * ca.dot(s.F, c)
        V += MASS_PER_LENGTH * GRAVITY * height + EI / 2 * ca.bilin(s.K, c, c)
    return T, V


def _turn(angle: SX) -> SX:
    return ca.blockcat([[ca.cos(angle), -ca.sin(angle)], [ca.sin(angle), ca.cos(angle)]])


def clamped_free(modes: int) -> Shapes:
    """Integrals of the clamped-free shapes cosh z - cos z - sigma (sinh z - sin z), z = beta x/L, cos beta cosh beta =
    -1."""
    from scipy.optimize import brentq

    nodes, weights = np.polynomial.legendre.leggauss(POINTS)
    x, weights = np.append((1 + nodes) / 2, 1.0) * LENGTH, weights / 2 * LENGTH  # the tip comes last
    phi, slope, curvature = (np.empty((modes, x.size)) for _ in range(3))
    for j in range(modes):
        beta = brentq(lambda z: np.cos(z) + 1 / np.cosh(z), np.pi * j, np.pi * (j + 1), xtol=1e-14)
        sigma = (np.cosh(beta) + np.cos(beta)) / (np.sinh(beta) + np.sin(beta))
        k, z = beta / LENGTH, beta / LENGTH * x
        phi[j] = np.cosh(z) - np.cos(z) - sigma * (np.sinh(z) - np.sin(z))
        slope[j] = k * (np.sinh(z) + np.sin(z) - sigma * (np.cosh(z) - np.cos(z)))
        curvature[j] = k**2 * (np.cosh(z) + np.cos(z) - sigma * (np.sinh(z) + np.sin(z)))
    inside, bent = phi[:, :-1], curvature[:, :-1]
    return Shapes(
        F=inside @ weights,
        X=inside @ (x[:-1] * weights),
        G=inside * weights @ inside.T,
        K=bent * weights @ bent.T,
        tip=phi[:, -1],
        slope=slope[:, -1],
    )
