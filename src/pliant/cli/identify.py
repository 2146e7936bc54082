"""`pliant identify`: fit an arm to measured runs."""

from __future__ import annotations

import json as json_text
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pliant.base.interrupts import held_back
from pliant.base.writing import atomic_write
from pliant.cli.options import Json, Packages, search_paths
from pliant.cli.output import Facts, fresh_folder, print_json, say
from pliant.errors import Interrupted, ModelError

if TYPE_CHECKING:
    from pliant.identification.estimate import Identification

PROGRESS = "progress.json"
"""File of a fit that has not ended."""


def command(
    study: Annotated[Path, typer.Argument(metavar="STUDY", help="Study file (YAML): robot, parameters, runs.")],
    out: Annotated[
        Path | None, typer.Option(help="Folder for the outputs; out/NAME of the study by default.", metavar="DIR")
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Continue an interrupted fit in the same folder.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Write into a folder that is not empty.")] = False,
    json: Json = False,
    package: Packages = None,
) -> None:
    """Fit parameters of an arm (stiffness, damping, payload, friction) to measured runs in CSV files.

    Gains, offsets and delays of readings and inputs may be fitted too.

    Writes the fitted arm (arm.yaml), the estimates with errors (estimates.json) and residual plots (residuals.png).
    """
    from pliant.identification.study_file import IdentificationStudy

    chosen = IdentificationStudy.load(study, search_paths=search_paths(package))
    target = out if out is not None else Path("out") / study.stem
    made = not target.exists()
    if resume and not (target / PROGRESS).exists():
        raise ModelError(f"--resume: no fit was interrupted in {target}; leave --resume out to begin one")
    folder = fresh_folder(target, force or resume)  # before the fit, which may take long
    if not resume:
        (folder / PROGRESS).unlink(missing_ok=True)
    try:
        found = chosen.run(folder / PROGRESS)
    except BaseException as error:  # leave no empty folder, whatever ends the fit
        if isinstance(error, Interrupted) and error.result is not None:
            _save(error.result, folder)
            say(f"the best that had been found is in {folder}; go on from there with --resume")
        elif not isinstance(error, KeyboardInterrupt):
            (folder / PROGRESS).unlink(missing_ok=True)
        if made and not any(folder.iterdir()):
            folder.rmdir()
        raise
    facts = _save(found, folder)
    found.plot(folder / "residuals.png")
    if json:
        print_json(facts)
        return
    typer.echo(f"{found.robot.name}: {len(found.channels)} channels, {found.evaluations} runs of the model")
    typer.echo(str(found))
    for name in ("arm.yaml", "estimates.json", "residuals.png"):
        typer.echo(f"wrote {folder / name}")


def _save(found: Identification, folder: Path) -> Facts:
    """Write the fitted arm and the estimates, while Ctrl-C waits; return the estimates."""
    facts = found.to_dict()
    with held_back():
        found.robot.save(folder / "arm.yaml")
        with atomic_write(folder / "estimates.json") as partial:
            partial.write_text(json_text.dumps(facts, indent=2, allow_nan=False) + "\n", encoding="utf-8")
    return facts
