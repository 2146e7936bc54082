"""Sections whose rotary inertia turns with them: what a spinning strip feels.

A section with moments of inertia j_x, j_y, j_z per length moves like three point masses a at the ends of its axes
d = R e, with j_x = a_y + a_z and so on. So it joins the moments of its body as further points, which have no part in
its translation; angular velocities R^T (omega + A theta') in section axes follow, exactly for any rotation. Along the
beam the integrals are taken by Gauss's rule, inside the trace.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from math import ceil

import casadi as ca
import numpy as np

from pliant.algebra.rotations import SX, exponential_bias, skew
from pliant.dynamics.bodies import ROTATIONS, BeamData, Moments
from pliant.options import RotationName
from pliant.shapes import LinkShapes
from pliant.shapes.quadrature import Rule, gauss

Section = Callable[[float, SX, SX], tuple[SX, SX, SX]]
"""Rotation vector of the section at a station, its slope (3, k) by the amplitudes, and what their rates alone add to
its second derivative, at given amplitudes and rates."""


@dataclass(frozen=True)
class TurningSections:
    """Rotary inertia of the sections of a beam, at the points of a rule."""

    data: BeamData
    rule: Rule
    rotation: RotationName

    @staticmethod
    def of(data: BeamData, shapes: LinkShapes, rotation: RotationName) -> TurningSections:
        """With a rule that holds the squares of the shapes' rotations to some 1e-9."""
        edges = np.unique(np.concatenate([data.profile.breaks, [0.0, 1.0], *(p.shapes.breaks for p in shapes.parts)]))
        wave = max(part.shapes.wavenumber for part in shapes.parts)
        pieces = [(low, high - low, gauss(5 + ceil(wave * (high - low) / 2))) for low, high in pairwise(edges)]
        eta = np.concatenate([low + h * x for low, h, (x, _) in pieces])
        return TurningSections(data, Rule(eta, np.concatenate([h * w for _, h, (_, w) in pieces])), rotation)

    def inertia(self, eta: float) -> list[SX]:
        """Moments of inertia per length about the section's axes. Transverse ones that are not given share the polar
        one as the bending stiffnesses do."""
        j = [self.data.at(name, eta) for name in ("polar_inertia", "rotary_y", "rotary_z")]
        if ca.SX(j[1]).is_zero() and ca.SX(j[2]).is_zero():
            stiff = [self.data.at(name, eta) for name in ("EI_y", "EI_z")]
            j[1:] = (j[0] * x / (stiff[0] + stiff[1]) for x in stiff)
        return j

    def turned(self, section: tuple[SX, SX, SX], cd: SX) -> tuple[SX, SX, SX]:
        """Rotation matrix, angular velocity (3, k) per rate, and the angular acceleration of the rates alone."""
        theta, slope, bias = section
        R, A = ROTATIONS[self.rotation](theta)
        beta = exponential_bias(theta, ca.mtimes(slope, cd)) if self.rotation == "exact" else ca.SX.zeros(3)
        return R.matrix, ca.mtimes(A, slope), beta + ca.mtimes(A, bias)

    def added(self, body: Moments, section: Section, c: SX, cd: SX) -> Moments:
        """The moments of a body with those of its sections."""
        D, P, X_beta, gram, b_beta = body.D, body.P, body.X_beta, body.gram, body.b_beta
        H, N = list(body.H), list(body.N)
        for eta, weight in zip(self.rule.eta.tolist(), self.rule.weight.tolist()):
            R, W, w_beta = self.turned(section(eta, c, cd), cd)
            j = self.inertia(eta)
            w = ca.mtimes(W, cd)
            for k in range(3):
                a = (sum(j) / 2 - j[k]) * (weight * self.data.length)
                if ca.SX(a).is_zero():
                    continue
                d = R[:, k]
                moved, rate = ca.mtimes(skew(d).T, W), ca.cross(w, d)
                beta = ca.cross(w_beta, d) + ca.cross(w, rate)
                D, P, X_beta = (X + a * ca.mtimes(x, y.T) for X, x, y in ((D, d, d), (P, d, rate), (X_beta, beta, d)))
                gram, b_beta = gram + a * ca.mtimes(moved.T, moved), b_beta + a * ca.mtimes(moved.T, beta)
                for i in range(len(H)):
                    H[i] = H[i] + a * ca.mtimes(d, moved[:, i].T)
                    N[i] = N[i] + a * ca.mtimes(rate, moved[:, i].T)
        return Moments(
            body.m, body.s, D, body.eps, H, gram, body.spin, N, P, body.f_beta, X_beta, b_beta
        )  # fmt: skip

    def torque(self, eta: float, section: tuple[SX, SX, SX], rates: tuple[SX, SX], omega: SX, alpha: SX) -> SX:
        """(3,) moment per length that a section needs for its rotation, in link axes."""
        cd, cdd = rates
        R, W, w_beta = self.turned(section, cd)
        own = ca.mtimes(W, cd)
        J = ca.mtimes([R, ca.diag(ca.vertcat(*self.inertia(eta))), R.T])
        omega, alpha = omega + own, alpha + ca.mtimes(W, cdd) + w_beta + ca.cross(omega, own)
        return ca.mtimes(J, alpha) + ca.cross(omega, ca.mtimes(J, omega))
