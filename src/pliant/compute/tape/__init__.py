"""Instruction tapes: a CasADi function as a list of scalar operations."""
