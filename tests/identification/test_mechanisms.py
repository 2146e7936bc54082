"""Numbers of mechanisms come back from noisy readings: springs of couplings, lengths and stiffness in loops."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import pliant
from coupled_arms import boom
from linkages import SLIDER_CRANK, four_bar, passive, slider_crank
from pliant.identification import Recording, Strain
from pliant.identification.response import Response
from pliant.robot import Beam, Link, Robot, Shapes
from simulation.gradients.test_mechanism_gradients import LENGTHS, assert_near, differences, pendulum

TIGHT = {"rtol": 1e-11, "atol": 1e-13}


def noisy(rng: np.random.Generator, run: pliant.Result, readings: dict[str, Any], part: float) -> dict[str, Any]:
    return {name: y + part * np.std(y) * rng.normal(size=len(run)) for name, y in readings.items()}


@pytest.mark.slow
def test_slopes_of_a_linkage_with_an_unknown_start() -> None:
    """By lengths, and by the angle and the speed of the crank, with which the other joints start."""
    model = four_bar().model(parameters=LENGTHS)
    t = np.linspace(0.02, 0.1, 5)
    given = {"rocker": np.zeros(5), "coupler.rate": np.zeros(5)}
    recording = Recording(t, given, q0={"crank": 0.7}, qd0={"crank": 4.0}, free_start=["crank", "crank.rate"])
    response = Response(model, recording, "dop853", *TIGHT.values())
    p, start, ones = model.nominal_parameters, np.array([0.7, 4.0]), np.ones(4)
    np.testing.assert_allclose(response.start_values(p), start, rtol=1e-15)
    found = response.predict(p, start, ones)
    run = pliant.simulate(model, 0.1, {"crank": 0.7}, {"crank": 4.0}, output_step=0.02, **TIGHT)
    np.testing.assert_allclose(found.y, np.column_stack([run["rocker"], run.qd[:, 1]])[1:], atol=1e-8)
    for channel in range(2):
        expected = differences(lambda x, c=channel: response.predict(x[:2], x[2:], ones).y[-1, c], [*p, *start])
        assert_near(found.slope[-1, channel], expected)


def test_slopes_of_pressures_at_the_start() -> None:
    """A boom on a cylinder: what its mass does to the pressures moves the arm as soon as the valve opens."""
    model = boom().model(parameters=["links.boom.rigid.mass"])
    recording = Recording(
        np.array([0.05, 0.1]), {"boom": np.zeros(2)}, q0={"boom": 0.4}, equilibrium=True,
        torque=([0.0, 0.1], [[0.5], [0.5]]),
    )  # fmt: skip
    response = Response(model, recording, "rodas5p", 1e-10, 1e-12)
    p, none = model.nominal_parameters, np.zeros(0)
    found = response.predict(p, none, np.ones(1)).slope[-1, 0]
    assert_near(found, differences(lambda x: response.predict(x, none, np.ones(1)).y[-1, 0], p), 1e-5)


def test_a_spring_and_a_damper_come_back(rng: np.random.Generator) -> None:
    """Within 1 % at 1 % noise, and within four of the errors that the fit states."""
    names = ["couplings.0.spring.stiffness", "couplings.0.damping"]
    truth = pendulum().replace(dict(zip(names, (95.0, 1.5))))
    run = pliant.simulate(truth.model(), 1.5, {"rod": -0.8}, output_step=0.01, **TIGHT)
    readings = noisy(rng, run, {"rod": run["rod"]}, 0.01)
    found = pliant.identify(pendulum(), Recording(run.t, readings, q0={"rod": -0.8}), names)
    assert found.estimates == pytest.approx([95.0, 1.5], rel=0.01)
    assert (np.abs(found.estimates - [95.0, 1.5]) < 4 * found.standard_errors).all()


def bending_slider_crank() -> Robot:
    links = list(slider_crank().links)
    rod = Beam(length=SLIDER_CRANK["rod"], mass_per_length=0.5, EI_y=80.0, EI_z=80.0)
    links[1] = Link(name="rod", joint=passive(), beam=rod, shapes=Shapes(bending_y=1, damping=0.02))
    return slider_crank(links=links)


@pytest.mark.full
def test_the_stiffness_of_a_coupler_comes_back(rng: np.random.Generator) -> None:
    """From a strain gauge on the rod of a slider-crank and the angle of its crank."""
    name, robot = "links.rod.beam.EI_z", bending_slider_crank()
    torque, start, gauge = ([0.0, 0.2, 0.4], [[6.0], [-4.0], [5.0]]), {"crank": 0.7}, Strain("rod", 0.3, (0.005, 0.0))
    run = pliant.simulate(robot.replace({name: 65.0}).model(), 0.4, start, torque=torque, output_step=1e-3, **TIGHT)
    readings = noisy(rng, run, {"crank": run["crank"], "gauge": run.strain("rod", 0.3, (0.005, 0.0))}, 0.01)
    recording = Recording(run.t, readings, q0=start, torque=torque, sensors={"gauge": gauge})
    found = pliant.identify(robot, recording, [name])
    assert found.estimates == pytest.approx([65.0], rel=0.01)
    assert np.abs(found.estimates - 65.0) < 4 * found.standard_errors
