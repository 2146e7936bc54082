"""Hydraulic cylinders with their valves: pressures, flows and forces.

A cylinder has two chambers of oil,

    p_a' = beta / V_a (Q_a - A_a x' - leak)        V_a = D_a + A_a x
    p_b' = beta / V_b (Q_b + A_b x' + leak)        V_b = D_b + A_b (stroke - x)

x being the length less that of the cylinder drawn in, and leak in proportion to p_a - p_b. Each edge of the valve lets
flow opening sqrt(dp / pressure_drop) through, rounded below a small dp. Pressures above 0 alone fall.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import casadi as ca

from pliant.algebra.rotations import SX
from pliant.robot.coordinates import MEGA

CAVITATES = 0.1
"""MPa: below, a pressure falls the more slowly the lower it is, since the oil lets air go; it does not pass 0."""
LEAST_VOLUME = 0.5
"""Part of the dead volume that is left of a chamber whose piston is beyond its end."""


@dataclass(frozen=True)
class ValveMap:
    """Flow of an edge by its opening: `gain` opening sqrt(dp), in proportion to dp far below `laminar`."""

    gain: SX
    laminar: SX
    bandwidth: SX | None = None

    def flow(self, opening: SX, drop: SX) -> SX:
        """Flow through the edge, along the pressure drop."""
        return self.gain * opening * drop / (drop**2 + self.laminar**2) ** 0.25


@dataclass(frozen=True)
class CylinderMap:
    """A hydraulic cylinder with its valve; each pair is of the piston's side and of the rod's side."""

    areas: tuple[SX, SX]
    dead_volumes: tuple[SX, SX]
    dead_length: SX
    stroke: SX
    supply: SX
    tank: SX
    bulk_modulus: SX
    leakage: SX
    valve: ValveMap

    @property
    def states(self) -> tuple[str, ...]:
        """Pressures (MPa), and the opening of a valve with a bandwidth."""
        return ("pressure_a", "pressure_b", *(() if self.valve.bandwidth is None else ("valve",)))

    def push(self, command: SX, y: list[SX]) -> SX:
        """Force apart."""
        return MEGA * (y[0] * self.areas[0] - y[1] * self.areas[1])

    def rates(self, command: SX, L: SX, rate: SX, y: list[SX]) -> list[SX]:
        """Rates of its states."""
        wanted, bandwidth = ca.fmin(ca.fmax(command, -1), 1), self.valve.bandwidth
        opening = wanted if bandwidth is None else y[2]
        x, leak = L - self.dead_length, self.leakage * MEGA * (y[0] - y[1])
        gained = (
            self._fed(opening, y[0]) - self.areas[0] * rate - leak,
            self._fed(-opening, y[1]) + self.areas[1] * rate + leak,
        )
        out = []
        for p, flow, volume in zip(y, gained, self._volumes(x)):
            rise = self.bulk_modulus / MEGA / volume * flow
            out.append(ca.fmax(rise, 0) + ca.fmin(rise, 0) * ca.fmin(ca.fmax(p / CAVITATES, 0), 1))
        return out if bandwidth is None else [*out, 2 * math.pi * bandwidth * (wanted - opening)]

    def _volumes(self, x: SX) -> list[SX]:
        """Volumes of the chambers."""
        sides = zip(self.areas, self.dead_volumes, (x, self.stroke - x))
        return [ca.fmax(dead + area * inside, LEAST_VOLUME * dead) for area, dead, inside in sides]

    def stiffness(self, L: SX) -> SX:
        """Stiffness of the oil, behind a closed valve."""
        volumes = self._volumes(L - self.dead_length)
        return self.bulk_modulus * sum((area**2 / volume for area, volume in zip(self.areas, volumes)), ca.SX(0))

    def _fed(self, opening: SX, p: SX) -> SX:
        """Flow into a chamber: from the pump where its edge is open to it, else to the tank."""
        to_tank = self.valve.flow(ca.fmax(-opening, 0), MEGA * p - self.tank)
        return self.valve.flow(ca.fmax(opening, 0), self.supply - MEGA * p) - to_tank

    def start(self, push: SX) -> list[SX]:
        """Pressures that hold a force behind a closed valve.

        They add up to those of pump and tank, as leaking edges of a valve would make them, so that both lie in between
        for every force that the pump can hold.
        """
        a, b = self.areas
        p_a = ca.fmax(ca.fmax((push + b * (self.supply + self.tank)) / (a + b), push / a), 0)
        return [p_a / MEGA, (p_a * a - push) / b / MEGA, *([] if self.valve.bandwidth is None else [ca.SX(0)])]
