"""What starts and drives a run is read in one place: every function that takes a state or a torque means the same."""

from __future__ import annotations

import numpy as np
import pytest

import pliant
from arms import random_robot
from pliant import analysis, simulate, simulate_batch
from pliant.base.derived import Derived, Same
from pliant.loads import Wrench
from pliant.model import read_state
from pliant.simulation.runs.equations.composition import compose

FORCE = [Wrench(force=(1.0, -3.0, 2.0))]
LAB = {"robot": "lab-arm", "model": {"stiffening": "off"}}


@pytest.fixture(scope="module")
def lab() -> pliant.Model:
    return pliant.load("lab-arm").model(stiffening="off")


def test_motors_follow_their_joints(lab) -> None:
    """A joint that is turned by 1 rad with its motor left behind would store 6000 J in the spring of the drive."""
    named = {"base": 1.0, "fore": -0.3}
    runs = {
        "simulate": simulate(lab, 0.002, q0=named),
        "joints alone": simulate(lab, 0.002, q0=[1.0, 0.0, -0.3]),
        "batch": simulate_batch(lab, 0.002, q0=named, step=1e-4).arm(0),
        "scenario": pliant.Scenario(**LAB, duration=0.002, initial={"q": named}).run(),
    }
    for name, run in runs.items():
        assert run.energy.strain[0] == 0.0, name
        assert run.q[0, lab.index("base.motor")] == 1.0, name
        np.testing.assert_array_equal(run.q[0], runs["simulate"].q[0], name)
    wound = simulate(lab, 0.002, q0={"base": 1.0, "base.motor": 0.99})
    stiffness = lab.robot.links[0].joint.drive.stiffness
    assert wound.energy.strain[0] == pytest.approx(stiffness * 0.01**2 / 2)
    turning = simulate(lab, 0.002, qd0={"fore": 2.0})
    assert turning.qd[0, lab.index("fore.motor")] == 2.0


@pytest.mark.slow
def test_a_sliding_beam_starts_at_its_length() -> None:
    few = {f"links.{link}.shapes.bending_{plane}": 1 for link in ("boom", "slide") for plane in "yz"}
    model = pliant.load("rrp").replace(few).model(stiffening="off")
    free = {"limits": False, "step": 1e-4, "method": "rk4"}
    batch, one = simulate_batch(model, 0.01, **free), simulate(model, 0.01, **free)
    assert np.isfinite(batch.q).all()
    np.testing.assert_allclose(batch.q[0, -1], one.q[-1], rtol=0, atol=1e-10)
    rest = model.chain.rest()
    np.testing.assert_array_equal(read_state(model, None), rest)
    np.testing.assert_allclose(
        analysis.controllability(model).frequencies, analysis.controllability(model, rest).frequencies
    )
    assert np.isfinite(analysis.controllability(model).frequencies).all()
    assert np.isfinite(analysis.frequency_response(model, [1.0, 3.0])).all()
    name = model.coordinates[next(iter(model.chain.travels()))]
    for run in (lambda q0: simulate(model, 0.01, q0), lambda q0: simulate_batch(model, 0.01, q0, step=1e-4)):
        with pytest.raises(pliant.ModelError, match=rf"{name}: free length 0 m is outside its travel"):
            run({name: 0.0})


@pytest.mark.slow
def test_equilibrium_under_loads_by_every_door(lab) -> None:
    """Without torques that hold it an arm at static rest begins to fall without ringing: the same start everywhere."""
    given = {"upper": 0.4, "fore": -0.7}
    expected = lab.equilibrium([0.0, 0.4, -0.7], FORCE)
    assert np.abs(expected[6:]).max() > 1e-5
    one = simulate(lab, 0.001, q0=given, loads=FORCE, equilibrium=True)
    several = {"upper": [0.4, 0.1], "fore": [-0.7, 0.2]}
    many = simulate_batch(lab, 0.001, q0=several, loads=FORCE[0], step=1e-4, equilibrium=True)
    np.testing.assert_array_equal(one.q[0], expected)
    np.testing.assert_array_equal(many.q[0, 0], expected)
    np.testing.assert_array_equal(many.q[1, 0], lab.equilibrium([0.0, 0.1, 0.2], FORCE))
    load = {"type": "wrench", "force": [1.0, -3.0, 2.0]}
    file = pliant.Scenario(**LAB, duration=0.001, initial={"q": given, "equilibrium": True}, loads=[load])
    np.testing.assert_array_equal(file.start()[0], expected)
    kept = simulate(lab, 0.001, q0={**given, "upper.motor": 0.5}, loads=FORCE, equilibrium=True)
    assert kept.q[0, lab.index("upper.motor")] == 0.5
    assert kept.q[0, lab.index("fore.motor")] == expected[lab.index("fore.motor")]


@pytest.mark.full
def test_an_environment_puts_motors_with_their_joints(lab) -> None:
    environments = pytest.importorskip("pliant.environments", exc_type=pliant.UnsupportedModel)
    seen, _ = environments.ArmVectorEnv(num_envs=3, robot="lab-arm", task="rest-to-rest").reset(seed=2)
    q = seen[:, : lab.n]
    for row in q:  # at rest, and so wound up by the weight
        np.testing.assert_allclose(row, lab.equilibrium(row[: lab.n_joints]), atol=1e-6)
    assert np.abs(q[:, : lab.n_joints]).max() > 0


@pytest.mark.parametrize("seed", [3, pytest.param(4, marks=pytest.mark.full)])
def test_torques_by_name_and_by_number_are_the_same(seed) -> None:
    model = random_robot(seed, 2, drives=True, elements=False).model(stiffening="off")
    first, last = model.joints[0], model.joints[-1]
    array = np.zeros(model.n_joints)
    array[0], array[-1] = 0.3, -0.2
    times = np.array([0.0, 0.01, 0.02])
    table = np.outer([1.0, 2.0, -1.0], array)
    pairs = [
        (array, {first: 0.3, last: -0.2}),
        ((times, table), (times, {first: table[:, 0], last: table[:, -1]})),
        ((times, table, "cubic"), (times, {last: table[:, -1], first: table[:, 0]}, "cubic")),
    ]
    for numbers, names in pairs:
        for run in (simulate, simulate_batch):
            found = [run(model, 0.02, torque=torque, method="rk4", step=1e-3).q for torque in (numbers, names)]
            np.testing.assert_array_equal(*found)
    many = simulate_batch(model, 0.02, torque={first: [0.3, 0.1]}, step=1e-3)
    alone = simulate_batch(model, 0.02, torque={first: 0.1}, step=1e-3)
    np.testing.assert_array_equal(many.q[1], alone.q[0])
    with pytest.raises(pliant.ModelError, match=r"torque: got 'nobody', expected one of"):
        simulate(model, 0.02, torque={"nobody": 1.0})


def test_samples_are_constant_beyond_their_ends() -> None:
    """A table that begins late and ends early, in `simulate` as in a batch, against the function that it stands for."""
    model = pliant.load("two-link").model()
    times, values = np.array([0.01, 0.03]), np.array([[1.0, -0.5], [2.0, 0.5]])

    def torque(t, q, qd):
        return values[0] + (values[1] - values[0]) * np.clip((t - 0.01) / 0.02, 0, 1)

    expected = simulate(model, 0.05, torque=torque, method="rk4", step=1e-3, breaks=(0.01, 0.03))
    one = simulate(model, 0.05, torque=(times, values), method="rk4", step=1e-3)
    batch = simulate_batch(model, 0.05, torque=(times, values), step=1e-3)
    np.testing.assert_allclose(one.q[-1], expected.q[-1], rtol=0, atol=1e-13)
    np.testing.assert_allclose(batch.q[0, -1], expected.q[-1], rtol=0, atol=1e-12)
    np.testing.assert_allclose(one.tau, expected.tau, rtol=0, atol=1e-13)
    np.testing.assert_allclose(batch.arm(0).tau[[0, -1]], values)


def test_both_runs_have_the_same_defaults() -> None:
    import inspect

    one, many = (inspect.signature(f).parameters for f in (simulate, simulate_batch))
    shared = set(one) & set(many)
    assert shared >= {"q0", "qd0", "torque", "method", "rtol", "atol", "loads", "breaks", "equilibrium", "limits", "p"}
    differ = {name for name in shared if one[name].default != many[name].default}
    assert differ == set()


def test_what_is_derived_is_kept_and_bounded() -> None:
    derived, made = Derived(most=3), []

    def make(key):
        return derived("kind", key, lambda: made.append(key) or key)

    for key in (1, 2, 3, 1, 4, 1, 2):  # 2 is dropped when 4 comes, as it was asked for longest ago
        assert make(key) == key
    assert made == [1, 2, 3, 4, 2]
    assert derived.count("kind") == 3
    assert derived("other", 1, lambda: "own") == "own"
    a, b = [1], [1]
    assert Same(a) == Same(a) != Same(b)
    assert len({Same(a), Same(a), Same(b)}) == 2


def test_runs_of_one_model_share_what_was_traced() -> None:
    model, load = pliant.load("spin-up").model(stiffening="off"), Wrench(force=(0.0, 0.0, 1.0))
    for _ in range(2):
        run = simulate(model, 0.001, loads=[load])
        run.deflection("arm")
        run.internal("arm")
    assert [model.derived.count(kind) for kind in ("compositions", "stations", "internal forces")] == [1, 1, 1]
    for k in range(40):  # objects that come and go do not pile up
        compose(model, None, None, {}, (Wrench(force=(0.0, 0.0, float(k))),), None, False)
    assert model.derived.count("compositions") == 32
