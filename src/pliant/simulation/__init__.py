"""Simulation: single runs, batches, steppers, gradients and scenarios."""
