"""What rubs, yields, drives and stops a freedom, from its description, numbers or symbols alike."""

from __future__ import annotations

from typing import Any

import casadi as ca

from pliant.dynamics.gear_springs import GearSpring, Wave
from pliant.dynamics.motor_laws import MotorMap
from pliant.dynamics.pressing import Pressing, StopMap
from pliant.dynamics.shaft_laws import Bristle, DryLevel, LuGre, Placed, Yielding
from pliant.errors import ModelError
from pliant.robot import Freedom, Restitution


def rubbing(friction: Any, state: str, index: int) -> Placed:
    """Friction on a speed."""
    speed = friction.stribeck_speed
    level = DryLevel(
        friction.coulomb, friction.stiction, 10 * friction.coulomb_speed if speed is None else speed,
        friction.stribeck_exponent, friction.coulomb_speed,
    )  # fmt: skip
    law: Any = Bristle(level, friction.bristle)
    if friction.law != "bristle":
        law = LuGre(level, friction.stiffness, friction.micro_damping)
    return Placed(state, law, (index,), (), viscous=friction.viscous)


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
    stop = limits.stop
    damping = stop.damping if stop.restitution is None else _restituting(stop.restitution)
    ends = ((limits.lower, -1), (limits.upper, 1))
    law = Pressing(stop.stiffness, damping)
    return tuple(StopMap(index, place, side, end, law) for end, side in ends if end is not None)


def _restituting(restitution: Any) -> float:
    """Damping that gives a restitution back."""
    if any(isinstance(x, ca.SX) for x in (restitution.value, restitution.speed)):
        raise ModelError("parameters: a `restitution` is a constant of a model; give `damping` instead")
    return Restitution(value=restitution.value, speed=restitution.speed).damping
