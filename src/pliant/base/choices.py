"""Choices by name: each is a module of its own in the folder of its kind."""

from __future__ import annotations

from importlib import import_module
from typing import Any


def implementation(package: str, name: str) -> Any:
    """Module of a choice: `maxwell-slip` of the package is its file maxwell_slip.py."""
    return import_module(f"{package}.{name.replace('-', '_')}")
