"""Whom the viewer and the studio answer: a real browser on a page of another site, forged requests, no token."""

from __future__ import annotations

import asyncio
import contextlib
import http.server
import os
import socket
import stat
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlsplit

import pytest
from typer.testing import CliRunner

import pliant
from browser import REBOUND
from pliant.cli import app, view
from pliant.viewer.browser import access as gate_module
from pliant.viewer.browser.access import Gate

TOKEN = "a-token-of-24-characters"
"""Of the gate that is tested without a server."""


class _Headers(dict[str, list[str]]):
    def get_all(self, name: str) -> list[str]:
        return self.get(name, [])


def _refused(gate: Gate, path: str, *hosts: str, origin: str | None = None) -> str | None:
    return gate.refusal(path, _Headers(Host=list(hosts), Origin=[] if origin is None else [origin]))


@pytest.mark.parametrize("host", ["127.0.0.1:8080", "localhost:8080", "[::1]:8080", "LOCALHOST:9000"])
def test_own_pages_pass(host: str) -> None:
    gate = Gate.of("127.0.0.1", TOKEN)
    for path in (f"/{TOKEN}", f"/{TOKEN}/", f"/{TOKEN}/a.js?b=1", f"/{TOKEN}?websocket=x"):
        assert _refused(gate, path, host) is None
        assert _refused(gate, path, host, origin=f"http://{host}") is None


@pytest.mark.parametrize(
    ("hosts", "origin", "path"),
    [
        (["evil.example:8080"], None, f"/{TOKEN}/"),
        (["evil.example:8080"], "http://evil.example:8080", f"/{TOKEN}/"),
        (["192.168.1.7:8080"], None, f"/{TOKEN}/"),
        (["127.0.0.1.evil.example"], None, f"/{TOKEN}/"),
        (["127.0.0.1@evil.example"], None, f"/{TOKEN}/"),
        ([""], None, f"/{TOKEN}/"),
        (["[::1"], None, f"/{TOKEN}/"),
        ([], None, f"/{TOKEN}/"),
        (["127.0.0.1:8080", "evil.example"], None, f"/{TOKEN}/"),
        (["127.0.0.1:8080"], "http://evil.example", f"/{TOKEN}/"),
        (["127.0.0.1:8080"], "http://127.0.0.1:9999", f"/{TOKEN}/"),
        (["127.0.0.1:8080"], "http://localhost:8080", f"/{TOKEN}/"),
        (["127.0.0.1:8080"], "null", f"/{TOKEN}/"),
        (["127.0.0.1:8080"], "", f"/{TOKEN}/"),
        (["127.0.0.1:8080"], None, "/"),
        (["127.0.0.1:8080"], None, "/index.html"),
        (["127.0.0.1:8080"], None, f"/{TOKEN}x/"),
        (["127.0.0.1:8080"], None, f"/{TOKEN[:-1]}/"),
        (["127.0.0.1:8080"], None, f"/?token={TOKEN}"),
        (["127.0.0.1:8080"], None, "/tökén/"),
    ],
)
def test_others_do_not(hosts: list[str], origin: str | None, path: str) -> None:
    assert _refused(Gate.of("127.0.0.1", TOKEN), path, *hosts, origin=origin)


def test_other_addresses_need_a_token() -> None:
    for host in ("0.0.0.0", "::", "", "192.168.1.7", "lab.example"):
        with pytest.raises(pliant.ModelError, match="token"):
            Gate.of(host, None)
        gate = Gate.of(host, TOKEN)
        assert _refused(gate, f"/{TOKEN}/", "192.168.1.7:8080", origin="http://192.168.1.7:8080") is None
        assert _refused(gate, f"/{TOKEN}/", "evil.example:8080")
        assert _refused(gate, "/", "192.168.1.7:8080")
    assert _refused(Gate.of("lab.example", TOKEN), f"/{TOKEN}/", "lab.example:8080") is None
    for token in ("short", "with a blank in its middle", "slash/slash/slash/slash", ""):
        with pytest.raises(pliant.ModelError, match="token"):
            Gate.of("127.0.0.1", token)
    assert Gate.of("127.0.0.1", None).token != Gate.of("127.0.0.1", None).token


@pytest.mark.slow_cases("studio")
@pytest.mark.parametrize("command", ["view", "studio"])
def test_the_command_refuses_other_addresses(
    command: str, swing: pliant.Result, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PLIANT_TOKEN", raising=False)
    pytest.importorskip("viser", reason="viser is not installed (the studio extra has it)")
    given = swing.save(tmp_path / "run.nc")
    arguments = [command, str(given if command == "view" else tmp_path), "--host", "0.0.0.0", "--no-browser"]
    answer = CliRunner().invoke(app, arguments)
    assert answer.exit_code == 2
    assert "PLIANT_TOKEN" in answer.output
    assert CliRunner().invoke(app, [*arguments, "--token", "short"]).exit_code == 2
    answer = CliRunner().invoke(app, [*arguments, "--token", "-"], input="with a blank in its middle\nmore\n")
    assert answer.exit_code == 2
    assert "token: got one that is short" in answer.output


def test_a_token_is_read_from_standard_input(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Where nobody sees it in the arguments of the program."""
    found: list[Any] = []
    studio = pytest.importorskip("pliant.studio.studio", reason="viser is not installed (the studio extra has it)")
    monkeypatch.setattr(studio, "studio", lambda *given: found.append(given) or SimpleNamespace(server=None))
    monkeypatch.setattr("pliant.cli.studio.serve", lambda *given: None)
    for arguments, text in (["--token", "-"], f"{TOKEN}\nmore\n"), (["--token", TOKEN], ""):
        answer = CliRunner().invoke(app, ["studio", str(tmp_path), *arguments], input=text)
        assert answer.exit_code == 0, answer.output
        assert TOKEN in found.pop()


# --------------------------------------------------------------------------------------------------- a real server


@pytest.fixture(scope="module")
def server() -> Iterator[Any]:
    pytest.importorskip("viser", reason="viser is not installed (the studio extra has it)")
    from pliant.viewer.browser.server import start_server

    made = start_server(8490)
    made.gui.add_markdown("inside")
    yield made
    made.stop()


def _knock(url: str, **options: Any) -> int:
    """The status of a websocket's handshake; 101 where it is let in."""
    from websockets.asyncio.client import connect
    from websockets.exceptions import InvalidStatus

    async def ask() -> int:
        try:
            async with connect(url, subprotocols=["viser-v0"], **options):
                return 101
        except InvalidStatus as error:
            return error.response.status_code

    with ThreadPoolExecutor(1) as thread:  # a browser of another test may have left an event loop running in this one
        return thread.submit(asyncio.run, ask()).result()


def test_websockets_are_asked(server: Any) -> None:
    from pliant.viewer.browser.server import address

    port, good = server.get_port(), address(server).replace("http", "ws")
    assert _knock(good) == 101
    assert _knock(good, origin=f"http://127.0.0.1:{port}") == 101
    assert _knock(f"ws://127.0.0.1:{port}/") == 403
    assert _knock(f"ws://127.0.0.1:{port}/", origin=f"http://127.0.0.1:{port}") == 403
    assert _knock(good, origin="http://evil.example") == 403
    foreign = good.replace("127.0.0.1", "evil.example")
    assert _knock(foreign, host="127.0.0.1", port=port) == 403
    assert _knock(foreign, host="127.0.0.1", port=port, origin=f"http://evil.example:{port}") == 403


def test_nobody_can_ask_for_a_tunnel(server: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """What viser does on a page's request for one, played by hand."""
    from viser import _messages as messages
    from viser import _viser

    opened: list[Any] = []
    monkeypatch.setattr(_viser, "ViserTunnel", lambda *_, **__: opened.append(True))
    for kind in (messages.ShareUrlRequest, messages.ShareUrlDisconnect):
        for handler in server._websock_server._incoming_handlers.get(kind, ()):
            handler(0, kind())
    server._thread_executor.submit(lambda: None).result(timeout=10)  # what the handlers put there went before
    assert server.request_share_url() is None
    assert opened == []


def test_a_message_is_not_lost_when_the_loop_looks(server: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """viser's own way to wake its loop from a thread fails now and then; the text arrives all the same."""
    text = server.gui.add_markdown("before")
    buffer = server._websock_server._broadcast_buffer
    real, calls = buffer.message_event.set, []

    def sometimes() -> None:
        calls.append(threading.current_thread())
        if len(calls) == 1:
            raise RuntimeError("deque mutated during iteration")
        real()

    monkeypatch.setattr(buffer.message_event, "set", sometimes)
    text.content = "after"
    assert text.content == "after"
    assert any("after" in str(message) for message in list(buffer.message_from_id.values()))
    server._event_loop.call_soon_threadsafe(lambda: None)
    for _ in range(100):
        if len(calls) > 1:
            break
        time.sleep(0.02)
    assert calls[0] is threading.current_thread()
    assert len(calls) > 1, "nobody woke the loop"


ATTEMPT = """
async (urls) => Promise.all(urls.map((url) => new Promise((done) => {
  const socket = new WebSocket(url, "viser-v1.1.1");
  socket.onopen = () => done("open");
  socket.onerror = () => done("refused");
})))
"""


@pytest.fixture(scope="module")
def foreign_site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A page of another origin on this machine, as any site is to the browser."""
    folder = tmp_path_factory.mktemp("site")
    (folder / "index.html").write_text("<p>a harmless page</p>")
    handler = partial(http.server.SimpleHTTPRequestHandler, directory=str(folder))
    handler.func.log_message = lambda *_: None  # type: ignore[attr-defined,method-assign]
    site = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=site.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{site.server_address[1]}/"
    site.shutdown()
    site.server_close()


def test_a_foreign_page_in_a_browser(server: Any, chromium: Any, foreign_site: str) -> None:
    """It gets no websocket, with or without the token, nor anything of the page; the printed address does, to which the
    page leads that the command opens."""
    from pliant.viewer.browser.server import address

    port, good = server.get_port(), address(server)
    sockets = [url.replace("http", "ws", 1) for url in (f"http://127.0.0.1:{port}", f"http://localhost:{port}", good)]
    page = chromium.new_page()
    try:
        page.goto(foreign_site)
        assert page.evaluate(ATTEMPT, sockets) == ["refused"] * 3
        page.goto(f"http://{REBOUND}:{port}/{server.gate.token}/")  # a name of the foreigner that leads here
        assert "not one of this server's" in page.locator("body").inner_text()
        assert page.evaluate(ATTEMPT, [f"ws://{REBOUND}:{port}/{server.gate.token}"]) == ["refused"]
        page.goto(f"http://127.0.0.1:{port}/")
        assert "lacks its token" in page.locator("body").inner_text()
        with view.leading_page(good) as leading:
            page.goto(leading.as_uri(), wait_until="commit")
            page.get_by_text("inside").first.wait_for(timeout=90_000)
        assert page.evaluate(ATTEMPT, sockets) == ["refused", "refused", "open"]
    finally:
        page.close()


def _says(port: int, words: bytes) -> socket.socket:
    connection = socket.create_connection(("127.0.0.1", port), timeout=10)
    connection.sendall(words)
    return connection


def _closed(connection: socket.socket) -> bool:
    """Whether the server has ended it, within seconds."""
    try:
        return connection.recv(4096) == b""
    except ConnectionError:
        return True


def test_many_who_say_nothing_shut_nobody_out(server: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The oldest of them gives way; who has the address is let in."""
    from pliant.viewer.browser.server import address

    monkeypatch.setattr(gate_module, "MOST_WAITING", 5)
    slow = [_says(server.get_port(), b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX: ") for _ in range(12)]
    try:
        assert all(_closed(connection) for connection in slow[:6])
        assert _knock(address(server).replace("http", "ws")) == 101
        slow[-1].sendall(b"\r\n\r\n")
        assert slow[-1].recv(12) == b"HTTP/1.1 403"
    finally:
        for connection in slow:
            connection.close()


@pytest.mark.parametrize(
    "words",
    [
        b"GET / HTTP/1.1\r\n" + b"X: y\r\n" * 200 + b"\r\n",  # more headers than anybody has
        b"GET /" + b"x" * 10_000,
        b"POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: -5\r\n\r\n",
        b"\x82\xff\xff\xff\xff\xff\xff\xff\xff\xff" + b"\0" * 10_000,  # a frame of 2^64 bytes without a handshake
        b"\x16\x03\x01\x02\x00" + b"\xff" * 512 + b"\n",  # the beginning of TLS
    ],
)
def test_what_is_no_request_is_refused(server: Any, words: bytes) -> None:
    connection = _says(server.get_port(), words)
    with connection, contextlib.suppress(ConnectionError):
        answer = connection.recv(4096)
        assert answer == b"" or answer.startswith(b"HTTP/1.1 4")


def test_a_huge_message_ends_its_connection(server: Any) -> None:
    """Also of who has the address; a part of a file has half a MiB."""
    import viser
    from websockets.exceptions import ConnectionClosed
    from websockets.sync.client import connect

    from pliant.viewer.browser.server import address

    spoken = f"viser-v{viser.__version__}"
    with connect(address(server).replace("http", "ws"), subprotocols=[spoken], max_size=None) as page:
        with contextlib.suppress(ConnectionClosed):
            page.send(bytes(gate_module.LARGEST_MESSAGE + 1))
            for _ in range(100):  # of what the server has to say about its scene
                page.recv(timeout=10)
        assert page.close_code in (1009, 1006)  # too large; or the end overtook the reason


def test_the_address_is_told_to_nobody_else(server: Any) -> None:
    """A link on the page names no referrer, which would have the token."""
    from pliant.viewer.browser.server import address

    with urllib.request.urlopen(address(server)) as answer:
        assert answer.headers["Referrer-Policy"] == "no-referrer"


def _started_with(server: Any, monkeypatch: pytest.MonkeyPatch, look: Callable[[str], bool]) -> None:
    """`pliant view` and `pliant studio`, from the ready server to Ctrl-C."""

    def interrupted(_: float) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(view.webbrowser, "open", look)
    monkeypatch.setattr(view, "time", SimpleNamespace(sleep=interrupted))
    monkeypatch.setattr(server, "stop", lambda: None)
    view.serve(server, True)


def test_the_token_is_no_argument_of_the_browser(
    server: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """All users of a machine may list the arguments of its programs: a page that only this user can read has it, until
    the browser has come."""
    seen: list[Path] = []

    def look(target: str) -> bool:
        assert server.gate.token not in target
        page = Path(urllib.request.url2pathname(urlsplit(target).path))
        seen.append(page)
        assert server.gate.token in page.read_text()
        if os.name == "posix":
            assert stat.S_IMODE(page.stat().st_mode) == 0o600
            assert stat.S_IMODE(page.parent.stat().st_mode) == 0o700
        for come in (1, 2):  # the browser comes, and another
            told[0](come)
            assert not page.exists()
        return True

    told: list[Callable[[Any], None]] = []
    monkeypatch.setattr(server, "on_client_connect", told.append)
    _started_with(server, monkeypatch, look)
    assert not seen[0].parent.exists()
    assert server.gate.token in capsys.readouterr().err, "a user may copy the address"


def test_a_browser_that_does_not_start_leaves_no_page(server: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    left: list[Path] = []
    real = view.leading_page

    @contextlib.contextmanager
    def watched(address: str) -> Iterator[Path]:
        with real(address) as page:
            try:
                yield page
            finally:
                left.extend(page.parent.iterdir())

    monkeypatch.setattr(view, "leading_page", watched)
    _started_with(server, monkeypatch, lambda _: False)
    assert left == []
