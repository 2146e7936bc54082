"""Environments: Gymnasium's own checker, one arm equals many, physics equals `simulate`, varied arms."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import pliant

gymnasium = pytest.importorskip("gymnasium", reason="environments need gymnasium (pliant[rl])")
from gymnasium.utils.env_checker import check_env  # noqa: E402

from pliant.environments import TASKS, ArmEnv, ArmVectorEnv  # noqa: E402

ARMS = [name for name in pliant.arms() if name not in ("rrp",)]


@pytest.mark.parametrize("task", TASKS)
def test_the_checker_of_gymnasium(task: str) -> None:
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*(spec|infinity|Box observation space).*")
        check_env(ArmEnv("two-link", task), skip_render_check=True)


@pytest.mark.parametrize("robot", ["two-link", "lab-arm"])
def test_bundled_arms_step(robot: str) -> None:
    env = ArmEnv(robot, "rest-to-rest", period=0.005)
    seen, _ = env.reset(seed=1)
    for _ in range(10):
        seen, reward, fallen, _, _ = env.step(env.action_space.sample() * 0)
        assert np.isfinite(seen).all()
        assert np.isfinite(reward)
        assert not fallen


@pytest.mark.full
@pytest.mark.parametrize("robot", ARMS)
def test_all_bundled_arms(robot: str) -> None:
    try:
        env = ArmEnv(robot, "reach", period=0.002)
    except pliant.UnsupportedModel as error:
        pytest.skip(str(error))
    env.reset(seed=0)
    for _ in range(20):
        seen, _, fallen, _, _ = env.step(np.zeros(env.action_space.shape))
        assert np.isfinite(seen).all()
        assert not fallen


@pytest.mark.parametrize("spread", [-0.5, np.inf])
def test_a_spread_that_is_none_is_refused(spread: float) -> None:
    with pytest.raises(pliant.ModelError, match="spread: got"):
        ArmEnv("two-link", spread=spread)


def test_physics_is_that_of_simulate() -> None:
    """RK4 with steps of 0.3 rad of the fastest mode against an adaptive run: 1e-4 of that mode's small part."""
    env = ArmEnv("two-link", "reach", period=0.01)
    env.reset(seed=3)
    q0 = env._arms.motion.q[0].copy()
    torque = np.array([0.3, -0.2])
    for _ in range(10):
        seen, *_ = env.step(torque)
    run = pliant.simulate(pliant.load("two-link").model(), 0.1, q0, torque=torque * env._arms.limit)
    assert seen[:2] == pytest.approx(run.q[-1, :2], rel=1e-4)
    assert seen[8:11] == pytest.approx(run.tip[-1], rel=1e-4, abs=1e-6)


def test_rewards_by_hand() -> None:
    """Distance, errors and effort in what is observed, times the period; actions beyond one count as one."""
    period, action = 0.01, np.array([1.5, -0.5])
    effort = 0.01 * (1.0 + 0.25) / 2
    env = ArmEnv("two-link", "reach", period=period)
    env.reset(seed=2)
    seen, reward, *_ = env.step(action)
    gap = np.linalg.norm(seen[8:11] - seen[11:14])
    assert reward == pytest.approx(period * (-gap - effort), rel=1e-12)
    env.reset(seed=2)
    assert np.array_equal(env.step(np.array([1.0, -0.5]))[0], seen)
    env = ArmEnv("two-link", "track", period=period)
    env.reset(seed=2)
    rows = []
    for _ in range(9):
        seen, reward, *_ = env.step(action)
        assert reward == pytest.approx(period * (-np.mean((seen[:2] - seen[11:13]) ** 2) - effort), rel=1e-12)
        rows.append(seen[11:])
    goals = np.array(rows)  # positions, and rates that are their differences
    differences = (goals[2:, :2] - goals[:-2, :2]) / (2 * period)
    np.testing.assert_allclose(goals[1:-1, 2:], differences, atol=1e-3 * np.abs(differences).max())


def test_the_horizon_is_counted_in_periods() -> None:
    env = ArmEnv("two-link", "reach", period=0.01, horizon=0.03)
    env.reset(seed=0)
    assert [env.step(np.zeros(2))[3] for _ in range(3)] == [False, False, True]


def test_many_arms_are_many_single_arms() -> None:
    envs = ArmVectorEnv(5, "two-link", "track", period=0.01)
    envs.reset(seed=0)
    one = ArmEnv("two-link", "track", period=0.01)
    one.reset(seed=0)
    one._arms.motion.x[0] = envs._arms.motion.x[3]
    one._arms.task.start[0], one._arms.task.target[0] = envs._arms.task.start[3], envs._arms.task.target[3]
    rng = np.random.default_rng(0)
    for _ in range(4):
        actions = rng.uniform(-1, 1, (5, 2)).astype(np.float32)
        seen, rewards, *_ = envs.step(actions)
        alone, reward, *_ = one.step(actions[3])
        assert np.array_equal(seen[3], alone)
        assert rewards[3] == reward


def test_arms_begin_anew() -> None:
    envs = ArmVectorEnv(3, "two-link", "reach", period=0.01, horizon=0.02)
    envs.reset(seed=0)
    zero = np.zeros((3, 2), dtype=np.float32)
    assert not envs.step(zero)[3].any()
    seen, _, _, over, _ = envs.step(zero)
    assert over.all()
    after, reward, _, over, _ = envs.step(zero)
    assert not over.any()
    assert (reward == 0).all()
    assert (after[:, 4:8] == 0).all()  # at rest again
    assert not np.array_equal(after, seen)


def test_varied_arms() -> None:
    """Each episode has a payload of its own, and it weighs."""
    envs = ArmVectorEnv(8, "two-link", "reach", vary={"payload.mass": (0.0, 5.0)})
    envs.reset(seed=0)
    masses = envs._arms.motion.p[:, 0]
    assert len(set(masses)) == 8
    envs._arms.motion.x[:] = 0.0
    envs.step(np.zeros((8, 2), dtype=np.float32))
    rates = envs._arms.motion.qd[:, 0]
    model = pliant.load("two-link").model(parameters=["payload.mass"])
    run = [pliant.simulate(model, 0.02, p=[mass]).qd[-1, 0] for mass in masses]
    assert rates == pytest.approx(run, rel=1e-3)  # rates, where the fast modes weigh more


def test_registered() -> None:
    env = gymnasium.make("pliant/reach-v0", robot="two-link", disable_env_checker=True)
    assert env.reset(seed=0)[0].shape == env.observation_space.shape
    envs = gymnasium.make_vec("pliant/rest-to-rest-v0", num_envs=4, vectorization_mode="vector_entry_point")
    assert envs.reset(seed=0)[0].shape == (4, 13)


def test_mistakes() -> None:
    with pytest.raises(pliant.ModelError, match="did you mean 'reach'"):
        ArmEnv("two-link", "reech")
    with pytest.raises(pliant.ModelError, match="at least 1"):
        ArmVectorEnv(0)
