"""Independent model of the spinning beam by virtual work and quadrature, which uses only the printed data.

A point of the beam at the distance s from the hub lies in the turning frame at x = s - 1/2 c^T H(s) c, y = Y(s) c, with
clamped-free shapes Y and H(s) = int_0^s Y'^T Y' the shortening by their slopes. Virtual work of inertia and strain at
Gauss points gives, with omega the prescribed speed and alpha its rate,

    int mu (X^T a_x + Y^T a_y) ds + K c = 0,    X = dx/dc = -c^T H
    a_x = xdd - 2 omega yd - omega^2 x - alpha y,    a_y = ydd + 2 omega xd - omega^2 y + alpha x

The zero-order model drops H; the first-order one keeps of it what is linear in c and its rates: the centrifugal term.
"""

from __future__ import annotations

import numpy as np
from scipy.integrate import solve_ivp
from scipy.optimize import brentq

from pliant.arrays import Array

LENGTH, DENSITY, AREA, I_Z, MODULUS = 8.0, 2766.7, 7.2968e-5, 8.2189e-9, 6.8952e10
MU, EI = DENSITY * AREA, MODULUS * I_Z
POINTS = 24
"""Number of Gauss points along the beam, which integrate products of four shapes to round-off."""


def roots(count: int) -> Array:
    """Roots beta L of the clamped-free beam: cos(b) cosh(b) = -1."""
    guesses = [(k + 0.5) * np.pi for k in range(count)]
    return np.array([brentq(lambda b: np.cos(b) + 1 / np.cosh(b), b - 0.5, b + 0.5, xtol=1e-14) for b in guesses])


def first_frequency() -> float:
    """First frequency omega_1 of the beam at rest (rad/s)."""
    return float(roots(1)[0] ** 2 * np.sqrt(EI / (MU * LENGTH**4)))


def shapes(s: Array, count: int, order: int) -> Array:
    """(points, count) clamped-free shapes, which are 2 at the tip, or their first or second derivative."""
    b = roots(count)
    sigma = (np.cosh(b) + np.cos(b)) / (np.sinh(b) + np.sin(b))
    z = np.outer(s, b / LENGTH)
    parts = {
        0: (np.cosh(z) - np.cos(z), np.sinh(z) - np.sin(z)),
        1: (np.sinh(z) + np.sin(z), np.cosh(z) - np.cos(z)),
        2: (np.cosh(z) + np.cos(z), np.sinh(z) + np.sin(z)),
    }[order]
    return np.asarray((b / LENGTH) ** order * (parts[0] - sigma * parts[1]))


class SpinningBeam:
    """Integrals of the beam with some shapes at an order of coupling: "zero", "first" or "high"."""

    def __init__(self, order: str, count: int = 3) -> None:
        x, w = np.polynomial.legendre.leggauss(POINTS)
        self.order, self.count = order, count
        self.s, self.w = LENGTH / 2 * (1 + x), MU * LENGTH / 2 * w
        self.Y = shapes(self.s, count, 0)
        self.H = float(order != "zero") * np.array([self._shortening(s, x, w) for s in self.s])
        bent = shapes(self.s, count, 2)
        self.K = EI / MU * (bent.T * self.w) @ bent
        self.M = (self.Y.T * self.w) @ self.Y
        self.load = self.Y.T @ (self.w * self.s)
        self.tension = np.einsum("p,pjk->jk", self.w * self.s, self.H)

    def _shortening(self, s: float, x: Array, w: Array) -> Array:
        slopes = shapes(s / 2 * (1 + x), self.count, 1)
        return np.asarray(s / 2 * (slopes.T * w) @ slopes)

    def acceleration(self, c: Array, cd: Array, omega: float, alpha: float) -> Array:
        """Second derivatives of the amplitudes."""
        if self.order != "high":
            K = self.K + omega**2 * (self.tension - self.M)
            return np.asarray(np.linalg.solve(self.M, -K @ c - alpha * self.load), dtype=float)
        Hc = self.H @ c
        x, y, xd, yd = self.s - Hc @ c / 2, self.Y @ c, -Hc @ cd, self.Y @ cd
        a_x = -(self.H @ cd) @ cd - 2 * omega * yd - omega**2 * x - alpha * y
        a_y = 2 * omega * xd - omega**2 * y + alpha * x
        M = self.M + (Hc.T * self.w) @ Hc
        force = -Hc.T @ (self.w * a_x) + self.Y.T @ (self.w * a_y) + self.K @ c
        return np.asarray(np.linalg.solve(M, -force), dtype=float)

    def spin_up(self, speed: float, duration: float, times: Array) -> Array:
        """Tip deflection (m) at some times of a spin-up in `duration`, followed by constant speed."""

        def rate(t: float, state: Array) -> Array:
            c, cd = np.split(state, 2)
            phase = 2 * np.pi * min(t / duration, 1.0)
            omega = speed / duration * (t - duration / (2 * np.pi) * np.sin(phase)) if t < duration else speed
            return np.concatenate([cd, self.acceleration(c, cd, omega, speed / duration * (1 - np.cos(phase)))])

        found = solve_ivp(rate, (0, times[-1]), np.zeros(2 * self.count), "DOP853", times, rtol=1e-9, atol=1e-11)
        tip = shapes(np.array([LENGTH]), self.count, 0)[0]
        return np.asarray(tip @ found.y[: self.count])
