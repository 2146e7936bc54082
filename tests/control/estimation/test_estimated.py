"""Controllers on the estimate of a filter: against the same controller on the true state, and on another arm."""

from __future__ import annotations

import numpy as np
import pytest

import pliant
from arms import two_links
from pliant import Payload, Robot, Shapes
from pliant.control import (
    LQR,
    PD,
    Encoder,
    Estimated,
    KalmanFilter,
    MovingHorizon,
    Sampled,
    StrainGauge,
    TipPosition,
)
from pliant.errors import ModelError, UnsupportedModel

PERIOD = 4e-3
START, GOAL = [0.25, -0.35], [0.3, -0.4]


def arm(shapes: int = 1, damping: float = 0.01) -> pliant.Model:
    robot = two_links(Shapes(bending_y=shapes, damping=damping))
    return Robot(**{**robot.to_dict(), "payload": Payload(mass=0.8)}).model()


def sensors(noise: float) -> list:
    """Encoders, gauges, and a picture every 16 ms that is known 12 ms later."""
    return [
        Encoder("upper", noise=noise), Encoder("fore", noise=noise),
        StrainGauge("upper", x=0.05, noise=noise), StrainGauge("fore", x=0.05, noise=noise),
        TipPosition((0, 1), noise=5 * noise, sample_time=4 * PERIOD, delay=3 * PERIOD),
    ]  # fmt: skip


def regulator() -> LQR:
    return LQR(GOAL, Q=np.diag([400.0, 200.0, 400.0, 400.0, 4.0, 2.0, 4.0, 4.0]), R=1.0)


@pytest.mark.slow_cases("filter-0.008", "filter-0.0")
@pytest.mark.parametrize("delay", [0.0, 8e-3])
@pytest.mark.parametrize("kind", ["filter", pytest.param("horizon", marks=pytest.mark.full)])
def test_with_nearly_perfect_readings_it_is_the_controller_of_the_true_state(kind: str, delay: float) -> None:
    model = arm()
    rest = model.equilibrium(START)
    seen, start = sensors(1e-9), {"q0": rest, "spread": 1e-9}
    kalman = (
        KalmanFilter(model, seen, PERIOD, process=1.0) if kind == "filter"
        else MovingHorizon(model, seen, PERIOD, process=1.0, window=5)
    )  # fmt: skip
    runs = [
        pliant.simulate(model, 0.3, rest, controller=controller, output_step=PERIOD)
        for controller in (
            Sampled(regulator(), PERIOD, delay),
            Estimated(regulator(), kalman, kalman.start(**start), delay),
        )
    ]
    moved = np.abs(runs[0].q - rest).max(axis=0)
    assert (moved > [1e-2, 1e-2, 5e-5, 5e-5]).all()
    assert (np.abs(runs[1].q - runs[0].q).max(axis=0) < 1e-3 * moved).all()


@pytest.mark.full
def test_of_an_arm_that_is_another_it_moves_as_on_the_true_state() -> None:
    """Three shapes a link in place of one, other damping, noise, a late camera."""
    true, model = arm(shapes=3, damping=0.02), arm(shapes=1, damping=0.005)
    kalman = KalmanFilter(model, sensors(2e-4), PERIOD / 4, process=0.2)
    start = kalman.start(model.equilibrium(START), spread=0.01)
    pd = PD([60.0, 15.0], [6.0, 1.5], GOAL, gravity="reference")
    told, seen = (
        pliant.simulate(true, 1.0, true.equilibrium(START), controller=controller, output_step=PERIOD)
        for controller in (Sampled(pd, PERIOD / 4), Estimated(pd, kalman, start))
    )
    assert np.abs(told.q[-1, :2] - START).max() > 0.05
    settled = seen.t > 0.1  # its first beliefs are as wide as they were given
    assert np.abs(seen.q[settled, :2] - told.q[settled, :2]).max() < 5e-3


def test_refusals() -> None:
    model = arm()
    kalman = KalmanFilter(model, sensors(1e-4), PERIOD)
    other = pliant.load("crane-4dof").model()
    with pytest.raises(ModelError, match="its arm has the joints upper, fore"):
        Estimated(PD(10.0, 1.0, GOAL), kalman, kalman.start()).bind(other)
    with pytest.raises(ModelError, match="the filter has the sensors and the clock"):
        Estimated(Sampled(PD(10.0, 1.0, GOAL), 0.01), kalman, kalman.start()).bind(model)
    with pytest.raises(ModelError, match="expected a multiple"):
        Estimated(PD(10.0, 1.0, GOAL), kalman, kalman.start(), delay=6e-3).bind(model)
    with pytest.raises(UnsupportedModel, match="one arm at a time"):
        Estimated(PD(10.0, 1.0, GOAL), kalman, kalman.start()).bind(model).expression(0.0, None, None)
