"""The rigid skeleton of a robot as URDF."""

from __future__ import annotations

from pathlib import Path

from pliant.export.placing import placed_file
from pliant.export.targets import Target
from pliant.export.targets.mjcf import require_numbers
from pliant.model.model import Model
from pliant.robot.files.urdf_out import urdf_text


def export_urdf(model: Model, path: str | Path, *, force: bool = False) -> Path:
    """Write the rigid skeleton of the robot, as `Robot.to_urdf` does.

    Parameters
    ----------
    model : Model
        The arm.
    path : path
        The file.
    force : bool
        Replace an earlier export.

    Returns
    -------
    path
        The file.
    """
    require_numbers(model, "urdf")
    with placed_file(Path(path), force) as inner:
        inner.write_text(urdf_text(model.robot), encoding="utf-8")
    return Path(path)


TARGET = Target(write=export_urdf, ending=".urdf")
