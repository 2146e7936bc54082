"""Sweeps: many runs of a scenario with some of its numbers varied."""

from pliant.sweeps.metrics import METRICS, Histories
from pliant.sweeps.outputs import SweepResult
from pliant.sweeps.sampling import Axis, Sample
from pliant.sweeps.sweep import sweep
from pliant.sweeps.sweep_file import SweepStudy

__all__ = ["METRICS", "Axis", "Histories", "Sample", "SweepResult", "SweepStudy", "sweep"]
