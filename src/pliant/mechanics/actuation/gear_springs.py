"""The spring of an elastic gear: torque and energy by its twist, kinematic errors of its teeth, and hysteresis."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import casadi as ca
import numpy as np

from pliant.algebra.rotations import SX
from pliant.mechanics.links.maps.link_maps import is_zero


@dataclass(frozen=True)
class Wave:
    """One wave of the kinematic error of a gear, by the motor's angle reflected to the joint."""

    amplitude: SX
    cycles: SX
    phase: SX


@dataclass(frozen=True)
class GearSpring:
    """Torque `stiffness u + hardening u^3`, or that of a table, with u the twist beyond half the `play`.

    Of a table, the torque is a cubic between its points whose slope is continuous and never falls; it is odd, and goes
    on with its last slope. `smoothing` rounds the ends of the play.
    """

    stiffness: SX
    hardening: SX = 0.0
    play: SX = 0.0
    smoothing: SX = 0.0
    table: tuple[tuple[float, float], ...] = ()
    errors: tuple[Wave, ...] = ()

    @property
    def linear(self) -> bool:
        """Whether the torque is the stiffness times the twist."""
        return not (self.table or self.errors) and all(map(is_zero, (self.hardening, self.play)))

    def error(self, motor: SX) -> SX:
        """Kinematic error of the teeth, which is added to the twist."""
        return sum((w.amplitude * ca.sin(w.cycles * motor + w.phase) for w in self.errors), start=ca.SX(0))

    def twist_slope(self, motor: SX) -> SX:
        """Derivative of the twist by the motor's angle."""
        return sum((w.amplitude * w.cycles * ca.cos(w.cycles * motor + w.phase) for w in self.errors), start=ca.SX(1))

    def twist(self, motor: SX, joint: SX) -> SX:
        """Twist of the gear, with the kinematic error of its teeth."""
        return motor - joint + self.error(motor) if self.errors else motor - joint

    def torque(self, twist: SX) -> SX:
        """Torque of the spring on the joint, and against the motor."""
        if self.table:
            up, down = (self._tabled(side)[0] for side in self._sides(twist))
            return up - down
        if is_zero(self.play):
            return self._power(twist)[0]
        up, down = (self._power(side)[0] for side in self._sides(twist))
        return up - down

    def energy(self, twist: SX) -> SX:
        """Energy stored in the spring."""
        if self.table:
            return sum(self._tabled(side)[1] for side in self._sides(twist))
        if is_zero(self.play):
            return self._power(twist)[1]
        if is_zero(self.smoothing):
            return sum(self._power(side)[1] for side in self._sides(twist))
        return sum(self._rounded_energy(side * twist) for side in (1, -1))

    def engaged(self, twist: SX) -> SX:
        """1 where the teeth touch, 0 inside the play."""
        if is_zero(self.play):
            return ca.SX(1)
        beyond = ca.fabs(twist) - self.play / 2
        if is_zero(self.smoothing):
            return beyond > 0
        return ca.fmin(ca.fmax((beyond + self.smoothing) / (2 * self.smoothing), 0), 1)

    def twist_under(self, torque: SX) -> SX:
        """Twist at which the spring has this torque, without errors of the teeth."""
        if self.table:
            most = self.table[-1][1]
            size, beyond = ca.fabs(torque), ca.SX(0)
            for (x0, y0), (x1, y1) in zip(self.table, self.table[1:]):  # secants, then Newton's method
                beyond += ca.fmin(ca.fmax(size - y0, 0), y1 - y0) * ((x1 - x0) / (y1 - y0))
            beyond += ca.fmax(size - most, 0) / float(_slopes(self.table)[-1])
            for _ in range(6):
                value, slope = self._tabled(beyond)[0], self._tabled(beyond)[2]
                beyond = beyond - (value - size) / slope
            u = beyond * ca.sign(torque)
        elif is_zero(self.hardening):
            u = torque / self.stiffness
        else:
            ratio = self.stiffness / (3 * self.hardening)
            u = 2 * ca.sqrt(ratio) * ca.sinh(ca.asinh(1.5 * torque / (self.stiffness * ca.sqrt(ratio))) / 3)
        return u if is_zero(self.play) else u + ca.sign(torque) * self.play / 2

    # ------------------------------------------------------------------------------------------------------------

    def _sides(self, twist: SX) -> tuple[SX, SX]:
        """Twist beyond the play, forward and backward, both at least 0."""
        return tuple(self._ramp(side * twist - self.play / 2) for side in (1, -1))

    def _ramp(self, x: SX) -> SX:
        """x where it is positive, 0 elsewhere, rounded over +-smoothing."""
        if is_zero(self.smoothing):
            return ca.fmax(x, 0)
        w = self.smoothing
        near = ca.fmin(ca.fmax(x, -w), w)
        return (near + w) ** 2 / (4 * w) + ca.fmax(x - w, 0)

    def _power(self, u: SX) -> tuple[SX, SX]:
        """Torque and energy at a twist beyond the play."""
        if is_zero(self.hardening):
            return self.stiffness * u, self.stiffness * u**2 / 2
        square = u**2
        return (self.stiffness + self.hardening * square) * u, (
            self.stiffness / 2 + self.hardening / 4 * square
        ) * square

    def _rounded_energy(self, twist: SX) -> SX:
        """Integral of the torque of one side over a rounded end of the play."""
        x, w = twist - self.play / 2, self.smoothing
        near, far = ca.fmin(ca.fmax(x, -w), w) + w, ca.fmax(x, w)
        linear = near**3 / (12 * w) + (far**2 - w**2) / 2
        cubic = near**7 / (448 * w**3) + (far**4 - w**4) / 4
        return self.stiffness * linear + self.hardening * cubic

    def _tabled(self, u: SX) -> tuple[SX, SX, SX]:
        """Torque, energy and slope at a twist u >= 0 beyond the play."""
        slopes = _slopes(self.table)
        torque, energy, slope = ca.SX(0), ca.SX(0), ca.SX(0)
        for k, ((x0, y0), (x1, y1)) in enumerate(zip(self.table, self.table[1:])):
            h, rise = x1 - x0, y1 - y0
            a, b = float(slopes[k]), float(slopes[k + 1])
            c2, c3 = (3 * rise / h - 2 * a - b) / h, (a + b - 2 * rise / h) / h**2
            s = ca.fmin(ca.fmax(u - x0, 0), h)
            torque += s * (a + s * (c2 + s * c3))
            energy += s * (y0 + s * (a / 2 + s * (c2 / 3 + s * c3 / 4)))
            inside = ca.logic_and(u >= x0, u < x1)
            slope += ca.if_else(inside, a + s * (2 * c2 + 3 * s * c3), 0)
        (xe, ye), last = self.table[-1], float(slopes[-1])
        beyond = ca.fmax(u - xe, 0)
        slope += ca.if_else(u >= xe, last, 0)
        return torque + last * beyond, energy + beyond * (ye + last / 2 * beyond), slope


def _slopes(table: Sequence[tuple[float, float]]) -> np.ndarray:
    """Slopes at the points of a rising table by Fritsch and Carlson: harmonic means inside, secants at the ends."""
    x, y = np.array(table).T
    secants, h = np.diff(y) / np.diff(x), np.diff(x)
    slopes = np.empty(len(x))
    slopes[0], slopes[-1] = secants[0], secants[-1]
    first, second = 2 * h[1:] + h[:-1], h[1:] + 2 * h[:-1]
    slopes[1:-1] = (first + second) / (first / secants[:-1] + second / secants[1:])
    return slopes


@dataclass(frozen=True)
class Yielding:
    """Hysteresis of a gear after Bouc and Wen: the part of its stiffness that yields, less the elastic spring.

    A spring `stiffness` acts on the bend `twist` r in place of the twist x of the gear. Without a state it does not
    yield, and the gear has all its stiffness.
    """

    stiffness: SX
    twist: SX
    exponent: SX
    loading: SX

    n_states = 1

    def force(self, x: SX, v: SX, r: SX) -> SX:
        """Torque of the yielding spring less that of the elastic one."""
        return self.stiffness * (self.twist * r - x)

    def rate(self, x: SX, v: SX, r: SX) -> SX:
        """Rate of the bend."""
        linear = isinstance(self.exponent, float) and self.exponent == 1.0
        size = ca.fabs(r) if linear else ca.fabs(r) ** self.exponent
        return (v - size * (self.loading * ca.fabs(v) * ca.sign(r) + (1 - self.loading) * v)) / self.twist

    def carrying(self, x: SX, v: SX, load: SX) -> SX:
        """State at a start: bent as the gear is, as far as it can be."""
        return ca.fmin(ca.fmax(x / self.twist, -1), 1)

    def smooth(self, v: SX) -> SX:
        """No force: without a state it does not yield."""
        return ca.SX(0)
