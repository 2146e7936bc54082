"""Whoever does not know loops or passive joints yet refuses them by name, and computes nothing on the open tree."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pliant
from linkages import bar, four_bar, passive
from pliant import analysis, control, export
from pliant.control.controllers.joint_controllers import gravity_torque
from pliant.errors import UnsupportedModel
from pliant.learning.products import products, require_steps
from pliant.robot import Robot

Q, TAU = np.array([0.7, -0.1, 1.6]), np.zeros(1)
HOLD = control.PD(kp=10.0, kd=1.0, reference=[0.0], gravity="none")


FUNCTIONS = ("matrices", "denoc_matrices")
ENTRANCES: dict[str, Callable[[pliant.Model], Any]] = {
    "gravity torque": lambda m: gravity_torque(m, [0.0]),
    "modes in parts": lambda m: analysis.controllability(m),
    "optimal motion": lambda m: control.rest_to_rest(m, [0.0], [0.1], 1.0),
    "closed_loop_matrix": lambda m: analysis.closed_loop_matrix(m, HOLD, 0.0, Q),
    "to_mjcf": lambda m: m.robot.to_mjcf(),
}


TAKE_PASSIVE_JOINTS = ("simulate_batch", "Stepper", "moving base", "closed_loop_matrix")
"""Those that know them, and refuse loops alone."""
MECHANISMS = {
    "loops": (four_bar, "closed loops.*pin"),
    "passive": (lambda: four_bar(loops=[]), "passive joints.*coupler, rocker"),
}


@pytest.fixture(params=MECHANISMS)
def refusing(request) -> tuple[pliant.Model, str]:
    make, words = MECHANISMS[request.param]
    return make().model(), words


@pytest.mark.parametrize("function", FUNCTIONS)
def test_functions_of_a_model_refuse(refusing, function: str) -> None:
    model, words = refusing
    with pytest.raises(UnsupportedModel, match=f"{function}: not built yet for {words}"):
        model.kernel(function)


@pytest.mark.parametrize("entrance", ENTRANCES)
def test_entrances_refuse(refusing, entrance: str) -> None:
    model, words = refusing
    if words.startswith("passive") and entrance in TAKE_PASSIVE_JOINTS:
        ENTRANCES[entrance](model)
        return
    with pytest.raises(UnsupportedModel, match=f"not built yet for {words}"):
        ENTRANCES[entrance](model)


@pytest.mark.parametrize("to", sorted(set(export.EXPORTS) - {"c", "python", "casadi", "fmu", "urdf"}))
def test_exports_refuse(refusing, to: str, tmp_path: Path) -> None:
    """The others are held by export/test_mechanisms.py."""
    model, words = refusing
    with pytest.raises(UnsupportedModel, match=f"not built yet for {words}"):
        pliant.export.export(model, to, tmp_path / "out")


@pytest.mark.parametrize(("options", "words"), [({}, "closed loops"), ({"loops": []}, "passive joints")])
def test_modes_that_follow_the_arm_refuse(options: dict[str, Any], words: str) -> None:
    beam = pliant.Beam(length=0.15, mass_per_length=4.0, EI_y=1e3, EI_z=1e3)
    shapes = pliant.Shapes(boundary="clamped-mass", tip_load="track", bending_y=1)
    _, *others = four_bar().links
    robot = four_bar(links=[pliant.Link(name="crank", beam=beam, shapes=shapes), *others], **options)
    with pytest.raises(UnsupportedModel, match=f"crank.shapes: tip_load: track does not go with {words}"):
        robot.model("lagrange", stiffening="off")


def test_a_sensor_that_feels_forces_inside_links_refuses() -> None:
    """In a run it would have to know what closes the loops; a result has it."""
    torque = control.TorqueSensor("crank")
    with pytest.raises(UnsupportedModel, match="forces inside links, as a sensor feels them: not built yet for closed"):
        pliant.simulate(four_bar().model(), 0.01, sensors=[torque])
    assert "four-bar" in str(pliant.simulate(four_bar().model(), 0.01))


def test_methods_without_projection_refuse() -> None:
    with pytest.raises(UnsupportedModel, match="'bdf' does not close loops"):
        pliant.simulate(four_bar().model(), 0.01, method="bdf")


def test_what_holds_for_passive_joints() -> None:
    """A pendulum on a driven cart-like arm: the passive joint rubs and swings, and takes no torque."""
    model = Robot(name="two", links=[bar("a", 0.4), bar("b", 0.3, passive())], gravity=(0, -9.81, 0)).model()
    assert (model.joints, model.n_joints, model.n) == (("a",), 1, 2)
    driven = Robot(name="two", links=[bar("a", 0.4), bar("b", 0.3)], gravity=(0, -9.81, 0)).model()
    q, qd = np.array([0.3, -0.4]), np.array([1.0, 0.5])
    found, expected = model.forward_dynamics(q, qd, [2.0]), driven.forward_dynamics(q, qd, [2.0, 0.0])
    np.testing.assert_allclose(found, expected, rtol=1e-14)


def test_graphs_of_casadi_take_loops() -> None:
    """A compiled function with its compiled derivatives."""
    import casadi as ca

    model = four_bar().model()
    f, q = model.casadi("forward_dynamics"), model.assemble({"crank": 0.7}, held=["crank"])
    x = ca.MX.sym("q", 3)
    slope = ca.Function("slope", [x], [ca.jacobian(f(x, np.zeros(3), [1.0]), x)])(q)
    expected = model.forward_dynamics_derivatives(q, np.zeros(3), [1.0]).dq
    np.testing.assert_allclose(np.array(slope), expected, rtol=1e-12)


def test_products_take_loops_and_steps_refuse_them() -> None:
    """What JAX and PyTorch call; a step of theirs would leave loops open."""
    model = four_bar().model()
    q, d = model.assemble({"crank": 0.7}, held=["crank"]), np.ones(3)
    (found,) = products(model, "forward_dynamics")("jvp", q, d, np.ones(1), d, d, np.ones(1))
    expected = model.forward_dynamics_jvp(q, d, [1.0], d, d, [1.0])
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    with pytest.raises(UnsupportedModel, match=r"a step as a function \(pliant.Stepper takes steps of it\)"):
        require_steps(model)
