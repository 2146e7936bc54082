"""Steps of the arm and their slopes: against fine integration, and against differences."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import pliant
from pliant.compute.nmpc.collocation import radau_tableau
from pliant.compute.nmpc.horizon_memory import Dynamics
from pliant.model import Model


@pytest.fixture(scope="module")
def model() -> Model:
    return pliant.load("two-link").model(stiffening="off")


def stepped(model: Model, stages: int = 3, steps: int = 1) -> Dynamics:
    kernel = model.kernel("forward_dynamics_derivatives")
    return Dynamics(model.n, model.n_joints, kernel.address, np.zeros(0), stages, steps, kernel)


def start(model: Model) -> tuple[np.ndarray, np.ndarray]:
    q = model.equilibrium([0.3, -0.4])
    return np.concatenate([q, [0.5, -0.8, 0.02, -0.01]]), model.holding_torque(q) + np.array([5.0, -3.0])


def exact(model: Model, x: np.ndarray, tau: np.ndarray, duration: float) -> np.ndarray:
    def rate(t: float, x: np.ndarray) -> np.ndarray:
        return np.concatenate([x[4:], model.forward_dynamics(x[:4], x[4:], tau)])

    return solve_ivp(rate, (0, duration), x, method="DOP853", rtol=1e-12, atol=1e-13).y[:, -1]


@pytest.mark.parametrize("stages", [1, 2, 3, 5])
def test_the_tableau_has_its_order(stages: int) -> None:
    """B(2 s - 1) and C(s): integrals of powers up to the order are exact, of stages up to their number."""
    tableau = radau_tableau(stages)
    c, b, twice, A, square = np.split(tableau, np.cumsum([stages, stages, stages, stages**2]))
    A, square = A.reshape(stages, stages), square.reshape(stages, stages)
    for k in range(1, 2 * stages):
        assert b @ c ** (k - 1) == pytest.approx(1 / k, rel=1e-11)
    for k in range(1, stages + 1):
        assert np.allclose(A @ c ** (k - 1), c**k / k, rtol=1e-11)
    assert np.allclose(square, A @ A)
    assert np.allclose(twice, b @ A)
    assert c[-1] == pytest.approx(1.0)


def test_steps_converge_with_order_five(model: Model) -> None:
    x, tau = start(model)
    end = exact(model, x, tau, 0.01)
    errors = [np.abs(stepped(model, 3, k).advance(x, tau, 0.01)[0] - end).max() for k in (4, 8)]
    assert errors[1] < 1e-6
    assert np.log2(errors[0] / errors[1]) > 4.5


@pytest.mark.parametrize("steps", [1, 3])
def test_slopes_are_those_of_the_step(model: Model, steps: int) -> None:
    x, tau = start(model)
    arm = stepped(model, 3, steps)
    _, A, B = arm.advance(x, tau, 0.01)
    for slopes, which, d in ((A, 0, 1e-5), (B, 1, 1e-2)):
        for j in range(slopes.shape[1]):
            ends = []
            for sign in (1, -1):
                given = [x.copy(), tau.copy()]
                given[which][j] += sign * d
                ends.append(arm.advance(given[0], given[1], 0.01)[0])
            assert np.abs((ends[0] - ends[1]) / (2 * d) - slopes[:, j]).max() < 1e-6 * np.abs(slopes).max()


def test_what_is_too_fast_settles(model: Model) -> None:
    """A step of many periods of the fast modes: they come to rest, none grows."""
    q = model.equilibrium([0.3, -0.4])
    _, A, _ = stepped(model, 3, 1).advance(np.concatenate([q, np.zeros(4)]), model.holding_torque(q), 0.3)
    sizes = np.sort(np.abs(np.linalg.eigvals(A)))
    assert sizes[:4].max() < 0.05  # two flexible modes
    assert sizes.max() < 2.0  # the arm stands up: it falls, slowly


def test_one_round_is_enough_where_stages_are_known(model: Model) -> None:
    x, tau = start(model)
    far = replace(stepped(model), steps=2)
    assert np.abs(far.advance(x, tau, 0.01, rounds=30)[0] - far.advance(x, tau, 0.01, rounds=6)[0]).max() < 1e-9
