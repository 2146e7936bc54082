"""`pliant count`: operations of each formulation, counted on the instruction tape, and published counts.

Published formulas are evaluated for the arm. They have a table of their own, since each counts something else.
"""

from __future__ import annotations

from typing import Annotated, cast

import typer

from pliant.analysis.counts import compare
from pliant.cli.options import (
    Flexible,
    Floating,
    Json,
    Packages,
    RobotFile,
    Rotation,
    Stiffening,
    Tip,
    robot_of,
)
from pliant.cli.output import Facts, print_json, say, table
from pliant.errors import PliantError
from pliant.mechanics.formulations.registry import FORMULATIONS
from pliant.mechanics.links.builders.build_chain import build_chain
from pliant.model.model import Model
from pliant.model.robot import Robot
from pliant.options import FormulationName, FunctionName

FUNCTIONS = {"mass_matrix": "inertia matrix", "bias": "right-hand side", "forward_dynamics": "forward dynamics"}
OPERATIONS = {"mul": "mul", "add": "add", "div": "div", "sqrt": "sqrt", "trig": "sin, cos"}


def command(
    file: RobotFile,
    rotation: Rotation = "exact",
    stiffening: Stiffening = "auto",
    formulation: Annotated[
        list[str] | None, typer.Option(help="Count only this formulation; may be repeated.", metavar="NAME")
    ] = None,
    json: Json = False,
    package: Packages = None,
    flexible: Flexible = None,
    tip: Tip = None,
    floating: Floating = False,
) -> None:
    """Count multiplications, additions and trigonometric calls of each formulation for this arm."""
    robot = robot_of(file, package, flexible, tip, floating)
    counts, refused = {}, {}
    for name in formulation or FORMULATIONS:
        try:
            counts[name] = _counts(robot.model(cast(FormulationName, name), rotation=rotation, stiffening=stiffening))
        except PliantError as error:
            if formulation or len(FORMULATIONS) == 1:
                raise
            refused[name] = str(error)
    published = _published(robot)
    if json:
        print_json(
            {"name": robot.name, "rotation": rotation, "stiffening": stiffening, "counts": counts, "refused": refused,
             "published": published}
        )  # fmt: skip
        return
    head = ("formulation", "function", *OPERATIONS.values())
    rows = [
        (name, text, *(str(found[function][key]) for key in OPERATIONS))
        for name, found in counts.items()
        for function, text in FUNCTIONS.items()
    ]
    table(
        head,
        rows,
        left=2,
        title=f"{robot.name}: operations from the tape, rotation {rotation}, stiffening {stiffening}",
    )
    if published:
        _show_published(published)
    for name, reason in refused.items():
        say(f"{name}: {reason}")


def _published(robot: Robot) -> list[Facts]:
    """Published counts that fit the arm, each beside the tape of `denoc` that does at least the same work."""
    return [
        {
            "method": row.published.method,
            "counts": row.published.counts,
            "products": row.published.products,
            "sums": row.published.sums,
            "denoc": {
                "function": row.tape.function,
                "counts": row.tape.counts,
                "products": row.tape.products + (row.tape.divisions or 0),
                "sums": row.tape.sums,
                "below": row.below,
            },
        }
        for row in compare(build_chain(robot))
    ]


def _show_published(rows: list[Facts]) -> None:
    head = ("published", "it counts", "mul", "add", "denoc mul+div", "add", "below", "denoc counts")
    lines = []
    for row in rows:
        ours = row["denoc"]
        numbers = (f"{x:.0f}" for x in (row["products"], row["sums"], ours["products"], ours["sums"]))
        lines.append((row["method"], row["counts"], *numbers, "yes" if ours["below"] else "NO", ours["function"]))
    typer.echo("")
    table(head, lines, left=2, title="published formulas and tables for this arm, beside denoc")


def _counts(model: Model) -> dict[str, dict[str, int]]:
    """Operations of each function of a model."""
    return {function: dict(model.operation_count(cast(FunctionName, function))) for function in FUNCTIONS}
