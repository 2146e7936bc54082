"""Quantities that are computed from a finished run: section forces, error estimates, readings of sensors."""
