"""What can go wrong, in four words. Every message says the name, what was given, what was expected and what to do."""

from __future__ import annotations

import warnings
from importlib import import_module
from inspect import currentframe
from typing import Any

LONGEST = 3000
"""Characters of a message; what a user gave may be a megabyte long."""
PASSED = ("pliant", "contextlib", "pydantic")
"""Packages whose lines are not those of a user."""


class PliantError(Exception):
    """Base of every error that pliant raises on purpose.

    Parameters
    ----------
    message : str
        What went wrong; shortened where it is very long.

    Examples
    --------
    >>> try:
    ...     pliant.load("nowhere.yaml")
    ... except pliant.PliantError as error:
    ...     print(type(error).__name__)
    ModelError
    """

    def __init__(self, message: str = "") -> None:
        super().__init__(message if len(message) <= LONGEST else f"{message[: LONGEST - 400]} ... {message[-300:]}")


class ModelError(PliantError, ValueError):
    """The description of an arm, or an argument about it, cannot be right.

    Examples
    --------
    >>> pliant.Beam(length=-1.0, mass_per_length=5.0)
    Traceback (most recent call last):
    pliant.errors.ModelError: Beam: length: got -1.0, expected a number above 0
    """


class UnsupportedModel(PliantError):
    """A formulation, method or back end was asked for something that it does not have.

    Examples
    --------
    >>> pliant.load("two-link").model("dual-screw", stiffening=True)
    Traceback (most recent call last):
    pliant.errors.UnsupportedModel: formulation 'dual-screw' does not support stiffening; use one of: denoc, ...
    """


class SimulationError(PliantError):
    """A run could not be finished; `result` holds what had been computed, if anything.

    Parameters
    ----------
    message : str
        What went wrong, when and where.
    result : Result, optional
        What had been computed.

    Examples
    --------
    >>> error = pliant.SimulationError("the run broke down at t = 0.3 s")
    >>> error.result is None
    True
    """

    def __init__(self, message: str, result: Any = None) -> None:
        super().__init__(message)
        self.result = result


class Interrupted(KeyboardInterrupt):
    """Ctrl-C ended a computation; `result` holds what had been computed, if anything.

    It is a KeyboardInterrupt and no `PliantError`: who catches errors of pliant does not catch Ctrl-C.

    Parameters
    ----------
    message : str
        What was interrupted, and where.
    result : Result, BatchResult, SweepResult or Identification, optional
        What had been computed.

    Examples
    --------
    >>> try:
    ...     result = pliant.simulate(pliant.load("two-link").model(), 0.1)
    ... except pliant.Interrupted as stopped:
    ...     result = stopped.result
    >>> result.stats.status
    'finished'
    """

    def __init__(self, message: str = "", result: Any = None) -> None:
        super().__init__(message)
        self.result = result


def warn_user(text: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the line of the user, the nearest that is in no package of `PASSED`: Python shows it once for each."""
    frame, level = currentframe(), 1
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] in PASSED:
        frame, level = frame.f_back, level + 1
    warnings.warn(text, category, stacklevel=level)


def install(extra: str) -> str:
    """How to get an extra. Pliant is on no package index: a name there would be somebody else's package."""
    return f"in the folder of pliant's source, run: pip install '.[{extra}]'"


def extra(module: str, message: str, kind: type[PliantError] = PliantError) -> Any:
    """A module that pliant does without; where it is asked for and missing, the message says how to get it."""
    try:
        return import_module(module)
    except ImportError as error:
        raise kind(message) from error
