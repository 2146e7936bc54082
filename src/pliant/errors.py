"""What can go wrong, in four words. Every message says the name, what was given, what was expected and what to do."""

from __future__ import annotations

from typing import Any


class PliantError(Exception):
    """Base of every error that pliant raises on purpose."""


class ModelError(PliantError, ValueError):
    """The description of an arm, or an argument about it, cannot be right."""


class UnsupportedModel(PliantError):
    """A formulation, method or back end was asked for something that it does not have."""


class SimulationError(PliantError):
    """A run could not be finished; `result` holds what had been computed, if anything."""

    def __init__(self, message: str, result: Any = None) -> None:
        super().__init__(message)
        self.result = result
