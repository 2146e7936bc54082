"""Joint limits: one rule, in single runs, batches, scenarios and environments. An arm ends as soon as a joint is beyond
a limit, or at it and moving out, and the limit is named."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

import pliant
from arms import unequal_two_link
from pliant import Joint, Link, RigidBody, Robot, simulate, simulate_batch
from pliant.batch import BatchResult
from pliant.errors import SimulationError
from pliant.robot import Limits
from pliant.simulation.runs.checks.limits import joint_limits

LOWER, UPPER = -0.4, 0.7
UP, DOWN = "fore at its upper limit", "fore at its lower limit"


@cache
def arm() -> pliant.Model:
    """Limits on the second joint; no gravity, so that a joint at rest stays there."""
    limits = {"lower": LOWER, "upper": UPPER}
    return unequal_two_link().replace({"links.fore.joint.limits": limits, "gravity": (0.0, 0.0, 0.0)}).model()


CASES: list[tuple[float, float, str]] = [
    (UPPER, 0.5, UP), (UPPER + 0.01, 0.5, UP), (LOWER, -0.5, DOWN), (LOWER - 0.01, -0.5, DOWN),
    (UPPER + 0.01, -0.5, UP), (UPPER + 0.01, 0.0, UP),
    (UPPER, 0.0, ""), (UPPER, -0.5, ""), (LOWER, 0.0, ""), (LOWER, 0.5, ""), (0.1, 0.5, ""),
]  # fmt: skip


@pytest.mark.slow_cases("0.7-0.5-fore at its upper limit")
@pytest.mark.parametrize(("position", "rate", "name"), CASES)
def test_a_start_out_of_range_ends_at_once(position: float, rate: float, name: str) -> None:
    start: dict[str, Any] = {"q0": {"fore": position}, "qd0": {"fore": rate}}
    run = simulate(arm(), 0.01, **start, output_step=0.001)
    batch = simulate_batch(arm(), 0.01, **start, step=1e-3, output_step=0.001)
    alone = batch.arm(0)
    if name:
        assert (run.stats.status, run.stats.events, run.t.tolist()) == ("event", ((0.0, name),), [0.0])
        assert (batch.status.tolist(), batch.ended.tolist(), batch.stopped_by) == ([2], [0.0], (name,))
        assert (alone.stats.status, alone.stats.events) == ("event", ((0.0, name),))
        assert np.array_equal(alone.q, run.q)
        assert np.isnan(batch.q[0, 1:]).all()
    else:
        assert (run.stats.status, run.stats.events, run.t[-1]) == ("finished", (), 0.01)
        assert (batch.status.tolist(), batch.ended.tolist(), batch.stopped_by) == ([0], [0.01], ("",))
    assert simulate(arm(), 0.01, **start, limits=False).stats.status == "finished"


def test_from_rest_at_a_limit_an_arm_may_leave_inwards_only() -> None:
    """A torque that pulls out ends the run at the limit; one that pulls in does not."""
    start = {"fore": UPPER}
    out = simulate(arm(), 0.05, start, torque=[0.0, 3.0])
    assert out.stats.events[-1][1] == UP
    assert out.q[-1, 1] == pytest.approx(UPPER, abs=1e-12)
    assert out.t[-1] < 1e-3
    assert simulate(arm(), 0.05, start, torque=[0.0, -3.0]).stats.status == "finished"
    batch = simulate_batch(arm(), 0.05, start, torque=[[0.0, 3.0], [0.0, -3.0]], step=1e-3, output_step=0.01)
    assert (batch.stopped_by, batch.ended.tolist()) == ((UP, ""), [0.0, 0.05])


def test_limits_within_a_run_are_named_alike(tmp_path: Any) -> None:
    """Both joints leave at a time of their own; the batch ends at the row before, and a file keeps the name."""
    model, torque = arm(), [[0.0, 4.0], [0.0, -4.0], [0.0, 0.0]]
    batch = simulate_batch(model, 1.0, torque=torque, step=1e-3, output_step=0.01)
    runs = [simulate(model, 1.0, torque=each, output_step=0.01) for each in torque]
    names = tuple(run.stats.events[-1][1] if run.stats.events else "" for run in runs)
    assert names == batch.stopped_by == (UP, DOWN, "")
    for run, ended in zip(runs, batch.ended):
        assert run.t[-1] - 0.01 < ended <= run.t[-1]
    assert BatchResult.load(batch.save(tmp_path / "batch.nc")).stopped_by == names
    stored = simulate_batch(model, 1.0, torque=torque, step=1e-3, output_step=0.01, store=tmp_path / "stored.nc")
    assert stored.stopped_by == BatchResult.load(tmp_path / "stored.nc").stopped_by == names


def test_a_prescribed_joint_ends_at_its_limit() -> None:
    """Its path decides, not `q0`."""
    from pliant.control import Cycloidal

    run = simulate(arm(), 1.0, motion={"fore": Cycloidal(UPPER + 0.1, 0.0, 1.0)})
    assert (run.stats.events, len(run)) == (((0.0, UP),), 1)


def test_ends_of_travel_follow_the_same_rule() -> None:
    """A sliding beam at the end of its travel and moving out: the run breaks down at once, the batch ends the arm."""
    beam = pliant.Beam(slides=True, length=0.5, total_length=1.2, mass_per_length=2.1, EI_y=70.0, EI_z=160.0)
    link = Link(name="slide", joint=Joint(type="prismatic", axis=(1, 0, 0)), beam=beam)
    model = Robot(name="slide", gravity=(0, 0, 0), links=[link]).model()
    inner, _ = next(iter(model.chain.travels().values()))
    start: dict[str, Any] = {"q0": {"slide": inner}, "qd0": {"slide": -0.1}}
    with pytest.raises(SimulationError, match=r"slide at the inner end of its travel at t = 0 s"):
        simulate(model, 0.01, **start)
    batch = simulate_batch(model, 0.01, **start, step=1e-3)
    assert batch.stopped_by == ("slide at the inner end of its travel",)


def test_scenarios_and_environments_hold_them() -> None:
    robot = unequal_two_link().replace({"links.fore.joint.limits": {"lower": LOWER, "upper": UPPER}})
    initial = {"q": {"fore": UPPER + 0.1}, "qd": {"fore": 1.0}}
    run = pliant.Scenario(robot=robot, duration=0.1, initial=initial).run()
    assert run.stats.events == ((0.0, UP),)

    from pliant.environments import ArmEnv, ArmVectorEnv

    env = ArmEnv(robot, "reach", spread=3.0)
    for seed in range(5):  # starts and goals lie within the limits, not at them, where a touch would end the episode
        observation, _ = env.reset(seed=seed)
        assert LOWER < observation[1] < UPPER
        assert LOWER < env._arms.task.target[0, 1] < UPPER
    for _ in range(200):
        observation, reward, terminated, _, info = env.step(np.array([0.0, 1.0]))
        if terminated:
            break
        assert observation[1] <= UPPER
    assert (terminated, info, reward) == (True, {"limit": UP}, -100.0)
    beside = ArmEnv(robot.replace({"links.fore.joint.limits": {"lower": 0.2, "upper": 1.0}}), "reach", spread=0.1)
    starts = [beside.reset(seed=seed)[0][:2] for seed in range(20)]  # as wide as beside no limit
    assert np.ptp(starts, axis=0) == pytest.approx([0.2, 0.2], rel=0.25)
    assert np.mean(starts, axis=0) == pytest.approx([0.0, 0.3], abs=0.05)
    envs = ArmVectorEnv(3, robot, "reach", spread=0.1)
    envs.reset(seed=0)
    for _ in range(200):
        _, _, ended, _, info = envs.step(np.array([[0.0, 0.0], [0.0, 1.0], [0.0, -1.0]]))
        if ended[1]:
            break
    assert info["limit"][1] == UP


def test_a_joint_with_one_limit_has_one_event() -> None:
    body = RigidBody(mass=1.0, com=(0.3, 0, 0), inertia=(0.3, 0.3, 0.5), tip=(0.6, 0, 0))
    robot = Robot(name="one", links=[Link(name="arm", joint=Joint(limits=Limits(upper=0.5)), rigid=body)])
    assert [limit.name for limit in joint_limits(robot.model())] == ["arm at its upper limit"]
    assert joint_limits(robot.model(), limits=False) == ()
