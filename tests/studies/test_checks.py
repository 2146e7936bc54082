"""Verdicts follow from numbers; reports need no other file."""

from __future__ import annotations

import json

import numpy as np
import pytest

from pliant.errors import ModelError
from pliant.studies import NAMES, study
from pliant.studies.checks import (
    FAILS,
    HOLDS,
    NOT_REPRODUCED,
    REPRODUCED,
    VERDICTS,
    below,
    claimed,
    compared,
    plain,
    required,
)
from pliant.studies.report import SIGNS, show, tally


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
