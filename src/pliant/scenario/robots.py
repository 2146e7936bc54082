"""The robot of a scenario: a file beside it, a bundled arm, a URDF file with its side file, or written out."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, PlainSerializer, ValidationError, ValidationInfo

from pliant.errors import ModelError
from pliant.robot import Robot, arms, load
from pliant.robot.faults import clash
from pliant.robot.fields import Alternatives, Description
from pliant.scenario.parts import nested, raise_together


class UrdfRobot(Description):
    """`{urdf: arm.urdf, flexible: side.yaml, tip: tool0, floating: true}`: what `pliant.load` takes for a URDF file."""

    urdf: str = Field(description="file, beside the scenario", examples=["arm.urdf"])
    flexible: str | dict[str, Any] | None = Field(
        None, description="side file, or what would stand in it", examples=["side.yaml"]
    )
    tip: str | None = Field(
        None, description="link at the end of the chain; the whole tree without it", examples=["tool0"]
    )
    floating: bool = Field(False, description="whether the root flies freely", examples=[True])


def files_of(robot: Any) -> Iterator[str]:
    """Paths that the entry `robot` of a scenario names (a bundled arm counts as one)."""
    if isinstance(robot, str):
        yield robot
    elif isinstance(robot, Mapping):
        yield from (robot[key] for key in ("urdf", "flexible") if isinstance(robot.get(key), str))


def read_robot(value: Any, info: ValidationInfo) -> Any:
    """Paths are relative to the scenario file; a mapping without `urdf` is that of a robot file."""
    folder = (info.context or {}).get("folder", Path())
    try:
        if isinstance(value, str | os.PathLike):
            return load(_beside(folder, value))
        if isinstance(value, Mapping) and "urdf" in value:
            return _from_urdf(UrdfRobot.model_validate(dict(value)), folder)
    except ModelError as error:
        raise clash(str(error)) from None
    except ValidationError as error:
        raise_together(nested(error))
    return value


def _from_urdf(given: UrdfRobot, folder: Path) -> Robot:
    side = given.flexible
    beside = _beside(folder, side) if isinstance(side, str) else side
    return load(_beside(folder, given.urdf), beside, given.tip, given.floating)


def _beside(folder: Path, path: str | os.PathLike[str]) -> str | os.PathLike[str]:
    beside = folder / path
    return beside if os.path.isfile(beside) else path


RobotEntry = Annotated[
    Robot,
    BeforeValidator(read_robot),
    PlainSerializer(lambda robot: robot.to_dict()),
    Alternatives(({"type": "string", "examples": arms()}, UrdfRobot.model_json_schema())),
]
