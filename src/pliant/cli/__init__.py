"""The command line. A command is a module with a function `command`; this page lists them all."""

from __future__ import annotations

import os
import sys

from pliant.cli import (
    bench,
    cache,
    count,
    doctor,
    export,
    frequencies,
    identify,
    info,
    reproduce,
    simulate,
    studio,
    sweep,
    view,
)
from pliant.cli.application import app

for _module in (
    info,
    frequencies,
    simulate,
    sweep,
    identify,
    count,
    export,
    reproduce,
    bench,
    view,
    studio,
    doctor,
    cache,
):
    app.command(_module.__name__.rsplit(".", 1)[-1])(_module.command)


def main() -> None:
    """Entry point of `pliant`."""
    try:
        app(prog_name="pliant")
    except BrokenPipeError:  # the reader (head, less) has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
