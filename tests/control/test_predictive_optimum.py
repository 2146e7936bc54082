"""The closed loop of predictive control against the best that torques of the same samples could do at all.

The optimum is that of the whole run at once, found off line by a method that shares nothing with the controller but the
equations of the arm: Gauss-Legendre collocation of all of it, finer than the controller predicts, the cost as an
integral, and IPOPT with exact second derivatives. What the loop pays is integrated along the simulated arm.
"""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np
from scipy.integrate import simpson

import pliant
from pliant.control import MPC
from pliant.control.lqr import state_weight
from pliant.model import Model

Q, R, GOAL = {"joints": 100.0, "rates": 1.0}, 1e-5, (0.4, -0.3)
BOUNDS: dict[str, Any] = {"torque": [160.0, 45.0], "positions": {"upper.bending_y.1": (-0.0195, 0.02)}}
COUNT, FINE = 30, 48
"""Samples of a run, in which the arm comes to rest but for 1e-3 of what it costs, and outputs between two of them."""


def test_the_loop_pays_what_the_optimum_of_the_whole_run_does() -> None:
    arm = pliant.load("two-link").model(stiffening=False)
    start = arm.equilibrium([0.0, 0.0])
    mpc = MPC(arm, 1 / float(arm.frequencies(start)[0]), 20, GOAL, Q, R, stages=8, steps=2, **BOUNDS)
    goal = np.concatenate([arm.equilibrium(GOAL), np.zeros(arm.n)])
    last = np.asarray(mpc._parts.end(np.zeros(1), goal, arm.holding_torque(goal[:4]))[1])[:8, :8] / 2
    h = mpc.interval
    run = pliant.simulate(arm, COUNT * h, q0=start, controller=mpc, output_step=h / FINE, rtol=1e-10, atol=1e-12)
    x, tau = np.hstack([run.q, run.qd]), run.tau[:-1:FINE]
    paid = spent(arm, run.t, x, tau, goal) + (x[-1] - goal) @ last @ (x[-1] - goal)
    best = optimum(arm, h, x[::FINE], tau, goal, last)
    assert paid <= 1.03 * best
    assert paid >= (1 - 1e-6) * best  # nothing that keeps the bounds pays less
    assert min(x[:, 2]) < -0.0195 + 1e-4  # a bound was met


def spent(arm: Model, t: np.ndarray, x: np.ndarray, tau: np.ndarray, goal: np.ndarray) -> float:
    """The integral of the cost along a run, interval by interval."""
    away, effort = x - goal, tau - arm.holding_torque(goal[: arm.n])
    of_state = ((away @ state_weight(arm, Q)) * away).sum(axis=1)
    parts = [slice(k * FINE, (k + 1) * FINE + 1) for k in range(COUNT)]
    whole = sum(simpson(of_state[part], x=t[part]) for part in parts)
    return float(whole + R * (effort**2).sum() * (t[-1] / COUNT))


def optimum(
    arm: Model, h: float, states: np.ndarray, torques: np.ndarray, goal: np.ndarray, last: np.ndarray, degree: int = 7,
    pieces: int = 2,
) -> float:  # fmt: skip
    """Least cost over torques that are constant between samples, bounds kept at samples; searched from a known run."""
    n, m, size = arm.n, arm.n_joints, 2 * arm.n
    q, v, u = ca.SX.sym("q", n), ca.SX.sym("v", n), ca.SX.sym("u", m)
    known = [arm.parameter_symbols], [ca.DM(arm.nominal_parameters)]
    (a,) = ca.substitute([ca.SX(arm.equations.forward_dynamics(q, v, u))], *known)
    rate = ca.Function("rate", [ca.vertcat(q, v), u], [ca.vertcat(v, a)])
    C, D, B = ca.collocation_coeff(ca.collocation_points(degree, "legendre"))  # slopes, end, weights
    dt, W, hold = h / pieces, ca.DM(state_weight(arm, Q)), arm.holding_torque(goal[:n])
    begin, Z, U = ca.MX.sym("begin", size), ca.MX.sym("Z", size, degree * pieces), ca.MX.sym("U", m)
    x, gaps, cost = begin, [], R * h * ca.sumsqr(U - hold)
    for k in range(pieces):
        points = Z[:, k * degree : (k + 1) * degree]
        gaps.append(ca.mtimes(ca.horzcat(x, points), C) - dt * rate.map(degree)(points, ca.repmat(U, 1, degree)))
        away = points - ca.repmat(ca.DM(goal), 1, degree)
        cost += dt * ca.mtimes(ca.sum1(away * ca.mtimes(W, away)), B)
        x = ca.mtimes(ca.horzcat(x, points), D)
    interval = ca.Function("interval", [begin, Z, U], [x, ca.vec(ca.horzcat(*gaps)), cost]).expand()
    X, stages, tau = (
        ca.MX.sym("X", size, COUNT + 1), ca.MX.sym("stages", size, degree * pieces * COUNT), ca.MX.sym("tau", m, COUNT)
    )  # fmt: skip
    ends, missed, costs = interval.map(COUNT)(X[:, :-1], stages, tau)
    end = X[:, -1] - ca.DM(goal)
    posed: dict[str, Any] = {
        "x": ca.vertcat(ca.vec(X), ca.vec(stages), ca.vec(tau)), "f": ca.sum2(costs) + ca.bilin(ca.DM(last), end, end),
        "g": ca.vertcat(ca.vec(ends - X[:, 1:]), ca.vec(missed)),
    }  # fmt: skip
    free = np.full(size, np.inf)
    low, high = -free, free.copy()
    low[2], high[2] = BOUNDS["positions"]["upper.bending_y.1"]
    sides = [
        np.concatenate([states[0], np.tile(side, COUNT), np.tile(sign * free, degree * pieces * COUNT), np.tile(most, COUNT)])
        for side, sign, most in ((low, -1, -np.array(BOUNDS["torque"])), (high, 1, np.array(BOUNDS["torque"])))
    ]  # fmt: skip
    guess = np.concatenate([states.ravel(), np.repeat(states[1:], degree * pieces, axis=0).ravel(), torques.ravel()])
    options = {"ipopt.print_level": 0, "print_time": False, "ipopt.sb": "yes", "ipopt.tol": 1e-9}
    solver = ca.nlpsol("optimum", "ipopt", posed, options)
    found = solver(x0=guess, lbx=sides[0], ubx=sides[1], lbg=0, ubg=0)
    assert solver.stats()["success"]
    return float(found["f"])
