"""Loads, sensors and inverse kinematics at named frames: on branches, stations, roots and a base that flies."""

from __future__ import annotations

from functools import cache
from typing import Any

import casadi as ca
import numpy as np
import pytest

import pliant
from pliant.algebra.quaternions import exponential, product
from pliant.control import (
    PD,
    Accelerometer,
    Encoder,
    Measurement,
    StrainGauge,
    TipLine,
    TipPosition,
    gravity_torque,
    inverse_kinematics,
)
from pliant.errors import ModelError
from pliant.loads import Distributed, Wrench
from pliant.mechanics.links.section_forces import InternalForces
from pliant.model.equilibrium.force_functions import applied
from pliant.model.equilibrium.statics import settled
from pliant.model.states import displaced, read_state
from pliant.robot import Robot

BOOM = {"length": 1.3, "mass_per_length": 2.1, "EI_y": 170.0, "EI_z": 260.0, "GJ": 145.0}
TREE: dict[str, Any] = {
    "name": "tree with frames",
    "gravity": [0.4, -0.3, -9.6],
    "links": [
        {
            "name": "boom",
            "joint": {"axis": [0.2, 0.3, 0.9], "origin": {"xyz": [0.1, 0.2, 0.3], "rpy": [0.2, -0.3, 0.5]}},
            "beam": BOOM, "shapes": {"bending_y": 2, "bending_z": 1},
        },
        {
            "name": "hand",
            "joint": {"type": "universal", "origin": {"xyz": [0.02, 0.01, 0.03], "rpy": [0.3, 0.2, 0.1]}},
            "rigid": {"mass": 0.8, "com": [0.1, 0.02, 0.03], "inertia": [0.01, 0.02, 0.025], "tip": [0.4, 0.05, -0.02]},
        },
        {
            "name": "side", "parent": "boom", "at": {"x": 0.7}, "shapes": {"bending_y": 1, "bending_z": 1},
            "joint": {"axis": [0, 1, 0.3], "drive": {"stiffness": 300.0, "rotor_inertia": 0.01}},
            "beam": {"length": 0.6, "mass_per_length": 1.1, "EI_y": 40.0, "EI_z": 50.0},
        },
    ],
    "frames": [
        {"name": "eye", "link": "boom", "x": 0.5, "origin": {"xyz": [0.1, -0.2, 0.3], "rpy": [1, 0.2, -1]}},
        {"name": "foot", "link": "boom", "at": "root", "origin": {"xyz": [0.05, 0.1, -0.07], "rpy": [0.1, 0.6, 0.2]}},
        {"name": "grip", "link": "hand", "origin": {"xyz": [0.03, 0.04, -0.05], "rpy": [0, 0.4, 1.2]}},
    ],
}  # fmt: skip
FREE = {"type": "free", "mass": 9.0, "com": [0.05, -0.02, 0.04], "inertia": [0.9, 1.1, 0.7]}
NAMES = ("eye", "foot", "grip", "base")
F, N = np.array([1.0, -2.0, 0.5]), np.array([0.3, 0.7, -0.4])


@cache
def tree(free: bool = False) -> pliant.Model:
    base = {"base": FREE, "gravity": [0, 0, 0]} if free else {}
    return Robot.from_dict({**TREE, **base}).model(stiffening="off")


def somewhere(model: pliant.Model, seed: int = 3) -> np.ndarray:
    """A state with everything turned and bent."""
    rng = np.random.default_rng(seed)
    step = rng.uniform(-1, 1, model.n)
    for link in model.chain.links:
        step[list(link.body_indices)] *= 0.05
    return displaced(model, model.chain.rest(), step)


@pytest.mark.parametrize("free", [False, True])
@pytest.mark.parametrize("frame", NAMES)
def test_a_wrench_at_a_frame_works_through_its_jacobian(frame: str, free: bool) -> None:
    model = tree(free)
    q = somewhere(model)
    if frame == "base" and not free:
        with pytest.raises(ModelError, match="frame: got 'base', which is fixed"):
            applied(model, [Wrench(force=tuple(F), frame=frame)], None)(q)
        return
    J, R = model.jacobian(q, frame=frame), model.pose(q, frame=frame)[:3, :3]
    for axes, f, n in (("base", F, N), ("frame", R @ F, R @ N)):
        found = applied(model, [Wrench(tuple(F), tuple(N), axes=axes, frame=frame)], None)(q)[0]
        np.testing.assert_allclose(found, J.T @ np.concatenate([n, f]), atol=1e-13)


@pytest.mark.parametrize("axes", ["base", "link", "section"])
def test_a_wrench_at_a_frame_is_one_at_its_station_with_the_arm_of_its_origin(axes: str) -> None:
    model = tree()
    q = somewhere(model)
    at_frame = Wrench(tuple(F), tuple(N), axes=axes, frame="eye")
    at_station = Wrench(tuple(F), tuple(N), "boom", 0.5, axes)
    section = Robot.from_dict({**TREE, "frames": [{"name": "eye", "link": "boom", "x": 0.5}]}).model(stiffening="off")
    arm = model.pose(q, frame="eye")[:3, 3] - section.pose(q, frame="eye")[:3, 3]
    R = {"base": np.eye(3), "link": _link_axes(model, q), "section": section.pose(q, frame="eye")[:3, :3]}[axes]
    beside = Wrench(moment=tuple(np.cross(arm, R @ F)), link="boom", x=0.5)
    found, plain, moment = (applied(model, [load], None)(q)[0] for load in (at_frame, at_station, beside))
    assert np.abs(moment).max() > 0.1
    np.testing.assert_allclose(found, plain + moment, atol=1e-13)


def _link_axes(model: pliant.Model, q: np.ndarray) -> np.ndarray:
    return np.asarray(model.pose(q, frame="boom.root")[:3, :3])


def test_a_wrench_on_the_root_is_carried_by_the_joint_alone() -> None:
    """The frame behind a joint stands before the first section of the beam."""
    model = tree()
    q = somewhere(model)
    found = []
    for loads in ((), (Wrench(tuple(F), tuple(N), frame="foot"),)):
        forces = InternalForces(model.chain, loads)
        both = [*forces.carried[0].at_root, *forces.section(0, 0.0)]
        given = [forces.t, forces.q, forces.qd, forces.qdd]
        state = [0.0, q, np.linspace(-1, 1, model.n), np.linspace(1, 2, model.n)]
        found.append([np.array(x).ravel() for x in ca.Function("forces", given, both)(*state)])
    (n0, f0, *beam0), (n1, f1, *beam1) = found
    assert np.array_equal(beam0, beam1)
    R, foot = model.pose(q, frame="boom.root"), model.pose(q, frame="foot")
    np.testing.assert_allclose(R[:3, :3] @ (f0 - f1), F, atol=1e-12)
    np.testing.assert_allclose(R[:3, :3] @ (n0 - n1), N + np.cross(foot[:3, 3] - R[:3, 3], F), atol=1e-12)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"frame": "eye", "link": "boom"}, "frame: got 'eye' beside `link` or `x`"),
        ({"frame": "eye", "x": 0.2}, "frame: got 'eye' beside `link` or `x`"),
        ({"axes": "frame"}, "axes: got 'frame' without a frame"),
        ({"frame": "eyes"}, "frame: got 'eyes', expected one of tip, base, eye"),
    ],
)
def test_wrong_places_of_a_wrench(given: dict[str, Any], words: str) -> None:
    with pytest.raises(ModelError, match=words):
        applied(tree(), [Wrench(force=(1, 0, 0), **given)], None)
    with pytest.raises(ModelError, match="axes: got 'frame'"):
        Distributed(force=(1, 0, 0), axes="frame")


H = 1e-4
LOAD, TAU = Wrench(force=(0.0, 3.0, 1.0), frame="grip"), np.array([0.5, 0.3, -0.2, 0.1])


@cache
def pushed_run() -> pliant.Result:
    model = tree()
    qd = 0.5 * np.random.default_rng(5).uniform(-1, 1, model.n)
    steps = {"method": "rk4", "step": H / 10, "output_step": H}
    return pliant.simulate(model, 12 * H, somewhere(model), qd, TAU, loads=[LOAD], **steps)


@pytest.mark.parametrize("frame", ["eye", "grip", "foot"])
def test_sensors_at_a_frame_read_what_differences_of_its_pose_say(frame: str) -> None:
    """Positions, and accelerations less gravity in the axes of the frame, along a run under a load."""
    model, run = tree(), pushed_run()
    sensors = [TipPosition(frame=frame), *(Accelerometer(frame=frame, axis=k) for k in range(3))]
    read = Measurement(model, sensors, loads=[LOAD]).ideal(run.q, run.qd, np.tile(TAU, (len(run), 1)), run.t)
    pose = run.pose(frame)
    np.testing.assert_allclose(read[:, :3], pose[:, :3, 3], atol=1e-14)
    p, k, h = pose[:, :3, 3], 6, run.t[1]
    steps = np.array([1 / 90, -3 / 20, 3 / 2, -49 / 18, 3 / 2, -3 / 20, 1 / 90])
    a = steps @ p[k - 3 : k + 4] / h**2
    expected = pose[k, :3, :3].T @ (a - np.array(TREE["gravity"]))
    np.testing.assert_allclose(read[k, 3:], expected, atol=1e-6 * np.abs(expected).max())  # rounding over h^2


def test_gauges_and_encoders_on_a_free_base() -> None:
    model = tree(free=True)
    q, qd = somewhere(model), np.arange(1.0, model.n + 1)
    sensors = [StrainGauge("boom", 0.5), Encoder("side", side="link"), Encoder("side"), Encoder("side", rate=True)]
    sensors += [StrainGauge(frame="eye"), StrainGauge(frame="boom.root"), StrainGauge("boom")]
    y = Measurement(model, sensors).ideal(q, qd)[0]
    assert y[0] == y[4]
    assert y[5] == y[6]
    assert list(y[1:4]) == [q[model.index("side")], q[model.index("side.motor")], qd[model.speed_index("side.motor")]]
    C, _, _ = Measurement(model, [TipPosition(frame="grip")]).matrices(np.concatenate([q, qd]), np.zeros(4))
    np.testing.assert_allclose(C[:, : model.n], model.jacobian(q, frame="grip")[3:], atol=1e-13)


@pytest.mark.parametrize(
    ("sensor", "words"),
    [
        (Accelerometer("boom", frame="eye"), "frame: got 'eye' beside `link`"),
        (Accelerometer(), "link: got None"),
        (StrainGauge(frame="eye", x=0.1), "frame: got 'eye' beside `x`"),
        (StrainGauge(frame="grip"), "links.hand: a strain gauge needs a flexible beam"),
        (StrainGauge(frame="base"), "frame: got 'base', which is fixed"),
        (TipPosition(frame="nose"), "frame: got 'nose', expected one of"),
    ],
)
def test_wrong_places_of_sensors(sensor: Any, words: str) -> None:
    with pytest.raises(ModelError, match=words):
        Measurement(tree(), [sensor])


@pytest.mark.parametrize("deflected", [True, False])
def test_inverse_kinematics_of_a_frame_on_a_branch(deflected: bool) -> None:
    model = tree()
    joints = np.array([0.4, -0.3, 0.5, 0.2])
    q = model.equilibrium(joints) if deflected else read_state(model, joints)
    target = model.pose(q, frame="grip")[:3, 3]
    found = inverse_kinematics(model, target, joints + 0.1, deflected, frame="grip")
    there = model.equilibrium(found) if deflected else read_state(model, found)
    np.testing.assert_allclose(model.pose(there, frame="grip")[:3, 3], target, atol=1e-9)
    with pytest.raises(ModelError, match="the nearest grip position found"):
        inverse_kinematics(model, [9.0, 0.0, 0.0], joints, deflected, frame="grip", tries=4)


def test_inverse_kinematics_on_a_free_base() -> None:
    """The base stays where the guess has it."""
    model = tree(free=True)
    here = {"base": {"position": [0.3, -0.2, 0.5], "rpy": [0.4, -0.7, 1.1]}, "boom": 0.4, "hand.first": 0.2}
    q = read_state(model, {**here, "hand.second": -0.6, "side": 0.3})
    target = model.pose(q, frame="grip")[:3, 3]
    found = inverse_kinematics(model, target, here, frame="grip")
    assert found.shape == (model.n_joints,)
    there = read_state(model, {**here, **dict(zip(model.joints, found))})
    np.testing.assert_allclose(model.pose(there, frame="grip")[:3, 3], target, atol=1e-9)
    end = target + np.array([0.02, 0.01, 0.0])
    line = TipLine(model, [target, end], 1.0, guess=here, samples=6, frame="grip")
    there = read_state(model, {**here, **dict(zip(model.joints, line(1.0)[0]))})
    np.testing.assert_allclose(model.pose(there, frame="grip")[:3, 3], end, atol=1e-9)


def test_inverse_kinematics_of_a_spherical_joint() -> None:
    """Steps along the speeds turn the quaternion; the pose of a frame beyond is reached, sag and all."""
    content = {**TREE, "links": [dict(link) for link in TREE["links"]]}
    content["links"][1]["joint"] = {"type": "spherical"}
    model = Robot.from_dict(content).model(stiffening="off")
    q = somewhere(model, 7)
    aim = settled(model, q)
    target = model.pose(aim, frame="grip")
    found = inverse_kinematics(model, target, frame="grip", tries=40)
    assert found.shape == (model.n_q,)
    assert np.linalg.norm(found[[model.index(f"hand.q{x}") for x in "wxyz"]]) == pytest.approx(1, abs=1e-12)
    there = settled(model, found)
    np.testing.assert_allclose(model.pose(there, frame="grip"), target, atol=1e-9)
    with pytest.raises(ModelError, match="is a speed without a position"):
        TipLine(model, [[1, 0, 0], [1, 0.1, 0]], 1.0)


def test_displacements_are_along_the_speeds() -> None:
    model = tree(free=True)
    q, step = somewhere(model), np.random.default_rng(1).normal(size=model.n)
    for frame in ("grip", "base", "side.tip"):
        h = 1e-6
        after, before = (model.pose(displaced(model, q, s * h * step), frame=frame) for s in (1, -1))
        rate = (after - before) / (2 * h)
        np.testing.assert_allclose(rate[:3, 3], model.velocity(q, step, frame=frame)[3:], atol=1e-8)
    turn = np.array([0.3, -0.2, 0.4])
    whole = np.concatenate([turn, np.zeros(model.n - 3)])
    places = [model.index(f"base.q{x}") for x in "wxyz"]
    np.testing.assert_allclose(displaced(model, q, whole)[places], product(q[places], exponential(turn)), atol=1e-15)


def test_pd_on_a_free_base_drives_the_joints() -> None:
    model = tree(free=True)
    law = PD(10.0, 2.0, [0.1, 0.2, 0.3, 0.4], gravity="measured").bind(model)
    q, qd = somewhere(model), np.arange(1.0, model.n + 1)
    at = [model.index(name) for name in ("boom", "hand.first", "hand.second", "side.motor")]
    by = [model.speed_index(name) for name in ("boom", "hand.first", "hand.second", "side.motor")]
    np.testing.assert_allclose(law(0.0, q, qd), 10 * (np.array([0.1, 0.2, 0.3, 0.4]) - q[at]) - 2 * qd[by], rtol=1e-14)


def test_gravity_torque_knows_the_attitude_of_a_free_base() -> None:
    model = Robot.from_dict({**TREE, "base": FREE}).model(stiffening="off")
    q = read_state(model, {"base": {"rpy": [0.4, -0.7, 1.1]}, "boom": 0.3, "side": -0.2})
    tau = np.array(ca.evalf(gravity_torque(model, q[model.chain.shaft_places()], ca.SX(ca.DM(q))))).ravel()
    joints = [shaft.index for shaft in model.chain.shafts]
    np.testing.assert_allclose(tau, model.bias(q, np.zeros(model.n))[joints], atol=1e-12)
