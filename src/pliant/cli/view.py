"""`pliant view`: replay a result."""

from __future__ import annotations

import os
import sys
import tempfile
import time
import webbrowser
from collections.abc import Iterator
from contextlib import contextmanager
from html import escape
from pathlib import Path
from typing import Annotated, Any

import typer

from pliant.cli.output import say
from pliant.errors import ModelError
from pliant.simulation.runs.results import Result

Port = Annotated[int, typer.Option(help="Port on this machine; the next free one if it is taken.", min=1, max=65535)]
Host = Annotated[str, typer.Option(help="Address to listen at; one that other machines reach needs a token.")]
_MOST_TOKEN = 1 << 10


def _given_token(text: str | None) -> str | None:
    """Token of the command line; `-` means the first line of standard input."""
    return sys.stdin.readline(_MOST_TOKEN).strip() if text == "-" else text


Token = Annotated[
    str | None,
    typer.Option(
        help="Secret part of the address, 16 characters or more; random by default. Set PLIANT_TOKEN, or give - to "
        "read it from standard input: all users of a machine can list the arguments of its programs.",
        envvar="PLIANT_TOKEN",
        metavar="TEXT",
        callback=_given_token,
    ),
]
LEADING = """<!DOCTYPE html>
<meta charset="utf-8"><meta name="referrer" content="no-referrer"><title>pliant</title>
<meta http-equiv="refresh" content="0; url={address}">
<p>This page leads to <a href="{address}">pliant</a>.</p>
"""
Browser = Annotated[bool, typer.Option("--browser/--no-browser", help="Open a browser.")]


def command(
    result: Annotated[Path, typer.Argument(metavar="RESULT", help="Result file (run.nc).")],
    html: Annotated[
        Path | None,
        typer.Option(help="Write a self-contained page and open it, instead of starting a server.", metavar="FILE"),
    ] = None,
    video: Annotated[
        Path | None, typer.Option(help="Write a movie (.mp4, .gif) instead of starting a server.", metavar="FILE")
    ] = None,
    port: Port = 8080,
    host: Host = "127.0.0.1",
    token: Token = None,
    browser: Browser = True,
) -> None:
    """Replay a result in the browser, or write it as a page or a movie."""
    run = Result.load(result)
    if not len(run):
        raise ModelError(f"{result}: the result has no rows")
    if html is not None:
        written = run.to_html(html)
        typer.echo(f"wrote {written}")
        say_page(written, browser)
    if video is not None:
        typer.echo(f"wrote {run.to_video(video)}")
    if html is None and video is None:
        from pliant.viewer.browser.server import view

        serve(view(run, port, host, token), browser)


def say_page(path: Path, browser: bool) -> None:
    """Print the address of a page, and open it where a user sits at a screen."""
    address = path.resolve().as_uri()
    opened = browser and somebody_looks() and webbrowser.open(address)
    say(f"the arm in 3-D: {address}" + ("" if opened else "; open that address in a browser"))


def somebody_looks() -> bool:
    """Whether there is a terminal and a screen, outside continuous integration."""
    screen = sys.platform in ("darwin", "win32") or any(map(os.environ.get, ("DISPLAY", "WAYLAND_DISPLAY")))
    return sys.stdout.isatty() and screen and not os.environ.get("CI")


def serve(server: Any, browser: bool) -> None:
    """Print the address of a server, open a browser if there is one, and wait for Ctrl-C."""
    from pliant.viewer.browser.server import address

    try:
        where = address(server)
        with leading_page(where) as page:
            server.on_client_connect(lambda _: page.unlink(missing_ok=True))
            opened = browser and webbrowser.open(page.as_uri())
            if not opened:
                page.unlink(missing_ok=True)
            only = " (this machine only)" if server.gate.is_local else ""
            hint = "if the browser does not show it" if opened else "in a browser"
            say(f"at {where}{only}, Ctrl-C ends it; open that address {hint}")
            while True:
                time.sleep(3600)
    except KeyboardInterrupt:
        say("ended")
    finally:
        server.stop()


@contextmanager
def leading_page(address: str) -> Iterator[Path]:
    """Yield a page that leads a browser to an address with a token. Only this user can read the page, whereas all users
    of the machine can read the arguments of a browser."""
    with tempfile.TemporaryDirectory(prefix="pliant-") as folder:
        page = Path(folder).resolve() / "open.html"
        page.touch(mode=0o600)
        page.write_text(LEADING.format(address=escape(address)), encoding="utf-8")
        yield page
