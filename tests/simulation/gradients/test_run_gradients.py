"""Gradients of whole runs against differences of the run itself, for all that a run can be differentiated by."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import casadi as ca
import numpy as np
import pytest

import pliant
from arms import random_robot, unequal_arm, unequal_two_link
from flyers import displaced, small, states
from pliant import control, gradient
from pliant.gradients import gradient_batch
from pliant.loads import Wrench

STEP = 2e-3
EXACT = 1e-7  # of the largest entry: differences of fourth order lose about half of the digits


def terminal(t: Any, q: Any, qd: Any) -> Any:
    """Nothing in it is symmetric or alike."""
    weights = ca.DM(1.0 + 0.3 * np.arange(q.shape[0]))
    return ca.dot(weights, (q - 0.2) ** 2) + 0.05 * ca.sumsqr(qd) + 0.1 * t * ca.sin(q[0] * qd[0])


def running(t: Any, q: Any, qd: Any, tau: Any) -> Any:
    return 0.01 * ca.sumsqr(tau) + ca.cos(q[0]) * qd[0] ** 2 + t * q[1] ** 2


def differences(cost: Callable[[Any], float], x: Any, h: float = 2e-4) -> Any:
    """Central differences of fourth order, entry by entry, with steps relative to the largest entry."""
    x = np.asarray(x, dtype=float)
    h, out = h * max(1.0, np.abs(x).max()), np.zeros(x.shape)
    for index in np.ndindex(x.shape):
        e = np.zeros(x.shape)
        e[index] = h
        out[index] = (8 * (cost(x + e) - cost(x - e)) - (cost(x + 2 * e) - cost(x - 2 * e))) / (12 * h)
    return out


def assert_gradient(found: Any, expected: Any, tolerance: float = EXACT) -> None:
    assert found.shape == expected.shape
    assert np.abs(expected).max() > 0
    np.testing.assert_allclose(found, expected, rtol=0, atol=tolerance * np.abs(expected).max())


@functools.cache
def drawn(name: str) -> pliant.Model:
    parameters = ["links.fore.beam.length", "payload.mass"]
    if name == "stiffened":
        return unequal_two_link().model(stiffening="second-order")
    if name == "drives":
        return unequal_arm().model(parameters=parameters, stiffening="off", shapes="nominal")
    if name == "random":
        return random_robot(3, drives=True).model(stiffening="off")
    return unequal_two_link().model(parameters=parameters, stiffening="off")


SPANS = {"plain": 0.05, "stiffened": 0.05, "drives": 0.01, "random": 0.02}
STEPS = {"plain": STEP, "stiffened": STEP, "drives": 2e-4, "random": 1e-3}
"""Seconds; the stiffer arms of them need shorter steps."""


def drive(model: pliant.Model, rng: np.random.Generator, t_end: float, K: int = 7) -> tuple[Any, Any]:
    """Samples at uneven times that begin late and end early, so that the held ends count too."""
    times = np.sort(rng.uniform(0.1 * t_end, 0.9 * t_end, K))
    return times, rng.normal(size=(K, model.n_joints)) * 2.0


KINDS = ("linear", "cubic", "hold")
QUICK = {
    ("drives", "linear"),
    ("random", "cubic"),
    *((name, kind) for name in ("plain", "stiffened") for kind in KINDS),
}


def cases() -> list[Any]:
    """Every arm with every kind of samples; of the larger arms one in every run of the tests."""
    both = [(name, kind) for name in SPANS for kind in KINDS]
    return [case if case in QUICK else pytest.param(*case, marks=pytest.mark.full) for case in both]


@pytest.mark.slow_cases(
    "drives-linear", "plain-hold", "random-cubic", "stiffened-cubic", "stiffened-hold", "stiffened-linear"
)
@pytest.mark.parametrize(("name", "kind"), cases())
def test_against_differences(name: str, kind: str, rng) -> None:
    """By every number of the small arms, and along three directions of each argument of the others."""
    model, t_end = drawn(name), SPANS[name]
    times, values = drive(model, rng, t_end)
    q0, qd0 = rng.normal(size=model.n_q) * 0.02, rng.normal(size=model.n) * 0.3
    q0[: model.n_joints] += 0.4
    given = {"q0": q0, "qd0": qd0, "torque": values}
    if model.parameters:
        given["p"] = model.nominal_parameters + 0.1

    def run(**changed: Any) -> Any:
        now = {**given, **changed}
        now["torque"] = (times, now["torque"], kind)
        return gradient(model, t_end, **now, terminal=terminal, running=running, step=STEPS[name])

    found = run()
    assert set(found.slopes) == set(given)
    for argument, value in given.items():
        slope = found[argument]
        assert slope.shape == value.shape
        if model.n < 5:
            assert_gradient(slope, differences(lambda x, name=argument: run(**{name: x}).value, value))
            continue
        directions = rng.normal(size=(3, *value.shape)) * np.sqrt(1.0 / (slope**2 + np.mean(slope**2)))
        expected = []
        for d in directions:
            changed = functools.partial(_along, run, argument, value, d)
            expected.append(differences(changed, 0.0))
        along = np.array([(slope * d).sum() for d in directions])
        assert_gradient(along, np.array(expected))


def _along(run: Callable[..., Any], argument: str, value: Any, direction: Any, s: Any) -> float:
    return float(run(**{argument: value + s * direction}).value)


@pytest.mark.slow
def test_value_and_end_are_those_of_simulate(rng) -> None:
    model = drawn("drives")
    times, values = drive(model, rng, 0.1)
    arguments = {"q0": {"boom": 0.3}, "torque": (times, values), "p": model.nominal_parameters + 0.05}
    found = gradient(model, 0.1, **arguments, terminal=terminal, running=running, step=2e-4)
    result = pliant.simulate(model, 0.1, **arguments, method="rk4", step=2e-4, output_step=1e-4, limits=False)
    np.testing.assert_allclose(found.q_end, result.q[-1], rtol=0, atol=1e-11)
    np.testing.assert_allclose(found.qd_end, result.qd[-1], rtol=0, atol=1e-9)
    last = float(ca.DM(terminal(0.1, ca.DM(result.q[-1]), ca.DM(result.qd[-1]))))
    rows = [float(running(*row)) for row in zip(result.t, *map(_columns, (result.q, result.qd, result.tau)))]
    integral = np.trapezoid(rows, result.t)
    assert found.value == pytest.approx(last + integral, rel=1e-4)  # the trapezoidal rule is what is coarse here


def _columns(rows: Any) -> list[ca.DM]:
    return [ca.DM(row) for row in rows]


@pytest.mark.slow_cases("measured", "reference")
@pytest.mark.parametrize("gravity", ["reference", "measured"])
def test_gains_and_constant_torques(gravity: str, rng) -> None:
    model = drawn("drives")
    gains = {"kp": np.array([40.0, 25.0, 60.0]), "ki": rng.normal(size=(3, 3)) * 5, "kd": np.array(1.5)}
    held = np.array([1.0, -2.0, 0.5])

    def run(torque: Any = held, **changed: Any) -> Any:
        controller = control.PID(**{**gains, **changed}, reference=[0.3, -0.2, 0.1], gravity=gravity)
        names = ["controller.kp", "controller.ki", "controller.kd", "torque"]
        return gradient(model, 0.02, q0={"boom": 0.2}, torque=torque, controller=controller, terminal=terminal,
                        running=running, step=2e-4, with_respect_to=names)  # fmt: skip

    found = run()
    assert found["controller.kd"].shape == ()
    for name, value in gains.items():
        assert_gradient(found[f"controller.{name}"], differences(lambda x, name=name: run(**{name: x}).value, value))
    assert_gradient(found["torque"], differences(lambda x: run(torque=x).value, held))


def test_parameters_of_a_controller_of_ones_own() -> None:
    class Spring:
        def __init__(self) -> None:
            self.parameters = {"stiffness": ca.SX.sym("stiffness"), "rest": ca.SX.sym("rest")}

        def expression(self, t: Any, q: Any, qd: Any) -> Any:
            s = self.parameters
            return [s["stiffness"] * (s["rest"] - q[0]), -0.3 * s["stiffness"] * qd[1]]

    model, spring = unequal_two_link().model(stiffening="off"), Spring()

    def run(p: Any) -> Any:
        names = ["controller.rest", "controller.stiffness"]
        return gradient_batch(model, 0.1, controller=spring, p=[p], terminal=terminal, step=STEP, with_respect_to=names)

    found, at = run([20.0, 0.3]), np.array([20.0, 0.3])
    expected = differences(lambda p: run(p).value[0], at)
    np.testing.assert_allclose([found["controller.stiffness"][0], found["controller.rest"][0]], expected, rtol=1e-7)


@pytest.mark.parametrize("checkpoints", ["fewest", 1, 3, 7, 24, 25, 26, 1000])
def test_checkpoints_change_nothing(checkpoints: Any, rng) -> None:
    """Blocks that end inside segments, at their ends, of one step each, and one block for all."""
    model = drawn("plain")
    torque = drive(model, rng, 0.05)
    arguments = {"terminal": terminal, "running": running, "step": STEP, "torque": torque}
    every = gradient(model, 0.05, **arguments, checkpoints="all")
    some = gradient(model, 0.05, **arguments, checkpoints=checkpoints)
    assert some.value == every.value
    for name, slope in every.slopes.items():  # by samples, sums are added up in another order
        np.testing.assert_allclose(some[name], slope, rtol=0, atol=1e-14 * np.abs(slope).max())
    stages = 4 * every.stats.steps
    assert every.stats.evaluations == every.stats.products == stages
    assert some.stats.products == stages <= some.stats.evaluations < 2 * stages


def test_memory_grows_with_the_root_of_the_steps() -> None:
    model = drawn("plain")
    kept = [gradient(model, t, terminal=terminal, step=1e-3, checkpoints="fewest").stats.kept for t in (0.1, 0.4, 1.6)]
    assert 1.8 < kept[1] / kept[0] < 2.2
    assert 1.8 < kept[2] / kept[1] < 2.2


@pytest.mark.slow
def test_a_batch_is_its_runs(rng) -> None:
    """Seven runs fill no whole number of packs; each has its own start, samples and parameters."""
    model, B = drawn("drives"), 7
    times, _ = drive(model, rng, 0.01)
    values = rng.normal(size=(B, len(times), model.n_joints))
    q0 = rng.normal(size=(B, model.n_q)) * 0.02
    p = model.nominal_parameters + rng.uniform(0, 0.2, size=(B, 2))
    cost = {"terminal": terminal, "running": running, "step": 2e-4}
    many = gradient_batch(model, 0.01, q0, torque=(times, values), p=p, **cost)
    again = gradient_batch(model, 0.01, q0, torque=(times, values), p=p, **cost, checkpoints="fewest")
    assert many.value.shape == (B,)
    for b in range(B):
        one = gradient(model, 0.01, q0[b], torque=(times, values[b]), p=p[b], **cost)
        assert many.value[b] == pytest.approx(one.value, rel=1e-12)
        np.testing.assert_allclose(many.q_end[b], one.q_end, rtol=0, atol=1e-12)
        for name, slope in one.slopes.items():
            np.testing.assert_allclose(many[name][b], slope, rtol=0, atol=1e-11 * np.abs(slope).max())
            np.testing.assert_allclose(again[name][b], slope, rtol=0, atol=1e-11 * np.abs(slope).max())


def test_what_all_arms_share_has_a_gradient_of_each(rng) -> None:
    model = drawn("plain")
    q0 = rng.normal(size=(3, model.n_q)) * 0.1
    torque = drive(model, rng, 0.05)
    found = gradient_batch(model, 0.05, q0, torque=torque, terminal=terminal, step=STEP)
    assert found["torque"].shape == (3, 7, 2)
    each = [gradient(model, 0.05, q, torque=torque, terminal=terminal, step=STEP)["torque"] for q in q0]
    np.testing.assert_allclose(found["torque"], each, rtol=1e-9, atol=1e-12)


@pytest.mark.slow
def test_prescribed_motion_loads_and_breaks(rng) -> None:
    """The prescribed joint has no gradient; a load begins within the run."""
    model = drawn("drives")
    motion = {"boom": lambda t: 0.2 * ca.sin(3 * t)}
    loads = [Wrench(force=lambda t: (1.0, ca.if_else(t > 0.0213, 8.0, 0.0), -2.0))]
    held = np.array([0.0, 1.0, 2.0])

    def run(torque: Any = held, qd0: Any = None) -> Any:
        return gradient(model, 0.04, qd0=qd0, torque=torque, motion=motion, loads=loads, terminal=terminal,
                        running=running, step=2e-4)  # fmt: skip

    qd0 = rng.normal(size=model.n) * 0.2
    found, index = run(qd0=qd0), model.speed_index("boom")
    expected = differences(lambda x: run(qd0=x).value, qd0)
    assert expected[index] == found["qd0"][index] == 0.0
    assert_gradient(found["qd0"], expected)
    assert_gradient(found["torque"], differences(lambda x: run(x, qd0).value, held))


def test_quaternions_are_differentiated_along_the_speeds(rng) -> None:
    """Fast turns in long steps, in which quaternions lose length and get it back."""
    model = small().model(stiffening="off")
    q0, qd0 = states(model, rng)
    qd0 *= 20
    torque = rng.normal(size=model.n_joints)
    cost = {"terminal": terminal, "running": running, "step": 0.025}

    def value(displacement: Any) -> float:
        return gradient(model, 0.1, displaced(model, q0, displacement), qd0, torque=torque, **cost).value

    found = gradient(model, 0.1, q0, qd0, torque=torque, **cost)
    assert_gradient(found["q0"], differences(value, np.zeros(model.n)))
    assert_gradient(found["qd0"], differences(lambda v: gradient(model, 0.1, q0, v, torque=torque, **cost).value, qd0))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({}, "terminal, running: got neither"),
        ({"terminal": terminal, "step": None}, "step: got none"),
        ({"terminal": lambda t, q, qd: q}, r"terminal: got shape \(4, 1\)"),
        ({"terminal": lambda t, q: q}, "terminal: expected a function of"),
        ({"terminal": terminal, "with_respect_to": ["torques"]}, "with_respect_to: got 'torques'"),
        ({"terminal": terminal, "with_respect_to": ["p"]}, "with_respect_to: got 'p'"),
        ({"terminal": terminal, "torque": lambda t, q, qd: np.zeros(2)}, "got a Python function"),
        ({"terminal": terminal, "torque": np.zeros((3, 2))}, r"torque: got shape \(3, 2\)"),
        ({"terminal": terminal, "checkpoints": 0}, "checkpoints: got 0"),
        ({"terminal": terminal, "controller": control.PD(1.0, 1.0, [0.0, 0.0]), "with_respect_to": ["controller.k"]},
         "controller.k: PD has no such gain"),
    ],
)  # fmt: skip
def test_refusals(arguments: dict[str, Any], words: str) -> None:
    model = unequal_two_link().model(stiffening="off")
    with pytest.raises(pliant.PliantError, match=words):
        gradient(model, 0.1, **{"step": STEP, **arguments})


def test_a_run_that_breaks_down_says_so() -> None:
    model = unequal_two_link().model(stiffening="off")
    with pytest.raises(pliant.SimulationError, match="broke down"):
        gradient(model, 5.0, qd0=[100.0, 50.0], terminal=terminal, step=0.1)


@pytest.mark.parametrize(
    ("name", "kind"), [("plain", "linear"), *(pytest.param("drives", kind, marks=pytest.mark.full) for kind in KINDS)]
)
def test_midpoint_against_differences(name: str, kind: str, rng) -> None:
    """The other method with fixed steps, also on the stiff arm with drives that it is made for."""
    model, t_end = drawn(name), 0.02
    times, values = drive(model, rng, t_end)
    given = {"q0": rng.normal(size=model.n_q) * 0.02, "torque": values, "p": model.nominal_parameters + 0.1}

    def run(**changed: Any) -> Any:
        now = {**given, **changed}
        now["torque"] = (times, now["torque"], kind)
        return gradient(model, t_end, **now, terminal=terminal, running=running, step=2e-3, method="midpoint")

    found = run()
    for name, value in given.items():
        d = rng.normal(size=value.shape)
        expected = differences(functools.partial(_along, run, name, value, d), 0.0)
        assert (found[name] * d).sum() == pytest.approx(float(expected), rel=1e-6)


@pytest.mark.slow_cases("rodas5p-hold")
@pytest.mark.parametrize(("method", "kind"), [("dop853", "linear"), ("dopri5", "cubic"), ("rodas5p", "hold")])
def test_adaptive_methods_agree_with_fine_fixed_steps(method: str, kind: str, rng) -> None:
    """Sensitivities beside the run against the adjoint of rk4 with a step whose error is 1e-9 or less."""
    model, t_end = drawn("plain"), 0.1
    times, values = drive(model, rng, t_end, 4)
    arguments = {
        "q0": rng.normal(size=model.n_q) * 0.1, "torque": (times, values, kind), "p": model.nominal_parameters + 0.1,
        "terminal": terminal, "running": running,
    }  # fmt: skip
    fine = gradient(model, t_end, **arguments, step=2e-5)
    found = gradient(model, t_end, **arguments, method=method, rtol=1e-9, atol=1e-11)
    assert found.value == pytest.approx(fine.value, rel=1e-7)
    assert found.stats.products == 4 + 4 + 8 + 2
    for name, slope in fine.slopes.items():
        assert_gradient(found[name], slope, 1e-6)


def test_gains_by_an_adaptive_method() -> None:
    model = drawn("plain")
    controller = control.PID([40.0, 25.0], 5.0, 1.5, [0.3, -0.2])
    names = ["controller.kp", "controller.ki", "qd0"]
    arguments = {"controller": controller, "terminal": terminal, "running": running, "with_respect_to": names}
    fine = gradient(model, 0.1, **arguments, step=2e-5)
    found = gradient(model, 0.1, **arguments, method="dop853", rtol=1e-10, atol=1e-12)
    assert list(found.slopes) == names
    for name, slope in fine.slopes.items():
        assert_gradient(found[name], slope, 1e-7)


def test_too_many_columns_are_refused(rng) -> None:
    model = drawn("plain")
    torque = (np.linspace(0, 1, 60), np.zeros((60, 2)))
    with pytest.raises(pliant.UnsupportedModel, match="sensitivities by 130 numbers, expected at most 100; use method"):
        gradient(model, 1.0, torque=torque, terminal=terminal, method="dop853")


@pytest.mark.parametrize("method", ["rk4", "dop853"])
def test_a_start_at_rest_moves_with_the_parameters(method: str) -> None:
    """Amplitudes settle under the payload before the run begins; with the joints named, only those stay."""
    model = drawn("plain")
    settings = {"step": 5e-4} if method == "rk4" else {"rtol": 1e-11, "atol": 1e-13}

    def run(p: Any) -> Any:
        return gradient(model, 0.02, q0={"upper": 0.3, "fore": -0.2}, p=p, equilibrium=True, terminal=terminal,
                        running=running, with_respect_to=["p"], method=method, **settings)  # fmt: skip

    p = model.nominal_parameters + 0.1
    fixed = gradient(model, 0.02, q0={"upper": 0.3, "fore": -0.2}, p=p, terminal=terminal, running=running,
                     with_respect_to=["p"], method=method, **settings)  # fmt: skip
    found = run(p)
    assert_gradient(found["p"], differences(lambda x: run(x).value, p, 1e-3), 1e-6)
    assert np.abs(found["p"] - fixed["p"]).max() > 1e-3 * np.abs(found["p"]).max()


@pytest.mark.slow_cases("dop853")
@pytest.mark.parametrize("method", ["rk4", "dop853"])
def test_friction_starts_loaded_by_all_that_acts(method: str, rng) -> None:
    """Bristles of a slow joint carry what the arm asks of them, so that their state hangs on the start and the drives.

    The joint creeps: at rest, differences would see both sides of the kink of friction.
    """
    friction = {"links.upper.joint.friction": pliant.robot.Friction(coulomb=400.0, coulomb_speed=0.3, bristle=1e-2)}
    model = unequal_two_link().replace(friction).model(parameters=["payload.mass"], stiffening="off")
    settings = {"step": 2e-4} if method == "rk4" else {"rtol": 1e-11, "atol": 1e-13}
    times, values = np.array([-0.01, 0.004, 0.02]), rng.normal(size=(3, 2))
    given = {"q0": np.array([0.3, -0.2, 0.01, 0.02]), "torque": values, "p": np.array([0.4])}

    def run(**changed: Any) -> Any:
        now = {**given, **changed}
        now["torque"] = (times, now["torque"])
        return gradient(model, 0.01, qd0={"upper": 0.1}, **now, terminal=terminal, running=running, method=method,
                        **settings)  # fmt: skip

    found = run()
    for name, value in given.items():
        assert_gradient(found[name], differences(lambda x, name=name: run(**{name: x}).value, value, 2e-5), 1e-6)


@pytest.mark.slow_cases("all")
@pytest.mark.parametrize("checkpoints", ["all", "fewest"])
def test_two_seconds_by_two_hundred_samples(checkpoints: Any, rng) -> None:
    """The bundled arm, along five directions of all 400 numbers and by three of them alone."""
    model, times = pliant.load("two-link").model(stiffening="off"), np.linspace(0.0, 2.0, 200)
    values = rng.normal(size=(200, 2)).cumsum(axis=0) * 0.3

    def run(torque: Any = values) -> Any:
        return gradient(model, 2.0, torque=(times, torque), terminal=terminal, running=running, step=1e-3,
                        checkpoints=checkpoints, with_respect_to=["torque"])  # fmt: skip

    slope = run()["torque"]
    directions = [*rng.normal(size=(5, 200, 2)), *np.eye(400)[[1, 200, 399]].reshape(3, 200, 2)]
    expected = [differences(functools.partial(_along, run, "torque", values, d), 0.0, 2e-3) for d in directions]
    assert_gradient(np.array([(slope * d).sum() for d in directions]), np.array(expected))
