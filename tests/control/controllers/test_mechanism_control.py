"""Controllers of arms with loops and passive joints: weights by virtual work, gains and regulators of what is free."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import solve_continuous_are

import pliant
from coupled_arms import boom
from linkages import bar, four_bar, passive
from physics.loops.test_linkages import four_bar_work
from pliant.control import LQR, PD, PID, natural_gains
from pliant.errors import UnsupportedModel
from pliant.robot import Robot


@pytest.mark.parametrize("gravity", ["reference", "measured"])
def test_a_weight_is_carried_through_a_loop(gravity: str) -> None:
    """At its goal the crank stands still under what its holding torque is."""
    model = four_bar().model()
    q = model.assemble({"crank": 0.7}, held=["crank"])
    run = pliant.simulate(model, 0.5, q, controller=PD(20.0, 2.0, [0.7], gravity=gravity), rtol=1e-10)
    np.testing.assert_allclose(run.tau[0], model.holding_torque(q), rtol=1e-12)
    assert np.abs(run.q - q).max() < 1e-9
    law = PID(20.0, 30.0, 2.0, [1.4])
    moved = pliant.simulate(model, 3.0, q, controller=law)
    assert moved["crank"][-1] == pytest.approx(1.4, abs=1e-3)


@pytest.mark.slow
def test_a_weight_of_links_that_bend_is_carried_nearly() -> None:
    """As they bend; without it the crank sags a hundred times as far."""
    model = pliant.load("slider-crank").model()
    q = model.equilibrium({"crank": 0.6})
    sags = []
    for gravity in ("reference", "none"):
        run = pliant.simulate(model, 0.3, q, controller=PD(200.0, 10.0, [0.6], gravity=gravity))
        sags.append(abs(run["crank"][-1] - 0.6))
    assert sags[0] < 0.01 * sags[1]


def test_a_passive_joint_swings_under_a_carried_one() -> None:
    """Of the bar that hangs on it, the driven joint feels nothing where it hangs straight down."""
    model = Robot(name="two", links=[bar("a", 0.4), bar("b", 0.3, passive())], gravity=(0, -9.81, 0)).model()
    q = model.equilibrium([0.4])
    run = pliant.simulate(model, 0.5, q, controller=PD(20.0, 2.0, [0.4]))
    assert np.abs(run.q - q).max() < 1e-7


def test_natural_gains_have_the_inertia_of_all_that_follows() -> None:
    """By the closed form of the four-bar."""
    model = four_bar().model()
    kp, kd = natural_gains(model, [0.7], 6.0 / (2 * np.pi))
    inertia, _ = four_bar_work(np.array([0.7]))
    assert kp == pytest.approx(36.0 * inertia, rel=1e-10)
    assert kd == pytest.approx(12.0 * inertia, rel=1e-10)


def test_a_regulator_in_independent_coordinates() -> None:
    """One freedom: the gain of two numbers, weights of what follows counted with it."""
    model = four_bar().model()
    law = LQR([0.7], Q=100.0, R=0.1)
    found = law.design(model)
    q = model.equilibrium([0.7])
    system = model.linearize(q)
    h = 1e-6
    ahead, behind = (model.assemble({"crank": 0.7 + s}, held=["crank"]) for s in (h, -h))
    follows = (ahead - behind) / (2 * h)
    weight = 100.0 * np.eye(2) * (follows @ follows)
    P = solve_continuous_are(system.A, system.B, weight, [[0.1]])
    np.testing.assert_allclose(found.G[0, [0, 3]], (system.B.T @ P / 0.1)[0], rtol=1e-6)
    assert not found.G[0, [1, 2, 4, 5]].any()
    run = pliant.simulate(model, 6.0, model.assemble({"crank": 0.9}, held=["crank"]), controller=law)
    assert run["crank"][-1] == pytest.approx(0.7, abs=1e-3)
    np.testing.assert_allclose(run.tau[-1], found.u0, atol=1e-2)


def test_a_regulator_damps_a_passive_joint() -> None:
    model = Robot(name="two", links=[bar("a", 0.4), bar("b", 0.3, passive())], gravity=(0, -9.81, 0)).model()
    law = LQR([0.4], Q=10.0, R=0.1)
    q = model.equilibrium([0.4])
    run = pliant.simulate(model, 6.0, q + np.array([0.0, 0.3]), controller=law)
    assert np.abs(run.q[-1] - q).max() < 1e-3


def test_what_linear_control_does_not_know_is_said() -> None:
    with pytest.raises(UnsupportedModel, match="pressures of lift are no states of it"):
        LQR(np.zeros(0), Q=1.0, R=1.0).design(boom().model())
    with pytest.raises(UnsupportedModel, match="at rest: not built yet for closed loops"):
        pliant.simulate(four_bar().model(), 0.01, controller=PD(1.0, 1.0, [0.7], gravity="equilibrium"))
    with pytest.raises(UnsupportedModel, match="linear control about a state of rest: not built yet for closed loops"):
        LQR([0.7], Q=1.0, R=1.0, inner="decoupling").design(four_bar().model())
