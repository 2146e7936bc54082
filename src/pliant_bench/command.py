"""`pliant bench`: pliant and whatever peers are installed, side by side."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pliant.cli.application import FAILED
from pliant.cli.options import Json
from pliant.cli.output import fresh_folder, print_json, say, table
from pliant_bench.part_names import PARTS

if TYPE_CHECKING:
    from pliant_bench.findings import Report


def command(
    parts: Annotated[
        list[str] | None,
        typer.Argument(metavar="[PART]...", help=f"{', '.join(PARTS)}; all by default."),
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder for bench.md, bench.json and the plot.", metavar="DIR")] = Path(
        "out/bench"
    ),
    quick: Annotated[
        bool, typer.Option("--quick", help="A smoke run of about a minute; its numbers mean nothing.")
    ] = False,
    json: Json = False,
) -> None:
    """Measure pliant beside its peers: the same arm, the same motion, accuracy and time, as ratios.

    Installs nothing: peers that are absent are named and left out. Exit code 1 if a peer that is there fails.
    """
    from pliant_bench.session import TABLE, bench, chosen

    wanted = chosen(parts or ())
    folder = fresh_folder(out, force=True)
    try:
        report, data = bench(folder, wanted, quick, say)
    except KeyboardInterrupt:
        say(f"what was measured so far: {folder / TABLE}")
        raise
    if json:
        print_json(data)
    else:
        _show(report)
    for line in (*report.failures, *report.notes):
        say(line)
    if quick:
        say("a quick run: it shows that everything works, its numbers mean nothing")
    say(f"table: {folder / TABLE}")
    if report.failures:
        raise typer.Exit(FAILED)


def _show(report: Report) -> None:
    from pliant_bench.markdown import duration, times

    rows = []
    for c in report.comparisons:
        engines, seconds = zip(*((side.engine, duration(side.seconds)) for side in (c.ours, c.peer)))
        rows.append((c.arm, c.task, *engines, *seconds, times(c.ratio), report.machine))
    table(("arm", "task", "ours", "peer", "ours", "peer", "ratio", "measured on"), rows, left=4)
    for text, met in report.all_verdicts():
        typer.echo(f"{'met' if met else 'NOT MET'}: {text}")
