"""`pliant plan`: what it writes and says, and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from pliant.planning import read_trajectory


def test_a_motion_with_its_files(run, tmp_path: Path) -> None:
    asked = ("plan", "spin-up", "--payload", 0.4, "--start", "0", "--goal", "arm=30 deg", "--jerk-limit", 0.5)
    told = run(*asked, "--sample-time", 0.004, "--out", "moved")
    assert told.exit_code == 0, told.output
    assert "as described" in told.stdout
    facts = json.loads((tmp_path / "moved" / "motion.json").read_text())
    assert facts["residual"]["as described"]["ratio"] < 1 / 20
    assert max(facts["shares"].values()) < 1.0001
    table, message = (read_trajectory(tmp_path / "moved" / f"motion.{kind}") for kind in ("csv", "yaml"))
    np.testing.assert_allclose(table.q, message.q, atol=1e-9)
    assert message.q[-1] == pytest.approx(np.radians(30))
    assert 0.0 <= message.t[-1] - facts["duration"] < 0.004
    np.testing.assert_allclose(np.diff(table.t), 0.004, rtol=1e-9)
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
        (
            ("two-link", "--start", "0,0", "--goal", "1,1", "--speed-limit", "fast"),
            "--speed-limit 'fast': expected a number",
        ),
        (("two-link", "--trajectory", "none.csv"), "none.csv: cannot be read"),
        (("puma", "--start", "0,0,0,0,0,0", "--goal", "1,0,0,0,0,0"), "limits.speed: joint waist has none"),
    ],
)
def test_what_it_refuses(run, tmp_path: Path, arguments, message: str) -> None:
    told = run("plan", *arguments)
    assert told.exit_code == 2
    assert message in told.stderr
    assert not any(tmp_path.rglob("*.json"))
