"""Measured laboratory arms: robot files with the source of every number, and recorded runs."""

from __future__ import annotations

from pliant_studies.measured.measured_runs import (
    CALIBRATIONS,
    MEASURED_RUNS,
    RIGS,
    SHIPPED_RECORDINGS,
    load_rig,
    measured_run,
    recording_path,
)

__all__ = ["CALIBRATIONS", "MEASURED_RUNS", "RIGS", "SHIPPED_RECORDINGS", "load_rig", "measured_run", "recording_path"]
