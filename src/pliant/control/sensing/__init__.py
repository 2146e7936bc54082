"""Sensors, sampled controllers and their clocks."""
