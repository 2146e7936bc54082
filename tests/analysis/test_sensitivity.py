"""Exact sensitivities against finite differences, and convergence against theory."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace

import numpy as np
import pytest

import pliant
from arms import unequal_arm
from pliant.analysis import (
    convergence,
    finite_difference,
    frequency_sensitivity,
    rest_sensitivity,
    rest_slope,
    run_sensitivity,
    with_shapes,
)
from pliant.analysis.sensitivity import MIXED
from pliant.control import PD, Cycloidal
from pliant.errors import ModelError
from pliant.mechanics.links.kinematics import tip_pose

PATHS = ["links.upper.beam.EI_z", "links.fore.beam.mass_per_length", "payload.mass", "links.upper.beam.length"]
JOINTS = [0.3, 0.5]


@pytest.fixture(scope="module")
def robot() -> pliant.Robot:
    return pliant.load("two-link")


@pytest.fixture(scope="module")
def model(robot) -> pliant.Model:
    return robot.model(parameters=PATHS, stiffening="off")


def tip(model):
    return lambda q: tip_pose(model.chain, q)[:2, 3]


def differences(robot, quantity, paths=PATHS) -> np.ndarray:
    # fourth order with relative step 1e-4 (third, one-sided, for the payload of zero): error about 1e-9 relative
    return np.array([finite_difference(robot, path, quantity) for path in paths]).T


@pytest.mark.full
def test_frequencies_of_a_sliding_arm_without_q() -> None:
    """About its rest state, at the free length of the robot file; joints that nothing holds have no gradient."""
    robot = pliant.load("rrp")
    model = robot.model(parameters=["payload.mass", "links.boom.beam.EI_z"], stiffening="off")
    found = frequency_sensitivity(model)
    expected = differences(robot, lambda r: r.model(stiffening="off").frequencies(), list(model.parameters))
    assert np.abs(found.gradient - expected).max() < 1e-8 * np.abs(expected).max()
    free = frequency_sensitivity(model, joints="free")
    still = free.values == 0
    assert still.sum() == 3
    assert np.array_equal(np.isnan(free.gradient).all(axis=1), still)
    freed = differences(
        robot, lambda r: r.model(stiffening="off").frequencies(joints="free")[still.sum() :], ["payload.mass"]
    )
    assert np.abs(free.gradient[~still, 0] - freed[:, 0]).max() < 1e-8 * np.abs(freed).max()


def test_joints_that_nothing_holds_are_no_coincidence() -> None:
    model = (
        unequal_arm()
        .replace({"gravity": (0.0, 0.0, 0.0)})
        .model(parameters=["payload.mass"], stiffening="off", shapes="nominal")
    )
    found = frequency_sensitivity(model, joints="free")
    assert np.isnan(found.gradient).ravel().tolist() == (found.values == 0).tolist()
    assert (found.values == 0).sum() == 3


FAST_AND_ALL = [[0, 2], pytest.param([0, 1, 2, 3], marks=pytest.mark.full)]


@pytest.mark.parametrize("chosen", FAST_AND_ALL)
def test_frequencies(robot, model, chosen) -> None:
    q = np.array([*JOINTS, 0, 0])
    found = frequency_sensitivity(model, q)
    expected = differences(robot, lambda r: r.model(stiffening="off").frequencies(q), [PATHS[k] for k in chosen])
    np.testing.assert_allclose(found.gradient[:, chosen], expected, rtol=1e-6)
    np.testing.assert_allclose(found.values, model.frequencies(q), rtol=1e-12)
    # stiffness and density alone scale a frequency by their square root, if all links change: here one of two does
    assert (found.logarithmic[:, 0] > 0).all()
    assert (found.logarithmic[:, 0] < 0.5).all()
    np.testing.assert_array_equal(found["payload.mass"], found.gradient[:, 2])


def test_low_frequencies_beside_a_very_stiff_one_are_told_apart() -> None:
    """Two bending modes a factor of six apart have a gradient, however stiff the beam is along its axis."""
    beam = {"length": 1.3, "mass_per_length": 2.0, "EI_y": 40.0, "EI_z": 50.0, "EA": 1e14}
    shapes = {"bending_y": 2, "axial": 1}
    link = {"name": "rod", "joint": {}, "beam": beam, "shapes": shapes}
    robot = pliant.Robot(name="stiff rod", gravity=[0, 0, 0], links=[link])
    found = frequency_sensitivity(robot.model(parameters=["links.rod.beam.EI_z"], stiffening="off"))
    np.testing.assert_allclose(found.logarithmic[:2, 0], 0.5, rtol=1e-6)  # f ~ sqrt(EI_z)


def test_frequencies_that_coincide_have_no_gradient() -> None:
    """Two planes of one stiffness: any mixture of the two modes is a mode."""
    beam = {"length": 1.3, "mass_per_length": 2.0, "EI_y": 50.0, "EI_z": 50.0}
    link = {"name": "rod", "joint": {}, "beam": beam, "shapes": {"bending_y": 1, "bending_z": 1}}
    robot = pliant.Robot(name="round rod", gravity=[0, 0, 0], links=[link])
    with pytest.raises(ModelError, match="frequencies coincide"):
        frequency_sensitivity(robot.model(parameters=["links.rod.beam.EI_z"], stiffening="off"))


@pytest.mark.parametrize("angle", [0.0, 1e-8, 1e-4])
def test_modes_mixed_by_round_off_have_no_gradient(model, monkeypatch, angle: float) -> None:
    """Two modes turned into each other: accepted to 1e-6, the error that the gradient may have."""
    modes = model.modes(np.array([*JOINTS, 0, 0]))
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    monkeypatch.setattr(pliant.Model, "modes", lambda *_: replace(modes, shapes=modes.shapes @ turn))
    with pytest.raises(ModelError, match="coincide") if angle > MIXED else nullcontext():
        frequency_sensitivity(model, np.array([*JOINTS, 0, 0]))


@pytest.mark.parametrize("chosen", FAST_AND_ALL)
def test_static_rest(robot, model, chosen) -> None:
    found = rest_sensitivity(model, tip(model), JOINTS)

    def quantity(r):
        m = r.model(stiffening="off")
        return m.tip_pose(m.equilibrium(JOINTS))[:2, 3]

    expected = differences(robot, quantity, [PATHS[k] for k in chosen])
    np.testing.assert_allclose(found.gradient[:, chosen], expected, atol=1e-8)


@pytest.mark.slow
def test_outcome_of_a_run(robot, model) -> None:
    reference = Cycloidal(JOINTS, [0.6, 0.1], 0.3)
    start = model.equilibrium(JOINTS)
    found = run_sensitivity(
        model, lambda t, q, qd: tip_pose(model.chain, q)[:2, 3], 0.35, q0=start, q0_slope=rest_slope(model, start),
        controller=PD(300, 60, reference),
    )  # fmt: skip

    def quantity(r):
        m = r.model(stiffening="off")
        controller = PD(300, 60, reference)
        run = pliant.simulate(m, 0.35, q0=m.equilibrium(JOINTS), controller=controller, rtol=1e-11, atol=1e-13)
        return run.tip[-1, :2]

    path = PATHS[0]
    # a difference of two runs at rtol 1e-11 over a relative step of 1e-3: 1e-8 of the value per relative change
    expected = finite_difference(robot, path, quantity, step=1e-3)
    np.testing.assert_allclose(found[path], expected, rtol=1e-5)
    np.testing.assert_allclose(found.values, quantity(robot), atol=1e-8)


@pytest.mark.full
@pytest.mark.parametrize("path", PATHS)
def test_outcome_of_a_prescribed_motion(robot, model, path: str) -> None:
    motion = Cycloidal(JOINTS, [0.6, 0.1], 0.3).motion(model)
    found = run_sensitivity(model, lambda t, q, qd: q[2:], 0.35, q0=[*JOINTS, 0, 0], motion=motion)

    def quantity(r):
        m = r.model(stiffening="off")
        return pliant.simulate(m, 0.35, q0=[*JOINTS, 0, 0], motion=motion, rtol=1e-11, atol=1e-13).q[-1, 2:]

    expected = finite_difference(robot, path, quantity, step=1e-3)
    np.testing.assert_allclose(found[path], expected, rtol=1e-4, atol=1e-7 * np.abs(expected).max())


def test_convergence_of_modes_is_first_order_where_links_follow(robot) -> None:
    def lowest(r):
        m = r.model(stiffening="off")
        return m.frequencies([*JOINTS, *np.zeros(m.n - 2)])[0]

    found = convergence(robot, lowest, (1, 2, 3, 4, 6))
    assert (found.changes < 0).all()  # Rayleigh-Ritz: more shapes, lower frequencies
    assert 0.8 < found.order < 1.6  # clamped-free modes never meet the moment of the outer link
    assert found.limit < found.values[-1]
    assert found.error == pytest.approx(found.values[-1] - found.limit)
    assert "order" in str(found)


def test_convergence_of_elements_is_fourth_order() -> None:
    beam = pliant.Beam(length=1.0, mass_per_length=0.331, EI_y=1165.4916, EI_z=1165.4916)
    shapes = pliant.Shapes(method="elements", count=1, bending_y=True)
    single = pliant.Robot(name="one", gravity=(0, 0, 0), links=[pliant.Link(name="a", beam=beam, shapes=shapes)])
    found = convergence(single, lambda r: r.model(stiffening="off").frequencies()[0], (4, 8, 12))
    assert found.order == pytest.approx(4, abs=0.1)  # cubic elements
    assert 2 * np.pi * found.limit == pytest.approx(208.637, rel=1e-5)
    law = convergence(single, lambda r: 3 + 2 * r.links[0].shapes.count ** -2.5, (2, 3, 5))
    assert (law.order, law.limit) == (pytest.approx(2.5, rel=1e-9), pytest.approx(3.0, rel=1e-9))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda r: convergence(r, lambda x: 1.0, (1, 2)), "counts: got"),
        (lambda r: convergence(r, lambda x: 1.0, (3, 2, 1)), "counts: got"),
        (lambda r: with_shapes(r, 0), "count: got 0"),
        (lambda r: with_shapes(r, 2, ["elbow"]), "links: elbow not flexible"),
        (lambda r: finite_difference(r, "links.9.mass", lambda x: 1.0), "is not a number of this robot"),
        (lambda r: frequency_sensitivity(r.model(stiffening="off")), "make the model with"),
        (lambda r: rest_sensitivity(r.model(stiffening="off"), lambda q: q, JOINTS), "make the model with"),
    ],
)
def test_bad_input(robot, call, message: str) -> None:
    with pytest.raises(pliant.ModelError, match=message):
        call(robot)


def test_differences_of_cubics(robot) -> None:
    """Exact for a polynomial of third order, to both sides and to one, where the mass of the payload may not fall."""

    def cubic(path: str) -> Callable[[pliant.Robot], float]:
        return lambda changed: 5 * changed.paths()[path] ** 3 - changed.paths()[path] ** 2 + 3 * changed.paths()[path]

    stiff, none = "links.upper.beam.EI_z", robot.replace({"payload.mass": 0.0})
    x = robot.paths()[stiff]
    assert finite_difference(robot, stiff, cubic(stiff)) == pytest.approx(15 * x**2 - 2 * x + 3, rel=1e-9)
    assert finite_difference(none, "payload.mass", cubic("payload.mass"), 0.1) == pytest.approx(3.0, rel=1e-9)


def test_no_array_is_made_of_what_casadi_warns_of(robot, model) -> None:
    """With all warnings shown, it told that NumPy was called on its own values, once for each mode."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", FutureWarning)
        found = frequency_sensitivity(model)
    assert found.gradient.shape == (len(found.values), len(model.parameters))
