"""Masses of links and of whole robots, and sums of bodies that are lumped onto one, given in different frames."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from pliant.arrays import Array
from pliant.errors import ModelError
from pliant.robot.parts.base import BaseBody
from pliant.robot.parts.beam import Beam, beam_properties
from pliant.robot.parts.bodies.rigid_body import Lump, RigidBody, inertia_matrix

if TYPE_CHECKING:
    from pliant.robot.description import RobotDescription
    from pliant.robot.parts.link import Link

PLAUSIBLE = 1e-9
"""Part by which a principal moment may exceed the sum of the others: rounding."""


@dataclass(frozen=True)
class MassSum:
    """Mass, first moment and inertia about a frame's origin, in that frame's axes."""

    m: float
    s: Array
    I: Array

    @classmethod
    def of(cls, m: float, com: Array, inertia: Array) -> MassSum:
        """A body with its center of mass at `com` and `inertia` (3, 3) about it."""
        return cls(m, m * com, inertia + m * (com @ com * np.eye(3) - np.outer(com, com)))

    @classmethod
    def lump(cls, body: Lump | RigidBody | BaseBody) -> MassSum:
        """A lump, a rigid body or a base, about the frame that it is given in."""
        return cls.of(body.mass, np.array(body.com, dtype=float), np.array(inertia_matrix(body.inertia), dtype=float))

    @classmethod
    def nothing(cls) -> MassSum:
        """Return a sum without mass."""
        return cls(0.0, np.zeros(3), np.zeros((3, 3)))

    def __add__(self, other: MassSum) -> MassSum:
        return MassSum(self.m + other.m, self.s + other.s, self.I + other.I)

    def __sub__(self, other: MassSum) -> MassSum:
        return MassSum(self.m - other.m, self.s - other.s, self.I - other.I)

    def __bool__(self) -> bool:
        return bool(self.m) or bool(self.I.any())

    def moved(self, R: Array, p: Array) -> MassSum:
        """The same mass seen from a frame in which the present one stands at `p`, turned by `R`."""
        m, com, inertia = self.about_com()
        return MassSum.of(m, R @ com + p, R @ inertia @ R.T)

    def about_com(self) -> tuple[float, Array, Array]:
        """Mass, center of mass, and the inertia about it, exactly symmetric."""
        com = self.s / self.m if self.m else np.zeros(3)
        inertia = self.I - self.m * (com @ com * np.eye(3) - np.outer(com, com))
        return self.m, com, (inertia + inertia.T) / 2.0

    def split(self) -> tuple[MassSum, MassSum]:
        """Split into a possible body and a spin about one axis alone, such as that of a rotor, which is the rest.

        No body has a principal moment above the sum of the two others; the descriptions of hubs and wheels may.
        """
        m, com, inertia = self.about_com()
        if not np.isfinite(inertia).all():
            raise ModelError("inertial: masses and places this large cannot be computed with; are the units right?")
        moments, axes = np.linalg.eigh(inertia)
        excess = moments[2] - moments[0] - moments[1]
        if excess <= PLAUSIBLE * moments[2]:
            return self, MassSum.nothing()
        least, middle = np.where(moments[:2] > PLAUSIBLE * moments[2], moments[:2], 0.0)
        body = (axes * [least, middle, least + middle]) @ axes.T
        spin = (moments[2] - least - middle) * np.outer(axes[:, 2], axes[:, 2])
        return MassSum.of(m, com, (body + body.T) / 2), MassSum.of(0.0, np.zeros(3), spin)


def beam_mass(beam: Beam) -> float:
    """Mass of a beam, kg; of a sliding one with the part inside the hub."""
    properties = beam_properties(beam)
    length = beam.total_length if beam.total_length is not None else beam.length
    if properties.profile is None:
        return float(properties.mass_per_length * length)
    nodes, weights = np.polynomial.legendre.leggauss(4)  # the area is quadratic between stations
    breaks = properties.profile.breaks
    pieces = (
        (b - a) / 2.0 * weights @ properties.profile.mass_per_length((a + b) / 2.0 + (b - a) / 2.0 * nodes)
        for a, b in pairwise(breaks)
    )
    return float(length * sum(pieces))


def body_mass(link: Link) -> float:
    """Mass of a link without its lumps, kg."""
    if link.beam is not None:
        return beam_mass(link.beam)
    return link.rigid.mass if link.rigid is not None else link.body.reduced.mass if link.body is not None else 0.0


def link_mass(link: Link) -> float:
    """Mass of a link with its hub and tip lumps, kg."""
    return body_mass(link) + link.joint.hub.mass + link.tip.mass


def payload_mass(robot: RobotDescription) -> float:
    """Mass of all that a robot carries, kg."""
    return sum(payload.mass for payload in robot.payloads)


def robot_mass(robot: RobotDescription) -> float:
    """Mass of a robot with its payloads, and with its base where that is free, kg."""
    return sum(link_mass(link) for link in robot.bodies) + payload_mass(robot)
