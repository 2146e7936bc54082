"""The dual-screw equations against the energy judge, at rest, to first order and in their parts."""

from __future__ import annotations

import sys
from dataclasses import replace
from functools import cache

import casadi as ca
import numpy as np
import pytest
import scipy.linalg

from pliant.algebra.rotations import exponential
from pliant.errors import ModelError, UnsupportedModel
from pliant.mechanics import Chain, build_chain, equations
from pliant.mechanics.formulations import dual_screw, lagrange
from pliant.mechanics.formulations.dual_screw_kinematics import base_vector, derivative, poses, walk
from pliant.mechanics.formulations.generalized_forces import strain_energy
from pliant.mechanics.formulations.motion_equations import solve_positive
from pliant.mechanics.links.chain import BaseMotion
from pliant.mechanics.links.kinematics import placements, twists
from pliant.robot import Beam, Joint, Link, Lump, Origin, RigidBody, Robot, Shapes
from sources import TESTS

sys.path.insert(0, str(TESTS))
from arms import random_robot, sampled

SEEDS = (0, 1, 2, 4, 5, 6)
QUICK = (0, 1)
ROUND_OFF = 1e-11  # relative: sums of some thousand products of order one


def chain_of(seed: int, rotation: str = "exact") -> Chain:
    return build_chain(random_robot(seed, drives=seed % 3 == 0), rotation=rotation)


def elastic(chain: Chain) -> list[int]:
    return [index for link in chain.links for index in link.body_indices]


def symbols(chain: Chain) -> tuple[ca.SX, ca.SX]:
    return ca.SX.sym("q", chain.n), ca.SX.sym("qd", chain.n)


def first_order(chain: Chain, q: ca.SX, qd: ca.SX, expression: ca.SX) -> ca.SX:
    """Exact expansion to first order in all elastic states together, by automatic differentiation."""
    h, at = ca.SX.sym("h"), elastic(chain)
    qh, qdh = ca.SX(q), ca.SX(qd)
    qh[at], qdh[at] = h * q[at], h * qd[at]
    scaled = ca.substitute([ca.densify(expression)], [q, qd], [qh, qdh])[0]
    slope = ca.reshape(ca.jacobian(ca.vec(scaled), h), scaled.shape)
    return ca.substitute(scaled, h, 0) + ca.substitute(slope, h, 0)


def state(chain: Chain, seed: int, deflection: float) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    q, qd = rng.normal(size=(2, chain.n))
    q[elastic(chain)] *= deflection
    qd[elastic(chain)] *= deflection
    return q, qd


def relative(a: object, b: object) -> float:
    x, y = np.array(a), np.array(b)
    return float(np.abs(x - y).max() / max(np.abs(y).max(), 1e-300)) if x.size else 0.0


@cache
def both(seed: int, rotation: str = "exact") -> tuple[Chain, ca.Function, ca.Function]:
    """M, inertial forces and accelerations by `dual-screw` and by `lagrange` (always with exact rotations)."""
    chain, judge = chain_of(seed, rotation), chain_of(seed)
    q, qd = symbols(chain)
    made = []
    for module, arm in ((dual_screw, chain), (lagrange, judge)):
        M, h = module.mass_matrix(arm, q), module.inertial_forces(arm, q, qd)
        moving = [k for k in range(chain.n) if "motor" not in chain.coordinates[k]]
        strain = ca.gradient(strain_energy(arm, q), q)
        made.append(ca.Function("f", [q, qd], [M, h, solve_positive(M[moving, moving], -(h + strain)[moving])]))
    return chain, made[0], made[1]


def test_the_sample_covers_what_goes_beyond_the_paper() -> None:
    robots = [random_robot(seed, drives=seed % 3 == 0) for seed in QUICK]
    links = [link for robot in robots for link in robot.links]
    assert any(link.joint.type == "prismatic" for link in links)
    assert any(link.shapes is not None and link.shapes.method == "elements" for link in links)
    assert any(link.shapes is not None and link.shapes.axial for link in links)
    assert any(link.beam is not None and link.beam.rotary for link in links)
    assert any(link.joint.drive is not None for link in links)


@pytest.mark.slow_cases("0")
@pytest.mark.parametrize("seed", sampled(SEEDS, *QUICK))
def test_agrees_with_lagrange_where_nothing_is_bent(seed: int) -> None:
    chain, ours, judge = both(seed)
    for a, b in zip(ours(*state(chain, seed, 0.0)), judge(*state(chain, seed, 0.0)), strict=True):
        assert relative(a, b) < 1e-10  # asked; M and the forces differ by round-off, accelerations by its condition


@pytest.mark.parametrize("seed", sampled(SEEDS, *QUICK))
def test_error_falls_fourfold_when_elastic_states_are_halved(seed: int) -> None:
    """M and the forces, in norm, with deflections below 1e-3 of the length."""
    chain, ours, judge = both(seed)
    errors = []
    for deflection in (1e-4, 5e-5):  # shapes of unit norm reach 2 at the tip, links are longer than 0.5 m
        at = state(chain, seed, deflection)
        errors.append([np.linalg.norm(np.array(a - b)) for a, b in zip(ours(*at)[:2], judge(*at)[:2], strict=True)])
    for large, small in zip(*errors, strict=True):
        assert large / small >= 3.8


@pytest.mark.slow_cases("0")
@pytest.mark.parametrize("seed", sampled(SEEDS, *QUICK))
def test_is_the_exact_first_order_expansion(seed: int) -> None:
    """At *large* amplitudes too: nothing of first order is missing and nothing of second order is there."""
    chain = chain_of(seed)
    q, qd = symbols(chain)
    truth = [
        first_order(chain, q, qd, x) for x in (lagrange.mass_matrix(chain, q), lagrange.inertial_forces(chain, q, qd))
    ]
    ours = [dual_screw.mass_matrix(chain, q), dual_screw.inertial_forces(chain, q, qd)]
    f = ca.Function("f", [q, qd], [*ours, *truth])
    M, h, M_truth, h_truth = f(*state(chain, seed, 0.3))
    assert relative(M, M_truth) < ROUND_OFF
    assert relative(h, h_truth) < ROUND_OFF
    assert relative(M, M.T) < ROUND_OFF


def test_on_a_moving_base() -> None:
    """Forces of a base that turns and accelerates, to first order."""
    omega, alpha, a = (ca.SX(ca.DM(v)) for v in ([0.7, -0.4, 1.1], [0.3, -0.2, 0.5], [1.0, 2.0, -1.0]))
    chain = replace(chain_of(2), base=BaseMotion(omega, alpha, a))
    q, qd = symbols(chain)
    truth = first_order(chain, q, qd, lagrange.inertial_forces(chain, q, qd))
    h, h_truth = ca.Function("f", [q, qd], [dual_screw.inertial_forces(chain, q, qd), truth])(*state(chain, 2, 0.3))
    assert relative(h, h_truth) < ROUND_OFF


@pytest.mark.full
@pytest.mark.random
@pytest.mark.parametrize("seed", range(100, 300))
def test_is_the_exact_first_order_expansion_of_many_arms(seed: int) -> None:
    test_is_the_exact_first_order_expansion(seed)


@pytest.mark.slow_cases("2", "5")
@pytest.mark.parametrize("seed", [2, 5])
def test_partial_velocities_as_printed_cost_first_order(seed: int) -> None:
    """Partial angular velocities without half of theta x theta_k, as (94), (95) print them: M is off to first order."""
    chain, printed, judge = both(seed, "linear")
    errors = []
    for deflection in (1e-4, 5e-5):
        at = state(chain, seed, deflection)
        errors.append(np.linalg.norm(np.array(printed(*at)[0] - judge(*at)[0])))
    assert 1.9 < errors[0] / errors[1] < 2.1


@pytest.mark.slow_cases("2", "4", "5")
@pytest.mark.parametrize("seed", [1, 2, 4, 5])
def test_the_paper_route_gives_the_same_forces(seed: int) -> None:
    """C u - tau_g by P-hat, its derivative and dual gravity wrenches = the recursion; K q is the strain force."""
    chain = chain_of(seed)
    q, qd = symbols(chain)
    M, C, K = dual_screw.matrices(chain, q, qd)
    forces = ca.mtimes(C, qd) - dual_screw.gravity_forces(chain, q)
    strain = ca.gradient(strain_energy(chain, q), q)
    ours, mass = dual_screw.inertial_forces(chain, q, qd), dual_screw.mass_matrix(chain, q)
    f = ca.Function("f", [q, qd], [forces, ours, K, M, ca.mtimes(K, q), strain, mass])
    paper, ours, K, M, Kq, strain, mass = f(*state(chain, seed, 0.1))
    assert relative(paper, ours) < ROUND_OFF
    assert relative(K, K.T) < ROUND_OFF
    assert relative(Kq, strain) < ROUND_OFF
    assert relative(M, mass) == 0.0


@pytest.mark.slow_cases("0")
@pytest.mark.parametrize("seed", sampled(SEEDS, *QUICK))
def test_derivative_of_the_jacobian_form(seed: int) -> None:
    """dP-hat/dt by the operators (76)-(79) = by automatic differentiation."""
    chain = chain_of(seed)
    q, qd = symbols(chain)
    for frames in walk(chain, q):
        for placed in (frames.root, frames.tip):
            P = placed.jacobian_form()
            ours, X = derivative(P, placed.rates(qd)).stacked, P.stacked
            truth = ca.reshape(ca.jtimes(ca.vec(ca.densify(X)), q, qd), X.shape)
            a, b = ca.Function("f", [q, qd], [ca.densify(ours), truth])(*state(chain, seed, 0.2))
            assert relative(a, b) < ROUND_OFF


@pytest.mark.slow_cases("0")
@pytest.mark.parametrize("seed", sampled(SEEDS, *QUICK))
def test_jacobian_and_projecting_forms_are_what_they_claim(seed: int) -> None:
    """P-hat u is the twist to first order, P-check the partial velocities to first order, T-hat the pose."""
    chain = chain_of(seed)
    q, qd = symbols(chain)
    pairs = []
    for frames, twist, pose, place in zip(
        walk(chain, q), twists(chain, q, qd), poses(chain, q), placements(chain, q), strict=True
    ):
        exact = ca.vertcat(twist.omega_tip, twist.v_tip)
        placed = frames.tip
        t = placed.jacobian_form().times(placed.rates(qd))
        pairs.append((ca.vertcat(t.omega.value, t.v.value), first_order(chain, q, qd, exact)))
        columns = ca.jacobian(exact, qd)[:, list(placed.indices)]
        pairs.append((ca.vertcat(placed.P.omega.value, placed.P.v.value), first_order(chain, q, qd, columns)))
        pairs.append((pose[1].X.dual.value, first_order(chain, q, qd, place.R_tip)))
        pairs.append((pose[1].v.value, first_order(chain, q, qd, place.p_tip)))
    f = ca.Function("f", [q, qd], [ca.densify(x) for pair in pairs for x in pair])
    found = f(*state(chain, seed, 0.2))
    for ours, truth in zip(found[::2], found[1::2], strict=True):
        assert relative(ours, truth) < ROUND_OFF


@pytest.mark.parametrize("seed", sampled(SEEDS, *QUICK))
def test_a_base_vector_in_link_axes(seed: int) -> None:
    chain = chain_of(seed)
    q, qd = symbols(chain)
    g = ca.SX(ca.DM([1.0, -2.0, 3.0]))
    ours = [x.value for pair in base_vector(chain, q, g) for x in pair]
    truth = [pose.X.unapply(dual_screw.Dual.of(g)).value for pair in poses(chain, q) for pose in pair]
    a, b = ca.Function("f", [q, qd], [ca.vertcat(*ours), ca.vertcat(*truth)])(*state(chain, seed, 0.2))
    assert relative(a, b) < ROUND_OFF


@pytest.mark.parametrize("axes", ["base", "link", "section"])
@pytest.mark.parametrize("seed", [1, 2, 5])
def test_a_wrench_at_any_station_does_virtual_work(seed: int, axes: str) -> None:
    """(85), (109) against the exact velocity of the loaded section, expanded to first order."""
    chain = chain_of(seed)
    q, qd = symbols(chain)
    rng = np.random.default_rng(seed)
    force, moment, eta = ca.SX(ca.DM(rng.normal(size=3))), ca.SX(ca.DM(rng.normal(size=3))), 0.37
    at = len(chain.links) - 1
    link, twist, place = chain.links[at], list(twists(chain, q, qd))[at], list(placements(chain, q))[at]
    c, cd = chain.body(link, q), chain.body(link, qd)
    r, theta = link.body.point(c, eta)
    R, A = exponential(ca.SX(theta))
    turning, moving = (ca.jtimes(ca.SX(x), c, cd) if link.flexible else ca.SX(3, 1) for x in (theta, r))
    omega, v = twist.omega + A @ turning, twist.v + ca.cross(twist.omega, r) + moving
    into = {"base": place.R.T, "link": ca.SX.eye(3), "section": R.matrix}[axes]
    power = ca.dot(into @ force, v) + ca.dot(into @ moment, omega)
    truth = first_order(chain, q, qd, ca.gradient(power, qd))
    ours = dual_screw.external_forces(chain, q, link.name, eta, force, moment, axes)  # type: ignore[arg-type]
    a, b = ca.Function("f", [q, qd], [ours, truth])(*state(chain, seed, 0.2))
    assert relative(a, b) < ROUND_OFF


def test_refuses_maps_that_are_not_linear() -> None:
    chain = build_chain(four_dof(), stiffening="third-order")
    with pytest.raises(UnsupportedModel, match=r"dual-screw.*stiffening.*denoc"):
        equations(chain, "dual-screw")


def test_wrong_names_are_told() -> None:
    chain = chain_of(1)
    q, _ = symbols(chain)
    with pytest.raises(ModelError, match="nowhere"):
        dual_screw.external_forces(chain, q, "nowhere", 1.0, ca.SX.zeros(3), ca.SX.zeros(3))
    with pytest.raises(ModelError, match="axes"):
        dual_screw.external_forces(chain, q, chain.links[0].name, 1.0, ca.SX.zeros(3), ca.SX.zeros(3), "world")  # type: ignore[arg-type]


def test_a_linear_mass_matrix_may_lose_definiteness_and_says_so() -> None:
    """At working amplitudes M is positive definite; bent as far as it is long, the arm has a negative eigenvalue."""
    chain = build_chain(four_dof())
    q, _ = symbols(chain)
    mass = ca.Function("M", [q], [dual_screw.mass_matrix(chain, q)])
    small, large = np.zeros((2, chain.n))
    small[4:] = 1e-3
    large[4:] = 1.0
    lowest = dual_screw.smallest_eigenvalue(np.stack([np.array(mass(small)), np.array(mass(large))]))
    assert lowest.shape == (2,)
    assert lowest[0] > 0
    assert lowest[1] < 0


def test_no_stiffening_the_spinning_beam_softens() -> None:
    """Beam of paper 002: K - w^2 M is singular at w = omega_1 = 2.91 rad/s, as in every zero-order model."""
    beam = Beam(
        length=8.0, mass_per_length=7.2968e-5 * 2.7667e3, EI_y=566.7, EI_z=6.8952e10 * 8.2189e-9, GJ=1.0, EA=1e6
    )
    robot = Robot(name="beam", gravity=(0, 0, 0), links=[Link(name="beam", beam=beam, shapes=Shapes(bending_y=3))])
    chain = build_chain(robot)
    q, qd = symbols(chain)
    M, _, K = dual_screw.matrices(chain, q, qd)
    softening = ca.jacobian(dual_screw.inertial_forces(chain, q, qd), q)
    f = ca.Function("f", [q, qd], [M, K, softening])
    rate = np.zeros(chain.n)
    rate[0] = 1.0
    M, K, S = (np.array(x)[1:, 1:] for x in f(np.zeros(chain.n), rate))
    np.testing.assert_allclose(S, -M, atol=1e-12)  # -w^2 M at w = 1: gram of unit shapes times mass, order one
    critical = np.sqrt(scipy.linalg.eigh(K, -S, eigvals_only=True)[0])
    assert critical == pytest.approx(2.91074, rel=1e-5)  # six printed digits of the audited value


def four_dof() -> Robot:
    """The arm of [CE21] section VI: 4 joints, links 2 and 3 with 2 modes each of torsion and both bendings."""
    tube = {
        "mass_per_length": 5.549,
        "EI_y": 38037.7,
        "EI_z": 38037.7,
        "GJ": 29271.0,
        "EA": 1.48e8,
        "polar_inertia": 2.844e-3,
    }
    shapes = Shapes(bending_y=2, bending_z=2, torsion=2)
    column = RigidBody(
        mass=15.5, com=(0, 0, 0.131), inertia=(0.01, 0.01, 0.018586), tip=(0, 0, 0.26), tip_rpy=(-np.pi / 2, 0, 0)
    )
    tool = RigidBody(mass=3.56, com=(0.124, 0, 0), inertia=(0.001533, 0.017386, 0.017035), tip=(0.24, 0, 0))
    return Robot(
        name="four-dof",
        links=[
            Link(name="column", rigid=column),
            Link(
                name="upper",
                joint=Joint(origin=Origin(rpy=(0, 0, -np.pi / 2))),
                beam=Beam(length=2.0, **tube),
                shapes=shapes,
            ),
            Link(name="fore", beam=Beam(length=1.8, **tube), shapes=shapes),
            Link(name="tool", rigid=tool),
        ],
        payload=Lump(),
    )


def test_costs_less_than_the_nonlinear_energy_equations() -> None:
    chain = build_chain(four_dof())
    q, qd = symbols(chain)
    sizes = []
    for module in (dual_screw, lagrange):
        both = ca.cse([ca.tril(module.mass_matrix(chain, q)), module.inertial_forces(chain, q, qd)])
        sizes.append(ca.Function("f", [q, qd], both).n_instructions())
    assert sizes[0] < 0.6 * sizes[1]
