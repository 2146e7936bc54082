"""Friction, gears, motors and damping."""
