"""Misprints of [KS09]: printed forms fail, ours hold. (44), (67), (69), (70), (85), (102) are in test_gibbs_appell."""

from __future__ import annotations

from collections.abc import Callable

import casadi as ca
import numpy as np
import pytest

from pliant.mechanics import Chain, build_chain
from pliant.mechanics.formulations import gibbs_appell, lagrange
from pliant.mechanics.formulations.generalized_forces import passive, strain_energy
from pliant.mechanics.formulations.published import korayem_shafei as published
from pliant.robot import Beam, Joint, Link, Origin, Robot, Shapes
from printed_korayem_shafei import PrintedArm, tilde

ROUND_OFF = 1e-12  # relative to the largest entry: sums of some thousand terms of order one
MODES = ({"bending_y": 2, "bending_z": 2}, {"bending_y": 1}, {"bending_y": 2, "bending_z": 1})


def arm(count: int = 3, gravity: tuple[float, float, float] = (1.0, -9.0, 2.0)) -> Chain:
    """Revolute joints without offsets, bare beams, axes turned against each other; links have 4, 1, 3, 4... modes."""
    links = [
        Link(
            name=f"link{k}",
            joint=Joint(origin=Origin(rpy=(0.7 * k, 0.0, 0.3 * k))),
            beam=Beam(length=1.0 + 0.2 * k, mass_per_length=2.0, EI_y=90.0, EI_z=100.0),
            shapes=Shapes(**MODES[k % 3]),
        )
        for k in range(count)
    ]
    return build_chain(Robot(name="spatial", gravity=gravity, links=links))


def state(chain: Chain, deflection: float = 0.0, seed: int = 8) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """q, qd, qdd; deflections of the given order, everything moving."""
    q, qd, qdd = np.random.default_rng(seed).normal(size=(3, chain.n))
    q[chain.n_joints :] *= deflection
    return q, qd, qdd


def evaluate(f: Callable[..., ca.SX], *values: np.ndarray) -> np.ndarray:
    symbols = [ca.SX.sym(f"x{k}", len(v)) for k, v in enumerate(values)]
    return np.array(ca.Function("f", symbols, [ca.densify(f(*symbols))])(*values)).squeeze()


def error(found: np.ndarray, expected: np.ndarray) -> float:
    return float(np.abs(found - expected).max() / np.abs(expected).max())


# ---------------------------------------------------------------------------------------------- (17), Gibbs function


def gibbs_function(chain: Chain, q: np.ndarray, qd: np.ndarray, qdd: np.ndarray, printed: bool) -> float:
    """(13) of a single link on a fixed base, its integrals (14)-(22) by 40-point quadrature; (17) printed or right."""
    x, weight = np.polynomial.legendre.leggauss(40)  # modes of wave number 5 to 1e-14
    eta, mass = (x + 1) / 2, weight / 2 * 2.0
    psi = chain.links[0].body.shapes.evaluate(eta)  # type: ignore[attr-defined]
    phi = psi[:, :, None] * np.array([[0, 1, 0], [0, 1, 0], [0, 0, 1], [0, 0, 1]])
    r, rd, rdd = (np.einsum("pjd,j->pd", phi, c[1:]) for c in (q, qd, qdd))
    r = r + eta[:, None] * np.array([1.0, 0.0, 0.0])

    def integral(f: Callable[[int], np.ndarray]) -> np.ndarray:
        return sum(mass[p] * f(p) for p in range(40))  # type: ignore[return-value]

    B_4 = integral(lambda p: r[p] @ r[p] if printed else rdd[p] @ rdd[p])  # (17)
    B_5 = integral(lambda p: np.cross(rdd[p], rd[p]))
    B_6 = integral(lambda p: np.cross(r[p], rdd[p]))
    B_7, B_8, B_9 = (integral(lambda p, b=b: tilde(r[p]).T @ tilde(b[p])) for b in (rdd, rd, r))
    w, wd = np.array([0, 0, qd[0]]), np.array([0, 0, qdd[0]])
    return float(
        B_4 / 2 - 2 * w @ B_5 + wd @ B_6 - w @ B_7 @ w + 2 * wd @ B_8 @ w + wd @ B_9 @ wd / 2
        + wd @ np.cross(w, B_9 @ w)
    )  # fmt: skip


def test_17_B_4_is_of_the_accelerations() -> None:
    """dS/dqdd of (13) is the inverse dynamics of the energy judge; with int r.r the beam's own modal mass is lost."""
    chain = arm(1, gravity=(0.0, 0.0, 0.0))
    q, qd, qdd = state(chain, 0.1)
    truth = evaluate(lambda a: lagrange.mass_matrix(chain, a), q) @ qdd
    truth = truth + evaluate(lambda a, b: lagrange.inertial_forces(chain, a, b), q, qd)

    def derivative(printed: bool) -> np.ndarray:
        rows = [gibbs_function(chain, q, qd, qdd + s * e, printed) for e in np.eye(chain.n) for s in (1, -1)]
        return (np.array(rows[::2]) - np.array(rows[1::2])) / 2  # S is quadratic in qdd: central differences are exact

    ours = evaluate(lambda a, b, c: gibbs_appell.inverse_dynamics(chain, a, b, c), q, qd, qdd)
    assert error(ours, truth) < ROUND_OFF
    assert error(derivative(printed=False), truth) < ROUND_OFF
    assert error(derivative(printed=True), truth) > 0.1


# ---------------------------------------------------------------------------------------------- (46), (47), slopes


@pytest.mark.parametrize("deflection", [0.0, 0.02])
def test_46_and_47_need_the_amplitudes(deflection: float) -> None:
    """Slopes of the bent axis by differences: printed sums of dy/d eta, dz/d eta without delta bend a straight beam."""
    body = arm(1).links[0].body
    c = deflection * np.array([1.0, -0.5, 0.7, 0.4])
    eta, step = 0.8, 1e-5

    def at(x: float) -> tuple[np.ndarray, np.ndarray]:
        r, theta = body.point(ca.SX(ca.DM(c)), x)
        return np.array(ca.evalf(r))[:, 0], np.array(ca.evalf(theta))[:, 0]

    slope = (at(eta + step)[0] - at(eta - step)[0]) / (2 * step)  # length 1: d/dx = d/d eta
    theta = at(eta)[1]
    assert theta == pytest.approx([0.0, -slope[2], slope[1]], abs=1e-8)  # step^2 times third derivatives of order 50
    modes = body.shapes.evaluate(np.array([eta]), 1)[0]  # type: ignore[attr-defined]
    printed_46, printed_47 = modes[:2].sum(), -modes[2:].sum()
    assert min(abs(printed_46 - theta[2]), abs(printed_47 - theta[1])) > 0.5


def test_48_with_printed_46_and_47_stores_the_same_energy_in_every_shape() -> None:
    """With the amplitudes (48) is the strain energy and its gradient K delta; without them nothing restores."""
    chain = arm(1)
    body = chain.links[0].body
    x, weight = np.polynomial.legendre.leggauss(40)
    bent = body.shapes.evaluate((x + 1) / 2, 2)  # type: ignore[attr-defined]
    EI = np.array([100.0, 100.0, 90.0, 90.0])  # EI_z of v, EI_y of w

    def energy(delta: np.ndarray) -> float:
        planes = [(bent[:, k : k + 2] @ delta[k : k + 2]) ** 2 * EI[k] for k in (0, 2)]
        return float(weight / 2 @ sum(planes) / 2)

    q, _, _ = state(chain, 0.02)
    stored = float(evaluate(lambda a: strain_energy(chain, a), q))
    assert stored == pytest.approx(energy(q[1:]), rel=ROUND_OFF)
    assert float(evaluate(lambda a: strain_energy(chain, a), 0 * q)) == 0.0
    assert energy(np.ones(4)) > 100 * stored  # what the print gives for any amplitudes, none included


def test_101_sums_the_strain_over_the_modes_of_link_j() -> None:
    """The printed limit m_i belongs to a link beyond: link 1 has four modes, link 2 one, link 3 three."""
    chain = arm()
    q, _, _ = state(chain, 0.02)
    step = 1e-4
    V = ca.Function("V", [symbol := ca.SX.sym("q", chain.n)], [strain_energy(chain, symbol)])
    truth = np.array([float(V(q + step * e) - V(q - step * e)) / (2 * step) for e in np.eye(chain.n)])
    ours = evaluate(lambda a: passive(chain, a, ca.SX.zeros(chain.n)), q)
    assert error(ours, truth) < 1e-9  # V is quadratic: round-off of 1e-16 / 1e-4 remains
    K = evaluate(lambda a: ca.hessian(strain_energy(chain, a), a)[0], q)
    indices = [list(link.body_indices) for link in chain.links]
    j = indices[0]
    for i in (1, 2):
        kept = j[: len(indices[i])]  # k = 1 ... m_i
        assert error(K[np.ix_(j, kept)] @ q[kept], truth[j]) > 0.1
    with pytest.raises(IndexError):  # and link 2 has no third mode, which j = 2, i = 3 asks for
        _ = indices[1][len(indices[2]) - 1]


# -------------------------------------------------------------------------------------------------- Steps 8 and 10


def step_8(printed: PrintedArm, misprint: bool) -> dict[tuple[int, int], np.ndarray]:
    """`r[i, j]` from O_i to O_j in link axes; printed, both loops run over j, and i stays at n from Step 3."""
    n, R = printed.n, printed.R
    step = {(i, i): printed.links[i].r for i in range(1, n)}
    pairs = [(n, j) for _ in range(2, n) for j in range(n - 1, 0, -1)]
    if not misprint:
        pairs = [(i, j) for i in range(2, n) for j in range(i - 1, 0, -1)]
    for i, j in pairs:
        if (j + 1, i) in step:
            step[j, i] = R[j, j + 1] @ step[j + 1, i]
    r = {(i, i + 1): step[i, i] for i in range(1, n)}
    for i in range(1, n - 1):
        for j in range(i + 2, n + 1):
            r[i, j] = r[i, j - 1] + step[i, j - 1]
    return r


def test_step_8_runs_over_i() -> None:
    chain = arm(4)
    printed = PrintedArm(chain, *state(chain)[:2])
    r = step_8(printed, misprint=False)
    for (i, j), found in r.items():
        assert error(found, printed.between(j, i, i)) < ROUND_OFF
    assert set(r) == {(i, j) for i in range(1, 5) for j in range(i + 1, 5)}
    with pytest.raises(KeyError):  # the vectors that its second loop adds up were never turned
        step_8(printed, misprint=True)


def test_step_10_bracket_closes_behind_the_rotations() -> None:
    """k = j: as printed theta^T stands before (gamma + xi) r alone, and a vector is added to a number."""
    chain = arm()
    q, qd, _ = state(chain)
    printed = PrintedArm(chain, q, qd)
    M = evaluate(lambda a: lagrange.mass_matrix(chain, a), q)
    link, s = printed.links[1], printed.sums(1, 1, True, True)
    r, theta = link.r_modes, link.theta_modes
    force = r.T @ (s["V_xi"] @ theta - s["lam"] @ r)
    corrected = theta.T @ (s["Gamma"] @ r + s["Phi"] @ theta) - force + link.sC
    truth = M[np.ix_(link.indices, link.indices)]
    assert error(corrected, truth) < ROUND_OFF
    assert error(evaluate(lambda a: gibbs_appell.mass_matrix(chain, a), q), M) < ROUND_OFF
    numbers, vectors = theta.T @ s["Gamma"] @ r - force + link.sC, s["Phi"] @ theta
    assert vectors.shape == (3, 4)
    assert numbers.shape == (4, 4)
    for component in vectors:  # nor is any component of the vector what is missing
        assert error(numbers + component, truth) > 1e-2


# ------------------------------------------------------------------------------------------------------------- tables


def test_table_1_step_10_counts_flexible_links_not_links() -> None:
    """Its last term stands as 42 m^2 m^2 and as 42 m^2 n^2; for n != n_f neither adds up to Table 2."""
    n, n_f, m = 3, 2, 4
    steps = published.products_by_step(n, n_f, m)
    right = published.gibbs_appell(n, n_f, m).products
    assert sum(steps.values()) == right
    for printed in (42 * m**2 * m**2, 42 * m**2 * n**2):
        assert sum(steps.values()) - 42 * m**2 * n_f**2 + printed != right


def test_table_2_2134_are_sums() -> None:
    """Printed 2134M 2706M: two numbers of products for one method; the first is what the formula of the sums gives."""
    ours = published.gibbs_appell(3, 2, 2)
    assert (ours.sums, ours.products) == (2134, 2706)
