"""`pliant export`: write a model as C, CUDA, NumPy, LaTeX, CasADi files, a functional mock-up unit, URDF or MJCF."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, cast, get_args

import typer

from pliant.cli.options import Flexible, Floating, Packages, RobotFile, Rotation, Tip, robot_of
from pliant.cli.output import Facts
from pliant.errors import ModelError
from pliant.options import ExportName, FmiVersion, FormulationName, PrecisionName, StiffeningChoice

FLAGS = {
    "functions": "--function", "fmi": "--fmi", "limits": "--no-limits", "compilers": "--compiler and --sources-only",
    "shared_memory": "--shared-memory", "precision": "--precision", "step": "--step", "bodies": "--bodies",
}  # fmt: skip
"""Names of options on the command line, by those of targets."""


def command(
    file: RobotFile,
    to: Annotated[
        ExportName,
        typer.Option(
            help="C99, a NumPy module, LaTeX (small arms), CasADi files, CUDA, a functional mock-up unit (FMU), "
            "the rigid arm as URDF, or a MuJoCo model."
        ),
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            help="Folder (for fmu, urdf, mjcf: file) to write; by default named after the arm.", metavar="PATH"
        ),
    ] = None,
    formulation: Annotated[
        str | None, typer.Option(help="Formulation; lagrange for latex, else denoc.", metavar="NAME")
    ] = None,
    rotation: Rotation = "exact",
    stiffening: Annotated[
        StiffeningChoice | None, typer.Option(help="Order of geometric stiffening; off for latex, else auto.")
    ] = None,
    parameter: Annotated[
        list[str] | None,
        typer.Option(help="Number that stays an input, such as payload.mass; may be repeated.", metavar="PATH"),
    ] = None,
    function: Annotated[
        list[str] | None,
        typer.Option(help="Write only this function (c, python, casadi, cuda); may be repeated.", metavar="NAME"),
    ] = None,
    fmi: Annotated[FmiVersion, typer.Option(help="Version of the FMI standard (fmu).")] = "3.0",
    limits: Annotated[
        bool, typer.Option("--limits/--no-limits", help="End a run where a joint leaves its limits (fmu).")
    ] = True,
    compiler: Annotated[
        list[str] | None,
        typer.Option(
            help="C compiler, with or without flags (fmu); may be repeated, once for each platform.",
            metavar="CC",
        ),
    ] = None,
    sources_only: Annotated[
        bool, typer.Option("--sources-only", help="Leave out binaries (fmu): the importing tool compiles the sources.")
    ] = False,
    shared_memory: Annotated[
        int | None,
        typer.Option(help="KiB of shared memory of a block (cuda): 99, or 227 on an H100.", metavar="KIB"),
    ] = None,
    precision: Annotated[PrecisionName, typer.Option(help="Type of the numbers (c).")] = "double",
    step: Annotated[
        float | None, typer.Option(help="Also write a plant that is stepped by this time (c).", metavar="SECONDS")
    ] = None,
    bodies: Annotated[
        int | None, typer.Option(help="Springs per beam (mjcf); by default for an error of 1 %.", metavar="N", min=1)
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace an earlier export.")] = False,
    package: Packages = None,
    flexible: Flexible = None,
    tip: Tip = None,
    floating: Floating = False,
) -> None:
    """Write the equations of motion of an arm for other programs."""
    from pliant.export import export
    from pliant.export.contents import export_name
    from pliant.export.targets import export_target

    if sources_only and compiler:
        raise ModelError("--sources-only: has no compiler, got --compiler as well; leave one of them out")
    target = export_target(to)
    given: Facts = {
        "functions": function,
        "fmi": None if fmi == "3.0" else fmi,
        "limits": None if limits else False,
        "compilers": [] if sources_only else compiler,
        "shared_memory": shared_memory,
        "precision": None if precision == "double" else precision,
        "step": step,
        "bodies": bodies,
    }
    options = {name: value for name, value in given.items() if value is not None}
    for name in options.keys() - target.options:
        fitting = [each for each in get_args(ExportName) if name in export_target(each).options]
        raise ModelError(f"{FLAGS[name]}: has no meaning for {to}, it is for {', '.join(fitting)}")
    model = robot_of(file, package, flexible, tip, floating).model(
        cast(FormulationName, formulation or target.formulation),
        rotation=rotation,
        stiffening=stiffening or target.stiffening,
        parameters=tuple(parameter or ()),
    )
    path = out or Path(f"{export_name(model)}{target.ending or f'_{to}'}")
    typer.echo(f"wrote {export(model, to, path, force=force, **options)}")
