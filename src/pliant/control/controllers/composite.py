"""Composite control [SB88]: computed torque for the slow motion of the rigid arm, fast feedback for its vibration.

The rigid coordinates y are the motors; z are the elastic ones (twists of drives, amplitudes of links). A stiffness of
order 1/e^2 makes z fast. On the slow manifold z rests at z_s = -K^-1 f(y, y', u), bent by inertia, gravity and the slow
torque of the rigid arm. About it the fast system z'' = -N K z + N_zy tau, with N the inverse of the inertia matrix, is
regulated for the arm at a fixed pose. The error of the whole is of order e.
"""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from pliant.arrays import AnglesLike, Array, Expression
from pliant.base.signatures import checked
from pliant.control.controllers.computed_torque import checked_estimate
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
from pliant.control.controllers.lqr import regulator
from pliant.control.trajectories.trajectories import Trajectory, constant, numbers, positive
from pliant.errors import ModelError, UnsupportedModel
from pliant.mechanics.formulations.generalized_forces import commands_for, strain_energy
from pliant.mechanics.formulations.motion_equations import solve_positive
from pliant.mechanics.formulations.terms import partition
from pliant.model.model import Model


@checked
@dataclass(frozen=True)
class Composite(Controller):
    """Computed torque of the rigid arm, and regulation of elastic coordinates about their quasi-static shape [SB88].

    Parameters
    ----------
    kp, kd : number, (m,) or (m, m)
        Gains of the slow motion, 1/s^2 and 1/s.
    reference : Trajectory or (m,)
        Desired positions of the actuated coordinates: joints, or motors of elastic drives.
    effort : number
        Weight of a fast torque, s/(N^2 m^2) per joule of vibration. A smaller weight damps harder.
    at : (m,), optional
        Pose at which the fast feedback is designed; the start of the reference by default.
    estimate : Model, optional
        Model of the arm that the controller uses, with the same coordinates; the model of the run by default.

    Notes
    -----
    The law measures motors, twists of drives and amplitudes of links, with their rates. The fast gain is constant, as
    designed at `at`. The slow part follows the pose.

    Examples
    --------
    >>> model = pliant.load("two-link").model()
    >>> move = pliant.control.Quintic([0.0, 0.0], [0.5, -0.4], 2.0)
    >>> controller = pliant.control.Composite(kp=16.0, kd=8.0, reference=move, effort=1e-4)
    >>> pliant.simulate(model, 0.05, "equilibrium", controller=controller).stats.status
    'finished'
    """

    kp: ArrayLike
    kd: ArrayLike
    reference: Trajectory | AnglesLike
    effort: float = 1e-3
    at: ArrayLike | None = None
    estimate: Model | None = None

    def bind(self, model: Model) -> Law:
        """Check gains, reference and estimate, and design the fast feedback."""
        return _CompositeLaw(model, self)


class _CompositeLaw(Law):
    gains = ("kp", "kd")
    tunable = (*gains, "reference")

    def __init__(self, model: Model, given: Composite) -> None:
        super().__init__(model)
        model.layout.require_plain("composite control")
        self.kp = feedback_gain("kp", given.kp, model.joints)
        self.kd = feedback_gain("kd", given.kd, model.joints)
        self.reference = reference_for(model, given.reference)
        if self.reference.coordinates not in (None, actuated_names(model)):
            raise ModelError(f"reference: expected a path of {', '.join(actuated_names(model))}")
        self.estimate = checked_estimate(model, given.estimate)
        self.breaks = self.reference.breaks
        self.rigid, self.bends = _motions(model)
        if not self.bends.shape[1]:
            raise UnsupportedModel("Composite: nothing of this arm bends; take ComputedTorque")
        pose = self.reference(0.0)[0].ravel() if given.at is None else numbers("at", given.at, model.n_joints)
        self.stiffness = self._stiffness(pose)
        self.fast = self._regulator(pose, positive("effort", given.effort))

    def _stiffness(self, pose: Array) -> Array:
        """(k, k) stiffness of the elastic coordinates, from strain energy alone: gravity is slow."""
        model, x = self.estimate, ca.SX.sym("q", self.estimate.n)
        K = ca.hessian(strain_energy(model.chain, x), x)[0]
        found = ca.Function("stiffness", [x, model.parameter_symbols], [ca.densify(K)])
        return np.asarray(self.bends.T @ np.array(found(self.rigid @ pose, model.nominal_parameters)) @ self.bends)

    def _regulator(self, pose: Array, effort: float) -> Array:
        """(m, 2k) fast gain of least energy of vibration and effort, at a fixed pose."""
        T = np.hstack([self.rigid, self.bends])
        N = np.linalg.inv(T.T @ self.estimate.mass_matrix(self.rigid @ pose) @ T)
        m, k = self.rigid.shape[1], self.bends.shape[1]
        own, zero = N[m:, m:], np.zeros((k, k))
        A = np.block([[zero, np.eye(k)], [-own @ self.stiffness, zero]])
        B = np.vstack([np.zeros((k, m)), N[m:, :m]])
        energy = np.block([[self.stiffness, zero], [zero, np.linalg.inv(own)]])
        return regulator(A, B, (energy + energy.T) / 2, effort * np.eye(m))

    def expression(self, t: Expression, q: Expression, qd: Expression, z: Expression = NO_STATES) -> LawOutput:
        """(m, 1) torques, as commands of motors."""
        r, rd, rdd = self.reference.derivatives(t)
        places, rows = actuated_places(self.model), actuated(self.model)
        y, yd = q[places], qd[rows]
        u = rdd + ca.mtimes(constant(self.kd), rd - yd) + ca.mtimes(constant(self.kp), r - y)
        Y, Z = ca.DM(self.rigid), ca.DM(self.bends)
        force = self.estimate.equations.inverse_dynamics(ca.mtimes(Y, y), ca.mtimes(Y, yd), ca.mtimes(Y, u))
        shape = -solve_positive(ca.SX(ca.DM(self.stiffness)), ca.mtimes(Z.T, force))
        bent, rate = (ca.mtimes(Z.T, x - ca.mtimes(Y, x[at])) for x, at in ((q, places), (qd, rows)))
        fast = ca.mtimes(ca.DM(self.fast), ca.vertcat(bent - shape, rate))
        return commands_for(self.model.chain, ca.mtimes(Y.T, force) - fast)


def _motions(model: Model) -> tuple[Array, Array]:
    """(n, m) rigid motions of the arm and its motors, and (n, k) elastic ones: joints against motors, amplitudes."""
    rows = actuated(model)
    rigid = np.zeros((model.n, model.n_joints))
    twists = []
    for k, shaft in enumerate(model.layout.shafts):
        rigid[[rows[k], shaft.index], k] = 1.0
        if shaft.drive is not None:
            twists.append(shaft.index)
    bends = np.eye(model.n)[:, [*twists, *partition(model.chain)[1]]]
    return rigid, bends
