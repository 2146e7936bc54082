"""What an arm does under commanded accelerations: its slopes, second derivatives, and the order of the collocation."""

from __future__ import annotations

import numpy as np
import pytest

import pliant
from arms import unequal_arm, unequal_two_link
from pliant.control.planning.search.motion_curvature import Curvature
from pliant.control.planning.search.motion_forces import ArmForces, StiffArmForces, smoothed
from pliant.control.planning.search.motion_grid import MotionGrid
from pliant.control.planning.search.motion_guess import first_guess, stiff_shortest_time
from pliant.control.planning.search.motion_response import Driven


@pytest.fixture(scope="module")
def geared():
    """Elastic and stiff drives, a slide, oblique axes, and light enough to bend little."""
    return pliant.Model(unequal_arm().replace({"gravity": [0.3, -0.5, -1.1]}), stiffening="off")


def guess(model, intervals: int = 5, degree: int = 3, duration: float = 0.8):
    start, goal = (model.equilibrium(joints) for joints in ([0.1, 0.2, 0.0], [0.5, -0.3, 0.1]))
    grid = MotionGrid(model.n, tuple(shaft.actuated for shaft in model.layout.shafts), intervals, degree)
    return first_guess(model, grid, start, goal, duration)


@pytest.mark.slow
def test_slopes_and_second_derivatives(geared, rng: np.random.Generator) -> None:
    driven, found = guess(geared)
    command = found.nodes[:, 2, list(driven.grid.actuated)]
    x = np.append(command.ravel(), found.T)
    weights = [rng.normal(size=v.shape) for v in (found.nodes[-1, :2].ravel(), found.tau, found.tau_nodes)]

    def at(x):
        return driven.response(x[:-1].reshape(command.shape), float(x[-1]), found)

    def value(x) -> float:
        now = at(x)
        return sum((w * v).sum() for w, v in zip(weights, (now.nodes[-1, :2].ravel(), now.tau, now.tau_nodes)))

    def slope(x):
        by = driven.slopes(at(x))
        parts = (by.end, by.tau, by.tau_nodes)
        return sum(np.tensordot(w, v, w.ndim) for w, v in zip(weights, parts))

    exact = Curvature(driven).of(found, driven.slopes(found), *weights)
    h = 1e-5
    for _ in range(3):
        along = rng.normal(size=len(x))
        np.testing.assert_allclose(
            slope(x) @ along, (value(x + h * along) - value(x - h * along)) / (2 * h), rtol=1e-6
        )  # differences of second order
        change = (slope(x + h * along) - slope(x - h * along)) / (2 * h)
        np.testing.assert_allclose(exact @ along, change, atol=1e-6 * np.abs(change).max())


@pytest.mark.slow
def test_a_response_is_a_run(geared) -> None:
    """Collocation against an adaptive integrator, driven by the same cubic splines, through its motors."""
    driven, found = guess(geared, intervals=40, degree=4)
    from pliant.control.planning.search.optimal import result_of

    move = result_of(geared, driven, found, cost=0.0, violation=0.0, iterations=0, converged=True)
    assert list(move.motion(geared)) == ["boom.motor", "fore", "hand"]
    run = pliant.simulate(geared, 0.8, q0=move.q0, motion=move.motion(geared), rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(run.q[-1], move.q[-1], atol=1e-6)
    np.testing.assert_allclose(move.joints(move.t)[0][::5], move.q[::5, :3], atol=1e-5)  # quintics between nodes


@pytest.mark.slow
def test_the_stiff_arm_is_the_arm_without_its_springs(geared, rng: np.random.Generator) -> None:
    stiff, whole = StiffArmForces(geared), ArmForces(geared)
    q, qd, qdd, w = rng.normal(size=(4, 2, 3))
    together = np.zeros((geared.n, 3))
    together[[0, 1, 2], [0, 1, 2]] = together[3, 0] = 1  # the boom's motor turns with it
    assert geared.coordinates[3] == "boom.motor"
    F, *_ = whole.slopes(q @ together.T, qd @ together.T, qdd @ together.T)
    np.testing.assert_allclose(stiff.slopes(q, qd, qdd)[0], F @ together, atol=1e-12 * np.abs(F).max())
    h = 1e-6
    change = (stiff.gradient(q + h, qd, qdd, w) - stiff.gradient(q - h, qd, qdd, w)) / (2 * h)
    np.testing.assert_allclose(
        stiff.second(q, qd, qdd, w)[:, :, :, 0].sum(axis=-1), change, atol=1e-6 * abs(change).max()
    )


def test_shortest_time_of_a_stiff_beam(beam) -> None:
    """2 sqrt(J D / tau): full torque forth, then back. The grid of the search is half a per cent slower."""
    ends = [beam.equilibrium([x]) for x in (0.3, 2.3)]
    exact = 2 * np.sqrt((0.5 + 0.331 / 3) * 2.0 / 0.7)
    found = stiff_shortest_time(beam, *ends, np.array([0.7]))
    assert exact < found < 1.006 * exact


def test_a_joint_that_stays_does_not_spoil_the_shortest_time() -> None:
    """An arm whose second joint is held is one body, 2 sqrt(J D / tau) with J of its mass matrix; one that folds
    meanwhile is faster."""
    model = unequal_two_link().replace({f"gravity.{k}": 0.0 for k in range(3)}).model()
    ends = [np.concatenate([[x, 0.4], np.zeros(model.n - 2)]) for x in (-0.2, 0.9)]
    straight = 2 * np.sqrt(model.mass_matrix(ends[0])[0, 0] * 1.1 / 0.8)
    found = stiff_shortest_time(model, *ends, np.array([0.8, 50.0]))
    assert 0.6 * straight < (found or np.nan) < straight
    tight = stiff_shortest_time(model, *ends, np.array([0.8, 0.25]))  # too little to fold by
    assert (found or np.nan) < (tight or np.nan) < 1.006 * straight


def test_friction_is_smoothed_where_it_is_sharp() -> None:
    robot = unequal_two_link().replace(
        {"links.upper.joint.friction.coulomb": 2.0, "links.fore.joint.friction.coulomb_speed": 0.5}
    )
    found = smoothed(robot.model(), np.array([0.4, 0.7])).robot.freedoms
    assert found["upper"].friction.coulomb_speed == pytest.approx(0.04)
    assert found["fore"].friction.coulomb_speed == 0.5  # no Coulomb friction there
    model = unequal_two_link().model()
    assert smoothed(model, np.array([0.4, 0.7])) is model


@pytest.mark.slow
def test_an_arm_far_off_has_no_response(geared) -> None:
    driven, found = guess(geared)
    with pytest.raises(ArithmeticError):
        driven.response(np.full((6, 3), 1e14), 0.8, found)


def test_a_march_finds_what_newton_finds(geared) -> None:
    driven, found = guess(geared)
    local = found.local.copy()
    local[:, driven.grid.inner] = 0
    Driven(driven.arm, driven.grid, driven.start)._march(local, found.T)
    np.testing.assert_allclose(local, found.local, atol=1e-8 * np.abs(found.local).max())
