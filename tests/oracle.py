"""An independent derivation: positions of material points only, no velocities, no moments, no recursion.

M = sum_k m_k J_k^T J_k over quadrature points of every beam (and six points of every lump), with J the derivative of
the position in the base. Christoffel symbols give the velocity terms, the gradient of the weight gives gravity.
Rotations are exact. Beams without rotary inertia only, since points on the axis have none.
"""

from __future__ import annotations

import itertools

import casadi as ca
import numpy as np

from pliant.dynamics.chain import Chain
from pliant.dynamics.kinematics import placements
from pliant.robot import Robot, beam_properties


def material_points(robot: Robot, chain: Chain, q: ca.SX) -> list[tuple[float, ca.SX]]:
    """(mass, position in the base) of everything that has mass."""
    nodes, weights = np.polynomial.legendre.leggauss(24)
    found: list[tuple[float, ca.SX]] = []
    for place, link in zip(placements(chain, q), robot.links):
        found += [(m, place.p + place.R @ r) for m, r in lump_points(link.joint.hub)]
        if link.beam is not None:
            b = beam_properties(link.beam)
            breaks = np.linspace(0, 1, 1 + (link.shapes.count if link.shapes is not None and link.shapes.count else 1))
            for left, right in itertools.pairwise(breaks):
                for node, weight in zip(nodes, weights):
                    eta = (left + right) / 2 + (right - left) / 2 * node
                    r, _ = place.link.body.mass_point(chain.body(place.link, q), float(eta))
                    found.append((b.mass_per_length * b.length * weight * (right - left) / 2, place.p + place.R @ r))
        else:
            body = link.rigid
            found += [(m, place.p + place.R @ r) for m, r in _inertia_points(body.mass, body.com, body.inertia)]
        found += [(m, place.p_tip + place.R_tip @ r) for m, r in lump_points(link.tip)]
        for payload in robot.carried(robot.links.index(link)):
            found += [(m, place.p_tip + place.R_tip @ r) for m, r in lump_points(payload)]
    return found


def lump_points(lump: object) -> list[tuple[float, ca.DM]]:
    """Six points with the mass, centre and (diagonal) inertia of a lump."""
    return _inertia_points(lump.mass, lump.com, lump.inertia) if lump.mass else []  # type: ignore[attr-defined]


def _inertia_points(mass: float, com: tuple[float, ...], inertia: tuple[float, ...]) -> list[tuple[float, ca.DM]]:
    I = np.asarray(inertia, dtype=float)
    D = I.sum() / 2 - I  # int x^2, int y^2, int z^2
    assert (D >= -1e-12).all()
    offsets = np.sqrt(np.maximum(D, 0.0) * 3 / mass)
    points = []
    for k in range(3):
        for sign in (1.0, -1.0):
            r = np.array(com, dtype=float)
            r[k] += sign * offsets[k]
            points.append((mass / 6, ca.DM(r)))
    return points


def oracle(robot: Robot, chain: Chain) -> ca.Function:
    """(q, qd) -> mass matrix, inertial forces, kinetic energy."""
    q, qd = ca.SX.sym("q", chain.n), ca.SX.sym("qd", chain.n)
    M, V = ca.SX.zeros(chain.n, chain.n), ca.SX(0)
    for m, r in material_points(robot, chain, q):
        J = ca.jacobian(r, q)
        M += m * J.T @ J
        V -= m * ca.dot(chain.gravity, r)
    T = qd.T @ M @ qd / 2
    h = ca.jtimes(M @ qd, q, qd) - ca.gradient(T, q) + ca.gradient(V, q)
    return ca.Function("oracle", [q, qd], [M, h, T])
