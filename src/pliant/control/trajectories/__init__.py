"""Trajectories and input shapers."""
