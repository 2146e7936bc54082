"""Angles are read without executing anything, and right angles are exact."""

from __future__ import annotations

import math

import casadi
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from pliant.errors import ModelError
from pliant.robot import Origin
from pliant.robot.parts.angles import parse_angle, rotation_rpy, rpy_of


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("pi/2", math.pi / 2),
        ("-pi/2", -math.pi / 2),
        ("90 deg", math.pi / 2),
        ("90deg", math.pi / 2),
        ("-45°", -math.pi / 4),
        ("2*pi/3", 2 * math.pi / 3),
        ("(30 + 15) deg", math.pi / 4),
        ("1e-3", 1e-3),
        (".5 rad", 0.5),
        ("1 - 2 - 3", -4.0),
        ("8/4/2", 1.0),
        ("--1", 1.0),
    ],
)
def test_expressions(text: str, value: float) -> None:
    assert parse_angle(text) == pytest.approx(value, rel=1e-15)


@pytest.mark.parametrize(
    "text",
    ["", "pi//2", "2**3", "__import__('os')", "pi pi", "1 +", "(1", "deg", "90 degrees", "1/0", "x", "90 deg deg",
     "9" * 81, "1e999", "(" * 79 + "1", "pip", "nan", "inf"],
)  # fmt: skip
def test_everything_else_is_refused(text: str) -> None:
    with pytest.raises(ModelError, match=r"rpy\[0\]: got .*expected"):
        Origin(rpy=(text, 0, 0))


@pytest.mark.parametrize("rpy", [("pi/2", 0, 0), ("90 deg", "-pi/2", "180 deg"), (0, "pi", "3*pi/2")])
def test_right_angles_are_exact(rpy: tuple[object, ...]) -> None:
    entries = {entry for row in rotation_rpy(Origin(rpy=rpy).rpy) for entry in row}
    assert entries <= {0.0, 1.0, -1.0}


def test_a_rounded_right_angle_is_not_snapped() -> None:
    assert rotation_rpy((1.5708, 0.0, 0.0))[1][1] != 0.0


@pytest.mark.parametrize("seed", range(5))
def test_against_scipy_and_back(seed: int) -> None:
    rpy = np.random.default_rng(seed).uniform(-1.5, 1.5, 3)
    R = rotation_rpy(rpy.tolist())
    np.testing.assert_allclose(R, Rotation.from_euler("xyz", rpy).as_matrix(), atol=4e-16)  # a few roundings
    np.testing.assert_allclose(rpy_of(R), rpy, atol=1e-14)  # arcsin loses at most a factor 14 below 1.5 rad


@pytest.mark.parametrize("pitch", [math.pi / 2, -math.pi / 2])
def test_rpy_at_the_pole(pitch: float) -> None:
    R = rotation_rpy((0.3, pitch, 0.7))
    np.testing.assert_allclose(rotation_rpy(rpy_of(R)), R, atol=4e-16)


def test_symbols() -> None:
    r = casadi.SX.sym("r")
    value = casadi.Function("f", [r], [casadi.SX(casadi.vertcat(*rotation_rpy((r, 0.0, math.pi / 2))[1]))])(0.4)
    np.testing.assert_allclose(value.full().ravel(), rotation_rpy((0.4, 0.0, math.pi / 2))[1], atol=1e-15)
