"""Arms that are advanced by their caller: as `simulate` runs them, saved and restored to the bit, one and many."""

from __future__ import annotations

import pickle
import warnings
from typing import Any

import casadi as ca
import numpy as np
import pytest

import pliant
from arms import unequal_arm, unequal_two_link
from batch_arms import two_links
from flyers import small, states
from pliant import (
    Beam,
    Event,
    Joint,
    Link,
    ModelError,
    Robot,
    Shapes,
    SimulationError,
    Stepper,
    UnsupportedModel,
    simulate,
)
from pliant.control import (
    LQR,
    PD,
    PID,
    Accelerometer,
    Encoder,
    Observer,
    OutputFeedback,
    Sampled,
    StrainGauge,
    TipPosition,
)  # fmt: skip
from pliant.loads import Wrench
from pliant.robot import Limits

STEP = 1e-3
START = {"upper": 0.4, "fore": -0.7}


@pytest.fixture(scope="module")
def model() -> pliant.Model:
    return unequal_two_link().model()


def pd() -> PD:
    return PD([40.0, 25.0], [6.0, 3.0], [0.2, 0.5])


def starts_late(t: Any) -> Any:
    """A path whose rate jumps."""
    return ca.if_else(t > 0.03, 1.5 * (t - 0.03), 0.0)


def push(t: Any) -> Any:
    """A force for 9 ms, which begins and ends inside steps."""
    return [0.0, ca.if_else(ca.logic_and(t > 0.0213, t < 0.0304), 80.0, 0.0), 0.0]


def ends(model: pliant.Model, t: float, **given: Any) -> tuple[np.ndarray, np.ndarray]:
    """Where `simulate` ends."""
    result = simulate(model, t, output_step=t, progress=False, **given)
    return result.q[-1], result.qd[-1]


def near(stepper: Stepper, end: tuple[np.ndarray, np.ndarray], tolerance: float) -> None:
    for mine, theirs in zip(stepper.state, end):
        assert np.abs(mine - theirs).max() < tolerance * max(1.0, np.abs(theirs).max())


@pytest.mark.parametrize(
    ("method", "tolerance"),
    [("rk4", 1e-12), ("midpoint", 1e-11), ("dopri5", 1e-6), ("dop853", 1e-6), ("rodas5p", 1e-5)],
)  # fmt: skip
def test_steps_are_those_of_a_run(model: pliant.Model, method: Any, tolerance: float) -> None:
    fixed = {"step": STEP} if method in ("rk4", "midpoint") else {}
    arm = Stepper(model, method=method, controller=pd(), q0=START, **fixed)
    torque = np.array([3.0, -2.0])
    for _ in range(60):
        arm.step(5 * STEP, torque)
    assert arm.t == pytest.approx(0.3)
    near(arm, ends(model, 0.3, method=method, controller=pd(), torque=torque, q0=START, **fixed), tolerance)


def test_a_step_is_divided_evenly(model: pliant.Model) -> None:
    arm = Stepper(model, step=0.7 * STEP, q0=START)
    arm.step(STEP)
    near(arm, ends(model, STEP, method="rk4", step=STEP / 2, q0=START), 1e-14)


def test_the_default_step_follows_the_fastest_mode(model: pliant.Model) -> None:
    modes = model.modes(model.layout.rest(), "free")
    arm = Stepper(model)
    assert arm.step_length == pytest.approx(0.4 / (1.3 * modes.omega.max()))
    assert Stepper(model, method="dopri5").step_length is None


def test_torques_hold_until_others_come(model: pliant.Model) -> None:
    arm, other = (Stepper(model, step=STEP, q0=START) for _ in range(2))
    arm.step(0.01, {"fore": 4.0})
    arm.step(0.01)
    other.step(0.01, [0.0, 4.0])
    other.step(0.01, np.array([0.0, 4.0]))
    assert np.array_equal(arm.state.q, other.state.q)
    assert np.array_equal(arm.tau, [0.0, 4.0])


@pytest.mark.parametrize("delay", [0.0, 0.0025])
def test_sampled_laws_are_asked_as_in_a_run(model: pliant.Model, delay: float) -> None:
    law = Sampled(PID([40.0, 25.0], [30.0, 10.0], [6.0, 3.0], [0.2, 0.5]), 0.005, delay)
    arm = Stepper(model, step=2.5e-4, controller=law, q0=START)
    for _ in range(25):  # steps that end between samples
        arm.step(0.004)
    near(arm, ends(model, 0.1, method="rk4", step=2.5e-4, controller=law, q0=START), 1e-9)


def test_functions_are_asked_at_stages_or_held(model: pliant.Model) -> None:
    def law(t: float, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        return np.array([-30 * q[0] - 4 * qd[0] + t, -20 * q[1] - 2 * qd[1]])

    for given in ({}, {"sample_time": 0.01}):
        arm = Stepper(model, step=STEP, controller=law, q0=START, **given)
        for _ in range(50):
            arm.step(2 * STEP, [1.0, 0.5])
        end = ends(model, 0.1, method="rk4", step=STEP, controller=law, q0=START, torque=[1.0, 0.5], **given)
        near(arm, end, 1e-12)


def test_breaks_within_a_step_are_met(model: pliant.Model) -> None:
    """A pulse that begins and ends inside steps, and steps so many that their times have rounding."""
    load = Wrench(force=push)
    arm = Stepper(model, method="dop853", loads=[load], q0=START)
    for _ in range(60):
        arm.step(1e-3)
    near(arm, ends(model, 0.06, method="dop853", loads=[load], q0=START, rtol=1e-11, atol=1e-13), 1e-7)


def test_prescribed_rates_that_jump_act_as_an_impulse(model: pliant.Model) -> None:
    arm = Stepper(model, method="dop853", motion={"upper": starts_late}, q0=START)
    for _ in range(20):
        arm.step(4e-3)
    near(arm, ends(model, 0.08, method="dop853", motion={"upper": starts_late}, q0=START, rtol=1e-11, atol=1e-13), 1e-7)
    assert arm.qd[0] == pytest.approx(1.5)


def test_a_payload_changes_between_steps() -> None:
    heavy = unequal_two_link().model(parameters=["payload.mass", "links.fore.joint.friction.viscous"])
    arm = Stepper(heavy, step=STEP, q0=START, p={"payload.mass": 0.3})
    arm.step(0.05)
    middle = arm.state
    arm.change({"payload.mass": 2.0})
    arm.step(0.05)
    result = simulate(heavy, 0.05, *middle, method="rk4", step=STEP, output_step=0.05, p=[2.0, 0.0])
    near(arm, (result.q[-1], result.qd[-1]), 1e-12)
    assert arm.parameters == {"payload.mass": 2.0, "links.fore.joint.friction.viscous": 0.0}


CONTROLLERS = {
    "none": None,
    "pid": PID([40.0, 25.0], [30.0, 10.0], [6.0, 3.0], [0.2, 0.5]),
    "sampled": Sampled(PID([40.0, 25.0], [30.0, 10.0], [6.0, 3.0], [0.2, 0.5]), 0.004, 0.006),
    "observed": OutputFeedback(
        LQR([0.2, 0.5], 1.0, 0.1),
        Observer([0.2, 0.5], [Encoder("upper", noise=1e-3), Encoder("fore", noise=1e-3)]),
        0.004,
    ),
}


@pytest.mark.parametrize("law", CONTROLLERS)
@pytest.mark.parametrize("method", ["rk4", "midpoint", "dopri5", "rodas5p"])
def test_a_restored_arm_goes_on_to_the_bit(model: pliant.Model, method: Any, law: str) -> None:
    fixed = {"step": STEP} if method in ("rk4", "midpoint") else {}
    sensors = [Encoder("upper", noise=1e-3)]
    arm, other = (
        Stepper(model, method=method, controller=CONTROLLERS[law], q0=START, sensors=sensors, **fixed) for _ in range(2)
    )
    for _ in range(7):
        arm.step(0.003, [1.0, -0.5])
    kept = pickle.loads(pickle.dumps(arm.save()))
    first = []
    for stepper in (arm, arm, other):  # the second time from the middle, the third by another one
        stepper.restore(kept)
        for _ in range(8):
            stepper.step(0.003)
        first.append((stepper.t, *stepper.state, stepper.outputs))
    for again in first[1:]:
        assert all(np.array_equal(a, b) for a, b in zip(first[0], again))


def test_a_saved_state_stays_as_it_is(model: pliant.Model) -> None:
    arm = Stepper(model, step=STEP, controller=CONTROLLERS["sampled"], q0=START)
    arm.step(0.01)
    kept = arm.save()
    arm.step(0.03)
    end = arm.state.q
    arm.restore(kept)
    arm.step(0.03)
    assert np.array_equal(arm.state.q, end)


def test_an_arm_stops_at_its_limit_where_a_run_stops() -> None:
    model = two_links(Limits(lower=-1.0, upper=0.8)).model()
    run = simulate(model, 2.0, torque=[90.0, 20.0], method="dop853")
    assert run.stats.status == "event"
    arm = Stepper(model, method="dop853")
    for _ in range(200):
        arm.step(0.01, [90.0, 20.0])
        if arm.stopped:
            break
    assert arm.stopped == run.stats.events[0][1]
    assert arm.t == pytest.approx(run.t[-1], abs=1e-7)
    with pytest.raises(SimulationError, match="stands at a limit"):
        arm.step(0.01)
    arm.reset()
    arm.step(0.01)
    assert arm.stopped == ""
    assert arm.t == 0.01
    free = Stepper(model, method="dop853", limits=False)
    for _ in range(100):
        free.step(0.01, [90.0, 20.0])
    assert np.abs(free.q[:2]).max() > 1.0


def test_many_arms_go_as_each_alone(rng: np.random.Generator) -> None:
    model = unequal_two_link().model(parameters=["payload.mass"])
    q, masses, torques = rng.normal(size=(5, 2)) * 0.4, rng.uniform(0.1, 2.0, 5), rng.normal(size=(5, 2))
    arms = Stepper(model, step=STEP, controller=pd(), count=5, q0=q, p={"payload.mass": masses})
    for _ in range(20):
        arms.step(3 * STEP, torques)
    assert arms.state.q.shape == (5, model.n)
    assert arms.outputs.shape == (5, 5)
    for k in range(5):
        one = Stepper(model, step=STEP, controller=pd(), q0=q[k], p={"payload.mass": masses[k]})
        for _ in range(20):
            one.step(3 * STEP, torques[k])
        near(one, (arms.q[k], arms.qd[k]), 1e-12)
        assert arms.outputs[k] == pytest.approx(one.outputs, abs=1e-12)
        assert arms.tau[k] == pytest.approx(one.tau, abs=1e-9)
    kept = arms.save()
    arms.step(0.01)
    first = arms.state
    arms.restore(kept)
    arms.step(0.01)
    assert np.array_equal(first.q, arms.state.q)
    assert np.array_equal(first.qd, arms.state.qd)


def test_of_many_arms_those_at_a_limit_stay_there() -> None:
    model = two_links(Limits(lower=-1.0, upper=0.8)).model()
    arms = Stepper(model, step=STEP, count=3)
    for _ in range(30):
        arms.step(0.01, [[0.0, 0.0], [400.0, 0.0], [1e300, 0.0]])
    assert arms.stopped.tolist() == ["", "fore at its lower limit", "broke down"]
    kept = arms.q[1:]
    arms.step(0.01)
    assert np.array_equal(arms.q[1:], kept)
    assert np.isfinite(kept).all()
    arms.reset({"upper": 0.1}, arms=[1])
    assert arms.stopped[1] == ""
    assert arms.q[1, 0] == 0.1
    assert arms.t == pytest.approx(0.31)


def test_many_arms_with_breaks_and_jumps(model: pliant.Model) -> None:
    load = Wrench(force=push)
    given = {"method": "dopri5", "motion": {"upper": starts_late}, "loads": [load], "q0": START, "rtol": 1e-9}
    arms, one = Stepper(model, count=2, **given), Stepper(model, **given)
    for _ in range(20):
        arms.step(4e-3)
        one.step(4e-3)
    near(one, (arms.q[1], arms.qd[1]), 1e-6)


def test_quaternions_keep_their_length(rng: np.random.Generator) -> None:
    model = small().model()
    q, qd = states(model, rng, 3)
    arms = Stepper(model, step=STEP, count=3, q0=q, qd0=qd)
    one = Stepper(model, step=STEP, q0=q[1], qd0=qd[1])
    for _ in range(20):
        arms.step(STEP)
        one.step(STEP)
    near(one, (arms.q[1], arms.qd[1]), 1e-12)
    near(one, ends(model, 0.02, method="rk4", step=STEP, q0=q[1], qd0=qd[1]), 1e-12)


def test_readings_are_those_of_the_run(model: pliant.Model) -> None:
    """An accelerometer feels the load and the controller."""
    load = Wrench(force=[3.0, 20.0, 0.0])
    sensors = [StrainGauge("upper", 0.25), TipPosition(), Accelerometer("fore", axis=1)]
    arm = Stepper(model, step=STEP, controller=pd(), loads=[load], q0=START, sensors=sensors)
    run = simulate(model, 0.02, q0=START, controller=pd(), loads=[load], method="rk4", step=STEP, output_step=0.02)
    for _ in range(20):
        arm.step(STEP)
    assert arm.outputs[1:4] == pytest.approx(run.tip[-1], abs=1e-12)
    assert arm.tau == pytest.approx(run.tau[-1], abs=1e-9)
    ahead = Stepper(model, step=2e-5, controller=pd(), loads=[load], q0=run.q[-1], qd0=run.qd[-1])
    now = model.jacobian(ahead.q) @ ahead.qd
    ahead.step(1e-6)
    change = (model.jacobian(ahead.q) @ ahead.qd - now) / 1e-6
    axes = model.tip_pose(run.q[-1])[:3, :3]
    felt = axes.T @ (change[3:] - np.array(model.robot.gravity))
    assert arm.outputs[4] == pytest.approx(felt[1], rel=1e-3)


def test_bad_input_is_told(model: pliant.Model) -> None:
    arm = Stepper(model, step=STEP)
    for tau in ([1.0], [1.0, 2.0, 3.0], 5.0, {"elbow": 1.0}, "ab", [1.0, np.nan], [[1.0, 2.0]]):
        with pytest.raises(ModelError, match=r"tau|upper|fore|finite"):
            arm.step(STEP, tau)
        arm.reset()
    for dt in (0.0, -1.0, np.nan, np.inf):
        with pytest.raises(ModelError, match="dt: got"):
            arm.step(dt)
    for wrong, words in (
        ({"step": 0.0}, "step: got"), ({"count": 0}, "count: got"), ({"method": "euler"}, "method: got"),
        ({"controller": [1.0, 2.0]}, "controller: got torques"),
        ({"q0": [[0.0, 0.0]] * 2, "count": 3}, "q0: got 2 arms"),
        ({"p": {"payload.mass": 1.0}}, "not a parameter"), ({"count": 2, "method": "rodas5p"}, "method: got 'rodas5p'"),
    ):  # fmt: skip
        with pytest.raises((ModelError, UnsupportedModel), match=words):
            Stepper(model, **wrong)
    with pytest.raises(ModelError, match="not a state of such a stepper"):
        arm.restore(Stepper(model, method="dopri5").save())
    wild = Stepper(model, step=0.5, controller=PD(1e6, 1.0, [0.0, 0.0]), q0=START)
    with pytest.raises(SimulationError, match=r"^step: [^:]*finite at t = 0.5 s\. Take shorter steps"):
        wild.step(500.0)


def test_a_stepper_chooses_steps_that_bristles_allow() -> None:
    """LuGre's bristles bounce far faster than the links bend; a joint that sticks bends them by torque / stiffness."""
    stiffness, torque = 1e6, [0.5, 0.3]
    friction = {"law": "lugre", "coulomb": 1.0, "stiction": 1.4, "stiffness": stiffness, "micro_damping": 30.0}
    description = pliant.load("two-link").to_dict()
    for link in description["links"]:
        link["joint"]["friction"] = {**friction, "viscous": 12.5}
    arm = Stepper(pliant.Robot.from_dict({**description, "gravity": [0.0, 0.0, 0.0]}).model())
    for _ in range(20):
        arm.step(0.01, torque)
    bent = np.array(torque) / stiffness
    assert ((0.5 * bent < arm.q[:2]) & (arm.q[:2] < 4 * bent)).all()  # while it vibrates, LuGre's law drifts a little


def test_elastic_drives_and_friction_step_as_they_run() -> None:
    model = unequal_arm().model()
    arm = Stepper(model, method="dop853", q0={"boom": 0.2})
    for _ in range(10):
        arm.step(0.002, [2.0, 0.0, 1.0][: model.n_joints])
    end = ends(model, 0.02, method="dop853", q0={"boom": 0.2}, torque=[2.0, 0.0, 1.0][: model.n_joints])
    near(arm, end, 1e-6)


def test_events_of_a_run_are_not_asked_for() -> None:
    """What a stepper has no argument for is not silently dropped."""
    with pytest.raises(TypeError):
        Stepper(unequal_two_link().model(), events=[Event("x", lambda t, q, qd: q[0])])  # type: ignore[call-arg]


@pytest.mark.parametrize("count", [None, 3])
def test_wrong_steps_and_torques_are_named(count: int | None) -> None:
    """Nothing of such a step is taken over: not its torques either."""
    arm = Stepper(pliant.load("two-link").model(), count=count)
    for wrong in ("1", b"1", None, [1, 2], 1j, {}, -1, 0, np.inf, np.nan, 10**400):
        with pytest.raises(ModelError, match=r"\Adt: got .*, expected a positive number of seconds"):
            arm.step(wrong, [1.0, 2.0])
    for wrong in ("1", "12", [1.0], [[1.0, 2.0, 3.0]], object()):
        with pytest.raises(ModelError, match="tau: "):
            arm.step(1e-3, wrong)
    arm.step(1e-3)
    still = Stepper(pliant.load("two-link").model(), count=count)
    still.step(1e-3)
    assert np.array_equal(arm.q, still.q)


@pytest.mark.parametrize("count", [None, 2])
def test_a_slope_beyond_small_ones_is_told_once(count: int | None) -> None:
    """As runs tell it: a cantilever that its weight bends by 0.6 rad at the end of its swing, and one that is stiff."""
    for stiffness, times in ((1.0, 1), (100.0, 0)):
        beam = Beam(length=1.1, mass_per_length=0.9, EI_y=2.3 * stiffness, EI_z=3.1 * stiffness)
        link = Link(name="rod", joint=Joint(type="fixed"), beam=beam, shapes=Shapes(bending_y=1, bending_z=2))
        model = Robot(name="rod", gravity=(0, 0, -9.81), links=[link]).model()
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            arm = Stepper(model, step=1e-3, count=count)
            for _ in range(600):
                arm.step(1e-3)
        texts = [str(one.message) for one in caught]
        assert sum(text.startswith("links.rod: got a slope of ") for text in texts) == times
