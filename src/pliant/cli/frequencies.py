"""`pliant frequencies`: natural frequencies of each link alone, by modes and by elements, and of the whole arm."""

from __future__ import annotations

from collections.abc import Sequence
from math import pi
from typing import Annotated

import typer

from pliant.cli.options import At, Flexible, Floating, Json, Packages, RobotFile, Tip, robot_of, state_at
from pliant.cli.output import Facts, number, print_json, table
from pliant.mechanics.links.builders.build_chain import tip_loads
from pliant.mechanics.shapes.frequencies import FrequencyRow, frequency_table
from pliant.model.equilibrium import statics
from pliant.model.robot import Robot
from pliant.options import JointsName
from pliant.robot.pieces import in_one_piece


def command(
    file: RobotFile,
    at: At = None,
    rest: Annotated[
        bool | None,
        typer.Option(
            "--rest/--straight",
            help="Let the arm settle under gravity, or keep its links straight. "
            "[default: rest; straight where --at is given]",
        ),
    ] = None,
    joints: Annotated[JointsName, typer.Option(help="Lock the motors (or joints), or leave them free.")] = "locked",
    json: Json = False,
    package: Packages = None,
    flexible: Flexible = None,
    tip: Tip = None,
    floating: Floating = False,
) -> None:
    """Show natural frequencies of each link under its own boundary conditions, and of the arm."""
    robot = robot_of(file, package, flexible, tip, floating)
    model = robot.model()
    straight = at is not None if rest is None else not rest
    if straight or at is not None:
        q = state_at(model, at)
        q = q if straight else model.equilibrium(q[model.layout.shaft_places()] if model.layout.is_open else q)
    else:
        q = statics.rest(model)
    links = link_tables(model.robot)
    arm = model.frequencies(q, joints)
    if json:
        print_json(
            {
                "name": robot.name,
                "links": {name: [_row(row) for row in rows] for name, rows in links.items()},
                "arm": {
                    "joints": joints,
                    "q": dict(zip(model.coordinates, q.tolist())),
                    "hz": arm.tolist(),
                    "rigid_motions": list(model.speeds[:6]) if robot.base.is_free else [],
                    "rad_per_s": (2 * pi * arm).tolist(),
                },
            }
        )
        return
    for name, rows in links.items():
        _show_link(model.robot, name, rows)
    _show_arm(arm.tolist(), joints, at, straight, model.speeds[:6] if robot.base.is_free else ())


def link_tables(robot: Robot) -> dict[str, tuple[FrequencyRow, ...]]:
    """Frequencies of every flexible link by name, with the load beyond its tip where the link asks for that."""
    links = zip(in_one_piece(robot).links, tip_loads(robot))
    found = {link.name: frequency_table(link, load) for link, load in links}
    return {name: rows for name, rows in found.items() if rows}


def _row(row: FrequencyRow) -> Facts:
    return {
        "field": row.field,
        "number": row.number,
        "modes_hz": row.modes_hz,
        "modes_rad_per_s": row.modes,
        "elements_hz": row.elements_hz,
        "elements_rad_per_s": row.elements,
    }


def _show_link(robot: Robot, name: str, rows: tuple[FrequencyRow, ...]) -> None:
    shapes = robot.link(name).shapes
    boundary = "" if shapes is None else f", {shapes.boundary or 'clamped'}, described by {shapes.method}"
    boundary += f" in {robot.link(name).pieces} pieces" if robot.link(name).pieces > 1 else ""
    head = ("field", "number", "modes Hz", "rad/s", "elements Hz", "rad/s", "difference")
    cells = []
    for row in rows:
        values = (row.modes_hz, row.modes, row.elements_hz, row.elements)
        apart = f"{row.elements / row.modes - 1:+.1e}" if row.modes and row.elements else "-"
        cells.append((row.field, str(row.number), *map(number, values), apart))
    table(head, cells, title=f"link {name}{boundary}")
    typer.echo("")


def _show_arm(arm: list[float], joints: str, at: str | None, straight: bool, rigid: Sequence[str] = ()) -> None:
    where = ("straight" if straight else "at rest") + ("" if at is None else f" at {at}")
    if not arm:
        typer.echo(f"The arm has no frequencies with joints {joints}: nothing bends.")
        return
    cells = [(str(k + 1), number(value), number(2 * pi * value)) for k, value in enumerate(arm)]
    cells[: len(rigid)] = [(str(k + 1), "0", f"rigid motion {name}") for k, name in enumerate(rigid)]
    table(("arm", "Hz", "rad/s"), cells, title=f"arm {where}, joints {joints}")
    if min(arm) < 0:
        typer.echo("A negative frequency marks a direction in which the arm would fall over.")
