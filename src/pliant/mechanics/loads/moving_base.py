"""Motion of the base: shaking, turning, carried along a path."""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca

from pliant.algebra.rotations import SX
from pliant.base.signatures import checked
from pliant.mechanics.links.chain import BaseMotion
from pliant.mechanics.loads.point_wrenches import Vector, vector

ZERO = (0.0, 0.0, 0.0)


@checked
@dataclass(frozen=True, eq=False)
class Base:
    """A base that shakes or turns, by its accelerations in its own axes; gravity keeps its direction in these axes.

    Parameters
    ----------
    acceleration : vector
        Of the origin, m/s^2: three numbers or a function of t.
    angular_velocity : vector
        rad/s.
    angular_acceleration : vector, optional
        rad/s^2; the exact derivative of `angular_velocity` by default.

    Examples
    --------
    >>> import casadi
    >>> model = pliant.load("two-link").model()
    >>> shaken = pliant.loads.Base(acceleration=lambda t: [0.0, casadi.sin(10 * t), 0.0])
    >>> pliant.simulate(model, 0.05, base=shaken).stats.status
    'finished'
    """

    acceleration: Vector = ZERO
    angular_velocity: Vector = ZERO
    angular_acceleration: Vector | None = None

    def expression(self, t: SX, gravity: SX | None = None) -> BaseMotion:
        """Motion at time t.

        Parameters
        ----------
        t : expression
            Time, s.
        gravity : (3, 1) expression, optional
            Not used: gravity keeps its direction in the axes of the base.

        Returns
        -------
        BaseMotion
            Angular velocity, angular acceleration and acceleration, in the axes of the base.

        Examples
        --------
        >>> import casadi
        >>> motion = pliant.loads.Base(angular_velocity=[0.0, 0.0, 1.0]).expression(casadi.SX.sym("t"))
        >>> motion.omega.shape
        (3, 1)
        """
        omega = vector("angular_velocity", self.angular_velocity, t)
        given = self.angular_acceleration
        alpha = ca.jacobian(omega, t) if given is None else vector("angular_acceleration", given, t)
        return BaseMotion(omega, ca.densify(alpha), vector("acceleration", self.acceleration, t))


@checked
@dataclass(frozen=True, eq=False)
class BasePath:
    """A base that is carried along a path: a ship, a vehicle, a satellite. Rates follow by exact differentiation.

    Parameters
    ----------
    position : vector
        Of the origin in axes that stand still, m: three numbers or a function of t.
    rpy : vector
        Its attitude, Rz Ry Rx, rad. The robot's gravity is that of the axes that stand still: it turns in the base.

    Examples
    --------
    >>> import casadi
    >>> model = pliant.load("two-link").model()
    >>> ship = pliant.loads.BasePath(rpy=lambda t: [0.1 * casadi.sin(t), 0.0, 0.0])
    >>> pliant.simulate(model, 0.05, base=ship).stats.status
    'finished'
    """

    position: Vector = ZERO
    rpy: Vector = ZERO

    def expression(self, t: SX, gravity: SX | None = None) -> BaseMotion:
        """Motion at time t; `gravity` in axes that stand still.

        Parameters
        ----------
        t : expression
            Time, s.
        gravity : (3, 1) expression, optional
            In axes that stand still, m/s^2.

        Returns
        -------
        BaseMotion
            Angular velocity, angular acceleration and acceleration, in the axes of the base.

        Examples
        --------
        >>> import casadi
        >>> motion = pliant.loads.BasePath(position=lambda t: [t**2, 0.0, 0.0]).expression(casadi.SX.sym("t"))
        >>> motion.omega.shape
        (3, 1)
        """
        position, R = vector("position", self.position, t), _attitude(vector("rpy", self.rpy, t))
        rate = ca.reshape(ca.jacobian(ca.vec(R), t), 3, 3)
        omega = ca.inv_skew(ca.mtimes(R.T, rate))
        a = ca.mtimes(R.T, ca.jacobian(ca.jacobian(position, t), t))
        if gravity is not None:
            a = a + gravity - ca.mtimes(R.T, gravity)
        return BaseMotion(ca.densify(omega), ca.densify(ca.jacobian(omega, t)), ca.densify(a))


def _attitude(rpy: SX) -> SX:
    (cx, cy, cz), (sx, sy, sz) = ([f(rpy[k]) for k in range(3)] for f in (ca.cos, ca.sin))
    Rx = ca.blockcat([[1, 0, 0], [0, cx, -sx], [0, sx, cx]])
    Ry = ca.blockcat([[cy, 0, sy], [0, 1, 0], [-sy, 0, cy]])
    Rz = ca.blockcat([[cz, -sz, 0], [sz, cz, 0], [0, 0, 1]])
    return ca.mtimes([Rz, Ry, Rx])
