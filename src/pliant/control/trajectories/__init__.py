"""Desired motions and input shapers."""
