"""Options that several commands share, and functions that read them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from pydantic_core import PydanticCustomError

from pliant.arrays import Array
from pliant.errors import ModelError
from pliant.model.model import Model
from pliant.model.robot import Robot, load
from pliant.options import RotationName, StiffeningChoice
from pliant.robot.files.error_messages import suggestion
from pliant.robot.parts.fields import angle

RobotFile = Annotated[
    str, typer.Argument(metavar="FILE", help="Robot file (YAML or URDF), or the name of a bundled arm.")
]
Flexible = Annotated[Path | None, typer.Option(help="Side file with the flexible parts of a URDF arm.", metavar="FILE")]
Tip = Annotated[
    str | None, typer.Option(help="Last link of a chain taken from a URDF tree; the whole tree by default.")
]
Floating = Annotated[bool, typer.Option("--floating", help="Make the root link of a URDF tree a free base.")]
Packages = Annotated[
    list[str] | None,
    typer.Option(
        "--package",
        metavar="NAME=FOLDER",
        help="Further folder that the file may read, as package://NAME/... or by its path; may be repeated.",
    ),
]
Rotation = Annotated[RotationName, typer.Option(help="Rotation of a bent tip: exact, or linear as in the papers.")]
Stiffening = Annotated[StiffeningChoice, typer.Option(help="Order of geometric stiffening; off as in the papers.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")]
At = Annotated[
    str | None,
    typer.Option(
        help='Pose of the arm: joint positions in order, "0.1,90 deg", or by name, "upper=pi/2,fore=0.1".',
        metavar="POSITIONS",
    ),
]


def robot_of(
    file: str,
    packages: list[str] | None = None,
    flexible: Path | None = None,
    tip: str | None = None,
    floating: bool = False,
) -> Robot:
    """Robot of a file, or a bundled arm."""
    return load(file, flexible, tip, floating, search_paths=search_paths(packages))


def search_paths(packages: list[str] | None) -> dict[str, str]:
    """Folders by name from the texts of `--package`."""
    found: dict[str, str] = {}
    for text in packages or ():
        name, given, folder = text.partition("=")
        if not (name and given and folder):
            raise ModelError(f"--package {text}: expected NAME=FOLDER, such as my_arm=/ws/src/my_arm")
        if name in found:
            raise ModelError(f"--package {name}: given twice; leave one of them out")
        found[name] = folder
    return found


def state_at(model: Model, text: str | None) -> Array:
    """(n,) coordinates from the text of `--at`. Motors that are not named follow their joints, loops are closed, and
    other coordinates are as described."""
    given = named_positions(model, text) if text is not None and text.strip() else {}
    return model.assemble(given, held=[name for name in given if name in model.speeds])


def positions_of(model: Model, text: str, option: str) -> list[float]:
    """Positions of all joints from the text of an option; those of joints that are not named are zero."""
    given = named_positions(model, text, option)
    for name in given:
        if name not in model.joints:
            raise ModelError(f"{option}: got `{name}`, expected joints ({', '.join(model.joints)})")
    return [given.get(name, 0.0) for name in model.joints]


def named_positions(model: Model, text: str, option: str = "--at") -> dict[str, float]:
    """Coordinates by name from the text of an option, in order or by name."""
    entries = [entry.strip() for entry in text.split(",")]
    if all("=" in entry for entry in entries):
        pairs = [(name.strip(), value) for name, value in (entry.split("=", 1) for entry in entries)]
    elif any("=" in entry for entry in entries):
        raise ModelError(f"{option} {text!r}: give either all positions by name or all in order")
    elif len(entries) != model.n_joints:
        raise ModelError(
            f"{option} {text!r}: got {len(entries)} positions, expected {model.n_joints} ({', '.join(model.joints)})"
        )
    else:
        pairs = list(zip(model.joints, entries))
    found = {}
    for name, value in pairs:
        if name not in model.coordinates:
            raise ModelError(f"{option}: the arm has no coordinate `{name}`{suggestion(name, model.coordinates)}")
        try:
            found[name] = angle(value)
        except PydanticCustomError:
            raise ModelError(
                f"{option}: {name}: got {value!r}, expected a position such as 1.2, pi/2 or 90 deg"
            ) from None
    return found
