"""Sampled loops in compiled code: what Python does tick by tick, in single runs and in batches."""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np
import pytest

import pliant
from pliant.control import LQR, PID, Accelerometer, Encoder, Observer, OutputFeedback, Sampled, Tachometer
from pliant.control.sensing.sampled import HeldLaw
from pliant.errors import UnsupportedModel
from pliant.simulation.runs.inputs import Inputs

LAW = PID(20.0, 5.0, 2.0, [0.3, -0.2], gravity="none")
NEAR = 1e-12
RK4: dict[str, Any] = {"method": "rk4", "step": 5e-4}
DOPRI5: dict[str, Any] = {"method": "dopri5", "rtol": 1e-9}


@pytest.fixture(scope="module")
def model() -> pliant.Model:
    return pliant.load("two-link").model_copy(update={"gravity": (0.0, 0.0, 0.0)}).model()


def rough(seed: int = 0) -> list[Any]:
    """Clocks that meet only now and then, delays longer and shorter than them, low-pass, digits and noise."""
    return [
        Encoder("upper", noise=1e-3, resolution=4096, delay=0.0015, sample_time=0.001, seed=seed),
        Encoder("fore", noise=1e-3, gain=1.1, offset=0.01, delay=0.002, seed=seed),
        Tachometer("upper", cutoff=200.0, noise=1e-2, delay=0.0005, sample_time=0.002, seed=seed),
        Tachometer("fore", cutoff=300.0, noise=1e-2, sample_time=0.003, seed=seed),
    ]


def felt(seed: int = 0) -> OutputFeedback:
    sensors = [*(Encoder(j, noise=1e-4, delay=0.001) for j in ("upper", "fore")), Accelerometer("fore", noise=1e-2)]
    observer = Observer([0.0, 0.0], sensors)
    return OutputFeedback(LQR([0.0, 0.0], Q=1.0, R=0.01), observer, sample_time=0.002, delay=0.001, seed=seed)


LAWS = {
    "plain": lambda seed: Sampled(LAW, 0.002),
    "late": lambda seed: Sampled(LAW, 0.002, delay=0.003),
    "sensors": lambda seed: Sampled(LAW, 0.002, delay=0.001, sensors=rough(seed)),
    "observer": felt,
}


def ticked_by_python(patch: pytest.MonkeyPatch) -> None:
    """What runs did before: a Python function called at ticks."""
    made = Inputs.__init__

    def init(self: Inputs, *given: Any) -> None:
        made(self, *given)
        self._compiled = False

    patch.setattr(Inputs, "__init__", init)


def both(model: pliant.Model, law: Any, **given: Any) -> tuple[pliant.Result, pliant.Result]:
    """Compiled, without a call of Python's law, and by Python."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(HeldLaw, "__call__", None)
        compiled = pliant.simulate(model, 0.1, controller=law, output_step=0.001, **given)
    with pytest.MonkeyPatch.context() as patch:
        ticked_by_python(patch)
        return compiled, pliant.simulate(model, 0.1, controller=law, output_step=0.001, **given)


SLOW = pytest.mark.full


@pytest.mark.parametrize("law", ["sensors", *(pytest.param(law, marks=SLOW) for law in ("plain", "late", "observer"))])
def test_a_run_has_the_ticks_of_python(law: str, model: pliant.Model) -> None:
    compiled, python = both(model, LAWS[law](0), q0={"upper": 0.1}, torque=[0.02, 0.0])
    np.testing.assert_allclose(compiled.q, python.q, rtol=0, atol=NEAR)
    np.testing.assert_allclose(compiled.tau, python.tau, rtol=0, atol=1e-10)
    assert np.ptp(compiled.tau, axis=0).min() > 1e-3
    assert compiled.stats.steps == python.stats.steps


@pytest.mark.full
@pytest.mark.parametrize(
    "method", [{"method": "rk4", "step": 1e-3}, {"method": "rodas5p"}, {"method": "midpoint", "step": 1e-3}]
)
def test_all_loops_have_ticks(method: dict[str, Any], model: pliant.Model) -> None:
    compiled, python = both(model, LAWS["sensors"](3), **method)
    np.testing.assert_allclose(compiled.q, python.q, rtol=0, atol=NEAR)


@pytest.mark.full
def test_a_tick_comes_behind_a_jump(model: pliant.Model) -> None:
    """A prescribed rate jumps at a tick: the controller sees the rates behind it."""
    given: dict[str, Any] = {"motion": {"upper": lambda t: ca.fmax(t - 0.02, 0.0)}, "breaks": [0.02]}
    compiled, python = both(model, LAWS["late"](0), **given)
    np.testing.assert_allclose(compiled.q, python.q, rtol=0, atol=NEAR)
    assert np.abs(np.diff(compiled.qd[:, 1])).max() > 0.01


def test_gains_trace_nothing_anew(model: pliant.Model) -> None:
    runs = []
    for stiffness in (20.0, 25.0):
        law = Sampled(PID(stiffness, 5.0, 2.0, [0.3, -0.2], gravity="none"), 0.002)
        runs.append(both(model, law)[0])
    assert np.abs(runs[0].q - runs[1].q).max() > 1e-3


@pytest.mark.parametrize(
    ("law", "steps"),
    [
        ("sensors", RK4),
        pytest.param("sensors", DOPRI5, marks=SLOW),
        pytest.param("late", DOPRI5, marks=SLOW),
        pytest.param("observer", RK4, marks=SLOW),
    ],
)
def test_arms_of_a_batch_run_as_alone(law: str, steps: dict[str, Any], model: pliant.Model) -> None:
    """Arm k has the noise of sensors whose seed is larger by k."""
    q0 = np.array([[0.1 * k, 0.05 * k, 0.0, 0.0] for k in range(5)])
    tau = np.array([[0.01 * k, 0.0] for k in range(5)])
    batch = pliant.simulate_batch(model, 0.1, q0=q0, torque=tau, controller=LAWS[law](0), output_step=0.01, **steps)
    for k in (0, 3):
        alone = pliant.simulate(model, 0.1, q0=q0[k], torque=tau[k], controller=LAWS[law](k), output_step=0.01, **steps)
        np.testing.assert_allclose(batch.q[k], alone.q, rtol=0, atol=NEAR)


def test_what_is_not_built_is_told(model: pliant.Model) -> None:
    batch = pliant.simulate_batch(model, 0.01, controller=LAWS["plain"](0), step=1e-3)
    with pytest.raises(UnsupportedModel, match="torques of a sampled controller are not kept"):
        _ = batch.tau
    with pytest.raises(UnsupportedModel, match="runs one arm at a time"):
        pliant.simulate_batch(model, 0.01, controller=LAWS["plain"](0), step=1e-3, device="cuda")
