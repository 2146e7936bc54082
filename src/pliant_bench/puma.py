"""The PUMA of Mohan and Saha: mass matrix and accelerations beside Robotics Toolbox and SymPy's mechanics."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from pliant.arrays import Array
from pliant.model.robot import load
from pliant.options import FunctionName
from pliant_bench.arms import rigid_chain, states
from pliant_bench.extended import evaluate, relative_error
from pliant_bench.findings import Comparison, Report, Side
from pliant_bench.rigid_peers import RigidChain, RigidJoint
from pliant_bench.timing import Effort, alternating

PART = "puma"
TASKS = {"mass_matrix": "mass matrix", "forward_dynamics": "accelerations"}


class Puma:
    """The arm at one state, and our answers."""

    def __init__(self) -> None:
        robot = load("puma")
        self.model, self.chain = robot.model(), rigid_chain(robot)
        self.q, self.qd, self.tau = (x[0] for x in states(6, 6))
        self.inputs: dict[str, tuple[Array, ...]] = {
            "mass_matrix": (self.q,),
            "forward_dynamics": (self.q, self.qd, self.tau),
        }

    def compare(
        self, report: Report, effort: Effort, engine: str, theirs: dict[FunctionName, Callable[[], Any]]
    ) -> None:
        """One checked call of ours against the peer's, for each function that it has."""
        for name, run in theirs.items():
            ours = partial(getattr(self.model, name), *self.inputs[name])
            exact = evaluate(self.model, name, *self.inputs[name])
            errors = [relative_error(np.ravel(f()), exact) for f in (ours, run)]
            times = alternating({"ours": ours, "theirs": run}, effort)
            report.comparisons.append(
                Comparison(
                    PART, "PUMA", TASKS[name], "evaluation", Side("pliant, checked call", times["ours"], errors[0]),
                    Side(engine, times["theirs"], errors[1]), "extended precision, relative",
                )
            )  # fmt: skip


def measure(report: Report, effort: Effort) -> None:
    """Fill in the comparisons of this part."""
    puma = Puma()
    report.ask(PART, "Robotics Toolbox", "roboticstoolbox", partial(_toolbox, puma, report, effort))
    report.ask(PART, "SymPy mechanics", "sympy", partial(_sympy, puma, report, effort))


def _toolbox(puma: Puma, report: Report, effort: Effort) -> None:
    import roboticstoolbox as rtb

    arm = toolbox_arm(puma.chain)
    runs: dict[FunctionName, Callable[[], Any]] = {
        "mass_matrix": lambda: arm.inertia(puma.q),
        "forward_dynamics": lambda: arm.accel(puma.q, puma.qd, puma.tau),
    }
    puma.compare(report, effort, f"Robotics Toolbox {rtb.__version__}", runs)


def _sympy(puma: Puma, report: Report, effort: Effort) -> None:
    import sympy

    chain = puma.chain if not effort.quick else RigidChain(puma.chain.joints[:1], puma.chain.gravity)
    begin = time.perf_counter()
    f = sympy_functions(chain)
    seconds = time.perf_counter() - begin
    if effort.quick:  # the derivation of one joint proves that the peer works; six take ten seconds
        return

    def accelerations() -> Any:
        M, rhs = f(puma.q, puma.qd, puma.tau)
        return np.linalg.solve(M, rhs)

    runs: dict[FunctionName, Callable[[], Any]] = {
        "mass_matrix": lambda: f(puma.q, puma.qd, puma.tau)[0],
        "forward_dynamics": accelerations,
    }
    puma.compare(report, effort, f"SymPy {sympy.__version__}, KanesMethod, lambdify(cse=True)", runs)
    report.note(f"SymPy mechanics: {seconds:.1f} s to derive the PUMA and write its function, once")


def toolbox_arm(chain: RigidChain) -> Any:
    """A DHRobot of Robotics Toolbox. Its rows: `offset` and `rotation` of a joint are the DH row of the one before."""
    import roboticstoolbox as rtb

    last = RigidJoint(tuple(np.eye(3).ravel()), (0.0, 0.0, 0.0), 0.0, (0.0, 0.0, 0.0), (0.0,) * 9)
    links = []
    for joint, after in zip(chain.joints, (*chain.joints[1:], last)):
        R, p = np.reshape(after.rotation, (3, 3)), np.array(after.offset)
        alpha = np.arctan2(R[2, 1], R[1, 1])
        if abs(p[1]) > 1e-12 or not np.allclose(R[0], (1, 0, 0), atol=1e-12):
            raise ValueError("not a chain of standard Denavit-Hartenberg rows")
        links.append(
            rtb.RevoluteDH(
                d=p[2], a=p[0], alpha=alpha, m=joint.mass, r=R.T @ (np.array(joint.com) - p),
                I=R.T @ np.reshape(joint.inertia, (3, 3)) @ R, Jm=0, G=1, B=0, Tc=[0, 0],
            )
        )  # fmt: skip
    return rtb.DHRobot(links, gravity=np.array(chain.gravity))


def sympy_functions(chain: RigidChain) -> Callable[[Any, Any, Any], tuple[Any, Any]]:
    """Mass matrix and right-hand side of Kane's equations, derived as symbols: one NumPy function of q, qd, tau."""
    import sympy as sp
    from sympy.physics import mechanics as me

    n = len(chain.joints)
    q, u, tau = me.dynamicsymbols(f"q:{n}"), me.dynamicsymbols(f"u:{n}"), sp.symbols(f"tau:{n}")
    ground, point = me.ReferenceFrame("N"), me.Point("O")
    point.set_vel(ground, 0)
    frame, bodies, loads = ground, [], []
    for k, joint in enumerate(chain.joints):
        turned = me.ReferenceFrame(f"F{k}")
        spin = sp.Matrix([[sp.cos(q[k]), -sp.sin(q[k]), 0], [sp.sin(q[k]), sp.cos(q[k]), 0], [0, 0, 1]])
        turned.orient_dcm(frame, (sp.Matrix(3, 3, [_snapped(x) for x in joint.rotation]) * spin).T)
        turned.set_ang_vel(ground, frame.ang_vel_in(ground) + u[k] * turned.z)
        hinge = point.locatenew(f"P{k}", _vector(joint.offset, frame))
        hinge.v2pt_theory(point, ground, frame)
        centre = hinge.locatenew(f"C{k}", _vector(joint.com, turned))
        centre.v2pt_theory(hinge, ground, turned)
        inertia = [_snapped(joint.inertia[i]) for i in (0, 4, 8, 1, 5, 2)]
        bodies.append(me.RigidBody(f"B{k}", centre, turned, joint.mass, (me.inertia(turned, *inertia), centre)))
        loads += [(centre, joint.mass * _vector(chain.gravity, ground)), (turned, tau[k] * turned.z)]
        if k:
            loads.append((frame, -tau[k] * turned.z))
        point, frame = hinge, turned
    kane = me.KanesMethod(ground, q_ind=q, u_ind=u, kd_eqs=[a.diff() - b for a, b in zip(q, u)])
    kane.kanes_equations(bodies, loads)
    return sp.lambdify([q, u, tau], [kane.mass_matrix, kane.forcing], cse=True)  # type: ignore[no-any-return]


def _vector(numbers: Any, frame: Any) -> Any:
    x, y, z = (_snapped(v) for v in numbers)
    return x * frame.x + y * frame.y + z * frame.z


def _snapped(x: float) -> Any:
    """Whole numbers exactly, so that zeros vanish from the equations."""
    import sympy as sp

    return sp.Integer(round(x)) if abs(x - round(x)) < 1e-14 else sp.Float(x)
