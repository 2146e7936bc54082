"""Choices by name: a module each in the folder of its kind, or a line each in a table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any


def implementation(package: str, name: str) -> Any:
    """Module of a choice: `maxwell-slip` of the package is its file maxwell_slip.py."""
    return import_module(f"{package}.{name.replace('-', '_')}")


class Named(Mapping[str, Any]):
    """Classes by name, imported when they are asked for; `places` has module and class below the package."""

    def __init__(self, package: str, places: Mapping[str, str]) -> None:
        self._package, self._places = package, places

    def __getitem__(self, name: str) -> Any:
        module, _, thing = self._places[name].rpartition(".")
        return getattr(import_module(f"{self._package}.{module}"), thing)

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)
