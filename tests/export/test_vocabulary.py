"""The page for newcomers names what exists: in Pinocchio and here."""

from __future__ import annotations

import re

import pytest

import pliant
from sources import ROOT

PAGE = ROOT / "docs" / "vocabulary.md"


def column(place: int) -> str:
    """One column of all tables."""
    rows = [line.split("|") for line in PAGE.read_text().splitlines() if line.startswith("|") and "---" not in line]
    return "\n".join(row[place] for row in rows)


def test_names_of_pinocchio_exist() -> None:
    pin = pytest.importorskip("pinocchio", reason="pinocchio (extra bench) is not installed")
    text = column(2)
    names = set(re.findall(r"`([a-z]\w+)(?:\(|`)", text)) | {"LOCAL_WORLD_ALIGNED"}
    assert {"aba", "rnea", "crba", "computeJointJacobians", "framesForwardKinematics"} <= names
    assert [name for name in names if not hasattr(pin, name)] == []
    model = pin.buildSampleModelManipulator()
    fields = set(re.findall(r"`model\.(\w+)", text))
    assert fields == {"armature", "damping", "friction", "gravity"}
    assert all(hasattr(model, name) for name in fields)


def test_names_of_pliant_exist() -> None:
    text, model = column(4), pliant.load("two-link").model()
    names = set(re.findall(r"`model\.(\w+)", text))
    assert len(names) > 8
    assert [name for name in names if not hasattr(model, name)] == []
    assert [name for name in re.findall(r"`pliant\.(\w+)", text) if not hasattr(pliant, name)] == []
