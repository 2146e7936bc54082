"""What an accelerometer in the loop feels: the run itself. Readings against second differences of the tip's position in
axes that stand still, under loads, on a base that moves, beside other torques, with prescribed joints."""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np
import pytest

import pliant
from arms import unequal_two_link
from pliant import simulate
from pliant.control import (
    LQR,
    Accelerometer,
    Encoder,
    Limited,
    Measurement,
    Observer,
    OutputFeedback,
    Sampled,
    StrainGauge,
)  # fmt: skip
from pliant.control.controllers.controller import Controller, Felt, Law
from pliant.control.sensing.sensor_chain import Instrument
from pliant.control.sensing.sensors import Acting
from pliant.errors import ModelError
from pliant.loads import BasePath, Wrench
from pliant.simulation.runs.equations.composition import compose

PUSH = Wrench(force=(0.0, 5.0, 0.0))
SHAKEN = BasePath(
    position=lambda t: [0.02 * ca.sin(12 * t), 0.0, 0.03 * ca.cos(9 * t)], rpy=lambda t: [0.1 * ca.sin(4 * t), 0.0, 0.0]
)
SENSORS = [Accelerometer("fore", axis) for axis in range(3)]
SMALL = 1e-3
STEP = 2.5e-4
G = np.array([0.0, -9.81, 0.0])

SURROUNDINGS: dict[str, dict[str, Any]] = {
    "bare": {},
    "pushed": {"loads": PUSH},
    "shaken": {"base": SHAKEN},
    "driven": {"torque": [6.0, -2.0]},
    "led": {"motion": {"upper": lambda t: 0.3 * ca.sin(5 * t) ** 2}},
    "all": {
        "loads": PUSH,
        "base": SHAKEN,
        "torque": [6.0, -2.0],
        "motion": {"fore": lambda t: 0.3 * ca.sin(5 * t) ** 2},
    },
}


QUICK = ("shaken", "all")
AROUND = [name if name in QUICK else pytest.param(name, marks=pytest.mark.full) for name in SURROUNDINGS]


class Integrating(Controller):
    """Integrates three readings; a thousandth of their sum acts on the second joint, so that the run tells it."""

    def bind(self, model: pliant.Model) -> Law:
        return _IntegratingLaw(model)


class _IntegratingLaw(Law):
    n_states, senses = 1, True
    felt: Felt

    def acting(self, felt: Felt) -> Law:
        found = _IntegratingLaw(self.model)
        found.felt = felt
        return found

    def expression(self, t: Any, q: Any, qd: Any, z: Any = None) -> Any:
        tau = ca.vertcat(0, SMALL * z)
        acting = Acting(t, self.felt.loads, self.felt.base)
        y = Measurement(self.model, SENSORS).felt(q, qd, self.felt.accelerations(tau), acting)
        return tau, ca.sum1(y)


class Noting(Law):
    """Samples: keeps what it reads, and gives a constant torque."""

    sample_time, senses = 20 * STEP, True

    def __init__(self, model: pliant.Model) -> None:
        super().__init__(model)
        self.noted: list[np.ndarray] = []
        self.measurement = Measurement(model, SENSORS)

    def bind(self, model: pliant.Model) -> Law:
        return self

    def sampler(self) -> Any:
        own = np.array([1.0, 0.5])

        def sample(t: float, q: np.ndarray, qd: np.ndarray, felt: Felt) -> np.ndarray:
            self.noted.append(self.measurement.read(t, q, qd, felt.accelerations(own), felt))
            return own

        return sample


def specific_force(run: pliant.Result, base: Any) -> np.ndarray:
    """(N, 3) acceleration of the tip less gravity, in its own axes, by differences of fourth order; ends are NaN."""
    t = ca.SX.sym("t")
    position, rpy = (ca.vertcat(*f(t)) for f in (base.position, base.rpy)) if base else (ca.SX.zeros(3),) * 2
    path = ca.Function("path", [t], [position, rpy])
    place, turned = np.empty((len(run), 3)), np.empty((len(run), 3, 3))
    for k, time in enumerate(run.t):
        p, (a, b, c) = (np.array(x).ravel() for x in path(time))
        R = _about(2, c) @ _about(1, b) @ _about(0, a)
        place[k], turned[k] = p + R @ run.tip[k], R @ run.tip_pose[k, :3, :3]
    a = np.full_like(place, np.nan)
    h = run.t[1] - run.t[0]
    a[2:-2] = (-place[:-4] + 16 * place[1:-3] - 30 * place[2:-2] + 16 * place[3:-1] - place[4:]) / (12 * h**2)
    return np.einsum("kji,kj->ki", turned, a - G)


def _about(axis: int, angle: float) -> np.ndarray:
    c, s = np.cos(angle), np.sin(angle)
    R, (i, j) = np.eye(3), [(1, 2), (2, 0), (0, 1)][axis]
    R[i, i], R[i, j], R[j, i], R[j, j] = c, -s, s, c
    return R


@pytest.mark.slow_cases("pushed0", "shaken")
@pytest.mark.parametrize("around", ["pushed", *AROUND[1:]])
def test_in_a_continuous_loop(around: str) -> None:
    given = SURROUNDINGS[around]
    model = unequal_two_link().model()
    rest = model.equilibrium([0.2, -0.4])
    run = pliant.simulate(model, 0.1, rest, controller=Integrating(), output_step=STEP, rtol=1e-11, atol=1e-13, **given)
    expected = specific_force(run, given.get("base")).sum(axis=1)[3:-3]
    if "motion" in given and "fore" in given["motion"]:
        return  # what the joint needed covers what the law gave: the sampled loop shows this case
    torque = np.broadcast_to(given.get("torque", [0.0, 0.0]), (len(run), 2))[:, 1]
    z = (run.tau[:, 1] - torque) / SMALL
    found = (z[1:-5] - 8 * z[2:-4] + 8 * z[4:-2] - z[5:-1]) / (12 * STEP)
    assert np.abs(found - expected).max() < 1e-4 * np.abs(expected).max()


@pytest.mark.slow_cases("all")
@pytest.mark.parametrize("around", AROUND)
def test_in_a_sampled_loop(around: str) -> None:
    """Numbers instead of expressions; parameters are those of the run."""
    given = SURROUNDINGS[around]
    model = unequal_two_link().model(parameters=["payload.mass"])
    law, p = Noting(model), [0.8]
    rest = model.equilibrium([0.2, -0.4], p=p)
    run = pliant.simulate(model, 0.1, rest, controller=law, p=p, output_step=STEP, rtol=1e-11, atol=1e-13, **given)
    expected = specific_force(run, given.get("base"))[20:-1:20]
    assert np.abs(np.array(law.noted)[1 : len(expected) + 1] - expected).max() < 1e-4 * np.abs(expected).max()


def test_how_wrong_the_bare_model_is() -> None:
    """A tip force of 5 N moves the reading by more than 5 m/s^2: a sensor that does not feel it is no use."""
    model = unequal_two_link().model()
    q = model.equilibrium([0.2, -0.4])
    tau = model.holding_torque(q)
    bare = Measurement(model, SENSORS).ideal(q, np.zeros(4), tau)
    pushed = Measurement(model, SENSORS, [PUSH]).ideal(q, np.zeros(4), tau)
    assert np.abs(pushed - bare).max() > 5.0


def feedback(**options: Any) -> OutputFeedback:
    sensors = [Encoder("upper", noise=1e-3), Encoder("fore", noise=1e-3), Accelerometer("fore", 1, noise=0.1)]
    return OutputFeedback(LQR([0.2, -0.4], 1.0, 0.1), Observer([0.2, -0.4], sensors), **options)


@pytest.mark.parametrize("limit", [pytest.param(None, marks=pytest.mark.full), 15.0])
def test_the_filter_of_an_observer_gets_it(limit: float | None) -> None:
    """The rate of the estimate holds the reading: under loads, beside other torques, where the torque is clipped."""
    model = unequal_two_link().model()
    controller = feedback()
    torque = [6.0, -2.0]
    acting = controller if limit is None else Limited(controller, limit)
    composed = compose(model, None, acting, {}, (PUSH,), SHAKEN, False)
    f = (composed.controller if limit is None else composed.controller.inner).filter
    rng = np.random.default_rng(0)
    z = f.x0 + 1e-2 * rng.normal(size=8)
    x = np.concatenate([f.x0 + 1e-2 * rng.normal(size=8), z, [0.0]])
    t = 0.37
    rate = np.array(composed.function(t, x, torque)).ravel()[8:16]
    d = (composed.controller if limit is None else composed.controller.inner).design
    tau = d.u0 - d.G @ (z - d.x0)
    known = f.A @ (z - f.x0) + f.B @ (tau - f.u0)
    innovation, *_ = np.linalg.lstsq(f.L, rate - known, rcond=None)
    y = innovation + f.y0 + f.C @ (z - f.x0) + f.D @ (tau - f.u0)
    applied = torque + (tau if limit is None else np.clip(tau, -limit, limit))
    reference = unequal_two_link().model(formulation="lagrange")
    expected = Measurement(reference, controller.observer.sensors, [PUSH], SHAKEN).ideal(x[:4], x[4:8], applied, t)[0]
    assert y == pytest.approx(expected, rel=1e-8, abs=1e-8)
    if limit is not None:
        assert np.abs(tau).max() > limit


@pytest.mark.full
def test_an_observed_arm_under_a_load_runs_alike_in_a_batch_and_a_scenario() -> None:
    model = unequal_two_link().model()
    start = model.equilibrium([0.2, -0.4])
    run = pliant.simulate(
        model, 0.05, start, controller=feedback(), loads=PUSH, method="rk4", step=1e-4, output_step=0.01
    )
    batch = pliant.simulate_batch(model, 0.05, start, controller=feedback(), loads=PUSH, step=1e-4, output_step=0.01)
    assert np.abs(batch.q[0] - run.q).max() < 1e-10
    bare = pliant.simulate(model, 0.05, start, controller=feedback(), method="rk4", step=1e-4, output_step=0.01)
    assert np.abs(bare.q - run.q).max() > 1e-3
    encoder = {"type": "encoder", "noise": 1e-3}
    sensors = [{**encoder, "joint": "upper"}, {**encoder, "joint": "fore"}]
    sensors.append({"type": "accelerometer", "link": "fore", "axis": 1, "noise": 0.1})
    controller = {
        "type": "output-feedback", "regulator": {"type": "lqr", "joints": [0.2, -0.4], "Q": 1.0, "R": 0.1},
        "observer": {"type": "kalman", "joints": [0.2, -0.4], "sensors": sensors},
    }  # fmt: skip
    scenario = pliant.Scenario(
        robot=unequal_two_link(), duration=0.05, initial={"q": dict(zip(model.coordinates, start.tolist()))},
        controller=controller, loads=[{"type": "wrench", "force": [0, 5, 0]}], method="rk4", step=1e-4,
        output_step=0.01,
    )  # fmt: skip
    assert np.abs(scenario.run().q - run.q).max() < 1e-12


@pytest.mark.parametrize("delay", [pytest.param(0.0, marks=pytest.mark.full), 0.015])
def test_a_sampled_observer_feels_what_acted_until_the_sample(delay: float, monkeypatch: Any) -> None:
    """Also late torques: the first reading is of the arm that is held, the next of what has acted meanwhile."""
    model = unequal_two_link().model()
    controller = feedback(sample_time=0.01, delay=delay)
    noted: list[np.ndarray] = []

    def read(self: Any, times: np.ndarray, ideal: np.ndarray) -> np.ndarray:
        noted.append(ideal[0])
        return ideal

    monkeypatch.setattr(Instrument, "read", read)
    start = model.equilibrium([0.2, -0.4], [PUSH])
    run = pliant.simulate(
        model, 0.095, start, controller=controller, loads=PUSH, output_step=0.001,
        torque=lambda t, q, qd: np.zeros(2),  # beside which the loop is Python's
    )  # fmt: skip
    rows = np.arange(0, 91, 10)
    tau = np.vstack([model.holding_torque(model.equilibrium([0.2, -0.4])), run.tau[rows[1:] - 1]])
    reference = Measurement(unequal_two_link().model(formulation="lagrange"), controller.observer.sensors, [PUSH])
    expected = reference.ideal(run.q[rows], run.qd[rows], tau, run.t[rows])
    assert np.reshape(noted, expected.shape) == pytest.approx(expected, rel=1e-7, abs=1e-7)


def test_an_accelerometer_is_not_sampled_from_outside() -> None:
    with pytest.raises(ModelError, match=r"controller: got OutputFeedback with an accelerometer, .* sample_time"):
        Sampled(feedback(), 0.01).bind(unequal_two_link().model())


def test_the_regulator_has_its_own_rest_torque_also_when_it_is_sampled() -> None:
    """A filter about another configuration: it knows the difference; 26 mrad off where the loop held its torque."""
    model, goal = unequal_two_link().model(), [0.3, -0.4]
    sensors = [
        *(Encoder(joint, noise=1e-4) for joint in model.joints),
        *(StrainGauge(link, 0.3, noise=1e-3) for link in model.joints),
    ]
    regulator, observer = LQR(goal, [100.0, 100.0, *[1.0] * 6], 0.01), Observer([0.1, -0.1], sensors)
    loop = OutputFeedback(regulator, observer, sample_time=2e-3)
    end = simulate(model, 4.0, q0=model.equilibrium([0.31, -0.39]), controller=loop, rtol=1e-6).q[-1, :2]
    assert np.abs(end - goal).max() < 5e-3
