"""Misprints of [MS07]: printed forms fail, ours hold. (4), (27), (28), (32), (33) are in test_denoc_matrices."""

from __future__ import annotations

from functools import cache

import casadi as ca
import numpy as np
import pytest

import printed_mohan_saha as ms
from pliant.mechanics import Chain, build_chain
from pliant.mechanics.formulations import denoc, lagrange
from pliant.mechanics.formulations import denoc_matrices as matrices
from pliant.mechanics.formulations.published.mohan_saha import rod_constants
from pliant.robot import Joint, Link, Origin, RigidBody, Robot, load

ROUND_OFF = 1e-11  # relative: products of at most a few hundred terms of order one
DIFFERENCES = 1e-9  # rates by differences, see printed_mohan_saha.rate
GRAVITY = (2.0, -3.0, -9.0)
THETA, THETAD, THETADD, PHI = np.random.default_rng(3).normal(size=(4, 4))


@cache
def chain(gravity: tuple[float, float, float] = (0.0, 0.0, 0.0)) -> Chain:
    return build_chain(ms.robot(gravity))


def evaluate(f: object, *values: np.ndarray) -> np.ndarray:
    symbols = [ca.SX.sym(f"x{k}", len(v)) for k, v in enumerate(values)]
    return np.array(ca.Function("f", symbols, [ca.densify(f(*symbols))])(*values)).squeeze()  # type: ignore[operator]


def error(found: np.ndarray, expected: np.ndarray) -> float:
    return float(np.abs(found - expected).max() / np.abs(expected).max())


@cache
def inertia() -> np.ndarray:
    """By the energy judge."""
    return evaluate(lambda q: lagrange.mass_matrix(chain(), q), THETA)


@cache
def bias(gravity: tuple[float, float, float] = (0.0, 0.0, 0.0)) -> np.ndarray:
    """Velocity and gravity terms by the energy judge."""
    return evaluate(lambda q, qd: lagrange.inertial_forces(chain(gravity), q, qd), THETA, THETAD)


# --------------------------------------------------------------------------------------------------- (6), (14), (24)


def test_6_propagation_matrices_compose_and_invert() -> None:
    """A_ij A_jk = A_ik and A_ij^-1 = A_ji; printed A_ij = A_ji and A_ii^-1 = A_ji."""
    O = [frame.O for frame in ms.frames(THETA)]
    A = {(i, j): ms.propagation(O[j] - O[i]) for i in range(4) for j in range(4)}
    assert error(A[3, 1] @ A[1, 0], A[3, 0]) < ROUND_OFF
    assert error(np.linalg.inv(A[3, 1]), A[1, 3]) < ROUND_OFF
    assert error(A[3, 1], A[1, 3]) > 0.1
    assert error(np.linalg.inv(A[1, 1]), A[3, 1]) > 0.1
    # the package's own, which turn the axes too
    R, p = np.linalg.qr(np.random.default_rng(0).normal(size=(3, 3)))[0], np.array([0.3, -0.4, 0.5])
    R = R * np.linalg.det(R)
    there, back = (np.array(ca.evalf(matrices.propagation(ca.SX(ca.DM(a)), ca.SX(ca.DM(b))))) for a, b in
                   ((R, p), (R.T, -R.T @ p)))  # fmt: skip
    assert error(np.linalg.inv(there), back) < ROUND_OFF
    assert error(there, back) > 0.1


def accelerated_twists() -> np.ndarray:
    """d t/dt by differences along a motion with the given second derivatives."""
    return ms.rate(lambda t: ms.twists(THETA + THETAD * t + THETADD * t**2 / 2, THETAD + THETADD * t))


def test_14_differentiates_by_the_rate() -> None:
    """Sum of (dt_i/dthetad_j)^T w* is the torque; printed dt_i/dtheta_j is not."""
    w = ms.inertia_wrenches(THETA, THETAD, accelerated_twists())
    truth = inertia() @ THETADD + bias()
    N_l, N_d = ms.complement(THETA)
    assert error((N_l @ N_d).T @ w, truth) < DIFFERENCES
    assert error(evaluate(lambda *x: denoc.inverse_dynamics(chain(), *x), THETA, THETAD, THETADD), truth) < ROUND_OFF
    by_angle = np.array([ms.rate(lambda t, e=e: ms.twists(THETA + e * t, THETAD)) for e in np.eye(4)])
    assert error(by_angle @ w, truth) > 0.1


def test_24_has_one_rate_in_each_product() -> None:
    """Printed Nl' Nd' thetad in place of Nl Nd' thetad; ours are the accelerations of the recursion."""
    truth = accelerated_twists()
    N_l, N_d = ms.complement(THETA)
    N_l_rate, N_d_rate = (ms.rate(lambda t, k=k: ms.complement(THETA + THETAD * t)[k]) for k in (0, 1))
    right = N_l @ N_d @ THETADD + N_l @ N_d_rate @ THETAD + N_l_rate @ N_d @ THETAD
    printed = N_l @ N_d @ THETADD + N_l_rate @ N_d_rate @ THETAD + N_l_rate @ N_d @ THETAD
    assert error(right, truth) < DIFFERENCES
    assert error(printed, truth) > 1e-2
    x = [ca.SX(ca.DM(v)) for v in (THETA, THETAD, THETADD)]
    for i, (motion, frame) in enumerate(zip(denoc.outward_motion(chain(), *x), ms.frames(THETA), strict=True)):
        axes = frame.axes @ np.array(
            ca.evalf(chain().links[i].joint.turn(x[0][[i]]).matrix)
        )  # ours turn with the joint
        ours = np.concatenate([axes @ np.array(ca.evalf(v))[:, 0] for v in (motion.a, motion.alpha)])
        assert error(ours, truth[6 * i : 6 * i + 6]) < DIFFERENCES


# --------------------------------------------------------------------------------------------------- (13), gravity


def test_13_gravity_pulls_down_the_potential() -> None:
    """tau^G = -dV/dtheta: an arm let go from rest loses height; the printed sign lifts it."""
    model = ms.robot(GRAVITY).model()
    step = 1e-4
    slope = [model.energy(THETA + step * e, 0 * THETA).gravity - model.energy(THETA - step * e, 0 * THETA).gravity
             for e in np.eye(4)]  # fmt: skip
    slope = np.array(slope) / (2 * step)
    right, printed = np.linalg.solve(inertia(), -slope), np.linalg.solve(inertia(), slope)
    ours = model.forward_dynamics(THETA, 0 * THETA, np.zeros(4))
    assert error(ours, right) < 1e-7  # differences of second order, step 1e-4
    assert slope @ ours < 0  # V'' of the fall
    assert slope @ printed > 0
    assert error(printed, ours) > 1


def test_gravity_is_added_to_an_acceleration() -> None:
    """After (13): -g in the velocity of t_1 is a base in uniform motion, which nobody feels."""
    g, truth = np.array(GRAVITY), bias(GRAVITY)
    N = np.linalg.multi_dot(ms.complement(THETA))

    def carried(t: float) -> np.ndarray:
        N_l, N_d = ms.complement(THETA + THETAD * t)
        return N_l @ (N_d @ THETAD + np.concatenate([-g, np.zeros(21)]))

    printed = N.T @ ms.inertia_wrenches(THETA, THETAD, ms.rate(carried))
    still = ms.rate(lambda t: ms.twists(THETA + THETAD * t, THETAD))
    rising = still + ms.complement(THETA)[0] @ np.concatenate([-g, np.zeros(21)])
    assert error(N.T @ ms.inertia_wrenches(THETA, THETAD, rising), truth) < DIFFERENCES
    assert error(evaluate(lambda q, qd: denoc.inertial_forces(chain(GRAVITY), q, qd), THETA, THETAD), truth) < ROUND_OFF
    assert error(printed, truth) > 0.1


# ------------------------------------------------------------------------------------------ (29), Step 4, (36), Step D


def test_29_holds_on_and_below_the_diagonal() -> None:
    """i_ij = p_i^T M~_i A_ij p_j for i >= j; printed for all i, j."""
    placed = ms.frames(THETA)
    composite, beyond = [np.zeros((6, 6))] * 4, np.zeros((6, 6))
    for i in reversed(range(4)):
        A = ms.propagation(placed[i].O - placed[i + 1].O) if i < 3 else np.eye(6)
        beyond = composite[i] = ms.mass_matrix(i, placed[i]) + A.T @ beyond @ A
    p = [np.concatenate([np.zeros(3), frame.z]) for frame in placed]
    found = np.array([[p[i] @ composite[i] @ ms.propagation(placed[j].O - placed[i].O) @ p[j] for j in range(4)]
                      for i in range(4)])  # fmt: skip
    truth = inertia()
    assert error(np.tril(found), np.tril(truth)) < ROUND_OFF
    assert error(evaluate(lambda q: matrices.generalised_inertia(chain(), q), THETA), truth) < ROUND_OFF
    assert error(np.triu(found, 1), np.triu(truth, 1)) > 1e-2


def test_step_4_takes_rates_and_gamma() -> None:
    """tau-bar with theta where the rates belong, and without gamma; (29) is cited for (27)."""
    N_l, N_d = ms.complement(THETA)
    N_l_rate, N_d_rate = (ms.rate(lambda t, k=k: ms.complement(THETA + THETAD * t)[k]) for k in (0, 1))
    moving = N_l @ N_d_rate + N_l_rate @ N_d
    truth = bias()
    assert error((N_l @ N_d).T @ ms.inertia_wrenches(THETA, THETAD, moving @ THETAD), truth) < DIFFERENCES
    assert error(evaluate(lambda q, qd: denoc.inertial_forces(chain(), q, qd), THETA, THETAD), truth) < ROUND_OFF
    gamma = ms.inertia_wrenches(THETA, THETAD, np.zeros(24))
    for printed in (moving @ THETA, moving @ THETAD):
        wrench = ms.inertia_wrenches(THETA, THETAD, printed)
        assert error((N_l @ N_d).T @ (wrench - gamma), truth) > 0.1
    assert error((N_l @ N_d).T @ ms.inertia_wrenches(THETA, THETAD, moving @ THETA), truth) > 0.1


def test_step_D_solves_with_the_transpose() -> None:
    """(36) is thetadd = U^-T phi-tilde; the text of Step D says U^-1."""
    found = matrices.factors(chain(), ca.SX(ca.DM(THETA)))
    U, D = (np.array(ca.evalf(x)) for x in (found.U, found.D))
    truth = np.linalg.solve(inertia(), PHI)
    tilde = np.linalg.solve(U, PHI) / D[:, 0]
    assert error(np.linalg.solve(U.T, tilde), truth) < ROUND_OFF
    assert error(np.array(ca.evalf(found.solve(ca.SX(ca.DM(PHI)))))[:, 0], truth) < ROUND_OFF
    assert error(np.linalg.solve(U, tilde), truth) > 0.1


# -------------------------------------------------------------------------------------------------------- Steps 3-15


def test_step_3_blocks() -> None:
    """The first "M_iww" is M_ivw; z^T z and x^T x are products of cross matrices; payload and hub belong to M_i."""
    mass, a, b, _, hub, payload = ms.ROWS[0]
    frame = ms.frames(THETA)[0]
    truth = ms.mass_matrix(0, frame)
    C1, C2, C3, C4, C5 = rod_constants(mass / (a + b), a, b)
    z, x, end = (ms.cross_matrix(v) for v in (frame.z, frame.x, frame.end))
    M_vw = C1 * z + C2 * x - payload * end
    rod = C3 * z.T @ z + C4 * x.T @ x + C5 * (z.T @ x + x.T @ z)
    M_ww = rod + payload * end.T @ end + hub * np.outer(frame.z, frame.z)
    assert error(np.block([[(mass + payload) * np.eye(3), M_vw], [M_vw.T, M_ww]]), truth) < ROUND_OFF
    first_ww = C1 * z + C2 * x
    assert np.array_equal(first_ww, -first_ww.T)  # skew: as M_ww it would store no energy at all
    assert error(first_ww, truth[3:, 3:]) > 0.1
    outer = [np.outer(u, v) for u, v in ((frame.z, frame.z), (frame.x, frame.x), (frame.z, frame.x))]
    printed_ww = C3 * outer[0] + C4 * outer[1] + C5 * (outer[2] + outer[2].T)
    assert error(printed_ww, rod) > 0.1
    assert abs(mass - truth[0, 0]) / truth[0, 0] > 0.1  # rho (a + b), without the payload
    assert abs(C4 - truth[5, 5]) / truth[5, 5] > 0.1  # about the joint, without payload and hub
    body = evaluate(
        lambda q: denoc.mass_matrix(build_chain(Robot(name="one", links=ms.robot().links[:1])), q), THETA[:1]
    )
    assert body == pytest.approx(truth[5, 5], rel=ROUND_OFF)


@pytest.mark.parametrize("misprint", ["5 ww", "5 K", "8", "14", "15"])
def test_printed_steps_fail(misprint: str) -> None:
    """Step 5 fills M-hat_vv from ww, or from a x 1; Step 8 divides by psi-hat; 14 ends at n-1, 15 at 1."""
    truth = np.linalg.solve(inertia(), PHI)
    assert error(ms.accelerations(THETA, PHI), truth) < ROUND_OFF
    assert error(ms.accelerations(THETA, PHI, misprint), truth) > 1e-2
    force = ca.SX(ca.DM(PHI)) + denoc.inertial_forces(chain(), ca.SX(ca.DM(THETA)), ca.SX.zeros(4))
    rest = (ca.SX(ca.DM(THETA)), ca.SX.zeros(4), force, ca.SX.zeros(4))
    assert error(np.array(ca.evalf(denoc.forward_dynamics(chain(), *rest)))[:, 0], truth) < ROUND_OFF


# -------------------------------------------------------------------------------------------- prismatic, (11a), (B.7)


A_LENGTH = 0.4


def slider() -> Robot:
    """A hub that turns about a tilted axis, out of which a bent link slides along its own z; payload at (a, 0, 0)."""
    hub = RigidBody(mass=1.0, tip=(0.2, 0.1, 0.3))
    body = RigidBody(mass=0.7, com=(A_LENGTH, 0.0, 0.0), tip=(A_LENGTH, 0.0, 0.0))
    links = [
        Link(name="hub", joint=Joint(origin=Origin(rpy=(0.4, -0.7, 0.3))), rigid=hub),
        Link(name="slide", joint=Joint(type="prismatic", origin=Origin(rpy=(0.9, 0.2, -0.5))), rigid=body),
    ]
    return Robot(name="slider", gravity=(0, 0, 0), links=links)


def test_11a_counts_the_sliding_velocity_twice_and_B7_loses_coriolis() -> None:
    """p = [z; 0] puts b' z into v_i already; the derivative of r = o + b z + a x has 2 omega x b' z and b'' z."""
    model, made = slider().model(), build_chain(slider())
    q, qd, qdd = np.array([0.6, 0.5]), np.array([1.3, 0.8]), np.array([-0.4, 0.9])

    def place(t: float) -> np.ndarray:
        return model.tip_pose(q + qd * t + qdd * t**2 / 2)[:3, 3]

    def axes(angle: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """O_2 (where the slide starts), z_2 and the rod's end without b z_2."""
        pose = model.tip_pose([angle, 0.0])
        return pose[:3, 3] - A_LENGTH * pose[:3, 0], pose[:3, 2], A_LENGTH * pose[:3, 0]

    O, z, x = axes(q[0])
    axis = np.array(ca.evalf(made.links[0].joint.origin_rotation.matrix))[:, 2]
    omega, alpha = axis * qd[0], axis * qdd[0]
    slide, r = qd[1] * z, q[1] * z + x
    v = ms.rate(place)
    v_o = np.cross(omega, O)  # O_2 stays with the hub
    assert error(v_o + np.cross(omega, r) + slide, v) < DIFFERENCES
    assert error(model.jacobian(q)[3:] @ qd, v) < DIFFERENCES
    v_i = v_o + slide  # (4), (5) with p = [z; 0]
    printed_11a = v_i + np.cross(omega, r) + slide
    assert error(printed_11a - v, slide) < 10 * DIFFERENCES  # off by the sliding velocity itself

    acceleration = ms.rate(lambda t: ms.rate(lambda s: place(t + s)))
    inward = np.cross(omega, np.cross(omega, r))
    a_o = np.cross(alpha, O) + np.cross(omega, np.cross(omega, O))
    coriolis, push = 2 * np.cross(omega, slide), qdd[1] * z
    assert error(a_o + np.cross(alpha, r) + inward + coriolis + push, acceleration) < 1e-7  # two differences in a row
    motion = denoc.outward_motion(made, *(ca.SX(ca.DM(u)) for u in (q, qd, qdd)))[1]
    turned = model.tip_pose(q)[:3, :3] @ np.array(ca.evalf(motion.tip.R.matrix)).T
    assert error(turned @ np.array(ca.evalf(motion.ports[0].a))[:, 0], acceleration) < 1e-7
    for v_dot in (a_o, a_o + push + np.cross(omega, slide)):  # v_i of O_2, or with b' z in it by p
        printed_b7 = v_dot + np.cross(alpha, r) + inward
        assert error(printed_b7, acceleration) > 1e-2


def test_a_sliding_rod_keeps_its_mass() -> None:
    """The rod of (10) reaches from 0 to b_i: its mass rho (a + b) would grow as it slides; a link is what it weighs."""
    M = [slider().model().mass_matrix([0.3, b])[1, 1] for b in (0.2, 0.9)]
    assert M[0] == M[1] == pytest.approx(0.7, rel=ROUND_OFF)
    rho = 0.7 / (A_LENGTH + 0.2)
    assert rho * (A_LENGTH + 0.9) / M[1] > 2


# ------------------------------------------------------------------------------------------------- section 5, Table 3


def test_joints_1_2_and_4_cannot_match_while_the_others_leave() -> None:
    """The motion itself is unstable after 5 s and its unstable direction moves every joint.

    Section 4.2 says that joints 1, 2, 4 match exactly and 3, 5, 6 to 5.5 s; Table 3 gives 5.4, 5.6, 5.4 s for them.
    """
    model, T = load("puma").model(), 10.0

    def growth(t: float) -> tuple[float, np.ndarray]:
        w = 2 * np.pi / T
        q, qd = np.pi * t / T - np.sin(w * t) / 2, np.pi / T - w * np.cos(w * t) / 2
        qdd = w**2 * np.sin(w * t) / 2
        state = [np.full(6, x) for x in (q, qd, qdd)]
        values, vectors = np.linalg.eig(model.linearize(*state[:2], model.inverse_dynamics(*state)).A)
        k = values.real.argmax()
        share = np.abs(vectors[:6, k])
        return float(values[k].real), share / share.max()

    assert growth(2.5)[0] < 1.0
    rate, share = growth(5.5)
    assert rate == pytest.approx(21.8, abs=0.1)  # of the audited linearization; e-fold in 46 ms
    assert share[[0, 1, 3]].min() > 1e-3  # 1e-3 of the largest: a deviation of 1 rad there is 1e-3 rad here
