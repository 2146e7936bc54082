"""Files that the studio may open and save: plain files of one folder, and the bundled arms."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pliant.errors import ModelError, PliantError
from pliant.model.robot import Robot, bundled, load_file
from pliant.robot.files.documents import read_text
from pliant.robot.files.error_messages import short
from pliant.robot.files.file_paths import FilePaths
from pliant.robot.files.robot_files import arms
from pliant.robot.files.yaml import read_yaml

if TYPE_CHECKING:
    from typing import TypeAlias

    from pliant.simulation.runs.results import Result
    from pliant.simulation.scenario.scenario import Scenario

    Found: TypeAlias = Robot | Scenario | Result
    """Contents of a file that can be opened."""

ENDINGS = (".yaml", ".yml", ".urdf", ".nc")
"""Endings of files: robots and scenarios, URDF robots, saved runs."""
SIDE = ".flexible.yaml"
"""Ending of the side file of a URDF file, which describes its flexible parts."""
LONGEST_NAME = 255
"""Most bytes of a file name, as in file systems."""
REMEDY = "the studio opens nothing there: copy it into its folder"
"""Advice in messages on paths that lead out of the folder."""


@dataclass(frozen=True)
class Shelf:
    """Files of one folder by their names; nothing outside it is read or written, links included."""

    folder: Path

    def names(self) -> tuple[str, ...]:
        """Bundled arms, then robots, scenarios and runs of the folder."""
        found = sorted(path.name for path in self.folder.iterdir() if self._is_offered(path))
        return (*arms(), *found)

    def _is_offered(self, path: Path) -> bool:
        return path.suffix in ENDINGS and not path.name.endswith(SIDE) and self._inside(path)

    def robot(self, name: str) -> Robot:
        """Bundled arm, or the arm of a file."""
        found = self.read(name)
        return found if isinstance(found, Robot) else found.robot

    def read(self, name: str) -> Found:
        """Read a bundled arm, or a file of the folder. Messages of errors do not tell the path of the folder."""
        try:
            return self._read(name)
        except PliantError as error:
            for folder in {self.folder, self.folder.absolute(), self.folder.resolve()}:
                error.args = (str(error).replace(f"{folder}{os.sep}", ""),)
            raise

    def _read(self, name: str) -> Found:
        if name in arms():
            return bundled(name)
        path, paths = self.path(name), FilePaths.within(self.folder, REMEDY)
        if not path.is_file():
            raise ModelError(f"{name}: no such file in {self.folder}")
        if path.suffix == ".nc":
            from pliant.simulation.runs.results import Result

            return Result.load(path)
        if path.suffix == ".urdf":
            side = path.with_name(path.stem + SIDE)
            return load_file(path, paths, flexible=side if self._inside(side) and side.is_file() else None)
        return self._described(path, name, paths)

    def _described(self, path: Path, name: str, paths: FilePaths) -> Robot | Scenario:
        """Read a YAML file: it is a scenario if it has the keys `robot` and `duration`, else a robot."""
        try:
            data, _ = read_yaml(read_text(path))
        except ModelError as error:
            raise ModelError(f"{name}: {str(error).removeprefix(f'{name}: ')}") from None
        if not (isinstance(data, dict) and "robot" in data and "duration" in data):
            return load_file(path, paths)
        from pliant.simulation.scenario.scenario import read_scenario

        return read_scenario(path, paths)

    def path(self, name: str, endings: tuple[str, ...] = ENDINGS, writing: bool = False) -> Path:
        """Path of a file of the folder, by its name; `writing` asks for one that does not exist."""
        fits = re.fullmatch(r"\w[\w .\-]*", name) and len(name.encode()) <= LONGEST_NAME
        if not fits or not self._inside(self.folder / name):
            raise ModelError(f"file: got {short(name)}, expected the name of a file in {self.folder}, such as run.yaml")
        if not name.endswith(endings):
            raise ModelError(f"{name}: expected a name that ends in {', '.join(endings)}")
        if writing and (self.folder / name).exists():
            raise ModelError(f"{name}: it exists already; choose another name")
        return self.folder / name

    def _inside(self, path: Path) -> bool:
        return path.resolve().is_relative_to(self.folder.resolve())
