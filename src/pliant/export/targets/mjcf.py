"""The robot of a model as a MuJoCo model."""

from __future__ import annotations

from pathlib import Path

from pliant.errors import ModelError
from pliant.export.mjcf import mjcf_text
from pliant.export.placing import placed_file
from pliant.export.targets import Target
from pliant.model.model import Model


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
        Replace an earlier export.
    bodies : int, optional
        Springs per beam; found from `error` by default.
    error : float
        Relative error of the first three frequencies.

    Returns
    -------
    path
        The file.
    """
    require_numbers(model, "mjcf")
    with placed_file(Path(path), force) as inner:
        inner.write_text(mjcf_text(model.robot, bodies, error), encoding="utf-8")
    return Path(path)


def require_numbers(model: Model, kind: str) -> None:
    """Refuse a model with parameters."""
    if model.parameters:
        raise ModelError(f"parameters: got {', '.join(model.parameters)}, expected none: {kind} holds numbers alone")


TARGET = Target(write=export_mjcf, ending=".xml")
