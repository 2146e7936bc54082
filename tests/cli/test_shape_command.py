"""`pliant shape`: what it writes and says, and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from pliant.ringing import read_trajectory


def test_a_motion_with_its_files(run, tmp_path: Path) -> None:
    asked = ("shape", "spin-up", "--payload", 0.4, "--start", "0", "--goal", "arm=30 deg", "--jerk", 0.5)
    told = run(*asked, "--out", "moved")
    assert told.exit_code == 0, told.output
    assert "as described" in told.stdout
    facts = json.loads((tmp_path / "moved" / "motion.json").read_text())
    assert facts["residual"]["as described"]["ratio"] < 1 / 20
    assert max(facts["shares"].values()) < 1.0001
    table, message = (read_trajectory(tmp_path / "moved" / f"motion.{kind}") for kind in ("csv", "yaml"))
    np.testing.assert_allclose(table.q, message.q, atol=1e-9)
    assert message.q[-1] == pytest.approx(np.radians(30))
    assert message.t[-1] == pytest.approx(facts["duration"])
    assert (tmp_path / "moved" / "motion.png").stat().st_size > 10_000
    again = run(*asked, "--out", "moved")
    assert again.exit_code == 2
    assert "--force" in again.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("two-link",), "start, goal: expected both, or a trajectory"),
        (("two-link", "--start", "0,0", "--goal", "1"), "--goal '1': got 1 positions, expected 2"),
        (("two-link", "--start", "0,0", "--goal", "upper=1,for=2"), "--goal: the arm has no coordinate `for`"),
        (("two-link", "--start", "0,0", "--goal", "1,1", "--speed", "fast"), "--speed 'fast': expected a number"),
        (("two-link", "--trajectory", "none.csv"), "none.csv: cannot be read"),
        (("puma", "--start", "0,0,0,0,0,0", "--goal", "1,0,0,0,0,0"), "limits.speed: joint waist has none"),
    ],
)
def test_what_it_refuses(run, tmp_path: Path, arguments, message: str) -> None:
    told = run("shape", *arguments)
    assert told.exit_code == 2
    assert message in told.stderr
    assert not any(tmp_path.rglob("*.json"))
