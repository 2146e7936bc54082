"""Base classes and numbers of all descriptions: frozen, strict about keys, with `ModelError` for every fault."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from numbers import Real
from typing import TYPE_CHECKING, Annotated, Any, NoReturn, Self

import numpy as np
from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    GetJsonSchemaHandler,
    ValidationError,
    WithJsonSchema,
    model_validator,
)

from pliant.errors import ModelError
from pliant.robot.files.error_messages import clash, describe, fault, short
from pliant.robot.parts.angles import parse_angle
from pliant.robot.parts.keys import prose, signature, with_parameters

if TYPE_CHECKING:
    from pydantic.json_schema import JsonSchemaValue
    from pydantic_core import CoreSchema

FORMAT = 1
"""Format number of robot, scenario and study files."""
LARGEST = 1e100
"""Largest number in a description: squares and products of such numbers can still be computed with."""
MOST_ENTRIES = 1_000_000
"""Most entries of an array in a description."""


PYDANTIC = frozenset(dir(BaseModel))
"""Members of pydantic, which no reader of a description asks for."""


if TYPE_CHECKING:
    from pydantic._internal._model_construction import ModelMetaclass
else:
    ModelMetaclass = type(BaseModel)


if TYPE_CHECKING:
    fact = property
else:

    class fact(property):
        """Property of a description that code of Pliant reads, and that `dir` and `help` leave out."""


class DescriptionType(ModelMetaclass):
    """Classes whose `dir`, `help` and completion show members of Pliant alone."""

    def __dir__(cls) -> list[str]:
        hidden = {name for base in cls.__mro__ for name, value in vars(base).items() if isinstance(value, fact)}
        return [name for name in super().__dir__() if name not in PYDANTIC | hidden and not name.startswith("__")]


class Description(BaseModel, metaclass=DescriptionType):
    """Base of all descriptions. Equal content means equal objects, equal hashes and equal files."""

    model_config = ConfigDict(frozen=True, extra="forbid", protected_namespaces=())

    if not TYPE_CHECKING:  # editors and type checkers make a constructor of the fields, which this would hide

        def __init__(self, /, **data: Any) -> None:
            try:
                super().__init__(**data)
            except ValidationError as error:
                raise ModelError(describe(error, type(self), data, source=type(self).__name__)) from None

        # Tells pydantic that this is no constructor of ours but its own: nested objects are then built without it, and
        # all faults of a file arrive in one list with their full places.
        __init__.__pydantic_base_init__ = True

    @classmethod
    def __pydantic_init_subclass__(cls, **options: Any) -> None:
        """Let `help` and `inspect.signature` show the fields."""
        super().__pydantic_init_subclass__(**options)
        cls.__signature__ = signature(cls)
        cls.__doc__ = with_parameters(cls)

    @classmethod
    def __get_pydantic_json_schema__(cls, core: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        """Let editors show the prose of the docstring as the description of a mapping."""
        made = handler(core)
        handler.resolve_ref_schema(made)["description"] = prose(cls)
        return made

    def __dir__(self) -> list[str]:
        return [*dir(type(self)), *type(self).model_fields]

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise ModelError(
            f"{type(self).__name__}.{name} cannot be set: descriptions are frozen; make a new one, "
            "or use robot.replace({path: value})"
        )

    @classmethod
    def from_dict(cls, data: object) -> Self:
        """Make one from plain mappings, lists and numbers, as they stand in a file.

        Parameters
        ----------
        data : mapping
            Plain mappings, lists, numbers and text, by the names of the fields.

        Returns
        -------
        Description
            Of the class on which it is called, checked: a `ModelError` has the place of each fault.

        Examples
        --------
        >>> pliant.robot.Friction.from_dict({"viscous": 0.1}).viscous
        0.1
        """
        try:
            return cls.model_validate(data)
        except ValidationError as error:
            raise ModelError(describe(error, cls, data, source=cls.__name__)) from None


class Document(Description):
    """A description that fills a file of its own: robots, scenarios, studies."""

    @model_validator(mode="before")
    @classmethod
    def _format(cls, data: object) -> object:
        """Every file carries `format: 1`; missing means 1."""
        if not isinstance(data, dict) or "format" not in data:
            return data
        data = dict(data)
        given = data.pop("format")
        if given != FORMAT or isinstance(given, bool):
            raise clash(f"`format` {short(given)} cannot be read: this version of pliant reads format {FORMAT}")
        return data


@dataclass(frozen=True)
class Alternatives:
    """Forms that may stand in a file in place of the thing itself, as pieces of JSON schema for editors."""

    others: tuple[JsonSchemaValue, ...]

    def __get_pydantic_json_schema__(self, core: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        return {"anyOf": [*self.others, handler(core)]}


def document_schema(document: type[Document]) -> JsonSchemaValue:
    """JSON schema of a file, for editors."""
    made = document.model_json_schema()
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema", **made}
    return {**head, "properties": {"format": {"const": FORMAT}, **made["properties"]}}


def number(value: object) -> float:
    """A finite float from any real number that is not a bool; -0.0 becomes 0.0, so that equal robots hash equally."""
    if isinstance(value, Real) and not isinstance(value, (bool, np.bool_)):
        try:
            result = float(value)
        except OverflowError:
            result = math.inf
        if abs(result) <= LARGEST:
            return result + 0.0
        raise fault("a finite number" if not math.isfinite(result) else f"a number of at most {LARGEST:g} in size")
    remedy = "write it without quotes" if isinstance(value, str) and _reads_as_number(value) else ""
    raise fault("a number", remedy)


def _reads_as_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def positive(value: object) -> float:
    """A finite number above zero."""
    result = number(value)
    if result <= 0.0:
        raise fault("a number above 0")
    return result


def non_negative(value: object) -> float:
    """A finite number, zero or above."""
    result = number(value)
    if result < 0.0:
        raise fault("a number of 0 or more")
    return result


def angle(value: object) -> float:
    """Radians from a number or from `pi/2`, `90 deg`."""
    if not isinstance(value, str):
        return number(value)
    try:
        return number(parse_angle(value))
    except (ValueError, OverflowError):
        raise fault("an angle such as 1.2, pi/2 or 90 deg") from None


def sequence(value: object, what: str) -> list[Any]:
    """A list from a list, tuple or NumPy array."""
    if isinstance(value, np.ndarray):
        if value.size > MOST_ENTRIES:
            raise fault(what)
        return list(value.tolist()) if value.ndim else [value.item()]
    if isinstance(value, (list, tuple)):
        return list(value)
    raise fault(what)


def _triple(value: object) -> list[Any]:
    items = sequence(value, "three numbers")
    if len(items) != 3:
        raise fault(f"three numbers, not {len(items)}")
    return items


_NUMBER = {"type": "number"}
ANGLE = {"title": "angle", "anyOf": [{"type": "number"}, {"type": "string", "examples": ["pi/2", "90 deg"]}]}

Number = Annotated[float, BeforeValidator(number), WithJsonSchema(_NUMBER)]
Positive = Annotated[float, BeforeValidator(positive), WithJsonSchema({"type": "number", "exclusiveMinimum": 0})]
NonNegative = Annotated[float, BeforeValidator(non_negative), WithJsonSchema({"type": "number", "minimum": 0})]
Angle = Annotated[float, BeforeValidator(angle), WithJsonSchema(ANGLE)]
Vector = Annotated[tuple[Number, Number, Number], BeforeValidator(_triple)]
Angles = Annotated[tuple[Angle, Angle, Angle], BeforeValidator(_triple)]


_NAME = r"[A-Za-z_][A-Za-z0-9_]{0,63}"


def _name(value: object) -> str:
    if isinstance(value, str) and re.fullmatch(_NAME, value):
        return value
    raise fault("a name of letters, digits and _, not starting with a digit, such as upper_arm")


LinkName = Annotated[str, BeforeValidator(_name), WithJsonSchema({"type": "string", "pattern": f"^{_NAME}$"})]
