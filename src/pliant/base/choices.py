"""Choices by name: one module each in a folder, or one line each in a table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from types import ModuleType
from typing import Any


def implementation(package: str, name: str) -> ModuleType:
    """Module of a choice: `maxwell-slip` is the file maxwell_slip.py of the package."""
    return import_module(f"{package}.{name.replace('-', '_')}")


class Named(Mapping[str, Any]):
    """Classes by name, imported on first use. `places` gives module and class below the package."""

    def __init__(self, package: str, places: Mapping[str, str]) -> None:
        self._package, self._places = package, places

    def __getitem__(self, name: str) -> Any:
        module, _, thing = self._places[name].rpartition(".")
        return getattr(import_module(f"{self._package}.{module}"), thing)

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)
