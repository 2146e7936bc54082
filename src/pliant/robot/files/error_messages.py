"""Short error messages from pydantic's list of errors: place, given value, expected values, and a remedy."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias, get_args

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails, PydanticCustomError

from pliant.base.signatures import near

Place = tuple[int | str, ...]
Entries: TypeAlias = dict[str, Any]
"""A mapping of a file: numbers, texts, lists and mappings by their keys."""

MOST_FAULTS_SHOWN = 12
_TAGS = ("<load>", "<auto>", "<one>", "<many>")


def fault(expected: str, remedy: str = "") -> PydanticCustomError:
    """Error for a validator of one field: what was expected, and what to do."""
    return PydanticCustomError("expected", "{expected}", {"expected": expected, "remedy": remedy})


def clash(text: str) -> PydanticCustomError:
    """Error for a validator of several fields at once, whose message is a whole sentence."""
    return PydanticCustomError("clash", "{text}", {"text": text})


def suggestion(given: str, known: Iterable[str]) -> str:
    """Return ", did you mean `length`?" or, when no name is near, the list of known names."""
    names = list(known)
    if meant := near(given, names):
        return f", did you mean `{meant}`?"
    shown = ", ".join(names[:20]) + (", ..." if len(names) > 20 else "")
    return f"; known: {shown}" if names else ""


def place_text(place: Place) -> str:
    """Write a place such as `("links", 1, "beam")` as `links[1].beam`."""
    text = ""
    for part in place:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return text


def short(value: object, width: int = 60) -> str:
    """Text of a value that the user gave, in at most `width` characters."""
    if isinstance(value, float) and not math.isfinite(value):
        return {math.inf: "infinity", -math.inf: "-infinity"}.get(value, "NaN")
    if isinstance(value, Mapping):
        return "a mapping"
    if value is None:
        return "nothing"
    try:
        text = repr(value[:width] if isinstance(value, str | bytes | list | tuple) else value)
    except ValueError:  # an integer with more digits than Python prints
        text = "a huge number"
    return text if len(text) <= width else text[: width - 3] + "..."


def describe(
    error: ValidationError,
    model: type[BaseModel],
    data: object = None,
    source: str = "",
    lines: Mapping[Place, int] | None = None,
) -> str:
    """The text of a `ModelError`: one line for one fault, a list for several.

    Parameters
    ----------
    error : ValidationError
        Faults that pydantic found.
    model : type
        The class that was being made; tells which keys are known.
    data : object
        Data that it was made from; they give the names of links.
    source : str
        File name, or the name of the class.
    lines : mapping
        Line in the file of each place, where there is a file.
    """
    items = _without_echoes(error.errors(include_url=False), model)
    shown = [_sentence(item, model, data, lines or {}) for item in items[:MOST_FAULTS_SHOWN]]
    return listed(shown, source, len(items))


def listed(texts: list[str], source: str, count: int | None = None) -> str:
    """Faults of a file in one text, the first of `count`: one line for one fault, a list for several."""
    head, count = f"{source}: " if source else "", len(texts) if count is None else count
    if count == 1:
        return head + texts[0]
    shown = "".join(f"\n  - {text}" for text in texts[:MOST_FAULTS_SHOWN])
    rest = f"\n  ... and {count - MOST_FAULTS_SHOWN} more" if count > MOST_FAULTS_SHOWN else ""
    return f"{head}{count} faults{shown}{rest}"


def _without_echoes(items: list[ErrorDetails], model: type[BaseModel]) -> list[ErrorDetails]:
    """Report a misspelled key as one fault, not two: drop the fault that its right spelling is missing."""
    missing = {tuple(item["loc"]) for item in items if item["type"] == "missing"}
    names: dict[Place, list[str]] = {}
    for place in missing:
        names.setdefault(place[:-1], []).append(str(place[-1]))
    meant: set[Place] = set()
    for item in items:
        parent = tuple(item["loc"][:-1])
        if (
            item["type"] == "extra_forbidden"
            and parent in names
            and not meant.issuperset((*parent, name) for name in names[parent])
        ):
            fields = _class_at(model, _without_tags(parent)).model_fields
            meant.add((*parent, near(str(item["loc"][-1]), [*fields]) or ""))
    return [item for item in items if item["type"] != "missing" or tuple(item["loc"]) not in meant]


def _sentence(item: ErrorDetails, model: type[BaseModel], data: object, lines: Mapping[Place, int]) -> str:
    kind = item["type"]
    place = _without_tags(tuple(item["loc"]))
    if kind == "extra_forbidden":
        key, parent = str(place[-1]), place[:-1]
        known = _class_at(model, parent).model_fields
        return f"unknown key `{short_key(key)}`{_inside(parent, place, data, lines)}{suggestion(key, known)}"
    if kind == "missing":
        return f"missing key `{place[-1]}`{_inside(place[:-1], place[:-1], data, lines)}"
    where = place_text(place) + _aside(place, data, lines)
    context = item.get("ctx", {})
    if kind == "clash":
        return f"{where}: {context['text']}" if place else str(context["text"])
    expected, remedy = context.get("expected"), context.get("remedy", "")
    if kind != "expected":
        expected, remedy = _plain_expectation(item), ""
    return f"{where}: got {short(item['input'])}, expected {expected}" + (f"; {remedy}" if remedy else "")


def _plain_expectation(item: ErrorDetails) -> str:
    """Pydantic's own message, in our words where it speaks of Python types."""
    kind, context = item["type"], item.get("ctx", {})
    if kind in ("model_type", "model_attributes_type", "dict_type"):
        return "a mapping of keys to values"
    if kind == "literal_error":
        near = suggestion(str(item["input"]), re.findall(r"'([^']*)'", str(context["expected"])))
        return str(context["expected"]) + (near if near.endswith("?") else "")
    if kind in ("tuple_type", "list_type"):
        return "a list"
    if kind.startswith("bool"):
        return "true or false"
    if kind == "string_type":
        return "text"
    message = item["msg"]
    return message.removeprefix("Input should be ").removeprefix("Value error, ")


def short_key(key: str, width: int = 40) -> str:
    """A key as it may be shown in one line."""
    text = "".join(character if character.isprintable() else "?" for character in key)
    return text if len(text) <= width else text[: width - 3] + "..."


def _inside(parent: Place, place: Place, data: object, lines: Mapping[Place, int]) -> str:
    where = f" in {place_text(parent)}" if parent else ""
    return where + _aside(place, data, lines)


def _aside(place: Place, data: object, lines: Mapping[Place, int]) -> str:
    """Name the link and the line of a place, such as ` (link `wrist`, line 14)`."""
    notes = []
    if len(place) >= 2 and place[0] == "links" and isinstance(place[1], int):
        name = _link_name(data, place[1])
        notes += [f"link `{short_key(name)}`"] if name else []
    line = next((lines[place[:n]] for n in range(len(place), 0, -1) if place[:n] in lines), None)
    notes += [f"line {line}"] if line is not None else []
    return f" ({', '.join(notes)})" if notes else ""


def _link_name(data: Any, index: int) -> str:
    try:
        link = data["links"][index]
        name = link["name"] if isinstance(link, Mapping) else link.name
    except (KeyError, IndexError, TypeError, AttributeError):
        return ""
    return name if isinstance(name, str) else ""


def _without_tags(place: Place) -> Place:
    """Drop the tags that pydantic puts into a place to name the member of a union that it tried (ours: `<one>`)."""
    return tuple(part for part in place if not (isinstance(part, str) and part[:1] == "<" and part in _TAGS))


def _class_at(model: type[BaseModel], place: Place) -> type[BaseModel]:
    """The class whose keys were being read at `place`."""
    for part in place:
        if isinstance(part, str) and part in model.model_fields:
            model = _first_model(model.model_fields[part].annotation) or model
    return model


def _first_model(annotation: object) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next((found for part in get_args(annotation) if (found := _first_model(part))), None)
