"""Functions of higher layers that classes of lower ones offer as methods: pictures, pages, exports."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

_PLACES: dict[str, str] = {}


def provide(places: Mapping[str, str]) -> None:
    """Register functions as `{"name": "module"}`. A module is imported when its function is called."""
    _PLACES.update(places)


def provided(name: str) -> Callable[..., Any]:
    """Return a registered function of a higher room."""
    found: Callable[..., Any] = getattr(import_module(_PLACES[name]), name)
    return found
