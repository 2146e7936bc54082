"""Application of the command line, which turns errors into messages and exit codes.

Exit codes: 0 success; 1 a run failed; 2 a mistake of the user (a wrong file, key or option); 130 Ctrl-C.
"""

from __future__ import annotations

import warnings
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from pliant.base.started import INTERRUPTED
from pliant.cli.output import say
from pliant.errors import ModelError, PliantError, UnsupportedModel
from pliant.version import VERSION

FAILED, MISTAKEN = 1, 2


class _Commands(TyperGroup):
    """Commands whose errors become one message on standard error."""

    def invoke(self, ctx: Any) -> Any:
        with warnings.catch_warnings():
            warnings.showwarning = lambda message, *_, **__: say(f"warning: {message}")
            try:
                return super().invoke(ctx)
            except PliantError as error:
                code = MISTAKEN if isinstance(error, ModelError | UnsupportedModel) else FAILED
                say(f"error: {error}")
            except KeyboardInterrupt as stopped:
                code = INTERRUPTED
                say(str(stopped) or "interrupted")
        raise typer.Exit(code)


app = typer.Typer(
    cls=_Commands,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"pliant {VERSION}")
        raise typer.Exit


@app.callback()
def _all(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Robot arms whose links and joints bend: describe, analyze, simulate."""
