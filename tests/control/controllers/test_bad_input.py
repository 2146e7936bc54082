"""Wrong gains, limits, targets and pairs: a clear error before anything runs."""

from __future__ import annotations

import numpy as np
import pytest

import pliant
from pliant import ModelError
from pliant.control import (
    LQR,
    PD,
    PID,
    ComputedTorque,
    Encoder,
    Limited,
    Observer,
    OutputFeedback,
    Sampled,
    StrainGauge,
    Switch,
    TipPosition,
    ei,
    inverse_kinematics,
    rest_to_rest,
    shaper_for,
    zv,
)

GOAL = [0.1, 0.2]
Q = {"joints": 1.0, "rates": 1.0}


@pytest.mark.parametrize(
    ("controller", "message"),
    [
        (PD([1, 2, 3], 1, GOAL), r"kp: got shape \(3,\), expected a number, 2 numbers"),
        (PD(1, np.ones((3, 3)), GOAL), "kd: got shape"),
        (PD(1, 1, [0.1]), "reference: it moves 1 coordinates, expected 2"),
        (PD(1, 1, GOAL, limit=0.0), "limit: got 0.0, expected a positive number"),
        (PD(1, 1, GOAL, limit=[1.0, -1.0]), "limit: got"),
        (PID(1, [1, 2, 3], 1, GOAL), "ki: got shape"),
        (Limited(PD(1, 1, GOAL), 0), "limit: got 0"),
        (ComputedTorque([1], 1, GOAL), "kp: got shape"),
        (LQR([0.1], Q, 1.0), "joints: got"),
        (LQR(GOAL, {"joint": 1.0}, 1.0), "Q: unknown joint"),
        (LQR(GOAL, np.ones(3), 1.0), "Q: got shape"),
        (LQR(GOAL, -1.0, 1.0), "Q: smallest eigenvalue"),
        (LQR(GOAL, Q, 0.0), "R: smallest eigenvalue 0"),
        (LQR(GOAL, Q, [[1.0, 2.0], [0.0, 1.0]]), "R: expected a symmetric"),
        (LQR(GOAL, Q, 1.0, sample_time=0.0), "sample_time: got 0.0"),
        (Sampled(PD(1, 1, GOAL), -1.0), "sample_time: got -1.0"),
        (Sampled(PD(1, 1, GOAL), 0.1, delay=-0.1), "delay: got -0.1"),
        (Sampled(PD(1, 1, GOAL), 0.1, delay=np.pi / 100), "delay: got"),
        (Switch([PD(1, 1, GOAL)], []), "until: got 0 ends for 1 phases"),
        (Switch([PD(1, 1, GOAL)] * 3, [0.2, 0.1]), "until: got times"),
        (Switch([PD(1, 1, GOAL)] * 2, [{"coordinate": "upper"}]), "until: got"),
        (Switch([PD(1, 1, GOAL)] * 2, [{"coordinate": "elbow", "above": 1}]), "coordinate: got 'elbow'"),
        (Switch([Sampled(PD(1, 1, GOAL), 0.1)] * 2, [0.2]), "a sampled controller cannot be a phase"),
        (OutputFeedback(LQR(GOAL, Q, 1.0, "decoupling"), Observer(GOAL, [Encoder("upper")])), "regulator: expected"),
        (OutputFeedback(LQR(GOAL, Q, 1.0), Observer(GOAL, [Encoder("elbow")])), "joint: got 'elbow'"),
        (OutputFeedback(LQR(GOAL, Q, 1.0), Observer(GOAL, [StrainGauge("upper", 1.5)])), "x: got 1.5"),
        (OutputFeedback(LQR(GOAL, Q, 1.0), Observer(GOAL, [TipPosition((3,))])), "axes: got"),
        (OutputFeedback(LQR(GOAL, Q, 1.0), Observer(GOAL, [])), "sensors: expected at least one"),
    ],
)
def test_controllers_refuse(two_link, controller, message: str) -> None:
    with pytest.raises(ModelError, match=message):
        pliant.simulate(two_link, 1.0, controller=controller)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: PD(1, 1, GOAL, gravity="yes"),
            "gravity: got 'yes', expected 'reference', 'measured', 'eq",
        ),
        (lambda: LQR(GOAL, Q, 1.0, inner="outer"), "inner: got 'outer', expected 'torque' or 'decoupling'"),
        (lambda: Encoder("upper", side="both"), "side: got 'both', expected 'motor' or 'link'"),
        (lambda: StrainGauge("upper", plane="torsion"), "plane: got 'torsion', expected 'bending_y' or 'bending_z'"),
    ],
)
def test_names_of_options_are_refused_where_they_are_given(make, message: str) -> None:
    with pytest.raises(ModelError, match=message):
        make()


def test_an_estimate_of_another_arm_is_refused(two_link, beam) -> None:
    with pytest.raises(ModelError, match="estimate: its coordinates are beam"):
        pliant.simulate(two_link, 1.0, controller=ComputedTorque(1, 1, GOAL, estimate=beam))


def test_uncontrollable_pair_names_the_motion() -> None:
    robot = pliant.load("two-link").to_dict()
    for link in robot["links"]:
        link["shapes"] |= {"bending_z": 1}
    model = pliant.Robot.model_validate(robot | {"gravity": [0, 0, 0]}).model()
    with pytest.raises(ModelError, match=r"cannot be stabilized: no torque reaches .*bending_z"):
        LQR(GOAL, 1.0, 1.0).bind(model)
    for link in robot["links"]:
        link["shapes"] |= {"damping": 0.01}
    damped = pliant.Robot.model_validate(robot | {"gravity": [0, 0, 0]}).model()
    assert LQR(GOAL, 1.0, 1.0).design(damped).poles.real.max() < 0  # what dies out by itself may stay unreached


def test_unseen_motion_is_named() -> None:
    model = pliant.Robot.model_validate(pliant.load("two-link").to_dict() | {"gravity": [0, 0, 0]}).model()
    with pytest.raises(ModelError, match="sensors do not see an undamped motion of 'upper'"):
        Observer(GOAL, [StrainGauge("upper"), StrainGauge("fore")]).design(model)


@pytest.mark.slow_cases("target0")
@pytest.mark.parametrize("target", [[2.2, 0, 0], [0.5, 0.5, 0.3]])
def test_target_out_of_reach(two_link, target: list[float]) -> None:
    with pytest.raises(ModelError, match="is out of reach, the nearest tip position found is"):
        inverse_kinematics(two_link, target)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"duration": 1.0, "torque_limit": 0.0}, "torque_limit: got 0.0"),
        ({"duration": 1.0, "torque_limit": [200, 5]}, "goal: holding the arm there takes torques"),
        ({"objective": "time"}, "least time needs torque limits"),
        ({"objective": "effort"}, "least effort needs a duration"),
        ({"objective": "fame", "duration": 1.0}, "objective: got 'fame'"),
        ({"duration": -1.0}, "duration: got -1.0"),
        ({"duration": 1.0, "intervals": 2}, "intervals, degree: got 2"),
    ],
)
def test_optimal_motion_refuses(two_link, options, message: str) -> None:
    with pytest.raises(ModelError, match=message):
        rest_to_rest(two_link, [-np.pi / 2, 0], [0, 0], **options)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda m: zv(0.0), "frequency: got 0.0"),
        (lambda m: zv(1.0, 1.0), "damping: got 1.0"),
        (lambda m: ei(1.0, tolerance=1.5), "tolerance: got 1.5"),
        (lambda m: shaper_for(m, GOAL, "zvdd"), "kind: got 'zvdd'"),
        (lambda m: shaper_for(m, GOAL, modes=3), "modes: got 3, expected numbers from 1 to 2"),
        (lambda m: PD("stiff", 1, GOAL), "kp: got 'stiff'"),
        (lambda m: Encoder("upper", noise=-1.0), "noise: got -1.0"),
        (lambda m: Encoder("upper", quantum=np.nan), "quantum: got nan"),
    ],
)
def test_refused_as_they_are_made(two_link, make, message: str) -> None:
    with pytest.raises(ModelError, match=message):
        make(two_link)
