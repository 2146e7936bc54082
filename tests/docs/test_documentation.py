"""Every public callable says what it takes and gives, and shows it: numpydoc sections that name what the signature has,
and examples that run.

Public are the names in `__all__` of `pliant` and of the rooms that docs/api has a page of, and the public methods and
properties of their classes. The rules:

- All have a summary; of a property that is enough.
- Functions and methods have `Parameters` (all arguments, and no others), `Returns` (unless they return nothing) and
  `Examples`. A method that overrides a public one has its words, and needs its summary only.
- Classes have `Parameters`, or `Attributes` where the library makes them, and between them name every argument of the
  constructor, those of a base class by the base class. A field of a description may be described by its `Field`.
- An example of a class counts for the methods that it calls. What the user is to derive from needs none, nor does a
  class with `Attributes`, which is shown where it is made, nor do the class methods by which the library makes it.
"""

from __future__ import annotations

import doctest
import importlib
import inspect
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from pydantic import BaseModel

import pliant
from sources import ROOT

PAGES = sorted(path.stem for path in (ROOT / "docs" / "api").glob("*.md"))
ROOMS = (
    "pliant",
    "pliant.robot",
    *("pliant_studies.measured" if name == "rigs" else f"pliant.{name}" for name in PAGES),
)
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
OWN = ("self", "cls")


def sections(text: str) -> dict[str, str]:
    """The sections of a docstring by title; what stands before the first is under ""."""
    parts = re.split(r"^(\w[\w ]*)\n-{3,}\n", inspect.cleandoc(text), flags=re.MULTILINE)
    return {"": parts[0].strip(), **dict(zip(parts[1::2], parts[2::2]))}


def named(section: str) -> list[str]:
    """Names at the head of the entries of a section: `a, b : float`."""
    heads = re.findall(r"^(\S[^:\n]*?)(?: :.*)?$", section, flags=re.MULTILINE)
    return [name.strip().lstrip("*") for head in heads for name in head.split(",")]


@dataclass(frozen=True)
class Public:
    """A public callable: its key, what kind it is, the function or class, and the class that it belongs to."""

    key: str
    kind: str
    thing: Any
    owner: type | None = None

    @property
    def parts(self) -> dict[str, str]:
        """Sections of its own docstring."""
        text = vars(self.thing).get("__doc__") if isinstance(self.thing, type) else self.thing.__doc__
        return sections(text or "")

    def faults(self) -> list[str]:
        """What is missing, in words."""
        found = [] if self.parts[""] and not self.parts[""].startswith(f"{self.key}(") else ["summary"]
        if self.kind == "property" or (self.kind == "method" and _overrides(self.owner, self.key.rsplit(".")[-1])):
            return found
        return found + (self._class_faults() if self.kind == "class" else self._call_faults())

    def _call_faults(self) -> list[str]:
        signature = inspect.signature(self.thing)
        wanted, given = [n for n in signature.parameters if n not in OWN], named(self.parts.get("Parameters", ""))
        found = [f"Parameters: {name}" for name in wanted if name not in given]
        found += [f"Parameters: no argument is called {name}" for name in given if name not in wanted]
        if signature.return_annotation not in (None, "None", signature.empty) and "Returns" not in self.parts:
            found.append("Returns")
        if ">>>" not in self.parts.get("Examples", "") and not self._is_shown():
            found.append("Examples")
        return found

    def _is_shown(self) -> bool:
        if self.owner is None:
            return False
        if _abstract(self.thing) or getattr(self.owner, "_is_protocol", False):
            return True
        words = sections(vars(self.owner).get("__doc__") or "")
        if "Attributes" in words and isinstance(vars(self.owner)[self.thing.__name__], classmethod):
            return True
        call = f".{self.key.rsplit('.')[-1]}("
        return any(call in sections(vars(c).get("__doc__") or "").get("Examples", "") for c in self.owner.__mro__)

    def _class_faults(self) -> list[str]:
        given = {name for c in self.thing.__mro__ for name in _described(c)}
        protocol = getattr(self.thing, "_is_protocol", False)
        wanted = [] if protocol else [n for n in inspect.signature(self.thing).parameters if n not in OWN]
        found = [] if issubclass(self.thing, BaseException) else [f"Parameters: {n}" for n in wanted if n not in given]
        known = {*wanted, *given, *dir(self.thing), *inspect.get_annotations(self.thing)}
        found += [f"Parameters: nothing is called {name}" for name in _described(self.thing) if name not in known]
        shown = ">>>" in self.parts.get("Examples", "") or "Attributes" in self.parts
        if not shown and not protocol and not any(_abstract(member) for member in vars(self.thing).values()):
            found.append("Examples")
        return found


def _described(thing: type) -> list[str]:
    """Names of a class that its own docstring, or the fields of a description, say something of."""
    parts = sections(vars(thing).get("__doc__") or "") if thing.__module__.startswith("pliant") else {}
    fields = thing.model_fields.items() if issubclass(thing, BaseModel) else ()
    by_field = [alias for name, field in fields if field.description for alias in (name, field.alias) if alias]
    return named(parts.get("Parameters", "")) + named(parts.get("Attributes", "")) + by_field


def _function(member: Any) -> Any:
    return getattr(member, "fget", None) or getattr(member, "func", None) or getattr(member, "__func__", member)


def _abstract(member: Any) -> bool:
    function = inspect.unwrap(_function(member)) if callable(_function(member)) else None
    return inspect.isfunction(function) and "NotImplementedError" in function.__code__.co_names


def _overrides(owner: type | None, name: str) -> bool:
    """Whether a class further up has words about the method."""
    return any(getattr(_function(vars(base).get(name)), "__doc__", None) for base in (owner or object).__mro__[1:])


def public(rooms: Iterator[ModuleType]) -> dict[str, Public]:
    """All public callables, each once."""
    found: dict[str, Public] = {}
    for room in rooms:
        for name in room.__all__:
            thing = getattr(room, name)
            if callable(thing) and not inspect.ismodule(thing):
                key = f"{thing.__module__}.{thing.__qualname__}"
                found.setdefault(key, Public(key, "class" if inspect.isclass(thing) else "function", thing))
                if inspect.isclass(thing):
                    found |= {k: p for k, p in _members(thing) if k not in found}
    return found


def _members(thing: type) -> Iterator[tuple[str, Public]]:
    for owner in thing.__mro__:
        for name, member in vars(owner).items():
            function = _function(member)
            ours = inspect.isfunction(function) and function.__module__.startswith("pliant")
            if ours and not name.startswith(("_", "model_")) and function.__name__ != "<lambda>":
                kind = "property" if hasattr(member, "fget") or hasattr(member, "func") else "method"
                key = f"{function.__module__}.{function.__qualname__}"
                yield key, Public(key, kind, function, owner)


PUBLIC = public(importlib.import_module(name) for name in ROOMS)


def test_every_public_callable_is_documented() -> None:
    faults = {key: found for key, entry in PUBLIC.items() if (found := entry.faults())}
    assert len(PUBLIC) > 300, "the list of public callables has shrunk: are all rooms read?"
    assert not faults, f"{len(faults)} of {len(PUBLIC)}:\n" + "\n".join(
        f"  {k}: {'; '.join(v)}" for k, v in faults.items()
    )


def examples() -> dict[str, list[Public]]:
    """Those with examples, by room."""
    found: dict[str, list[Public]] = {}
    for entry in PUBLIC.values():
        if ">>>" in entry.parts.get("Examples", ""):
            found.setdefault(entry.key.split(".")[1], []).append(entry)
    return found


@pytest.fixture(scope="module")
def shared() -> Iterator[None]:
    """Examples that ask for the same model of the same arm get the same one, which is traced once."""
    make, made = pliant.Robot.model, {}

    def model(robot: pliant.Robot, *given: Any, **named: Any) -> pliant.Model:
        key = (robot.model_dump_json(), repr(given), repr(named))
        if key not in made:
            made[key] = make(robot, *given, **named)
        return made[key]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pliant.Robot, "model", model)
        yield


@pytest.mark.slow_cases("control", "export", "identification", "model")
@pytest.mark.parametrize("room", sorted(examples()))
def test_examples_run(room: str, shared: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As a reader types them, after `import numpy as np` and `import pliant`, each in an empty folder."""
    for k, entry in enumerate(examples()[room]):
        folder = tmp_path / str(k)
        folder.mkdir()
        monkeypatch.chdir(folder)
        names = {"np": np, "pliant": pliant}
        test = doctest.DocTestParser().get_doctest(entry.parts["Examples"], names, entry.key, None, 0)
        output: list[str] = []
        failed, _ = doctest.DocTestRunner(optionflags=FLAGS, verbose=False).run(test, out=output.append)
        assert not failed, "".join(output)


# ------------------------------------------------------------------------------------------- the judge judges


def entry(thing: Any, kind: str, owner: type | None = None) -> Public:
    return Public(f"pliant.made_up.{thing.__qualname__}", kind, thing, owner)


SOUND = """Add.

Parameters
----------
a, b : float
    Numbers.

Returns
-------
float

Examples
--------
>>> 1 + 1
2
"""


def _with_words(text: str) -> Callable[..., float]:
    def add(a: float, b: float) -> float:
        return a + b

    add.__doc__ = text
    return add


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        ("", "", None),
        ("Add.\n\n", "", "summary"),
        ("a, b :", "a :", "Parameters: b"),
        ("a, b :", "a, b, c :", "Parameters: no argument is called c"),
        ("Returns\n-------\nfloat\n", "", "Returns"),
        (">>> 1 + 1", "1 + 1", "Examples"),
    ],
)
def test_what_is_missing_is_found(old: str, new: str, fault: str | None) -> None:
    assert entry(_with_words(SOUND.replace(old, new)), "function").faults() == ([fault] if fault else [])


def test_classes_and_their_methods() -> None:
    class Base:
        """Something.

        Parameters
        ----------
        x : float

        Examples
        --------
        >>> Base(1.0).twice()
        2.0
        """

        def __init__(self, x: float) -> None:
            self.x = x

        def twice(self) -> float:
            """2 x.

            Returns
            -------
            float
            """
            return 2 * self.x

        def thrice(self) -> float:
            """3 x.

            Returns
            -------
            float
            """
            return 3 * self.x

    class Derived(Base):
        """Something else.

        Examples
        --------
        >>> 1
        1
        """

        def __init__(self, x: float, y: float) -> None:
            super().__init__(x)

        def twice(self) -> float:
            """Overrides."""
            return 0.0

    for thing in (Base, Derived):
        thing.__module__ = "pliant.made_up"
    assert entry(Base, "class").faults() == []
    assert entry(Base.twice, "method", Base).faults() == []
    assert entry(Base.thrice, "method", Base).faults() == ["Examples"]
    assert entry(Derived, "class").faults() == ["Parameters: y"]
    assert entry(Derived.twice, "method", Derived).faults() == []
