"""`pliant cache`: compiled kernels and their records on disk."""

from __future__ import annotations

from typing import Annotated

import typer

from pliant.cli.options import Json
from pliant.cli.output import megabytes, print_json
from pliant.compute.llvm import cache


def command(
    clear: Annotated[bool, typer.Option("--clear", help="Remove everything in the cache.")] = False, json: Json = False
) -> None:
    """Show or clear the cache of compiled kernels. Clearing it costs only the time of compiling again."""
    removed = cache.clear() if clear else None
    refused = cache.distrust()
    facts = {
        "location": str(cache.location()),
        "kernels": cache.entries(),
        "bytes": cache.size(),
        "limit": cache.LIMIT,
        "used": refused is None,
    }
    if json:
        print_json(facts if removed is None else {**facts, "removed": removed})
        return
    if removed is not None:
        typer.echo(f"removed {removed} kernels and records")
    taken = f"{megabytes(cache.size())} of at most {megabytes(cache.LIMIT)}"
    typer.echo(f"{facts['location']}: {facts['kernels']} kernels and records, {taken}")
    if refused is not None:
        typer.echo(f"It is not used: {refused}. It has to belong to you, and nobody else may be able to write it.")
    typer.echo("PLIANT_CACHE_DIR chooses another folder.")
