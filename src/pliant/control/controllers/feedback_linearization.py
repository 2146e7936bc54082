"""Feedback linearization of the link side of arms with elastic drives and rigid links [Spo87].

The positions y of the links have relative degree four: y'''' = b(x) + A(x) tau with A = M^-1 K J^-1, never singular. So
tau = A^-1 (v - b) makes y'''' = v, and v places all poles of the error. The model computes y'' and y''' from the state;
they are not measured. Automatic differentiation of the model's own equations gives the Lie derivatives.
"""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca
from numpy.typing import ArrayLike

from pliant.arrays import AnglesLike, Expression
from pliant.base.signatures import checked
from pliant.control.controllers.computed_torque import checked_estimate
from pliant.control.controllers.controller import NO_STATES, Controller, Law, LawOutput, checked_limit, reference_for
from pliant.control.trajectories.trajectories import Trajectory, constant
from pliant.errors import ModelError, UnsupportedModel
from pliant.mechanics.formulations.generalized_forces import commands_for
from pliant.model.model import Model

ORDER = 4
BINOMIAL = (1.0, 4.0, 6.0, 4.0)
"""Coefficients of (s + w)^4, from the constant on."""


@checked
@dataclass(frozen=True)
class FeedbackLinearization(Controller):
    """Tracking of joints behind elastic drives with the linear error equation (s + w)^4 e = 0 [Spo87].

    Parameters
    ----------
    omega : number or (m,)
        w of each joint, rad/s. All four poles of its error are at -w.
    reference : Trajectory or (m,)
        Desired positions of the joints, four times differentiable between breaks.
    estimate : Model, optional
        Model of the arm that the controller uses, with the same coordinates; the model of the run by default.

    Notes
    -----
    All links must be rigid and behind elastic drives without dampers. A damper reduces the relative degree to three and
    leaves unobserved motions of the motors. For such an arm give an `estimate` whose dampers are zero. Friction of a
    shaft is compensated by the model.

    Examples
    --------
    >>> drive = pliant.robot.Drive(stiffness=400.0, rotor_inertia=1e-4, gear_ratio=50.0)
    >>> rod = pliant.RigidBody.slender_rod(2.0, 0.5)
    >>> link = pliant.Link(name="arm", rigid=rod, joint=pliant.Joint(drive=drive))
    >>> model = pliant.Robot(name="one", links=[link]).model()
    >>> controller = pliant.control.FeedbackLinearization(20.0, [0.4])
    >>> run = pliant.simulate(model, 1.0, controller=controller)
    >>> print(run["arm"][-1].round(4))
    0.4
    """

    omega: ArrayLike
    reference: Trajectory | AnglesLike
    estimate: Model | None = None

    def bind(self, model: Model) -> Law:
        """Check poles, reference and the arm."""
        return _LinearizingLaw(model, self)


class _LinearizingLaw(Law):
    tunable = ("omega", "reference")

    def __init__(self, model: Model, given: FeedbackLinearization) -> None:
        super().__init__(model)
        _require_elastic(model)
        self.omega = checked_limit("omega", given.omega, model.n_joints)
        self.reference = reference_for(model, given.reference)
        if self.reference.coordinates not in (None, tuple(model.joints)):
            raise ModelError("reference: it moves motors; expected a path of the joints")
        self.estimate = checked_estimate(model, given.estimate)
        self.breaks = self.reference.breaks

    def expression(self, t: Expression, q: Expression, qd: Expression, z: Expression = NO_STATES) -> LawOutput:
        """(m, 1) torques, as commands of motors."""
        y, b, A = output_derivatives(self.estimate, q, qd)
        r = self._reference(t)
        w = constant(self.omega)
        v = r[ORDER]
        for k, factor in enumerate(BINOMIAL):
            v = v + factor * w ** (ORDER - k) * (r[k] - y[k])
        return commands_for(self.model.chain, ca.solve(A, v - b))

    def _reference(self, t: Expression) -> list[Expression]:
        """Path and its derivatives up to the fourth."""
        time = ca.SX.sym("t")
        found = [ca.SX(self.reference.expression(time))]
        for _ in range(ORDER):
            found.append(ca.densify(ca.jacobian(found[-1], time)))
        return ca.substitute(found, [time], [ca.SX(t)])


def output_derivatives(model: Model, q: Expression, qd: Expression) -> tuple[list[Expression], Expression, Expression]:
    """y, y', y'', y''' of the joints at a state, and b (m, 1), A (m, m) of y'''' = b + A tau."""
    n, m = model.n, model.n_joints
    x, tau = ca.SX.sym("x", 2 * n), ca.SX.sym("tau", m)
    rate = ca.vertcat(x[n:], model.equations.forward_dynamics(x[:n], x[n:], tau))
    joints = [shaft.index for shaft in model.chain.shafts]
    found = [x[joints]]
    for order in range(1, ORDER + 1):
        found.append(ca.jtimes(found[-1], x, rate))
        if order < ORDER and ca.jacobian(found[-1], tau).nnz():
            raise UnsupportedModel(
                f"FeedbackLinearization: torques act on derivative {order} of the joints, expected 4: drives with "
                "`damping`, or motors that carry loads; give `estimate` a model whose drives have none"
            )
    A = ca.jacobian(found[-1], tau)
    b = ca.substitute(found[-1], tau, ca.SX.zeros(m))
    *outputs, b, A = ca.substitute([*found[:ORDER], b, ca.densify(A)], [x], [ca.vertcat(q, qd)])
    return outputs, b, A


def _require_elastic(model: Model) -> None:
    stiff = [name for name, shaft in zip(model.joints, model.layout.shafts) if shaft.drive is None]
    if stiff:
        raise UnsupportedModel(f"FeedbackLinearization: joint {stiff[0]!r} has no elastic drive; take ComputedTorque")
    if model.n != 2 * model.n_joints:
        raise UnsupportedModel(
            "FeedbackLinearization: links that bend have zeros on the wrong side; it is for rigid links behind elastic "
            "drives; take ComputedTorque, or LQR"
        )
