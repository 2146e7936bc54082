"""Rotations, moments and spatial inertias as CasADi expressions: the alphabet of every formulation."""
