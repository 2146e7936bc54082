"""Identification: numbers of an arm fitted to measured runs."""

from pliant.identification.estimate import Channel, FitVerdict, Identification, Unresolved
from pliant.identification.fitting import identify
from pliant.identification.recording import Recording, Strain
from pliant.simulation.runs.files.csv_files import read_csv

__all__ = ["Channel", "FitVerdict", "Identification", "Recording", "Strain", "Unresolved", "identify", "read_csv"]
