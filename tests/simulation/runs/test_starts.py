"""States as they may be typed: the joints alone, angles in degrees, static rest in a word."""

from __future__ import annotations

import numpy as np
import pytest

import pliant
from pliant.control import PD, Quintic
from pliant.errors import ModelError
from pliant.loads import Wrench

QUARTER = np.pi / 2


@pytest.fixture(scope="module")
def model() -> pliant.Model:
    return pliant.load("two-link").model()


@pytest.mark.parametrize(
    "given",
    [["90 deg", "-pi/2"], {"upper": "90 deg", "fore": "-90 deg"}, ("90°", -QUARTER), ["90 deg", "-90 deg", 0, 0.0]],
    ids=["list", "mapping", "mixed", "all"],
)
def test_angles_in_degrees(model: pliant.Model, given) -> None:
    expected = model.mass_matrix([QUARTER, -QUARTER, 0, 0])
    run = pliant.simulate(model, 0.01, q0=given, output_step=0.01)
    assert run.q[0] == pytest.approx([QUARTER, -QUARTER, 0, 0])
    assert model.frequencies(given) == pytest.approx(model.frequencies(run.q[0]))
    assert model.mass_matrix(run.q[0]) == pytest.approx(expected)


def test_angles_of_many_arms(model: pliant.Model) -> None:
    batch = pliant.simulate_batch(model, 0.01, q0=[["90 deg", 0.0], [0.0, "45 deg"]])
    assert batch.q[:, 0, :2] == pytest.approx(np.array([[QUARTER, 0.0], [0.0, QUARTER / 2]]))


def test_goals_in_degrees(model: pliant.Model) -> None:
    law = PD(100.0, 10.0, ["90 deg", 0.0], gravity="none").bind(model)
    assert law(0.0, np.zeros(4), np.zeros(4)) == pytest.approx([100 * QUARTER, 0.0])
    assert Quintic(["0 deg", 0.0], ["90 deg", "45 deg"], 1.0).goal == pytest.approx([QUARTER, QUARTER / 2])
    assert model.equilibrium(["90 deg", 0.0]) == pytest.approx(model.equilibrium([QUARTER, 0.0]))


@pytest.mark.parametrize("given", [["ninety", 0.0], {"upper": "90 degrees"}, "rest"])
def test_text_that_is_no_angle(model: pliant.Model, given) -> None:
    with pytest.raises(ModelError, match=r"q0.*expected"):
        pliant.simulate(model, 0.01, q0=given)
    with pytest.raises(ModelError, match="joints: got"):
        model.equilibrium(["ninety", 0.0])


def test_static_rest_in_a_word(model: pliant.Model) -> None:
    assert pliant.simulate(model, 0.01, q0="equilibrium").q[0] == pytest.approx(model.equilibrium([0.0, 0.0]))
    push = Wrench(force=[0.0, -20.0, 0.0])
    run = pliant.simulate(model, 0.01, q0="equilibrium", loads=push)
    assert run.q[0] == pytest.approx(model.equilibrium([0.0, 0.0], [push]))
    arm = pliant.Stepper(model, step=1e-3, q0="equilibrium")
    assert arm.q == pytest.approx(model.equilibrium([0.0, 0.0]))
    with pytest.raises(ModelError, match="qd0: got"):
        pliant.simulate(model, 0.01, qd0="equilibrium")


def test_static_rest_wherever_a_state_is_read(model: pliant.Model) -> None:
    rest = model.equilibrium([0.0, 0.0])
    assert pliant.analysis.link_frequencies(model, "upper", "equilibrium") == pytest.approx(
        pliant.analysis.link_frequencies(model, "upper", rest)
    )


def test_the_joints_alone_bring_motors_and_sliding_beams() -> None:
    """As a mapping does: motors follow, amplitudes are zero, a sliding beam has its rest length."""
    for name in ("rrp", "boom", "crane-4dof", "lab-arm"):
        model = pliant.load(name).model()
        rest = model.layout.rest()[model.layout.shaft_places()] + 0.01
        assert model.state(list(rest)) == pytest.approx(model.state(dict(zip(model.joints, rest))))
