"""The problem of a step of predictive control, posed to CasADi + IPOPT and to do-mpc.

Both start from the plan that pliant starts from, shifted by an interval, with the same stages, and end at the tolerance
1e-8 of IPOPT, or after `LONGEST` seconds, which the name of the side then tells.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from pliant.arrays import Array
from pliant.compute.nmpc.collocation import radau_tableau
from pliant.control.controllers.mpc import MPC, Pilot

LONGEST = 20.0
"""Seconds of the processor that a peer gets for one step."""
IPOPT: dict[str, Any] = {
    "ipopt.print_level": 0, "print_time": False, "ipopt.sb": "yes", "ipopt.tol": 1e-8, "ipopt.max_cpu_time": LONGEST,
}  # fmt: skip


@dataclass(frozen=True)
class Begun:
    """Controller after its first step: its start, its memory, and the state that it predicts next."""

    mpc: MPC
    start: Array
    plan: Array
    later: Array

    @classmethod
    def of(cls, mpc: MPC, joints: Array) -> Begun:
        """First two steps from rest."""
        x, pilot = np.concatenate([mpc.model.equilibrium(joints), np.zeros(mpc.model.n)]), mpc.pilot()
        first = pilot.step(x, 0.0)
        return cls(mpc, x, pilot.solver.plan.copy(), np.concatenate([first.q[1], first.qd[1]]))

    @cached_property
    def shifted(self) -> Pilot:
        """A controller whose plan is the one that the second step starts from."""
        pilot = self.mpc.pilot()
        pilot.solver.plan[:] = self.plan
        pilot.prepare(self.mpc.interval)
        return pilot

    @property
    def torque(self) -> Array:
        """(m,) bounds."""
        return np.asarray(self.shifted.parts.torque[1])

    @cached_property
    def state_bounds(self) -> Array:
        """(2, 2n) of coordinates and rates."""
        model = self.mpc.model
        found = np.array([np.full(2 * model.n, -np.inf), np.full(2 * model.n, np.inf)])
        for place, given in (
            *((model.index(name), bound) for name, bound in self.mpc.positions.items()),
            *((model.n + model.speed_index(name), bound) for name, bound in self.mpc.speeds.items()),
        ):
            found[:, place] = (-given, given) if isinstance(given, float) else given
        return found

    def cost(self) -> tuple[Array, Array, Array, Array]:
        """Minimum of the quadratic cost, (2n,) and (m,), and its matrices by (x, tau) at a node and at the last one."""
        model = self.mpc.model
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            goal = model.equilibrium(np.asarray(self.mpc.reference, dtype=float))
        x, tau = np.concatenate([goal, np.zeros(model.n)]), model.holding_torque(goal)
        parts = self.shifted.parts
        node, end = (np.asarray(kernel(np.zeros(1), x, tau)[1]) / 2 for kernel in (parts.node, parts.end))
        return x, tau, node, end

    def stages(self) -> tuple[Array, Array, Array]:
        """(N + 1, 2n) states, (N, m) torques and (N, steps stages, n) accelerations of the shifted plan."""
        mpc, solver = self.mpc, self.shifted.solver
        before = solver.states.size + solver.torques.size
        count = mpc.intervals * mpc.steps * mpc.stages * mpc.model.n
        a = solver.plan[before : before + count].reshape(mpc.intervals, -1, mpc.model.n)
        return solver.states, solver.torques, a


class PeerStep:
    """A step of a peer, to be called again and again: its first torques."""

    def __init__(self, solve: Callable[[], tuple[Array, Any]], alive: Any) -> None:
        self._solve, self._alive, self._stats = solve, alive, {"iter_count": 0, "success": False}

    def __call__(self) -> Array:
        tau, self._stats = self._solve()
        return tau

    def told(self) -> str:
        """Number of iterations, or the reason of a failure."""
        count = f"{self._stats['iter_count']} iterations"
        return count if self._stats["success"] else f"not solved: {self._stats.get('return_status')} after {count}"


def tableau(stages: int) -> tuple[Array, Array, Array, Array, Array]:
    """c, b, b^T A, A, A^2."""
    c, b, twice, A, square = np.split(radau_tableau(stages), np.cumsum([stages, stages, stages, stages * stages]))
    return c, b, twice, A.reshape(stages, stages), square.reshape(stages, stages)


def nonlinear_program(begun: Begun) -> PeerStep:
    """Pose the problem as one program of CasADi, with our compiled dynamics and their derivatives. The Hessian is that
    of the cost alone."""
    import casadi as ca

    mpc = begun.mpc
    model, N, s, steps = mpc.model, mpc.intervals, mpc.stages, mpc.steps
    n, m, h = model.n, model.n_joints, mpc.interval / mpc.steps
    c, b, twice, A, square = tableau(s)
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
    z = ca.vertcat(ca.vec(X), ca.vec(U), ca.vec(a))
    posed: dict[str, Any] = {"x": z, "f": _cost(begun, X, U), "g": ca.vertcat(*gaps)}
    solver = ca.nlpsol("step", "ipopt", posed, IPOPT | {"hess_lag": _cost_hessian(posed)})
    states, torques, stages = begun.stages()
    low, high = _bounds(begun, stages.size)
    guess = np.concatenate([states.ravel(), torques.ravel(), stages.ravel()])

    def run() -> tuple[Array, Any]:
        found = np.array(solver(x0=guess, lbx=low, ubx=high, lbg=0, ubg=0)["x"]).ravel()
        return found[2 * n * (N + 1) :][:m], solver.stats()

    return PeerStep(run, (solver, f))


def _cost_hessian(posed: dict[str, Any]) -> Any:
    """The Hessian of the cost in place of that of the Lagrangian, as real-time iterations take it."""
    import casadi as ca

    z, g = posed["x"], posed["g"]
    own, of_gaps, p = ca.MX.sym("own"), ca.MX.sym("of_gaps", g.numel()), ca.MX.sym("p", 0)
    hessian = ca.DM(ca.Function("hessian", [z], [ca.hessian(posed["f"], z)[0]])(np.zeros(z.numel())))
    names = ["x", "p", "lam_f", "lam_g"], ["triu_hess_gamma_x_x"]
    return ca.Function("nlp_hess_l", [z, p, own, of_gaps], [own * ca.triu(ca.sparsify(hessian))], *names)


def _cost(begun: Begun, X: Any, U: Any) -> Any:
    """Quadratic cost that the controller minimizes. Its matrices are those at the nodes."""
    import casadi as ca

    x, tau, W, P = begun.cost()
    N, size = begun.mpc.intervals, len(x)
    dx, du = X - ca.repmat(ca.DM(x), 1, N + 1), U - ca.repmat(ca.DM(tau), 1, N)
    total = ca.bilin(ca.DM(P[:size, :size]), dx[:, N], dx[:, N])
    for k in range(N):
        total += ca.bilin(ca.DM(W[:size, :size]), dx[:, k], dx[:, k])
        total += ca.bilin(ca.DM(W[size:, size:]), du[:, k], du[:, k])
    return total


def _bounds(begun: Begun, stages: int) -> list[Array]:
    """Least and largest values of all variables of the program."""
    N, free = begun.mpc.intervals, np.full(stages, np.inf)
    return [
        np.concatenate([begun.later, np.tile(own, N), np.tile(sign * begun.torque, N), sign * free])
        for own, sign in zip(begun.state_bounds, (-1, 1))
    ]


# ---------------------------------------------------------------------------------------------------------- do-mpc


def do_mpc_step(begun: Begun) -> PeerStep:
    """Pose the problem for do-mpc: equations as expressions, orthogonal collocation at the same points, `make_step`."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of packages that it would like to have
        import do_mpc

        controller = _posed_to_do_mpc(do_mpc, begun)
        guess = _guess_of_do_mpc(controller, begun)

    def run() -> tuple[Array, Any]:
        controller.opt_x_num.master = guess
        tau = np.asarray(controller.make_step(begun.later.reshape(-1, 1)), dtype=float).ravel()
        return tau, controller.solver_stats

    return PeerStep(run, controller)


def _posed_to_do_mpc(do_mpc: Any, begun: Begun) -> Any:
    """A controller of do-mpc."""
    import casadi as ca

    mpc, n = begun.mpc, begun.mpc.model.n
    plant = do_mpc.model.Model("continuous", "SX")
    q, v = (plant.set_variable("_x", name, shape=(n, 1)) for name in ("q", "v"))
    tau = plant.set_variable("_u", "tau", shape=(mpc.model.n_joints, 1))
    accelerations = mpc.model.equations.forward_dynamics(q, v, tau)
    known = [mpc.model.parameter_symbols], [ca.DM(mpc.model.nominal_parameters)]
    plant.set_rhs("q", v)
    plant.set_rhs("v", ca.substitute([ca.SX(accelerations)], *known)[0])
    plant.setup()
    found = do_mpc.controller.MPC(plant)
    found.set_param(
        n_horizon=mpc.intervals, t_step=mpc.interval, state_discretization="collocation", collocation_type="radau",
        collocation_deg=mpc.stages, collocation_ni=mpc.steps, cons_check_colloc_points=False,
        store_full_solution=False, store_solver_stats=["success", "iter_count"], nlpsol_opts=dict(IPOPT),
    )  # fmt: skip
    x, rest, W, P = begun.cost()
    size = len(x)
    dx, du = ca.vertcat(q, v) - x, tau - rest
    own = ca.bilin(ca.DM(W[:size, :size]), dx, dx) + ca.bilin(ca.DM(W[size:, size:]), du, du)
    found.set_objective(mterm=ca.bilin(ca.DM(P[:size, :size]), dx, dx), lterm=own)
    found.set_rterm(tau=0.0)
    for side, given, sign in zip(("lower", "upper"), begun.state_bounds, (-1, 1)):
        found.bounds[side, "_x", "q"], found.bounds[side, "_x", "v"] = given[:n], given[n:]
        found.bounds[side, "_u", "tau"] = sign * begun.torque
    found.setup()
    return found


def _guess_of_do_mpc(controller: Any, begun: Begun) -> Any:
    """The shifted plan in the variables of do-mpc: states at all points of collocation, their own node last."""
    import casadi as ca

    mpc, n = begun.mpc, begun.mpc.model.n
    c, b, twice, A, square = tableau(mpc.stages)
    h = mpc.interval / mpc.steps
    states, torques, stages = begun.stages()
    controller.x0 = begun.later
    controller.set_initial_guess()
    for k in range(mpc.intervals):
        q, v = states[k][:n], states[k][n:]
        controller.opt_x_num["_x", k, 0, -1] = states[k]
        controller.opt_x_num["_u", k, 0] = torques[k]
        points = []
        for own in stages[k].reshape(mpc.steps, mpc.stages, n):
            points.append(np.concatenate([q, v]))
            points += [np.concatenate(x) for x in zip(q + h * np.outer(c, v) + h * h * square @ own, v + h * A @ own)]
            q, v = q + h * v + h * h * twice @ own, v + h * b @ own
        for place, point in enumerate(points[1:]):
            controller.opt_x_num["_x", k + 1, 0, place] = point
    controller.opt_x_num["_x", mpc.intervals, 0, -1] = states[-1]
    return ca.DM(controller.opt_x_num.master)
