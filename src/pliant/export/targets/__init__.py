"""Targets of an export: a file `NAME.py` with `TARGET` each, and its name in `ExportName` of `options`."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from pliant.base.later import implementation
from pliant.model.model import Model
from pliant.model.robot import Robot
from pliant.options import FormulationName, StiffeningChoice


@dataclass(frozen=True, kw_only=True)
class Target:
    """A target: the function `write(model, path, *, force, **options)`, and defaults of the command line.

    `ending` is that of the file that it writes; without one it writes a folder.
    """

    write: Callable[..., Path]
    ending: str = ""
    formulation: FormulationName = "denoc"
    stiffening: StiffeningChoice = "auto"

    def model_of(self, given: Model | Robot) -> Model:
        """Return a model as it is, and of a robot the default model of this target."""
        return given.model(self.formulation, stiffening=self.stiffening) if isinstance(given, Robot) else given

    @property
    def options(self) -> set[str]:
        """Options that the function takes."""
        return {*inspect.signature(self.write).parameters} - {"model", "path", "folder", "force"}


def export_target(name: str) -> Target:
    """A target by its name."""
    found: Target = implementation(__name__, name).TARGET
    return found
