"""Misprints of [TG95]: printed forms fail, ours hold. (47) is in tests/shapes; (19), (21), (26) in test_sliding."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

import pliant
from pliant.dynamics import build_chain


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
    from pliant.shapes import (
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
