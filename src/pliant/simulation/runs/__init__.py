"""Runs: what composes, drives, computes, stores and reads them."""

from pliant.simulation.runs.equations.composition import Event
from pliant.simulation.runs.results import Result
from pliant.simulation.runs.simulation import simulate

__all__ = ["Event", "Result", "simulate"]
