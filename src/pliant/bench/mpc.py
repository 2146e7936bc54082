"""A step of predictive control beside CasADi and IPOPT on the same problem.

Both have the same intervals, collocation, cost and bounds, and the same plan to start from. Pliant takes one real-time
iteration, preparation and feedback together; IPOPT solves the nonlinear program, with our compiled dynamics and its
derivatives.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from pliant.arrays import Array
from pliant.bench.arms import arm
from pliant.bench.findings import Comparison, Report, Side
from pliant.control import MPC
from pliant.control.predictive import Pilot
from pliant.horizon.collocation import radau_tableau
from pliant.model import Model
from pliant.robot import Robot, load
from pliant.timing import Effort, alternating

PART = "mpc"
INTERVALS, SPEED = 20, 0.6
ASKED = {4: 1e-3, 24: 20e-3}
"""Seconds of a step by the number of coordinates."""
REFERENCE = "first torques of the converged problem, relative"


def measure(report: Report, effort: Effort) -> None:
    """Fill in the comparisons of this part."""
    arms: list[tuple[Robot, Array, float]] = [(load("two-link"), np.zeros(2), 0.3)]
    if not effort.quick:
        arms.append((arm(6, 3), np.array([0.3, 0.5, 0.4, -0.5, 0.3, 0.2]), 0.1))
    for robot, start, by in arms:
        report.ask(PART, "CasADi + IPOPT", "casadi", partial(_compare, robot, start, by, report, effort))
    for peer, module in (("do-mpc", "do_mpc"), ("acados", "acados_template")):
        report.lacks(peer, module)


def problem(model: Model, start: Array, by: float) -> MPC:
    """A move of all joints over one period of the lowest frequency, torques and speeds bounded."""
    rest = model.equilibrium(start)
    torque = 1.5 * np.abs(model.holding_torque(rest)) + 50.0
    small = model.n <= 4
    return MPC(
        model, 1 / float(model.frequencies(rest)[0]), INTERVALS, start + by, {"joints": 1000.0, "rates": 1.0}, 1e-3,
        torque=torque, speeds=dict.fromkeys(model.joints, SPEED), stages=5 if small else 3, steps=2 if small else 1,
    )  # fmt: skip


def _compare(robot: Robot, start: Array, by: float, report: Report, effort: Effort) -> None:
    model = robot.model(stiffening=False)
    mpc = problem(model, start, by)
    x = np.concatenate([model.equilibrium(start), np.zeros(model.n)])
    tasks = {"ours": one_step(mpc, x), "peer": nonlinear_program(mpc, x)}
    times = alternating(tasks, effort)
    exact = tasks["peer"]()
    error = float(np.abs(tasks["ours"]() - exact).max() / np.abs(exact).max())
    name = f"{len(model.joints)} links, {model.n} coordinates"
    report.comparisons.append(
        Comparison(
            PART, name, f"a step of MPC, {INTERVALS} intervals", "step",
            Side("pliant, one iteration", times["ours"], error), Side("CasADi + IPOPT, warm", times["peer"], 0.0),
            REFERENCE,
        )
    )  # fmt: skip
    if not effort.quick:
        spent, asked = times["ours"].median, ASKED[model.n]
        report.verdicts.append((f"{PART}: {name}: {1e3 * spent:.2f} ms a step, asked {1e3 * asked:g}", spent < asked))


def begun(mpc: MPC, x: Array) -> tuple[Pilot, Array]:
    """A controller behind its first step, and the state that it predicts next."""
    pilot = mpc.pilot()
    first = pilot.step(x, 0.0)
    return pilot, np.concatenate([first.q[1], first.qd[1]])


def one_step(mpc: MPC, x: Array) -> Callable[[], Array]:
    """The second step, again and again: its torques."""
    pilot, later = begun(mpc, x)
    kept = pilot.solver.plan.copy()

    def run() -> Array:
        pilot.solver.plan[:] = kept
        return pilot.step(later, 0.0).tau

    return run


def nonlinear_program(mpc: MPC, x: Array) -> Callable[[], Array]:
    """The same step as one program of IPOPT, from the same plan."""
    import casadi as ca

    model, N, s, steps = mpc.model, mpc.intervals, mpc.stages, mpc.steps
    n, m, h = model.n, model.n_joints, mpc.interval / mpc.steps
    pilot, later = begun(mpc, x)
    c, b, twice, A, square = np.split(radau_tableau(s), np.cumsum([s, s, s, s * s]))
    A, square = A.reshape(s, s), square.reshape(s, s)
    f = model.casadi("forward_dynamics", count=N * steps * s)
    X, U, a = ca.MX.sym("X", 2 * n, N + 1), ca.MX.sym("U", m, N), ca.MX.sym("a", n, N * steps * s)
    Q, V, T, gaps = [], [], [], []
    for k in range(N):
        q, v = X[:n, k], X[n:, k]
        for j in range(steps):
            own = a[:, (k * steps + j) * s : (k * steps + j + 1) * s]
            Q.append(ca.repmat(q, 1, s) + h * ca.mtimes(v, ca.DM(c).T) + h * h * ca.mtimes(own, ca.DM(square).T))
            V.append(ca.repmat(v, 1, s) + h * ca.mtimes(own, ca.DM(A).T))
            T.append(ca.repmat(U[:, k], 1, s))
            q, v = q + h * v + h * h * ca.mtimes(own, ca.DM(twice)), v + h * ca.mtimes(own, ca.DM(b))
        gaps += [X[:n, k + 1] - q, X[n:, k + 1] - v]
    gaps.append(ca.vec(a - f(ca.horzcat(*Q), ca.horzcat(*V), ca.horzcat(*T))))
    cost = _cost(pilot, X, U)
    z = ca.vertcat(ca.vec(X), ca.vec(U), ca.vec(a))
    options: dict[str, Any] = {"ipopt.print_level": 0, "print_time": False, "ipopt.sb": "yes", "ipopt.tol": 1e-8}
    posed: dict[str, Any] = {"x": z, "f": cost, "g": ca.vertcat(*gaps)}
    solver = ca.nlpsol("step", "ipopt", posed, options)
    low, high, guess = _bounds(pilot, later)

    def run() -> Array:
        found = np.array(solver(x0=guess, lbx=low, ubx=high, lbg=0, ubg=0)["x"]).ravel()
        return found[2 * n * (N + 1) :][:m]

    run.solver = solver, f  # type: ignore[attr-defined]  # compiled functions live as long as their graph
    return run


def _cost(pilot: Pilot, X: Any, U: Any) -> Any:
    """What the controller minimises: quadratic, its matrices as the nodes have them."""
    import casadi as ca

    model, N = pilot.given.model, pilot.given.intervals
    goal = model.equilibrium(np.asarray(pilot.given.reference, dtype=float))
    x, tau = np.concatenate([goal, np.zeros(model.n)]), model.holding_torque(goal)
    W, P = (kernel(np.zeros(1), x, tau)[1] / 2 for kernel in (pilot.parts.node, pilot.parts.end))
    dx, du = X - ca.repmat(ca.DM(x), 1, N + 1), U - ca.repmat(ca.DM(tau), 1, N)
    size = len(x)
    total = ca.bilin(ca.DM(P[:size, :size]), dx[:, N], dx[:, N])
    for k in range(N):
        total += ca.bilin(ca.DM(W[:size, :size]), dx[:, k], dx[:, k])
        total += ca.bilin(ca.DM(W[size:, size:]), du[:, k], du[:, k])
    return total


def _bounds(pilot: Pilot, later: Array) -> tuple[Array, Array, Array]:
    """Least and most of all variables of the program, and where it starts."""
    given, solver = pilot.given, pilot.solver
    N, model = given.intervals, given.model
    pilot.prepare(0.0)  # shifts the plan
    speeds = np.full(2 * model.n, np.inf)
    speeds[model.n + np.array([model.speed_index(joint) for joint in model.joints])] = SPEED
    stages = np.full(N * given.steps * given.stages * model.n, np.inf)
    torque = np.tile(pilot.parts.torque[1], N)
    high = np.concatenate([later, np.tile(speeds, N), torque, stages])
    low = np.concatenate([later, -np.tile(speeds, N), -torque, -stages])
    start = solver.plan[: len(low)].copy()
    return low, high, start
