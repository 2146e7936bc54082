"""The DeNOC matrices written out agree with the recursion, and the misprints of [MS07] do not."""

from __future__ import annotations

from collections.abc import Callable

import casadi as ca
import numpy as np
import pytest

from arms import random_robot, random_state, sampled
from pliant.mechanics import build_chain
from pliant.mechanics.formulations import denoc, lagrange
from pliant.mechanics.formulations import denoc_matrices as matrices
from pliant.mechanics.formulations.generalized_forces import rotors
from pliant.mechanics.links.chain import Chain
from pliant.robot import Joint, Link, Origin, RigidBody, Robot

ROUND_OFF = 1e-11  # relative: products of at most a few hundred terms of order one
SEEDS = sampled(range(5), 0, 1)  # which have all joints, fields and drives between them


def chain_and_state(seed: int, drives: bool = False) -> tuple[Chain, np.ndarray, np.ndarray]:
    robot = random_robot(seed, drives=drives)
    chain = build_chain(robot)
    q, qd, _ = random_state(robot, chain.n, chain.n_joints, seed)
    return chain, q, qd


def rigid_chain(seed: int = 5, links: int = 4) -> tuple[Chain, np.ndarray, np.ndarray]:
    """Rigid, every joint moving and offset: the paper's own scope, where A is square and has an inverse."""
    rng = np.random.default_rng(seed)
    made = [
        Link(
            name=f"link{k}",
            joint=Joint(
                type="prismatic" if k == 2 else "revolute",
                origin=Origin(xyz=tuple(rng.normal(size=3)), rpy=tuple(rng.normal(size=3))),
            ),
            rigid=RigidBody(
                mass=1.0, com=tuple(rng.normal(size=3)), inertia=(0.3, 0.4, 0.5), tip=tuple(rng.normal(size=3))
            ),
        )
        for k in range(links)
    ]
    chain = build_chain(Robot(name="rigid", gravity=(0.0, 3.0, -9.0), links=made))
    return chain, rng.normal(size=chain.n), rng.normal(size=chain.n)


def value(expression: ca.SX) -> np.ndarray:
    return np.array(ca.evalf(ca.densify(expression)))


def constant(x: np.ndarray) -> ca.SX:
    return ca.SX(ca.DM(x))


def error(found: np.ndarray, expected: np.ndarray) -> float:
    return float(np.abs(found - expected).max() / np.abs(expected).max())


def mass(chain: Chain, q: np.ndarray, order: tuple[int, ...] | None = None) -> np.ndarray:
    M = value(lagrange.mass_matrix(chain, constant(q)))
    return M if order is None else M[np.ix_(order, order)]


def bias(chain: Chain, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
    x, v = ca.SX.sym("q", chain.n), ca.SX.sym("qd", chain.n)
    return np.array(ca.Function("h", [x, v], [lagrange.inertial_forces(chain, x, v)])(q, qd))[:, 0]


@pytest.mark.slow_cases("0")
@pytest.mark.parametrize("seed", SEEDS)
def test_complement_gives_the_inertia_matrix(seed: int) -> None:
    chain, q, _ = chain_and_state(seed, drives=seed % 2 == 1)
    found = matrices.complement(chain, constant(q))
    assert error(value(found.generalised_inertia), mass(chain, q, found.order)) < ROUND_OFF
    assert error(value(matrices.generalised_inertia(chain, constant(q))), mass(chain, q)) < ROUND_OFF


@pytest.mark.slow_cases("0")
@pytest.mark.parametrize("seed", SEEDS)
def test_complement_maps_rates_to_twists(seed: int) -> None:
    chain, q, qd = chain_and_state(seed)
    found = matrices.complement(chain, constant(q))
    t = value(found.N) @ qd[list(found.order)]
    motions = denoc.outward_motion(chain, constant(q), constant(qd), None)
    row = 0
    for motion in motions:
        assert t[row : row + 3] == pytest.approx(value(motion.omega)[:, 0], rel=1e-11, abs=1e-12)
        row += 6 + motion.cd.shape[0]
    assert row == t.size


@pytest.mark.slow_cases("0")
@pytest.mark.parametrize("seed", SEEDS)
def test_lower_factor_is_block_triangular_and_unit(seed: int) -> None:
    chain, q, _ = chain_and_state(seed)
    N_l = value(matrices.complement(chain, constant(q)).N_l)
    assert np.allclose(np.diag(N_l), 1.0, atol=0)
    start = 0
    for block in matrices.link_blocks(chain, constant(q)):
        end = start + block.M.shape[0]
        assert not N_l[start:end, end:].any()
        start = end


@pytest.mark.parametrize("seed", SEEDS)
def test_factors_multiply_to_the_inertia_matrix(seed: int) -> None:
    chain, q, _ = chain_and_state(seed, drives=seed % 2 == 1)
    rotor = constant(np.linspace(0.1, 0.4, chain.n))
    for added in (None, rotor):
        found = matrices.factors(chain, constant(q), added)
        U, D = value(found.U), value(found.D)[:, 0]
        expected = mass(chain, q, found.order)
        if added is not None:
            expected = expected + np.diag(value(rotor)[list(found.order), 0])
        assert np.array_equal(U, np.triu(U))
        assert (D > 0).all()
        assert error(U @ np.diag(D) @ U.T, expected) < ROUND_OFF


@pytest.mark.slow_cases("0")
@pytest.mark.parametrize("seed", SEEDS)
def test_pivots_are_those_of_the_recursion(seed: int) -> None:
    chain, q, qd = chain_and_state(seed)
    rotor = ca.SX.zeros(chain.n)
    motions = denoc.outward_motion(chain, constant(q), constant(qd), None)
    pivots = denoc.inward_elimination(chain, motions, ca.SX.zeros(chain.n), rotor)
    found = matrices.factors(chain, constant(q))
    D = dict(zip(found.order, value(found.D)[:, 0], strict=True))
    met = [pivot for link in pivots for pivot in link]
    assert sorted(p.index for p in met) == sorted(found.order)
    for pivot in met:
        assert 1 / float(value(pivot.inverse)[0, 0]) == pytest.approx(
            D[pivot.index], rel=1e-9
        )  # 1e-9: cancellation in M-bar


@pytest.mark.slow_cases("0")
@pytest.mark.parametrize("seed", SEEDS)
def test_recursive_factored_and_nonrecursive_accelerations_agree(seed: int) -> None:
    chain, q, qd = chain_and_state(seed, drives=False)
    x, v = constant(q), constant(qd)
    force = constant(np.random.default_rng(seed).normal(size=chain.n))
    rotor = rotors(chain)
    recursive = value(denoc.forward_dynamics(chain, x, v, force, rotor))
    direct = value(matrices.nonrecursive_forward_dynamics(chain, x, v, force, rotor))
    assert error(direct, recursive) < 1e-9  # condition number of M up to 1e5
    found = matrices.factors(chain, x, rotor)
    phi = (force - denoc.inertial_forces(chain, x, v))[list(found.order)]
    assert error(value(found.solve(phi)), recursive[list(found.order)]) < 1e-9


@pytest.mark.slow_cases("0")
@pytest.mark.parametrize("seed", SEEDS)
def test_velocity_terms(seed: int) -> None:
    chain, q, qd = chain_and_state(seed)
    found = matrices.complement(chain, constant(q))
    td, gamma = matrices.velocity_terms(chain, constant(q), constant(qd))
    h = value(ca.mtimes(found.N.T, ca.mtimes(found.M, td) + gamma))[:, 0]
    assert error(h, bias(chain, q, qd)[list(found.order)]) < ROUND_OFF
    _, at_rest = matrices.velocity_terms(chain, constant(q), ca.SX.zeros(chain.n))
    assert np.abs(value(at_rest)).max() < 1e-11  # gamma holds velocities only, gravity is in td


# ---------------------------------------------------------------------------------------- misprints of [MS07], audited


def test_printed_direction_of_a_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    """(4): the prose lets a_{i,i-1} run from O_{i-1} to O_i; the twist of link i then moves the wrong way."""
    chain, q, _ = rigid_chain()
    assert error(value(matrices.complement(chain, constant(q)).generalised_inertia), mass(chain, q)) < ROUND_OFF
    right = matrices.propagation
    monkeypatch.setattr(matrices, "propagation", lambda R, p: right(R, -p))
    assert error(value(matrices.complement(chain, constant(q)).generalised_inertia), mass(chain, q)) > 0.1


def test_printed_phi_without_gamma_fails() -> None:
    """(27) as printed: tau - N^T M (..) thetad, without the wrenches gamma."""
    chain, q, qd = rigid_chain()
    found = matrices.complement(chain, constant(q))
    td, gamma = matrices.velocity_terms(chain, constant(q), constant(qd))
    expected = bias(chain, q, qd)[list(found.order)]
    ours = value(ca.mtimes(found.N.T, ca.mtimes(found.M, td) + gamma))[:, 0]
    printed = value(ca.mtimes([found.N.T, found.M, td]))[:, 0]
    assert error(ours, expected) < ROUND_OFF
    assert error(printed, expected) > 1e-2


def test_printed_composite_mass_fails() -> None:
    """(28) as printed: A_{i+1,i}^T M~ A_{i,i+1}, the second factor being the inverse of the first."""
    chain, q, _ = rigid_chain()
    A = [value(block.A) for block in matrices.link_blocks(chain, constant(q))]
    P = [value(block.P) for block in matrices.link_blocks(chain, constant(q))]
    M = [value(block.M) for block in matrices.link_blocks(chain, constant(q))]

    def inertia(second: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
        composite, out = M[-1], np.zeros((chain.n, chain.n))
        for i in reversed(range(chain.n)):
            if i + 1 < chain.n:
                composite = M[i] + A[i + 1].T @ composite @ second(A[i + 1])
            carried = np.eye(6)
            for j in range(i, -1, -1):
                out[i, j] = out[j, i] = (P[i].T @ composite @ carried @ P[j])[0, 0]
                carried = carried @ A[j]
        return out

    assert error(inertia(lambda a: a), mass(chain, q)) < ROUND_OFF
    assert error(inertia(np.linalg.inv), mass(chain, q)) > 0.1


def accelerations(chain: Chain, q: np.ndarray, phi: np.ndarray, printed: str = "") -> np.ndarray:
    """(31)-(37) with numbers; `printed` = "eta" or "psi" keeps the misprint of (32) or of (33)."""
    blocks = matrices.link_blocks(chain, constant(q))
    A, P, M = ([value(getattr(b, name)) for b in blocks] for name in ("A", "P", "M"))
    n = chain.n
    psi, phi_hat, m_hat = [np.zeros(6)] * n, np.zeros(n), np.zeros(n)
    M_hat, eta = M[-1], np.zeros(6)
    for i in reversed(range(n)):
        p = P[i][:, 0]
        psi_hat = M_hat @ p
        m_hat[i] = p @ psi_hat
        psi[i] = psi_hat / m_hat[i]
        if printed == "psi" and i + 1 < n:
            psi[i] = A[i + 1] @ psi[i]
        phi_hat[i] = phi[i] - p @ eta
        eta = eta + psi[i] * (phi[i] if printed == "eta" else phi_hat[i])
        if i:
            M_bar = M_hat - np.outer(psi_hat, psi[i])
            M_hat, eta = M[i - 1] + A[i].T @ M_bar @ A[i], A[i].T @ eta
    out, mu = np.zeros(n), np.zeros(6)
    for i in range(n):
        mu = A[i] @ mu
        out[i] = phi_hat[i] / m_hat[i] - psi[i] @ mu
        mu = mu + P[i][:, 0] * out[i]
    return out


def test_printed_eta_and_psi_fail() -> None:
    """(32) multiplies psi by an undefined t-hat (read here as the unreduced force); (33) has a stray A in psi."""
    chain, q, _ = rigid_chain()
    phi = np.random.default_rng(1).normal(size=chain.n)
    expected = np.linalg.solve(mass(chain, q), phi)
    assert error(accelerations(chain, q, phi), expected) < 1e-10  # condition number of M about 1e2
    assert error(accelerations(chain, q, phi, "eta"), expected) > 1e-2
    assert error(accelerations(chain, q, phi, "psi"), expected) > 1e-2
