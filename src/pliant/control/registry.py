"""Trajectories, controllers and sensors by the names that files give them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pliant.control.controllers.composite import Composite
from pliant.control.controllers.computed_torque import ComputedTorque
from pliant.control.controllers.controller import Limited
from pliant.control.controllers.feedback_linearization import FeedbackLinearization
from pliant.control.controllers.joint_controllers import PD, PID
from pliant.control.controllers.lqr import LQR
from pliant.control.controllers.phases import Switch
from pliant.control.estimation.momentum_observer import DisturbanceObserver
from pliant.control.estimation.observer import OutputFeedback
from pliant.control.sensing.rig_sensors import Tachometer, TipCamera, TorqueSensor
from pliant.control.sensing.sampled import Sampled
from pliant.control.sensing.sensors import Accelerometer, Encoder, StrainGauge, TipPosition
from pliant.control.trajectories.input_shaping import Shaped
from pliant.control.trajectories.jerk_limited import JerkLimited
from pliant.control.trajectories.measured_motion import MeasuredMotion
from pliant.control.trajectories.signals import Pulse, Samples, Sine
from pliant.control.trajectories.splines import Phases, Waypoints
from pliant.control.trajectories.trajectories import (
    Constant,
    Cycloidal,
    MohanSaha,
    Quintic,
    Step,
    Trapezoidal,
)

TRAJECTORIES: dict[str, Callable[..., Any]] = {
    "constant": Constant,
    "cycloidal": Cycloidal,
    "jerk-limited": JerkLimited,
    "measured": MeasuredMotion,
    "mohan-saha": MohanSaha,
    "phases": Phases,
    "pulse": Pulse,
    "quintic": Quintic,
    "samples": Samples,
    "shaped": Shaped,
    "sine": Sine,
    "step": Step,
    "trapezoidal": Trapezoidal,
    "waypoints": Waypoints,
}
"""Trajectories by name, each made from plain data by keyword."""

CONTROLLERS: dict[str, Callable[..., Any]] = {
    "composite": Composite,
    "computed-torque": ComputedTorque,
    "disturbance-observer": DisturbanceObserver,
    "feedback-linearization": FeedbackLinearization,
    "limited": Limited,
    "lqr": LQR,
    "output-feedback": OutputFeedback,
    "pd": PD,
    "pid": PID,
    "sampled": Sampled,
    "switch": Switch,
}
"""Controllers by name, each made from plain data (and trajectories or other controllers) by keyword."""

SENSORS: dict[str, Callable[..., Any]] = {
    "accelerometer": Accelerometer,
    "encoder": Encoder,
    "strain-gauge": StrainGauge,
    "tachometer": Tachometer,
    "tip-camera": TipCamera,
    "tip-position": TipPosition,
    "torque-sensor": TorqueSensor,
}
"""Sensors by name."""
