"""`pliant studio`: a page where a user picks an arm, turns sliders, runs it, watches and compares."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pliant.studio.client import Visit, begin
from pliant.studio.files import Shelf
from pliant.studio.run import Workshop
from pliant.viewer.access import LOCAL
from pliant.viewer.server import address, start_server

LIMIT = 60.0
"""Seconds that a run may take: somebody else may want the processor."""


class Studio:
    """A folder of arms, scenarios and runs for visitors, each with a page of its own; `server` is viser's."""

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
        self.first = self.shelf.read(self.name)  # a file that cannot be read needs no server
        begin(self.first)
        self.visits: dict[int, Visit] = {}
        self.server = start_server(port, host, "pliant studio", token)
        self.server.on_client_disconnect(self._leave)
        self.server.on_client_connect(self._enter)

    def visit(self, page: Any) -> Visit:
        """A page for whoever looks at it."""
        return Visit(page, self.shelf, self.workshop, self.name, self.first, self.limit)

    def _enter(self, client: Any) -> None:
        self.visits[client.client_id] = self.visit(client)
        if client.client_id not in self.server.get_clients():  # gone while its page was made
            self._leave(client)

    def _leave(self, client: Any) -> None:
        visit = self.visits.pop(client.client_id, None)
        if visit is not None:
            visit.close()

    def close(self) -> None:
        """Stop the server."""
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
    """Start the studio for a folder; `address(studio.server)` says where it is."""
    return Studio(folder, first, port, host, token, limit)


__all__ = ["LIMIT", "Studio", "Visit", "address", "studio"]
