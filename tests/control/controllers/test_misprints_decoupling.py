"""Misprints of [TG95] about control: (32), (34) and the Lemma; printed forms fail, ours hold."""

from __future__ import annotations

import numpy as np
import pytest

from pliant import Beam, Joint, Link, Model, Robot, Shapes
from pliant.analysis import overestimation
from pliant.analysis.overestimation import Overestimation
from pliant.control import ComputedTorque, Cycloidal
from pliant.robot import Lump, Origin

G_P, G_V = 400.0, 40.0
GOAL = np.array([0.4, -0.6])


@pytest.fixture(scope="module")
def spatial() -> Model:
    """Two flexible links whose axes are turned against each other, under gravity."""
    links = [
        Link(
            name=f"link{k}",
            joint=Joint(origin=Origin(rpy=(0.9 * k, 0.3, 0.2)), hub=Lump(inertia=(0.1, 0.1, 0.1))),
            beam=Beam(length=1.0, mass_per_length=0.5, EI_y=300.0, EI_z=200.0),
            shapes=Shapes(bending_y=1, bending_z=1),
        )
        for k in range(2)
    ]
    return Robot(name="spatial", gravity=(1.0, -9.0, 2.0), links=links).model()


def decoupled(model: Model, q: np.ndarray, qd: np.ndarray, u: np.ndarray) -> np.ndarray:
    """(31) with numbers."""
    M, h = model.mass_matrix(q), model.bias(q, qd)
    lever = M[:2, 2:] @ np.linalg.inv(M[2:, 2:])
    return (M[:2, :2] - lever @ M[2:, :2]) @ u + h[:2] - lever @ h[2:]


def test_32_first_gain_is_G_p(spatial: Model) -> None:
    """At the goal, at rest, nothing may accelerate; with G_v before q the joints run off by (G_p - G_v) q_d."""
    q, qd = spatial.equilibrium(GOAL), np.zeros(spatial.n)
    r = G_P * GOAL  # (33) at rest
    printed = -G_V * q[:2] - G_V * qd[:2] + r  # (32)
    ours = ComputedTorque(G_P, G_V, GOAL).bind(spatial)(0.0, q, qd)
    assert np.abs(spatial.forward_dynamics(q, qd, ours)[:2]).max() < 1e-8  # 1e-16 times gains times condition of M
    runaway = spatial.forward_dynamics(q, qd, decoupled(spatial, q, qd, printed))[:2]
    assert runaway == pytest.approx((G_P - G_V) * GOAL, rel=1e-8)


def test_34_the_error_is_driven_by_G_p(spatial: Model) -> None:
    """Along a moving reference e'' + G_v e' + G_p e = 0, whatever the links do; printed G_v e leaves (G_v - G_p) e."""
    rng = np.random.default_rng(5)
    q, qd = rng.normal(size=6) * [1, 1, 0.02, 0.02, 0.02, 0.02], rng.normal(size=6)
    reference = Cycloidal([0.0, 0.0], GOAL, 1.0)
    r, rd, rdd = reference(0.4)
    torque = ComputedTorque(G_P, G_V, reference).bind(spatial)(0.4, q, qd)
    e, ed, edd = q[:2] - r, qd[:2] - rd, spatial.forward_dynamics(q, qd, torque)[:2] - rdd
    scale = np.abs(G_P * e).max()
    assert np.abs(edd + G_V * ed + G_P * e).max() < 1e-9 * scale  # round-off times the condition of M
    assert edd + G_V * ed + G_V * e == pytest.approx((G_V - G_P) * e, rel=1e-6)
    assert np.abs(edd + G_V * ed + G_V * e).max() > 0.5 * scale


@pytest.mark.slow_cases("shapes1")
@pytest.mark.parametrize("shapes", [{"bending_y": 2}, {"method": "elements", "count": 2, "bending_y": True}])
def test_lemma_means_a_fraction_and_bounds_no_stability(shapes: dict[str, object]) -> None:
    """alpha lambda_max(H) = 1 is where K - H dK turns singular, for alpha a fraction; the paper says percentage."""
    study = _single(**shapes)
    smallest = [np.linalg.eigvals(study.effective_stiffness(a)).real.min() for a in (0, study.bound / 100, study.bound)]
    assert abs(smallest[2]) < 1e-7 * smallest[0]  # round-off of the stiffest element, 1e4 times the softest
    assert smallest[1] > 0.9 * smallest[0]  # alpha read in per cent: far from singular
    assert study.growth(study.bound / 2) > 1.0  # "stable" by the Lemma, and yet it grows
    assert study.growth(-study.bound / 2) < 1e-9


def test_H_is_not_symmetric() -> None:
    """Remark 2: the product of two symmetric matrices has eigenvalues >= 0, but its quadratic form takes any sign."""
    H = _single(method="elements", count=2, bending_y=True).H
    values = np.linalg.eigvals(H).real
    assert values.min() > -1e-9 * values.max()
    assert np.abs(H - H.T).max() > 0.1 * np.abs(H).max()
    assert np.linalg.eigvalsh(H + H.T).min() < -0.1 * values.max()


def _single(**shapes: object) -> Overestimation:
    """Link 2 of the paper alone on a light hub."""
    beam = Beam(length=1.0, mass_per_length=0.331, EI_y=1165.4916, EI_z=1165.4916)
    link = Link(name="beam", joint=Joint(hub=Lump(inertia=(0, 0, 0.05))), beam=beam, shapes=Shapes(**shapes))
    return overestimation(Robot(name="single", gravity=(0, 0, 0), links=[link]).model(), [0.0], G_P, G_V)
