"""The command line. A command is a module with a function `command`; this page lists them all."""

from __future__ import annotations

import os
import sys
from importlib import import_module

from pliant.cli.application import app

COMMANDS = ("info", "frequencies", "simulate", "sweep", "identify", "count", "export", "reproduce", "bench", "view",
            "studio", "doctor", "cache")  # fmt: skip
for _name in COMMANDS:
    app.command(_name)(import_module(f"pliant.cli.{_name}").command)


def main() -> None:
    """Entry point of `pliant`."""
    try:
        app(prog_name="pliant")
    except BrokenPipeError:  # the reader (head, less) has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
