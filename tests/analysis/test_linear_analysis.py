"""Closed-loop matrices, frequency response, modes: against differences, simulation and closed forms."""

from __future__ import annotations

import sys
import types

import numpy as np
import pytest

import pliant
from arms import SLENDER, unequal_arm, unequal_beam, unequal_two_link
from pliant.analysis import (
    closed_loop_eigenvalues,
    closed_loop_matrix,
    controllability,
    eigenvalues_along,
    frequency_response,
    link_frequencies,
    to_control,
)
from pliant.control import (
    LQR,
    PD,
    PID,
    ComputedTorque,
    Cycloidal,
    Encoder,
    Measurement,
    Sampled,
    StrainGauge,
    TipPosition,
)
from pliant.mechanics.shapes import clamped_mass_roots
from pliant.model import StateSpace
from pliant.robot import Shapes, TipLoad


@pytest.fixture(scope="module")
def arm() -> pliant.Model:
    return unequal_two_link().model()


@pytest.mark.parametrize("controller", [PD(300, 60, [0.2, 0.4]), PID(300, 100, 60, [0.2, 0.4])], ids=["pd", "pid"])
def test_closed_loop_matrix_against_differences(arm, controller) -> None:
    law = controller.bind(arm)
    rng = np.random.default_rng(2)
    x = np.concatenate([rng.normal(size=8) * [1, 1, 0.02, 0.02, 1, 1, 0.1, 0.1], np.full(law.n_states, 0.1)])

    def rate(x: np.ndarray) -> np.ndarray:
        q, qd, z = x[:4], x[4:8], x[8:]
        tau, zd = law.step(0.3, q, qd, z)
        return np.concatenate([qd, arm.forward_dynamics(q, qd, tau), zd])

    h, found = 1e-4, []
    for e in np.eye(len(x)):  # fourth order: truncation h^4, rounding 1e-16/h of accelerations up to 1e4
        found.append((rate(x - 2 * h * e) - 8 * rate(x - h * e) + 8 * rate(x + h * e) - rate(x + 2 * h * e)) / (12 * h))
    A = closed_loop_matrix(arm, controller, 0.3, x[:4], x[4:8], x[8:] if law.n_states else None)
    np.testing.assert_allclose(A, np.array(found).T, atol=1e-7 * np.abs(A).max())


def test_lqr_poles_are_closed_loop_eigenvalues(arm) -> None:
    controller = LQR([0.0, 0.5], 1.0, 1e-2)
    design = controller.design(arm)
    found = closed_loop_eigenvalues(arm, controller, 0.0, design.x0[:4])
    np.testing.assert_allclose(np.sort(found.real), np.sort(design.poles.real), atol=1e-7 * np.abs(found).max())


def test_eigenvalues_along_a_path(arm) -> None:
    path = Cycloidal([-1.5, 0.0], [0.0, 1.0], 1.0)
    controller = ComputedTorque(400, 40, path)
    history = eigenvalues_along(arm, controller, [0.0, 0.5, 1.0], path)
    assert history.values.shape == (3, 8)
    rest = arm.equilibrium([0.0, 1.0])
    settled = eigenvalues_along(arm, controller, [1.0], (rest[None], np.zeros((1, 4)))).values[0]
    # at rest the decoupled loop vibrates as the arm does with its joints locked; its joints are critically damped
    np.testing.assert_allclose(np.sort(settled.imag[settled.imag > 1]), 2 * np.pi * arm.frequencies(rest), rtol=1e-9)
    assert (np.abs(settled + 20) < 1e-3).sum() == 4
    assert set(np.unique(history.links)) <= {"", "upper", "fore"}
    assert history.frequencies("upper", 1).shape == (3, 1)
    with pytest.raises(pliant.ModelError, match="path: it moves 1"):
        eigenvalues_along(arm, PD(1, 1, [0, 0]), [0.0], path[0])
    with pytest.raises(pliant.ModelError, match="sampled controller"):
        closed_loop_matrix(arm, Sampled(PD(1, 1, [0, 0]), 0.1), 0.0, np.zeros(4))


def test_frequency_response_is_what_a_sine_does(arm) -> None:
    import casadi as ca

    rest = arm.equilibrium([-np.pi / 2, 0.0])  # hanging: stable
    damped = pliant.Robot.model_validate(_with_friction()).model()
    hertz, amplitude, hold = 3.0, 0.01, damped.holding_torque(rest)
    G = frequency_response(damped, [hertz], rest)[0]

    class Sine:
        def expression(self, t, q, qd):
            return ca.DM(hold) + ca.vertcat(amplitude * ca.sin(2 * np.pi * hertz * t), 0)

    result = pliant.simulate(damped, 8.0, q0=rest, torque=Sine(), output_step=1 / 300)
    late = result.t > 6.0  # friction has taken the transient: exp(-3 * 6)
    wave = np.exp(-2j * np.pi * hertz * result.t[late][:-1])
    measured = 2j * (wave[:, None] * (result.q[late][:-1] - rest)).mean(axis=0) / amplitude
    np.testing.assert_allclose(measured, G[:4, 0], atol=2e-3 * np.abs(G[:4, 0]).max())


def _with_friction() -> dict:
    robot = unequal_two_link().to_dict()
    for link in robot["links"]:
        link["joint"] = {**link["joint"], "friction": {"viscous": 20.0}}
        link["shapes"] |= {"damping": 0.05}
    return robot


def test_frequency_response_of_an_accelerometer() -> None:
    """x'' = (u - c x' - k x) / m, read as an acceleration: -w^2 / (k - m w^2 + i c w), with its feedthrough 1/m."""
    m, c, k = 1.7, 0.4, 90.0
    system = StateSpace(
        np.array([[0.0, 1.0], [-k / m, -c / m]]), np.array([[0.0], [1 / m]]), np.array([[-k / m, -c / m]]),
        np.array([[1 / m]]),
    )  # fmt: skip
    hertz = np.array([0.3, 1.2, 40.0])
    w = 2 * np.pi * hertz
    expected = -(w**2) / (k - m * w**2 + 1j * c * w)
    np.testing.assert_allclose(frequency_response(system, hertz)[:, 0, 0], expected, rtol=1e-12)


def test_link_frequencies_with_a_load_beyond_the_tip() -> None:
    """Mass, inertia and first moment at the tip of a beam of 1.3 m: roots of the frequency equation, in both planes."""
    mu, L, EI_y, EI_z = 2.1, 1.3, 70.0, 160.0
    model = unequal_beam(Shapes(method="elements", count=5, bending_y=True, bending_z=True), SLENDER).model(
        stiffening="off"
    )
    load = TipLoad(mass=0.9, inertia=0.3, first_moment=0.35)
    found = 2 * np.pi * link_frequencies(model, "arm", load=load)
    beta = clamped_mass_roots(2, 0.9 / (mu * L), 0.3 / (mu * L**3), 0.35 / (mu * L**2))
    expected = np.sort(np.outer(np.sqrt([EI_y, EI_z]), beta**2).ravel() / (np.sqrt(mu) * L**2))
    np.testing.assert_allclose(found[:4], expected, rtol=1e-3)  # five elements


def test_modes_of_a_spatial_arm() -> None:
    robot = pliant.load("two-link").to_dict() | {"gravity": [0, 0, 0]}
    for link in robot["links"]:
        link["shapes"] |= {"bending_z": 1}
    model = pliant.Robot.model_validate(robot).model()
    q = np.array([0.2, 0.7, 0, 0, 0, 0])
    sensors = [Encoder("upper"), StrainGauge("upper")]
    found = controllability(model, q, sensors=sensors)
    np.testing.assert_allclose(found.participation.sum(axis=1), 1, atol=1e-10)
    np.testing.assert_allclose(found.frequencies, model.frequencies(q, "free"), atol=1e-9)
    aside = [k for k in range(6) if found.owner(k).split(".")[1:2] == ["bending_z"]]
    assert len(aside) == 2
    assert found.uncontrollable() == aside
    assert set(aside) <= set(found.unobservable())
    blind = controllability(model, q)
    with pytest.raises(pliant.ModelError, match="no sensors"):
        blind.unobservable()


def test_observability_is_what_a_vibration_of_unit_energy_shows() -> None:
    """Each mode swings with kinetic and strain energy 1/2 in turn; the largest reading, beside that of other modes."""
    model = unequal_arm().replace({"gravity": (0, 0, 0)}).model(stiffening="off")
    q = np.zeros(model.n)
    q[: model.n_joints] = 0.3, -0.5, 0.1
    q = model.equilibrium(q[: model.n_joints])
    sensors = [StrainGauge("boom", 0.3), Encoder("boom", rate=True, side="link"), TipPosition()]
    found = controllability(model, q, "locked", sensors)
    reader = Measurement(model, sensors)
    largest = []
    for f, shape in zip(found.frequencies, found.shapes.T):
        w, h = 2 * np.pi * f, 1e-6
        assert shape @ model.mass_matrix(q) @ shape == pytest.approx(1.0, rel=1e-9)
        readings = []
        for phase in (0.0, np.pi / 2):
            move, rate = shape / w * np.cos(phase), -shape * np.sin(phase)
            ends = [reader.ideal(q + s * h * move, s * h * rate)[0] for s in (1, -1)]
            readings.append((ends[0] - ends[1]) / (2 * h))
        largest.append(np.hypot(*readings))  # of a swing
    expected = np.array(largest) / np.max(largest, axis=0)
    np.testing.assert_allclose(found.observe, expected, atol=1e-6)  # differences


def test_control_cosines_span_the_torque(arm) -> None:
    # with all modes the cosines of one torque are the coordinates of a unit vector
    found = controllability(arm, [0.1, 0.6, 0, 0])
    np.testing.assert_allclose((found.control**2).sum(axis=0), 1, atol=1e-10)


def test_link_frequencies_of_a_loaded_beam() -> None:
    model = pliant.load("crane-4dof").model(stiffening="off")
    # steel tube 50/40 mm: clamped-mass 9.133, 70.48 Hz (1.8 m with 3.56 kg), 4.726, 53.08 Hz (2 m with 13.55 kg)
    for link, expected in (("outer", [9.133, 70.48]), ("inner", [4.726, 53.08])):
        found = link_frequencies(model, link)
        np.testing.assert_allclose(found[[0, 2]], expected, rtol=2e-3)  # the shapes carry the sections' rotary inertia
    heavier = link_frequencies(model, "outer", load=TipLoad(mass=3.56, inertia=0.5, first_moment=0.4))
    assert heavier[0] < link_frequencies(model, "outer")[0]
    with pytest.raises(pliant.ModelError, match="does not vibrate"):
        link_frequencies(model, "tool")


def test_python_control(arm, monkeypatch) -> None:
    system = arm.linearize(np.zeros(4))
    monkeypatch.setitem(sys.modules, "control", None)
    with pytest.raises(pliant.PliantError, match=r"pip install '\.\[control\]'"):
        to_control(system)
    double = types.ModuleType("control")
    double.StateSpace = lambda *matrices, **names: (matrices, names)
    monkeypatch.setitem(sys.modules, "control", double)
    matrices, names = to_control(system, arm)
    np.testing.assert_array_equal(matrices[0], system.A)
    assert names["inputs"] == ["upper", "fore"]
    assert len(names["states"]) == 8


def test_python_control_itself(arm) -> None:
    control = pytest.importorskip("control")
    if not hasattr(control, "StateSpace"):
        pytest.skip("python-control is not installed")
    converted = to_control(arm.linearize(np.zeros(4)), arm)
    assert isinstance(converted, control.StateSpace)
    assert converted.ninputs == 2


def test_python_control_names_outputs_with_their_units() -> None:
    pytest.importorskip("control", reason="python-control is not installed (extra: control)")
    beam = pliant.Beam(length=0.8, mass_per_length=2.0, EI_z=300.0)
    boom = pliant.Link(name="boom", beam=beam, shapes=pliant.Shapes(bending_y=1))
    joint = pliant.Joint(type="prismatic", axis=[1, 0, 0])
    slide = pliant.Link(name="slide", joint=joint, rigid=pliant.RigidBody.slender_rod(1.0, 0.5))
    model = pliant.Robot(name="turn and slide", links=[boom, slide]).model()
    q = np.zeros(model.n)
    system = model.linearize(q)
    plant = to_control(system, model)
    assert plant.output_labels[:3] == ["boom [rad]", "slide [m]", "boom_bending_y_1 [m]"]
    assert plant.output_labels[3:5] == ["boom_rate [rad/s]", "slide_rate [m/s]"]
    assert plant.state_labels[4] == "slide.rate"
    A, B, C, D = system
    locked = to_control(system._replace(A=A[:2, :2], B=B[:2], C=np.eye(2), D=D[:2]), model)  # as with joints="locked"
    assert locked.output_labels == ["boom_bending_y_1 [m]", "boom_bending_y_1_rate [m/s]"]
    two = system._replace(C=C[:2], D=D[:2])
    assert to_control(two, model).output_labels == ["y[0]", "y[1]"]
    assert to_control(two, model, ["a", "b"]).output_labels == ["a", "b"]
    with pytest.raises(pliant.ModelError, match="expected 2 names"):
        to_control(two, model, ["a"])
    with pytest.raises(pliant.ModelError, match="got 4 states, expected 6"):
        to_control(system._replace(A=A[:4, :4], B=B[:4], C=np.eye(4), D=D[:4]), model)


@pytest.mark.full
def test_python_control_of_a_free_base() -> None:
    pytest.importorskip("control", reason="python-control is not installed (extra: control)")
    model = pliant.load("free-flyer").model("denoc", stiffening="off")
    plant = to_control(model.linearize(), model)
    assert plant.output_labels[2:4] == ["base_wz [rad]", "base_vx [m]"]
