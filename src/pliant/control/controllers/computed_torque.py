"""Computed torque of a flexible arm: nonlinear decoupling of the joints; flexible equations are eliminated.

    Gamma = (M_rr - M_rf M_ff^-1 M_rf^T) u + h_r + c_r - M_rf M_ff^-1 (h_f + c_f + K q_f)          [TG95] (31)
    u = qdd_d + G_v (qd_d - qd_r) + G_p (q_d - q_r)                                               [TG95] (32), (33)

makes the joints double integrators, qdd_r = u (35). The model's own recursion with prescribed joint accelerations does
the elimination. So no matrix is inverted, and the cost stays linear in the number of links.
"""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca
from numpy.typing import ArrayLike

from pliant.arrays import AnglesLike, Expression
from pliant.base.signatures import checked
from pliant.control.controllers.controller import (
    NO_STATES,
    Controller,
    Law,
    LawOutput,
    actuated,
    actuated_names,
    actuated_places,
    feedback_gain,
    reference_for,
)
from pliant.control.trajectories.trajectories import Trajectory, constant
from pliant.errors import ModelError
from pliant.mechanics.formulations.generalized_forces import commands_for
from pliant.model.model import Model


@checked
@dataclass(frozen=True)
class ComputedTorque(Controller):
    """Nonlinear decoupling of the joints [TG95] (31) with a PD outer loop (32), (33).

    Parameters
    ----------
    kp, kd : number, (m,) or (m, m)
        G_p in 1/s^2 and G_v in 1/s of the joint error equation (34).
    reference : Trajectory or (m,)
        Desired joint positions (of the motors, where drives are elastic).
    estimate : Model, optional
        Model of the arm that the controller uses, with the same coordinates; the model of the run by default. Equation
        (48) with an over-estimated stiffness is `robot.replace({"links.boom.beam.EI_z": 1.1 * EI}).model()`.

    Examples
    --------
    >>> model = pliant.load("two-link").model()
    >>> controller = pliant.control.ComputedTorque(kp=25.0, kd=10.0, reference=[0.5, 0.2])
    >>> pliant.simulate(model, 0.05, controller=controller).stats.status
    'finished'
    """

    kp: ArrayLike
    kd: ArrayLike
    reference: Trajectory | AnglesLike
    estimate: Model | None = None

    def bind(self, model: Model) -> Law:
        """Check gains, reference and estimate against the model."""
        return _DecouplingLaw(model, self)


class _DecouplingLaw(Law):
    gains = ("kp", "kd")
    tunable = (*gains, "reference")

    def __init__(self, model: Model, given: ComputedTorque) -> None:
        super().__init__(model)
        self.kp = feedback_gain("kp", given.kp, model.joints)
        self.kd = feedback_gain("kd", given.kd, model.joints)
        self.reference = reference_for(model, given.reference)
        if self.reference.coordinates not in (None, actuated_names(model)):
            raise ModelError(
                f"reference: it moves the joints {', '.join(model.joints)}, behind elastic drives; ComputedTorque "
                f"moves {', '.join(actuated_names(model))}: give it their path (`.trajectory` of rest_to_rest)"
            )
        self.estimate = checked_estimate(model, given.estimate)
        self.breaks = self.reference.breaks

    def expression(self, t: Expression, q: Expression, qd: Expression, z: Expression = NO_STATES) -> LawOutput:
        """(m, 1) torques Gamma, as commands of motors."""
        r, rd, rdd = self.reference.derivatives(t)
        y, yd = q[actuated_places(self.model)], qd[actuated(self.model)]
        u = rdd + ca.mtimes(constant(self.kd), rd - yd) + ca.mtimes(constant(self.kp), r - y)
        return commands_for(self.model.chain, decoupled(self.estimate, q, qd, u))


def decoupled(model: Model, q: Expression, qd: Expression, u: Expression) -> Expression:
    """(m, 1) torques that give the actuated coordinates the accelerations `u`: (31), (48)."""
    rows = actuated(model)
    held = {index: u[k] for k, index in enumerate(rows)}
    qdd = model.equations.accelerations(q, qd, ca.SX.zeros(model.n), held)
    return ca.SX(model.equations.inverse_dynamics(q, qd, qdd)[rows])


def checked_estimate(model: Model, estimate: Model | None) -> Model:
    """Return the controller's model of the arm, after a check: same coordinates, no parameters."""
    chosen = model if estimate is None else estimate
    if chosen.coordinates != model.coordinates:
        raise ModelError(
            f"estimate: its coordinates are {', '.join(chosen.coordinates)}, expected {', '.join(model.coordinates)}"
        )
    if chosen is not model and chosen.parameters:
        raise ModelError("estimate: expected a model without parameters; put their values in with robot.replace")
    return chosen
