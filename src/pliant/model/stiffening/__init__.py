"""Geometric stiffening of a model: which order is chosen, and whether loads and changes still allow it."""
