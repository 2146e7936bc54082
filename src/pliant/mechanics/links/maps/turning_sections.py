"""Rotary inertia that turns with the sections of a beam, such as a spinning strip.

A section with moments of inertia j_x, j_y, j_z per length moves like three point masses a at the ends of its axes
d = R e, with j_x = a_y + a_z and so on. So it joins the moments of its body as further points, which have no part in
its translation; angular velocities R^T (omega + A theta') in section axes follow, exactly for any rotation. Along the
beam the integrals are taken by Gauss's rule, inside the trace.

Without this the sections keep their inertia in the axes of the link's root, at lowest order in the slope. Of a beam cut
in pieces that leaves a part of the rotary inertia in proportion to the slope within a piece, so that it converges like
1 / pieces only.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import ceil
from typing import NamedTuple, Self

import casadi as ca
import numpy as np

from pliant.algebra.rotations import SX, axial, exponential, exponential_bias, skew
from pliant.mechanics.links.maps.link_maps import BeamData, Moments
from pliant.mechanics.shapes.integrals import UNIFORM
from pliant.mechanics.shapes.link_shapes import LinkShapes
from pliant.mechanics.shapes.quadrature import Rule, gauss

Section = Callable[[float, SX, SX], tuple[SX, SX, SX]]
"""Rotation vector of the section at a station, its slope (3, k) by the amplitudes, and the part of its second
derivative that follows from the rates alone, at given amplitudes and rates."""

SLENDER = 1e-3
"""Moment of inertia of a section per length, over mu L^2, below which it stays in the axes of the link's root: the part
of the link's inertia that is lost then is at most some three times this, times the slope."""


@dataclass(frozen=True)
class TurningSections:
    """Rotary inertia of the sections of a beam, at the points of a rule."""

    data: BeamData
    rule: Rule

    @classmethod
    def of(cls, data: BeamData, shapes: LinkShapes) -> Self:
        """Sections at the points of a rule that is exact to some 1e-9 for the squares of the shapes' rotations."""
        edges = np.unique(np.concatenate([data.profile.breaks, [0.0, 1.0], *(p.shapes.breaks for p in shapes.parts)]))
        wave = max(part.shapes.wavenumber for part in shapes.parts)
        least = cls.least(data, wave)
        pieces = [(low, high - low, gauss(least + ceil(wave * (high - low) / 2))) for low, high in pairwise(edges)]
        eta = np.concatenate([low + h * x for low, h, (x, _) in pieces])
        return cls(data, Rule(eta, np.concatenate([h * w for _, h, (_, w) in pieces])))

    @staticmethod
    def least(data: BeamData, wave: float) -> int:
        """Points of the rule between two breaks, those for waves left out."""
        return 5

    def inertia(self, eta: float) -> list[SX]:
        """Moments of inertia per length about the section's axes. Transverse ones that are not given share the polar
        one as the bending stiffnesses do."""
        j = [self.data.at(name, eta) for name in ("polar_inertia", "rotary_y", "rotary_z")]
        if ca.SX(j[1]).is_zero() and ca.SX(j[2]).is_zero():
            stiff = [self.data.at(name, eta) for name in ("EI_y", "EI_z")]
            j[1:] = (j[0] * x / (stiff[0] + stiff[1]) for x in stiff)
        return j

    def turned(self, section: tuple[SX, SX, SX], cd: SX) -> tuple[SX, SX, SX]:
        """Rotation matrix, angular velocity (3, k) per rate, and the angular acceleration of the rates alone.

        They are those of the exact rotation whatever the tip has: a section that is not rigid has no angular velocity.
        """
        theta, slope, bias = section
        R, A = exponential(theta)
        beta = exponential_bias(theta, ca.mtimes(slope, cd))
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
            m=body.m, s=body.s, D=D, eps=body.eps, H=H, gram=gram, spin=body.spin, N=N, P=P, f_beta=body.f_beta,
            X_beta=X_beta, b_beta=b_beta,
        )  # fmt: skip

    def torque(self, eta: float, section: tuple[SX, SX, SX], rates: tuple[SX, SX], omega: SX, alpha: SX) -> SX:
        """(3,) moment per length that a section needs for its rotation, in link axes."""
        cd, cdd = rates
        R, W, w_beta = self.turned(section, cd)
        own = ca.mtimes(W, cd)
        J = ca.mtimes([R, ca.diag(ca.vertcat(*self.inertia(eta))), R.T])
        omega, alpha = omega + own, alpha + ca.mtimes(W, cdd) + w_beta + ca.cross(omega, own)
        return ca.mtimes(J, alpha) + ca.cross(omega, ca.mtimes(J, omega))


class CarriedSections(TurningSections):
    """`TurningSections` in two thirds of the operations: moments as matrices, with Y = tr(J)/2 1 - J of the inertia
    J = R diag(j) R^T of a section in link axes, and its angular velocity per rate W.

    Flat sections keep the points, so that operation counts of files without rotary inertia stay as they are.
    """

    @staticmethod
    def least(data: BeamData, wave: float) -> int:
        """Four hold the inertia of the sections of a cubic element to first order in their turn; six that of modes at
        rest to 1e-9."""
        return 4 if wave == 0 and data.profile is UNIFORM else 6

    def added(self, body: Moments, section: Section, c: SX, cd: SX) -> Moments:
        D, P, X_beta, gram, b_beta = body.D, body.P, body.X_beta, body.gram, body.b_beta
        H, N = list(body.H), list(body.N)
        turns = []
        for eta, weight in zip(self.rule.eta.tolist(), self.rule.weight.tolist()):
            R, W, w_beta = self.turned(section(eta, c, cd), cd)
            j = [x * (weight * self.data.length) for x in self.inertia(eta)]
            J = j[0] * ca.SX.eye(3) + sum((j[k] - j[0]) * ca.mtimes(R[:, k], R[:, k].T) for k in (1, 2))
            Y, rate = sum(j) / 2 * ca.SX.eye(3) - J, skew(ca.mtimes(W, cd))
            turn = _Turn(W, ca.mtimes(J, W), Y, rate)
            turns.append(turn)
            own = ca.mtimes(skew(w_beta) + ca.mtimes(rate, rate), Y)
            D, P, X_beta = D + Y, P + ca.mtimes(Y, rate.T), X_beta + own
            gram = gram + ca.triu2symm(ca.triu(ca.mtimes(W.T, turn.coupling)))
            b_beta = b_beta + ca.mtimes(W.T, axial(own))
            for i in range(len(H)):
                moved = ca.mtimes(Y, skew(W[:, i]).T)
                H[i], N[i] = H[i] + moved, N[i] + ca.mtimes(rate, moved)
        return _CarriedMoments(
            m=body.m, s=body.s, D=D, eps=body.eps, H=H, gram=gram, spin=body.spin, N=N, P=P, f_beta=body.f_beta,
            X_beta=X_beta, b_beta=b_beta, body=body, turns=turns,
        )  # fmt: skip


class _Turn(NamedTuple):
    """Matrices of one section in link axes: W (3, k), `coupling` J W, Y, and the skew matrix `rate` of W cd."""

    W: SX
    coupling: SX
    Y: SX
    rate: SX


@dataclass(frozen=True)
class _CarriedMoments(Moments):
    """Moments of a body with its sections; sums over points are taken over the sections first, three moments in place
    of one matrix per amplitude."""

    body: Moments | None = None
    turns: Sequence[_Turn] = ()

    def coupling(self) -> SX:
        assert self.body is not None
        return self.body.coupling() + sum(turn.coupling for turn in self.turns)

    def modal_forces(self, E: SX, W: SX) -> SX:
        assert self.body is not None
        own = (ca.mtimes(t.W.T, axial(ca.mtimes(E + ca.mtimes(W, t.rate), t.Y))) for t in self.turns)
        return sum(own, self.body.modal_forces(E, W))
