"""`pliant simulate`: run a scenario file, or the first motion of an arm in the studio, and write its outputs."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, NoReturn

import numpy as np
import typer

from pliant.arrays import Array
from pliant.base.interrupts import held_back
from pliant.base.signatures import near
from pliant.base.started import INTERRUPTED
from pliant.cli.application import FAILED
from pliant.cli.options import Flexible, Json, Packages, Tip, search_paths
from pliant.cli.output import Facts, fresh_folder, number, print_json, say, seldom, table
from pliant.errors import Interrupted, ModelError, PliantError, SimulationError
from pliant.model.robot import load
from pliant.robot.files.documents import read_text
from pliant.robot.files.error_messages import short_key, suggestion
from pliant.robot.files.robot_files import arms
from pliant.simulation.runs.results import Result
from pliant.simulation.scenario.scenario import Outputs, Scenario, require_inside


def command(
    scenario: Annotated[
        Path,
        typer.Argument(
            metavar="SCENARIO", help="Scenario file (YAML), or an arm: a robot file, a URDF, or a bundled name."
        ),
    ],
    out: Annotated[
        Path | None, typer.Option(help="Folder for the outputs; out/NAME of the scenario by default.", metavar="DIR")
    ] = None,
    json: Json = False,
    formulation: Annotated[str | None, typer.Option(help="Formulation, instead of the scenario's.")] = None,
    method: Annotated[str | None, typer.Option(help="Integrator, instead of the scenario's.")] = None,
    t_end: Annotated[float | None, typer.Option(help="Duration in seconds, instead of the scenario's.")] = None,
    step: Annotated[float | None, typer.Option(help="Step in seconds, instead of the scenario's.")] = None,
    output_step: Annotated[float | None, typer.Option(help="Spacing of the outputs in seconds.")] = None,
    rtol: Annotated[float | None, typer.Option(help="Relative tolerance.")] = None,
    atol: Annotated[float | None, typer.Option(help="Absolute tolerance.")] = None,
    time_limit: Annotated[
        float | None, typer.Option(help="Most seconds of computing time; the part that was computed is written.")
    ] = None,
    max_steps: Annotated[int | None, typer.Option(help="Most steps of the integrator.")] = None,
    progress: Annotated[
        bool | None,
        typer.Option("--progress/--no-progress", help="Show progress: a bar in a terminal (default), lines in a log."),
    ] = None,
    package: Packages = None,
    flexible: Flexible = None,
    tip: Tip = None,
) -> None:
    """Simulate a scenario, or of an arm the motion with which the studio begins.

    Ctrl-C ends the run and writes the part that was computed. A limit of time or steps does so too, with exit code 1.
    """
    chosen = _chosen(scenario, search_paths(package), flexible, tip)
    given = {"method": method, "duration": t_end, "step": step, "output_step": output_step, "rtol": rtol, "atol": atol,
             "time_limit": time_limit, "max_steps": max_steps}  # fmt: skip
    changes: Facts = {key: value for key, value in given.items() if value is not None}
    if formulation is not None:
        changes["model"] = {**chosen.model.model_dump(), "formulation": formulation}
    if changes:
        chosen = chosen.replace(**changes)
    folder = fresh_folder(out if out is not None else Path("out") / scenario.stem, force=True)
    require_inside(chosen.outputs, folder)  # before the run, which may take long
    try:
        result = chosen.run(_progress(progress))
    except SimulationError as error:
        _keep(chosen, error.result, folder)
        raise
    except Interrupted as stopped:
        if stopped.result is None:
            raise
        _left(chosen, stopped.result, folder, json)
    try:
        files = chosen.write(result, folder)
    except KeyboardInterrupt:
        _left(chosen, result, folder, json)
    _report(result, files, json)
    if result.stats.status == "stopped":
        raise typer.Exit(FAILED)


def _chosen(given: Path, folders: dict[str, str], flexible: Path | None, tip: str | None) -> Scenario:
    """Scenario of a file; for an arm that with which the studio begins, written as a page."""
    name = str(given)
    if not given.exists() and near(name, arms()) not in (None, name):
        raise ModelError(f"no file and no bundled arm `{short_key(name, 200)}`{suggestion(name, arms())}")
    if (given.exists() and not _is_arm(given)) or (name not in arms() and not given.exists()):
        for option, value in (("--flexible", flexible), ("--tip", tip)):
            if value is not None:
                raise ModelError(f"{option}: {name} is a scenario; give it with an arm, or in the scenario's `robot`")
        return Scenario.load(given, search_paths=folders)
    from pliant.studio.run import scenario
    from pliant.studio.starts import first_choices

    robot = load(name, flexible, tip, search_paths=folders)
    return scenario(first_choices(robot)).replace(name=given.stem, outputs=Outputs(page=f"{given.stem}.html"))


def _is_arm(path: Path) -> bool:
    """Return True for the file of an arm: a URDF, or YAML with `links` and without the `robot` of a scenario."""
    if path.suffix.lower() == ".urdf":
        return True
    keys = {match[1] for match in re.finditer(r"^(\w+) *:", read_text(path), re.MULTILINE)}
    return "links" in keys and "robot" not in keys


def _left(chosen: Scenario, result: Result, folder: Path, json: bool) -> NoReturn:
    """End after Ctrl-C: write the data that were computed, and exit."""
    _report(result, _write_data(chosen, result, folder), json)
    say(f"interrupted at t = {result.t[-1]:g} s; what had been computed is kept, figures are left out")
    raise typer.Exit(INTERRUPTED)


def _progress(asked: bool | None) -> bool | Callable[[float], None] | None:
    """Progress as `simulate` takes it: a bar in a terminal; in a log, if asked for, a line every few seconds."""
    if not asked or sys.stderr.isatty():
        return asked
    speak = seldom(-np.inf)
    return lambda fraction: speak(f"{100 * fraction:.3g} % done")


def summary(result: Result, files: list[Path]) -> Facts:
    """Statistics of a run as plain data."""
    stats = result.stats
    return {
        "robot": result.robot.name,
        "status": stats.status,
        "message": stats.message,
        "t_end": float(result.t[-1]),
        "rows": len(result),
        "formulation": result.options["formulation"],
        **{name: getattr(stats, name) for name in ("method", "reason", "steps", "rejected", "evaluations")},
        "wall_s": stats.wall,
        "compile_s": stats.compile,
        "energy_balance_j": _largest(result.energy_balance),
        "power_residual_w": _largest(result.power_residual),
        "events": [{"t": t, "name": name} for t, name in stats.events],
        "range": {
            name: [float(column.min()), float(column.max())] for name, column in zip(result.coordinates, result.q.T)
        },
        "tip_end": result.tip[-1].tolist(),
        "files": [str(path) for path in files],
    }


def _report(result: Result, files: list[Path], json: bool) -> None:
    facts = summary(result, files)
    if json:
        print_json(facts)
        return
    how = f"{facts['formulation']} and {facts['method']} in {facts['wall_s']:.2f} s, {facts['steps']} steps"
    typer.echo(f"{facts['robot']}: {facts['t_end']:g} s by {how}, {facts['status']}")
    ends = zip(facts["range"].items(), result.q[-1])
    rows = [(name, number(low), number(high), number(last)) for (name, (low, high)), last in ends]
    table((f"of {facts['rows']} samples", "least", "greatest", "at the end"), rows)
    for event in facts["events"]:
        typer.echo(f"t = {event['t']:.6g} s: {event['name']}")
    kinetic = float(result.energy.kinetic.max())
    typer.echo(f"energy balance within {facts['energy_balance_j']:.1e} J (greatest kinetic energy {kinetic:.4g} J)")
    for path in files:
        typer.echo(f"wrote {path}")


def _keep(chosen: Scenario, result: Result | None, folder: Path) -> None:
    """Write the part of a failed run that was computed; an error in writing must not hide why the run failed."""
    if result is None or not len(result):
        return
    try:
        files = _write_data(chosen, result, folder)
    except PliantError as error:
        say(f"warning: what had been computed could not be written: {error}")
    else:
        say(f"what had been computed is in {', '.join(map(str, files))}")


def _write_data(chosen: Scenario, result: Result, folder: Path) -> list[Path]:
    """Write NetCDF and CSV of an unfinished run; a second Ctrl-C waits until they are complete."""
    outputs = Outputs(netcdf=chosen.outputs.netcdf or "run.nc", csv=chosen.outputs.csv)
    with held_back():
        return chosen.model_copy(update={"outputs": outputs}).write(result, folder)


def _largest(values: Array) -> float:
    return float(np.abs(values).max(initial=0.0))
