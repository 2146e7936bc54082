"""Trajectories, controllers, loads by name: `{type: cycloidal, from: 0, to: 90 deg, duration: 2}`.

A part names an entry of a registry and gives its parameters. Its keys are the parameters in the signature of the entry.
Parts may hold parts: the reference of a controller is a trajectory, a shaped trajectory has a shaper. To offer more,
add to the tables of `pliant.control`: any class or function of keyword parameters will do.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import Field, PlainSerializer, PlainValidator, ValidationError
from pydantic_core import InitErrorDetails, PydanticCustomError

from pliant.control.estimation.observer import Observer
from pliant.control.registry import CONTROLLERS, SENSORS, TRAJECTORIES
from pliant.control.trajectories.input_shaping import SHAPERS
from pliant.errors import PliantError
from pliant.robot.files.error_messages import Place, clash, fault, suggestion
from pliant.robot.parts.fields import Description, angle
from pliant.robot.parts.keys import documented
from pliant.simulation.scenario.loads_and_base import BASES, LOADS

Maker = Callable[..., object]
Kind = Literal["trajectory", "controller", "shaper", "sensor", "observer", "load", "base"]
Trouble = tuple[Place, PydanticCustomError, object]

REGISTRY: dict[Kind, Mapping[str, Maker]] = {
    "trajectory": TRAJECTORIES,
    "controller": CONTROLLERS,
    "shaper": SHAPERS,
    "sensor": SENSORS,
    "observer": {"kalman": Observer},
    "load": LOADS,
    "base": BASES,
}
"""Names that scenario files may use. The first four are the tables of `pliant.control` themselves."""

_KEYS = {"start": "from", "goal": "to", "begin": "start"}  # words of files for parameters of trajectories


class Part(Description):
    """A part as a file gives it: its kind, its name in the registry and its parameters.

    Examples
    --------
    >>> scenario = pliant.Scenario(
    ...     robot="two-link", duration=0.1, controller={"type": "pd", "kp": 500, "kd": 50, "reference": [0, 0]}
    ... )
    >>> scenario.controller.make().kp
    500
    >>> scenario.controller.to_dict()["type"]
    'pd'
    """

    kind: Kind = Field(description="kind of the part")
    type: str = Field(description="name of the part in the registry")
    parameters: dict[str, Any] = Field({}, description="parameters by name")

    def to_dict(self) -> dict[str, object]:
        """Return the part in the form of a file; angles are plain numbers.

        Returns
        -------
        dict
        """
        return {"type": self.type, **{key: _plain(value) for key, value in self.parameters.items()}}

    @property
    def knows_no_robot(self) -> bool:
        """True if a controller is the same for robots with other numbers."""
        return bool(getattr(REGISTRY[self.kind][self.type], "knows_no_robot", False))

    def make(self) -> Any:
        """Make the object itself. Raise `PliantError` with the reason if its parameters do not fit.

        Returns
        -------
        object
            Of `pliant.control` or `pliant.loads`.
        """
        maker = REGISTRY[self.kind][self.type]
        names = {key: name for name, key in _file_keys(maker, self.kind).items()}
        return maker(**{names[key]: _made(value) for key, value in self.parameters.items()})


def read_part(value: object, kind: Kind) -> Part:
    """Read a part from a mapping of a file. Every wrong key is a fault of its own."""
    if isinstance(value, Part):
        return value
    if not isinstance(value, Mapping):
        raise fault(f"a mapping with `type` and the parameters of a {kind}")
    entries = REGISTRY[kind]
    name = value.get("type")
    if not isinstance(name, str) or name not in entries:
        said = "missing key `type`" if "type" not in value else f"no {kind} is called {name!r}"
        raise clash(said + suggestion(str(name), entries))
    given = {str(key): entry for key, entry in value.items() if key != "type"}
    troubles = list(_key_troubles(given, entries[name], kind))
    parameters = {}
    for key, entry in given.items():
        try:
            parameters[key] = _value(entry)
        except PydanticCustomError as error:
            troubles.append(((key,), error, entry))
        except ValidationError as error:
            troubles += nested(error, key)
    raise_together(troubles)
    part = Part(kind=kind, type=name, parameters=parameters)
    try:
        part.make()
    except PliantError as error:
        raise clash(str(error)) from None
    except (TypeError, ValueError) as error:
        raise clash(f"{kind} {name!r} cannot be made of this: {error}") from None
    return part


def raise_together(troubles: list[Trouble]) -> None:
    """Raise the faults as one error of pydantic, each at its place below the present one."""
    if troubles:
        lines = [InitErrorDetails(type=error, loc=place, input=given) for place, error, given in troubles]
        raise ValidationError.from_exception_data("scenario", lines)


def nested(error: ValidationError, *place: int | str) -> list[Trouble]:
    """The faults of an inner error, below `place`."""
    found = []
    for item in error.errors(include_url=False):
        context = item.get("ctx", {})
        text = context.get("text") or f"got {item['input']!r}, expected {context.get('expected', item['msg'])}"
        found.append(((*place, *item["loc"]), clash(str(text)), item["input"]))
    return found


def _file_keys(maker: Maker, kind: Kind) -> dict[str, str]:
    """Parameter of the maker -> key of the file."""
    renamed = _KEYS if kind == "trajectory" else {}
    return {name: renamed.get(name, name.rstrip("_")) for name in inspect.signature(maker).parameters}


def _key_troubles(given: Mapping[str, object], maker: Maker, kind: Kind) -> Iterator[Trouble]:
    keys = _file_keys(maker, kind)
    meant = ""
    for key in given:
        if key not in keys.values():
            near = suggestion(key, keys.values())
            meant += near
            yield (key,), clash(f"unknown key `{key}`{near}"), given[key]
    for name, parameter in inspect.signature(maker).parameters.items():
        if parameter.default is inspect.Parameter.empty and keys[name] not in given and f"`{keys[name]}`?" not in meant:
            yield (keys[name],), clash(f"missing key `{keys[name]}`"), None


def _value(entry: object) -> object:
    """Numbers, texts, lists and mappings; a text that reads as an angle is one, a mapping with `type` is a part."""
    if isinstance(entry, Mapping):
        return read_part(entry, _kind(entry)) if "type" in entry else {str(k): _value(v) for k, v in entry.items()}
    if isinstance(entry, list | tuple):
        return [_value(item) for item in entry]
    if isinstance(entry, str):
        try:
            return angle(entry)
        except PydanticCustomError:
            return entry
    return entry


def _kind(entry: Mapping[str, object]) -> Kind:
    """Kind of an inner part. One of unknown name is most likely a misspelt trajectory."""
    name = str(entry.get("type"))
    return next((kind for kind, names in REGISTRY.items() if name in names), "trajectory")


def _made(value: object) -> object:
    if isinstance(value, Part):
        return value.make()
    if isinstance(value, Mapping):
        return {key: _made(item) for key, item in value.items()}
    return [_made(item) for item in value] if isinstance(value, list) else value


def _plain(value: object) -> object:
    if isinstance(value, Part):
        return value.to_dict()
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, list) else value


@dataclass(frozen=True)
class PartSchema:
    """JSON schema of the parts of a kind, for editors. It is made when it is asked for, so that it contains later
    additions."""

    kind: Kind

    @property
    def json_schema(self) -> dict[str, object]:
        """Schema of all parts that the registry has now."""
        found = [_part_schema(name, maker, self.kind) for name, maker in REGISTRY[self.kind].items()]
        return {"title": self.kind, "anyOf": found}

    def __get_pydantic_json_schema__(self, core: object, handler: object) -> dict[str, object]:
        return self.json_schema


def _part_schema(name: str, maker: Maker, kind: Kind) -> dict[str, object]:
    keys = part_keys(maker, kind)
    return {
        "type": "object",
        "title": name,
        "properties": {"type": {"const": name}, **{key: {"description": said} for key, (said, _) in keys.items()}},
        "required": ["type", *(key for key, (_, default) in keys.items() if default is ...)],
        "additionalProperties": False,
    }


def part_keys(maker: Maker, kind: Kind) -> dict[str, tuple[str, object]]:
    """Keys of a part: what the docstring says, and the default (`...` where there is none)."""
    said, parameters = documented(maker), inspect.signature(maker).parameters
    return {
        key: (
            said.get(name, ""),
            ... if parameters[name].default is inspect.Parameter.empty else parameters[name].default,
        )
        for name, key in _file_keys(maker, kind).items()
    }


def _entry(kind: Kind) -> tuple[PlainValidator, PlainSerializer, PartSchema]:
    """Annotations with which a field of a scenario reads and writes a part of one kind."""
    return (
        PlainValidator(lambda value: read_part(value, kind)),
        PlainSerializer(lambda part: part.to_dict()),
        PartSchema(kind),
    )


TrajectoryPart = Annotated[Part, *_entry("trajectory")]
ControllerPart = Annotated[Part, *_entry("controller")]
LoadPart = Annotated[Part, *_entry("load")]
BasePart = Annotated[Part, *_entry("base")]
SensorPart = Annotated[Part, *_entry("sensor")]
