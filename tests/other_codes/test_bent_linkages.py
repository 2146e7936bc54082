"""A slider-crank and a four-bar whose coupler bends, against cable elements of Exudyn over two turns: the distance of
the coupler's middle from the line through its pins, to 1 % of its peak at every time."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pliant_bench.linkages import ALLOWED, COUPLER, ENDS, START, CablesCut, exudyn_run, from_the_line, pliant_run
from pliant_bench.peers import PeerRun

CASES = [
    pytest.param(*case, id="-".join(case), marks=() if case == ("slider-crank", "speed") else pytest.mark.full)
    for case in ENDS
]


def test_the_distance_from_a_line() -> None:
    root, tip = np.array([[1.0, 2.0]]), np.array([[4.0, 6.0]])
    beside = (root + tip) / 2 + 0.3 * np.array([[-4.0, 3.0]]) / 5
    assert from_the_line(root, beside, tip) == pytest.approx([0.3])


@pytest.mark.slow_cases("slider-crank-speed")
@pytest.mark.parametrize(("kind", "drive"), CASES)
def test_the_middle_of_the_coupler(kind: Any, drive: Any) -> None:
    pytest.importorskip("exudyn", reason="exudyn is not installed: pip install '.[bench]'")
    mine, theirs = pliant_run(kind, drive, rtol=1e-7, atol=1e-9), exudyn_run(kind, drive, CablesCut(4, 2e-4))
    peak = float(np.abs(theirs.deflections).max())
    assert 0.002 < peak / COUPLER < 0.02  # a bend that can be seen, and holds for small deflections
    angle, away = mine.against(theirs)
    assert away < ALLOWED * peak, f"{away / peak:.2e} of the peak"
    assert angle < 1e-3
    assert 1.95 < (mine.angles[-1, 0] - START) / (2 * np.pi) < 2.1  # two turns


@pytest.mark.slow
def test_pliant_alone_converges() -> None:
    """Three cubic elements are within a tenth of what is allowed of six, a quarter of a turn at speed."""
    from pliant.robot import Shapes

    def run(count: int) -> PeerRun:
        shapes = Shapes(method="elements", count=count, bending_y=True)
        return pliant_run("four-bar", "speed", shapes, 0.2)

    few, many = run(3), run(6)
    peak = float(np.abs(many.deflections).max())
    assert peak > 5e-4
    assert few.against(many)[1] < 0.3 * ALLOWED * peak
