"""An arm whose drives have all that drives can have."""

from __future__ import annotations

from typing import Any

from pliant import Joint, Link, RigidBody, Robot
from pliant.robot import Drive, Friction, Hysteresis, Motor

MOTOR: dict[str, Any] = {"torque_constant": 0.08, "resistance": 2.5, "inductance": 0.02}


def everything() -> Robot:
    """An arm whose drives have all of it."""
    body = RigidBody(mass=1.3, com=(0.2, 0.05, 0), inertia=(0.02, 0.03, 0.04), tip=(0.4, 0, 0.1))
    first = Joint(
        friction=Friction(law="lugre", coulomb=0.3, stiction=0.4, stribeck_speed=0.1, stiffness=3e3, micro_damping=5.0,
                          viscous=2.0),
        drive=Drive(stiffness=2e3, rotor_inertia=1e-3, gear_ratio=30.0, damping=2.0, hardening=1e7, efficiency=0.9,
                    hysteresis=Hysteresis(fraction=0.3, yield_twist=1e-3),
                    friction=Friction(coulomb=0.2)),
        motor=Motor(command="voltage", bandwidth=80.0, current_limit=3.0, **MOTOR),
    )  # fmt: skip
    second = Joint(
        axis=(0, 1, 0), friction=Friction(law="dahl", coulomb=0.2, stiffness=1e3),
        drive=Drive(stiffness=3e3, rotor_inertia=2e-3, gear_ratio=20.0, play=2e-3, play_smoothing=2e-4, damping=1.0,
                    errors=[{"amplitude": 1e-4}]),
        motor=Motor(command="current", torque_constant=0.05, bandwidth=50.0, offset=0.1),
    )  # fmt: skip
    links = [Link(name="upper", joint=first, rigid=body), Link(name="fore", joint=second, rigid=body)]
    return Robot(name="drives", links=links)
