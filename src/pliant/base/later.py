"""Names that are imported on first use, which keeps the start of pliant fast.

They are names of a package (`later`), a whole module (`LaterModule`, `alias_modules`), choices by name
(`implementation`, `Named`), and functions of higher rooms that classes of lower ones offer as methods, such as
pictures, pages and exports (`provided`).
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import spec_from_loader
from types import ModuleType
from typing import Any

_PROVIDED: dict[str, str] = {}
"""Modules of functions of higher rooms, by the names of the functions."""


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


def provide(places: Mapping[str, str]) -> None:
    """Register functions as `{"name": "module"}`. A module is imported when its function is called."""
    _PROVIDED.update(places)


def provided(name: str) -> Callable[..., Any]:
    """Return a registered function of a higher room."""
    found: Callable[..., Any] = getattr(import_module(_PROVIDED[name]), name)
    return found


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
