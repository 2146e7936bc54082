"""Keys of descriptions as readers need them: unit, range, default and example, for tables, `help` and editors.

The description of a field begins with its unit where it has one: `m, along y`, or `N m (N), of the motor` where a joint
that slides has another.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

if TYPE_CHECKING:
    from pydantic.json_schema import JsonSchemaValue

UNIT = re.compile(
    r"(?:1|m|s|N|kg|rad|Pa|Hz|A|V|H|ohm)(?:\^[23])?"  # first symbol
    r"(?:[ /](?:m|s|N|kg|rad|Pa|Hz|A|V)(?:\^[23])?)*"  # what it is multiplied with and divided by
    r"(?: \((?:[mNskgAV/ ]|\^[23])+\)| or (?:m/s|m|N|fractions))?"  # of a joint that slides
    r"(?=, |$)"
)
NUMBERS = {"number": "number", "integer": "whole number"}
PLAIN = {bool: "true or false", str: "text", float: "number", int: "whole number", Any: "any"}


@dataclass(frozen=True)
class Key:
    """One key of a description.

    Attributes
    ----------
    name : str
        As a file, and the constructor, has it.
    unit : str
        Unit of its numbers; empty where there is none.
    text : str
        Meaning of the key.
    admits : str
        Kind and range of its values.
    default : object
        `...` where it has to be given.
    example : object
        As a file has it.
    """

    name: str
    unit: str
    text: str
    admits: str
    default: object
    example: object


@cache
def keys(part: type[BaseModel]) -> tuple[Key, ...]:
    """The keys of a description, in order."""
    return tuple(_key(name, field) for name, field in part.model_fields.items() if not field.exclude)


def _key(name: str, field: FieldInfo) -> Key:
    said = field.description or ""
    unit = match[0] if (match := UNIT.match(said)) else ""
    default = ... if field.is_required() else field.get_default(call_default_factory=True)
    example = field.examples[0] if field.examples else None
    return Key(field.alias or name, unit, said[len(unit) :].lstrip(", "), admits(field), default, example)


def parts(document: type[BaseModel]) -> tuple[type[BaseModel], ...]:
    """A description and all that it holds, each once, in the order in which a reader meets them."""
    found = [document]
    for part in found:
        for field in part.model_fields.values():
            found += [one for one in dict.fromkeys(_held(field.annotation)) if one not in found]
    return tuple(found)


def _held(annotation: object) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for inner in get_args(annotation):
        yield from _held(inner)


def admits(field: FieldInfo) -> str:
    """Values that a field takes, in the words of files: `number > 0`, `text`, `[Link, ...]`."""
    low = next((entry.ge for entry in field.metadata if getattr(entry, "ge", None) is not None), None)
    words = _annotated(field.annotation, field.metadata)
    return words if low is None else f"{words} ≥ {low}"


def _annotated(annotation: Any, metadata: Iterable[object] = ()) -> str:
    said = [entry.json_schema for entry in metadata if hasattr(entry, "json_schema")]  # `WithJsonSchema`, and our own
    if said:
        return _schema_words(said[-1])
    origin, inner = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return _annotated(inner[0], inner[1:])
    if origin in (Union, UnionType):
        return _either(_annotated(one) for one in inner if one is not NoneType)
    if origin is Literal:
        return ", ".join(f"`{value}`" for value in inner)
    if origin is tuple:
        return f"[{', '.join('...' if one is ... else _annotated(one) for one in inner)}]"
    if origin is dict:
        return f"{{name: {_annotated(inner[1])}}}"
    return PLAIN.get(annotation) or f"{annotation.__name__}"


def _schema_words(schema: JsonSchemaValue) -> str:
    """Values that a piece of JSON schema admits, in words; its `title` if it has one."""
    if "title" in schema:
        return str(schema["title"])
    if "anyOf" in schema:
        return _either(_schema_words(one) for one in schema["anyOf"])
    if values := schema.get("enum", [schema["const"]] if "const" in schema else []):
        return ", ".join(f"`{value}`" for value in values)
    kind = schema.get("type", "")
    if kind == "array":
        return _listed(_schema_words(schema.get("items", {"type": "number"})), schema)
    if "properties" in schema:
        return f"{{{', '.join(f'{name}: {_schema_words(one)}' for name, one in schema['properties'].items())}}}"
    if kind == "object":
        return f"{{name: {_schema_words(schema.get('additionalProperties', {}))}}}"
    return NUMBERS[kind] + _range(schema) if kind in NUMBERS else "true or false" if kind == "boolean" else "text"


def _listed(item: str, schema: JsonSchemaValue) -> str:
    least, most = schema.get("minItems"), schema.get("maxItems")
    return f"[{', '.join([item] * most)}]" if least == most and most is not None else f"[{item}, ...]"


def _range(schema: JsonSchemaValue) -> str:
    low, high = schema.get("minimum"), schema.get("maximum")
    if low is not None and high is not None:
        return f" from {low:g} to {high:g}"
    if low is not None:
        return f" ≥ {low:g}"
    return f" > {schema['exclusiveMinimum']:g}" if "exclusiveMinimum" in schema else ""


def _either(words: Iterator[str]) -> str:
    return " or ".join(dict.fromkeys(words))


def written(value: object) -> str:
    """Write a default or an example as a file has it."""
    if value is ... or value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return f"{value:g}" if abs(value) < 1e6 else f"{value:.3g}".replace("e+0", "e").replace("e+", "e")
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(written, value))}]"
    if isinstance(value, BaseModel):
        value = value.model_dump(exclude_defaults=True)
    if isinstance(value, dict):
        return f"{{{', '.join(f'{key}: {written(entry)}' for key, entry in value.items())}}}"
    return str(value)


def signature(part: type[BaseModel]) -> inspect.Signature:
    """Names and defaults of a constructor; their kinds stand in its docstring, in words."""
    own = inspect.signature(part)
    taken = [own.parameters[name] for name, field in part.model_fields.items() if not field.exclude]
    return inspect.Signature([entry.replace(annotation=inspect.Parameter.empty) for entry in taken])


def prose(part: type[BaseModel]) -> str:
    """Text of the docstring of a description before its sections."""
    return inspect.cleandoc(part.__doc__ or "").partition("\nParameters\n")[0].partition("\nExamples\n")[0].strip()


def with_parameters(part: type[BaseModel]) -> str:
    """The docstring of a description, with its keys before the examples."""
    examples = inspect.cleandoc(part.__doc__ or "").removeprefix(prose(part))
    lines = [f"{key.name} : {_kind(key)}\n    {_sentence(key)}" for key in keys(part)]
    return f"{prose(part)}\n\nParameters\n----------\n" + "\n".join(lines) + examples


def _kind(key: Key) -> str:
    if key.default is ...:
        return key.admits
    return f"{key.admits}, {f'default {written(key.default)}' if written(key.default) else 'optional'}"


def _sentence(key: Key) -> str:
    return ", ".join(part for part in (key.unit, key.text) if part) + "."


def documented(function: Callable[..., object]) -> dict[str, str]:
    """Kind and text of each parameter in the docstring of a function, or of a class and those it derives from."""
    said: dict[str, str] = {}
    for one in reversed(inspect.getmro(function) if isinstance(function, type) else (function,)):
        said |= _told(one.__doc__ or "")
    return said


def _told(docstring: str) -> dict[str, str]:
    _, _, below = inspect.cleandoc(docstring).partition("\nParameters\n----------\n")
    section = re.split(r"\n\n\w[\w ]*\n-{3,}\n", below)[0]
    entries = re.findall(r"^(\S[^:\n]*?) : (.*)(?:\n|$)((?:    .*\n?|\n)*)", section, flags=re.MULTILINE)
    return {
        name.strip(): f"{kind}: {' '.join(text.split())}".rstrip(": ")
        for names, kind, text in entries
        for name in names.split(",")
    }
