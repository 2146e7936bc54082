"""Did you mean: slips, beginnings and words are found; names that merely share letters are not."""

from __future__ import annotations

import pytest

import pliant
from pliant.base.signatures import near
from pliant.robot import Beam, Drive, Joint, Limits, Section, arms
from pliant.robot.parts.materials import MATERIALS

MEANT = [
    ("lenght", Beam.model_fields, "length"), ("len", Beam.model_fields, "length"), ("EI", Beam.model_fields, "EI_y"),
    ("mass", Beam.model_fields, "mass_per_length"), ("inertia", Beam.model_fields, "polar_inertia"),
    ("ei_Z", Beam.model_fields, "EI_z"), ("stifness", Drive.model_fields, "stiffness"),
    ("ratio", Drive.model_fields, "gear_ratio"), ("aluminum", MATERIALS, "aluminium"),
    ("stainless steel", MATERIALS, "stainless"), ("two_link", arms(), "two-link"), ("crane", arms(), "crane-4dof"),
    ("forearm", ("upper", "fore"), "fore"), ("simulat", pliant.__all__, "simulate"),
    ("sim", pliant.__all__, "simulate"),
    ("load_robot", pliant.__all__, "load"), ("rdo", ("tube", "rod"), "rod"), ("sinus", ("sine", "step"), "sine"),
    ("qq", ("q", "qd"), "q"),
]  # fmt: skip
OTHER = [
    ("width", Beam.model_fields), ("gear", Beam.model_fields), ("position", Beam.model_fields),
    ("radius", Joint.model_fields), ("ratio", Joint.model_fields), ("shape", Limits.model_fields),
    ("color", Limits.model_fields), ("angle", Section.model_fields), ("modes", Section.model_fields),
    ("min", Drive.model_fields), ("plot", pliant.__all__), ("E", Beam.model_fields),
    ("arm", arms()), ("lower", ("upper", "fore")), ("", Beam.model_fields), (3, Beam.model_fields),
    ("x" * 100_000, Beam.model_fields),
]  # fmt: skip


@pytest.mark.parametrize(("given", "known", "meant"), MEANT, ids=[each[0] for each in MEANT])
def test_what_was_probably_meant(given, known, meant) -> None:
    assert near(given, known) == meant


@pytest.mark.parametrize(("given", "known"), OTHER, ids=[str(each[0])[:12] for each in OTHER])
def test_what_is_not_near(given, known) -> None:
    """Most of these were answered with another name that shares some letters."""
    assert near(given, known) is None
