"""The PUMA in Robotics Toolbox and in SymPy's mechanics, from plain numbers; imports nothing of pliant."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pliant_bench.rigid_peers import RigidChain, RigidJoint


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
        center = hinge.locatenew(f"C{k}", _vector(joint.com, turned))
        center.v2pt_theory(hinge, ground, turned)
        inertia = [_snapped(joint.inertia[i]) for i in (0, 4, 8, 1, 5, 2)]
        bodies.append(me.RigidBody(f"B{k}", center, turned, joint.mass, (me.inertia(turned, *inertia), center)))
        loads += [(center, joint.mass * _vector(chain.gravity, ground)), (turned, tau[k] * turned.z)]
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
