"""Unbalanced shaft through its critical speed: problem of Bauchau, Betsch, Cardona and others (2016).

A tube of steel of 6 m, 100 mm across with a wall of 5 mm, carries at its middle a disk of 0.48 m whose center is 50 mm
off its axis. Both ends are guided along the axis; the left one is turned at 0.8 of 60 rad/s and, from 1 s to 1.25 s,
brought to 1.2 of it; the right one may slide. Gravity is across.

The data are those of the problem in a public model of it (Project Chrono, demo of a Jeffcott rotor). Ours: a shear
factor of 0.5, and a straight start, on which gravity acts from the first instant.
"""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np
from scipy.spatial.transform import Rotation

import pliant
from other_codes.exudyn_space import Section, SpaceModel
from other_codes.problems.table import Row, show
from pliant import Joint, Link, RigidBody, Robot, Shapes
from pliant.robot import Loop, LoopJoint, Lump, Origin

L, E, NU, DENSITY, GRAVITY = 6.0, 210e9, 0.3, 7800.0, (0.0, -9.81, 0.0)
SHAFT = Section.tube(0.050, 0.045, E, E / (2 * (1 + NU)), DENSITY, shear_factor=0.5)
RADIUS, THICKNESS, OFF = 0.24, 0.05, 0.05  # m
MASS = DENSITY * np.pi * RADIUS**2 * THICKNESS  # 70.57 kg
INERTIA = (MASS * RADIUS**2 / 2, *2 * (MASS * (3 * RADIUS**2 + THICKNESS**2) / 12,))
SPEED, LOW, HIGH = 60.0, 0.8, 1.2
T1, T2, T3, END = 0.5, 1.0, 1.25, 2.0  # s
CARRIAGE = 0.01
"""kg, of what slides at the right end: a joint of pliant needs a body."""


def angle(t: Any) -> Any:
    """Of the left end, rad; its rate rises by half waves of a cosine."""

    def rising(s: Any, T: float) -> Any:
        return (s - T / np.pi * ca.sin(np.pi * s / T)) / 2

    low, more = LOW * SPEED, (HIGH - LOW) * SPEED
    first = ca.if_else(t < T1, rising(t, T1), t - T1 / 2)
    second = ca.if_else(t < T2, 0, ca.if_else(t < T3, rising(t - T2, T3 - T2), t - (T2 + T3) / 2))
    return low * first + more * second


def machine(pieces: int) -> Robot:
    """Two halves of `pieces` parts each."""
    shapes = Shapes(method="elements", count=1, bending_y=True, bending_z=True, torsion=True)
    half = {"beam": SHAFT.beam(L / 2, pieces=pieces), "shapes": shapes}
    links = [
        Link(name="left", joint=Joint(axis=(1, 0, 0)), tip=Lump(mass=MASS, com=(0, OFF, 0), inertia=INERTIA), **half),
        Link(name="right", joint=Joint(type="fixed"), **half),
        Link(name="carriage", parent="base", rigid=RigidBody(mass=CARRIAGE, inertia=(1e-6, 1e-6, 1e-6)),
             joint=Joint(type="prismatic", axis=(1, 0, 0), actuated=False, origin=Origin(xyz=(L, 0, 0)))),
    ]  # fmt: skip
    guide = Loop(name="guide", between=("right.tip", "carriage.tip"), joint=LoopJoint(type="revolute", axis=(1, 0, 0)))
    return Robot(name="shaft", gravity=GRAVITY, links=links, loops=[guide])


def ours(pieces: int, t_end: float = END, output_step: float = 5e-3) -> tuple[np.ndarray, int]:
    """Displacement (N, 2) of the middle along y and z, m, and the number of coordinates."""
    model = machine(pieces).model(stiffening="second-order")
    run = pliant.simulate(
        model, t_end, motion={"left": angle}, method="rodas5p", rtol=1e-5, atol=1e-8,
        output_step=output_step,
    )  # fmt: skip
    return run.pose("left.tip")[:, 1:3, 3], model.n


def theirs(
    elements: int, step: float, t_end: float = END, output_step: float = 5e-3, spectral_radius: float = 0.9
) -> tuple[np.ndarray, int]:
    """The same by Exudyn; an even number of elements."""
    space = SpaceModel(GRAVITY)
    nodes = space.beam((0, 0, 0), Rotation.identity(), L, SHAFT, elements)
    space.body(nodes[elements // 2], MASS, INERTIA, (0, OFF, 0))
    along = Rotation.from_rotvec([0, np.pi / 2, 0])  # its z is the axis of the shaft
    space.join(None, nodes[0], axes=along, angle=lambda t: float(angle(t)))
    space.join(None, nodes[-1], (1, 1, 0, 1, 1, 0), axes=along)
    space.watch("middle", nodes[elements // 2], "Displacement")
    found = space.run(t_end, step, output_step, spectral_radius)
    return found["middle"][:, 1:], space.size()


def rows(pieces: int = 1) -> list[Row]:
    """Near resonance a small error of a frequency is a large one of the place: 24 elements are still off by 12 %."""
    mine, size = ours(pieces)
    few, many = (theirs(count, 1e-3)[0] for count in (12, 24))
    limit = many + (many - few) / 3  # their error falls with the square of the number of elements
    peak, own = (float(np.hypot(*path.T).max()) for path in (limit, mine))
    worst = float(np.abs(mine - limit).max())
    source = "Exudyn, 12 and 24 elements, extrapolated"
    return [
        Row(f"largest radius of the middle, m, {size} coordinates", peak, own, 0.05 * peak, source),
        Row("largest difference, m", 0.0, worst, 0.08 * peak, source),
        Row("largest difference, m, Exudyn, 24 elements", 0.0, float(np.abs(many - limit).max()), 0.2 * peak, source),
    ]


def main() -> None:
    show("Shaft through its critical speed", rows())


if __name__ == "__main__":
    main()
