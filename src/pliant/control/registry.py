"""Tables of trajectories, controllers and sensors: names in files, with module and class."""

from __future__ import annotations

from pliant.base.later import Named

TRAJECTORIES = Named(
    "pliant.control",
    {
        "constant": "trajectories.trajectories.Constant",
        "cycloidal": "trajectories.trajectories.Cycloidal",
        "jerk-limited": "trajectories.jerk_limited.JerkLimited",
        "measured": "trajectories.measured_motion.MeasuredMotion",
        "mohan-saha": "trajectories.trajectories.MohanSaha",
        "phases": "trajectories.splines.Phases",
        "pulse": "trajectories.signals.Pulse",
        "quintic": "trajectories.trajectories.Quintic",
        "samples": "trajectories.signals.Samples",
        "shaped": "trajectories.input_shaping.Shaped",
        "sine": "trajectories.signals.Sine",
        "step": "trajectories.trajectories.Step",
        "trapezoidal": "trajectories.trajectories.Trapezoidal",
        "waypoints": "trajectories.splines.Waypoints",
    },
)
"""Trajectories by name. Each is built from plain data by keywords."""

CONTROLLERS = Named(
    "pliant.control",
    {
        "composite": "controllers.composite.Composite",
        "computed-torque": "controllers.computed_torque.ComputedTorque",
        "disturbance-observer": "estimation.momentum_observer.DisturbanceObserver",
        "feedback-linearization": "controllers.feedback_linearization.FeedbackLinearization",
        "limited": "controllers.controller.Limited",
        "lqr": "controllers.lqr.LQR",
        "output-feedback": "estimation.observer.OutputFeedback",
        "pd": "controllers.joint_controllers.PD",
        "pid": "controllers.joint_controllers.PID",
        "sampled": "sensing.sampled.Sampled",
        "switch": "controllers.phases.Switch",
    },
)
"""Controllers by name. Each is built from plain data, trajectories or other controllers, by keywords."""

SENSORS = Named(
    "pliant.control",
    {
        "accelerometer": "sensing.sensors.Accelerometer",
        "encoder": "sensing.sensors.Encoder",
        "strain-gauge": "sensing.sensors.StrainGauge",
        "tachometer": "sensing.rig_sensors.Tachometer",
        "tip-camera": "sensing.rig_sensors.TipCamera",
        "tip-position": "sensing.sensors.TipPosition",
        "torque-sensor": "sensing.rig_sensors.TorqueSensor",
    },
)
"""Sensors by name."""
