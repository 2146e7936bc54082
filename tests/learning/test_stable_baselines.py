"""Arms behind the interface of Stable-Baselines3: as `ArmVectorEnv` steps them, and PPO trains on them."""

from __future__ import annotations

import numpy as np
import pytest

sb3 = pytest.importorskip("stable_baselines3", reason="needs stable-baselines3 (pliant[sb3]; make test-learning)")

from pliant.environments import ArmVectorEnv  # noqa: E402
from pliant.environments.stable_baselines import ArmVecEnv  # noqa: E402

GIVEN = {"robot": "two-link", "task": "rest-to-rest", "period": 0.02, "horizon": 0.06}


def test_steps_are_those_of_the_arms_learning() -> None:
    theirs, ours = ArmVecEnv(3, **GIVEN), ArmVectorEnv(3, **GIVEN, autoreset="same-step")
    theirs.seed(4)
    seen, _ = ours.reset(seed=4)
    assert np.array_equal(theirs.reset(), seen)
    rng = np.random.default_rng(0)
    for k in range(7):
        actions = rng.uniform(-1, 1, (3, 2))
        observations, rewards, dones, infos = theirs.step(actions)
        seen, reward, fallen, over, info = ours.step(actions)
        assert np.array_equal(observations, seen)
        assert np.array_equal(rewards, reward)
        assert np.array_equal(dones, fallen | over)
        for arm in range(3):
            assert ("terminal_observation" in infos[arm]) == bool(dones[arm])
            if dones[arm]:
                assert np.array_equal(infos[arm]["terminal_observation"], info["final_obs"][arm])
                assert infos[arm]["TimeLimit.truncated"] is True
        assert dones.all() == (k % 3 == 2)


def test_ppo_trains_learning() -> None:
    """A few thousand steps raise the return of short episodes by a good part."""
    from stable_baselines3 import PPO
    from stable_baselines3.common.vec_env import VecMonitor

    env = VecMonitor(ArmVecEnv(32, **{**GIVEN, "horizon": 0.2}, spread=0.2, torque_limit=[150.0, 40.0]))
    model = PPO(
        "MlpPolicy", env, n_steps=32, batch_size=256, seed=0, device="cpu", policy_kwargs={"log_std_init": -1.0}
    )

    def rate() -> float:
        return float(np.mean([episode["r"] for episode in model.ep_info_buffer]))

    model.learn(2_000)
    before = rate()
    model.learn(30_000, reset_num_timesteps=False)
    assert rate() > 0.7 * before  # both are negative: at most 0.7 of the cost is left


def test_pictures_and_attributes_learning() -> None:
    env = ArmVecEnv(2, **GIVEN, render_mode="rgb_array")
    env.reset()
    assert len(env.get_images()) == 2
    assert env.get_attr("num_envs") == [2, 2]
    assert env.env_is_wrapped(object) == [False, False]
