"""Gradients of whole runs: of any traced cost, by the start, torques, gains and parameters."""

from pliant.simulation.gradients.run_gradients import GradientStats, RunGradient, gradient, gradient_batch

__all__ = ["GradientStats", "RunGradient", "gradient", "gradient_batch"]
