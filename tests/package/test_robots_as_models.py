"""What takes a model takes a robot too, and builds its default model."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pliant
from pliant.control import ComputedTorque, Encoder, TipLine, inverse_kinematics, natural_gains, shaper_for

TAKING: dict[str, Callable[[Any], Any]] = {
    "simulate": lambda m: pliant.simulate(m, 0.02, q0=[0.1, 0.2]).q,
    "simulate_batch": lambda m: pliant.simulate_batch(m, 0.02, q0=[[0.1, 0.2], [0.3, 0.1]]).q,
    "Stepper": lambda m: pliant.Stepper(m, q0=[0.1, 0.2]).step_length,
    "natural_gains": lambda m: natural_gains(m, [0.0, 0.4], 1.2),
    "shaper_for": lambda m: shaper_for(m, [0.0, 0.4]).times,
    "inverse_kinematics": lambda m: inverse_kinematics(m, [1.2, 0.5, 0.0], [0.3, 0.4]),
    "TipLine": lambda m: TipLine(m, [[1.2, 0.5, 0.0], [1.1, 0.6, 0.0]], 1.0, guess=[0.3, 0.4])(0.5)[0],
    "link_frequencies": lambda m: pliant.analysis.link_frequencies(m, "fore"),
    "controllability": lambda m: pliant.analysis.controllability(m).control,
}


@pytest.mark.parametrize("name", TAKING)
def test_a_robot_stands_for_its_default_model(name: str) -> None:
    robot = pliant.load("two-link")
    found, expected = (TAKING[name](given) for given in (robot, robot.model()))
    for one, other in zip(np.atleast_1d(found), np.atleast_1d(expected), strict=True):
        np.testing.assert_array_equal(one, other)


def test_exports_of_a_robot(tmp_path: Path) -> None:
    """LaTeX has a default model of its own, whose formulas are short."""
    robot = pliant.load("spin-up")
    written = pliant.export.export(robot, "latex", tmp_path / "robot")
    model = robot.model("lagrange", stiffening="off")
    expected = pliant.export.export(model, "latex", tmp_path / "model")
    texts = [next(folder.glob("*.tex")).read_text(encoding="utf-8") for folder in (written, expected)]
    assert texts[0] == texts[1]


def test_every_public_function_says_so() -> None:
    rooms = [pliant, *(getattr(pliant, name) for name in ("analysis", "control", "export", "gradients", "planning"))]
    wrong = {
        name
        for room in rooms
        for name in room.__all__
        if inspect.isroutine(thing := getattr(room, name))
        for parameter in inspect.signature(thing).parameters.values()
        if parameter.annotation == "Model"
    }
    assert wrong == set()


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda m: pliant.simulate(m, 0.1, dt=1e-3), r"simulate\(\) got .* 'dt'; did you mean 'step'\?"),
        (lambda m: pliant.simulate(m, 0.1, torques=[1.0, 2.0]), r"'torques'; did you mean 'torque'\?"),
        (lambda m: ComputedTorque(kp=1.0, kv=2.0, reference=[0.0, 0.0]), r"ComputedTorque\(\) got .* mean 'kd'\?"),
        (lambda m: pliant.plan(m, [0, 0], [1, 1], speed=2.0), r"'speed'; did you mean 'speed_limit'\?"),
        (lambda m: pliant.simulate(m, 0.1, xyzzy=1), r"'xyzzy'$"),
        (lambda m: pliant.simulate("arm.yaml", 0.1), r"type Robot; call pliant\.load\('arm\.yaml'\)$"),
        (lambda m: pliant.control.KalmanFilter(m.robot, [Encoder("upper")], 0.01), r"Model; call its model\(\)$"),
    ],
)
def test_a_wrong_argument_names_the_right_one(call: Callable[[Any], Any], said: str) -> None:
    with pytest.raises((TypeError, pliant.ModelError), match=said):
        call(pliant.load("two-link").model())
