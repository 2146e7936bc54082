"""Server of `pliant studio`: a page where a user chooses an arm, moves sliders, runs it, watches and compares."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from pliant.studio.client import Visit, begin
from pliant.studio.files import Shelf
from pliant.studio.run import Workshop
from pliant.viewer.browser.access import LOCAL
from pliant.viewer.browser.server import address, start_server

if TYPE_CHECKING:
    from viser import ClientHandle

    from pliant.viewer.browser.viewer_meshes import Page

LIMIT = 60.0
"""Most seconds of a run: another visitor may want the processor."""


class Studio:
    """A folder of arms, scenarios and runs for visitors, each with a page of its own; `server` is that of viser."""

    def __init__(
        self,
        folder: Path,
        first: str | None = None,
        port: int = 8080,
        host: str = LOCAL[0],
        token: str | None = None,
        limit: float = LIMIT,
    ) -> None:
        self.shelf, self.workshop, self.limit = Shelf(folder), Workshop(), limit
        self.name = first or "two-link"
        self.first = self.shelf.read(self.name)  # raises before the server starts
        begin(self.first)
        self.visits: dict[int, Visit] = {}
        self.server = start_server(port, host, "pliant studio", token)
        self.server.on_client_disconnect(self._leave)
        self.server.on_client_connect(self._enter)

    def visit(self, page: Page) -> Visit:
        """Start the visit of a page."""
        return Visit(page, self.shelf, self.workshop, self.name, self.first, self.limit)

    def _enter(self, client: ClientHandle) -> None:
        self.visits[client.client_id] = self.visit(client)
        if client.client_id not in self.server.get_clients():  # gone while its page was made
            self._leave(client)

    def _leave(self, client: ClientHandle) -> None:
        visit = self.visits.pop(client.client_id, None)
        if visit is not None:
            visit.close()

    def close(self) -> None:
        """Stop all visits and the server."""
        for visit in list(self.visits.values()):
            visit.close()
        self.server.stop()


def studio(
    folder: Path,
    first: str | None = None,
    port: int = 8080,
    host: str = LOCAL[0],
    token: str | None = None,
    limit: float = LIMIT,
) -> Studio:
    """Start the studio for a folder; `address(studio.server)` gives its URL."""
    return Studio(folder, first, port, host, token, limit)


__all__ = ["LIMIT", "Studio", "Visit", "address", "studio"]
