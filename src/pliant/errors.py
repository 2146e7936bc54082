"""Exceptions and warnings. A message gives the name, the value that was given, what is expected and what to do."""

from __future__ import annotations

import warnings
from importlib import import_module
from inspect import currentframe
from typing import Any

LONGEST = 3000
"""Characters of a message; what a user gave may be a megabyte long."""
PASSED = ("pliant", "contextlib", "pydantic")
"""Packages that are not code of a user."""


class PliantError(Exception):
    """Base class of the errors that pliant raises on purpose.

    Parameters
    ----------
    message : str
        Description of the error; a very long text is shortened.

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
    """The description of an arm, or an argument of a function, is invalid.

    Examples
    --------
    >>> pliant.Beam(length=-1.0, mass_per_length=5.0)
    Traceback (most recent call last):
    pliant.errors.ModelError: Beam: length: got -1.0, expected a number above 0
    """


class UnsupportedModel(PliantError):
    """A formulation, method or back end does not support what was asked for.

    Examples
    --------
    >>> pliant.load("two-link").model("dual-screw", stiffening="third-order")
    Traceback (most recent call last):
    pliant.errors.UnsupportedModel: formulation 'dual-screw' does not support stiffening; use one of: denoc, ...
    """


class SimulationError(PliantError):
    """A run could not be finished. `result` holds the part that was computed, if any.

    Parameters
    ----------
    message : str
        Description of the error, with time and place.
    result : Result, optional
        The part that was computed.

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
    """Ctrl-C ended a computation. `result` holds the part that was computed, if any.

    It is a KeyboardInterrupt and no `PliantError`: `except PliantError` does not catch Ctrl-C.

    Parameters
    ----------
    message : str
        Description of the interrupted call.
    result : Result, BatchResult, SweepResult or Identification, optional
        The part that was computed.

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
    """Warn at the user's line: the nearest caller outside the packages of `PASSED`. Python shows it once per line."""
    frame, level = currentframe(), 1
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] in PASSED:
        frame, level = frame.f_back, level + 1
    warnings.warn(text, category, stacklevel=level)


def install(extra: str) -> str:
    """Instruction to install an extra. Pliant is on no package index; a package of this name there is another one."""
    return f"in the folder of pliant's source, run: pip install '.[{extra}]'"


def extra(module: str, message: str, kind: type[PliantError] = PliantError) -> Any:
    """Import an optional module; if it is missing, raise `kind` with a message that says how to install it."""
    try:
        return import_module(module)
    except ImportError as error:
        raise kind(message) from error
