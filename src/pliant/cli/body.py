"""`pliant body`: links from finite elements."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pliant.cli.options import Json
from pliant.cli.output import Facts, megabytes, number, print_json, say, table
from pliant.errors import ModelError
from pliant.options import BodyStiffeningName, LengthUnit, MassUnit

if TYPE_CHECKING:
    from pliant.mechanics.bodies.element_model import ElementModel
    from pliant.mechanics.bodies.interfaces import Interface
    from pliant.robot.parts.bodies.reduced_body import ReducedBody
    from pliant.robot.parts.materials import Material

group = typer.Typer(no_args_is_help=True, help="Links from finite elements: make and show body files.")

Root = Annotated[
    str, typer.Option(help='Interface at the root: a group of the file, or nodes as in "z < 0.001".', metavar="WHERE")
]
Tip = Annotated[str, typer.Option(help="Interface at which the next link hangs.", metavar="WHERE")]
Frame = Annotated[list[str] | None, typer.Option(help="Further interface; may be repeated.", metavar="NAME=WHERE")]
Average = Annotated[
    list[str] | None,
    typer.Option(
        help="Interface that follows the average of its nodes instead of being rigid; may be repeated.", metavar="NAME"
    ),
]
Modes = Annotated[int | None, typer.Option(help="Number of modes with all interfaces fixed.", metavar="N")]
Frequency = Annotated[float | None, typer.Option(help="Take all such modes up to this frequency.", metavar="HZ")]
Damping = Annotated[float, typer.Option(help="Damping ratio of the modes.", metavar="RATIO")]
Stiffening = Annotated[BodyStiffeningName, typer.Option(help="second-order: loads stiffen or soften the body.")]
Unit = Annotated[LengthUnit, typer.Option(help="Unit of lengths in the file and in WHERE.")]
Out = Annotated[Path | None, typer.Option("--out", "-o", help="Body file; FILE.body.npz by default.", metavar="FILE")]
Force = Annotated[bool, typer.Option("--force", help="Replace an existing body file.")]


@group.command("mesh")
def mesh(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Mesh (Gmsh, VTK, Abaqus, ...), or a closed STL.")],
    material: Annotated[
        str, typer.Option(help='Name, or "E=70e9,G=26e9,density=2700" in SI units.', metavar="MATERIAL")
    ],
    root: Root,
    tip: Tip,
    unit: Unit,
    frame: Frame = None,
    average: Average = None,
    modes: Modes = None,
    frequency: Frequency = None,
    damping: Damping = 0.0,
    stiffening: Stiffening = "off",
    size: Annotated[
        float | None, typer.Option(help="Edge length of tetrahedra that fill an STL.", metavar="LENGTH")
    ] = None,
    out: Out = None,
    force: Force = False,
) -> None:
    """Reduce a mesh of a solid to a body file."""
    from pliant.mechanics.bodies.meshed_bodies import mesh_model

    target = _target(file, out, force)
    model = mesh_model(file, _material(material), unit=unit, size=size)
    interfaces = _interfaces(root, tip, frame or [], average or [])
    _reduced(
        model, interfaces, target, modes=modes, frequency=frequency, damping=damping, unit=unit, stiffening=stiffening
    )


@group.command("reduce")
def reduce(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Matrices (.npz), CalculiX input or Nastran bulk.")],
    root: Root,
    tip: Tip,
    unit: Unit,
    mass_unit: Annotated[MassUnit, typer.Option(help="Unit of masses; forces follow from it.")],
    matrices: Annotated[Path | None, typer.Option(help="Matrices of Nastran (.op4, .op2).", metavar="FILE")] = None,
    frame: Frame = None,
    average: Average = None,
    modes: Modes = None,
    frequency: Frequency = None,
    damping: Damping = 0.0,
    out: Out = None,
    force: Force = False,
) -> None:
    """Reduce full matrices of another program to a body file."""
    from pliant.mechanics.bodies.matrix_files import read_model

    target = _target(file, out, force)
    model = read_model(file, matrices, unit=unit, mass_unit=mass_unit)
    interfaces = _interfaces(root, tip, frame or [], average or [])
    _reduced(model, interfaces, target, modes=modes, frequency=frequency, damping=damping, unit=unit)


@group.command("info")
def info(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Body file.")],
    json: Json = False,
) -> None:
    """Show mass, interfaces and frequencies of a body file."""
    from pliant.robot.parts.bodies.reduced_body import ReducedBody

    body = ReducedBody.read(file)
    if json:
        print_json(_facts(body))
    else:
        _tell(body)


def _target(file: Path, out: Path | None, force: bool) -> Path:
    """Path of the body file; an existing file must be a body file, and `force` must be given."""
    target = out if out is not None else file.with_suffix(".body.npz")
    if target.exists() and not force:
        raise ModelError(f"{target}: is there; --force replaces it, --out names another")
    if target.exists():
        from pliant.robot.parts.bodies.reduced_body import ReducedBody

        try:
            ReducedBody.read(target)
        except ModelError:
            raise ModelError(f"{target}: is no body file, and stays; --out names another") from None
    return target


def _material(text: str) -> str | Material:
    """Material from its name or its numbers."""
    if "=" not in text:
        return text
    from pliant.robot.parts.materials import Material

    try:
        numbers = {key.strip(): float(value) for key, _, value in (part.partition("=") for part in text.split(","))}
    except ValueError:
        raise ModelError(f"--material: got {text!r}, expected a name, or E=..,G=..,density=.. in SI units") from None
    return Material(name="", **numbers)


def _reduced(
    model: ElementModel,
    interfaces: dict[str, Interface],
    target: Path,
    *,
    modes: int | None,
    frequency: float | None,
    damping: float,
    unit: LengthUnit,
    stiffening: BodyStiffeningName = "off",
) -> None:
    """Reduce a model, write the body file and show it."""
    from pliant.mechanics.bodies.craig_bampton import reduce_model
    from pliant.mechanics.bodies.held_stiffness import factor_memory

    needed = factor_memory(model) / 1e9
    say(f"{model.about}: {model.size} degrees of freedom, about {needed:.2g} GB of memory for their factor")
    first, second = interfaces.pop("root"), interfaces.pop("tip")
    body = reduce_model(
        model, first, second, interfaces, modes=modes, frequency=frequency, damping=damping, stiffening=stiffening,
        unit=unit,
    )  # fmt: skip
    path = body.save(target)
    _tell(body)
    typer.echo(f"wrote {path} ({megabytes(path.stat().st_size)})")


def _interfaces(root: str, tip: str, frames: list[str], average: list[str]) -> dict[str, Interface]:
    """Interfaces by name, from the texts of options."""
    from pliant.mechanics.bodies.interfaces import Interface

    places = {"root": root, "tip": tip}
    for text in frames:
        name, equals, where = text.partition("=")
        if not equals or not name.strip() or name.strip() in places:
            raise ModelError(f"--frame: got {text!r}, expected NAME=WHERE with a name of its own")
        places[name.strip()] = where.strip()
    if stray := set(average) - set(places):
        raise ModelError(f"--average: there is no interface {sorted(stray)[0]!r}; there are {', '.join(places)}")
    return {name: Interface(where, "average" if name in average else "rigid") for name, where in places.items()}


def _facts(body: ReducedBody) -> Facts:
    """Properties of a body as plain data."""
    import numpy as np

    inertia = body.second.trace() * np.eye(3) - body.second
    return {
        "mass": body.mass,
        "center": (body.first / body.mass).tolist(),
        "inertia": inertia.tolist(),
        "frames": {name: place.tolist() for name, place in zip(body.frames, body.places)},
        "hz": body.frequencies.tolist(),
        "vertices": len(body.vertices),
        "triangles": len(body.triangles),
        "stiffening": "second-order" if body.beyond else "off",
        "about": body.about,
    }


def _tell(body: ReducedBody) -> None:
    """Print the properties of a body."""
    facts = _facts(body)
    typer.echo(body.about)
    typer.echo(f"mass {number(body.mass)} kg, center ({', '.join(map(number, facts['center']))}) m from the root")
    table(("frame", "x m", "y m", "z m"), [(name, *map(number, place)) for name, place in facts["frames"].items()])
    if body.beyond:
        typer.echo("known to second order: loads stiffen and soften it")
    rows = [(name, number(hz)) for name, hz in zip(body.names, facts["hz"])]
    table(("coordinate", "Hz"), rows, title="frequencies with the root held, all other frames free")
