"""Runs: what composes, drives, computes, stores and reads them."""

from pliant.runs.composition import Event
from pliant.runs.results import Result
from pliant.runs.simulation import simulate

__all__ = ["Event", "Result", "simulate"]
