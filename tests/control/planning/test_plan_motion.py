"""Motions that end without ringing: swings, limits and times beside those of the plain motion and the fastest one."""

from __future__ import annotations

import runpy

import numpy as np
import pytest
from scipy.integrate import trapezoid

import pliant
from arms import unequal_two_link
from pliant.control import rest_to_rest
from pliant.control.planning.paths.following_shapers import followed
from pliant.control.planning.paths.joint_paths import JointPath, Progress
from pliant.control.planning.uncertainty import off_by, stiffness_paths
from pliant.control.trajectories.splines import Piece, Piecewise
from pliant.planning import JointMotion, plan, residual_vibration
from sources import ROOT

START, GOAL = [-1.1, 0.3], [-0.5, -0.3]
LIMITS = {
    "speed_limit": [2.0, 3.0],
    "acceleration_limit": [8.0, 12.0],
    "jerk_limit": [80.0, 150.0],
    "torque_limit": [200.0, 60.0],
}


@pytest.fixture(scope="module")
def model():
    return unequal_two_link().replace({"payload.mass": 1.5}).model()


@pytest.fixture(scope="module")
def exact(model):
    return plan(model, START, GOAL, intervals=20, progress=False, **LIMITS)


@pytest.fixture(scope="module")
def robust(model):
    return plan(model, START, GOAL, payload_error=0.5, intervals=20, progress=False, **LIMITS)


def within_limits(shaped) -> None:
    """At all moments, by differences of what is handed out."""
    t = np.linspace(0, shaped.duration, 20_001)
    _, qd, qdd = shaped.trajectory(t)
    jerk = np.diff(qdd, axis=0) / t[1]
    for name, found in (("speed", qd), ("acceleration", qdd), ("jerk", jerk)):
        assert (np.abs(found).max(axis=0) <= np.array(LIMITS[f"{name}_limit"]) * (1 + 1e-5)).all(), name
        assert shaped.shares[name] == pytest.approx((np.abs(found) / LIMITS[f"{name}_limit"]).max(), rel=1e-3)
    run = shaped.compared["as described"].shaped.run
    assert (np.abs(run.tau[run.t <= shaped.duration]) <= LIMITS["torque_limit"]).all()


@pytest.mark.slow
def test_a_motion_at_rest_at_its_end(model, exact) -> None:
    assert exact.method == "optimal control"
    here = exact.compared["as described"]
    assert here.plain.peak > 0.05
    assert here.ratio < 1e-3  # asked: 1/20
    within_limits(exact)
    np.testing.assert_allclose(exact.trajectory(exact.duration)[0], GOAL, atol=1e-9)
    names = {
        "speed_limit": "speed_limit",
        "acceleration_limit": "acceleration_limit",
        "jerk_limit": "jerk_limit",
        "torque_limit": "torque_limit",
    }
    given = {name: LIMITS[key] for name, key in names.items()}
    fastest = rest_to_rest(model, START, GOAL, objective="time", intervals=20, **given)
    assert exact.duration < 1.02 * fastest.duration


@pytest.mark.full
def test_a_payload_that_is_off(model, exact, robust) -> None:
    """By half, where the motion for the payload as described leaves more than a fifth."""
    assert robust.compared["as described"].ratio < 1 / 20
    unaware = []
    for sign, name in ((1, "payload +50 %"), (-1, "payload -50 %")):
        off = unequal_two_link().replace({"payload.mass": 1.5 * (1 + 0.5 * sign)}).model()
        moves = (robust.plain, robust.trajectory, exact.trajectory)
        plain, shaped, other = (residual_vibration(off, move, move.end).peak for move in moves)
        assert shaped < plain / 5  # of an arm that the search has not seen, numbers as constants
        assert robust.compared[name].ratio == pytest.approx(shaped / plain, rel=0.05)
        unaware.append(other / plain)
    assert max(unaware) > 1 / 5
    within_limits(robust)
    assert exact.duration < robust.duration < 1.15 * exact.duration + 1 / exact.frequency


@pytest.mark.slow
def test_feedforward_is_what_the_motion_takes(model, exact) -> None:
    motion = exact.motion
    run = pliant.simulate(
        model, exact.duration, q0=model.equilibrium(START), torque=(motion.t, motion.tau, "cubic"), limits=False
    )
    np.testing.assert_allclose(run.q[-1, :2], GOAL, atol=0.02)  # open loop, 200 samples, and nothing holds the joints
    np.testing.assert_allclose(motion.q, exact.trajectory(motion.t)[0], atol=1e-12)


@pytest.fixture(scope="module")
def bent(model):
    """A path that is not straight, with the same start and goal."""
    s = np.linspace(0, 1, 25)
    law = 10 * s**3 - 15 * s**4 + 6 * s**5
    q = np.array(START) + law[:, None] * (np.array(GOAL) - START)
    q[:, 1] += 0.25 * np.sin(np.pi * s) ** 3
    return JointMotion(("fore", "upper"), 0.9 * s, q[:, ::-1])  # columns in another order


@pytest.mark.slow_cases("0.0")
@pytest.mark.parametrize("error", [0.0, pytest.param(0.2, marks=pytest.mark.full)])
def test_a_path_is_kept(model, bent, error: float) -> None:
    shaped = plan(model, trajectory=bent, payload_error=error, progress=False, **LIMITS)
    assert shaped.method == "timing"
    assert shaped.compared["as described"].ratio < 1 / 20
    assert all(both.ratio < 1 / 5 for both in shaped.compared.values())
    within_limits(shaped)
    there = bent.in_order(("upper", "fore")).at(np.linspace(0, bent.t[-1], 4001))
    apart = [np.linalg.norm(there - q, axis=1).min() for q in shaped.motion.q]
    assert max(apart) < 1e-3
    assert shaped.duration < 1.15 * shaped.plain.end


def test_a_shaper_follows_the_frequency() -> None:
    """An oscillator whose frequency doubles along the way: the passes are half a period of the moment apart."""
    t = np.linspace(0, 2.0, 801)
    u = 10 * (t / 2) ** 3 - 15 * (t / 2) ** 4 + 6 * (t / 2) ** 5
    at = np.linspace(0, 1, 7)
    hertz = 1.0 + at
    shaped = followed(Progress(t, u), at, hertz, robust=False)

    def left(move: Progress, frequency: np.ndarray) -> float:
        """Slow changes of frequency: the phase integral of the acceleration of the way."""
        phase = np.append(0, np.cumsum(2 * np.pi * (frequency[1:] + frequency[:-1]) / 2 * np.diff(move.t)))
        rate = np.gradient(move.u, phase)
        return abs(trapezoid(rate * np.exp(1j * phase), phase))

    def own(move: Progress) -> np.ndarray:
        return np.interp(move.u, at, hertz)

    plain = left(Progress(t, u), own(Progress(t, u)))
    assert left(shaped, own(shaped)) < 0.02 * plain
    mean = followed(Progress(t, u), at, np.full(7, 1.5), robust=False)
    assert left(mean, own(mean)) > 0.1 * plain  # a shaper for the mean does not do
    assert shaped.duration == pytest.approx(2.0 + 0.5 / 2.0 + 0.25, abs=0.15)


@pytest.mark.parametrize(("zeta", "T"), [(0.0, 0.21), (0.1, 6.3)])
def test_residual_is_the_swing_of_a_beam(zeta: float, T: float) -> None:
    """A beam of one mode that is turned by a jump of its rate: free vibrations of both jumps in closed form, and their
    largest value from the end on; of a damped one the first swing, which is over after a twentieth of a long motion."""
    link = pliant.Link(
        name="beam", beam=pliant.Beam(length=1.0, mass_per_length=0.3, EI_y=9.0, EI_z=9.0),
        shapes=pliant.Shapes(bending_y=1, damping=zeta),
    )  # fmt: skip
    model = pliant.Robot(name="beam", gravity=(0, 0, 0), links=[link]).model(stiffening="off")
    w, angle = 2 * np.pi * model.frequencies(model.equilibrium([0.0]))[0], 1e-3
    M = model.mass_matrix(np.zeros(2))
    steady = Piecewise([Piece(0.0, np.array([[0.0], [angle / T]]))], T, ("beam",))
    found = residual_vibration(model, steady, T)
    own = w * np.sqrt(1 - zeta**2)
    after = np.linspace(0, 4 * np.pi / w, 20_001)
    begun, ended = (np.exp(-zeta * w * t) * np.sin(own * t) for t in (T + after, after))
    amplitude = M[0, 1] / M[1, 1] * angle / T / own
    tip = amplitude * model.jacobian(np.zeros(2))[4, 1] * np.abs(begun - ended).max()
    assert found.peak == pytest.approx(abs(tip), rel=0.01)
    assert found.frequency == pytest.approx(w / 2 / np.pi)


def test_arms_that_are_off() -> None:
    arm = pliant.load("lab-arm")
    stiff = stiffness_paths(arm)
    assert "links.upper.joint.drive.stiffness" in stiff
    assert "links.fore.beam.material.E" in stiff
    slow, fast = off_by(pliant.load("two-link").replace({"payload.mass": 2.0}).model(), 0.2, 0.1).values()
    assert (slow.robot.payload.mass, fast.robot.payload.mass) == (2.4, 1.6)
    assert slow.robot.links[0].beam.EI_z == pytest.approx(900)
    assert fast.robot.links[0].beam.EI_z == pytest.approx(1100)
    f = [model.frequencies(model.equilibrium([0.0, 0.0]))[0] for model in (slow, fast)]
    assert f[0] < f[1]


def test_a_path_where_a_motion_crowds() -> None:
    t = np.linspace(0, 1, 801)
    law = t**3 * (10 - 15 * t + 6 * t**2)
    path, progress = JointPath.of(t, np.stack([law, np.sin(law)], axis=1), ("a", "b"))
    assert np.diff(path.u).min() > 1e-3
    np.testing.assert_allclose(path.at(progress.u), np.stack([law, np.sin(law)], axis=1), atol=1e-5)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"start": START}, "expected both, or a trajectory"),
        ({"start": START, "goal": START}, "it is the start"),
        ({"start": START, "goal": GOAL, "jerk_limit": None}, "limits.jerk: joint upper has none"),
        ({"start": START, "goal": GOAL, "payload_error": 1.5}, "expected a share from 0"),
        ({"start": START, "goal": GOAL, "payload": -1.0}, "expected a mass"),
        ({"start": START, "goal": GOAL, "intervals": 3}, "intervals: got 3, expected at least 8"),
        ({"start": START, "goal": GOAL, "speed_limit": [1.0, 2.0, 3.0]}, "expected a positive number or 2"),
        (
            {"start": [0.0, 0.0], "goal": GOAL, "torque_limit": 10.0},
            "start: holding joint upper there takes 140.3, limits.effort allows 10",
        ),
        ({"trajectory": JointMotion(("a",), np.arange(2.0), np.eye(2)[:, :1])}, "no joint `a`"),
        ({"trajectory": JointMotion(("upper",), np.arange(2.0), np.eye(2)[:, :1])}, "joint `fore` is missing"),
        ({"trajectory": "nowhere.csv"}, "nowhere.csv: cannot be read"),
        (
            {
                "trajectory": JointMotion(("upper", "fore"), np.arange(2.0), np.array([START, GOAL])),
                "torque_limit": 50.0,
            },
            "trajectory: at 0 s: holding joint upper there takes",
        ),
    ],
)
def test_what_is_wrong_is_told(model, given, message: str) -> None:
    with pytest.raises(pliant.ModelError, match=message):
        plan(model, progress=False, **(LIMITS | given))


def test_a_goal_beyond_the_limits() -> None:
    arm = pliant.load("boom").model()
    with pytest.raises(pliant.ModelError, match=r"goal: joint boom is at 1\.5, its limits are"):
        plan(arm, [0.0, 0.5, -0.5], [0.0, 1.5, -0.5])


SHAPING = runpy.run_path(str(ROOT / "benchmarks" / "shaping.py"))
KEPT = ("five-bar", "free-flyer", "hydraulic-crane", "parallelogram", "slider-crank")
"""Arms with loops or a free base: they keep the straight path."""


@pytest.mark.full
@pytest.mark.parametrize("name", SHAPING["MOVES"])
def test_every_arm_that_bends(name: str) -> None:
    """Residuals, limits and times that shaped motions are asked for; benchmarks/shaping.py makes the table of them."""
    exact, robust = (SHAPING["measured"](name, error) for error in (0.0, 0.2))
    for shaped in (exact, robust):
        assert shaped["method"] == ("timing" if name in KEPT else "optimal control")
        assert shaped["residual"]["as described"]["ratio"] <= 1 / 20
        assert max(shaped["shares"].values()) <= 1 + 1e-5
    assert max(both["ratio"] for both in robust["residual"].values()) <= 1 / 5
    period = 1 / exact["frequency"]
    assert exact["duration"] <= 1.15 * exact["least"]  # hence of the fastest motion that ends at rest
    assert robust["duration"] <= exact["duration"] + period
