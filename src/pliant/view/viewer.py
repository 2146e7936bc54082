"""Replay of a result in a browser by viser, and the server that the studio uses too."""

from __future__ import annotations

from typing import Any

import numpy as np

from pliant.errors import extra
from pliant.runs.results import Result
from pliant.view.scene import scene_of
from pliant.view.stage import Stage


def viser() -> Any:
    """The library, or a message that says how to get it."""
    return extra("viser", 'the viewer needs viser: pip install "pliant[studio]"')


def start_server(port: int, host: str = "127.0.0.1", label: str = "pliant") -> Any:
    """A server that only this machine reaches, on `port` or the next free one."""
    import logging

    logging.getLogger("websockets.server").setLevel(logging.CRITICAL)  # a browser that leaves is no error
    server = viser().ViserServer(host=host, port=port, label=label, verbose=False)
    server.gui.configure_theme(control_width="large", show_logo=False, show_share_button=False)
    if hasattr(server.gui, "main_panel"):  # viser 1.1 and later
        server.gui.main_panel.dock_right()
    server.scene.configure_default_lights(enabled=True, cast_shadow=False)
    return server


def address(server: Any) -> str:
    """Where a browser finds it."""
    return f"http://{server.get_host()}:{server.get_port()}"


def view(result: Result, port: int = 8080) -> Any:
    """Replay a result in the browser; returns the viser server, which runs until it is stopped."""
    server = start_server(port, label=result.robot.name)
    stage = Stage(server)
    duration = float(result.t[-1] - result.t[0])
    stage.show(scene_of(result, int(np.clip(60 * duration, 200, 1200))))
    server.gui.add_markdown(
        f"**{result.robot.name}**  \n{result.t[-1]:g} s by {result.options['formulation']} and {result.stats.method}"
    )
    return server
