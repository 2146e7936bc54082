"""Numbers that are likely a mistake: one line each, once, with what was probably meant; none where nothing is odd."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest

import pliant
from pliant.control import PD, PID, ComputedTorque
from pliant.model.validity import odd_numbers, odd_start
from sources import ROOT

SCENARIOS = sorted((ROOT / "examples" / "scenarios").glob("*.yaml"))


def arm(joint=None, **beam) -> pliant.Robot:
    rod = {"length": 1.0, "material": "steel", "section": {"shape": "rod", "diameter": 0.02}}
    link = {"name": "arm", "joint": joint or {}, "beam": rod | beam, "shapes": {"bending_y": 1}}
    return pliant.Robot(name="plain", links=[link])


@pytest.mark.parametrize(
    ("beam", "words"),
    [
        ({"section": {"shape": "rod", "diameter": 20.0}}, "section.diameter: got 20 m.*if 20 mm is meant"),
        (
            {"section": {"shape": "tube", "outer_diameter": 30.0, "inner_diameter": 20.0}},
            "section.outer_diameter: got 30 m",
        ),
        ({"section": {"shape": "rod", "x": [0, 1], "diameter": [0.02, 15.0]}}, "section.diameter: got 15 m"),
        ({"length": 800.0}, "length: got 800 m, expected .*if 800 mm is meant"),
        ({"length": 1e-5}, "length: got 1e-05 m, .*check the number"),
        ({"material": {"E": 70.0, "G": 26e9, "density": 2700.0}}, "material.E: got 70 Pa.*if 70 GPa is meant"),
    ],
)
def test_a_number_in_another_unit(beam: dict, words: str) -> None:
    with pytest.warns(UserWarning, match=rf"^links.arm.beam.{words}") as caught:
        arm(**beam).model()
    assert all("\n" not in str(each.message) for each in caught)


def test_angles_in_degrees_without_the_word() -> None:
    model = arm().model()
    with pytest.warns(
        UserWarning, match=r'q0\[.arm.\]: got -45 rad.*if -45 deg is meant, write it as "-45 deg"'
    ) as found:
        pliant.simulate(model, 1e-3, q0=[-45.0])
    assert found[0].filename == __file__
    with pytest.warns(UserWarning, match="q0.*got 90 rad"):
        pliant.simulate_batch(arm().model(), 1e-3, q0=[[0.0], [90.0]])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        pliant.simulate(model, 1e-3, q0=[-45.0])  # told once
        pliant.simulate(arm().model(), 1e-3, q0=["-45 deg"])


def test_a_start_beyond_a_limit() -> None:
    model = arm({"limits": {"lower": -1.0, "upper": 1.0}}).model()
    with pytest.warns(
        UserWarning, match=r"q0: got 1\.5 for arm at its upper limit of 1, so that the run ends.*limits=False"
    ):
        run = pliant.simulate(model, 1e-3, q0=[1.5])
    assert run.stats.status == "event"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        pliant.simulate(model, 1e-3, q0=[1.5], limits=False)
        pliant.simulate(model, 1e-3, q0=[0.5])


@pytest.mark.parametrize(
    ("controller", "name"),
    [
        (PD(-1000.0, 1.0, [0.0, 0.0]), "kp: got -1000 for upper, fore"),
        (PD(1000.0, [1.0, -100.0], [0.0, 0.0]), "kd: got -100 for fore"),
        (PD(np.diag([-5.0, 1.0]), 1.0, [0.0, 0.0]), "kp: got -5 for upper"),
        (PID(10.0, -3.0, 1.0, [0.0, 0.0]), "ki: got -3 for upper, fore"),
        (ComputedTorque(-1.0, 1.0, [0.0, 0.0]), "kp: got -1 for upper, fore"),
    ],
)
def test_a_negative_gain(controller, name: str) -> None:
    with pytest.warns(UserWarning, match=f"^{name}, expected 0 or more.*check the sign"):
        controller.bind(pliant.load("two-link").model())


@pytest.mark.parametrize(
    "call",
    [
        lambda model, loop: pliant.simulate(model, 1e-3, controller=loop),
        lambda model, loop: pliant.simulate_batch(model, 1e-3, q0=[[0.0, 0.0]], controller=loop),
        lambda model, loop: pliant.Stepper(model, step=1e-3, controller=loop).step(1e-3),
        lambda model, loop: loop.bind(model),
    ],
    ids=["simulate", "batch", "stepper", "bind"],
)
def test_a_warning_points_to_the_line_of_the_user(call) -> None:
    """However many calls of pliant lie between."""
    with pytest.warns(UserWarning, match="^kp: got -1 for") as caught:
        call(pliant.load("two-link").model(), PD(-1.0, 1.0, [0.0, 0.0]))
    assert {each.filename for each in caught} == {__file__}


def test_gains_that_couple_joints_may_be_negative() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        PD([[10.0, -5.0], [-5.0, 10.0]], 0.0, [0.0, 0.0]).bind(pliant.load("two-link").model())


def test_no_bundled_arm_is_odd() -> None:
    for name in pliant.robot.arms():
        robot = pliant.load(name)
        assert not odd_numbers(robot), name


@pytest.mark.slow_cases("ship-crane")
@pytest.mark.parametrize("path", SCENARIOS, ids=lambda path: path.stem)
def test_no_example_starts_oddly(path: Path) -> None:
    scenario = pliant.Scenario.load(path)
    q, _ = scenario.start()
    assert not odd_numbers(scenario.built.robot)
    assert not odd_start(scenario.built, q, "q0")
