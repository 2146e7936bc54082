"""Optimal control with IPOPT: the smoothest torque for a move that ends at rest, with compiled derivatives
and without.

The arm is a function inside CasADi's graph. Compiled, all nodes of the horizon go through the batch kernel at once, and
so do exact first and second derivatives; traced, CasADi differentiates the expression and runs its own virtual machine.
Both solve the same problem to the same end.
"""

import time

import casadi as ca
import numpy as np

import pliant

robot = pliant.load("two-link").replace({f"links.{name}.shapes.bending_y": 2 for name in ("upper", "fore")})
model = robot.model(stiffening="off")
n, m, nodes, seconds = model.n, model.n_joints, 40, 2.0
start, goal = model.equilibrium([-1.2, 0.4]), model.equilibrium([-0.6, -0.2])
path = np.array([model.equilibrium(joints) for joints in np.linspace(start[:m], goal[:m], nodes)])
weight = np.array([model.holding_torque(q) for q in path])
guess = np.concatenate([path.ravel(), np.zeros(nodes * n), weight.ravel()])  # from rest to rest, infinitely slowly

found = {}
for kind in ("compiled", "traced"):
    q, qd, tau = ca.MX.sym("q", n, nodes), ca.MX.sym("qd", n, nodes), ca.MX.sym("tau", m, nodes)
    f = model.casadi("forward_dynamics", kind, count=nodes)
    qdd, h = f(q, qd, tau), seconds / (nodes - 1)
    gaps = [x[:, 1:] - x[:, :-1] - h / 2 * (rate[:, 1:] + rate[:, :-1]) for x, rate in ((q, qd), (qd, qdd))]
    ends = [q[:, 0] - start, q[:, -1] - goal, qd[:, 0], qd[:, -1], tau[:, 0] - weight[0], tau[:, -1] - weight[-1]]
    problem = {
        "x": ca.veccat(q, qd, tau),
        "f": ca.sumsqr((tau[:, 1:] - tau[:, :-1]) / h) * h / 1e3,
        "g": ca.veccat(*gaps, *ends),
    }
    solver = ca.nlpsol("solver", "ipopt", problem, {"print_time": False, "ipopt.print_level": 0, "ipopt.sb": "yes"})
    solver(x0=guess, lbg=0, ubg=0)  # compiles, or loads what was compiled before
    begin = time.perf_counter()
    answer = solver(x0=guess, lbg=0, ubg=0)
    took, stats = time.perf_counter() - begin, solver.stats()
    assert stats["success"]
    found[kind] = np.array(answer["x"]).ravel()
    print(f"{kind:9s}{stats['iter_count']:4d} iterations, {took * 1e3:6.0f} ms, cost {float(answer['f']):.6f}")

torque = found["compiled"][-nodes * m :].reshape(nodes, m)
print(f"largest torques {np.abs(torque).max(axis=0).round(1)} N m")
np.testing.assert_allclose(found["compiled"], found["traced"], atol=1e-5 * np.abs(torque).max())


def picture(ax):
    ax.plot(np.linspace(0, seconds, nodes), torque, label=["upper", "fore"])
    ax.set(xlabel="t, s", ylabel="torque, N m", title="From rest to rest with the smoothest torque")
    ax.legend()
