"""Lets the API pages show constructors as Python makes them: their keys, not `**data` of the class they derive from."""

from __future__ import annotations

import inspect
from typing import Any

import griffe

from pliant import identification, scenario, sweeps  # noqa: F401 - their descriptions are known then
from pliant.robot.parts.fields import Description


def descriptions(base: type[Description] = Description) -> dict[str, type[Description]]:
    """All that have been imported, by path."""
    found = {f"{one.__module__}.{one.__qualname__}": one for one in base.__subclasses__()}
    return {path: kind for one in found.values() for path, kind in descriptions(one).items()} | found


class Fields(griffe.Extension):
    """Of a description: the docstring and the signature that it has at run time; fields are no attributes besides."""

    def on_class_members(self, *, cls: griffe.Class, **_: Any) -> None:
        """When a class has been read from its source."""
        made = descriptions().get(cls.path)
        if made is None or cls.docstring is None:
            return
        for name in made.model_fields:
            cls.members.pop(name, None)
        cls.docstring.value = inspect.cleandoc(made.__doc__ or "")
        taken = [
            griffe.Parameter(
                name,
                kind=griffe.ParameterKind.keyword_only,
                default=None if entry.default is inspect.Parameter.empty else repr(entry.default),
            )
            for name, entry in inspect.signature(made).parameters.items()
        ]
        own = griffe.Parameter("self", kind=griffe.ParameterKind.positional_or_keyword)
        cls.set_member("__init__", griffe.Function("__init__", parameters=griffe.Parameters(own, *taken)))
