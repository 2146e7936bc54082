"""Sweeps: many runs of a scenario with some of its numbers varied."""

from pliant.sweeps.metrics import METRICS, Histories
from pliant.sweeps.sampling import Axis, Sample
from pliant.sweeps.study import SweepStudy
from pliant.sweeps.sweeping import sweep
from pliant.sweeps.tables import SweepResult

__all__ = ["METRICS", "Axis", "Histories", "Sample", "SweepResult", "SweepStudy", "sweep"]
