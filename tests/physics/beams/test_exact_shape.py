"""The exact kinematics that small deflections are judged by."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import expm

from pliant.simulation.runs.quantities.exact_shape import KnownShape


@pytest.mark.parametrize("angle", [3e-4, 9.9e-3, 1.01e-2, 0.7])
def test_constant_strains_are_a_screw_motion(angle: float) -> None:
    """Cells that bend, twist, stretch and shear, at an angle to each other: by matrix exponentials, to rounding; below
    0.01 rad a series stands in for sines, and differs from them by no more."""
    size, turn = (
        np.array([0.7, 1.1, 0.4]),
        [expm(-np.cross(axis, np.eye(3))) for axis in ([0.1, 0.3, -0.2], [0, 0, 0.5], [0.4, 0, 0])],
    )
    axis = np.array([0.36, -0.48, 0.8])
    strain = np.concatenate([angle / 1.1 * axis, [0.02, -0.01, 0.03]])
    gap, zero = np.array([[0.1, 0.02, 0], [0, 0.05, -0.03], [0.02, 0, 0.01]]), np.zeros((7, 3))
    shape = KnownShape(
        size, gap, np.array(turn), np.zeros((6, 6, 6)), np.tile(-strain, (6, 1)), zero, np.tile(np.eye(3), (7, 1, 1)),
        zero, zero, np.zeros(7), np.zeros((3, 3)), np.zeros(3), np.zeros(3), False,
    )  # fmt: skip
    twist = np.zeros((4, 4))
    twist[:3, :3], twist[:3, 3] = -np.cross(strain[:3], np.eye(3)), strain[3:] + np.eye(3)[0]
    place = np.eye(4)
    for length, to, by in zip(size, gap, turn):
        step = np.eye(4)
        step[:3, :3], step[:3, 3] = by, to
        place = place @ step @ expm(length * twist)
    found = shape.tip()
    assert found == pytest.approx(place[:3, 3], abs=1e-13)
