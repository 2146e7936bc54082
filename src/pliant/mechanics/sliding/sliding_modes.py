"""Clamped-mass modes of a beam whose free length changes: the roots beta(l) of its frequency equation, traced.

A tape has no room for a root finder. The roots are computed once over the travel and fitted by a Chebyshev series in
log l; two Newton steps on the frequency equation [TG95] (11), unrolled in the trace, then make them exact. Each mode is
described by p = (beta, 1 + nu, C) that depend on l alone; p, p' and p'' are formed once and shared by all points.

Notes
-----
From the moment at the tip, 1 + nu is known without cancellation for any M, J, D, and equals [TG95] (10) at a root:
psi = C q(beta eta), q(y) = cos y - cosh y + nu (sin y - sinh y). The sign of C is frozen over the travel: "positive at
the tip" may flip with J and D.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import log
from typing import NamedTuple

import casadi as ca
import numpy as np
from numpy.polynomial import chebyshev

from pliant.algebra.rotations import SX
from pliant.arrays import Array
from pliant.errors import UnsupportedModel
from pliant.mechanics.shapes.roots import CLAMPED, Products, clamped_mass_roots
from pliant.mechanics.shapes.tip_load import LoadRatios

DEGREES = (6, 9, 13, 19, 27, 39)
CLOSE = 1e-5  # of a root, before Newton: two steps leave 1e-16 of it, and 1e-11 of its second derivative
NEWTON_STEPS = 2


class Jet(NamedTuple):
    """A function of the free length l with its first and second derivative, the material point held."""

    value: SX
    first: SX
    second: SX

    def times(self, other: Jet) -> Jet:
        """Product rule."""
        return Jet(
            self.value * other.value,
            self.first * other.value + self.value * other.first,
            self.second * other.value + 2 * self.first * other.first + self.value * other.second,
        )

    def after(self, f: SX, f_y: SX, f_yy: SX) -> Jet:
        """Chain rule for f(y) with this jet as y."""
        return Jet(f, f_y * self.first, f_yy * self.first**2 + f_y * self.second)


@dataclass(frozen=True)
class MovingModes:
    """Modes of one bending plane of a beam of free length l with a constant load at its tip.

    Attributes
    ----------
    count : int
    unit_load : (3,) floats
        Load over mass per length: M = unit[0]/l, J = unit[1]/l^3, D = unit[2]/l^2.
    travel : (float, float)
        Lengths over which the roots are followed.
    sample : float
        Length at which the signs of the modes are chosen: psi(1) > 0 there.
    normalize : "unit" or "tip"
        int psi^2 d eta = 1, or psi(1) = 1.
    """

    count: int
    unit_load: tuple[float, float, float]
    travel: tuple[float, float]
    sample: float
    normalize: str = "unit"

    def roots(self, l: float) -> Array:
        """Roots at one length, by counting and bisection."""
        M, J, D = (float(x) for x in self._ratios(l))
        return clamped_mass_roots(self.count, M, J, D)

    def at(self, l: SX) -> LengthModes:
        """The modes at one length: ask once an evaluation and share."""
        p, first, second = self._trace(l)
        jets = [Jet(p[k], first[k], second[k]) for k in range(3 * self.count)]
        norms = [p[3 * self.count + k] for k in range(self.count)]
        return LengthModes(l, jets[0::3], jets[1::3], jets[2::3], norms)

    @cached_property
    def _trace(self) -> ca.Function:
        """l -> (p, N), p', p'': along a root d/dl = (d/dl)_beta + beta' d/dbeta with beta' = -f_l / f_beta."""
        l, beta = ca.SX.sym("l"), ca.SX.sym("beta")
        f = self._frequency_function(beta, l)
        rate = -ca.jacobian(f, l) / ca.jacobian(f, beta)

        def along(g: SX) -> SX:
            return ca.densify(ca.jacobian(g, l) + ca.jacobian(g, beta) * rate)

        triples, norms = [], []
        for mode in range(self.count):
            bent, scale, norm = self._shape(beta, l, self._signs[mode])
            p = ca.vertcat(beta, bent, scale)
            jets = ca.Function("mode", [beta, l], [ca.vertcat(p, norm), along(p), along(along(p))])
            values = jets(self.root(l, mode), l)
            triples.append([values[0][:3], *values[1:]])
            norms.append(values[0][3])
        p, first, second = (ca.vertcat(*column) for column in zip(*triples))
        return ca.Function("modes", [l], [ca.vertcat(p, *norms), first, second], {"cse": True})

    def _ratios(self, l: SX) -> tuple[SX, SX, SX]:
        m, J, d = self.unit_load
        return m / l, J / l**3, d / l**2

    # ------------------------------------------------------------------------------------------------------- beta(l)

    def root(self, l: SX, mode: int) -> SX:
        """Root of a mode: Chebyshev series in log l, then Newton steps on the frequency equation."""
        low, high = (log(x) for x in self.travel)
        z = (2 * ca.log(l) - (low + high)) / (high - low)
        beta = clenshaw(self._series[:, mode], z)
        for _ in range(NEWTON_STEPS):
            beta = self._newton(beta, l)
        return beta

    def _frequency_function(self, beta: SX, l: SX) -> SX:
        """Left side of [TG95] (11) over cosh beta."""
        M, J, D = self._ratios(l)
        determinant = LoadRatios(*self._ratios(1.0)).E / l**4
        decay = ca.exp(-beta)
        one, t = 2 * decay / (1 + decay**2), (1 - decay**2) / (1 + decay**2)  # 1/cosh, tanh
        c, s = ca.cos(beta), ca.sin(beta)
        terms = CLAMPED.terms(beta, Products(one + c, one - c, c, s - c * t, s + c * t, s * t))
        return sum(w * term for w, term in zip((1.0, determinant, M, J, D), terms))

    @cached_property
    def _newton(self) -> ca.Function:
        beta, l = ca.SX.sym("beta"), ca.SX.sym("l")
        f = self._frequency_function(beta, l)
        return ca.Function("newton", [beta, l], [beta - f / ca.jacobian(f, beta)])

    @cached_property
    def _series(self) -> Array:
        """Chebyshev coefficients of all roots over log l, of the smallest degree that is close enough."""
        low, high = (log(x) for x in self.travel)
        for degree in DEGREES:
            nodes = np.cos(np.pi * (np.arange(degree + 1) + 0.5) / (degree + 1))
            checks = np.cos(np.pi * np.arange(degree + 2) / (degree + 1))
            lengths = [np.exp((low + high + z * (high - low)) / 2) for z in (nodes, checks)]
            at, true = (np.array([self.roots(float(l)) for l in ls]) for ls in lengths)
            series = np.asarray(chebyshev.chebfit(nodes, at, degree))
            if np.abs(chebyshev.chebval(checks, series).T - true).max() < CLOSE:
                return series
        raise UnsupportedModel(
            f"clamped-mass modes over the lengths {self.travel[0]:g} to {self.travel[1]:g} m with load per mass "
            f"per length {self.unit_load}: two frequencies come too close to follow; take fewer modes, or elements"
        )

    # --------------------------------------------------------------------------------------------------------- shape

    def _shape(self, beta: SX, l: SX, sign: float) -> tuple[SX, SX, SX]:
        """1 + nu, C and N of a mode: see Notes of the module, and Blevins for int y^2 from the values at the tip."""
        M, J, D = self._ratios(l)
        c, s, decay, growth = ca.cos(beta), ca.sin(beta), ca.exp(-beta), ca.exp(beta)
        cosh, sinh = (growth + decay) / 2, (growth - decay) / 2
        upper = s - c - decay - beta**2 * (J * beta * (decay - s - c) + D * (c - s - decay))
        bent = upper / (s + sinh + beta**2 * (J * beta * (c - cosh) + D * (s - sinh)))
        y, y1, y2, y3 = (beta**k * value for k, value in enumerate(family(beta, bent)))
        square = y**2 / 4 + (3 * y * y3 - 2 * y1 * y3 - y1 * y2 + y2**2) / (4 * beta**4)
        scale = sign / ca.sqrt(square) if self.normalize == "unit" else 1 / y
        return bent, scale, scale**2 * (square + M * y**2 + 2 * D * y * y1 + J * y1**2)

    @cached_property
    def _signs(self) -> list[float]:
        """Signs of C that make the tips positive at the sample length."""
        beta, l = ca.SX.sym("beta"), ca.SX.sym("l")
        bent, _, _ = self._shape(beta, l, 1.0)
        tip = ca.Function("tip", [beta, l], [family(beta, bent)[0]])
        return [1.0 if float(tip(root, self.sample)) > 0 else -1.0 for root in self.roots(self.sample)]


@dataclass(frozen=True)
class LengthModes:
    """Modes at one free length: jets of beta, 1 + nu and C, and N = int psi^2 plus the load at the tip."""

    l: SX
    beta: list[Jet]
    bent: list[Jet]
    scale: list[Jet]
    norm: list[SX]

    def values(self, eta: float) -> list[Jet]:
        """psi_i at the material point that stands at `eta`, with derivatives in l."""
        place = Jet(eta, (1 - eta) / self.l, -2 * (1 - eta) / self.l**2)
        triples = zip(self.beta, self.bent, self.scale)
        return [_jet(beta, bent, place, 0).times(scale) for beta, bent, scale in triples]

    def tip_slopes(self) -> list[Jet]:
        """d psi_i / dx at the tip, with derivatives in l."""
        tip, per_length = Jet(1.0, 0.0, 0.0), Jet(1 / self.l, -1 / self.l**2, 2 / self.l**3)
        triples = zip(self.beta, self.bent, self.scale)
        return [_jet(beta, bent, tip, 1).times(scale).times(beta).times(per_length) for beta, bent, scale in triples]

    def slopes(self, eta: float) -> list[SX]:
        """d psi_i / dx at the station `eta`."""
        triples = zip(self.beta, self.bent, self.scale)
        return [family(b.value * eta, n.value)[1] * C.value * b.value / self.l for b, n, C in triples]


def _jet(beta: Jet, bent: Jet, place: Jet, order: int) -> Jet:
    """Jet of the `order`-th derivative of q(y; 1 + nu) at y = beta eta; q is linear in 1 + nu."""
    y = beta.times(place)
    f, f_y, f_yy, _ = family(y.value, bent.value, order)
    g, g_y = (a - b for a, b in zip(family(y.value, 1.0, order)[:2], family(y.value, 0.0, order)[:2]))
    along = y.after(f, f_y, f_yy)
    return Jet(
        along.value,
        along.first + g * bent.first,
        along.second + 2 * g_y * y.first * bent.first + g * bent.second,
    )


def family(y: SX, bent: SX, order: int = 0) -> tuple[SX, SX, SX, SX]:
    """q, q', q'', q''' of y, from the `order`-th on: cos y + nu sin y - (1 + nu)/2 e^y - (1 - nu)/2 e^-y."""
    c, s, growth, decay = ca.cos(y), ca.sin(y), bent / 2 * ca.exp(y), (1 - bent / 2) * ca.exp(-y)
    nu = bent - 1
    circle = (c + nu * s, nu * c - s, -c - nu * s, s - nu * c)
    tail = (-growth - decay, decay - growth)
    q = [circle[(order + k) % 4] + tail[(order + k) % 2] for k in range(4)]
    return q[0], q[1], q[2], q[3]


def clenshaw(coefficients: Array, z: SX) -> SX:
    """Chebyshev series at z."""
    b1, b2 = ca.SX(0), ca.SX(0)
    for a in coefficients[:0:-1]:
        b1, b2 = float(a) + 2 * z * b1 - b2, b1
    return float(coefficients[0]) + z * b1 - b2
