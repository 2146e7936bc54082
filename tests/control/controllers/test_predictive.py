"""Predictive control: what it promises of bounds, of optimality, and of measurements that fail."""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np
import pytest

import pliant
from pliant.control import MPC, Quintic, StrainBound
from pliant.errors import ModelError
from pliant.model import Model

Q, R, GOAL = {"joints": 100.0, "rates": 1.0}, 1e-5, (0.4, -0.3)
ACCURATE: dict[str, Any] = {"stages": 8, "steps": 2}


@pytest.fixture(scope="module")
def arm() -> Model:
    return pliant.load("two-link").model(stiffening="off")


def rest(model: Model, joints: Any = (0.0, 0.0)) -> np.ndarray:
    return np.concatenate([model.equilibrium(joints), np.zeros(model.n)])


def period(model: Model) -> float:
    return float(1 / model.frequencies(model.equilibrium([0.0, 0.0]))[0])


def over(value: np.ndarray, low: float, high: float) -> float:
    return float(max((value - high).max(), (low - value).max()))


def along(mpc: MPC, x: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """States and torques of a loop in which the arm does what is predicted."""
    states, torques = [x], []
    for k in range(count):
        found = mpc.step(states[-1], k * mpc.interval)
        assert (found.status, found.source) == ("solved", "plan")
        states.append(np.concatenate([found.q[1], found.qd[1]]))
        torques.append(found.tau)
    return np.array(states), np.array(torques)


def spent(model: Model, states: np.ndarray, torques: np.ndarray, length: float) -> float:
    """The sum that the controller minimizes, with the plain weights."""
    goal = rest(model, GOAL)
    weights = np.array([100.0, 100.0, 0.0, 0.0, 1.0, 1.0, 1.0, 1.0])
    effort = torques - model.holding_torque(goal[:4])
    return float(length * (((states[: len(torques)] - goal) ** 2 @ weights).sum() + R * (effort**2).sum()))


@pytest.mark.slow
def test_bounds_are_kept_on_the_real_arm(arm: Model) -> None:
    """Against a simulation of small tolerance: torques and their rates always, deflections, speeds and strain to 1e-6.

    The first link bends by 0.016 m at rest, and would by 0.036 m."""
    limit = (
        0.01 * 3.5160153 * 1.4 * 0.0165 * 2.0
    )  # of the shape: psi'' = 2 (beta L)^2 = 7.03 at the root of a cantilever
    strain = StrainBound("upper", 0.0, (0.01, 0.0), limit)
    bounds: dict[str, Any] = {
        "torque": [160.0, 45.0], "torque_rate": [900.0, 900.0],
        "positions": {"fore.bending_y.1": (-0.0045, 0.02)}, "speeds": {"upper": 1.2, "fore": 1.5}, "strains": [strain],
    }  # fmt: skip
    mpc = MPC(arm, period(arm), 20, GOAL, Q, R, **bounds, **ACCURATE)
    h = mpc.interval
    run = pliant.simulate(
        arm, 25 * h, q0=arm.equilibrium([0.0, 0.0]), controller=mpc, rtol=1e-10, atol=1e-12, output_step=h
    )
    tau = run.tau[:-1]
    steps = np.abs(np.diff(np.vstack([arm.holding_torque(arm.equilibrium(GOAL)), tau]), axis=0))
    assert over(tau[:, 0], -160.0, 160.0) <= 0
    assert over(tau[:, 1], -45.0, 45.0) <= 0
    assert (steps <= 900.0 * h * (1 + 1e-9)).all()
    assert over(run.q[:, 2], -1.4 * 0.0165, 1.4 * 0.0165) < 1e-6
    assert over(run.q[:, 3], -0.0045, 0.02) < 1e-6
    assert over(run.qd[:, 0], -1.2, 1.2) < 1e-6
    assert over(run.qd[:, 1], -1.5, 1.5) < 1e-6
    met = (tau[:, 1].max() - 45.0, steps.max() - 900.0 * h, run.q[:, 2].min() + 1.4 * 0.0165, run.qd[:, 0].max() - 1.2)
    assert sum(abs(x) < 1e-4 for x in met) >= 2
    assert np.abs(run.q[-1, :2] - GOAL).max() < 0.05


def test_the_loop_pays_what_the_optimum_off_line_does(arm: Model) -> None:
    """A horizon of one period, again and again, against one plan over all of five periods, converged."""
    bounds: dict[str, Any] = {"torque": [160.0, 45.0], "positions": {"upper.bending_y.1": (-0.0195, 0.02)}}
    count = 60
    mpc = MPC(arm, period(arm), 20, GOAL, Q, R, steps=2, **bounds)
    paid = spent(arm, *along(mpc, rest(arm), count), mpc.interval)
    whole = MPC(arm, 5 * period(arm), 100, GOAL, Q, R, steps=2, first_iterations=60, **bounds)
    best = whole.step(rest(arm))
    assert best.status == "solved"
    least = spent(arm, np.hstack([best.q, best.qd])[: count + 1], best.torques[:count], whole.interval)
    assert paid < 1.03 * least


def test_planned_torques_change_no_faster_than_they_may(arm: Model) -> None:
    """All along the plan, from the torques that act; what is applied is bounded besides."""
    mpc = MPC(arm, 0.2, 10, GOAL, Q, R, torque=[160.0, 60.0], torque_rate=[400.0, 300.0])
    found = mpc.step(rest(arm))
    steps = np.abs(np.diff(np.vstack([arm.holding_torque(arm.equilibrium(GOAL)), found.torques]), axis=0))
    assert (found.status, found.source) == ("solved", "plan")
    assert (steps <= np.array([400.0, 300.0]) * mpc.interval * (1 + 1e-6)).all()
    assert (steps.max(axis=0) > np.array([400.0, 300.0]) * mpc.interval * (1 - 1e-6)).all()


def test_at_rest_it_holds(arm: Model) -> None:
    found = MPC(arm, 0.2, 10, [0.1, 0.2], Q, R).step(rest(arm, [0.1, 0.2]))
    assert found.iterations == 0
    assert found.slack == {}
    assert np.allclose(found.tau, arm.holding_torque(arm.equilibrium([0.1, 0.2])), atol=1e-6)


def test_without_bounds_it_is_the_regulator(arm: Model) -> None:
    """Near its goal the first torque is that of the discrete LQR of the same step, whatever the horizon."""
    mpc = MPC(arm, 0.1, 5, GOAL, Q, R, first_iterations=1)
    goal, dx = rest(arm, GOAL), np.array([1.0, -2.0, 0.1, 0.05, 3.0, 1.0, 0.3, -0.2]) * 1e-6
    _, A, B = mpc._parts.dynamics.advance(goal, arm.holding_torque(goal[:4]), mpc.interval)
    from pliant.control.controllers import riccati
    from pliant.control.controllers.lqr import state_weight

    weight, cost = mpc.interval * state_weight(arm, Q), mpc.interval * R * np.eye(2)
    P = riccati.discrete(A, B, weight, cost)
    G = np.linalg.solve(cost + B.T @ P @ B, B.T @ P @ A)
    change = mpc.step(goal + dx).tau - arm.holding_torque(goal[:4])
    assert np.abs(change + G @ dx).max() < 1e-3 * np.abs(G @ dx).max()


def test_a_measurement_that_is_not_finite_uses_the_plan_then_the_safe_law(arm: Model) -> None:
    mpc = MPC(arm, 0.2, 6, GOAL, Q, R, torque=[300.0, 100.0], damping=2.0)
    planned = mpc.step(rest(arm)).torques
    lost = np.full(8, np.nan)
    for k in range(1, 6):
        found = mpc.step(lost, k * mpc.interval)
        assert (found.status, found.source) == ("measurement not finite", "shifted plan")
        assert np.allclose(found.tau, planned[k])
    found = mpc.step(lost, 6 * mpc.interval)
    assert found.source == "safe law"
    assert np.allclose(found.tau, arm.holding_torque(arm.equilibrium([0.0, 0.0])), atol=1e-6)
    assert mpc.step(rest(arm), 7 * mpc.interval).source == "plan"


def test_what_cannot_be_kept_is_told_as_slack(arm: Model) -> None:
    """The tip starts above its bound: it comes back, and says by how much it is out at the first node."""
    high = float(arm.tip_pose(arm.equilibrium([0.3, 0.0]))[1, 3]) - 0.02
    mpc = MPC(arm, 0.2, 20, [0.0, 0.0], Q, R, tip_bounds={"y": (-2.0, high)}, torque=[200.0, 60.0], steps=2)
    found = mpc.step(rest(arm, [0.3, 0.0]))
    out = float((arm.tip_pose(found.q)[1:, 1, 3] - high).max())
    assert found.status == "solved"
    assert found.slack["tip y"] == pytest.approx(out, abs=1e-6)
    assert out > 0.01
    mpc.reset()
    states, _ = along(mpc, rest(arm, [0.3, 0.0]), 60)
    assert arm.tip_pose(states[30:, :4])[:, 1, 3].max() < high


def test_hard_bounds_that_contradict_are_no_exception(arm: Model) -> None:
    given: dict[str, Any] = {"tip_bounds": {"y": (-2.0, 0.2)}, "torque": 200.0, "slack_weight": np.inf}
    found = MPC(arm, 0.2, 20, [0.0, 0.0], Q, R, **given).step(rest(arm, [0.3, 0.0]))
    assert found.status == "infeasible"
    assert found.source in ("safe law", "shifted plan")
    assert np.isfinite(found.tau).all()


def test_an_iteration_limit_is_no_exception(arm: Model) -> None:
    bounds: dict[str, Any] = {"torque": [120.0, 30.0], "program_iterations": 2}
    found = MPC(arm, 0.4, 10, GOAL, Q, R, **bounds).step(rest(arm))
    assert found.status in ("iteration limit", "infeasible")
    assert np.isfinite(found.tau).all()


def test_states_absurd_but_finite_are_no_exception(arm: Model) -> None:
    mpc = MPC(arm, 0.4, 10, GOAL, Q, R, torque=[300.0, 100.0])
    for size in (1e3, 1e12, 1e200, 1e308):
        found = mpc.step(np.full(8, size))
        assert (np.abs(found.tau) <= [300.0, 100.0]).all()
    assert mpc.step(rest(arm)).tau.shape == (2,)


def test_preparing_ahead_changes_nothing(arm: Model) -> None:
    mpc, other = (MPC(arm, 0.2, 10, GOAL, Q, R, torque=[160.0, 45.0]) for _ in range(2))
    first = mpc.step(rest(arm))
    other.step(rest(arm))
    x = np.concatenate([first.q[1], first.qd[1]])
    other.prepare(0.02)
    assert np.array_equal(mpc.step(x, 0.02).tau, other.step(x, 0.02).tau)


def test_bounds_that_were_met_are_where_a_program_begins(arm: Model) -> None:
    """A loop whose bounds are met for a while, with the multipliers of the last step and without: the same torques,
    for less than half of the iterations."""
    bounds: dict[str, Any] = {
        "torque": [160.0, 45.0], "torque_rate": 900.0, "positions": {"fore.bending_y.1": (-0.0045, 0.02)},
        "speeds": {"upper": 1.2, "fore": 1.5},
    }  # fmt: skip
    given = MPC(arm, period(arm), 20, GOAL, Q, R, **bounds, stages=5, steps=2)
    warm, cold, x, spent, tau = given.pilot(), given.pilot(), rest(arm), np.zeros((15, 2)), np.zeros((15, 2, 2))
    for k in range(15):
        plan = cold.solver.records[1]
        plan.y[:] = 0.0
        found = [pilot.step(x, k * given.interval) for pilot in (warm, cold)]
        spent[k], tau[k] = [f.iterations for f in found], [f.tau for f in found]
        x = np.concatenate([found[0].q[1], found[0].qd[1]])
    assert np.abs(tau[:, 0] - tau[:, 1]).max() <= 1e-9 * np.abs(tau).max()
    assert spent[1:, 1].sum() > 60
    assert spent[1:, 0].sum() < spent[1:, 1].sum() / 2


def test_the_tip_goes_where_it_is_wanted(arm: Model) -> None:
    """A tip reference with the joints hardly weighed, and a bound that the way there meets."""
    place = arm.tip_pose(arm.equilibrium([0.3, 0.3]))[:3, 3]
    mpc = MPC(
        arm, 0.4, 20, [0.3, 0.3], {"joints": 0.01, "rates": 0.3}, 1e-6, tip=place, tip_weight=500.0, terminal=1.0,
        torque=[300.0, 100.0], steps=2,
    )  # fmt: skip
    states, _ = along(mpc, rest(arm), 80)
    tips = arm.tip_pose(states[:, :4])[:, :3, 3]
    assert np.abs(tips[-1] - place).max() < 2e-3
    high = float(tips[:, 1].max())
    bounded = MPC(
        arm, 0.4, 20, [0.3, 0.3], {"joints": 0.01, "rates": 0.3}, 1e-6, tip=place, tip_weight=500.0, terminal=1.0,
        torque=[300.0, 100.0], steps=2, tip_bounds={"y": (-1.0, high - 0.002)}, iterations=8,
    )  # fmt: skip
    states, _ = along(bounded, rest(arm), 80)
    assert arm.tip_pose(states[:, :4])[:, 1, 3].max() < high - 0.002 + 1e-6


def test_a_traced_cost_is_minimized(arm: Model) -> None:
    """The same quadratic cost, by weights and as a function."""
    goal = rest(arm, GOAL)
    given: dict[str, Any] = {"terminal": 0.5, "torque": [160.0, 45.0], "first_iterations": 30}
    plain = MPC(arm, 0.2, 10, GOAL, {"joints": 100.0, "rates": 1.0}, 1e-5, **given)

    def cost(t: Any, q: Any, qd: Any, tau: Any) -> Any:
        return ca.vertcat(10 * (q[:2] - goal[:2]), 1.0 * qd) * np.sqrt(0.5)

    traced = MPC(arm, 0.2, 10, GOAL, {"joints": 50.0, "rates": 0.5}, 1e-5, cost=cost, **given)
    assert np.abs(plain.step(rest(arm)).torques - traced.step(rest(arm)).torques).max() < 1e-4


def test_it_follows_a_moving_reference(arm: Model) -> None:
    move = Quintic([0.0, 0.0], list(GOAL), 1.0)
    mpc = MPC(arm, period(arm), 20, move, {"joints": 1000.0, "rates": 1.0}, 1e-6, **ACCURATE)
    run = pliant.simulate(arm, 1.2, q0=arm.equilibrium([0.0, 0.0]), controller=mpc, output_step=0.1)
    assert np.abs(run.q[:, :2] - move(run.t)[0]).max() < 0.01


def test_every_run_starts_afresh(arm: Model) -> None:
    mpc = MPC(arm, 0.2, 10, GOAL, Q, R)
    runs = [pliant.simulate(arm, 0.1, q0=arm.equilibrium([0.0, 0.0]), controller=mpc) for _ in range(2)]
    assert np.array_equal(runs[0].tau, runs[1].tau)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"intervals": 1}, "intervals"),
        ({"horizon": 0.0}, "horizon"),
        ({"positions": {"upper": (1.0, 0.0)}}, "positions"),
        ({"positions": {"elbow": 1.0}}, "elbow"),
        ({"tip_bounds": {"w": 1.0}}, "tip_bounds"),
        ({"terminal": "none"}, "terminal"),
        ({"slack_weight": -1.0}, "slack_weight"),
        ({"damping": -1.0}, "damping"),
        ({"tip": [1.0, 2.0]}, "tip"),
        ({"tip_weight": -1.0}, "tip_weight"),
        ({"torque": 0.0}, "torque"),
        ({"strains": [StrainBound("upper", 9.0, (0.01, 0.0), 1e-3)]}, "x: got"),
    ],
)
def test_what_makes_no_sense_is_refused(arm: Model, wrong: dict[str, Any], words: str) -> None:
    given: dict[str, Any] = {"horizon": 0.2, "intervals": 4, "reference": GOAL, "Q": Q, "R": R}
    with pytest.raises(ModelError, match=words):
        MPC(arm, **(given | wrong))


def test_another_arm_is_refused(arm: Model) -> None:
    with pytest.raises(ModelError, match="same"):
        pliant.simulate(pliant.load("puma").model(), 0.1, controller=MPC(arm, 0.2, 4, GOAL, Q, R))
