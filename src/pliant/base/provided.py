"""Functions of higher rooms that lower ones offer as methods: pictures, pages and exports of a robot, model or run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

_PLACES: dict[str, str] = {}


def provide(places: Mapping[str, str]) -> None:
    """Say where functions are defined, as `{"name": "module"}`; a module is imported when its function is called."""
    _PLACES.update(places)


def provided(name: str) -> Callable[..., Any]:
    """A function of a higher room."""
    found: Callable[..., Any] = getattr(import_module(_PLACES[name]), name)
    return found
