"""`pliant export`: take a model elsewhere, as C, CUDA, NumPy, LaTeX, CasADi files, a mock-up unit, URDF or MJCF."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, cast

import typer

from pliant.cli.options import Flexible, Floating, LevelName, Packages, RobotFile, Rotation, Tip, level_of, robot_of
from pliant.errors import ModelError
from pliant.options import ExportName, FmiVersion, FormulationName, PrecisionName

_ENDINGS = {"fmu": ".fmu", "urdf": ".urdf", "mjcf": ".xml"}
_FOLDERS = ("c", "python", "casadi", "cuda")


def command(
    file: RobotFile,
    to: Annotated[
        ExportName,
        typer.Option(
            help="C99, a NumPy module, LaTeX (small arms), CasADi files, CUDA, a functional mock-up unit, the rigid "
            "skeleton as URDF, or a MuJoCo model."
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
        LevelName | None, typer.Option(help="Order to which bent beams are followed; off for latex, else auto.")
    ] = None,
    parameter: Annotated[
        list[str] | None,
        typer.Option(help="Number that stays an input, e.g. payload.mass; may stand several times.", metavar="PATH"),
    ] = None,
    function: Annotated[
        list[str] | None,
        typer.Option(help="Only this function (c, python, casadi, cuda); may stand several times.", metavar="NAME"),
    ] = None,
    fmi: Annotated[FmiVersion, typer.Option(help="Version of the standard (fmu).")] = "3.0",
    limits: Annotated[
        bool, typer.Option("--limits/--no-limits", help="End a run where a joint leaves its limits (fmu).")
    ] = True,
    compiler: Annotated[
        list[str] | None,
        typer.Option(
            help="C compiler, with or without flags (fmu); may stand several times, once for each platform.",
            metavar="CC",
        ),
    ] = None,
    sources_only: Annotated[
        bool, typer.Option("--sources-only", help="No binaries (fmu): needs no compiler; a tool compiles the unit.")
    ] = False,
    shared_memory: Annotated[
        int, typer.Option(help="KiB of shared memory a block may use (cuda); 227 suits an H100.", metavar="KIB")
    ] = 99,
    precision: Annotated[PrecisionName, typer.Option(help="Type of the numbers (c).")] = "double",
    step: Annotated[
        float | None, typer.Option(help="Write a plant too, which is stepped by so much (c).", metavar="SECONDS")
    ] = None,
    bodies: Annotated[
        int | None, typer.Option(help="Springs per beam (mjcf); by default for an error of 1 %.", metavar="N", min=1)
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace what an export wrote there.")] = False,
    package: Packages = None,
    flexible: Flexible = None,
    tip: Tip = None,
    floating: Floating = False,
) -> None:
    """Write the equations of motion of an arm for use elsewhere."""
    from pliant.export import export
    from pliant.export.contents import export_name

    if sources_only and compiler:
        raise ModelError("--sources-only: has no compiler, got --compiler as well; leave one of them out")
    compilers = [] if sources_only else compiler or None
    own: dict[str, dict[str, Any]] = {
        "fmu": {"fmi": fmi, "limits": limits, "compilers": compilers},
        "cuda": {"shared_memory": shared_memory},
        "mjcf": {"bodies": bodies},
        "c": {"precision": precision, "step": step},
    }
    options = own.get(to, {})
    if to != "c" and (step is not None or precision != "double"):
        raise ModelError(f"--step and --precision: have no meaning for {to}, they are for c")
    if function:
        if to not in _FOLDERS:
            raise ModelError(f"--function: has no meaning for {to}; it chooses functions of {', '.join(_FOLDERS)}")
        options["functions"] = function
    chosen = formulation or ("lagrange" if to == "latex" else "denoc")
    model = robot_of(file, package, flexible, tip, floating).model(
        cast(FormulationName, chosen),
        rotation=rotation,
        stiffening=level_of(stiffening or ("off" if to == "latex" else "auto")),
        parameters=tuple(parameter or ()),
    )
    target = out or Path(f"{export_name(model)}{_ENDINGS.get(to, f'_{to}')}")
    typer.echo(f"wrote {export(model, to, target, force=force, **options)}")
