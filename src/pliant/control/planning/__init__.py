"""Motions without residual vibration: planning them, and measuring the vibration that a command leaves."""

from pliant.control.planning.plan_motion import Compared, Plan, plan
from pliant.control.planning.residual_vibration import Residual, residual_vibration
from pliant.control.planning.trajectory_files import JointMotion, read_trajectory

__all__ = ["Compared", "JointMotion", "Plan", "Residual", "plan", "read_trajectory", "residual_vibration"]
