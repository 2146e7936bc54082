"""Bent beams of an arm as tables and expressions, which `error_estimate.py` reads; made where there is no record."""

from __future__ import annotations

import casadi as ca
import numpy as np

from pliant.algebra.rotations import SX
from pliant.arrays import Array
from pliant.mechanics.formulations.denoc import euler_matrix
from pliant.mechanics.formulations.generalized_forces import dissipation
from pliant.mechanics.links.chain import Chain, ChainLink
from pliant.mechanics.links.kinematics import Placement, placements
from pliant.mechanics.links.maps.link_maps import ROTATIONS
from pliant.mechanics.links.section_forces import InternalForces
from pliant.mechanics.links.stations import section_axes
from pliant.model.model import Model
from pliant.model.validity import BentBeam
from pliant.robot.parts.joint_types import JOINT_TYPES
from pliant.simulation.runs.quantities.exact_shape import GAUSS

STRAINS = {
    "GJ": "torsion",
    "EI_y": "bending_z",
    "EI_z": "bending_y",
    "EA": "axial",
    "GA_y": "bending_y",
    "GA_z": "bending_z",
}
"""Stiffnesses in the order of the strains (kappa, nu) that they resist, and the fields whose shapes allow these."""
CELLS = 6
"""Least number of cells of a beam: its tip is then found to 1e-6 of its length at deflections of 0.4."""


def shape_tables(model: Model, beam: BentBeam) -> dict[str, object] | None:
    """Tables of a beam as plain data: whether its root is free, and of each piece the edges of its cells, twist and
    curvatures per amplitude, strains that are allowed, and the field and the tip displacement of each shape. None for a
    beam that cannot be judged: one that slides, or whose shapes follow the arm."""
    links = [model.chain.links[piece.number] for piece in beam.pieces]
    if beam.slides or any(link.body.follows for link in links):
        return None
    cells = [_cells(link, len(links)) for link in links]
    lengths = [piece.length for piece in beam.pieces]
    return {
        "free": not JOINT_TYPES[links[0].joint.kind].holds,
        "cells": [edges.tolist() for edges in cells],
        "bends": [_bends(*given).tolist() for given in zip(links, lengths, cells)],
        "allowed": [_allowed(*given).tolist() for given in zip(links, cells)],
        "fields": [field for link in links for field in _fields(link)],
        "ends": _ends(links, lengths),
    }


def _fields(link: ChainLink) -> tuple[str, ...]:
    assert link.body.shapes is not None
    return tuple(link.body.shapes.fields)


def _bends(link: ChainLink, length: float, edges: Array) -> Array:
    """(points, 6, amplitudes) twist and curvatures per amplitude of a link."""
    shapes = link.body.shapes
    assert shapes is not None
    powers, names = np.array(shapes.powers, dtype=float), np.array(shapes.fields)
    first, second = (shapes.evaluate(np.array(_points(edges)), k) * length ** (powers - k) for k in (1, 2))
    rows = [first * (names == "torsion"), -second * (names == "bending_z"), second * (names == "bending_y")]
    return np.stack([*rows, *[np.zeros_like(first)] * 3], axis=1)


def _cells(link: ChainLink, pieces: int) -> Array:
    """Edges of the cells of a piece, as parts of its length."""
    assert link.body.shapes is not None
    assert link.body.data is not None
    most = max(link.body.shapes.fields.count(field) for field in link.body.shapes.fields)
    count = max(-(-CELLS // pieces), -(-most // 2))
    return np.unique([*np.linspace(0.0, 1.0, count + 1), *link.body.data.profile.breaks])


def _points(edges: Array) -> list[float]:
    """Gauss points of cells."""
    found = edges[:-1, None] + np.diff(edges)[:, None] * GAUSS
    return [float(x) for x in found.ravel()]


def _allowed(link: ChainLink, edges: Array) -> Array:
    """(points, 6, 6) directions of strain, by columns, that the shapes of a link allow."""
    assert link.body.shapes is not None
    assert link.body.data is not None
    columns = np.diag([float(field in link.body.shapes.fields) for field in STRAINS.values()])
    e_y, e_z = link.body.data.shear_center
    columns[4:, 0] = columns[0, 0] * np.array([e_z, -e_y])  # twist is about the shear center
    return np.tile(columns, (2 * len(edges) - 2, 1, 1))


def _ends(links: list[ChainLink], lengths: list[float]) -> list[float]:
    """How far each shape moves the tip of the whole beam across."""
    found: list[float] = []
    beyond = 0.0
    for link, length in zip(reversed(links), reversed(lengths)):
        shapes = link.body.shapes
        assert shapes is not None
        value, slope = (
            shapes.evaluate(np.ones(1), order)[0] * length ** (np.array(shapes.powers, dtype=float) - order)
            for order in (0, 1)
        )
        found = [*(value + beyond * slope).tolist(), *found]
        beyond += length
    return found


def stiffness(model: Model, beam: BentBeam) -> ca.Function:
    """Stiffness matrix of the amplitudes of all pieces, a function of p."""
    blocks = []
    for piece in beam.pieces:
        c = ca.SX.sym("c", len(piece.places))
        blocks.append(ca.hessian(model.chain.links[piece.number].body.strain_energy(c), c)[0])
    return ca.Function("stiffness", [model.parameter_symbols], [ca.densify(ca.diagcat(*blocks))])


def carried(forces: InternalForces, beam: BentBeam) -> list[SX]:
    """Points of a beam in axes of its root, as `_known_shape` reads them in its order, and forces of damping."""
    chain, frames = forces.chain, placements(forces.chain, forces.q)
    numbers = [piece.number for piece in beam.pieces]
    root, last = frames[numbers[0]], forces.carried[numbers[-1]].motion
    points, ends, lengths, damping = [], [], [], []
    resisted = dissipation(chain, forces.q, forces.qd)
    for k in numbers:
        link, frame = chain.links[k], frames[k]
        data, c = link.body.data, chain.body(link, forces.q)
        assert data is not None
        turn, shift = ca.mtimes(root.R.T, frame.R), ca.mtimes(root.R.T, frame.p - root.p)
        etas = _points(_cells(link, len(numbers)))
        wrenches = [*forces.sections(k, etas, 2), *([forces.section(k, 1.0)] if k == numbers[-1] else [])]
        for eta, (f, n) in zip([*etas, 1.0], wrenches):
            r, theta = link.body.point(c, eta)
            R, place = ca.mtimes(turn, ROTATIONS[link.body.rotation](theta)[0].matrix), shift + ca.mtimes(turn, r)
            section = (data.at(name, eta) for name in (*STRAINS, "mass_per_length"))
            points.append(ca.vertcat(place, ca.vec(R.T), ca.mtimes(R, n), ca.mtimes(R, f), *section))
        start, end = (link.body.point(x, eta)[0] for x, eta in ((ca.SX.zeros(c.shape), 0.0), (c, 1.0)))
        for r, R in ((start, ca.SX.eye(3)), (end, section_axes(link, c, 1.0))):
            ends.append(ca.vertcat(shift + ca.mtimes(turn, r), ca.vec(ca.mtimes(turn, R).T)))
        lengths.append(data.length)
        damping.append(resisted[list(link.body_indices)])
    mass, first = _hanging(chain, forces.q, frames, numbers[-1])
    omega, alpha, a = last.at(0)
    tip_turn = ca.mtimes(root.R.T, frames[numbers[-1]].R_tip)
    moment = ca.mtimes(root.R.T, first - mass * frames[numbers[-1]].p_tip)
    pull = -mass * ca.mtimes(tip_turn, a)
    pull -= ca.mtimes([tip_turn, euler_matrix(omega, alpha), tip_turn.T, moment])
    turning = forces.carried[numbers[0]].motion.omega
    return [
        ca.horzcat(*points).T, ca.horzcat(*ends).T, ca.vertcat(*lengths), ca.vertcat(turning, mass, moment, pull),
        ca.vertcat(*damping),
    ]  # fmt: skip


def _hanging(chain: Chain, q: SX, frames: list[Placement], last: int) -> tuple[SX, SX]:
    """Mass of all that the tip of a link carries, and its first moment in base axes."""
    outer = {k for k, link in enumerate(chain.links) if link.parent == last and link.port == 0}
    for k, link in enumerate(chain.links):
        outer |= {k} if link.parent in outer else set()
    parts = [(chain.links[last].load, frames[last].R_tip, frames[last].p_tip)]
    for k in sorted(outer):
        link, frame, c = chain.links[k], frames[k], chain.body(chain.links[k], q)
        own = (link.body.moments(c, ca.SX.zeros(c.shape)), link.hub)
        parts += [(part, frame.R, frame.p) for part in own] + [(link.load, frame.R_tip, frame.p_tip)]
    mass, first = ca.SX(0), ca.SX.zeros(3)
    for part, R, p in parts:
        if part is not None:
            mass, first = mass + part.m, first + ca.mtimes(R, part.s) + part.m * p
    return mass, first
