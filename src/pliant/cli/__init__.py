"""The command line. A command is a module with a function `command`; this page lists them all."""

from __future__ import annotations

import io
import os
import sys
from importlib import import_module

from pliant.cli.application import app
from pliant.cli.output import say

COMMANDS = ("info", "frequencies", "simulate", "sweep", "identify", "count", "export", "reproduce", "bench", "view",
            "studio", "doctor", "cache")  # fmt: skip
for _name in COMMANDS:
    app.command(_name)(import_module(f"pliant.cli.{_name}").command)


def main() -> None:
    """Entry point of `pliant`."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # letters that the terminal has not
    try:
        try:
            app(prog_name="pliant")
        finally:
            if sys.stdout is not None:
                sys.stdout.flush()
    except OSError as error:  # of files there are messages: this is standard output itself
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if not isinstance(error, BrokenPipeError):  # the reader (head, less) has seen enough
            say(f"error: standard output: could not be written ({error.strerror or error})")
        sys.exit(1)
