"""Small motions of linkages in the coordinates that loops leave, and torques for given motions of their cranks."""

from __future__ import annotations

import numpy as np
import pytest

import pliant
from linkages import bar, four_bar, four_bar_angles, rubbing
from mechanics.derivatives.test_closed_derivatives import bending, difference, scale, spatial
from physics.loops.test_linkages import four_bar_work, parallelogram
from pliant.errors import ModelError, UnsupportedModel
from pliant.model.loops.assembly import mechanism
from pliant.robot import Joint


def test_a_parallelogram_is_a_pendulum() -> None:
    """Two hanging cranks, and a rod between their tips that swings without turning."""
    crank, mass = 0.35, 4.0 * 0.35
    model = parallelogram(crank, 0.5).model()
    q = np.array([-np.pi / 2, np.pi / 2, -np.pi / 2])
    inertia = 2 * mass * crank**2 / 3 + 1.7 * crank**2
    expected = np.sqrt(9.81 * (mass * crank + 1.7 * crank) / inertia) / (2 * np.pi)
    assert model.frequencies(q, joints="free") == pytest.approx([expected], rel=1e-12)
    assert model.frequencies(q, joints="locked").shape == (0,)
    A = model.linearize(q).A
    assert np.sqrt(-A[1, 0]) / (2 * np.pi) == pytest.approx(expected, rel=1e-12)


@pytest.mark.slow_cases("bending-3.0")
@pytest.mark.parametrize("speed", [pytest.param(0.0, marks=pytest.mark.full), 3.0])
@pytest.mark.parametrize("arm", [four_bar, bending, pytest.param(spatial, marks=pytest.mark.full)])
def test_linear_systems_are_those_of_the_closed_motion(arm, speed: float, rng: np.random.Generator) -> None:
    """About a state in motion: all that is not independent follows by closing the loops again."""
    model = arm().model()
    by = mechanism(model, model.nominal_parameters)
    q = model.assemble({"crank": 0.8}, held=["crank"])
    start = speed * scale(model) * rng.normal(size=model.n)
    qd, tau = by.along(q, start), np.array([0.4])
    system, names = model.linearize(q, qd, tau), model.independent(q)
    own = [model.speed_index(name) for name in names]
    assert len(own) == model.freedom
    assert "crank" in names

    def accelerations(dq: np.ndarray, dqd: np.ndarray, dtau: float) -> np.ndarray:
        step, rates = np.zeros(model.n), qd.copy()
        step[own], rates[own] = dq, qd[own] + dqd
        moved = by.closed(pliant.model.states.displaced(model, q, step), own)
        rates = by.along(moved, rates, own)
        return model.forward_dynamics(moved, rates, tau + dtau)[own]

    f, size = len(own), scale(model)[own]
    for j in range(f):
        unit = np.eye(f)[j] * size[j]
        for column, found in (
            (system.A[f:, j], lambda s, unit=unit: accelerations(s * unit, 0 * unit, 0.0)),
            (system.A[f:, f + j], lambda s, unit=unit: accelerations(0 * unit, s * unit, 0.0)),
        ):
            expected = difference(found) / size[j]
            np.testing.assert_allclose(column, expected, atol=2e-8 * max(1.0, np.abs(expected).max()))
    expected = difference(lambda s: accelerations(np.zeros(f), np.zeros(f), s))
    np.testing.assert_allclose(system.B[f:, 0], expected, atol=1e-8 * np.abs(expected).max())


@pytest.mark.parametrize("joints", [pytest.param("locked", marks=pytest.mark.full), "free"])
def test_frequencies_are_those_of_the_linear_system(joints: str) -> None:
    model = bending().model()
    q = model.equilibrium({"crank": 0.7, "rocker": 1.6})
    s = np.linalg.eigvals(model.linearize(q, joints=joints).A)
    swings = np.sort(np.where(np.abs(s.imag) > np.abs(s.real), 1, -1) * np.abs(s))[::2] / (2 * np.pi)
    found = model.frequencies(q, joints=joints)
    assert len(found) == model.freedom - (joints == "locked")
    np.testing.assert_allclose(found, np.sort(swings), rtol=1e-6)
    modes = model.modes(q, joints=joints)
    hertz, shapes = modes.frequencies, modes.shapes
    np.testing.assert_array_equal(hertz, found)
    np.testing.assert_array_equal(modes.damping, model.damping_ratios(q, joints=joints))
    np.testing.assert_allclose(shapes.T @ model.mass_matrix(q) @ shapes, np.eye(len(hertz)), atol=1e-10)
    assert np.abs(mechanism(model, model.nominal_parameters).slopes(q)[:2] @ shapes).max() < 1e-10


def test_outputs_follow_the_loop() -> None:
    """The slope of the rocker's angle by the crank's."""
    model, h = four_bar().model(), 1e-4
    C = model.linearize([0.7, *four_bar_angles(0.7)], outputs=lambda q, qd: q[2]).C
    slope = (four_bar_angles(0.7 + h)[1] - four_bar_angles(0.7 - h)[1]) / (2 * h)
    assert C[0, 0] == pytest.approx(slope, abs=1e-6)
    assert C[0, 1] == 0.0


def test_friction_of_a_passive_joint_damps_the_mode() -> None:
    robot = bending()
    links = list(robot.links)
    links[1] = links[1].model_copy(update={"joint": rubbing(links[1].joint, 1e-3)})
    model = robot.model_copy(update={"links": tuple(links)}).model()
    q = model.equilibrium({"crank": 0.7, "rocker": 1.6})
    ratios = model.damping_ratios(q)
    s = np.linalg.eigvals(model.linearize(q, joints="locked").A)
    s = s[s.imag > 0][np.argsort(np.abs(s[s.imag > 0]))]
    np.testing.assert_allclose(ratios, -s.real / np.abs(s), rtol=1e-4, atol=1e-12)
    assert ratios.min() > 0


def test_loops_of_states_in_part_are_closed() -> None:
    model = four_bar().model()
    q = model.assemble({"crank": 0.7}, held=["crank"])
    np.testing.assert_array_equal(model.frequencies({"crank": 0.7}, joints="free"), model.frequencies(q, joints="free"))
    assert len(model.frequencies(joints="free")) == 1
    with pytest.raises(ModelError, match="loop `pin` is open by"):
        model.frequencies(q + 0.1)
    with pytest.raises(UnsupportedModel, match="steady spins"):
        model.frequencies(q, rates=[1.0])


# ------------------------------------------------------------------------------------------------- given motion


def test_a_crank_is_driven_by_the_change_of_energy() -> None:
    """I crank'' + I' crank'^2 / 2 + V' with inertia and potential of a closed form."""
    model, crank, rate, asked = four_bar().model(), 0.9, 4.0, 7.0
    q = np.array([crank, *four_bar_angles(crank)])
    qd = mechanism(model, model.nominal_parameters).along(q, np.array([rate, 0, 0]), {0})
    found = model.driven_dynamics(q, qd, [asked])
    inertia, _ = four_bar_work(np.array([crank]))
    h = 2e-3
    slope, weight = difference(lambda s: np.array([x[0] for x in four_bar_work(np.array([crank + s]))]), h)
    assert found.tau[0] == pytest.approx(inertia[0] * asked + slope * rate**2 / 2 + weight, rel=1e-7)
    assert found.qdd[0] == asked


@pytest.mark.parametrize("arm", [bending, pytest.param(spatial, marks=pytest.mark.full)])
def test_driven_and_forward_dynamics_are_inverse(arm, rng: np.random.Generator) -> None:
    model = arm().model()
    q = model.assemble({"crank": 0.8}, held=["crank"])
    qd = mechanism(model, model.nominal_parameters).along(q, scale(model) * rng.normal(size=model.n))
    found = model.driven_dynamics(q, qd, [3.0])
    size = np.abs(found.qdd).max()
    np.testing.assert_allclose(model.forward_dynamics(q, qd, found.tau), found.qdd, atol=1e-10 * size)
    pull = np.abs(found.multipliers).max()
    np.testing.assert_allclose(model.multipliers(q, qd, found.tau), found.multipliers, atol=1e-9 * pull)
    batch = model.driven_dynamics(np.tile(q, (5, 1)), np.tile(qd, (5, 1)), np.full((5, 1), 3.0))
    np.testing.assert_array_equal(batch.tau, np.tile(found.tau, (5, 1)))
    np.testing.assert_array_equal(batch.multipliers, np.tile(found.multipliers, (5, 1)))


def test_inverse_dynamics_holds_the_forces_of_loops() -> None:
    model = four_bar().model()
    q = model.assemble({"crank": 0.8}, held=["crank"])
    qdd = model.forward_dynamics(q, np.zeros(3), [2.0])
    J = mechanism(model, model.nominal_parameters).slopes(q)[:2]
    force = J.T @ model.multipliers(q, np.zeros(3), [2.0]) + model.actuation @ [2.0]
    np.testing.assert_allclose(model.inverse_dynamics(q, np.zeros(3), qdd), force, atol=1e-10)


def test_more_motors_than_freedoms_are_refused() -> None:
    rocker = bar("rocker", 0.35, Joint(origin={"xyz": (0.5, 0, 0)}), parent="base")
    model = four_bar(links=[*four_bar().links[:2], rocker]).model()
    with pytest.raises(ModelError, match=r"loops leave 1 freedoms to 2 actuated joints \(crank, rocker\)"):
        model.driven_dynamics(model.assemble({"crank": 0.7}), np.zeros(3), [0.0, 0.0])
