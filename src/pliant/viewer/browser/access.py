"""Access to the viewer and the studio: only with the printed address, and never from a page of another site.

Any web page that a browser shows may open connections to programs on the same machine. So three things are checked of
every request. Its path must begin with the token of the printed address. Its `Host` must be a name of this machine,
because the owner of another name may let it point here. A browser's `Origin` must be the page that this server sent.
viser has no such check. It is put in front of viser's own answer to every request, for pages and websockets alike.
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
from typing import TYPE_CHECKING, Any, TypeAlias
from urllib.parse import urlsplit

from pliant.errors import ModelError

if TYPE_CHECKING:
    from websockets.asyncio.server import ServerConnection
    from websockets.datastructures import Headers
    from websockets.http11 import Request, Response

    Answer: TypeAlias = Callable[[ServerConnection, Request], Response | None]
    """Answer to a request before a websocket is opened; None to open it."""

ANYWHERE = ("", "0.0.0.0", "::")
LOCAL = ("127.0.0.1", "localhost", "::1")
LARGEST_MESSAGE = 4 << 20
"""Most bytes of a message of a page; parts of files have half a MiB."""
MOST_WAITING = 64
"""Most connections that have not yet sent their request; then the oldest is closed."""
_patching = threading.Lock()


@dataclass(frozen=True)
class Gate:
    """The check of a server that listens at `host`."""

    host: str
    token: str

    @classmethod
    def of(cls, host: str, token: str | None) -> Gate:
        """Make a gate, with a random token if none is given; a server that other machines reach needs a given one."""
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

    def refusal(self, path: str, headers: Headers) -> str | None:
        """Reason to refuse a request; None if it may pass."""
        hosts, origins = headers.get_all("Host"), headers.get_all("Origin")
        if len(hosts) != 1 or not self._is_ours(hosts[0]):
            return "this name is not one of this server's"
        if any(origin not in (f"http://{hosts[0]}", f"https://{hosts[0]}") for origin in origins):
            return "the request comes from a page of another site"
        if not hmac.compare_digest(_split(path)[0].encode(), self.token.encode()):
            return "the address lacks its token; open the address that the command printed"
        return None

    def _is_ours(self, host: str) -> bool:
        """Whether a `Host` names this machine; any port, since a tunnel may lead here from another."""
        try:
            name = urlsplit(f"//{host}").hostname or ""
        except ValueError:
            return False
        if self.is_local:
            return name in (*LOCAL, self.host)
        own = {*LOCAL, self.host.lower(), socket.gethostname().lower(), socket.getfqdn().lower()}
        return name in own or _is_address(name)  # nobody can point a number elsewhere

    def address(self, port: int) -> str:
        """URL that a user opens."""
        name = socket.gethostname() if self.host in ANYWHERE else self.host
        return f"http://{f'[{name}]' if ':' in name else name}:{port}/{self.token}/"

    @contextmanager
    def before(self, module: Any) -> Iterator[list[str]]:
        """Put the check in front of every server that `module.serve` starts meanwhile; yield a list with one entry for
        each of them."""
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

    def _guard(self, answer: Answer | None) -> Answer:
        """The check, then `answer` to requests without the token in their path."""

        def guarded(connection: ServerConnection, request: Request) -> Response | None:
            reason = self.refusal(request.path, request.headers)
            if reason is not None:
                return connection.respond(403, f"Refused: {reason}.\n")
            inner = replace(request, path=_split(request.path)[1])
            response = None if answer is None else answer(connection, inner)
            if response is not None:
                response.headers["Referrer-Policy"] = "no-referrer"  # the address has the token
            return response

        return guarded


def _giving_way(kind: type[Any]) -> type[ServerConnection]:
    """Class of connections of which only `MOST_WAITING` wait: others could open all that the system has."""
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
    """First part of a path, and the path without it."""
    first, slash, rest = path.removeprefix("/").partition("/")
    return (first, slash + rest) if slash else (first.partition("?")[0], "/")


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True
