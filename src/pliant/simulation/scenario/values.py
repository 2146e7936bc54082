"""Values by name in a scenario: coordinates of a state, torques of joints, constant or as samples."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Annotated, Any, Self

import numpy as np
from pydantic import Field, PlainSerializer, PlainValidator, WithJsonSchema, model_validator
from pydantic_core import PydanticCustomError

from pliant.arrays import Array
from pliant.robot.files.error_messages import clash, fault, suggestion
from pliant.robot.parts.fields import ANGLE, Description, angle, number, sequence
from pliant.simulation.scenario.parts import Trouble, raise_together

Named = dict[str, float]
Listed = tuple[float, ...]


def read_values(value: object, read: Callable[[object], object] = angle) -> Named | Listed:
    """Angles or lengths: a mapping from names, or a list."""
    entries: Sequence[tuple[int | str, object]]
    if isinstance(value, Mapping):
        entries = list(value.items())
    else:
        entries = list(enumerate(sequence(value, "a mapping of names to values, or a list of values")))
    made: dict[Any, Any] = {}
    troubles: list[Trouble] = []
    for key, entry in entries:
        try:
            made[key] = read(entry)
        except PydanticCustomError as error:
            troubles.append(((key,), error, entry))
    raise_together(troubles)
    return made if isinstance(value, Mapping) else tuple(made.values())


def _numbers(value: object) -> tuple[float, ...]:
    return tuple(number(entry) for entry in sequence(value, "a list of numbers"))


def _columns(value: object) -> dict[str, tuple[float, ...]]:
    if not isinstance(value, Mapping):
        raise fault("a mapping from joints to lists of numbers, one for each time")
    return {str(name): _numbers(column) for name, column in value.items()}


_NUMBERS = {"type": "array", "items": {"type": "number"}}
_COLUMNS = {"type": "object", "additionalProperties": _NUMBERS}


class TorqueSamples(Description):
    """Torques at times, linear in between and constant beyond: `{times: [...], values: {upper: [...]}}`.

    Examples
    --------
    >>> samples = pliant.scenario.TorqueSamples(times=[0.0, 1.0], values={"upper": [0.0, 5.0]})
    >>> pliant.Scenario(robot="two-link", duration=0.1, torque=samples).torque.values["upper"]
    (0.0, 5.0)
    """

    times: Annotated[tuple[float, ...], PlainValidator(_numbers), WithJsonSchema(_NUMBERS)] = Field(
        description="s, rising", examples=[[0, 1, 2]]
    )
    values: Annotated[dict[str, tuple[float, ...]], PlainValidator(_columns), WithJsonSchema(_COLUMNS)] = Field(
        description="N m or N, a list for each joint, one number per time", examples=[{"upper": [0, 5, 0]}]
    )

    @model_validator(mode="after")
    def _check(self) -> Self:
        if len(self.times) < 2 or not (np.diff(self.times) > 0).all():
            raise clash("`times` must be two or more rising numbers")
        for name, column in self.values.items():
            if len(column) != len(self.times):
                raise clash(f"`values.{name}` has {len(column)} numbers for {len(self.times)} times")
        return self


def read_torque(value: object) -> Named | Listed | TorqueSamples:
    """Constants by joint or as a list, or samples."""
    if isinstance(value, TorqueSamples):
        return value
    if isinstance(value, Mapping) and ({"times", "values"} & set(value)):
        return TorqueSamples.model_validate(value)
    return read_values(value, number)


def as_given(torque: Named | Listed | TorqueSamples | None) -> Named | Listed | tuple[Array, dict[str, Array]] | None:
    """A torque in the form that `simulate` takes."""
    if isinstance(torque, TorqueSamples):
        return np.array(torque.times), {name: np.array(column) for name, column in torque.values.items()}
    return torque


def unknown_names(
    given: Mapping[str, object] | Sequence[object] | None, known: Sequence[str], what: str, counts: Sequence[int]
) -> Iterator[Trouble]:
    """Faults of a mapping whose keys are not `known`, or of a list whose length is none of `counts`."""
    if isinstance(given, Mapping):
        for name in given:
            if name not in known:
                yield (name,), clash(f"the arm has no {what} of this name{suggestion(str(name), known)}"), given[name]
    elif given is not None and len(given) not in counts:
        wanted = " or ".join(str(count) for count in dict.fromkeys(counts))
        yield (), fault(f"{wanted} numbers ({', '.join(known[: max(counts)])}), not {len(given)}"), list(given)


def _serialized(value: TorqueSamples | Mapping[str, object] | Iterable[object]) -> object:
    if isinstance(value, TorqueSamples):
        return {"times": list(value.times), "values": {name: list(column) for name, column in value.values.items()}}
    return dict(value) if isinstance(value, Mapping) else list(value)


def _of_a_joint(value: object) -> object:
    """A coordinate, or the pose or velocity of a joint with a quaternion: `{position: [...], rpy: [...]}`."""
    if isinstance(value, Mapping):
        return {str(key): _deep(entry) for key, entry in value.items()}
    return _deep(value) if isinstance(value, list | tuple) else angle(value)


def _deep(value: object) -> object:
    return [_deep(entry) for entry in value] if isinstance(value, list | tuple) else angle(value)


_VALUES = {"anyOf": [{"type": "object", "additionalProperties": ANGLE}, {"type": "array", "items": ANGLE}]}
Values = Annotated[
    Named | Listed,
    PlainValidator(lambda value: read_values(value)),
    PlainSerializer(_serialized),
    WithJsonSchema(_VALUES),
]
_POSE = {"anyOf": [ANGLE, {"type": "object", "additionalProperties": {"type": "array"}}, {"type": "array"}]}
_STATE = {"anyOf": [{"type": "object", "additionalProperties": _POSE}, {"type": "array", "items": ANGLE}]}
StateValues = Annotated[
    dict[str, Any] | Listed,
    PlainValidator(lambda value: read_values(value, _of_a_joint if isinstance(value, Mapping) else angle)),
    PlainSerializer(_serialized),
    WithJsonSchema(_STATE),
]
_TORQUES = {"type": "object", "additionalProperties": {"type": "number"}}
_SAMPLED = {**TorqueSamples.model_json_schema(), "title": "TorqueSamples"}
Torque = Annotated[
    Named | Listed | TorqueSamples,
    PlainValidator(read_torque),
    PlainSerializer(_serialized),
    WithJsonSchema({"anyOf": [_TORQUES, _NUMBERS, _SAMPLED]}),
]
