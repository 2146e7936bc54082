"""`pliant reproduce`: experiments of the papers, their figures, and a verdict on every claim."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from pliant.cli.options import Json
from pliant.cli.output import print_json, say, table
from pliant.errors import ModelError

ALL = "all"


def command(
    study: Annotated[
        str,
        typer.Argument(
            metavar="[STUDY]",
            help="all, korayem-shafei, theodore-ghosal, flexible-joints, mohan-saha, cibicik-egeland or rigs.",
        ),
    ] = ALL,
    out: Annotated[Path, typer.Option(help="Folder for the reports.", metavar="DIR")] = Path("out/reproduction"),
    quick: Annotated[bool, typer.Option("--quick", help="Fewer and shorter runs: about a minute for all.")] = False,
    jobs: Annotated[int | None, typer.Option(help="Number of studies at a time; two by default.")] = None,
    json: Json = False,
) -> None:
    """Reproduce published papers and measured arms: figures, tables, and a verdict on every claim."""
    from pliant_studies import NAMES, reproduce

    if study != ALL and study not in NAMES:
        raise ModelError(f"study: got {study!r}, expected {ALL} or one of {', '.join(NAMES)}")
    if jobs is not None and jobs < 1:
        raise ModelError(f"--jobs: got {jobs}, expected at least 1")
    names = NAMES if study == ALL else (study,)
    together = jobs or min(2, os.cpu_count() or 1)
    with _bar(names, quick) as tell:
        found = reproduce(names, out, quick, tell, together)
    if json:
        checks = {name: [check.to_dict() for check in some] for name, some in found.items()}
        print_json({"out": str(out), "quick": quick, "studies": checks})
        return
    from pliant_studies.checks import VERDICTS

    rows = [(name, *(str(sum(c.verdict == v for c in some) or "-") for v in VERDICTS)) for name, some in found.items()]
    table(("study", *VERDICTS), rows)
    page = out / "index.html" if len(names) > 1 else out / names[0] / "report.html"
    say(f"report: {page}")


@contextmanager
def _bar(names: Sequence[str], quick: bool) -> Iterator[Callable[[str, str], None]]:
    """Show a progress bar over all steps in a terminal, else one line when a study begins."""
    from pliant_studies import study

    steps = {name: study(name).steps[0 if quick else 1] + DRAWN for name in names}
    if not sys.stderr.isatty():
        seen: set[str] = set()

        def line(name: str, step: str) -> None:
            if name not in seen:
                seen.add(name)
                say(f"{name} ...")

        yield line
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description:16}"), BarColumn(), TextColumn("{task.fields[step]:40}"))
    with Progress(*columns, TimeElapsedColumn(), console=Console(stderr=True)) as progress:
        tasks = {name: progress.add_task(name, total=count, step="waiting") for name, count in steps.items()}

        def advance(name: str, step: str) -> None:
            progress.update(tasks[name], advance=1, step=step)

        yield advance
        for task in tasks.values():
            progress.update(task, completed=1, total=1, step="done")


DRAWN = 12
"""Approximate number of figures of a study, for the length of the bar."""
