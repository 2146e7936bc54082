"""What a run says of its cost: another method only to who did not take it, `reduce` to who has many elements."""

from __future__ import annotations

import warnings
from dataclasses import replace

import pytest

import pliant
from pliant.integrators.solution import Stats, Stiffness
from pliant.simulation.runs.checks.advice import advice
from pliant.simulation.runs.equations.composition import compose

STIFF = Stiffness(1e5, 1, 1e3, 1e5, 1e3, 30.0)


def rod(**shapes) -> pliant.Robot:
    beam = {"length": 1.0, "material": "steel", "section": {"shape": "rod", "diameter": 0.02}}
    links = [
        {"name": name, "beam": beam, "shapes": {"method": "elements", "bending_y": True, "bending_z": True} | shapes}
        for name in ("boom", "jib")
    ]
    return pliant.Robot(name="rods", gravity=(0, -9.81, 0), links=links)


def told(robot: pliant.Robot, stats: Stats) -> str:
    return " ".join(advice(compose(robot.model(), None, None, {}, (), None, False), stats).values())


def test_auto_is_recommended_to_who_did_not_take_it() -> None:
    model = pliant.load("two-link")
    asked = Stats("dop853", "asked for", 9000, 0, 9000, 0, 0, 1.0, crawling=True, stiffness=STIFF)
    assert "by the stiff coordinate fore, not by accuracy; method='auto' or 'rodas5p' would" in told(model, asked)
    chosen = told(model, replace(asked, reason="fastest rate 1e+05 1/s"))
    assert "method='rodas5p' would take larger steps" in chosen
    assert "auto" not in chosen
    assert not told(model, replace(asked, crawling=False))


def test_many_elements_get_a_hint_at_reduce() -> None:
    many = Stats("dop853", "cheap", 45_359, 0, 500_000, 0, 0, 60.0)
    hint = told(rod(count=3), many)
    assert hint.startswith("24 amplitudes of elements (boom, jib) took 45359 steps")
    assert "`reduce: 4`" in hint
    assert not told(rod(count=3), replace(many, steps=9_999))
    assert not told(rod(count=3), replace(many, method="rk4"))  # its steps are the user's
    assert not told(rod(count=9, reduce=8), many)
    assert not told(rod(count=2), many)
    assert not told(pliant.load("two-link"), many)


@pytest.mark.full
def test_the_hint_comes_with_a_run_and_holds() -> None:
    with pytest.warns(UserWarning, match="36 amplitudes of elements .*`reduce: 4`"):
        slow = pliant.simulate(rod(count=9, bending_z=False).model(), 0.2, q0=[0.3, 0.0])
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message=".*amplitudes of elements")
        quick = pliant.simulate(rod(count=9, bending_z=False, reduce=4).model(), 0.2, q0=[0.3, 0.0])
    assert quick.stats.steps < slow.stats.steps / 5
    assert abs(quick.tip - slow.tip).max() < 1e-4
