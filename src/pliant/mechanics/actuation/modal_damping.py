"""Damping by a ratio: every mode of a link decays by it while its root is held and all that lies beyond is lumped at
its tip.

The shapes of the link, whichever they are, have modes K Phi = M Phi Lambda with Phi^T M Phi = 1. D = 2 zeta C with
C = M Phi sqrt(Lambda) Phi^T M damps each of them by the ratio zeta and couples none. C is made of the numbers of
the nominal arm in the reference configuration and stays as it is when parameters change: dampers are fitted once.

A ratio that grows with the amplitude is that of drag in air, whose force grows with the square of the speed (Baker,
Woolam and Young, 1967, for thin cantilevers):

    D = 2 (zeta + growth (3 pi / 8) |v| / (omega_1 L)) C,

with v the speed of the tip against the undeformed link, omega_1 its first frequency and L its length. cd^T D cd is
never negative. Over a swing of the first mode with the amplitude a at the tip it takes what a ratio zeta + growth a / L
would: slowly, da/dt = -omega_1 a (zeta + growth a / L).
"""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca
import numpy as np
from numpy.polynomial import chebyshev

from pliant.algebra.canonical import canonical, canonical_products
from pliant.algebra.inertia import Inertia
from pliant.algebra.rotations import SX
from pliant.arrays import Array
from pliant.mechanics.links.maps.link_maps import Body
from pliant.mechanics.shapes.elements import eigenpairs
from pliant.mechanics.sliding.sliding_body import MARGIN, SlidingBeam
from pliant.mechanics.sliding.sliding_modes import clenshaw

NODES = 17
"""Lengths at which the damping of a sliding beam is computed: over a travel of 1 to 20 the series errs by 1e-6."""
SMALL = 1e-7
"""Part of its natural size below which a coefficient of the series is left out."""


def modal_damping(body: Body, beyond: Inertia, *rests: Array) -> Array:
    """C (len(rests), k, k) of the amplitudes of a body with coordinates `rest`, undeformed, and the inertia `beyond` at
    its tip."""
    return np.stack([shared_damping(K, M) for K, M in held_matrices(body, beyond, *rests)])


def slowest_rate(body: Body, beyond: Inertia, rest: Array) -> float:
    """Frequency of the first mode of the same link, rad/s."""
    ((K, M),) = held_matrices(body, beyond, rest)
    return float(np.sqrt(eigenpairs(K, M)[0].min()))


def held_matrices(body: Body, beyond: Inertia, *rests: Array) -> list[tuple[Array, Array]]:
    """Stiffness and mass (k, k) of the amplitudes at each of the coordinates `rests`."""
    c, k = ca.SX.sym("c", len(rests[0])), len(body.names if body.shapes is None else body.shapes.names)
    still = ca.SX.zeros(c.shape)
    tip = body.tip(c, still)
    turn = ca.vertcat(tip.W, tip.J)
    M = body.moments(c, still).gram + ca.mtimes([turn.T, beyond.matrix, turn])
    link = ca.Function("link", [c], [ca.densify(ca.hessian(body.strain_energy(c), c)[0]), ca.densify(M)])
    found = ([np.array(x)[-k:, -k:] for x in link(rest)] for rest in rests)
    return [(K, M) for K, M in found]


def shared_damping(K: Array, M: Array) -> Array:
    """C of amplitudes with stiffness K and mass M."""
    values, Phi = eigenpairs(K, M)
    half = M @ (Phi * values**0.25)
    return canonical_products(half @ half.T)


@dataclass(frozen=True)
class LengthDamping:
    """C of a sliding beam whose shapes do not change: a Chebyshev series in the logarithm of the free length.

    `series` (degree + 1, k, k) is that of C_ij l^(1 - p_i - p_j), which is constant without a load.
    """

    series: Array
    powers: Array
    span: tuple[float, float]

    def __call__(self, l: SX) -> SX:
        low, high = np.log(self.span)
        z = (2 * ca.log(l) - (low + high)) / (high - low)
        k = len(self.powers)
        out = ca.SX(k, k)
        for i, j in np.argwhere(self.series.any(axis=0)).tolist():
            own = np.trim_zeros(self.series[:, i, j], "b")
            out[i, j] = clenshaw(own, z) * l ** int(self.powers[i] + self.powers[j] - 1)
        return out


def length_damping(body: SlidingBeam, beyond: Inertia) -> LengthDamping:
    """The damping of a sliding beam over its travel."""
    assert body.shapes is not None
    span = (body.travel[0] * MARGIN[0], body.travel[1] * MARGIN[1])
    z = np.cos(np.pi * (np.arange(NODES) + 0.5) / NODES)
    lengths = np.exp((np.log(span[0]) * (1 - z) + np.log(span[1]) * (1 + z)) / 2)
    p = np.array(body.shapes.powers)
    rests = [np.array([l, *np.zeros(body.size)]) for l in lengths]
    found = modal_damping(body, beyond, *rests) * lengths[:, None, None] ** (1.0 - p[:, None] - p)
    series = chebyshev.chebfit(z, found.reshape(NODES, -1), NODES - 1).reshape(found.shape)
    size = np.sqrt(np.diagonal(series[0]))
    series = np.where(np.abs(series) < SMALL * size[:, None] * size, 0.0, series)
    return LengthDamping(canonical(series, size[:, None] * size), p, span)


__all__ = ["LengthDamping", "length_damping", "modal_damping", "shared_damping", "slowest_rate"]
