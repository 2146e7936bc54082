"""Strain is one quantity wherever it is read: the moment of the section over EI, right at the root with two modes."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

import pliant
from arms import SLENDER, unequal_beam
from pliant import Shapes, Stepper, simulate
from pliant.control import Measurement, Observer, StrainGauge
from pliant.export.fmu.variables import symbols_and_outputs
from pliant.identification import Recording, Strain
from pliant.identification.response import Response
from pliant.robot import Lump
from pliant.viewer.scenes.scene import scene_of

FIBRE = 0.02


@pytest.fixture(scope="module")
def model() -> pliant.Model:
    """A beam that hangs level under its weight and a tip mass, with two modes in each plane."""
    robot = unequal_beam(Shapes(bending_y=2, bending_z=2), SLENDER, tip=Lump(mass=0.4))
    return robot.replace({"gravity": (0.0, -9.81, 2.5)}).model(stiffening="off")


@pytest.fixture(scope="module")
def rest(model: pliant.Model) -> tuple[np.ndarray, np.ndarray]:
    q = model.equilibrium([0.0])
    return q, model.holding_torque(q)


def closed_form() -> np.ndarray:
    """v'' and w'' at the root: forces of weight along y and z, held by the root."""
    L, load = 1.3, 2.1 * 1.3**2 / 2 + 0.4 * 1.3
    assert SLENDER.length == L
    return load * np.array([-9.81, 2.5]) / np.array([160.0, 70.0])


def test_sensors_and_steppers(model: pliant.Model, rest: tuple[np.ndarray, np.ndarray]) -> None:
    q, tau = rest
    gauges = [StrainGauge("arm", 0.0, plane) for plane in ("bending_y", "bending_z")]
    assert Measurement(model, gauges).ideal(q, 0 * q, tau)[0] == pytest.approx(closed_form(), rel=0.01)
    arm = Stepper(model, q0=q, sensors=gauges)
    arm.step(1e-4, tau)
    assert arm.outputs == pytest.approx(closed_form(), rel=0.01)


def test_observers(model: pliant.Model) -> None:
    gauges = [StrainGauge("arm", 0.0, plane, noise=1e-3) for plane in ("bending_y", "bending_z")]
    kalman = Observer([0.0], [pliant.control.Encoder("arm", noise=1e-4), *gauges]).design(model)
    assert kalman.y0[1:] == pytest.approx(closed_form(), rel=0.01)


def test_units_of_other_tools(model: pliant.Model, rest: tuple[np.ndarray, np.ndarray]) -> None:
    given, outputs = symbols_and_outputs(model)
    q, _ = rest
    found = {y.name: y.expression for y in outputs}
    names = ["strain.arm.bending_y", "strain.arm.bending_z"]
    f = ca.Function("y", [given.t, given.q, given.qd, given.qdd], [ca.vertcat(*(found[name] for name in names))])
    assert np.array(f(0, q, 0 * q, 0 * q)).ravel() == pytest.approx(closed_form(), rel=0.01)


def test_recordings_and_results(model: pliant.Model, rest: tuple[np.ndarray, np.ndarray]) -> None:
    q, tau = rest
    gauge = Strain("arm", 0.0, (FIBRE, 0.0))
    times = np.array([0.0, 1e-3])
    recording = Recording(times, {"gauge": np.zeros(2)}, q0=q, torque=tau, sensors={"gauge": gauge})
    named = model.robot.model(stiffening="off", parameters=["links.arm.beam.EI_z"])
    response = Response(named, recording, "dop853", 1e-9, 1e-12)
    predicted = response.predict(np.array([160.0]), np.zeros(0), np.ones(1)).y[0, 0]
    assert predicted == pytest.approx(-FIBRE * closed_form()[0], rel=0.01)
    run = simulate(model, 1e-3, q, torque=tau)
    assert run.strain("arm", 0.0, (FIBRE, 0.0))[0] == pytest.approx(-FIBRE * closed_form()[0], rel=0.01)


def test_pictures(model: pliant.Model, rest: tuple[np.ndarray, np.ndarray]) -> None:
    q, tau = rest
    scene = scene_of(simulate(model, 1e-3, q, torque=tau))
    [link] = [part for part in scene.links if part.flexible]
    v, w = np.abs(closed_form())
    across, up = link.half[0]
    expected = across * np.hypot(v, w) if link.round else across * v + up * w
    assert link.strain[0, 0] == pytest.approx(expected, rel=0.01)
