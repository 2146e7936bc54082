"""Who may talk to the viewer and the studio: whoever has the address that was printed, and no page of another site.

Every web page that a browser shows may open connections to programs on the same machine. So a request has to carry the
token of the printed address as the first part of its path; its `Host` has to be a name of this machine (another name
may have been pointed here by whoever owns it); and a browser's `Origin` has to be the page that this server gave out.
viser has no such check: it is put in front of viser's own answer to every request, pages and websockets alike.
"""

from __future__ import annotations

import hmac
import ipaddress
import re
import secrets
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urlsplit

from pliant.errors import ModelError

ANYWHERE = ("", "0.0.0.0", "::")
LOCAL = ("127.0.0.1", "localhost", "::1")
LARGEST_MESSAGE = 4 << 20
"""Bytes of a message of a page; parts of files have half a MiB."""
MOST_WAITING = 64
"""Connections that have not yet said what they want; the oldest gives way to another."""
_patching = threading.Lock()


@dataclass(frozen=True)
class Gate:
    """The check of a server that listens at `host`."""

    host: str
    token: str

    @classmethod
    def of(cls, host: str, token: str | None) -> Gate:
        """With a token of its own where none is given; a server that other machines reach needs a given one."""
        made = cls(host, token or secrets.token_urlsafe(18))
        if token is None and not made.is_local:
            raise ModelError(
                f"host: got {host!r}, which other machines may reach, expected 127.0.0.1; set a token as well "
                "(the environment variable PLIANT_TOKEN, or --token) if that is meant"
            )
        if token is not None and not re.fullmatch(r"[A-Za-z0-9_-]{16,}", token):
            raise ModelError(
                "token: got one that is short or has other characters, expected 16 or more letters, digits, - and _"
            )
        return made

    @property
    def is_local(self) -> bool:
        """Whether only this machine reaches it."""
        return self.host == "localhost" or (_is_address(self.host) and ipaddress.ip_address(self.host).is_loopback)

    def refusal(self, path: str, headers: Any) -> str | None:
        """Why a request is turned away; None if it may pass."""
        hosts, origins = headers.get_all("Host"), headers.get_all("Origin")
        if len(hosts) != 1 or not self._is_ours(hosts[0]):
            return "this name is not one of this server's"
        if any(origin not in (f"http://{hosts[0]}", f"https://{hosts[0]}") for origin in origins):
            return "the request comes from a page of another site"
        if not hmac.compare_digest(_split(path)[0].encode(), self.token.encode()):
            return "the address lacks its token; open the address that the command printed"
        return None

    def _is_ours(self, host: str) -> bool:
        """Whether a `Host` is this machine: any port, since a tunnel may lead here from another."""
        try:
            name = urlsplit(f"//{host}").hostname or ""
        except ValueError:
            return False
        if self.is_local:
            return name in (*LOCAL, self.host)
        own = {*LOCAL, self.host.lower(), socket.gethostname().lower(), socket.getfqdn().lower()}
        return name in own or _is_address(name)  # nobody can point a number elsewhere

    def address(self, port: int) -> str:
        """What a user opens."""
        name = socket.gethostname() if self.host in ANYWHERE else self.host
        return f"http://{f'[{name}]' if ':' in name else name}:{port}/{self.token}/"

    @contextmanager
    def before(self, module: Any) -> Iterator[list[str]]:
        """While a server starts by `module.serve`, put the check in front of it; yields one entry per server."""
        serve, put = module.serve, []

        def guarded(*arguments: Any, **options: Any) -> Any:
            put.append("guarded")
            ours = {
                "process_request": self._guard(options.get("process_request")),
                "create_connection": _giving_way(module.ServerConnection),
                "max_size": LARGEST_MESSAGE,
            }
            return serve(*arguments, **{**options, **ours})

        with _patching:
            module.serve = guarded
            try:
                yield put
            finally:
                module.serve = serve

    def _guard(self, answer: Callable[[Any, Any], Any] | None) -> Callable[[Any, Any], Any]:
        def guarded(connection: Any, request: Any) -> Any:
            reason = self.refusal(request.path, request.headers)
            if reason is not None:
                return connection.respond(403, f"Refused: {reason}.\n")
            inner = replace(request, path=_split(request.path)[1])
            response = None if answer is None else answer(connection, inner)
            if response is not None:
                response.headers["Referrer-Policy"] = "no-referrer"  # the address has the token
            return response

        return guarded


def _giving_way(kind: type[Any]) -> type[Any]:
    """Connections of which only so many wait: others could open all that the system has, and say nothing."""
    from websockets.protocol import State

    class Connection(kind):  # type: ignore[misc]
        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            here = [one for one in self.server.handlers if not one.transport.is_closing()]
            waiting = [one for one in here if one.state is State.CONNECTING]
            if len(waiting) > MOST_WAITING:
                waiting[0].transport.abort()

    return Connection


def _split(path: str) -> tuple[str, str]:
    """The first part of a path, and the path without it."""
    first, slash, rest = path.removeprefix("/").partition("/")
    return (first, slash + rest) if slash else (first.partition("?")[0], "/")


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True
