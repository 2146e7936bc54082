"""The closed loop of predictive control against the best that torques of the same samples could do at all.

The optimum is that of the whole run at once, found off line by a method that shares nothing with the controller but the
equations of the arm: classical Runge-Kutta steps, 32 in an interval, with their sensitivities, the cost as
an integral, Gauss-Newton, and qpOASES. What the loop pays is integrated along the simulated arm.
"""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np
import pytest
from scipy.integrate import simpson

import pliant
from pliant.control import MPC
from pliant.control.controllers.lqr import state_weight
from pliant.model import Model

Q, R, GOAL = {"joints": 100.0, "rates": 1.0}, 1e-5, (0.4, -0.3)
DEFLECTION = (-0.0195, 0.02)
TORQUE = np.array([160.0, 45.0])
COUNT, FINE = 30, 32
"""Samples of a run, at whose end the arm is nearly at rest, and steps between two of them."""


@pytest.mark.slow
def test_the_loop_pays_what_the_optimum_of_the_whole_run_does() -> None:
    arm = pliant.load("two-link").model(stiffening="off")
    start = arm.equilibrium([0.0, 0.0])
    bounds: dict[str, Any] = {"torque": TORQUE, "positions": {"upper.bending_y.1": DEFLECTION}}
    mpc = MPC(arm, 1 / float(arm.frequencies(start)[0]), 20, GOAL, Q, R, stages=8, steps=2, **bounds)
    goal = np.concatenate([arm.equilibrium(GOAL), np.zeros(arm.n)])
    last = np.asarray(mpc._parts.end(np.zeros(1), goal, arm.holding_torque(goal[:4]))[1])[:8, :8] / 2
    h = mpc.interval
    run = pliant.simulate(arm, COUNT * h, q0=start, controller=mpc, output_step=h / FINE, rtol=1e-10, atol=1e-12)
    x, tau = np.hstack([run.q, run.qd]), run.tau[:-1:FINE]
    found = Optimum(arm, h, x[0], goal, last)
    paid = found.spent(x, tau)
    best, there = found.least(tau)
    assert paid <= 1.03 * best
    assert paid >= (1 - 1e-4) * best  # nothing that keeps the bounds pays less, but for what steps miss of the motion
    assert np.abs(there - x).max() > 1e-3  # another motion
    assert min(x[::FINE, 2]) < DEFLECTION[0] + 1e-6  # a bound was met


class Optimum:
    """Least cost of a run from a state over torques that are constant between samples, bounds kept at samples."""

    def __init__(self, arm: Model, h: float, start: np.ndarray, goal: np.ndarray, last: np.ndarray) -> None:
        self.arm, self.h, self.start, self.goal, self.last = arm, h, start, goal, last
        self.weight, self.hold = state_weight(arm, Q), arm.holding_torque(goal[: arm.n])

    def spent(self, x: np.ndarray, tau: np.ndarray) -> float:
        """The cost of a motion (COUNT FINE + 1, 2n) under torques (COUNT, m)."""
        away, dt = x - self.goal, self.h / FINE
        squares = ((away @ self.weight) * away).sum(axis=1)
        whole = sum(simpson(squares[k * FINE : (k + 1) * FINE + 1], dx=dt) for k in range(COUNT))
        return float(whole + R * self.h * ((tau - self.hold) ** 2).sum() + away[-1] @ self.last @ away[-1])

    def least(self, tau: np.ndarray) -> tuple[float, np.ndarray]:
        """The least cost and its motion, searched from given torques."""
        for _ in range(12):
            x, S = self.motion(tau)
            change = self.program(tau, x, S)
            tau = tau + change
            if np.abs(change).max() < 5e-4 * np.abs(tau).max():  # its square is what the cost misses
                break
        x, _ = self.motion(tau)
        place = x[::FINE, self.arm.index("upper.bending_y.1")]
        assert max(place.max() - DEFLECTION[1], DEFLECTION[0] - place.min()) < 1e-6
        return self.spent(x, tau), x

    def motion(self, tau: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """States at all steps, and their slopes (..., 2n, COUNT m) by all torques."""
        n, m, dt = self.arm.n, self.arm.n_joints, self.h / FINE
        X = np.hstack([self.start[:, None], np.zeros((2 * n, COUNT * m))])
        found = [X]
        for k in range(COUNT):
            here = slice(1 + k * m, 1 + (k + 1) * m)

            def rate(X: np.ndarray, u: np.ndarray = tau[k], here: slice = here) -> np.ndarray:
                a, by_q, by_v, by_u = self.arm.forward_dynamics_derivatives(X[:n, 0], X[n:, 0], u)
                found = np.vstack([X[n:], by_q @ X[:n] + by_v @ X[n:]])
                found[n:, 0] = a
                found[n:, here] += by_u
                return found

            for _ in range(FINE):
                k1 = rate(X)
                k2 = rate(X + dt / 2 * k1)
                k3 = rate(X + dt / 2 * k2)
                X = X + dt / 6 * (k1 + 2 * k2 + 2 * k3 + rate(X + dt * k3))
                found.append(X)
        whole = np.array(found)
        return whole[:, :, 0], whole[:, :, 1:]

    def program(self, tau: np.ndarray, x: np.ndarray, S: np.ndarray) -> np.ndarray:
        """The change of torques by which the linearized motion costs least, within bounds."""
        simpsons = np.tile(np.r_[2.0, np.tile([4.0, 2.0], FINE // 2)[:-1]], COUNT) * self.h / FINE / 3
        parts = np.append(simpsons, self.h / FINE / 3)
        parts[0] /= 2
        weighed = parts[:, None, None] * (self.weight @ S)
        weighed[-1] += self.last @ S[-1]
        flat, columns = S.reshape(-1, S.shape[2]), weighed.reshape(-1, S.shape[2])
        H = 2 * (flat.T @ columns + R * self.h * np.eye(S.shape[2]))
        g = 2 * (columns.T @ (x - self.goal).ravel() + R * self.h * (tau - self.hold).ravel())
        nodes, place = slice(FINE, None, FINE), self.arm.index("upper.bending_y.1")
        rows, now, most = S[nodes, place], x[nodes, place], np.tile(TORQUE, COUNT)
        scale = 1.0 / np.sqrt(np.diag(H))
        given = {
            "h": H * scale * scale[:, None], "g": g * scale, "a": 1e3 * rows * scale,
            "lba": 1e3 * (DEFLECTION[0] - now), "uba": 1e3 * (DEFLECTION[1] - now),
            "lbx": (-most - tau.ravel()) / scale, "ubx": (most - tau.ravel()) / scale,
        }  # fmt: skip
        shapes = {"h": ca.Sparsity.dense(*H.shape), "a": ca.Sparsity.dense(*rows.shape)}
        solver = ca.conic("program", "qpoases", shapes, {"printLevel": "none"})
        found = solver(**{name: ca.DM(value) for name, value in given.items()})["x"]
        return (np.array(found).ravel() * scale).reshape(tau.shape)
