"""Gradients of runs of mechanisms against differences of the runs, and of one short step against the derivatives of the
dynamics."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import casadi as ca
import numpy as np
import pytest

import pliant
from coupled_arms import boom
from linkages import SLIDER_CRANK, bar, four_bar, four_bar_angles, passive, slider_crank
from physics.loops.test_tied_forces import spatial
from pliant import analysis, gradient
from pliant.algebra.tableaux import explicit
from pliant.errors import UnsupportedModel
from pliant.gradients import gradient_batch
from pliant.integrators.cuda.adjoint import source
from pliant.model.states import displaced
from pliant.robot import Beam, Drive, Joint, Link, Robot, Shapes
from pliant.robot.parts.frames import Frame
from pliant.simulation.gradients.request import Inquiry

EXACT = 1e-6  # of the largest entry
LENGTHS = ["links.rocker.joint.origin.xyz.0", "links.coupler.rigid.mass"]
TIGHT = {"rtol": 1e-12, "atol": 1e-13}
METHODS: dict[str, dict[str, Any]] = {
    "rk4": {"step": 2e-3}, "midpoint": {"step": 2e-3}, "dopri5": TIGHT, "rodas5p": {"rtol": 1e-10, "atol": 1e-12},
}  # fmt: skip
END, START, TORQUE = 0.1, {"crank": 0.7}, [2.0]


def terminal(t: Any, q: Any, qd: Any) -> Any:
    """Nothing in it is symmetric or alike."""
    weights = ca.DM(1.0 + 0.3 * np.arange(q.shape[0]))
    return ca.dot(weights, (q - 0.2) ** 2) + 0.05 * ca.dot(1.0 + ca.DM(range(qd.shape[0])), qd**2) + t * q[0] * qd[0]


def running(t: Any, q: Any, qd: Any, tau: Any) -> Any:
    return 0.01 * ca.sumsqr(tau) + ca.cos(q[0]) * qd[0] ** 2 + t * q[1] ** 2


def cost_of(run: pliant.Result) -> float:
    return float(terminal(run.t[-1], ca.DM(run.q[-1]), ca.DM(run.qd[-1])))


def differences(cost: Callable[[Any], float], x: Any, h: float = 1e-3) -> Any:
    """Central differences of fourth order, entry by entry, with steps relative to the entries."""
    x = np.asarray(x, dtype=float)
    out = np.zeros(x.shape)
    for k, e in enumerate(np.diag(h * np.maximum(np.abs(x), 0.1))):
        out[k] = (8 * (cost(x + e) - cost(x - e)) - (cost(x + 2 * e) - cost(x - 2 * e))) / (12 * e[k])
    return out


def assert_near(found: Any, expected: Any, tolerance: float = EXACT) -> None:
    assert np.abs(expected).max() > 0
    np.testing.assert_allclose(found, expected, rtol=0, atol=tolerance * np.abs(expected).max())


@pytest.mark.slow_cases("dopri5", "midpoint", "rodas5p")
@pytest.mark.parametrize("method", METHODS)
def test_a_four_bar_by_all_that_starts_and_drives_it(method: str) -> None:
    """Lengths move the whole start: what is named stays, the others follow."""
    model = four_bar().model(parameters=LENGTHS)
    options = {"method": method, **METHODS[method]}
    found = gradient(model, END, START, {"crank": 4.0}, TORQUE, terminal=terminal, **options)

    def cost(x: Any) -> float:
        angle, speed, torque, *p = x
        given = {"torque": [torque], "p": p, "method": method, **METHODS[method]}
        return cost_of(pliant.simulate(model, END, {"crank": angle}, {"crank": speed}, **given))

    at = [0.7, 4.0, *TORQUE, *model.nominal_parameters]
    assert found.value == pytest.approx(cost(at), rel=1e-9)
    expected = differences(cost, at)
    assert_near([found["q0"][0], found["qd0"][0], *found["torque"], *found["p"]], expected)
    np.testing.assert_allclose([found["q0"][1:], found["qd0"][1:]], 0.0, atol=1e-9 * np.abs(expected).max())


def test_one_short_step_has_the_derivatives_of_the_dynamics() -> None:
    """dqd = h (dqdd/dtau dtau + dqdd/dp dp), from a start that parameters do not move."""
    model, h = four_bar().model(parameters=["links.coupler.rigid.mass", "gravity.1"]), 1e-8
    q = model.assemble(START, held=["crank"])
    run = pliant.simulate(model, h, q, {"crank": 3.0}, method="rk4", step=h)
    by = model.forward_dynamics_derivatives(run.q[0], run.qd[0], TORQUE, model.nominal_parameters)
    weights = np.array([1.0, -2.0, 3.0])
    found = gradient(model, h, q, {"crank": 3.0}, TORQUE, terminal=lambda t, q, qd: ca.dot(ca.DM(weights), qd), step=h)
    assert_near(found["torque"] / h, weights @ by.dtau)
    assert_near(found["p"] / h, weights @ by.dp)


def test_batches_are_single_gradients() -> None:
    model = four_bar().model(parameters=LENGTHS)
    p = model.nominal_parameters * np.array([[1.0, 1.0], [1.02, 0.8]])
    options: dict[str, Any] = {"terminal": terminal, "running": running, "step": 2e-3, "checkpoints": "fewest"}
    many = gradient_batch(model, 0.05, START, {"crank": 4.0}, TORQUE, p=p, **options)
    for k, values in enumerate(p):
        alone = gradient(model, 0.05, START, {"crank": 4.0}, TORQUE, p=values, **options)
        assert many.value[k] == pytest.approx(alone.value, rel=1e-12)
        for name in ("q0", "qd0", "torque", "p"):
            assert_near(many[name][k], alone[name], 1e-9)


@pytest.mark.slow
def test_samples_and_a_crank_at_given_speed() -> None:
    """A commanded rocker beside a crank that is prescribed: loops close to the path at every step."""
    rocker = bar("rocker", 0.35, Joint(origin={"xyz": (0.5, 0, 0)}), parent="base")
    model = four_bar(links=[*four_bar().links[:2], rocker]).model(parameters=["links.rocker.joint.origin.xyz.0"])
    path, p = {"crank": lambda t: 0.7 + 2.0 * t + 3.0 * t**2}, model.nominal_parameters
    options: dict[str, Any] = {"motion": path, "step": 2e-3, "running": running, "with_respect_to": ["p"]}
    start = {"coupler": four_bar_angles(0.7)[0]}
    found = gradient(model, END, start, **options)
    assert_near(found["p"], differences(lambda p: gradient(model, END, start, p=p, **options).value, p))


def pendulum() -> Robot:
    """A rod that hangs on a passive joint, with a spring and a damper to the base."""
    hook = Frame(name="hook", link="base", origin={"xyz": (0.3, 0.4, 0)})
    string = {"name": "string", "between": ["hook", "rod.tip"], "spring": {"stiffness": 80.0, "length": 0.4},
              "damping": 2.0}  # fmt: skip
    return Robot(name="pendulum", links=[bar("rod", 0.5, passive())], frames=[hook], couplings=[string],
                 gravity=(0, -9.81, 0))  # fmt: skip


@pytest.mark.parametrize("settles", [False, True])
@pytest.mark.parametrize("method", ["rk4", "dopri5"])
def test_springs_and_dampers_of_couplings(method: str, settles: bool) -> None:
    """A passive joint, from where it was let go and from where it rests."""
    names = ["couplings.0.spring.stiffness", "couplings.0.spring.length", "couplings.0.damping", "links.rod.rigid.mass"]
    model = pendulum().model(parameters=names)
    options: dict[str, Any] = {"equilibrium": settles, "method": method, **METHODS[method]}
    start = {"q0": None if settles else {"rod": -0.4}, "qd0": {"rod": 1.0}}
    found = gradient(model, 0.2, terminal=terminal_of_one, **start, **options)

    def cost(p: Any) -> float:
        run = pliant.simulate(model, 0.2, p=p, **start, **options)
        return float(terminal_of_one(0.2, run.q[-1], run.qd[-1]))

    assert_near(found["p"], differences(cost, model.nominal_parameters, 3e-3))


def terminal_of_one(t: Any, q: Any, qd: Any) -> Any:
    return 3.0 * q[0] + q[0] ** 2 - 0.4 * qd[0]


@pytest.mark.slow
def test_a_cylinder_from_rest_behind_its_valve() -> None:
    """Pressures at the start carry the boom, and hang on all numbers of it."""
    names = ["couplings.0.cylinder.areas.0", "couplings.0.cylinder.bulk_modulus", "links.boom.rigid.mass"]
    model = boom().model(parameters=names)
    opening = ([0.0, 0.05, 0.1], [[0.0], [0.5], [0.2]])
    options: dict[str, Any] = {
        "torque": opening,
        "equilibrium": True,
        "method": "rodas5p",
        "rtol": 1e-10,
        "atol": 1e-12,
    }
    found = gradient(model, 0.1, {"boom": 0.4}, terminal=terminal_of_one, with_respect_to=["p", "torque"], **options)

    def cost(scale: Any) -> float:
        run = pliant.simulate(model, 0.1, {"boom": 0.4}, p=scale * model.nominal_parameters, **options)
        return float(terminal_of_one(0.1, run.q[-1], run.qd[-1]))

    assert_near(found["p"] * model.nominal_parameters, differences(cost, np.ones(3), 3e-3), 1e-5)
    assert np.abs(found["torque"]).max() > 0


def test_run_sensitivity_takes_loops() -> None:
    model = four_bar().model(parameters=LENGTHS)

    def quantity(t: Any, q: Any, qd: Any) -> Any:
        return ca.vertcat(q[2], qd[1])

    found = analysis.run_sensitivity(model, quantity, END, START, rtol=1e-11, atol=1e-13)

    def ends(p: Any, k: int) -> float:
        run = pliant.simulate(model, END, START, p=p, **TIGHT)
        return float((run.q[-1, 2], run.qd[-1, 1])[k])

    for k in range(2):
        assert_near(found.gradient[k], differences(lambda p, k=k: ends(p, k), model.nominal_parameters))


@pytest.mark.slow
def test_rest_of_a_mechanism_moves_with_its_numbers() -> None:
    model = four_bar().model(parameters=LENGTHS)
    loose = four_bar(links=[bar("crank", 0.15, passive()), *four_bar().links[1:]]).model(parameters=LENGTHS)
    for arm, start in ((model, {"crank": 0.7, "rocker": 1.6}), (loose, {"crank": -1.0, "rocker": 1.6})):
        q = arm.equilibrium(start)
        slope = analysis.rest_slope(arm, q)
        for k in range(3):
            by = differences(lambda p, k=k, arm=arm, q=q: float(arm.equilibrium(q, p=p)[k]), arm.nominal_parameters)
            np.testing.assert_allclose(slope[k], by, atol=1e-6 * np.abs(slope).max())


def test_a_gpu_refuses_gradients_of_loops() -> None:
    model = four_bar().model()
    asked = Inquiry.read(model, None, None, None, None, {}, None, terminal, None, ["q0"], (), None, False, 0.1, False)
    with pytest.raises(UnsupportedModel, match=r"gradients on a GPU are not built yet for closed loops"):
        source(asked.run.differentiated([]), explicit("rk4"))


@pytest.mark.full
@pytest.mark.parametrize("settles", [False, True])
def test_a_motor_behind_an_elastic_gear_starts_with_its_crank(settles: bool) -> None:
    """With its joint, or wound up by what the joint carries at rest."""
    links = list(four_bar().links)
    links[0] = bar("crank", 0.15, Joint(drive=Drive(gear_ratio=50, rotor_inertia=1e-5, stiffness=300.0)))
    model = four_bar(links=links).model(parameters=LENGTHS)
    options: dict[str, Any] = {"step": 5e-4, "equilibrium": settles}
    found = gradient(model, END, START, {"crank": 4.0}, terminal=terminal, **options)

    def cost(x: Any) -> float:
        start, speed = {"crank": x[0]}, {"crank": x[1]}
        return cost_of(pliant.simulate(model, END, start, speed, p=x[2:], method="rk4", **options))

    expected = differences(cost, [0.7, 4.0, *model.nominal_parameters])
    motor = model.index("crank.motor")
    assert_near([found["qd0"][0] + found["qd0"][motor], *found["p"]], expected[1:])
    if not settles:
        assert_near([found["q0"][0] + found["q0"][motor]], expected[:1])


@pytest.mark.full
@pytest.mark.parametrize("method", METHODS)
def test_a_slider_crank_that_bends(method: str) -> None:
    links = list(slider_crank().links)
    rod = Beam(length=SLIDER_CRANK["rod"], mass_per_length=0.5, EI_y=8.0, EI_z=8.0)
    links[1] = Link(name="rod", joint=passive(), beam=rod, shapes=Shapes(bending_y=1))
    model = slider_crank(links=links).model(parameters=["links.rod.beam.EI_z", "links.crank.rigid.tip.0"])
    options: dict[str, Any] = {"method": method, **METHODS[method]}
    found = gradient(model, END, START, {"crank": 5.0}, TORQUE, terminal=terminal, **options)

    def cost(x: Any) -> float:
        return cost_of(pliant.simulate(model, END, START, {"crank": 5.0}, torque=[x[0]], p=x[1:], **options))

    assert_near([*found["torque"], *found["p"]], differences(cost, [*TORQUE, *model.nominal_parameters]))


@pytest.mark.full
def test_a_linkage_with_a_ball_joint(rng: np.random.Generator) -> None:
    """Along the speeds, in directions that leave the loop closed and in others, which it takes back."""
    model = spatial().model()
    run = pliant.simulate(model, 1e-3, qd0={"crank": 4.0})
    q, qd, options = run.q[0], run.qd[0], {"step": 2e-3, "method": "rk4"}
    found = gradient(model, END, q, qd, terminal=terminal, **options)
    way, push = rng.normal(size=(2, model.n))

    def cost(h: Any) -> float:
        moved = displaced(model, q, h[0] * way)
        return cost_of(pliant.simulate(model, END, moved, qd + h[1] * push, **options))

    assert_near([found["q0"] @ way, found["qd0"] @ push], differences(cost, np.zeros(2), 1e-2))
