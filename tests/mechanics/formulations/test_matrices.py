"""The terms that `model.matrices` names add up to the equations of motion, and the DeNOC matrices multiply out."""

from __future__ import annotations

import warnings

import casadi as ca
import numpy as np
import pytest

import pliant
from arms import random_robot, random_state
from pliant.mechanics import build_chain, equations
from pliant.mechanics.formulations import terms as matrices
from pliant.model import PartitionedMatrices, ScrewMatrices
from pliant.robot import Beam, Joint, Link, Robot, Shapes

ROUND_OFF = 1e-11  # relative to the largest term: sums of a few hundred terms, with cancellation between them
SEEDS = (0, 4)
LEVELS = {0: "off", 4: "second-order"}
"""The first has two flexible links, the second one that is stiffened."""


def state(model: pliant.Model, seed: int, deflection: float = 0.02) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    q, qd, _ = random_state(model.robot, model.n, model.n_joints, seed, deflection)
    return q, qd, np.random.default_rng(seed + 1).normal(size=model.n)


def assert_close(found: np.ndarray, expected: np.ndarray, tolerance: float = ROUND_OFF) -> None:
    assert np.abs(found - expected).max() <= tolerance * np.abs(expected).max()


@pytest.mark.slow_cases("denoc-4", "recursive-lagrange-4")
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("formulation", ["denoc", "gibbs-appell", "recursive-lagrange"])
def test_general_terms_add_up(formulation: str, seed: int) -> None:
    model = random_robot(seed, 2, drives=True).model(formulation, stiffening=LEVELS[seed])
    q, qd, qdd = state(model, seed)
    terms = model.matrices(q, qd)
    assert_close(terms.M @ qdd + terms.h + terms.c + terms.K @ q + terms.d, model.inverse_dynamics(q, qd, qdd))
    assert_close(terms.h, 0.25 * model.matrices(q, 2 * qd).h)  # velocity terms are quadratic
    assert np.array_equal(terms.c, model.matrices(q, 2 * qd).c)


@pytest.mark.slow_cases("4")
@pytest.mark.parametrize("seed", SEEDS)
def test_partitioned_terms_add_up(seed: int) -> None:
    model = random_robot(seed, 2, drives=True).model("lagrange", stiffening=LEVELS[seed])
    q, qd, qdd = state(model, 3, 0.002)
    terms = model.matrices(q, qd)
    assert isinstance(terms, PartitionedMatrices)
    r, N = len(terms.M_rr), len(terms.M_ff)
    assert (r + N, terms.K.shape, terms.M_rf.shape) == (model.n, (N, N), (r, N))
    M = np.block([[terms.M_rr, terms.M_rf], [terms.M_rf.T, terms.M_ff]])
    assert_close(M, model.mass_matrix(q))
    elastic = np.concatenate([np.zeros(r), terms.K @ q[r:]])
    assert_close(M @ qdd + terms.h + terms.c + elastic + terms.d, model.inverse_dynamics(q, qd, qdd))


def test_strain_energy_that_changes_with_length_stands_in_c() -> None:
    """Sliding beam: the row of its length holds dV/dl, which (26) omits."""
    link = Link(
        name="slide",
        joint=Joint(type="prismatic", axis=(1, 0, 0)),
        beam=Beam(length=1.0, mass_per_length=0.5, EI_y=80, EI_z=80, slides=True, total_length=1.2),
        shapes=Shapes(bending_y=1),
    )
    chain = build_chain(Robot(name="sliding", gravity=(0, 0, 0), links=[link]))
    q, qd = ca.SX.sym("q", 2), ca.SX.sym("qd", 2)
    terms = ca.Function("terms", [q, qd], matrices.partitioned(equations(chain, "lagrange"), q, qd))
    l, c = 0.8, 0.01
    *_, potential, K, _ = (np.array(x) for x in terms([l, c], [0, 0]))
    stiffness = 80 * 1.8751040687119611**4 / l**3  # V = EI beta^4 c^2 / 2 l^3 for clamped-free modes
    assert K[0, 0] == pytest.approx(stiffness, rel=1e-11)
    assert potential[:, 0] == pytest.approx([-1.5 * stiffness * c**2 / l, 0.0], rel=1e-11, abs=1e-12)


def test_stiffness_of_a_clamped_link_is_that_of_its_mode() -> None:
    """K of one clamped-free mode is EI beta^4 / L^3 for shapes with int psi^2 = 1."""
    robot = pliant.load("two-link")
    terms = robot.model("lagrange").matrices(np.zeros(4), np.zeros(4))
    assert np.diag(terms.K) == pytest.approx(1000 * 1.8751040687119611**4, rel=1e-12)


@pytest.mark.parametrize("seed", SEEDS)
def test_screw_terms_add_up(seed: int) -> None:
    model = random_robot(seed, 2).model("dual-screw")
    q, qd, qdd = state(model, seed, 1e-3)
    terms = model.matrices(q, qd)
    assert isinstance(terms, ScrewMatrices)
    assert terms.smallest_eigenvalue == pytest.approx(np.linalg.eigvalsh(model.mass_matrix(q))[0], rel=1e-12)
    total = terms.M @ qdd + terms.C @ qd + terms.K @ q + terms.g + terms.d
    assert_close(total, model.inverse_dynamics(q, qd, qdd))


def test_large_amplitudes_are_warned_of() -> None:
    model = pliant.load("two-link").model("dual-screw")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.matrices(np.zeros(4), np.zeros(4))
    q = np.array([0.0, np.pi / 2, 5.0, 0.0])  # a deflection of ten metres in a link of one
    with pytest.warns(UserWarning, match="smallest eigenvalue"):
        terms = model.matrices(q, np.zeros(4))
    assert terms.smallest_eigenvalue < 0


def test_batches_keep_their_leading_axes() -> None:
    model = pliant.load("two-link").model("lagrange")
    q = np.random.default_rng(0).normal(size=(2, 3, 4)) * 0.1
    terms = model.matrices(q, q)
    assert terms.M_rr.shape == (2, 3, 2, 2)
    assert terms.K.shape == (2, 3, 2, 2)
    assert terms.h.shape == (2, 3, 4)
    assert terms.h[1, 2] == pytest.approx(model.matrices(q[1, 2], q[1, 2]).h, rel=1e-14)


@pytest.mark.slow_cases("4")
@pytest.mark.parametrize("seed", SEEDS)
def test_denoc_matrices_multiply_out(seed: int) -> None:
    model = random_robot(seed, 2, drives=True).model(stiffening=LEVELS[seed])
    q, _, _ = state(model, seed)
    found = model.denoc_matrices(q)
    order = [model.index(name) for name in found.coordinates]
    N = found.N_l @ found.N_d
    assert_close(N.T @ found.M @ N, found.GIM)
    assert_close(found.U * found.D @ found.U.T, found.GIM)
    assert_close(found.GIM, model.mass_matrix(q)[np.ix_(order, order)])
