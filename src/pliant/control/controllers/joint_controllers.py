"""PD and PID controllers of joints with gravity feed-forward. They need no model of the vibration.

They close the loop where the torque acts: on the motor of an elastic drive, else on the joint. This keeps a flexible
arm passive, so that no positive gains make it unstable.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from pliant.arrays import AnglesLike, Array, Expression
from pliant.base.signatures import checked
from pliant.control.controllers.controller import (
    NO_STATES,
    Controller,
    Law,
    LawOutput,
    MotionWanted,
    actuated,
    actuated_names,
    actuated_places,
    checked_limit,
    feedback_gain,
    reference_for,
)
from pliant.control.trajectories.trajectories import Trajectory, constant, numbers
from pliant.errors import ModelError
from pliant.mechanics.constraints.loop_constraints import closing_rows
from pliant.mechanics.formulations.generalized_forces import commands_for, followed, strain_energy
from pliant.mechanics.formulations.motion_equations import back_substitute, solve_positive
from pliant.mechanics.formulations.terms import partition
from pliant.mechanics.links.kinematics import gravity_energy
from pliant.model.loops.loop_motion import closed_state, row_slopes
from pliant.model.model import Model
from pliant.model.robot import Robot, model_of
from pliant.options import GravityName


@checked
@dataclass(frozen=True)
class PD(Controller):
    """tau = Kp (r - y) + Kd (rd - yd) + gravity torque.

    Parameters
    ----------
    kp, kd : number, (m,) or (m, m)
        Gains, N m/rad and N m s/rad.
    reference : Trajectory or (m,)
        Desired joint positions.
    gravity : "reference", "measured", "equilibrium" or "none"
        Gravity torque of the undeformed arm at the desired or at the measured joint positions, or of the arm that rests
        bent at the desired positions [DS93], where the joints then end without an integral.
    limit : number or (m,), optional
        Torque limits.

    Notes
    -----
    y is the actuated coordinate, S^T q: the motor of an elastic drive or the shaft of the joint. The reference of a
    motor is the desired joint position plus the wind-up of its spring under the gravity torque. A reference for motors,
    such as the `trajectory` of `rest_to_rest`, is used unchanged.

    For an arm with loops or passive joints, "reference" and "measured" both use the measured pose, since the other
    joints do not follow from the desired positions alone.

    Examples
    --------
    >>> model = pliant.load("two-link").model()
    >>> controller = pliant.control.PD(kp=[500.0, 200.0], kd=[50.0, 20.0], reference=[0.0, 0.0])
    >>> pliant.simulate(model, 0.05, controller=controller).stats.status
    'finished'
    """

    kp: ArrayLike
    kd: ArrayLike
    reference: Trajectory | AnglesLike
    gravity: GravityName = "reference"
    limit: ArrayLike | None = None
    knows_no_robot: ClassVar[bool] = True
    in_studio: ClassVar[bool] = True

    @classmethod
    def offered(cls, model: Model, wanted: MotionWanted) -> dict[str, object]:
        """Propose gains of a critically damped loop."""
        kp, kd = natural_gains(model, wanted.start, wanted.frequency)
        return {"kp": kp.tolist(), "kd": kd.tolist(), "reference": wanted.reference}

    def bind(self, model: Model) -> Law:
        """Check gains, reference and limits against the model."""
        return _JointLaw(model, self, np.zeros((model.n_joints, model.n_joints)))


@checked
@dataclass(frozen=True)
class PID(Controller):
    """PD with an integral: Ki times the integral of (r - y). The integral stops while the torque, or the amplifier of a
    motor, is at its limit.

    Parameters
    ----------
    kp, ki, kd : number, (m,) or (m, m)
        Gains: N m/rad, N m/(rad s) and N m s/rad.
    reference : Trajectory or (m,)
        Desired joint positions.
    gravity : "reference", "measured", "equilibrium" or "none"
        Gravity torque, as in `PD`.
    limit : number or (m,), optional
        Torque limits.

    Examples
    --------
    >>> law = pliant.control.PID(500.0, 100.0, 50.0, [0.0, 0.0]).bind(pliant.load("two-link").model())
    >>> law.n_states
    2
    """

    kp: ArrayLike
    ki: ArrayLike
    kd: ArrayLike
    reference: Trajectory | AnglesLike
    gravity: GravityName = "reference"
    limit: ArrayLike | None = None
    knows_no_robot: ClassVar[bool] = True

    def bind(self, model: Model) -> Law:
        """Check gains, reference and limits against the model."""
        return _JointLaw(model, self, feedback_gain("ki", self.ki, model.joints))


SATURATED = 0.05
"""Part of a limit over which the integral of a PID fades out. A sudden stop would make it chatter."""


class _JointLaw(Law):
    def __init__(self, model: Model, given: PD | PID, ki: Array) -> None:
        super().__init__(model)
        m = model.n_joints
        self.kp, self.kd = (feedback_gain(name, getattr(given, name), model.joints) for name in ("kp", "kd"))
        self.ki = ki
        self.reference = reference_for(model, given.reference)
        self.gravity = given.gravity
        names = actuated_names(model)
        self.of_motors = self.reference.coordinates == names != tuple(model.joints)
        if self.of_motors and self.gravity == "reference" and self.reference.joints is None:
            raise ModelError(
                f"reference: it moves {', '.join(names)}, and says not where the joints are, at which gravity acts; "
                'take gravity="measured", or gravity="none" and torques of the motion beside the controller'
            )
        self.limit = None if given.limit is None else checked_limit("limit", given.limit, m)
        self.breaks = self.reference.breaks
        self.n_states = m if isinstance(given, PID) else 0
        self.gains = ("kp", "ki", "kd") if self.n_states else ("kp", "kd")
        self.tunable = (*self.gains, "reference", "limit")

    def expression(self, t: Expression, q: Expression, qd: Expression, z: Expression = NO_STATES) -> LawOutput:
        """Torques, and with an integral the error that it adds up."""
        r, rd, _ = self.reference.derivatives(t)
        y, yd = q[actuated_places(self.model)], qd[actuated(self.model)]
        joints = r
        if self.of_motors and self.reference.joints is not None:
            joints = self.reference.joints.expression(t)
        weight = self._weight(joints, q)
        error = (r if self.of_motors else r + self._wind_up(weight)) - y
        carried = commands_for(self.model.chain, weight)
        tau = ca.mtimes(constant(self.kp), error) + ca.mtimes(constant(self.kd), rd - yd) + carried
        if self.n_states:
            tau = tau + ca.mtimes(constant(self.ki), z)
        clipped = tau
        if self.limit is not None:
            clipped = ca.fmin(ca.fmax(tau, -constant(self.limit)), constant(self.limit))
        if not self.n_states:
            return clipped
        return clipped, error * (1 - _winding(tau, followed(self.model.chain, clipped, qd), error))

    def _weight(self, r: Expression, q: Expression) -> Expression:
        """Gravity torque on the joints."""
        if self.gravity == "none":
            return ca.SX.zeros(self.model.n_joints)
        if self.gravity == "equilibrium":
            return resting_torque(self.model, r)
        if not self.model.layout.is_open:
            return carrying_torque(self.model, q)
        joints = r if self.gravity == "reference" else q[self.model.layout.shaft_places()]
        return gravity_torque(self.model, joints, None if self.model.layout.plain else q)

    def _wind_up(self, weight: Expression) -> Expression:
        """Angle by which each motor is ahead of its joint under the gravity torque."""
        drives = [shaft.drive for shaft in self.model.chain.shafts]
        turns = [drive.spring.twist_under(weight[k]) if drive is not None else 0 for k, drive in enumerate(drives)]
        return ca.SX(ca.vertcat(*turns))


def _winding(tau: Expression, given: Expression, error: Expression) -> Expression:
    """(m, 1) part of the error that an integral leaves out, between 0 and 1.

    It is 1 if the asked torque has the sign of the error and exceeds the given one by `SATURATED` of that. Below that
    it is proportional to the excess, so that the torque can stay at its limit.
    """
    excess = ca.fabs(tau - given) / (SATURATED * ca.fabs(given))
    return ca.if_else(ca.logic_and(tau != given, tau * error > 0), ca.fmin(excess, 1), 0)


@checked
def gravity_torque(model: Model | Robot, joints: ArrayLike | Expression, q: Expression | None = None) -> Expression:
    """(m, 1) CasADi torques that carry the undeformed arm at these joint positions.

    Parameters
    ----------
    model : Model or Robot
        The arm.
    joints : (m,) array or expression
        Positions of the joints.
    q : (n_q,) expression, optional
        State that gives the pose of a free base and free joints; at rest by default.

    Returns
    -------
    expression
        (m, 1), N m or N.

    Examples
    --------
    >>> import casadi
    >>> tau = pliant.control.gravity_torque(pliant.load("two-link").model(), [0.0, 0.0])
    >>> print(np.array(casadi.evalf(tau)).ravel().round(3))
    [98.1   24.525]
    """
    model = model_of(model)
    model.layout.require_open(
        "the torque that carries an arm by its actuated joints alone (carrying_torque has a state)"
    )
    m = model.n_joints
    if not isinstance(joints, ca.SX | ca.DM):
        joints = numbers("joints", joints, m)
    chain, x = model.chain, ca.SX.sym("q", model.n_q)
    slope = chain.gradient(gravity_energy(chain, x), x)[[shaft.index for shaft in chain.shafts]]
    pose = ca.SX.zeros(model.n_q) if chain.plain else ca.SX(ca.DM(chain.rest()))
    for link in chain.links:
        if q is not None and link.joint.is_ball:
            pose[list(link.joint_places)] = q[list(link.joint_places)]
    pose[chain.shaft_places()] = joints
    return ca.substitute(slope, x, pose)


def carrying_torque(model: Model, q: Expression) -> Expression:
    """(m, 1) torques that carry the arm at q, by virtual work: the weight on each joint, and through loops the weight
    of all that follows the joint. Passive joints that follow no other joint swing freely."""
    chain, x = model.chain, ca.SX.sym("q", model.n_q)
    weight = chain.gradient(gravity_energy(chain, x), x)
    if chain.kept:
        rows = closing_rows(chain, x, ca.SX.zeros(model.n))
        follow = set(_followers(model))
        by = model.equations.closing(x, rows.J, [k for k in range(model.n) if k not in follow])
        weight -= ca.mtimes(rows.J.T, back_substitute(by.L, by.d, ca.mtimes(by.W.T, weight)))
    return ca.substitute(ca.densify(weight[[shaft.index for shaft in chain.shafts]]), x, q)


def _followers(model: Model) -> list[int]:
    """Speeds that close loops at fixed actuators: passive joints, and amplitudes if these are too few."""
    stands = {k for shaft in model.layout.shafts for k in (shaft.index, shaft.actuated)}
    passive = [k for link in model.chain.links for k in link.joint_indices if k not in stands]
    if len(model.constraints) <= len(passive):
        return passive
    return [k for k in range(model.n) if k not in stands]


SETTLING = 6
"""Iterations in a trace that find the rest of an arm under its weight. The error of each is the change of the weight
with the bending, some hundredths of the bending in usual arms."""


def resting_torque(model: Model, joints: Expression) -> Expression:
    """(m, 1) torques on the joints of the arm at static rest, its joints held at these positions [DS93]."""
    model.layout.require_open("the torque that carries an arm at rest")
    chain, x = model.chain, ca.SX.sym("q", model.n_q)
    bends = [model.index(model.speeds[k]) for k in partition(chain)[1]]
    force = chain.gradient(gravity_energy(chain, x) + strain_energy(chain, x), x)
    pose = ca.SX(ca.DM(chain.rest()))
    pose[chain.shaft_places()] = joints
    pose[actuated_places(model)] = joints
    rows = partition(chain)[1]
    if rows:
        stiffness = ca.substitute(ca.jacobian(force[rows], x[bends]), x, ca.SX(ca.DM(chain.rest())))
        for _ in range(SETTLING):
            pose[bends] -= solve_positive(ca.densify(stiffness), ca.substitute(force[rows], x, pose))
    return ca.SX(ca.substitute(force, x, pose)[[shaft.index for shaft in chain.shafts]])


@checked
def natural_gains(model: Model | Robot, q: ArrayLike, frequency: float, damping: float = 1.0) -> tuple[Array, Array]:
    """Diagonal PD gains kp = M_jj w^2 and kd = 2 zeta w M_jj, M_jj of the arm at `q`, w = 2 pi `frequency`.

    M_jj includes the inertia of all that follows the joint through loops.

    Parameters
    ----------
    model : Model or Robot
        The arm.
    q : (n,) or (m,) array
        Pose at which the inertia is taken.
    frequency : float
        Natural frequency of each joint under these gains, Hz.
    damping : float
        zeta.

    Returns
    -------
    kp, kd : (m,) array
        N m/rad and N m s/rad.

    Examples
    --------
    >>> kp, kd = pliant.control.natural_gains(pliant.load("two-link").model(), [0.0, 0.0], frequency=1.0)
    >>> bool(np.allclose(kd, kp / np.pi))
    True
    """
    model = model_of(model)
    if not (frequency > 0 and damping > 0):
        raise ModelError(f"frequency, damping: got {frequency!r}, {damping!r}, expected positive numbers")
    state = closed_state(model, np.asarray(q, dtype=float), None)
    M, T = model.mass_matrix(state), np.zeros((model.n, model.n_joints))
    for k, shaft in enumerate(model.chain.shafts):
        T[[shaft.index, shaft.actuated], k] = 1.0
    if model.constraints:
        follow = _followers(model)
        J = row_slopes(model, state, None, np.zeros(len(model.constraints))).J
        W = np.linalg.solve(M[np.ix_(follow, follow)], J[:, follow].T)
        T[follow] = -W @ np.linalg.solve(J[:, follow] @ W, J @ T)
    inertia = np.einsum("ik,ij,jk->k", T, M, T)
    omega = 2 * np.pi * frequency
    return inertia * omega**2, 2 * damping * omega * inertia
