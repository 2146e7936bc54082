"""Linear quadratic regulator from the exact linearization about a configuration, continuous or sampled [TG95] (37)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from pliant.arrays import AnglesLike, Array, Complex, Expression
from pliant.base.signatures import checked
from pliant.control.controllers import riccati
from pliant.control.controllers.computed_torque import checked_estimate, decoupled
from pliant.control.controllers.controller import (
    NO_STATES,
    Controller,
    Law,
    LawOutput,
    MotionWanted,
    actuated,
    gain_matrix,
)
from pliant.control.sensing.sampled import SampledLaw
from pliant.control.trajectories.trajectories import constant, numbers, positive
from pliant.errors import ModelError, UnsupportedModel
from pliant.mechanics.formulations.generalized_forces import commands_for
from pliant.model.loops.loop_motion import independent_motion
from pliant.model.model import Model
from pliant.options import InnerName

ROOM = 1e-12
"""Part of the largest entry of a weight that counts as rounding in tests of symmetry and of eigenvalues. Products such
as T^T W T leave some n EPS; this is a hundred times more."""
DECAYS = -1e-9
"""Real part, over the fastest vibration, below which a motion decays. Round-off splits a double root at zero by the
root of EPS, 1e-8, to both sides or along the imaginary axis. One of the two stays above this."""
UNREACHED = 1e-10
"""Singular value of [A - s, B], scaled such that the fastest vibration and the columns of B have size one, below which
a motion is uncontrollable. The value is then some n EPS, also at an s that round-off split from a double root. Five
decades are left for the condition of the scaling."""
WEIGHTS = {"joints", "flexible", "joint_rates", "flexible_rates", "rates"}


@checked
@dataclass(frozen=True)
class LQR(Controller):
    """u = u_0 - G (x - x_0) with x = [q; qd] and the gain that minimizes the integral of dx^T Q dx + du^T R du.

    Parameters
    ----------
    joints : (m,)
        Joint positions of the configuration. The arm rests there, deflected under gravity.
    Q : number, (2n,), (2n, 2n) or mapping
        Weights of the state. A mapping gives `joints`, `flexible` and `rates` (or `joint_rates`, `flexible_rates`).
    R : number, (m,) or (m, m)
        Weights of the input.
    inner : "torque" or "decoupling"
        Meaning of u: torques, or accelerations that the decoupling law (31) commands, as in (37).
    sample_time, delay : float, optional
        Seconds between samples of u, which is held in between. The discrete gain minimizes the same integral. `delay`
        is the time between measuring and acting.

    Notes
    -----
    Motors of elastic drives count as joints. `design(model)` gives the gain and the closed-loop poles. For an arm with
    loops the regulator is found in independent coordinates, `model.independent(q)`. Weights of other coordinates count
    by how they follow these.

    Examples
    --------
    >>> model = pliant.load("two-link").model()
    >>> regulator = pliant.control.LQR([0.0, 0.0], Q={"joints": 100.0, "flexible": 100.0, "rates": 1.0}, R=0.01)
    >>> bool(regulator.design(model).poles.real.max() < 0)
    True
    >>> result = pliant.simulate(model, 0.05, q0=model.equilibrium([0.1, 0.0]), controller=regulator)
    >>> result.tau.shape
    (1001, 2)
    """

    joints: AnglesLike
    Q: ArrayLike | Mapping[str, float]
    R: ArrayLike
    inner: InnerName = "torque"
    sample_time: float | None = None
    delay: float = 0.0
    follows_paths: ClassVar[bool] = False
    in_studio: ClassVar[bool] = True

    @classmethod
    def offered(cls, model: Model, wanted: MotionWanted) -> dict[str, object]:
        """Propose weights of a loop of about this frequency."""
        weight = (2 * np.pi * wanted.frequency) ** 2
        Q = {"joints": weight, "flexible": weight, "rates": 1.0}
        return {"joints": wanted.goal if wanted.moves else wanted.start, "Q": Q, "R": 0.01}

    def bind(self, model: Model) -> Law:
        """Solve the Riccati equation; raise `ModelError` if the pair cannot be stabilized."""
        law = _LQRLaw(model, self.inner, self.design(model))
        return law if self.sample_time is None else SampledLaw(law, self.sample_time, self.delay)

    def design(self, model: Model) -> Design:
        """Return configuration, linear system, gain and poles.

        Parameters
        ----------
        model : Model
            The arm that is driven.

        Returns
        -------
        Design
            Regulator about the configuration.
        """
        joints = numbers("joints", self.joints, model.n_joints)
        x0, u0 = rest_state(model, joints, closed=self.inner == "torque")
        A, B = system(model, x0, self.inner)
        Q, R = state_weight(model, self.Q), gain_matrix("R", self.R, model.n_joints)
        check_weights(Q, R)
        own, T = _independent(model, x0[: model.n])
        Q = T.T @ Q @ T
        require_stabilizable(model, A, B, x0[: model.n], own, T[: model.n, : len(own)])
        if self.sample_time is None:
            G = regulator(A, B, Q, R)
            poles = np.linalg.eigvals(A - B @ G).astype(complex)
        else:
            G, poles = sampled_regulator(A, B, Q, R, positive("sample_time", self.sample_time))
        whole = np.zeros((model.n_joints, 2 * model.n))
        whole[:, [*own, *(model.n + k for k in own)]] = G
        return Design(x0=x0, u0=u0, A=A, B=B, G=whole, poles=poles)


@dataclass(frozen=True)
class Design:
    """Regulator of an arm about a configuration.

    Poles are eigenvalues of A - B G, in 1/s. For a sampled regulator they are logarithms of the discrete ones over the
    period.

    Attributes
    ----------
    x0 : (2n,)
        State [q; qd] of the configuration.
    u0 : (m,)
        Torques that hold it.
    A, B : (2n, 2n), (2n, m)
        Linear system about it; with loops, in the independent coordinates.
    G : (m, 2n)
        Gain: u = u0 - G (x - x0).
    poles : (2n,) complex
        1/s.
    """

    x0: Array
    u0: Array
    A: Array
    B: Array
    G: Array
    poles: Complex


class _LQRLaw(Law):
    tunable = ("G", "x0", "u0")

    def __init__(self, model: Model, inner: InnerName, design: Design) -> None:
        super().__init__(model)
        self.inner, self.G, self.x0, self.u0 = inner, design.G, design.x0, design.u0
        if inner == "decoupling":
            checked_estimate(model, None)

    def expression(self, t: Expression, q: Expression, qd: Expression, z: Expression = NO_STATES) -> LawOutput:
        """(m, 1) torques."""
        u = -ca.mtimes(constant(self.G), ca.vertcat(q, qd) - constant(self.x0))
        tau = decoupled(self.model, q, qd, u) if self.inner == "decoupling" else constant(self.u0) + u
        return commands_for(self.model.chain, tau)


def rest_state(model: Model, joints: Array, closed: bool = False) -> tuple[Array, Array]:
    """State [q; 0] at static rest with these joint positions, and the torques that hold it. Arms with loops and passive
    joints are allowed if `closed`."""
    what = "linear control about a state of rest"
    model.layout.require_plain(what)
    if not closed:
        model.layout.require_open(what)
    stated = [coupling.name for coupling in model.layout.couplings if coupling.states]
    if stated:
        raise UnsupportedModel(f"{what}: pressures of {', '.join(stated)} are no states of it; drive joints by pd")
    q = model.equilibrium(joints)
    return np.concatenate([q, np.zeros(model.n)]), model.holding_torque(q)


def _independent(model: Model, q: Array) -> tuple[list[int], Array]:
    """Speeds that loops leave independent (all, without loops), and T, which maps their state to the whole state."""
    every = list(range(model.n))
    if not model.constraints:
        return every, np.eye(2 * model.n)
    return independent_motion(model, q, np.zeros(model.n), every, None)


def system(model: Model, x0: Array, inner: InnerName = "torque") -> tuple[Array, Array]:
    """A, B about a rest state. For "decoupling" they are those of the loop (35), (36) with accelerations as inputs."""
    A, B, _, _ = model.linearize(x0[: model.n])
    if inner == "torque":
        return A, B
    rows = [model.n + k for k in actuated(model)]
    inverse = np.linalg.inv(B[rows])
    A, B = A - B @ inverse @ A[rows], B @ inverse
    A[rows], B[rows] = 0.0, np.eye(model.n_joints)
    return A, B


def state_weight(model: Model, given: ArrayLike | Mapping[str, float]) -> Array:
    """(2n, 2n) weight from a number, 2n numbers, a matrix or a mapping of groups."""
    n = model.n
    if isinstance(given, Mapping):
        unknown = set(given) - WEIGHTS
        if unknown:
            raise ModelError(f"Q: unknown {', '.join(sorted(unknown))}, expected {', '.join(sorted(WEIGHTS))}")
        is_joint = np.array(["." not in name or name.endswith(".motor") for name in model.coordinates])
        rates = float(given.get("rates", 0.0))
        position = np.where(is_joint, float(given.get("joints", 0.0)), float(given.get("flexible", 0.0)))
        rate = np.where(is_joint, float(given.get("joint_rates", rates)), float(given.get("flexible_rates", rates)))
        return np.diag(np.concatenate([position, rate]))
    return gain_matrix("Q", given, 2 * n)


def check_weights(Q: Array, R: Array) -> None:
    """Check that Q is symmetric and positive semi-definite, and R positive definite."""
    for name, W, least in (("Q", Q, 0.0), ("R", R, np.finfo(float).tiny)):
        room = ROOM * float(np.abs(W).max())
        if np.abs(W - W.T).max() > room:
            raise ModelError(f"{name}: expected a symmetric matrix")
        smallest = float(np.linalg.eigvalsh(W).min())
        if smallest < least - room or (least > 0 and smallest <= 0):
            wanted = "positive definite" if least > 0 else "positive semi-definite"
            raise ModelError(f"{name}: smallest eigenvalue {smallest:.3g}, expected a {wanted} matrix")


def regulator(A: Array, B: Array, Q: Array, R: Array) -> Array:
    """Gain G = R^-1 B^T P of the continuous regulator."""
    try:
        P = riccati.continuous(A, B, Q, R)
    except np.linalg.LinAlgError as error:
        raise ModelError(
            f"LQR: no stabilizing solution ({error}); weigh every coordinate in Q, or add damping to the links"
        ) from error
    return np.asarray(np.linalg.solve(R, B.T @ P))


def sampled_regulator(A: Array, B: Array, Q: Array, R: Array, period: float) -> tuple[Array, Complex]:
    """Gain of the held input that minimizes the same integral (Van Loan), and the poles in 1/s."""
    from scipy.linalg import expm

    n, m = B.shape
    F = np.block([[A, B], [np.zeros((m, n + m))]])
    W = np.block([[Q, np.zeros((n, m))], [np.zeros((m, n)), R]])
    steps = max(0, int(np.ceil(np.log2(max(1.0, float(np.abs(F).sum(1).max()) * period)))))
    E = expm(np.block([[-F.T, W], [np.zeros_like(F), F]]) * period / 2**steps)
    Phi = E[n + m :, n + m :]
    cost = Phi.T @ E[: n + m, n + m :]
    with np.errstate(over="ignore", invalid="ignore"):
        for _ in range(steps):  # double the period: exponentials of -F^T overflow over a long one
            cost, Phi = cost + Phi.T @ cost @ Phi, Phi @ Phi
    if not np.isfinite(cost).all():
        raise ModelError(f"sample_time: got {period:g} s, in which the arm runs away; sample more often")
    Ad, Bd = Phi[:n, :n], Phi[:n, n:]
    cost = (cost + cost.T) / 2
    try:
        P = riccati.discrete(Ad, Bd, cost[:n, :n], cost[n:, n:], cost[:n, n:])
    except np.linalg.LinAlgError as error:
        raise ModelError(
            f"LQR: no stabilizing solution for sample_time {period:g} s ({error}); a vibration may repeat "
            "between samples: change the sample time"
        ) from error
    G = np.linalg.solve(cost[n:, n:] + Bd.T @ P @ Bd, Bd.T @ P @ Ad + cost[:n, n:].T)
    return G, np.log(np.linalg.eigvals(Ad - Bd @ G).astype(complex)) / period


def require_stabilizable(model: Model, A: Array, B: Array, q0: Array, own: list[int], Z: Array) -> None:
    """Raise `ModelError` if there is a motion that no torque reaches and that does not decay. The message names it. `Z`
    maps displacements along the speeds `own` to all displacements."""
    weakest, direction = uncontrollable(Z.T @ model.mass_matrix(q0) @ Z, A, B)
    if weakest < UNREACHED:
        name = model.speeds[own[int(np.argmax(np.abs(direction)))]]
        raise ModelError(
            f"the pair (A, B) cannot be stabilized: no torque reaches an undamped motion of {name!r} at this "
            "configuration; drop those shapes, choose another configuration or give the link damping"
        )


def uncontrollable(M: Array, A: Array, B: Array) -> tuple[float, Array]:
    """Smallest singular value of [A - s, B] over eigenvalues s that do not decay (Hautus), and its direction in q.

    Coordinates are scaled by the inertia M and time by the fastest vibration, so that the number has no unit.
    """
    n = len(M)
    scale = 1 / np.sqrt(np.diag(M))
    fastest = float(np.sqrt(max(np.abs(np.linalg.eigvals(A[n:, :n])).max(initial=0.0), 1.0)))
    T = np.concatenate([1 / scale, 1 / (scale * fastest)])
    As = T[:, None] * A / T[None, :] / fastest
    Bs = T[:, None] * B
    Bs = Bs / np.linalg.norm(Bs, axis=0, keepdims=True)
    return unreached(As, Bs)


def unreached(A: Array, B: Array) -> tuple[float, Array]:
    """Least singular value of [A - s, B] over the eigenvalues s that do not decay, and its motion (Hautus)."""
    n = len(A) // 2
    weakest, direction = np.inf, np.zeros(n)
    for s in np.linalg.eigvals(A):
        if s.real >= DECAYS:
            left, values, _ = np.linalg.svd(np.hstack([A - s * np.eye(2 * n), B]))
            if values[-1] < weakest:
                weakest, direction = float(values[-1]), np.abs(left[:n, -1]) + np.abs(left[n:, -1])
    return weakest, direction
