"""Replay of a result in a browser by viser; and the server, which the studio uses too."""

from __future__ import annotations

import warnings
from contextlib import redirect_stdout
from functools import wraps
from io import StringIO
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from pliant.base.quoting import quoted
from pliant.errors import UnsupportedModel, extra, install
from pliant.simulation.runs.results import Result
from pliant.viewer.browser.access import LOCAL, Gate
from pliant.viewer.browser.plot_column import PlotColumn
from pliant.viewer.browser.upload_limits import bound_uploads
from pliant.viewer.browser.viewer_scene import Stage
from pliant.viewer.scenes.scene import scene_of

if TYPE_CHECKING:
    from viser import ViserServer


def viser() -> ModuleType:
    """Import viser; raises an error that says how to install it."""
    message = f"viewer and studio need viser, which the extra `studio` brings; {install('studio')}"
    found: ModuleType = extra("viser", message)
    return found


def start_server(port: int, host: str = LOCAL[0], label: str = "pliant", token: str | None = None) -> ViserServer:
    """Start a server behind a `Gate`, on `port` or the next free one; nobody can ask it for a tunnel to other
    machines."""
    import logging

    gate, library = Gate.of(host, token), viser()

    class Server(library.ViserServer):  # type: ignore[misc,name-defined]
        """Server without the tunnel to the internet that viser opens when a page asks for it."""

        def request_share_url(self, verbose: bool = True) -> None:
            """Do nothing: there is no tunnel."""

        def disconnect_share_url(self) -> None:
            """Do nothing: there is no tunnel."""

    from websockets.asyncio import server as websockets

    warnings.filterwarnings("ignore", message="Queued a .* on a closed connection")  # nor is it what it misses then
    logging.getLogger("websockets.server").setLevel(logging.CRITICAL)  # a browser that leaves is no error
    _mend_pushing()
    with gate.before(websockets) as guarded, redirect_stdout(StringIO()):  # viser prints an address without the token
        server = Server(host=host, port=port, label=label, verbose=False)
    if not guarded:
        server.stop()
        raise UnsupportedModel("viser: this version starts its server where pliant cannot guard it; install viser 1.1")
    server.gate = gate
    server.gui.configure_theme(control_width="large", show_logo=False, show_share_button=False)
    server.gui.main_panel.dock_right()
    server.scene.configure_default_lights(enabled=True, cast_shadow=False)
    server.scene.configure_environment_map(hdri=None)  # in software, nearly all of the first picture
    server.scene.add_light_hemisphere("/sky", ground_color=(150, 150, 160), intensity=3.0, position=(0.0, 0.0, 1.0))
    return server


def _mend_pushing() -> None:
    """Repair a race of viser. It wakes its loop from other threads by an event that the loop may be looking at, and
    then fails ("deque mutated during iteration"), about once in some thousand runs. The message is in the buffer by
    then, so that only the loop has to be woken, in the way that threads may."""
    from viser.infra import _async_message_buffer as buffers

    push = buffers.AsyncMessageBuffer.push
    if getattr(push, "mended", False):
        return

    @wraps(push)
    def pushed(self: Any, message: Any) -> None:
        try:
            push(self, message)
        except RuntimeError as error:
            if "mutated during iteration" not in str(error):
                raise
            self.event_loop.call_soon_threadsafe(self.message_event.set)

    pushed.mended = True  # type: ignore[attr-defined]
    buffers.AsyncMessageBuffer.push = pushed  # type: ignore[method-assign]


def address(server: Any) -> str:
    """URL of a server that `start_server` gave, token included."""
    gate: Gate = server.gate
    return gate.address(server.get_port())


def view(result: Result, port: int = 8080, host: str = LOCAL[0], token: str | None = None) -> ViserServer:
    """Replay a result in the browser, with plots that follow the clock; returns the viser server, which runs until it
    is stopped."""
    server = start_server(port, host, result.robot.name, token)
    bound_uploads(server, lambda _: None)  # it asks for no file
    stage, plots = Stage(server), PlotColumn(server)
    stage.watch(plots.move)
    with server.gui.add_folder("Plots"):
        plots.choices()
    plots.show(result, {})
    duration = float(result.t[-1] - result.t[0])
    stage.show(scene_of(result, int(np.clip(60 * duration, 200, 1200))))
    how = f"{result.t[-1]:g} s by {result.options['formulation']} and {result.stats.method}"
    server.gui.add_markdown(f"**{quoted(result.robot.name, 'markdown')}**  \n{quoted(how, 'markdown')}")
    return server
