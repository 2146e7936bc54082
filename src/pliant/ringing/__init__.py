"""Arms that stop without ringing: what a command leaves behind at the tip, and commands that leave nothing."""

from pliant.ringing.residual_swing import Residual, residual_vibration
from pliant.ringing.shape_motion import Compared, ShapedMotion, shape
from pliant.ringing.trajectory_files import JointMotion, read_trajectory

__all__ = ["Compared", "JointMotion", "Residual", "ShapedMotion", "read_trajectory", "residual_vibration", "shape"]
