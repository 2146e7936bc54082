"""Forces and moments that links carry, as functions of the state and of all that acts on the arm."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import casadi as ca

from pliant.algebra.rotations import SX
from pliant.compute.tape.switches import time_inputs
from pliant.mechanics.links.section_forces import InternalForces

if TYPE_CHECKING:
    from pliant.mechanics.links.chain import MovingBase
    from pliant.mechanics.loads.wrenches import Load
    from pliant.model.model import Model

STATIONS = (0.0, 0.25, 0.5, 0.75)
"""Sections of a beam at which forces are looked at: a tendon from root to tip does not show at the root."""
POINTS = 2
"""Points of quadrature of the inertia between two of them."""


def load_functions(
    model: Model, loads: Sequence[Load], base: MovingBase | None, numbers: Sequence[int]
) -> tuple[ca.Function, ca.Function]:
    """Return (t, q, qd, qdd, push, multipliers, p) -> forces of `carried_loads`, and (t, p) -> those inputs in it that
    depend on time and parameters alone."""
    forces, p = InternalForces(model.chain, loads, base), model.parameter_symbols
    rows = [ca.densify(x) for x in carried_loads(forces, numbers)]
    states = [forces.q, forces.qd, forces.qdd, forces.push, forces.multipliers]
    flat = ca.Function("loads", [forces.t, p, ca.vertcat(*states)], [ca.veccat(*rows)])
    signals = ca.Function("signals", [forces.t, p], [time_inputs(flat, forces.t, p)])
    return ca.Function("loads", [forces.t, *states, p], rows), signals


def carried_loads(forces: InternalForces, numbers: Sequence[int]) -> list[SX]:
    """Force and moment (6, sections) at sections of each of these links, in axes of the section. A link whose sections
    are not followed has its root and tip."""
    found = []
    for k in numbers:
        link, carried = forces.chain.links[k], forces.carried[k]
        if link.body.data is None or link.slides:
            ends = [carried.at_root, carried.at_ports.get(0, carried.at_root)]
            sections = [(f, n) for n, f in ends]
        else:
            sections = forces.sections(k, STATIONS, POINTS)
        found.append(ca.horzcat(*(ca.vertcat(f, n) for f, n in sections)))
    return found
