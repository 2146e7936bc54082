"""Sensors: what an arm's controller can know. Each gives its ideal reading as an expression; noise and steps are added.

A reading is h(q, qd, qdd): accelerations enter only for accelerometers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np

from pliant.arrays import Array, Expression
from pliant.dynamics.kinematics import placements
from pliant.errors import ModelError
from pliant.model import Model
from pliant.options import DriveSide, PlaneName
from pliant.robot import beam_properties
from pliant.signatures import checked


@dataclass(frozen=True, kw_only=True)
class Sensor:
    """`noise` is the standard deviation of a reading, `quantum` the step of its digits (0: none), both in its unit."""

    noise: float = 0.0
    quantum: float = 0.0

    def __post_init__(self) -> None:
        for name in ("noise", "quantum"):
            value = getattr(self, name)
            if not (np.isfinite(value) and value >= 0):
                raise ModelError(f"{name}: got {value!r}, expected zero or a positive number")

    def expression(self, model: Model, q: Expression, qd: Expression, qdd: Expression) -> Expression:
        """(k, 1) ideal reading."""
        raise NotImplementedError


@checked
@dataclass(frozen=True)
class Encoder(Sensor):
    """Angle (or position) of a joint, on the "link" or on the "motor" side of its drive; `rate` reads its speed."""

    joint: str
    side: DriveSide = "motor"
    rate: bool = False

    def expression(self, model: Model, q: Expression, qd: Expression, qdd: Expression) -> Expression:
        """rad, m, or per second."""
        if self.joint not in model.joints:
            raise ModelError(f"joint: got {self.joint!r}, expected one of {', '.join(model.joints)}")
        x, k = (qd if self.rate else q), model.joints.index(self.joint)
        return ca.mtimes(model.chain.actuation().T, x)[k] if self.side == "motor" else x[k]


@checked
@dataclass(frozen=True)
class StrainGauge(Sensor):
    """Curvature (1/m) of a beam at station `x` (m from its root), in the plane "bending_y" or "bending_z".

    The strain at a distance d from the neutral axis is d times this.
    """

    link: str
    x: float = 0.0
    plane: PlaneName = "bending_y"

    def expression(self, model: Model, q: Expression, qd: Expression, qdd: Expression) -> Expression:
        """v'' or w''."""
        place = model.robot.index(self.link)
        shapes, link = model.link_shapes[place], model.chain.links[place]
        if shapes is None or (link.joint_index is None and link.actuated is not None):
            raise ModelError(f"links.{self.link}: a strain gauge needs a flexible beam of fixed length")
        columns = [k for k, name in enumerate(shapes.fields) if name == self.plane]
        if not columns:
            raise ModelError(f"plane: links.{self.link} has no {self.plane!r}, it has {', '.join(set(shapes.fields))}")
        L = float(beam_properties(model.robot.links[place].beam).length)
        if not 0 <= self.x <= L:
            raise ModelError(f"x: got {self.x!r}, expected a station between 0 and {L:g} m")
        values = shapes.evaluate([self.x / L], 2)[0] * L ** (np.array(shapes.powers) - 2.0)
        c = q[list(link.body_indices)]
        return ca.SX(sum(values[k] * c[k] for k in columns))


@checked
@dataclass(frozen=True)
class TipPosition(Sensor):
    """Position of the tip in the base (m): the chosen `axes`, all three by default."""

    axes: tuple[int, ...] = (0, 1, 2)

    def expression(self, model: Model, q: Expression, qd: Expression, qdd: Expression) -> Expression:
        """(len(axes), 1) metres."""
        if not self.axes or any(a not in (0, 1, 2) for a in self.axes):
            raise ModelError(f"axes: got {self.axes!r}, expected some of 0, 1, 2")
        *_, last = placements(model.chain, q)
        return ca.SX(last.p_tip[list(self.axes)])


@checked
@dataclass(frozen=True)
class Accelerometer(Sensor):
    """Specific force (m/s^2) at a link's distal end along an axis of its distal frame: acceleration less gravity."""

    link: str
    axis: int = 1

    def expression(self, model: Model, q: Expression, qd: Expression, qdd: Expression) -> Expression:
        """Specific force along the axis."""
        if self.axis not in (0, 1, 2):
            raise ModelError(f"axis: got {self.axis!r}, expected 0, 1 or 2")
        index = model.robot.index(self.link)
        Q = ca.SX.sym("q", model.n)
        place = list(placements(model.chain, Q))[index]
        V = ca.SX.sym("qd", model.n)
        velocity = ca.jtimes(place.p_tip, Q, V)
        bias = ca.jtimes(velocity, Q, V)
        total = ca.mtimes(ca.jacobian(place.p_tip, Q), qdd) + bias - model.chain.gravity
        felt = ca.mtimes(place.R_tip.T, total)[self.axis]
        return ca.substitute([felt], [Q, V], [ca.SX(q), ca.SX(qd)])[0]


@checked
class Measurement:
    """Several sensors on one model: the stacked reading as an expression, and as numbers with noise and quanta."""

    def __init__(self, model: Model, sensors: Sequence[Sensor]) -> None:
        if not len(sensors):
            raise ModelError("sensors: expected at least one")
        self.model, self.sensors = model, tuple(sensors)
        n = model.n
        q, qd, qdd = (ca.SX.sym(name, n) for name in ("q", "qd", "qdd"))
        parts = [ca.SX(s.expression(model, q, qd, qdd)) for s in self.sensors]
        y = ca.densify(ca.vertcat(*parts))
        self._ideal = ca.Function("reading", [q, qd, qdd, model.parameter_symbols], [y])
        self.needs_acceleration = bool(ca.depends_on(y, qdd))
        sizes = [part.shape[0] for part in parts]
        self.size = int(y.shape[0])
        self.noise = np.repeat([s.noise for s in self.sensors], sizes)
        self.quantum = np.repeat([s.quantum for s in self.sensors], sizes)

    def expression(self, q: Expression, qd: Expression, tau: Expression) -> Expression:
        """(k, 1) ideal readings under torques `tau`."""
        qdd = ca.SX.zeros(self.model.n)
        if self.needs_acceleration:
            qdd = self.model.equations.forward_dynamics(q, qd, tau)
        return self._ideal(q, qd, qdd, self.model.parameter_symbols)

    def ideal(self, q: Any, qd: Any, tau: Any = None) -> Array:
        """Readings (..., k) without noise, at states (..., n) and torques (..., m)."""
        q, qd = np.atleast_2d(np.asarray(q, dtype=float)), np.atleast_2d(np.asarray(qd, dtype=float))
        tau = np.zeros((len(q), self.model.n_joints)) if tau is None else np.atleast_2d(np.asarray(tau, dtype=float))
        qdd = self.model.forward_dynamics(q, qd, tau) if self.needs_acceleration else np.zeros_like(q)
        p = np.tile(self.model.nominal_parameters, (len(q), 1))
        return np.array(self._ideal(q.T, qd.T, qdd.T, p.T), dtype=float).T

    def reader(self, seed: int = 0) -> Callable[[Array, Array, Array], Array]:
        """A fresh instrument: a function of (q, qd, tau) that reads with noise (seeded) and quanta."""
        rng = np.random.default_rng(seed)

        def read(q: Array, qd: Array, tau: Array) -> Array:
            return self.spoil(self.ideal(q, qd, tau)[0], rng)

        return read

    def spoil(self, y: Array, rng: np.random.Generator) -> Array:
        """Noise added, then rounded to the quanta."""
        noisy = y + self.noise * rng.standard_normal(y.shape)
        step = np.where(self.quantum > 0, self.quantum, 1.0)
        return np.asarray(np.where(self.quantum > 0, np.round(noisy / step) * step, noisy))

    def matrices(self, x0: Array, u0: Array) -> tuple[Array, Array, Array]:
        """C, D and the reading y0 of the linearisation about a state."""
        n, m = self.model.n, self.model.n_joints
        x, u = ca.SX.sym("x", 2 * n), ca.SX.sym("u", m)
        y, p = self.expression(x[:n], x[n:], u), self.model.parameter_symbols
        f = ca.Function("output", [x, u, p], [ca.densify(ca.jacobian(y, x)), ca.densify(ca.jacobian(y, u)), y])
        C, D, y0 = (np.array(v, dtype=float) for v in f(x0, u0, self.model.nominal_parameters))
        return C, D, y0.ravel()
