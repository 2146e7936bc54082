"""Laws of springs, dampers, cables and forces along the line between two frames, by its length L and the rate of L.

Passive forces are positive against lengthening; commanded forces drive apart.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import casadi as ca

from pliant.algebra.rotations import SX
from pliant.mechanics.constraints.contact_law import Pressing


class LineLaw:
    """Passive law of a coupling: an energy with its slope, and a damping force; each is zero unless the law has it."""

    def energy(self, L: SX) -> SX:
        """Stored energy."""
        return ca.SX(0)

    def pull(self, L: SX) -> SX:
        """Slope of the energy."""
        return ca.SX(0)

    def resisting(self, L: SX, rate: SX) -> SX:
        """Damping force."""
        return ca.SX(0)


@dataclass(frozen=True)
class PullingSpring(LineLaw):
    """A spring with its preload."""

    stiffness: SX
    length: SX
    preload: SX

    def energy(self, L: SX) -> SX:
        """Stored energy."""
        x = L - self.length
        return (self.stiffness / 2 * x + self.preload) * x

    def pull(self, L: SX) -> SX:
        """Slope of the energy."""
        return self.stiffness * (L - self.length) + self.preload


@dataclass(frozen=True)
class ConstantPush(LineLaw):
    """A constant force apart."""

    value: SX

    def energy(self, L: SX) -> SX:
        """Stored energy."""
        return -self.value * L

    def pull(self, L: SX) -> SX:
        """Slope of the energy."""
        return -ca.SX(self.value)


@dataclass(frozen=True)
class Dashpot(LineLaw):
    """A damper."""

    damping: SX

    def resisting(self, L: SX, rate: SX) -> SX:
        """Damping force."""
        return self.damping * rate


@dataclass(frozen=True)
class TautCable(LineLaw):
    """A cable: nothing where it is slack, a spring beyond, rounded over +-smoothing."""

    stiffness: SX
    length: SX
    damping: SX
    smoothing: SX

    def energy(self, L: SX) -> SX:
        """Stored energy."""
        x, w = L - self.length, self.smoothing
        near, far = ca.fmin(ca.fmax(x, -w), w) + w, ca.fmax(x, w)
        return self.stiffness * (near**3 / (12 * w) + (far**2 - w**2) / 2)

    def pull(self, L: SX) -> SX:
        """Slope of the energy."""
        x, w = L - self.length, self.smoothing
        near = ca.fmin(ca.fmax(x, -w), w) + w
        return self.stiffness * (near**2 / (4 * w) + ca.fmax(x - w, 0))

    def resisting(self, L: SX, rate: SX) -> SX:
        """Damping force, which never makes the cable push."""
        return self.pull(L) * ca.fmax(self.damping * rate, -1)


@dataclass(frozen=True)
class Ends(LineLaw):
    """Cushions of a cylinder at its least and its greatest length."""

    low: SX
    high: SX
    law: Pressing

    def energy(self, L: SX) -> SX:
        """Stored energy."""
        return self.law.energy(self.low - L) + self.law.energy(L - self.high)

    def pull(self, L: SX) -> SX:
        """Slope of the energy."""
        return self.law.elastic(L - self.high) - self.law.elastic(self.low - L)

    def resisting(self, L: SX, rate: SX) -> SX:
        """Damping force."""
        return self.law.resisting(L - self.high, rate) - self.law.resisting(self.low - L, -rate)


class LineDrive(Protocol):
    """Commanded force of a coupling."""

    @property
    def states(self) -> tuple[str, ...]:
        """Names of its states in a run."""

    def push(self, command: SX, y: list[SX]) -> SX:
        """Force apart."""

    def rates(self, command: SX, L: SX, rate: SX, y: list[SX]) -> list[SX]:
        """Rates of its states."""

    def start(self, push: SX) -> list[SX]:
        """States at which it has a force."""

    def stiffness(self, L: SX) -> SX:
        """Change of its force per length, behind a closed valve."""


@dataclass(frozen=True)
class CommandedPush:
    """A force that follows its command at once."""

    @property
    def states(self) -> tuple[str, ...]:
        """No states."""
        return ()

    def push(self, command: SX, y: list[SX]) -> SX:
        """Force apart."""
        return command

    def rates(self, command: SX, L: SX, rate: SX, y: list[SX]) -> list[SX]:
        """No rates."""
        return []

    def start(self, push: SX) -> list[SX]:
        """No states at a start."""
        return []

    def stiffness(self, L: SX) -> SX:
        """No stiffness."""
        return ca.SX(0)
