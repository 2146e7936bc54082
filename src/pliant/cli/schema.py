"""`pliant schema`: JSON schemas, with which editors complete and check files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Literal

import typer

from pliant.base.writing import atomic_write
from pliant.cli.output import Facts, print_json, say
from pliant.identification.study_file import IdentificationStudy
from pliant.model.robot import Robot
from pliant.robot.files.side_schema import side_schema
from pliant.robot.parts.fields import Document, document_schema
from pliant.simulation.scenario.scenario import Scenario
from pliant.sweeps.sweep_file import SweepStudy
from pliant.validation.recording_file import RecordingFile

Kind = Literal["robot", "side", "scenario", "sweep", "identification", "recording"]
DOCUMENTS: dict[str, type[Document]] = {
    "robot": Robot,
    "scenario": Scenario,
    "sweep": SweepStudy,
    "identification": IdentificationStudy,
    "recording": RecordingFile,
}
LINE = "# yaml-language-server: $schema="
"""Beginning of the first line of a file that an editor checks."""


def command(
    kind: Annotated[Kind, typer.Argument(help="Kind of file; a side file has the flexible parts of a URDF arm.")],
    out: Annotated[
        Path | None,
        typer.Option(help="Write to a file, and print the line with which editors find it.", metavar="FILE"),
    ] = None,
) -> None:
    """Print the JSON schema of a kind of file, with which editors complete keys and mark mistakes."""
    made = schema_of(kind)
    if out is None:
        print_json(made)
        return
    with atomic_write(out) as partial:
        partial.write_text(json.dumps(made, indent=1) + "\n", encoding="utf-8")
    say(f"wrote {out}; an editor uses it for a file beside it whose first line is")
    typer.echo(f"{LINE}{out.name}")


def schema_of(kind: Kind) -> Facts:
    """Schema of one kind of file."""
    return side_schema() if kind == "side" else document_schema(DOCUMENTS[kind])
