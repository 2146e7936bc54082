"""Environments: Gymnasium's own checker, one arm equals many, physics equals `simulate`, varied arms."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import pliant
from coupled_arms import boom, strung
from linkages import four_bar

gymnasium = pytest.importorskip("gymnasium", reason="environments need gymnasium (pliant[rl])")
from gymnasium.utils.env_checker import check_env  # noqa: E402

from pliant.environments import TASKS, ArmEnv, ArmVectorEnv  # noqa: E402
from pliant.errors import ModelError  # noqa: E402

ARMS = [name for name in pliant.robot.arms() if name not in ("rrp",)]


@pytest.mark.slow_cases("reach", "rest-to-rest")
@pytest.mark.parametrize("task", TASKS)
def test_the_checker_of_gymnasium(task: str) -> None:
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*(spec|infinity|Box observation space).*")
        check_env(ArmEnv("two-link", task, render_mode="rgb_array"), skip_render_check=True)


def test_environments_run_on_processors_alone() -> None:
    for environment in (ArmEnv, lambda **named: ArmVectorEnv(2, **named)):
        with pytest.raises(pliant.UnsupportedModel, match=r"device: got 'cuda', expected 'cpu': .* `simulate_batch`"):
            environment(robot="two-link", device="cuda")


@pytest.mark.slow_cases("lab-arm")
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
    one._arms.motion.stepper.state = (envs._arms.motion.q[3:4], envs._arms.motion.qd[3:4])
    one._arms.task.start[0], one._arms.task.target[0] = envs._arms.task.start[3], envs._arms.task.target[3]
    rng = np.random.default_rng(0)
    for _ in range(4):
        actions = rng.uniform(-1, 1, (5, 2)).astype(np.float32)
        seen, rewards, *_ = envs.step(actions)
        alone, reward, *_ = one.step(actions[3])
        assert np.array_equal(seen[3], alone)
        assert rewards[3] == reward


@pytest.mark.parametrize("robot", ["two-link", pytest.param("lab-arm", marks=pytest.mark.full)])
@pytest.mark.parametrize("task", TASKS)
def test_arms_begin_at_static_rest(robot: str, task: str) -> None:
    """Held there they do not move: 83 to 169 mm of sag before."""
    envs = ArmVectorEnv(3, robot, task, period=0.01, vary={"payload.mass": (0.0, 1.0)})
    envs.reset(seed=4)
    motion = envs._arms.motion
    start = motion.q
    hold = motion.holding(start, motion.p) / envs._arms.limit
    for _ in range(5):
        envs.step(hold)
    assert np.abs(motion.model.jacobian(motion.q, motion.p)[:, 3:] @ motion.qd[..., None]).max() < 1e-9
    assert np.abs(motion.q - start).max() < 1e-10
    assert np.abs(start[:, motion.m :]).max() > 1e-4  # it is bent


def ringing_cost(env: ArmEnv, amplitude: float) -> float:
    """Loss of reward a second, mean of a swing, when the tip of the arm at its goal rings with this amplitude."""
    motion, task = env._arms.motion, env._arms.task
    rest = motion.settled(task.target, motion.p)
    mode = np.zeros(motion.n)
    mode[motion.m] = 1.0  # the first amplitude of the first beam
    J = motion.model.jacobian(rest[0], None)[3:] @ mode
    shape = mode * amplitude / np.linalg.norm(J)
    frequency = np.sqrt(
        motion.model.stiffness(rest[0]) @ mode @ mode / (motion.model.mass_matrix(rest[0]) @ mode @ mode)
    )
    costs = []
    for phase in np.arange(8) * np.pi / 4:
        motion.stepper.state = (rest, (shape * frequency * np.cos(phase))[None])
        costs.append(-task.reward(task.hold)[0])
    return float(np.mean(costs))


def test_ringing_costs_more_than_any_effort() -> None:
    """It cost 6e-7 a second against 1e-2 for torque: the reward did not see it."""
    env = ArmEnv("two-link", "rest-to-rest")
    env.reset(seed=1)
    task = env._arms.task
    motion = env._arms.motion
    motion.stepper.state = (motion.settled(task.target, motion.p), np.zeros((1, motion.n)))
    assert task.reward(task.hold)[0] == pytest.approx(0.0, abs=1e-12)  # at the goal, held: nothing to gain
    largest = max(-task.reward(np.full((1, 2), side))[0] for side in (-1.0, 1.0))
    assert ringing_cost(env, 0.01) >= largest > 0.005
    assert ringing_cost(env, 0.02) == pytest.approx(4 * ringing_cost(env, 0.01))


@pytest.mark.slow_cases("reach")
@pytest.mark.parametrize("task", ["reach", pytest.param("rest-to-rest", marks=pytest.mark.full)])
def test_pictures_show_arm_and_goal(task: str) -> None:
    env = ArmEnv("two-link", task, render_mode="rgb_array")
    env.reset(seed=3)
    first = env.render()
    assert first.shape == (480, 640, 3)
    assert first.dtype == np.uint8
    assert len(np.unique(first.reshape(-1, 3), axis=0)) > 50
    for _ in range(20):
        env.step(np.ones(2))
    assert (env.render() != first).any()
    assert ArmEnv("two-link", task).render() is None
    assert len(ArmVectorEnv(2, render_mode="rgb_array").render()) == 2


def test_arms_may_begin_anew_at_once() -> None:
    """As the other mode, but for the step between: the last observation is in the info."""
    given = {"robot": "two-link", "task": "reach", "period": 0.01, "horizon": 0.02}
    later, once = ArmVectorEnv(3, **given), ArmVectorEnv(3, **given, autoreset="same-step")
    for envs in (later, once):
        envs.reset(seed=0)
        envs.step(np.ones((3, 2)))
    last, reward, _, over, info = later.step(np.ones((3, 2)))
    seen, rewards, _, ended, told = once.step(np.ones((3, 2)))
    assert over.all()
    assert ended.all()
    assert "final_obs" not in info
    assert np.array_equal(np.stack(told["final_obs"]), last)
    assert told["_final_obs"].all()
    assert np.array_equal(reward, rewards)
    assert np.array_equal(later.step(np.ones((3, 2)))[0], seen)  # the same numbers were drawn


def test_seeds_give_the_same_bits() -> None:
    runs = []
    for _ in range(2):
        envs = ArmVectorEnv(5, "two-link", "rest-to-rest", period=0.01, horizon=0.04, vary={"payload.mass": (0.0, 1.0)})
        rows = [envs.reset(seed=7)[0]]
        rng = np.random.default_rng(1)
        for _ in range(12):
            rows.append(envs.step(rng.uniform(-1, 1, (5, 2)))[0])
        runs.append(np.array(rows))
    assert np.array_equal(*runs)


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
    envs._arms.motion.stepper.reset()
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
    with pytest.raises(pliant.ModelError, match="num_envs: got 0, expected a whole number from 1"):
        ArmVectorEnv(0)


@pytest.mark.parametrize("task", TASKS)
def test_a_linkage_learns_with_its_loop_closed(task: str) -> None:
    """Starts and goals are of the crank; the loop stays closed, and many arms are as one."""
    env, many = ArmEnv(four_bar(), task, period=0.01), ArmVectorEnv(3, four_bar(), task, period=0.01)
    seen, _ = env.reset(seed=3)
    assert env.action_space.shape == (1,)
    motion = env._arms.motion
    assert motion.joints == ["crank"]
    for _ in range(5):
        seen, reward, fallen, _, _ = env.step(np.array([0.5]))
        assert np.isfinite(seen).all()
        assert np.isfinite(reward)
        assert not fallen
    assert np.abs(motion.model.gaps(motion.q)).max() < 1e-14
    many.reset(seed=3)
    many.step(np.full((3, 1), 0.5))
    assert np.abs(motion.model.gaps(many._arms.motion.q)).max() < 1e-14


def test_an_action_that_holds_a_linkage_costs_nothing() -> None:
    """At its goal, under the torque that holds it there."""
    env = ArmEnv(four_bar(), "rest-to-rest", period=0.01, spread=0.0)
    env.reset(seed=0)
    assert abs(env.step(env._arms.task.hold[0])[1]) < 1e-9


def test_valves_are_actions() -> None:
    """A boom on its cylinder: the command of the valve from -1 to 1, its joint where the task wants it."""
    robot = boom()
    env = ArmEnv(
        robot.replace({"links.boom.joint.limits": pliant.robot.Limits(lower=0.2, upper=0.8)}), "track", period=0.01
    )
    env.reset(seed=1)
    motion = env._arms.motion
    assert (motion.joints, motion.m, env._arms.limit.tolist()) == (["boom"], 1, [1.0])
    before = float(motion.q[0, 0])
    assert 0.2 <= before <= 0.8
    for _ in range(5):
        seen = env.step(np.array([0.8]))[0]
    assert motion.q[0, 0] > before + 1e-3
    assert np.isfinite(seen).all()


def test_a_force_of_a_coupling_needs_a_limit() -> None:
    with pytest.raises(pliant.ModelError, match="the force of ram has no scale of its own"):
        ArmEnv(strung(flexible=False))
    env = ArmEnv(strung(flexible=False), torque_limit=[5.0, 5.0, 20.0])
    assert env.action_space.shape == (3,)


# ------------------------------------------------------------------------------------------------------ wrong arguments


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"horizon": np.inf}, "horizon: got inf, expected"),
        ({"horizon": -1.0}, "horizon: got -1.0, expected"),
        ({"horizon": 1e300}, "horizon: got 1e\\+300, expected"),
        ({"period": 0.0}, "period: got 0.0, expected"),
        ({"period": 1e300}, "period: got 1e\\+300, expected"),
        ({"spread": np.inf}, "spread: got inf, expected"),
        ({"spread": -1.0}, "spread: got -1.0, expected"),
        ({"vary": {"payload.mass": (1.0, 0.0)}}, r"vary\['payload.mass'\]: got \(1.0, 0.0\), expected"),
        ({"vary": {"payload.mass": (0.0, np.inf)}}, r"vary\['payload.mass'\]: got \(0.0, inf\), expected"),
        (
            {"vary": {"payload.mass": (-5, -1)}},
            r"vary\['payload.mass'\]: got \(-5, -1\): .*expected a number of 0 or more",
        ),
        ({"vary": {"payload.mass": (0, 1e308)}}, r"vary\['payload.mass'\]: got \(0, 1e\+308\): .*expected a number"),
        ({"vary": {"payload.mas": (0, 1)}}, "payload.mas"),
        ({"num_envs": 0}, "num_envs: got 0, expected"),
        ({"num_envs": 10**8}, "num_envs: got 100000000, expected"),
        ({"num_envs": 10**30}, "num_envs: got 1000000"),
    ],
)
def test_wrong_options_are_named(options: dict[str, Any], said: str) -> None:
    for kind in (ArmVectorEnv,) if "num_envs" in options else (ArmEnv, ArmVectorEnv):
        with pytest.raises(ModelError, match=rf"\A[^\n]*{said}[^\n]*\Z"):
            kind(robot="two-link", **options)


def test_wrong_actions_are_named() -> None:
    one, many = ArmEnv("two-link"), ArmVectorEnv(3, "two-link")
    one.reset(seed=1)
    many.reset(seed=1)
    for wrong in (np.zeros(3), np.zeros((1, 2)), 0.0, "x", None, {}, [1j, 0]):
        with pytest.raises(ModelError, match=r"\Aaction: got .*, expected numbers of shape \(2,\)\Z"):
            one.step(wrong)
    for wrong in (np.zeros(2), np.zeros((2, 2)), np.zeros((3, 2, 1)), "x"):
        with pytest.raises(ModelError, match=r"\Aactions: got .*, expected numbers of shape \(3, 2\)\Z"):
            many.step(wrong)
    assert one.step([0.0, 0.0])[4] == {}
    for wrong in (-1, 1.5, "x", True):
        for env in (one, many):
            with pytest.raises(ModelError, match=r"\Aseed: got .*, expected a whole number from 0"):
                env.reset(seed=wrong)
