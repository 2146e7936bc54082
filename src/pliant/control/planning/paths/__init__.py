"""Motions along a given path: shaping and timing that keep the path."""
