"""`pliant studio`: an interactive page with sliders, maneuvers and runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pliant.cli.view import Browser, Host, Port, Token, serve
from pliant.errors import ModelError
from pliant.robot.files.error_messages import suggestion
from pliant.robot.files.robot_files import arms


def command(
    file: Annotated[
        str | None,
        typer.Argument(
            metavar="[FILE]", help="Robot or scenario file, a folder of them, or the name of a bundled arm."
        ),
    ] = None,
    port: Port = 8080,
    host: Host = "127.0.0.1",
    token: Token = None,
    limit: Annotated[float, typer.Option(help="Most seconds of a run.", min=0.1)] = 60.0,
    browser: Browser = True,
) -> None:
    """Open the studio in a browser. It reads and writes only the folder of FILE, or the current folder without FILE."""
    folder, first = _place(file)
    from pliant.studio.studio import studio

    serve(studio(folder, first, port, host, token, limit).server, browser)


def _place(file: str | None) -> tuple[Path, str | None]:
    """Folder of the studio, and the name of what it opens first."""
    if file is None or file in arms():
        return Path.cwd(), file
    path = Path(file)
    if path.is_dir():
        return path, None
    if not path.is_file():
        raise ModelError(f"{file}: no such file, and no bundled arm{suggestion(file, arms())}")
    return path.parent, path.name
