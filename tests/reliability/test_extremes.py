"""Physics at the edge: huge ratios of mass and stiffness, tips of nothing, many modes, many links.

The judges are closed forms, the formulation `lagrange`, inverse after forward dynamics, and the energy balance.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import pliant
from pliant import Beam, Joint, Link, RigidBody, Robot, Shapes
from pliant.robot import Lump, Origin

EPS = np.finfo(float).eps


def _beam(**changes: Any) -> Beam:
    return Beam(**{"length": 1.0, "mass_per_length": 2.0, "EI_y": 500.0, "EI_z": 500.0, **changes})


def _arm(*beams: Beam, shapes: Shapes | None = None, payload: float = 0.0) -> Robot:
    shapes = shapes or Shapes(bending_y=2)
    links = [Link(name=f"l{k}", beam=beam, shapes=shapes) for k, beam in enumerate(beams)]
    return Robot(name="edge", gravity=(0, -9.81, 0), links=links, payload=Lump(mass=payload))


def _agree(robot: Robot, seed: int = 0) -> None:
    """`denoc` solves its own equations, and `lagrange`'s, as well as the condition of M allows.

    Both are backward stable: what is held is M qdd + bias = S tau, relative to the size of its terms. A thousandfold of
    rounding is for the operations of a tape some thousands long.
    """
    rng = np.random.default_rng(seed)
    ours, judge = robot.model(), robot.model("lagrange")
    q, qd = rng.normal(size=ours.n) * 0.01, rng.normal(size=ours.n) * 0.1
    q[: ours.n_joints], tau = rng.normal(size=ours.n_joints), rng.normal(size=ours.n_joints)
    qdd = ours.forward_dynamics(q, qd, tau)
    for m in (ours, judge):
        M, h = m.mass_matrix(q), m.bias(q, qd)
        size = np.abs(M) @ np.abs(qdd) + np.abs(h) + np.abs(ours.actuation @ tau)
        assert (np.abs(M @ qdd + h - ours.actuation @ tau) <= 1e4 * EPS * size).all()
    assert np.allclose(
        ours.mass_matrix(q), judge.mass_matrix(q), rtol=0, atol=1e3 * EPS * np.abs(judge.mass_matrix(q)).max()
    )
    with np.errstate(all="raise"):
        assert (np.linalg.eigvalsh(_scaled(ours.mass_matrix(q))) > 0).all()


def _scaled(M: Any) -> Any:
    """With a diagonal of ones: positive definite if and only if M is, and fit for rounding."""
    d = 1 / np.sqrt(np.diag(M))
    return d[:, None] * M * d


@pytest.mark.parametrize("ratio", [pytest.param(1e-6, marks=pytest.mark.full), 1e6])
def test_mass_ratio(ratio: float) -> None:
    """One link a million times as heavy as the other, either way round."""
    _agree(_arm(_beam(), _beam(mass_per_length=2.0 * ratio)))


@pytest.mark.parametrize("ratio", [pytest.param(1e-9, marks=pytest.mark.full), 1e9])
def test_stiffness_ratio(ratio: float) -> None:
    _agree(_arm(_beam(), _beam(EI_y=500.0 * ratio, EI_z=500.0 * ratio)))


@pytest.mark.parametrize("payload", [1e-12, 1e6])
def test_payload_of_nothing_and_of_a_ship(payload: float) -> None:
    """Frequency of a clamped beam with a mass at its tip: with the load in the shapes, that of a massless spring
    3EI/L^3 with the mass and 33/140 of the beam's (Rayleigh), right to the part of the beam's mass in the load."""
    shapes = Shapes(boundary="clamped-mass", tip_load="auto", bending_y=1)
    robot = _arm(_beam(), shapes=shapes, payload=payload)
    _agree(robot)
    found = robot.replace({"gravity.1": 0.0}).model().frequencies()[0]
    if payload > 1:
        expected = np.sqrt(3 * 500.0 / (payload + 33 / 140 * 2.0)) / (2 * np.pi)
        assert found == pytest.approx(expected, rel=2.0 / payload)
    else:
        expected = 1.8751040687119611**2 * np.sqrt(500.0 / 2.0) / (2 * np.pi)  # beta_1 of the clamped-free beam
        assert found == pytest.approx(expected, rel=1e-9)


def test_a_massless_tip_link_is_right_or_refused() -> None:
    """A last link of a microgram: its own frequency is that of the closed form; one of nothing at all is refused."""
    light = _arm(_beam(), _beam(mass_per_length=1e-9, EI_y=1e-3, EI_z=1e-3))
    _agree(light)
    with pytest.raises(pliant.ModelError, match="mass_per_length"):
        _beam(mass_per_length=0.0)
    nothing = Robot(name="nothing", links=[Link(name="a", rigid=RigidBody(mass=0.0))])
    with pytest.raises(pliant.ModelError, match="inertia"):
        nothing.model()


@pytest.mark.full
def test_forty_modes() -> None:
    """Frequencies of forty clamped-free modes: beta_n L = (n - 1/2) pi but for the first few, whose correction
    2 (-1)^(n+1) exp(-(n - 1/2) pi) is below 1e-13 from n = 10 on."""
    model = _arm(_beam(), shapes=Shapes(bending_y=40)).replace({"gravity.1": 0.0}).model()
    n = np.arange(10, 41)
    expected = ((n - 0.5) * np.pi) ** 2 * np.sqrt(500.0 / 2.0) / (2 * np.pi)
    found = model.frequencies()
    assert len(found) == 40
    assert np.allclose(found[9:], expected, rtol=1e-9, atol=0)  # M is the identity to 1e-12 only after quadrature
    state = np.zeros(41)
    state[1:] = 1e-3 / np.arange(1, 41) ** 2
    qdd = model.forward_dynamics(state, np.zeros(41), [0.0])
    back = model.inverse_dynamics(state, np.zeros(41), qdd)
    assert np.abs(back).max() < 1e-9 * np.abs(model.bias(state, np.zeros(41))).max()


@pytest.mark.full
def test_a_hundred_links() -> None:
    """A hundred rigid links, three axes in turn: inverse dynamics gives back the torques, energy stays."""
    axes = ((0.0, 0.0, 1.0), (0.0, 1.0, 0.0), (1.0, 0.0, 0.0))
    body = RigidBody(mass=1.0, com=(0.05, 0, 0), inertia=(0.001, 0.002, 0.002), tip=(0.1, 0, 0))
    links = [Link(name=f"l{k}", joint=Joint(axis=axes[k % 3], origin=Origin()), rigid=body) for k in range(100)]
    model = Robot(name="snake", links=links).model()
    rng = np.random.default_rng(0)
    q, qd, tau = rng.normal(size=100) * 0.1, rng.normal(size=100) * 0.1, rng.normal(size=100)
    back = model.inverse_dynamics(q, qd, model.forward_dynamics(q, qd, tau))
    assert np.abs(back - tau).max() < 1e-8 * np.abs(model.bias(q, qd)).max()  # the condition of M is about 1e7
    run = pliant.simulate(model, 0.1, q, method="rk4", step=1e-3, progress=False)
    assert np.abs(run.energy_balance).max() < 1e-6 * run.energy.kinetic.max()


@pytest.mark.full
@pytest.mark.parametrize(("mass", "stiffness"), [(1e6, 1.0), (1.0, 1e9), (1e-6, 1e-3)])
def test_energy_balance_of_extreme_arms(mass: float, stiffness: float) -> None:
    """A swing of 20 ms; stiff ones are left to the method that `auto` chooses."""
    robot = _arm(_beam(), _beam(mass_per_length=2.0 * mass, EI_y=500.0 * stiffness, EI_z=500.0 * stiffness))
    run = pliant.simulate(robot.model(), 0.02, {"l0": -1.0, "l1": 0.3}, rtol=1e-9, atol=1e-12, progress=False)
    scale = max(run.energy.kinetic.max(), np.ptp(run.energy.gravity))
    assert np.abs(run.energy_balance).max() < 1e-5 * scale  # of local errors of 1e-9 over some thousand steps


@pytest.mark.parametrize(
    "changes",
    [{"EI_y": 1e300, "EI_z": 1e300}, {"mass_per_length": 1e300}, {"length": 1e200}, {"length": 1e-200},
     {"EI_y": 1e-300, "EI_z": 1e-300}, {"mass_per_length": 5e-324}],
)  # fmt: skip
def test_beyond_all_physics(changes: dict[str, float]) -> None:
    """Numbers and no warnings, or a message; never NaN in silence."""
    try:
        model = _arm(_beam(**changes)).model()
        found = model.frequencies()
        qdd = model.forward_dynamics(np.zeros(model.n), np.zeros(model.n), np.zeros(1))
    except pliant.PliantError:
        return  # a message, which the fuzz corpus holds to its form
    assert np.isfinite(found).all()
    assert np.isfinite(qdd).all()
