"""Small arms with closed-form answers."""

from __future__ import annotations

from typing import Any

from pliant import Beam, Joint, Link, Robot, Shapes

LENGTH, EI_Y, EI_Z, GJ, EA, MU = 2.0, 100.0, 200.0, 50.0, 1e5, 1.5
BEAM = Beam(length=LENGTH, mass_per_length=MU, EI_y=EI_Y, EI_z=EI_Z, GJ=GJ, EA=EA, polar_inertia=0.01)
ELEMENTS = Shapes(method="elements", count=3, bending_y=True, bending_z=True, torsion=True, axial=True)


def modes(count: int, **more: Any) -> Shapes:
    """Clamped-free bending modes in both planes."""
    return Shapes(bending_y=count, bending_z=count, **more)


def cantilever(shapes: Shapes, gravity: tuple[float, float, float] = (0.0, 0.0, 0.0), **link: Any) -> Robot:
    """One beam on a joint about z."""
    return Robot(name="cantilever", gravity=gravity, links=[Link(name="arm", beam=BEAM, shapes=shapes, **link)])


def built_in(shapes: Shapes) -> Robot:
    """One beam without any joint that moves."""
    return cantilever(shapes, joint=Joint(type="fixed"))
