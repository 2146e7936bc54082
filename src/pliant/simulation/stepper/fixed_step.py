"""Longest length of a fixed step."""

from __future__ import annotations

import numpy as np

from pliant.arrays import Array
from pliant.model.model import Model
from pliant.robot.parts.loop_joints import WORLD
from pliant.robot.tree import BASE
from pliant.simulation.runs.equations.coupled_lines import line_histories

RADIANS = 0.4
"""Phase of the fastest mode in a step. RK4 is stable up to 2.8, and errs by 1e-4 of a swing at this value."""
SLIPS = 0.3
"""Length of a step over the time in which friction begins to slip. RK4 is stable up to 0.4."""
OTHER_POSES = 1.3
"""Factor on the fastest mode, since at other poses modes are up to a third faster."""
HIT = 1.0
"""Speed of a hit, m/s, for contacts that give none."""


def fastest_mode(model: Model) -> float:
    """Highest frequency of the undeformed arm with free joints, rad/s."""
    return float(np.abs(model.modes({}, joints="free").omega).max(initial=0.0))


class Yields:
    """Acceleration of an arm at rest per force: 1/kg along a line, 1/(kg m^2) of a torque. Loops are left out, since
    with them the arm is no softer."""

    def __init__(self, model: Model) -> None:
        self.model, self.rest = model, model.layout.rest()
        self._inverse = np.linalg.inv(model.mass_matrix(self.rest))

    def speed(self, name: str) -> float:
        """Acceleration of a joint per its torque or force, by its name."""
        k = self.model.speed_index(name)
        return float(self._inverse[k, k])

    def lines(self) -> Array:
        """Acceleration (couplings,) along each line per its force."""
        model, many = self.model, np.tile(self.rest, (self.model.n, 1))
        _, slopes, _ = line_histories(model, many, np.eye(model.n), model.nominal_parameters)
        return np.asarray(np.einsum("ik,ij,jk->k", slopes, self._inverse, slopes))

    def point(self, frame: str) -> float:
        """Acceleration of a frame per force in its softest direction, 0 for the ground."""
        if frame in (BASE, WORLD):
            return 0.0
        J = self.model.jacobian(self.rest, frame=frame)[3:]
        return float(np.linalg.eigvalsh(J @ self._inverse @ J.T)[-1])


def pressing_squares(model: Model, by: Yields) -> list[float]:
    """Squares of frequencies, (rad/s)^2, that stops, springs, cables and contacts add where they act. Cables are taut
    then, and spheres pressed in as deep as by a hit at the speed of their restitution."""
    ends = {name: freedom.limits for name, freedom in model.robot.freedoms.items()}
    stops = {name: limits.stop for name, limits in ends.items() if limits is not None and limits.stop is not None}
    found = [stop.stiffness * by.speed(name) for name, stop in stops.items()]
    if model.robot.couplings:
        for coupling, soft in zip(model.robot.couplings, by.lines()):
            found += [part.stiffness * soft for part in (coupling.spring, coupling.cable) if part is not None]
    for contact in model.robot.contacts:
        soft, n = sum(map(by.point, contact.between)), contact.exponent
        speed = HIT if contact.restitution is None else contact.restitution.speed
        if soft:  # k u^(n + 1) / (n + 1) = m v^2 / 2, and the slope of the force there is n k u^(n - 1)
            depth = ((n + 1) * speed**2 / (2 * contact.stiffness * soft)) ** (1 / (n + 1))
            found.append(n * contact.stiffness * depth ** (n - 1) * soft)
    return [float(square) for square in found]


def oil_rates(model: Model, by: Yields) -> list[float]:
    """Frequencies of an arm on the oil of its cylinders, rates of valves that are wide open, and of dampers, rad/s.

    A piston at an end of its stroke stands on the stiffness beta A^2 / (dead volume), which is the greatest.
    """
    rates: list[float] = []
    for coupling, soft in zip(model.robot.couplings, by.lines() if model.robot.couplings else ()):
        rates.append(coupling.damping * soft)
        if (cylinder := coupling.cylinder) is not None:
            K = [cylinder.bulk_modulus * A**2 / V for A, V in zip(cylinder.areas, cylinder.volumes)]
            laminar = cylinder.valve.flow / (cylinder.valve.pressure_drop * cylinder.valve.laminar) ** 0.5
            rates += [np.sqrt((sum(K) + cylinder.cushion.stiffness) * soft)]
            rates += [cylinder.bulk_modulus / V * laminar for V in cylinder.volumes]
    return rates


def sticking_rates(model: Model, by: Yields) -> list[float]:
    """Frequencies of joints and motors that stick to friction with a stiffness, and rates of its damping, rad/s. Those
    of a joint that slides fast are higher, and depend on its speed."""
    rates: list[float] = []
    for name, freedom in model.robot.freedoms.items():
        rubbed = {name: freedom.friction}
        if freedom.elastic:
            rubbed[f"{name}.motor"] = freedom.drive.friction
        for speed, friction in rubbed.items():
            if friction.stiffness is not None:
                soft = by.speed(speed)
                rates += [np.sqrt(friction.stiffness * soft), (friction.viscous + friction.micro_damping) * soft]
    return rates


def longest_step(model: Model) -> float:
    """Longest step, s, of explicit methods with fixed steps, by the fastest vibration, rebound or slip. Friction of
    contacts that stick is left out: a fixed step lets them creep to and fro at their stick_speed.

    Friction of contacts that stick is left out: a fixed step lets them creep to and fro at their stick_speed.
    """
    by = Yields(model)
    pressed = max(pressing_squares(model, by), default=0.0)
    rates = [OTHER_POSES * float(np.hypot(fastest_mode(model), np.sqrt(pressed))) / RADIANS]
    for freedom in (freedom for link in model.robot.links for freedom in link.joint.freedoms):
        rubbing = [freedom.friction, freedom.drive.friction] if freedom.elastic else [freedom.friction]
        rates += [f.coulomb_speed / f.bristle / SLIPS for f in rubbing if f.law == "bristle" and f.bristle and f.level]
        rates += [freedom.motor.fastest / SLIPS] if freedom.motor is not None else []
    rates += [rate / RADIANS for rate in sticking_rates(model, by)]
    rates += [rate / RADIANS for rate in oil_rates(model, by)]
    highest = max(rates)
    return 1.0 / highest if highest > 0 else np.inf
