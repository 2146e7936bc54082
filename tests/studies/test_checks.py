"""Verdicts follow from numbers; reports need no other file."""

from __future__ import annotations

import json

import numpy as np
import pytest

from pliant.errors import ModelError
from pliant.robot import Beam, Joint, Link, Lump, Robot, Shapes
from pliant.simulation.runs.simulation import simulate
from pliant_studies import NAMES, study
from pliant_studies.checks import (
    FAILS,
    HOLDS,
    NOT_REPRODUCED,
    REPORTED,
    REPRODUCED,
    VERDICTS,
    below,
    claimed,
    compared,
    plain,
    required,
    timed,
)
from pliant_studies.cibicik_egeland import statics
from pliant_studies.flexible_joints.measures import off_quadrature
from pliant_studies.report import SIGNS, show, tally


def test_shortening_is_that_of_the_slopes_however_a_beam_twists() -> None:
    """The rotation vector of a section is v', w' to first order alone; twist by an eccentric tip turns it."""
    beam = Beam(length=1.3, mass_per_length=0.8, EI_y=60.0, EI_z=140.0, GJ=12.0, EA=1e6, polar_inertia=1e-4)
    shapes = Shapes(boundary="clamped-free", bending_y=1, bending_z=1, torsion=1, axial=1)
    tip = Lump(mass=0.7, com=(0.0, 0.2, 0.1), inertia=(0.01, 0.02, 0.03))
    link = Link(name="arm", joint=Joint(type="fixed"), beam=beam, shapes=shapes, tip=tip)
    robot = Robot(name="bracket", gravity=(0.0, -6.0, -7.0), links=[link])
    run = simulate(robot.model(stiffening="second-order"), 0.3, output_step=0.02)
    assert np.abs(run.rotation("arm")[:, 0]).max() > 0.1
    assert off_quadrature(run, "arm") < 1e-12  # last bits of 1.3 m beside 13 mm


@pytest.mark.parametrize(
    ("published", "ours", "verdict"),
    [
        (8.0, 8.1, REPRODUCED),
        (8.0, 22.0, NOT_REPRODUCED),
        ([1.0, 2.0], [1.0, 2.01], REPRODUCED),
        ([1.0, 2.0], [1.0, 2.3], NOT_REPRODUCED),
        (8.0, float("nan"), NOT_REPRODUCED),
    ],
)
def test_verdict_of_a_comparison(published: object, ours: object, verdict: str) -> None:
    check = compared("x", "claim", "where", published, ours, 0.02, "reason", "text")
    assert check.verdict == verdict


def test_statements_and_requirements() -> None:
    assert claimed("x", "c", "w", "more", 1, True, "", "", "").verdict == REPRODUCED
    assert claimed("x", "c", "w", "more", 1, False, "", "", "").verdict == NOT_REPRODUCED
    assert below("x", "c", "w", 1e-9, 1e-8, "", "").verdict == HOLDS
    assert below("x", "c", "w", float("nan"), 1e-8, "", "").verdict == FAILS
    assert required("x", "c", "w", 1, 2, False, "", "").verdict == FAILS


def test_checks_are_plain_json() -> None:
    ours = {"a": np.float64(1.5), "b": np.array([1, 2]), "c": (np.bool_(True), float("nan")), "d": None}
    text = json.dumps(required("x", "c", "w", ours, "", True, "", "").to_dict(), allow_nan=False)
    assert json.loads(text)["ours"] == {"a": 1.5, "b": [1, 2], "c": [True, "nan"], "d": None}
    assert plain(np.int64(3)) == 3


def test_every_verdict_has_a_sign_and_is_counted() -> None:
    assert set(SIGNS) == set(VERDICTS)
    checks = [below("x", "c", "w", 1.0, 2.0, "", ""), below("y", "c", "w", 3.0, 2.0, "", "")]
    assert "1 × ✓ holds" in tally(checks)
    assert "1 × ✗ does not hold" in tally(checks)


def test_numbers_are_shown_as_a_reader_wants_them() -> None:
    assert show(None) == "–"
    assert show([1, 2.5]) == "1, 2.5"
    assert show(0.123456789) == "0.12346"
    assert show({"a": 25251}) == "a: 25 251"


@pytest.mark.parametrize("name", NAMES)
def test_a_study_says_what_it_is(name: str) -> None:
    found = study(name)
    assert found.name == name
    assert found.given
    assert len(found.chosen) >= 5
    assert min(found.steps) > 0


def test_an_unknown_study_is_named() -> None:
    with pytest.raises(ModelError, match=r"'puma'.*mohan-saha"):
        study("puma")


def test_statics_of_the_crane_by_hand() -> None:
    """Audited tip deflections of [CE21]; and a beam that lies level with nothing beyond it but the tool."""
    for pose, expected in (
        ((np.pi / 6, 2 * np.pi / 3, np.pi / 6), (10.1e-3, 1.83e-3)),
        ((np.pi / 3,) * 3, (17.4e-3, 3.17e-3)),
    ):
        assert np.abs(statics.deflections([0.0, *pose])) == pytest.approx(
            expected, rel=0.02
        )  # three digits, and slopes
    EI = 210e9 * np.pi / 64 * (0.05**4 - 0.04**4)
    p, F, L = 9.81 * 7850 * np.pi / 4 * (0.05**2 - 0.04**2), 9.81 * 3.56, 1.8
    level = np.pi / 2 - 1e-9  # link 2 upright, link 3 level, the tool hanging: no moment of it
    bent = statics.deflections([0.0, 0.0, level, np.pi / 2])[1]
    assert bent == pytest.approx((p * L**4 / 8 + F * L**3 / 3) / EI, rel=2e-3)  # what the slopes turn


@pytest.mark.parametrize(
    ("ratios", "verdict"),
    [((1.2, 1.5, 1.3), REPRODUCED), ((0.8, 0.9, 0.7), NOT_REPRODUCED), ((0.9, 1.2, 1.1), REPORTED)],
)
def test_a_timed_claim_needs_every_round(ratios: tuple[float, ...], verdict: str) -> None:
    assert timed("x", "c", "w", None, {}, ratios, "", "").verdict == verdict
