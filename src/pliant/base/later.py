"""Names of a package that are imported on first use, which keeps the start of pliant fast."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import spec_from_loader
from types import ModuleType
from typing import Any


def later(package: str, where: Mapping[str, str]) -> Callable[[str], Any]:
    """Return a `__getattr__` for a package. `where` gives the module of each name, inside the package or from
    `pliant.` on."""

    def find(name: str) -> Any:
        if name not in where:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        place = where[name]
        value = getattr(import_module(place if place.startswith("pliant.") else f"{package}.{place}"), name)
        setattr(sys.modules[package], name, value)
        return value

    return find


class LaterModule:
    """Module that is imported when one of its attributes is first used."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        return getattr(import_module(self._name), name)


def alias_modules(places: Mapping[str, str]) -> None:
    """Make modules, and all modules below them, importable under other names too."""
    sys.meta_path.insert(0, _Aliases(places))


class _Alias(Loader):
    """Loader of a module under another name; the module is loaded once."""

    def __init__(self, place: str) -> None:
        self.place = place

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        module = import_module(self.place)
        self.spec = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        module.__spec__ = self.spec


class _Aliases(MetaPathFinder):
    """Finder of modules under their other names."""

    def __init__(self, places: Mapping[str, str]) -> None:
        self.places = places

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        for name, place in self.places.items():
            if fullname == name or fullname.startswith(f"{name}."):
                return spec_from_loader(fullname, _Alias(place + fullname.removeprefix(name)))
        return None
