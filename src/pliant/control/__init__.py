"""Trajectories, controllers, shapers, sensors, observers and optimal motions: each gives an expression, none sees a kernel."""

from __future__ import annotations

from pliant.control.base import Controller, Law, Limited
from pliant.control.decoupling import ComputedTorque
from pliant.control.joint import PD, PID, gravity_torque, natural_gains
from pliant.control.lqr import LQR
from pliant.control.sampling import Sampled
from pliant.control.switching import Switch
from pliant.control.trajectories import (
    Constant, Cycloidal, MohanSaha, Piecewise, Quintic, Step, Trajectory, Trapezoidal, Waypoints,
)
from pliant.control.shaping import Shaped, Shaper, ei, shaper_for, zv, zvd
from pliant.control.sensors import Accelerometer, Encoder, Measurement, StrainGauge, TipPosition
from pliant.control.observer import Observer, OutputFeedback
