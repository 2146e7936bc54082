"""Closed loops of a model: assembled positions, and motion along them."""
