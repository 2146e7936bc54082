"""Arms with errors of payload and stiffness."""

from __future__ import annotations

from pliant.errors import ModelError
from pliant.model.model import Model
from pliant.model.robot import Robot

STIFF = (*(f".beam.{name}" for name in ("EI_y", "EI_z", "GJ", "EA", "material.E", "material.G")), ".drive.stiffness")
"""Ends of the paths of stiffnesses in a robot."""


def stiffness_paths(robot: Robot) -> dict[str, float]:
    """Return stiffnesses by their paths: of beams (or their materials) and of elastic drives."""
    return {path: value for path, value in robot.paths().items() if path.endswith(STIFF)}


def heavier(model: Model, payload: float, stiffness: float) -> Model:
    """Return the arm with payloads and stiffnesses times these factors."""
    robot = model.robot
    changes = {
        f"payload{f'.{k}' if isinstance(robot.payload, tuple) else ''}.mass": payload * one.mass
        for k, one in enumerate(robot.payloads)
        if one.mass
    }
    if stiffness != 1.0:
        changes |= {path: stiffness * value for path, value in stiffness_paths(robot).items()}
    return model.replace(changes) if changes else model


def off_by(model: Model, payload_error: float, stiffness_error: float) -> dict[str, Model]:
    """Return the arms of lowest and of highest frequency that relative errors allow, by descriptions of their errors;
    none without errors."""
    for name, value in (("payload_error", payload_error), ("stiffness_error", stiffness_error)):
        if not 0 <= value < 1:
            raise ModelError(f"{name}: got {value!r}, expected a share from 0 to below 1")
    if not payload_error and not stiffness_error:
        return {}
    found = {}
    for sign in (1, -1):
        parts = [
            f"{name} {100 * s * error:+.3g} %"
            for name, s, error in (("payload", sign, payload_error), ("stiffness", -sign, stiffness_error))
            if error
        ]
        found[", ".join(parts)] = heavier(model, 1 + sign * payload_error, 1 - sign * stiffness_error)
    return found
