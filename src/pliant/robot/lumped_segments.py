"""A beam cut into rigid stretches: their masses, and the springs between them.

Rigid finite elements: a beam of length L becomes N elements of equal length. The flexibility of an element sits in a
hinge at its middle, with the spring EI N / L, so that stretches between hinges are half an element long at both ends.
Tangents at root and tip are then those of stretches, and errors of frequencies fall like 1/N^2. Where something hangs
on a section in between, elements end there, for the same reason.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from pliant.arrays import Array
from pliant.robot.mass_sum import MassSum
from pliant.robot.parts.angles import rotation_x
from pliant.robot.parts.beam import Beam, BeamProperties, beam_properties

POINTS = 8
"""Points of Gauss's rule between two breaks of a table: exact for sections with linear dimensions, also times x^2."""


class Spring(NamedTuple):
    """Place of a hinge along a beam, and the part of the beam, from `low` to `high`, whose flexibility it has."""

    eta: float
    low: float
    high: float


def springs(count: int, marks: Sequence[float] = ()) -> tuple[Spring, ...]:
    """Springs in the middle of each of `count` elements; places are parts of the length. At `marks`, parts of the
    length too, elements end: they are then nearly equal, and nearly `count`."""
    found = []
    for low, high in pairwise([0.0, *sorted({mark for mark in marks if 0.0 < mark < 1.0}), 1.0]):
        own = max(1, round(count * (high - low)))
        ends = [low + (high - low) * k / own for k in range(own)] + [high]
        found += [Spring((a + b) / 2, a, b) for a, b in pairwise(ends)]
    return tuple(found)


def stretches(found: Sequence[Spring]) -> tuple[tuple[float, float], ...]:
    """The rigid stretches between the ends of the beam and its springs, as parts of the length."""
    return tuple(pairwise([0.0, *(spring.eta for spring in found), 1.0]))


def stiffness(beam: BeamProperties, name: str, spring: Spring) -> float:
    """Constant of the spring for a stiffness such as `EI_z`: the inverse of the flexibility of its element."""
    eta, weight = _rule(beam, spring.low, spring.high)
    return 1.0 / float(weight @ (beam.length / (getattr(beam, name) * _profile(beam, name, eta))))


def mass_between(beam: BeamProperties, low: float, high: float) -> MassSum:
    """Mass of the beam between two parts of its length, from its section at `low`, in its principal axes."""
    eta, weight = _rule(beam, low, high)
    L = beam.length
    dm = weight * L * beam.mass_per_length * _profile(beam, "mass_per_length", eta)
    x = L * (eta - low)
    m, first, second = dm.sum(), dm @ x, dm @ x**2
    turned = (1.0, 1.0) if beam.profile is None else beam.profile.rotary(eta)
    j_x = weight @ (L * beam.polar_inertia * _profile(beam, "polar_inertia", eta))
    j_y, j_z = (float(np.sum(weight * L * j * part)) for j, part in zip(beam.rotary, turned))
    return MassSum(float(m), np.array([first, 0.0, 0.0]), np.diag([float(j_x), second + j_y, second + j_z]))


def rigid_beam(beam: Beam, clamp: float = 0.0) -> MassSum:
    """Mass of a straight beam that does not slide, in the frame after its joint, `clamp` before its root."""
    R, root = section_place(beam, clamp)
    return mass_between(beam_properties(beam), 0.0, 1.0).moved(R, root)


def section_place(beam: Beam, clamp: float) -> tuple[Array, Array]:
    """Rotation from the principal axes of its sections to the frame after the joint, and place of the centroid at the
    root, which is `clamp` away from that frame along x."""
    section = beam.section
    if section is None:
        return np.eye(3), np.array([clamp, 0.0, 0.0])
    return np.array(rotation_x(section.turn), dtype=float), np.array([clamp, *(section.offset or (0.0, 0.0))])


def _profile(beam: BeamProperties, name: str, eta: Array) -> Array:
    return np.ones(len(eta)) if beam.profile is None else np.asarray(getattr(beam.profile, name)(eta))


@cache
def _gauss() -> tuple[Array, Array]:
    x, w = np.polynomial.legendre.leggauss(POINTS)
    return x, w


def _rule(beam: BeamProperties, low: float, high: float) -> tuple[Array, Array]:
    """Gauss points and weights between two parts of the length, piece by piece of a table."""
    breaks = () if beam.profile is None else beam.profile.breaks
    ends = [low, *(eta for eta in breaks if low < eta < high), high]
    x, w = _gauss()
    parts = [(a + (b - a) * (x + 1) / 2, (b - a) * w / 2) for a, b in pairwise(ends)]
    return np.concatenate([eta for eta, _ in parts]), np.concatenate([weight for _, weight in parts])
