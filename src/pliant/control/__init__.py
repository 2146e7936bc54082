"""Trajectories, controllers, shapers, sensors, observers and optimal motions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pliant.base.later import later

if TYPE_CHECKING:
    from pliant.control.controllers.composite import Composite
    from pliant.control.controllers.computed_torque import ComputedTorque
    from pliant.control.controllers.controller import Controller, Law, Limited
    from pliant.control.controllers.feedback_linearization import FeedbackLinearization
    from pliant.control.controllers.joint_controllers import PD, PID, gravity_torque, natural_gains
    from pliant.control.controllers.lqr import LQR, Design
    from pliant.control.controllers.mpc import MPC, Predicted, StrainBound
    from pliant.control.controllers.phases import Switch
    from pliant.control.controllers.task_space import TipLine, inverse_kinematics
    from pliant.control.estimation.estimate import Belief, StateHistory
    from pliant.control.estimation.estimator_feedback import Estimated
    from pliant.control.estimation.kalman import KalmanFilter
    from pliant.control.estimation.momentum_observer import CollisionMonitor, DisturbanceObserver
    from pliant.control.estimation.moving_horizon import MovingHorizon
    from pliant.control.estimation.observer import Filter, Observer, OutputFeedback
    from pliant.control.planning.search.optimal import RestToRest, rest_to_rest
    from pliant.control.registry import CONTROLLERS, SENSORS, TRAJECTORIES
    from pliant.control.sensing.rig_sensors import Tachometer, TipCamera, TorqueSensor
    from pliant.control.sensing.sampled import Sampled
    from pliant.control.sensing.sensors import Accelerometer, Encoder, Measurement, Sensor, StrainGauge, TipPosition
    from pliant.control.trajectories.input_shaping import SHAPERS, Shaped, Shaper, ei, shaper_for, zv, zvd
    from pliant.control.trajectories.jerk_limited import JerkLimited
    from pliant.control.trajectories.measured_motion import MeasuredMotion
    from pliant.control.trajectories.signals import Pulse, Samples, Sine
    from pliant.control.trajectories.splines import Phases, Piecewise, Waypoints
    from pliant.control.trajectories.trajectories import (
        Constant,
        Cycloidal,
        MohanSaha,
        Quintic,
        Step,
        Trajectory,
        Trapezoidal,
    )

__all__ = [
    "CONTROLLERS",
    "LQR",
    "MPC",
    "PD",
    "PID",
    "SENSORS",
    "SHAPERS",
    "TRAJECTORIES",
    "Accelerometer",
    "Belief",
    "CollisionMonitor",
    "Composite",
    "ComputedTorque",
    "Constant",
    "Controller",
    "Cycloidal",
    "Design",
    "DisturbanceObserver",
    "Encoder",
    "Estimated",
    "FeedbackLinearization",
    "Filter",
    "JerkLimited",
    "KalmanFilter",
    "Law",
    "Limited",
    "MeasuredMotion",
    "Measurement",
    "MohanSaha",
    "MovingHorizon",
    "Observer",
    "OutputFeedback",
    "Phases",
    "Piecewise",
    "Predicted",
    "Pulse",
    "Quintic",
    "RestToRest",
    "Sampled",
    "Samples",
    "Sensor",
    "Shaped",
    "Shaper",
    "Sine",
    "StateHistory",
    "Step",
    "StrainBound",
    "StrainGauge",
    "Switch",
    "Tachometer",
    "TipCamera",
    "TipLine",
    "TipPosition",
    "TorqueSensor",
    "Trajectory",
    "Trapezoidal",
    "Waypoints",
    "ei",
    "gravity_torque",
    "inverse_kinematics",
    "natural_gains",
    "rest_to_rest",
    "shaper_for",
    "zv",
    "zvd",
]

__getattr__ = later(
    __name__,
    {
        "Accelerometer": "sensing.sensors",
        "Belief": "estimation.estimate",
        "CONTROLLERS": "registry",
        "CollisionMonitor": "estimation.momentum_observer",
        "Composite": "controllers.composite",
        "ComputedTorque": "controllers.computed_torque",
        "Constant": "trajectories.trajectories",
        "Controller": "controllers.controller",
        "Cycloidal": "trajectories.trajectories",
        "Design": "controllers.lqr",
        "DisturbanceObserver": "estimation.momentum_observer",
        "Encoder": "sensing.sensors",
        "Estimated": "estimation.estimator_feedback",
        "FeedbackLinearization": "controllers.feedback_linearization",
        "Filter": "estimation.observer",
        "JerkLimited": "trajectories.jerk_limited",
        "KalmanFilter": "estimation.kalman",
        "LQR": "controllers.lqr",
        "Law": "controllers.controller",
        "Limited": "controllers.controller",
        "MPC": "controllers.mpc",
        "MeasuredMotion": "trajectories.measured_motion",
        "Measurement": "sensing.sensors",
        "MohanSaha": "trajectories.trajectories",
        "MovingHorizon": "estimation.moving_horizon",
        "Observer": "estimation.observer",
        "OutputFeedback": "estimation.observer",
        "PD": "controllers.joint_controllers",
        "PID": "controllers.joint_controllers",
        "Phases": "trajectories.splines",
        "Piecewise": "trajectories.splines",
        "Predicted": "controllers.mpc",
        "Pulse": "trajectories.signals",
        "Quintic": "trajectories.trajectories",
        "RestToRest": "planning.search.optimal",
        "SENSORS": "registry",
        "SHAPERS": "trajectories.input_shaping",
        "Sampled": "sensing.sampled",
        "Samples": "trajectories.signals",
        "Sensor": "sensing.sensors",
        "Shaped": "trajectories.input_shaping",
        "Shaper": "trajectories.input_shaping",
        "Sine": "trajectories.signals",
        "StateHistory": "estimation.estimate",
        "Step": "trajectories.trajectories",
        "StrainBound": "controllers.mpc",
        "StrainGauge": "sensing.sensors",
        "Switch": "controllers.phases",
        "TRAJECTORIES": "registry",
        "Tachometer": "sensing.rig_sensors",
        "TipCamera": "sensing.rig_sensors",
        "TipLine": "controllers.task_space",
        "TipPosition": "sensing.sensors",
        "TorqueSensor": "sensing.rig_sensors",
        "Trajectory": "trajectories.trajectories",
        "Trapezoidal": "trajectories.trajectories",
        "Waypoints": "trajectories.splines",
        "ei": "trajectories.input_shaping",
        "gravity_torque": "controllers.joint_controllers",
        "inverse_kinematics": "controllers.task_space",
        "natural_gains": "controllers.joint_controllers",
        "rest_to_rest": "planning.search.optimal",
        "shaper_for": "trajectories.input_shaping",
        "zv": "trajectories.input_shaping",
        "zvd": "trajectories.input_shaping",
    },
)
