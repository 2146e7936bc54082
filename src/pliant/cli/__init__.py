"""Command line. A command is a module with a function `command`, or a `group` of commands; `COMMANDS` lists them."""

from __future__ import annotations

import contextlib
import io
import os
import signal
import sys
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

from pliant.base.started import INTERRUPTED, leave
from pliant.version import plugins

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType

    from typer import Typer

    app: Typer
    Handler = Callable[[int, FrameType | None], Any] | int | None
    """Handler of a signal."""

COMMANDS = {
    "info": "show an arm: links, masses, coordinates, frequencies",
    "frequencies": "show natural frequencies of an arm and of its links",
    "simulate": "run a scenario, or an arm by itself",
    "plan": "plan a motion without residual vibration",
    "sweep": "run a scenario many times, with numbers varied",
    "identify": "fit parameters of an arm to recordings",
    "validate": "compare a simulated arm with a recording",
    "export": "write C, FMU, CUDA, Python, LaTeX, URDF or MuJoCo files",
    "body": "make links from finite elements",
    "view": "replay a saved run in the browser, or as a page or movie",
    "studio": "open an interactive page with sliders",
    "count": "count operations of the equations of motion",
    "reproduce": "reproduce published papers and measured arms",
    "bench": "compare speed with other programs",
    "schema": "print the JSON schema of a kind of file, for editors",
    "doctor": "check the installation",
    "cache": "show or clear the cache of compiled functions",
}
"""Commands in the order of the overview, with what they do in one line of a terminal of 80 columns."""
PLUGINS = ("reproduce", "bench")
"""Commands of packages that use pliant, found by the entry points `pliant.commands`."""


@cache
def _add(name: str) -> None:
    """Add a command to the application."""
    from pliant.cli import application

    module = plugins("pliant.commands")[name].load() if name in PLUGINS else import_module(f"pliant.cli.{name}")
    if hasattr(module, "group"):  # subcommands
        application.app.add_typer(module.group, name=name, short_help=COMMANDS[name])
    else:
        application.app.command(name, short_help=COMMANDS[name])(module.command)


def _application(names: tuple[str, ...]) -> Typer:
    """Application with these commands."""
    from pliant.cli import application

    for name in names:
        _add(name)
    return application.app


def __getattr__(name: str) -> Typer:
    """Make `app`, which has all commands, on first use."""
    if name != "app":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return _application(tuple(COMMANDS))


def main() -> None:
    """Entry point of `pliant`: Ctrl-C gives one line and exit code 130, from the first import on."""
    before = signal.getsignal(signal.SIGINT)
    if before is leave:  # since the package was imported
        before = signal.default_int_handler
    elif before is signal.default_int_handler:
        signal.signal(signal.SIGINT, leave)
    try:
        _run(before)
    except KeyboardInterrupt as stopped:
        if before is signal.default_int_handler:
            signal.signal(signal.SIGINT, signal.SIG_IGN)  # the process ends anyway
        _say(str(stopped) or "interrupted")
        sys.exit(INTERRUPTED)
    finally:
        if before is signal.default_int_handler:
            signal.signal(signal.SIGINT, signal.SIG_IGN)


def _say(text: str) -> None:
    """Print a message to the user, if standard error can be written."""
    with contextlib.suppress(OSError, AttributeError):
        print(text, file=sys.stderr, flush=True)


def _run(handler: Handler) -> None:
    """Import the command that is asked for, and run it with this handler of Ctrl-C."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # characters that the terminal lacks
    try:
        try:
            asked = tuple(word for word in sys.argv[1:2] if word in COMMANDS)
            run = _application(asked or tuple(COMMANDS))  # one command does not import the others
            signal.signal(signal.SIGINT, handler)
            run(prog_name="pliant")
        finally:
            if sys.stdout is not None:
                sys.stdout.flush()
    except OSError as error:  # of files others tell in messages: this is standard output itself
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if not isinstance(error, BrokenPipeError):  # the reader (head, less) has seen enough
            _say(f"error: standard output: could not be written ({error.strerror or error})")
        sys.exit(1)
