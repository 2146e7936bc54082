"""Loops, contacts, couplings and stops, and the forces that they carry."""
