"""`pliant sweep`: run a scenario at many points."""

from __future__ import annotations

import importlib
import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import numpy as np
import typer

from pliant.cli.application import FAILED
from pliant.cli.options import Json, Packages, search_paths
from pliant.cli.output import Facts, number, print_json, say, seldom, table
from pliant.errors import ModelError

if TYPE_CHECKING:
    from pliant.sweeps.points import UserFunction

MOST_SHOWN = 5


def command(
    study: Annotated[Path, typer.Argument(metavar="STUDY", help="Study file (YAML): scenario, vary, sample, metrics.")],
    out: Annotated[
        Path | None,
        typer.Option(
            help="Folder for the outputs; out/NAME of the study by default. A sweep in it is continued.", metavar="DIR"
        ),
    ] = None,
    workers: Annotated[int | None, typer.Option(help="Number of local processes; all cores by default.")] = None,
    scheduler: Annotated[
        str | None, typer.Option(help="Dask scheduler to run on, such as tcp://10.0.0.1:8786.", metavar="ADDRESS")
    ] = None,
    function: Annotated[
        str | None,
        typer.Option(help="Function of a Result with your own metrics, as package.module:name.", metavar="NAME"),
    ] = None,
    retry_failed: Annotated[bool, typer.Option("--retry-failed", help="Run failed points again.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Start again in the folder of another sweep.")] = False,
    json: Json = False,
    package: Packages = None,
) -> None:
    """Run a scenario many times with some of its numbers varied.

    You may stop it at any time: the same command continues, and finished points do not run again. Exit code 1 if points
    failed.
    """
    from pliant.sweeps.sweep import sweep
    from pliant.sweeps.sweep_file import SweepStudy

    folder = out if out is not None else Path("out") / study.stem
    speak = seldom(time.monotonic())
    chosen = SweepStudy.load(study, search_paths=search_paths(package))
    result = sweep(
        chosen, folder, workers=workers, scheduler=scheduler, function=_function(function), retry_failed=retry_failed,
        force=force, progress=lambda done, total: speak(f"{done} of {total} points"),
    )  # fmt: skip
    finished = {name: column[np.isfinite(column)] for name, column in result.metrics.items()}
    if json:
        facts: Facts = {
            "points": len(result),
            "failed": {str(k): message for k, message in result.failed.items()},
            "metrics": {
                name: {"least": float(v.min()), "mean": float(v.mean()), "greatest": float(v.max())} if len(v) else None
                for name, v in finished.items()
            },
            "folder": str(folder),
        }
        print_json(facts)
    else:
        typer.echo(f"{len(result)} points, {len(result.failed)} failed; see {folder}")
        rows = [(n, number(v.min()), number(v.mean()), number(v.max())) for n, v in finished.items() if len(v)]
        table(("metric", "least", "mean", "greatest"), rows)
    for k, message in list(result.failed.items())[:MOST_SHOWN]:
        say(f"point {k} failed: {message}")
    if len(result.failed) > MOST_SHOWN:
        say(f"... and {len(result.failed) - MOST_SHOWN} more, in table.csv")
    if result.failed:
        raise typer.Exit(FAILED)


def _function(name: str | None) -> UserFunction | None:
    """Function of the user by the text of `--function`."""
    if name is None:
        return None
    module, _, attribute = name.partition(":")
    sys.path.insert(0, os.getcwd())
    try:
        found: UserFunction = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError, ValueError) as error:
        raise ModelError(f"--function {name!r}: cannot be imported ({error}); expected package.module:name") from None
    if not callable(found):
        raise ModelError(f"--function {name!r}: is not a function")
    return found
