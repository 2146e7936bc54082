"""The command line. A command is a module with a function `command`; this page lists them all."""

from __future__ import annotations

import io
import os
import sys
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

from pliant.cli import application
from pliant.cli.output import say

if TYPE_CHECKING:
    from typer import Typer

    app: Typer

COMMANDS = ("info", "frequencies", "simulate", "shape", "sweep", "identify", "validate", "count", "export", "reproduce",
            "bench", "view", "studio", "schema", "doctor", "cache", "body")  # fmt: skip


@cache
def _add(name: str) -> None:
    module = import_module(f"pliant.cli.{name}")
    if hasattr(module, "group"):  # commands of its own
        application.app.add_typer(module.group, name=name)
    else:
        application.app.command(name)(module.command)


def _application(names: tuple[str, ...]) -> Any:
    """The application with these commands."""
    for name in names:
        _add(name)
    return application.app


def __getattr__(name: str) -> Any:
    """`app` has all commands."""
    if name != "app":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return _application(COMMANDS)


def main() -> None:
    """Entry point of `pliant`."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # letters that the terminal has not
    try:
        try:
            asked = tuple(word for word in sys.argv[1:2] if word in COMMANDS)
            _application(asked or COMMANDS)(prog_name="pliant")  # a command alone needs none of the others
        finally:
            if sys.stdout is not None:
                sys.stdout.flush()
    except OSError as error:  # of files there are messages: this is standard output itself
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if not isinstance(error, BrokenPipeError):  # the reader (head, less) has seen enough
            say(f"error: standard output: could not be written ({error.strerror or error})")
        sys.exit(1)
