"""What rubs, yields, drives and stops a freedom, and what acts along a coupling, from numbers or symbols alike."""

from __future__ import annotations

from typing import Any

import casadi as ca

from pliant.errors import ModelError
from pliant.mechanics.actuation.gear_springs import GearSpring, Wave, Yielding
from pliant.mechanics.actuation.motor_laws import MotorMap
from pliant.mechanics.actuation.shaft_laws import Placed
from pliant.mechanics.constraints.contact_law import Core, Pressing, StopMap
from pliant.mechanics.constraints.coupling_laws import (
    CommandedPush,
    ConstantPush,
    CylinderMap,
    Dashpot,
    Ends,
    LineDrive,
    LineLaw,
    PullingSpring,
    TautCable,
    ValveMap,
)
from pliant.mechanics.links.link_maps import is_zero
from pliant.robot.parts.joint import Freedom
from pliant.robot.parts.stops import Restitution


def gear_spring(drive: Any) -> GearSpring:
    """The spring of an elastic drive."""
    if any(isinstance(x, ca.SX) for point in drive.table for x in point):
        raise ModelError("parameters: the points of `drive.table` are constants of a model; give `stiffness` instead")
    waves = tuple(Wave(wave.amplitude, wave.cycles * drive.gear_ratio, wave.phase) for wave in drive.errors)
    return GearSpring(
        drive.stiffness, drive.hardening, drive.play, drive.play_smoothing, tuple(drive.table), waves
    )  # fmt: skip


def yielding(drive: Any, indices: tuple[int, int], places: tuple[int, int]) -> list[Placed]:
    """What of the stiffness yields, between motor and joint."""
    if drive.hysteresis is None:
        return []
    h = drive.hysteresis
    law = Yielding(drive.stiffness * h.fraction, h.yield_twist, h.exponent, h.loading)
    return [Placed("hysteresis", law, indices, places, (1, -1))]


def motor_map(freedom: Freedom) -> MotorMap | None:
    """The motor of a freedom with its amplifier."""
    motor = freedom.motor
    if motor is None:
        return None
    ratio = 1.0 if freedom.drive is None else freedom.drive.gear_ratio
    constant = motor.torque_constant
    gain = 1.0 if constant is None else ratio * motor.efficiency * constant
    back = constant if motor.back_emf is None else motor.back_emf
    emf = 0.0 if motor.resistance is None else back * ratio
    resistance = 1.0 if motor.resistance is None else motor.resistance
    limits = motor.current_limit, motor.voltage_limit
    return MotorMap(motor.command, gain, emf, motor.offset, resistance, motor.inductance, *limits, motor.bandwidth)


def stops(limits: Any, index: int, place: int | None) -> tuple[StopMap, ...]:
    """What a freedom meets at its limits."""
    if limits is None or limits.stop is None or place is None:
        return ()
    ends = ((limits.lower, -1), (limits.upper, 1))
    law = pressing(limits.stop)
    return tuple(StopMap(index, place, side, end, law) for end, side in ends if end is not None)


def pressing(stop: Any, exponent: Any = 1.0) -> Pressing:
    """The law of a stop, or of a contact."""
    damping = stop.damping if stop.restitution is None else _restituting(stop.restitution)
    return Pressing(stop.stiffness, damping, exponent)


def core(surface: Any) -> Core:
    """What a surface is round of."""
    half = surface.size or (0.0, 0.0, 0.0 if surface.length is None else surface.length)
    radius = 0.0 if surface.radius is None else surface.radius
    return Core(surface.type, radius, (half[0] / 2, half[1] / 2, half[2] / 2))


def _restituting(restitution: Any) -> float:
    """Damping that gives a restitution back."""
    if any(isinstance(x, ca.SX) for x in (restitution.value, restitution.speed)):
        raise ModelError("parameters: a `restitution` is a constant of a model; give `damping` instead")
    return Restitution(value=restitution.value, speed=restitution.speed).damping


def line_laws(coupling: Any) -> list[LineLaw]:
    """What acts along a coupling by itself."""
    found: list[LineLaw] = []
    if coupling.spring is not None:
        spring = coupling.spring
        found.append(PullingSpring(spring.stiffness, spring.length, spring.preload))
    if not is_zero(coupling.damping):
        found.append(Dashpot(coupling.damping))
    if coupling.force is not None and not is_zero(coupling.force.value):
        found.append(ConstantPush(coupling.force.value))
    if coupling.cable is not None:
        cable = coupling.cable
        found.append(TautCable(cable.stiffness, cable.length, cable.damping, cable.smoothing))
    if coupling.cylinder is not None:
        cylinder, cushion = coupling.cylinder, coupling.cylinder.cushion
        low = cylinder.dead_length + cushion.length
        high = cylinder.dead_length + cylinder.stroke - cushion.length
        found.append(Ends(low, high, pressing(cushion)))
    return found


def line_drive(coupling: Any) -> LineDrive | None:
    """What is commanded there."""
    if coupling.cylinder is None:
        return CommandedPush() if coupling.commanded else None
    c, valve = coupling.cylinder, coupling.cylinder.valve
    edges = ValveMap(valve.flow / valve.pressure_drop**0.5, valve.laminar, valve.bandwidth)
    pairs = tuple(c.areas), tuple(c.volumes)
    return CylinderMap(*pairs, c.dead_length, c.stroke, c.supply, c.tank, c.bulk_modulus, c.leakage, edges)
