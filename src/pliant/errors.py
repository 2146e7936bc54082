"""What can go wrong, in four words. Every message says the name, what was given, what was expected and what to do."""

from __future__ import annotations

from typing import Any

LONGEST = 3000
"""Characters of a message; what a user gave may be a megabyte long."""


class PliantError(Exception):
    """Base of every error that pliant raises on purpose."""

    def __init__(self, message: str = "") -> None:
        super().__init__(message if len(message) <= LONGEST else f"{message[: LONGEST - 400]} ... {message[-300:]}")


class ModelError(PliantError, ValueError):
    """The description of an arm, or an argument about it, cannot be right."""


class UnsupportedModel(PliantError):
    """A formulation, method or back end was asked for something that it does not have."""


class SimulationError(PliantError):
    """A run could not be finished; `result` holds what had been computed, if anything."""

    def __init__(self, message: str, result: Any = None) -> None:
        super().__init__(message)
        self.result = result
