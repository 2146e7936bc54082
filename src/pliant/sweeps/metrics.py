"""Metrics of runs: one number for each metric, computed for many arms at once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import casadi as ca
import numpy as np

from pliant.arrays import Array
from pliant.compute.llvm.kernel import Kernel
from pliant.mechanics.links.clamped_link import section_shift
from pliant.mechanics.links.kinematics import tip_pose
from pliant.model.model import Model
from pliant.simulation.runs.results import Result

BAND = 0.02
"""Fraction of the largest distance of the tip from its end within which it counts as settled."""
WINDOW = 0.25
"""Part of the run, at its end, in which the residual vibration is measured."""


@dataclass(frozen=True, eq=False)
class Histories:
    """Runs of B arms: t (N,), q and qd (B, N, n), tau (B, N or 1, n_joints), values of the parameters (B, P).

    Attributes
    ----------
    model : Model
        The arms.
    t : (N,)
        Times, s.
    q, qd : (B, N, n)
        Coordinates and rates.
    tau : (B, N or 1, n_joints)
        Torques.
    p : (B, P)
        Values of the parameters.
    moved : tuple of str
        Coordinates whose motion was prescribed: torques of these joints act on the link side of their drives.
    """

    model: Model
    t: Array
    q: Array
    qd: Array
    tau: Array
    p: Array
    moved: tuple[str, ...] = ()

    @classmethod
    def of(cls, result: Result) -> Histories:
        """Histories of one run.

        Parameters
        ----------
        result : Result
            Result of `pliant.simulate`.

        Returns
        -------
        Histories
            Those of one arm.
        """
        return cls(result.model, result.t, result.q[None], result.qd[None], result.tau[None], result.parameters[None])

    @cached_property
    def _read(self) -> tuple[Array, Array]:
        """Position of the tip (B, N, 3), and the squared deflection of each flexible link's tip (B, N, links)."""
        p = np.broadcast_to(self.p[:, None], (*self.q.shape[:2], self.p.shape[1]))
        tip, squares = self.model.derived("metrics", (), lambda: _reader(self.model))(self.q, p)
        return tip, squares

    @property
    def tip(self) -> Array:
        """Position of the tip, (B, N, 3), m."""
        return self._read[0]

    @property
    def deflections(self) -> Array:
        """(B, N, links) size of the deflection of each flexible link's tip; empty for a rigid arm."""
        return np.sqrt(self._read[1])


def _reader(model: Model) -> Kernel:
    """Kernel from q and p to the position of the tip and the squared deflection of each flexible link's tip."""
    q = ca.SX.sym("q", model.n_q)
    bends = [ca.SX(0, 1)]
    for place, link in enumerate(model.chain.links):
        if link.flexible and link.piece.count > 1:
            if link.piece.number == link.piece.count:
                bends.append(ca.SX(ca.sumsqr(section_shift(model.chain, q, place, 1.0)[0])))
        elif link.flexible:
            c = model.chain.body(link, q)
            bends.append(ca.sumsqr(link.body.point(c, 1.0)[0] - link.body.point(link.straight(c), 1.0)[0]))
    outputs = ca.cse([ca.densify(tip_pose(model.chain, q)[:3, 3]), ca.densify(ca.vertcat(*bends))])
    return Kernel(ca.Function("readings", [q, model.parameter_symbols], outputs))


def peak_deflection(h: Histories) -> Array:
    """Largest deflection of the tip of any link, m."""
    return np.asarray(np.sqrt(h._read[1].max(axis=(1, 2), initial=0.0)))


def settling_time(h: Histories) -> Array:
    """Time after which the tip stays within 2 % of its largest distance from where it ends, s."""
    away = h.tip - h.tip[:, -1:]
    np.square(away, out=away)
    squares = away[..., 0] + away[..., 1] + away[..., 2]
    outside = squares > BAND**2 * squares.max(axis=1, keepdims=True)
    last = np.where(outside.any(axis=1), outside.shape[1] - 1 - outside[:, ::-1].argmax(axis=1), -1)
    return np.asarray(h.t[np.minimum(last + 1, len(h.t) - 1)])


def residual_vibration(h: Histories) -> Array:
    """Largest range of any coordinate of the tip's position in the last quarter of the run, m."""
    late = h.tip[:, h.t >= h.t[-1] - WINDOW * (h.t[-1] - h.t[0])]
    return np.asarray((late.max(axis=1) - late.min(axis=1)).max(axis=-1))


def energy(h: Histories) -> Array:
    """Energy that the joints take without giving back: the integral of the positive power of each torque, J."""
    if not h.tau.any():
        return np.zeros(len(h.q))
    from scipy.integrate import trapezoid

    shafts = h.model.chain.shafts
    rates = h.qd[..., np.array([shaft.index if shaft.name in h.moved else shaft.actuated for shaft in shafts])]
    return np.asarray(trapezoid(np.maximum(h.tau * rates, 0.0).sum(axis=-1), h.t, axis=1))


def peak_torque(h: Histories) -> Array:
    """Largest torque of any joint, N m or N."""
    return np.asarray(np.abs(h.tau).max(axis=(1, 2)))


def peak_speed(h: Histories) -> Array:
    """Largest speed of the tip by differences of its positions, m/s."""
    speed = np.linalg.norm(np.diff(h.tip, axis=1), axis=-1) / np.diff(h.t)
    return np.asarray(speed.max(axis=1))


METRICS: dict[str, Callable[[Histories], Array]] = {
    "peak_deflection": peak_deflection,
    "settling_time": settling_time,
    "residual_vibration": residual_vibration,
    "energy": energy,
    "peak_torque": peak_torque,
    "peak_speed": peak_speed,
}
"""Metrics by name."""
UNITS = {
    "peak_deflection": "m", "settling_time": "s", "residual_vibration": "m", "energy": "J", "peak_torque": "N m",
    "peak_speed": "m/s",
}  # fmt: skip
