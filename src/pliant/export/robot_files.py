"""The robot of a model in the formats of others: URDF and MJCF."""

from __future__ import annotations

from pathlib import Path

from pliant.errors import ModelError
from pliant.export.mjcf import mjcf_text
from pliant.export.placing import placed_file
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
        Replace what stands there.

    Returns
    -------
    path
        What was written.
    """
    _require_numbers(model, "urdf")
    return _written(urdf_text(model.robot), Path(path), force)


def export_mjcf(
    model: Model, path: str | Path, *, force: bool = False, bodies: int | None = None, error: float = 0.01
) -> Path:
    """Write a MuJoCo model of the robot, as `Robot.to_mjcf` does.

    Parameters
    ----------
    model : Model
        The arm.
    path : path
        The file.
    force : bool
        Replace what stands there.
    bodies : int, optional
        Springs per beam; found from `error` by default.
    error : float
        Relative, of the first three frequencies.

    Returns
    -------
    path
        What was written.
    """
    _require_numbers(model, "mjcf")
    return _written(mjcf_text(model.robot, bodies, error), Path(path), force)


def _require_numbers(model: Model, kind: str) -> None:
    if model.parameters:
        raise ModelError(f"parameters: got {', '.join(model.parameters)}, expected none: {kind} holds numbers alone")


def _written(text: str, path: Path, force: bool) -> Path:
    with placed_file(path, force) as inner:
        inner.write_text(text, encoding="utf-8")
    return path
