"""An arm with finer beams: its compliance against unit loads in closed form, and what coarse shapes miss of it.

Joints and motors are locked at zero, beams straight and at rest. Shapes are a part of all that a beam can do, so that
they make an arm stiffer and its frequencies higher, and never the other way round.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import casadi as ca
import numpy as np
from scipy.linalg import eigh

from combinations.equations import Judged
from combinations.generator import Arm, Array
from combinations.restatements import part_of, robot_of
from pliant.mechanics.formulations import denoc
from pliant.mechanics.links.frames import frame_of, map_jacobian
from pliant.mechanics.links.kinematics import placements
from pliant.robot import Link, Shapes
from pliant.robot.parts.beam import beam_properties
from pliant.robot.tree import parents

ELEMENTS = 3
"""Per beam, whose first frequency they raise by some 0.1 %. Twice as many of a beam that tapers: an element twists
evenly, and three of a box that gets a third narrower are up to 0.5 % too stiff, which two modes are not."""


def plain(arm: Arm, fine: bool) -> Arm | None:
    """The arm without what joins frames, in first order and straight; `fine` with elements, else with modes of the
    default boundary. None where no beam bends, or one slides, or is curved, and so is only followed in pieces."""
    links = []
    for link in arm.robot.links:
        beam = link.beam
        if beam is not None and (beam.slides or beam.curved):
            return None
        if beam is not None and link.shapes is not None:
            beam = part_of(beam, pieces=None)
            if fine:
                fields = dict.fromkeys(link.fields, True)
                count = ELEMENTS if beam_properties(beam).profile is None else 2 * ELEMENTS
                link = part_of(link, shapes=Shapes(method="elements", count=count, **fields), beam=beam)
            else:
                own = {"boundary": None, "tip_load": None} if link.shapes.method == "modes" else {}
                link = part_of(link, beam=beam, shapes=part_of(link.shapes, **own))
        links.append(link)
    if not any(link.shapes is not None for link in links):
        return None
    robot = robot_of(arm.robot, links=links, couplings=(), contacts=(), loops=())
    made = Arm(arm.seed, robot, "off", arm.q, arm.qd, arm.tau)
    return replace(made, q=made.chain.rest(), qd=np.zeros(made.chain.n))


def matrices(arm: Arm) -> tuple[Array, Array, Array]:
    """Inertia and stiffness of the amplitudes of beams and bodies, and slopes of the tip by them."""
    at, chain = Judged(arm), arm.chain
    own = [k for link in chain.links for k in link.body_indices]
    strain = sum((link.body.strain_energy(chain.body(link, at.q)) for link in chain.links), ca.SX(0))
    rows = [k for link in chain.links for k in link.body_places]
    K = ca.hessian(strain, at.q)[0][rows, rows]
    M, K, J = at.at_state(denoc.mass_matrix(chain, at.q), K, map_jacobian(chain, at.q, frame_of(chain, "tip")))
    return M[np.ix_(own, own)], K, J[:, own]


def compliance(arm: Arm) -> Array | None:
    """(6, 6) rotations and displacements of the tip under unit moments and forces there, in base axes, by integrals of
    what they do in every section. None where a body from a file is on the way, or a link hangs inside a beam: between
    their nodes elements are not exact."""
    chain, robot = arm.chain, arm.robot
    q = ca.SX(ca.DM(arm.q))
    frames = placements(chain, q)
    tip = np.array(ca.evalf(frames[-1].p_tip)).ravel()
    carried_by, C, k = parents(robot.links), np.zeros((6, 6)), len(robot.links) - 1
    at: Any = "tip"
    while k is not None:
        link: Any = robot.links[k]
        if link.body is not None or not isinstance(at, str):
            return None
        if link.shapes is not None and at != "root":
            place = frames[chain.first + k]
            C += _bent(link, np.array(ca.evalf(place.R)), np.array(ca.evalf(place.p)).ravel(), tip)
        k, at = carried_by[k], link.at  # type: ignore[assignment]
    return C


def _bent(link: Link, R: Array, p: Array, tip: Array) -> Array:
    """The part of a beam."""
    b, fields, C = beam_properties(link.beam), link.fields, np.zeros((6, 6))
    breaks = (0.0, 1.0) if b.profile is None else b.profile.breaks
    offset = np.array([link.joint.offset, *b.offset])
    nodes, weights = np.polynomial.legendre.leggauss(8)
    for low, high in pairwise(breaks):
        for node, weight in zip(nodes, weights):
            eta = (low + high) / 2 + (high - low) / 2 * node
            r = p + R @ (offset + np.array([eta * b.length, 0.0, 0.0]))
            x, y, z = np.array(tip) - r
            lever = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
            n, f = np.hstack([R.T, R.T @ lever]), np.hstack([np.zeros((3, 3)), R.T])

            def per(name: str, eta: float = eta) -> float:
                value = getattr(b, name)
                return float(value * (getattr(b.profile, name)(eta) if b.profile is not None else 1.0))

            parts = {"bending_y": ("EI_z", n[2]), "bending_z": ("EI_y", n[1]), "axial": ("EA", f[0])}
            e_y, e_z = b.shear_center
            parts["torsion"] = ("GJ", n[0] - e_y * f[2] + e_z * f[1])
            for field, (name, row) in parts.items():
                if field in fields:
                    C += weight * (high - low) / 2 * b.length * np.outer(row, row) / per(name)
            for field, name, row in (("bending_y", "GA_y", f[1]), ("bending_z", "GA_z", f[2])):
                if field in fields and field in link.beam.shearing:  # type: ignore[union-attr]
                    C += weight * (high - low) / 2 * b.length * np.outer(row, row) / per(name)
    return C


def misses(arm: Arm) -> dict[str, float]:
    """How far fine elements are off the closed form, by how much coarse shapes are softer than they are (`soft`) or
    lower in the first frequency (`low`), which they cannot be, and what they miss of that frequency. Where a link hangs
    inside a beam, elements are not exact and may be stiffer than modes."""
    coarse, fine = plain(arm, fine=False), plain(arm, fine=True)
    if coarse is None or fine is None:
        return {}
    found: dict[str, float] = {}
    (M, K, J), (M_fine, K_fine, J_fine) = matrices(coarse), matrices(fine)
    C, C_fine = J @ np.linalg.solve(K, J.T), J_fine @ np.linalg.solve(K_fine, J_fine.T)
    exact = compliance(fine)
    s = np.sqrt(np.maximum(np.diagonal(C_fine), 1e-300))
    s = np.where(s > 1e-6 * s.max(), s, np.inf)
    tapers = any(link.beam is not None and beam_properties(link.beam).profile is not None for link in arm.robot.links)
    if exact is not None and s.min() < np.inf:
        off = float(np.abs((exact - C_fine) / np.outer(s, s)).max())
        found["closed form of tapers" if tapers else "closed form"] = off
    inside = any(not isinstance(link.at, str) for link in arm.robot.links)
    if s.min() < np.inf and not inside:
        found["soft of tapers" if tapers else "soft"] = max(
            0.0, -float(np.linalg.eigvalsh((C_fine - C) / np.outer(s, s))[0])
        )
    first, first_fine = (float(np.sqrt(eigh(k, m, eigvals_only=True)[0])) for k, m in ((K, M), (K_fine, M_fine)))
    found["low"] = max(0.0, 1 - first / first_fine)
    found["missed with a link inside" if inside else "missed frequency"] = max(0.0, first / first_fine - 1)
    return found


__all__ = ["compliance", "misses"]
