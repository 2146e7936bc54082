"""Controllers that use the model: decoupling (31) against its printed form, LQR against scipy, switching."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import solve_continuous_are

import pliant
from pliant.control import LQR, PD, ComputedTorque, Cycloidal, Switch
from pliant.control.controllers.lqr import system

WEIGHTS = {"joints": 1e4, "flexible": 1e6, "rates": 1e2}


@pytest.mark.parametrize("formulation", ["denoc", "lagrange"])
def test_decoupling_is_equation_31(formulation: str) -> None:
    model = pliant.load("two-link").model(formulation)
    rng = np.random.default_rng(3)
    q, qd = rng.normal(size=4) * [1, 1, 0.02, 0.02], rng.normal(size=4)
    M, h = model.mass_matrix(q), model.bias(q, qd)
    Mrr, Mrf, Mff = M[:2, :2], M[:2, 2:], M[2:, 2:]
    reference = Cycloidal([0, 0], [1, 0.5], 1.0)
    r, rd, rdd = reference(0.4)
    u = rdd + 40 * (rd - qd[:2]) + 400 * (r - q[:2])
    expected = (Mrr - Mrf @ np.linalg.inv(Mff) @ Mrf.T) @ u + h[:2] - Mrf @ np.linalg.inv(Mff) @ h[2:]
    torque = ComputedTorque(400, 40, reference).bind(model)(0.4, q, qd)
    np.testing.assert_allclose(torque, expected, rtol=1e-10)
    np.testing.assert_allclose(model.forward_dynamics(q, qd, torque)[:2], u, rtol=1e-10)  # (35)


def test_joints_follow_exactly(two_link) -> None:
    reference = Cycloidal([-np.pi / 2, 0.1], [0, 0.5], 1.0)
    start = two_link.equilibrium([-np.pi / 2, 0.1])
    result = pliant.simulate(two_link, 1.0, q0=start, controller=ComputedTorque(400, 40, reference))
    assert np.abs(result.q[:, :2] - reference(result.t)[0]).max() < 1e-9  # on the reference from the start: rounding


def test_wrong_start_decays_as_the_error_equation_says(two_link) -> None:
    # (34) with G_p = 400, G_v = 40 is critically damped: e = e0 (1 + 20 t) exp(-20 t), whatever the links do
    result = pliant.simulate(two_link, 0.3, q0=[0.1, 0.4, 0, 0], controller=ComputedTorque(400, 40, [0.0, 0.5]))
    expected = np.array([0.1, -0.1]) * ((1 + 20 * result.t) * np.exp(-20 * result.t))[:, None]
    np.testing.assert_allclose(result.q[:, :2] - [0.0, 0.5], expected, atol=1e-7)


@pytest.mark.parametrize("inner", ["torque", "decoupling"])
def test_lqr_gain_is_scipys(two_link, inner: str) -> None:
    design = LQR([0.2, 0.5], WEIGHTS, 1e-2, inner).design(two_link)
    A, B = system(two_link, design.x0, inner)
    Q = np.diag([1e4, 1e4, 1e6, 1e6, 1e2, 1e2, 1e2, 1e2])
    P = solve_continuous_are(A, B, Q, 1e-2 * np.eye(2))
    np.testing.assert_allclose(design.G, B.T @ P / 1e-2, rtol=1e-10)
    residual = A.T @ P + P @ A - P @ B @ B.T @ P / 1e-2 + Q
    assert np.abs(residual).max() < 1e-7 * np.abs(P @ B @ B.T @ P).max() / 1e-2
    assert design.poles.real.max() < 0
    if inner == "decoupling":  # (35), (36): the joints are double integrators
        np.testing.assert_array_equal(A[4:6], 0)
        np.testing.assert_array_equal(B[4:6], np.eye(2))


def test_linear_system_against_differences(two_link) -> None:
    x0 = LQR([0.2, 0.5], WEIGHTS, 1e-2).design(two_link).x0
    q, tau = x0[:4], two_link.holding_torque(x0[:4])
    system_ = two_link.linearize(q)

    def rate(x: np.ndarray, u: np.ndarray) -> np.ndarray:
        return np.concatenate([x[4:], two_link.forward_dynamics(x[:4], x[4:], u)])

    # central differences of fourth order, step 1e-3 of the unit: truncation below 1e-8, rounding 1e-16 * 1e5 / 1e-3
    for matrix, point in ((system_.A, 0), (system_.B, 1)):
        size = matrix.shape[1]
        found = np.empty_like(matrix)
        for k in range(size):
            h = 1e-3 * np.eye(size)[k]
            at = [rate(x0 + s * h, tau) if point == 0 else rate(x0, tau + s * h) for s in (-2, -1, 1, 2)]
            found[:, k] = (at[0] - 8 * at[1] + 8 * at[2] - at[3]) / (12 * 1e-3)
        np.testing.assert_allclose(matrix, found, atol=1e-6 * np.abs(matrix).max())


def test_lqr_damps_the_vibration(two_link) -> None:
    goal = [0.0, 0.5]
    rest = two_link.equilibrium(goal)
    result = pliant.simulate(
        two_link, 2.0, q0=rest + np.array([0.05, -0.05, 0.01, 0]), controller=LQR(goal, WEIGHTS, 1e-2)
    )
    assert np.abs(result.q[-1] - rest).max() < 2e-3
    assert np.abs(result.q[:, 2] - rest[2]).max() > 5e-3


def test_sampled_lqr_tends_to_the_continuous_one(two_link) -> None:
    continuous = LQR([0.0, 0.5], WEIGHTS, 1e-1).design(two_link)
    gaps = []
    for period in (4e-4, 2e-4, 1e-4):
        sampled = LQR([0.0, 0.5], WEIGHTS, 1e-1, sample_time=period).design(two_link)
        assert sampled.poles.real.max() < 0
        gaps.append(np.abs(sampled.G - continuous.G).max() / np.abs(continuous.G).max())
    # the gain of a held input differs in first order of the period
    assert gaps[0] > 1.7 * gaps[1] > 1.7**2 * gaps[2] > 0
    rest = continuous.x0[:4]
    start = rest + np.array([0.02, -0.02, 0, 0])
    exact = pliant.simulate(two_link, 0.5, q0=start, controller=LQR([0.0, 0.5], WEIGHTS, 1e-1)).q[-1]
    held = pliant.simulate(two_link, 0.5, q0=start, controller=LQR([0.0, 0.5], WEIGHTS, 1e-1, sample_time=1e-4)).q[-1]
    assert np.abs(held - exact).max() < 0.02 * np.abs(start - rest).max()


def test_lqr_under_sampling_is_optimal_for_its_own_cost(beam) -> None:
    # doubling in the Van Loan integral against one exponential, where that one does not overflow
    from scipy.linalg import expm

    from pliant.control.controllers.lqr import sampled_regulator

    A, B = system(beam, np.zeros(4))
    period = 5e-3
    G, _ = sampled_regulator(A, B, np.eye(4), np.eye(1), period)
    F = np.zeros((5, 5))
    F[:4, :4], F[:4, 4:] = A, B
    E = expm(np.block([[-F.T, np.eye(5)], [np.zeros((5, 5)), F]]) * period)
    cost = E[5:, 5:].T @ E[:5, 5:]
    from scipy.linalg import solve_discrete_are

    Ad, Bd = E[5:9, 5:9], E[5:9, 9:]
    P = solve_discrete_are(Ad, Bd, (cost + cost.T)[:4, :4] / 2, cost[4:, 4:], s=cost[:4, 4:])
    expected = np.linalg.solve(cost[4:, 4:] + Bd.T @ P @ Bd, Bd.T @ P @ Ad + cost[:4, 4:].T)
    np.testing.assert_allclose(G, expected, rtol=1e-7)


def test_switch_at_a_time_equals_two_runs(two_link) -> None:
    first, second = PD(300, 60, Cycloidal([0, 0], [0.5, 0.2], 0.3)), PD(500, 80, [0.6, 0.1])
    whole = pliant.simulate(two_link, 0.6, controller=Switch([first, second], [0.3]), output_step=0.1)
    half = pliant.simulate(two_link, 0.3, controller=first)
    rest = pliant.simulate(two_link, 0.3, q0=half.q[-1], qd0=half.qd[-1], controller=second)
    np.testing.assert_allclose(whole.q[-1], rest.q[-1], atol=1e-7)  # two runs at rtol 1e-8


def test_switch_on_an_event_happens_once(two_link) -> None:
    away, back = PD(300, 60, [0.5, 0.0]), PD(300, 60, [0.0, 0.0])
    for end in (lambda t, q, qd: q[0] - 0.3, {"coordinate": "upper", "above": 0.3}):
        controller = Switch([away, back], [end])
        result = pliant.simulate(two_link, 1.5, controller=controller)
        peak = result["upper"].max()
        assert 0.3 < peak < 0.45  # turned round
        assert abs(result["upper"][-1]) < 0.15  # and did not come back to the first phase when below again
    passed = pliant.Event("passed", lambda t, q, qd: q[0] - 0.3, +1)
    moment = pliant.simulate(two_link, 1.5, controller=away, events=[passed]).stats.events[0][0]
    until = pliant.simulate(two_link, moment, controller=away)
    after = pliant.simulate(two_link, 0.2, q0=until.q[-1], qd0=until.qd[-1], controller=back)
    again = pliant.simulate(two_link, moment + 0.2, controller=Switch([away, back], [passed.condition]))
    np.testing.assert_allclose(again.q[-1], after.q[-1], atol=1e-7)  # the moment is found by error control alone


def test_three_phases_by_time_and_event(two_link) -> None:
    phases = [PD(300, 60, [0.2, 0.0]), PD(300, 60, [0.5, 0.0]), PD(300, 60, [0.0, 0.0])]
    controller = Switch(phases, [0.2, {"coordinate": "upper", "above": 0.3}])
    result = pliant.simulate(two_link, 2.0, controller=controller)
    assert 0.3 < result["upper"].max() < 0.45
    assert abs(result["upper"][-1]) < 0.15
