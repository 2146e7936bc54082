"""The robot of a scenario: a file beside it, a bundled arm, a URDF file with its side file, or written out."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, PlainSerializer, ValidationError, ValidationInfo

from pliant.errors import ModelError
from pliant.model.robot import Robot, bundled, load_file
from pliant.robot.files.error_messages import clash, short_key, suggestion
from pliant.robot.files.file_paths import FilePaths, paths_of
from pliant.robot.files.robot_files import arms
from pliant.robot.parts.fields import Alternatives, Description
from pliant.simulation.scenario.parts import nested, raise_together


class UrdfRobot(Description):
    """Robot from a URDF file, with the arguments of `pliant.load`: `{urdf: arm.urdf, flexible: side.yaml, tip: tool0,
    floating: true}`."""

    urdf: str = Field(description="file, beside the scenario", examples=["arm.urdf"])
    flexible: str | dict[str, Any] | None = Field(None, description="side file, or its content", examples=["side.yaml"])
    tip: str | None = Field(
        None, description="link at the end of the chain; the whole tree without it", examples=["tool0"]
    )
    floating: bool = Field(False, description="whether the root flies freely", examples=[True])


def read_robot(value: object, info: ValidationInfo) -> object:
    """Read the robot of a scenario. Paths are relative to the scenario file, and a mapping without `urdf` is a robot
    file."""
    paths = paths_of(info.context)
    try:
        if isinstance(value, str | os.PathLike):
            return _of_name(os.fspath(value), paths)
        if isinstance(value, Mapping) and "urdf" in value:
            return _from_urdf(UrdfRobot.model_validate(dict(value)), paths)
    except ModelError as error:
        raise clash(str(error)) from None
    except ValidationError as error:
        raise_together(nested(error))
    return value


def _of_name(name: str, paths: FilePaths) -> Robot:
    """Read a file, else a bundled arm."""
    path = paths.look_for(name)
    if path is not None and not (path.is_dir() and name in arms()):
        return load_file(path, paths.beside(path))
    if name in arms():
        return bundled(name)
    raise ModelError(f"no file and no bundled arm `{short_key(name, 200)}`{suggestion(name, arms())}")


def _from_urdf(given: UrdfRobot, paths: FilePaths) -> Robot:
    side = paths.find(given.flexible) if isinstance(given.flexible, str) else given.flexible
    path = paths.find(given.urdf)
    return load_file(path, paths.beside(path), flexible=side, tip=given.tip, floating=given.floating)


RobotEntry = Annotated[
    Robot,
    BeforeValidator(read_robot),
    PlainSerializer(lambda robot: robot.to_dict()),
    Alternatives(({"type": "string", "examples": arms()}, UrdfRobot.model_json_schema())),
]
