"""Build the laws of hysteresis, gears, motors, end stops, contacts and couplings from their descriptions.

A part of a description may be a view whose numbers are symbols. Laws of friction are built in `friction`.
"""

from __future__ import annotations

import casadi as ca

from pliant.algebra.rotations import SX
from pliant.errors import ModelError
from pliant.mechanics.actuation.gear_springs import GearSpring, Wave, Yielding
from pliant.mechanics.actuation.hydraulic_cylinder import CylinderMap, ValveMap
from pliant.mechanics.actuation.motor_laws import MotorMap
from pliant.mechanics.actuation.shaft_laws import Placed
from pliant.mechanics.constraints.contact_law import Core, Pressing, StopMap
from pliant.mechanics.constraints.coupling_laws import (
    CommandedPush,
    ConstantPush,
    Dashpot,
    Ends,
    LineDrive,
    LineLaw,
    PullingSpring,
    TautCable,
)
from pliant.mechanics.links.maps.link_maps import is_zero
from pliant.robot.parts.contacts import Contact, Surface
from pliant.robot.parts.couplings import Coupling, Cylinder
from pliant.robot.parts.drives.gear import Drive
from pliant.robot.parts.drives.stops import Restitution, Stop
from pliant.robot.parts.joint import Freedom, Limits


def gear_spring(drive: Drive) -> GearSpring:
    """The spring of an elastic drive."""
    if any(isinstance(x, ca.SX) for point in drive.table for x in point):
        raise ModelError("parameters: the points of `drive.table` are constants of a model; give `stiffness` instead")
    waves = tuple(Wave(wave.amplitude, wave.cycles * drive.gear_ratio, wave.phase) for wave in drive.errors)
    return GearSpring(
        stiffness=drive.stiffness,
        hardening=drive.hardening,
        play=drive.play,
        smoothing=drive.play_smoothing,
        table=tuple(drive.table),
        errors=waves,
    )


def yielding(drive: Drive, indices: tuple[int, int], places: tuple[int, int]) -> list[Placed]:
    """Hysteresis of the gear between motor and joint, if it has any."""
    if drive.hysteresis is None:
        return []
    h = drive.hysteresis
    stiffness: SX = drive.stiffness
    law = Yielding(stiffness * h.fraction, h.yield_twist, h.exponent, h.loading)
    return [Placed("hysteresis", law, indices, places, (1, -1))]


def motor_map(freedom: Freedom) -> MotorMap:
    """The motor of a freedom that has one, with its amplifier."""
    motor = freedom.motor
    ratio = 1.0 if freedom.drive is None else freedom.drive.gear_ratio
    constant = motor.torque_constant
    gain = 1.0 if constant is None else ratio * motor.efficiency * constant
    back = constant if motor.back_emf is None else motor.back_emf
    emf = 0.0 if motor.resistance is None else back * ratio
    resistance = 1.0 if motor.resistance is None else motor.resistance
    return MotorMap(
        command=motor.command,
        gain=gain,
        emf=emf,
        offset=motor.offset,
        resistance=resistance,
        inductance=motor.inductance,
        current_limit=motor.current_limit,
        voltage_limit=motor.voltage_limit,
        bandwidth=motor.bandwidth,
    )


def stops(limits: Limits, index: int, place: int) -> tuple[StopMap, ...]:
    """Stops of a freedom at its limits, which have the law of a stop."""
    assert limits.stop is not None
    ends = ((limits.lower, -1), (limits.upper, 1))
    law = pressing(limits.stop)
    return tuple(StopMap(index, place, side, end, law) for end, side in ends if end is not None)


def pressing(stop: Stop | Contact, exponent: SX = 1.0) -> Pressing:
    """The law of a stop, or of a contact; its damping may follow from a restitution."""
    given = stop.restitution
    if given is None:
        return Pressing(stop.stiffness, stop.damping, exponent)
    if any(isinstance(x, ca.SX) for x in (given.value, given.speed)):
        raise ModelError("parameters: a `restitution` is a constant of a model; give `damping` instead")
    return Pressing(stop.stiffness, Restitution(value=given.value, speed=given.speed).damping, exponent)


def core(surface: Surface) -> Core:
    """The plane, point, segment or box that a surface surrounds at its radius."""
    half = surface.size or (0.0, 0.0, 0.0 if surface.length is None else surface.length)
    radius = 0.0 if surface.radius is None else surface.radius
    return Core(surface.type, radius, (half[0] / 2, half[1] / 2, half[2] / 2))


def line_laws(coupling: Coupling) -> list[LineLaw]:
    """Laws that act along a coupling without a command: spring, damper, constant force, cable, ends of a cylinder."""
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


def line_drive(coupling: Coupling) -> LineDrive | None:
    """Commanded force of a coupling: a force as it is, or a cylinder; None without a command."""
    if coupling.cylinder is not None:
        return _cylinder(coupling.cylinder)
    return CommandedPush() if coupling.commanded else None


def _cylinder(cylinder: Cylinder) -> CylinderMap:
    """A hydraulic cylinder with its valve."""
    valve, areas, volumes = cylinder.valve, cylinder.areas, cylinder.volumes
    return CylinderMap(
        areas=(areas[0], areas[1]),
        dead_volumes=(volumes[0], volumes[1]),
        dead_length=cylinder.dead_length,
        stroke=cylinder.stroke,
        supply=cylinder.supply,
        tank=cylinder.tank,
        bulk_modulus=cylinder.bulk_modulus,
        leakage=cylinder.leakage,
        valve=ValveMap(valve.flow / valve.pressure_drop**0.5, valve.laminar, valve.bandwidth),
    )
