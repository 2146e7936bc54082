"""Misprints of [TG95]: printed forms fail, ours hold.

(47) is in tests/mechanics/shapes, (26) in test_sliding, (32), (34) and the Lemma in tests/control.
"""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import pliant
from pliant.mechanics import build_chain
from pliant.mechanics.formulations import lagrange
from pliant.mechanics.links.builders.build_chain import tip_loads
from pliant.mechanics.links.kinematics import placements
from sliding_oracle import MU, PAYLOAD, TOTAL, Oracle, functions, oracle


def beam(gravity: tuple[float, float, float] = (0, 0, 0), **shapes: object) -> pliant.Robot:
    data = pliant.Beam(length=2.0, mass_per_length=3.0, EI_y=400.0, EI_z=100.0)
    link = pliant.Link(name="arm", beam=data, shapes=pliant.Shapes(**(shapes or {"bending_y": 1, "bending_z": 1})))
    return pliant.Robot(name="beam", gravity=gravity, links=[link])


def test_23_EI_z_resists_v_and_EI_y_resists_w() -> None:
    model = beam().model()
    omega = 1.8751040687119611**2 * np.sqrt(np.array([100.0, 400.0]) / 3.0) / 4.0
    K = model.stiffness(np.zeros(3))
    ours = np.sqrt([K[k, k] / model.mass_matrix(np.zeros(3))[k, k] for k in (1, 2)])  # amplitudes of v and of w
    assert ours == pytest.approx(omega, rel=1e-12)
    assert np.abs(ours[::-1] / omega - 1).min() > 0.4  # EI_y and EI_z exchanged, as printed


def test_8_and_15_slopes_are_per_metre_and_w_turns_about_minus_y() -> None:
    chain = build_chain(beam())
    body = chain.links[0].body
    c = np.array([0.01, 0.02])
    step = 1e-6

    def at(eta: float) -> tuple[np.ndarray, np.ndarray]:
        r, theta = body.point(ca.SX(ca.DM(c)), eta)
        return np.array(ca.DM(r)).ravel(), np.array(ca.DM(theta)).ravel()

    (near, _), (far, theta) = at(1 - step), at(1.0)
    slope = (far - near)[1:] / (2.0 * step)  # dv/dx, dw/dx of a beam of 2 m
    assert theta == pytest.approx([0.0, -slope[1], slope[0]], rel=1e-4)
    printed_8 = 2.0 * slope  # d/d eta without 1/l
    assert np.abs(printed_8 / slope - 1).min() > 0.9
    printed_15 = np.array([0.0, slope[0], slope[1]])  # phi_y = phi^v, phi_z = phi^w
    assert np.abs(theta - printed_15).max() > 0.5 * np.abs(slope).max()


def test_24_gravity_energy_is_minus_g_r() -> None:
    """With g the acceleration of free fall a horizontal beam must droop; the printed sign lifts it."""
    model = beam(gravity=(0, -9.81, 0), bending_y=2).model()
    q = model.equilibrium([0.0])
    droop = model.tip_pose(q)[1, 3]
    assert droop == pytest.approx(-3.0 * 9.81 * 2.0**4 / (8 * 100.0), rel=5e-3)
    assert model.energy(np.zeros(3), np.zeros(3)).gravity == pytest.approx(0.0, abs=1e-12)
    raised = model.energy([np.pi / 2, 0, 0], np.zeros(3)).gravity
    assert raised == pytest.approx(6.0 * 9.81 * 1.0)  # + m g h; printed - m g h


def test_partitioned_inverse_has_a_plus_in_its_lower_right_block() -> None:
    model = pliant.load("two-link").model(formulation="lagrange")
    M = model.matrices([0.3, 0.7, 0.0, 0.0], np.zeros(4))
    whole = np.block([[M.M_rr, M.M_rf], [M.M_rf.T, M.M_ff]])
    schur = np.linalg.inv(M.M_ff - M.M_rf.T @ np.linalg.inv(M.M_rr) @ M.M_rf)
    assert np.allclose(np.linalg.inv(whole)[2:, 2:], schur, rtol=1e-10)
    assert not np.allclose(np.linalg.inv(whole)[2:, 2:], -schur, rtol=0.5)


def test_11_tip_load_takes_plus_D_for_mass_beyond_the_tip() -> None:
    """A point mass beyond the tip: the frequency equation with D > 0 gives the elements' frequency, -D does not."""
    from pliant.mechanics.shapes import (
        LoadRatios,
        bending_elements,
        clamped_mass_roots,
        eigenpairs,
        mass_matrix,
        stiffness_matrix,
    )

    M, d = 0.5, 0.3
    load = LoadRatios(M=M, J=M * d**2, D=M * d)
    elements = bending_elements(8)
    exact = eigenpairs(stiffness_matrix(elements), mass_matrix(elements, load=load))[0][0] ** 0.25
    assert clamped_mass_roots(1, M, M * d**2, M * d)[0] == pytest.approx(exact, rel=1e-6)
    assert abs(clamped_mass_roots(1, M, M * d**2, -M * d)[0] / exact - 1) > 0.05


# ------------------------------------------------------------------------------------------- (8), (15), both joints


def section(theta: np.ndarray) -> np.ndarray:
    """Rotation part of E (2)."""
    return np.array([[1, -theta[2], theta[1]], [theta[2], 1, -theta[0]], [-theta[1], theta[0], 1]])


def printed_angles(u: float, v: float, w: float) -> dict[str, np.ndarray]:
    """phi as (8) reads where it is legible, E(1,3) = u', E(2,3) = -w', E(2,1) = v'; and as (15) assigns it."""
    return {"8": np.array([w, u, v]), "15": np.array([u, v, w])}


def test_8_and_15_turn_a_revolute_link_the_wrong_way() -> None:
    """Sections stay normal to the axis: the two other columns of E are at right angles to the tangent (1, v', w')."""
    body = build_chain(beam()).links[0].body
    c = ca.SX(ca.DM([0.02, 0.01]))
    ends = [np.array(ca.evalf(body.point(c, x)[0]))[:, 0] for x in (1 - 2e-5, 1.0)]
    tangent = (ends[1] - ends[0]) / (ends[1] - ends[0])[0]
    _, v, w = tangent
    ours = section(np.array(ca.evalf(body.point(c, 1.0)[1]))[:, 0])
    assert np.abs(ours[:, 1:].T @ tangent).max() < 1e-6  # difference over 2e-5 of the length
    assert min(abs(v), abs(w)) > 1e-2
    for angles in printed_angles(0.0, v, w).values():
        assert np.abs(section(angles)[:, 1:].T @ tangent).max() > 0.5 * min(abs(v), abs(w))


def test_8_and_15_turn_a_sliding_link_the_wrong_way() -> None:
    """The paper's beam lies on z and bends by u and v; ours lies on x, so axes are renamed x, y, z -> z, x, y."""
    chain, known = oracle("clamped-free")
    q = np.array([0.0, 0.6, 0.02, -0.005, 0.015])
    slope = known.displacement(np.ones(1), q[1], q[2:], 1)[0]
    tangent = np.array([slope[1], slope[2], 1.0])  # u', v', 1
    Q = ca.SX.sym("q", chain.n)
    theta = ca.Function("theta", [Q], [chain.links[1].body.point(chain.body(chain.links[1], Q), 1.0)[1]])(q)
    ours = section(np.roll(np.array(theta).ravel(), -1))
    assert np.abs(ours[:, :2].T @ tangent).max() < 1e-12
    assert np.abs(slope[1:]).min() > 1e-2
    for angles in printed_angles(slope[1], slope[2], 0.0).values():
        assert np.abs(section(angles)[:, :2].T @ tangent).max() > 0.5 * np.abs(slope[1:]).min()


# ------------------------------------------------------------------------------------- (24), (25), Algorithm 3 S2.2


def test_24_25_and_algorithm_3_let_things_fall_upwards() -> None:
    """A spatial arm with a payload, let go from rest: its weight does positive work; with the printed sign negative."""
    links = [
        pliant.Link(
            name=f"link{k}",
            joint=pliant.Joint(origin=pliant.robot.Origin(rpy=(0.9 * k + 0.4, 0.3, 0.2))),
            beam=pliant.Beam(length=1.0 + k, mass_per_length=2.0, EI_y=400.0, EI_z=100.0),
            shapes=pliant.Shapes(bending_y=1, bending_z=1),
        )
        for k in range(2)
    ]
    g = np.array([1.0, -9.0, 2.0])
    robot = pliant.Robot(name="arm", gravity=tuple(g), links=links, payload=pliant.robot.Lump(mass=0.7))
    chain, Q = build_chain(robot), ca.SX.sym("q", 6)
    x, weight = np.polynomial.legendre.leggauss(12)  # modes of wave number 2 to 1e-14
    printed_V = 0
    for placed in placements(chain, Q):
        c, length = chain.body(placed.link, Q), placed.link.body.data.length
        for node, w in zip((x + 1) / 2, weight / 2, strict=True):
            r = placed.p + ca.mtimes(placed.R, placed.link.body.point(c, node)[0])
            printed_V = printed_V + 2.0 * length * w * ca.dot(ca.DM(g), r)  # (24)
    printed_V = printed_V + 0.7 * ca.dot(ca.DM(g), placed.p_tip)  # (25)
    V = ca.Function("V", [Q], [printed_V, ca.gradient(printed_V, Q)])
    h = ca.Function("h", [Q], [lagrange.inertial_forces(chain, Q, ca.SX.zeros(6))])
    model = robot.model(stiffening="off")
    q = np.array([0.7, -0.4, 0.03, 0.02, -0.04, 0.05])
    value, S2_2 = (np.array(out).ravel() for out in V(q))
    assert model.energy(q, 0 * q).gravity == pytest.approx(-value[0], rel=1e-12)
    assert np.array(h(q)).ravel() == pytest.approx(-S2_2, rel=1e-10, abs=1e-10)
    q[2:] = 0.0  # straight, so that weight alone acts
    S2_2 = np.array(V(q)[1]).ravel()
    printed = np.linalg.solve(model.mass_matrix(q), -S2_2)
    assert S2_2 @ model.forward_dynamics(q, 0 * q, np.zeros(2)) > 0  # second derivative of the work of the weight
    assert S2_2 @ printed < 0


# ------------------------------------------------------------------------------ (5), (6), (19), (21), Algorithm 1 S6


def mass_matrix_at_fixed_x(known: Oracle, q: np.ndarray, h: float = 1e-5) -> np.ndarray:
    """S6.1-S6.3 as printed: dr/dq_i of the point x, which stays where it is when the beam slides."""
    l, n = q[1], len(q)
    x = np.concatenate([l * known.eta, (l - TOTAL) * known.eta])  # (21) outside, (19) inside the hub
    mass = MU * np.concatenate([l * known.weight, (TOTAL - l) * known.weight])

    def places(at: np.ndarray) -> np.ndarray:
        r = np.zeros((len(x), 3))
        r[:, 0] = x
        outside = x > 0
        r[outside] += known.displacement(x[outside] / at[1], at[1], at[2:])
        turned = r @ Rotation.from_rotvec([0.0, 0.0, at[0]]).as_matrix().T
        return np.vstack([turned, known.points(at, np.zeros(1))])  # (22): the tip itself does move with l

    columns = [(places(q + h * e) - places(q - h * e)) / (2 * h) for e in np.eye(n)]
    return np.einsum("ipd,p,jpd->ij", columns, np.append(mass, PAYLOAD), columns)


@pytest.mark.slow_cases("clamped-mass")
@pytest.mark.parametrize("shapes", ["rigid", "clamped-mass", pytest.param("elements", marks=pytest.mark.full)])
def test_21_needs_the_velocity_of_the_material(shapes: str) -> None:
    """A slide of 1.3 m weighs 0.43 kg; at fixed x only its payload resists a push along the joint."""
    chain, known = oracle(shapes)
    q = np.random.default_rng(3).normal(size=chain.n) * 0.02
    q[:2] = 0.7, 0.63
    truth = known.mass_matrix(q)
    ours = functions(chain, "denoc")[0](q)
    assert np.abs(ours - truth).max() < 3e-9 * np.abs(truth).max()  # as test_sliding: differences of the oracle
    assert truth[1, 1] == pytest.approx(MU * TOTAL + PAYLOAD, rel=0.02)
    printed = mass_matrix_at_fixed_x(known, q)
    assert printed[1, 1] == pytest.approx(PAYLOAD, rel=0.1)
    assert printed[1, 1] < 0.25 * truth[1, 1]


# --------------------------------------------------------------------------------------------- Table 1, J_L, the lag


def test_table_1_is_in_radians_per_second() -> None:
    """Its caption says Hz. Also, mode 1 of three elements is 208.658: 2.0864e2 is neither rounded nor cut."""
    data = pliant.Beam(length=1.0, mass_per_length=0.331, EI_y=1165.4916, EI_z=1165.4916)

    def hertz(**shapes: object) -> np.ndarray:
        link = pliant.Link(name="boom", beam=data, shapes=pliant.Shapes(**shapes))
        return pliant.Robot(name="boom", gravity=(0, 0, 0), links=[link]).model().frequencies()

    exact = np.array([2.0864e2, 1.3075e3, 3.6611e3])
    found = hertz(bending_y=3)
    assert 2 * np.pi * found == pytest.approx(exact, rel=1.5e-4)  # five digits, some cut
    assert np.abs(found / exact - 1).min() > 0.8
    third = 2 * np.pi * hertz(method="elements", count=3, bending_y=True)
    assert third[0] == pytest.approx(208.658, abs=5e-4)
    assert abs(third[0] - 208.64) > 0.01  # a whole unit of the last printed digit
    # section 5: elements are said to lag because their frequencies are too high; a higher frequency runs ahead
    assert (third[:3] > 2 * np.pi * found).all()


@pytest.mark.slow_cases("0.0")
@pytest.mark.parametrize("theta_3", [0.0, 2.6])
def test_J_L_of_the_3R_example_puts_links_at_their_ends(theta_3: float) -> None:
    """J_L = I_2 + I_3 + m_2 l_2^2 + m_3(l_2^2 + l_3^2 + 2 l_2 l_3 c_3) is of masses at the ends, not of links."""
    length, mu, hub = (1.0, 0.8, 0.6), 2.0, (0.0, 0.05, 0.03)
    links = [
        pliant.Link(
            name=f"link{k}",
            joint=pliant.Joint(hub=pliant.robot.Lump(inertia=(0, 0, hub[k]))),
            beam=pliant.Beam(length=length[k], mass_per_length=mu, EI_y=100.0, EI_z=100.0),
            shapes=pliant.Shapes(
                bending_y=1, boundary="clamped-mass", tip_load="auto", reference=[0.0, 0.0, theta_3]
            ) if k == 0 else None,
        )
        for k in range(3)
    ]  # fmt: skip
    robot = pliant.Robot(name="3R", gravity=(0, 0, 0), links=links)
    (_, l_2, l_3), (_, I_2, I_3) = length, hub
    m_2, m_3, c_3 = mu * l_2, mu * l_3, np.cos(theta_3)
    truth = I_2 + I_3 + m_2 * l_2**2 / 3 + m_3 * (l_2**2 + l_3**2 / 3 + l_2 * l_3 * c_3)
    printed = I_2 + I_3 + m_2 * l_2**2 + m_3 * (l_2**2 + l_3**2 + 2 * l_2 * l_3 * c_3)
    q = np.array([0.3, 0.2, theta_3, 0.0])
    assert robot.model("lagrange").mass_matrix(q)[1, 1] == pytest.approx(truth, rel=1e-12)
    load = tip_loads(robot)[0]
    assert load is not None
    assert np.ravel(load.inertia)[-1] == pytest.approx(truth, rel=1e-12)
    assert abs(printed / truth - 1) > 0.2
