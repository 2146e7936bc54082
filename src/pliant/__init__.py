"""Pliant: robot arms whose links and joints bend."""

__version__ = "0.1.0"
