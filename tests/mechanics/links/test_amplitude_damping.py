"""Damping that grows with the amplitude: swings of a plucked beam against the amplitude that varies slowly, in closed
form; energy that is never made; the same in batches, in C, and found again from readings."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import pliant
from pliant import Beam, Joint, Link, Robot, Shapes
from pliant.errors import UnsupportedModel
from pliant.robot import Lump

LENGTH, GROWTH = 0.8, 0.6


def plucked(ratio: float = 0.004, growth: float = GROWTH, **shapes: Any) -> Robot:
    """A clamped beam without weight, with a mass at its tip."""
    link = Link(
        name="beam", joint=Joint(type="fixed"), beam=Beam(length=LENGTH, mass_per_length=0.4, EI_y=6.0, EI_z=6.0),
        shapes=Shapes(**{"bending_y": 1, **shapes}, damping=ratio, damping_per_amplitude=growth),
    )  # fmt: skip
    return Robot(name="plucked", gravity=(0, 0, 0), links=[link], payload=Lump(mass=0.2))


def peaks(run: pliant.Result) -> tuple[Any, Any]:
    """Times and amplitudes of the tip where it turns, by a parabola through three rows; the start is one."""
    y = run.deflection("beam")[:, 1]
    at = np.flatnonzero((y[1:-1] > y[:-2]) & (y[1:-1] >= y[2:])) + 1
    left, here, right = y[at - 1], y[at], y[at + 1]
    shift = (left - right) / (left - 2 * here + right) / 2
    height = here - (left - right) * shift / 4
    h = run.t[1] - run.t[0]
    return np.append(0.0, run.t[at] + shift * h), np.append(y[0], height)


def slowly(t: Any, a: float, omega: float, ratio: float, growth: float) -> Any:
    """Amplitude of da/dt = -omega a (ratio + growth a / L), integrated by hand."""
    g = growth / LENGTH
    if ratio == 0:
        return a / (1 + g * a * omega * t)
    return ratio * a / ((ratio + g * a) * np.exp(ratio * omega * t) - g * a)


@pytest.mark.parametrize(("ratio", "growth"), [(0.004, 0.6), (0.0, 0.6), (0.01, 0.0)])
@pytest.mark.parametrize(
    "shapes",
    [
        pytest.param({}, id="one mode"),
        pytest.param({"bending_y": 2, "boundary": "clamped-free"}, id="two modes", marks=pytest.mark.full),
    ],
)
def test_swings_shrink_as_the_slow_amplitude_does(ratio: float, growth: float, shapes: dict[str, Any]) -> None:
    """Averaging leaves out terms of the order of the ratio itself: 2 % of what was lost, for ratios up to 0.034."""
    model = plucked(ratio, growth, **shapes).model()
    omega = 2 * np.pi * model.frequencies()[0]
    vector = model.modes().shapes[:, 0]
    rise = model.tip_pose(1e-6 * vector)[1, 3] / 1e-6
    start = vector * (0.04 / rise)
    run = pliant.simulate(model, 30 * 2 * np.pi / omega, q0=start, output_step=2 * np.pi / omega / 400)
    t, found = peaks(run)
    assert len(found) >= 30
    expected = slowly(t, found[0], omega, ratio, growth)
    np.testing.assert_allclose(found, expected, atol=0.02 * (found[0] - found[-1]))
    decrement = np.log(found[:-1] / found[1:])
    if growth:  # by amplitude: the line ratio + growth a / L
        slope, level = np.polyfit((found[:-1] + found[1:]) / 2, decrement / (2 * np.pi), 1)
        assert slope == pytest.approx(growth / LENGTH, rel=0.03)
        assert level == pytest.approx(ratio, abs=6e-4)
    else:
        np.testing.assert_allclose(decrement / (2 * np.pi), ratio, rtol=1e-3)


@pytest.mark.slow
def test_no_motion_makes_energy(rng: np.random.Generator) -> None:
    """The power of the dampers is never positive, for arms in space that bend both ways and twist."""
    robot = pliant.load("two-link").to_dict()
    for link in robot["links"]:
        link["shapes"] = {"bending_y": 1, "bending_z": 1, "torsion": 1, "damping_per_amplitude": 1.5}
        link["beam"] = {"length": 1.0, "mass_per_length": 3.0, "EI_y": 800.0, "EI_z": 500.0, "GJ": 300.0,
                        "polar_inertia": 1e-3}  # fmt: skip
    model = Robot.model_validate(robot).model()
    bare = model.robot.replace({f"links.{n}.shapes.damping_per_amplitude": 0.0 for n in ("upper", "fore")}).model()
    q, qd = 0.02 * rng.normal(size=(200, model.n)), 3 * rng.normal(size=(200, model.n))
    lost = np.einsum("ai,ai->a", model.bias(q, qd) - bare.bias(q, qd), qd)
    assert lost.min() > 0
    qd[:, model.n_joints :] = 0.0  # an arm that turns as a whole loses nothing
    np.testing.assert_allclose(model.bias(q, qd), bare.bias(q, qd), atol=1e-9)
    run = pliant.simulate(model, 0.3, q0=q[0], qd0=0.1 * q[1])
    assert np.abs(run.energy_balance).max() < 1e-6
    assert run.work[-1] < 0
    assert (np.diff(run.work) <= 1e-12).all()


def test_formulations_and_derivatives_know_it(rng: np.random.Generator) -> None:
    arm = pliant.load("two-link").replace({"links.fore.shapes.damping_per_amplitude": 2.0})
    model, other = arm.model(), arm.model(formulation="lagrange")
    q, qd, tau = 0.05 * rng.normal(size=4), rng.normal(size=4), rng.normal(size=2)
    np.testing.assert_allclose(model.forward_dynamics(q, qd, tau), other.forward_dynamics(q, qd, tau), rtol=1e-9)
    _, _, by_rate, _ = model.forward_dynamics_derivatives(q, qd, tau)
    h = 1e-6
    ends = [[model.forward_dynamics(q, qd + s * h * e, tau) for s in (1, -1)] for e in np.eye(4)]
    np.testing.assert_allclose(by_rate, np.transpose([(a - b) / (2 * h) for a, b in ends]), rtol=1e-5, atol=1e-5)
    still = model.forward_dynamics_derivatives(q, 0 * qd, tau)[2]
    assert np.isfinite(still).all()


def test_batches_have_it() -> None:
    model = plucked().model()
    start = np.array([[0.01], [0.03]])
    many = pliant.simulate_batch(model, 0.5, start, method="dopri5", rtol=1e-9, atol=1e-12)
    for k in range(2):
        alone = pliant.simulate(model, 0.5, q0=start[k], rtol=1e-10, atol=1e-13)
        np.testing.assert_allclose(many.q[k, -1], alone.q[-1], atol=1e-7)


def test_identify_finds_it() -> None:
    paths = ("links.beam.shapes.damping", "links.beam.shapes.damping_per_amplitude")
    gauge = pliant.control.TipPosition((1,), noise=2e-5, sample_time=0.01)
    run = pliant.simulate(plucked().model(), 6.0, q0=[0.03], sensors=[gauge])
    read = pliant.identification.Recording.of(run, q0=[0.03])
    found = pliant.identify(plucked(0.01, 0.2).model(), read, paths, clocks="ignore")
    for value, estimate, error in zip((0.004, GROWTH), found.estimates, found.standard_errors):
        assert abs(estimate - value) < 4 * error < 0.1 * value


def test_beams_that_it_is_not_built_for_are_told() -> None:
    with pytest.raises(UnsupportedModel, match="damping_per_amplitude: not built for"):
        plucked(boundary="clamped-mass", tip_load="track").model()
    with pytest.raises(UnsupportedModel, match="dampers of MuJoCo do not grow"):
        plucked().to_mjcf()
