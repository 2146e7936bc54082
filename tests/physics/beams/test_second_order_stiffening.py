"""Stiffening by the projected field of second order: cheap, definite, and the same in every formulation."""

from __future__ import annotations

import numpy as np
import pytest

import pliant
from pliant import Beam, Joint, Link, Robot, Shapes
from pliant.robot import Lump, Origin

BEAM = Beam(length=1.0, mass_per_length=2.0, EI_y=80.0, EI_z=100.0, EA=1e5)


def arm(count: int = 2, axial: int = 0) -> Robot:
    """A beam that bends in both planes carries a pinned one on a skew joint; lumps."""
    hub = Joint(hub=Lump(mass=0.2, inertia=(0, 0, 0.1)))
    links = [
        Link(name="a", joint=hub, beam=BEAM, shapes=Shapes(bending_y=count, bending_z=1, axial=axial)),
        Link(
            name="b",
            joint=Joint(axis=(0, 0, 1), origin=Origin(rpy=(0.7, 0, 0))),
            beam=BEAM,
            shapes=Shapes(boundary="pinned", bending_y=count),
        ),
    ]
    return Robot(name="bending", gravity=(0, -9.81, 0), links=links, payload=Lump(mass=0.5, inertia=(0.01, 0.01, 0.01)))


def state(n: int, size: float, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    q, qd = rng.normal(size=(2, n))
    q[2:] *= size
    qd[2:] *= size
    return q, qd


@pytest.mark.slow_cases("denoc")
@pytest.mark.parametrize(
    "formulation",
    ["denoc", *(pytest.param(name, marks=pytest.mark.full) for name in ("gibbs-appell", "recursive-lagrange"))],
)
def test_formulations_agree(formulation: str) -> None:
    """As with all products: recursions against the energy, to 1e-9 (1e-13 measured)."""
    robot = arm(axial=1)
    judge, other = (robot.model(name, stiffening="second-order") for name in ("lagrange", formulation))
    q, qd = state(judge.n, 0.03)
    expected = judge.forward_dynamics(q, qd, [1.0, -2.0])
    assert np.abs(other.forward_dynamics(q, qd, [1.0, -2.0]) - expected).max() < 1e-9 * np.abs(expected).max()


def test_energy_is_kept() -> None:
    model = arm().model(stiffening="second-order")
    q, qd = state(model.n, 0.003)
    run = pliant.simulate(model, 0.3, q, qd, method="dop853", rtol=1e-10, atol=1e-12)
    total = run.energy.total
    assert np.abs(total - total[0]).max() < 1e-7 * run.energy.kinetic.max()  # what the integrator leaves


def test_frequencies_under_weight_are_the_same() -> None:
    """About the straight arm the field acts through the weight alone: tip and moments of mass, exact in both."""
    every, fewer = (arm().model(stiffening=kind) for kind in ("third-order", "second-order"))
    q = np.zeros(every.n)
    q[0] = -np.pi / 2
    assert np.allclose(every.frequencies(q), fewer.frequencies(q), rtol=1e-10)


@pytest.mark.slow
def test_it_costs_less() -> None:
    robot = pliant.load("two-link").replace({f"links.{name}.shapes.bending_y": 5 for name in ("upper", "fore")})
    counts = [
        robot.model(stiffening=kind).operation_count("forward_dynamics") for kind in ("third-order", "second-order")
    ]
    assert counts[1]["mul"] < 0.6 * counts[0]["mul"]
