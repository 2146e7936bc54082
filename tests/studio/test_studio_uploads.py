"""What a page may try with files that it sends to the studio: false sizes, false parts, files without an end."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import pytest

from pliant.viewer.browser import upload_limits
from pliant.viewer.browser.server import start_server
from pliant.viewer.browser.upload_limits import bound_uploads


class Sender:
    """A page that sends files, played by hand with viser's own messages."""

    def __init__(self, page: Any) -> None:
        self.gui = page.gui
        self.states = self.gui._current_file_upload_states

    def send(self, message: Any) -> None:
        for handler in self.gui._websock_interface._incoming_handlers[type(message)]:
            handler(0, message)

    def name(self, control: Any) -> str:
        return next(u for u, h in self.gui._gui_input_handle_from_uuid.items() if h is control)

    def start(self, control: Any, size: Any, parts: Any, name: Any = "arm.yaml", key: Any = "t") -> None:
        self.control = self.name(control)
        self.send(viser_messages().FileTransferStartUpload(self.control, key, name, "text/plain", parts, size))

    def part(self, k: Any, content: Any, key: Any = "t") -> None:
        self.send(viser_messages().FileTransferPart(self.control, key, k, content))


def viser_messages() -> Any:
    from viser import _messages

    return _messages


@dataclass(frozen=True)
class Page:
    """Controls of a page, and what it was told."""

    server: Any
    upload: Any
    slider: Any
    told: list[str]


@pytest.fixture(scope="module")
def server() -> Iterator[Page]:
    pytest.importorskip("viser", reason="viser is not installed (the studio extra has it)")
    made, told = start_server(8477), []
    bound_uploads(made, told.append)
    yield Page(made, made.gui.add_upload_button("open a file"), made.gui.add_slider("x", 0.0, 2.0, 0.1, 1.0), told)
    made.stop()


@pytest.fixture
def page(server: Page, monkeypatch: pytest.MonkeyPatch) -> Page:
    monkeypatch.setattr(upload_limits, "MOST", 1000)
    monkeypatch.setattr(upload_limits, "SMALLEST_PART", 2)
    server.told.clear()
    return server


@pytest.fixture
def sender(page: Page) -> Iterator[Sender]:
    made = Sender(page.server)
    yield made
    made.states.clear()


def test_a_file_arrives_whatever_the_order_of_its_parts(page: Page, sender: Sender) -> None:
    sender.start(page.upload, 6, 3)
    for k, part in ((2, b"ef"), (2, b"xx"), (0, b"ab"), (7, b"!!"), (-1, b"!!"), (1, b"cd")):
        sender.part(k, part)
    assert page.upload.value.content == b"abcdef"
    assert sender.states == {}
    sender.start(page.upload, 0, 0)
    assert page.upload.value.content == b""


@pytest.mark.parametrize(
    ("size", "parts", "said"),
    [
        (1001, 1, "MiB"),
        (-400_000_000, 1, "whole numbers"),
        (-1, 0, "whole numbers"),
        (float("nan"), 1, "whole numbers"),
        (1e3, 1, "whole numbers"),
        (10**400, 1, "MiB"),
        (4, -1, "parts"),
        (4, 0, "parts"),
        (0, 1, "parts"),
        (4, 3, "parts"),
        (4, 10**9, "parts"),
        (4, None, "whole numbers"),
    ],
)
def test_a_file_of_an_impossible_size_is_refused(page: Page, sender: Sender, size: Any, parts: Any, said: str) -> None:
    """Before its first byte; what it says takes nothing from the bound of the others."""
    sender.start(page.upload, 800, 4, key="first")
    sender.start(page.upload, size, parts, key="bad")
    assert len(page.told) == 1
    assert said in page.told[0]
    sender.start(page.upload, 201, 4, key="second")
    assert list(sender.states) == ["first"]


@pytest.mark.parametrize("name", ["n" * 256, None, 7, ["arm.yaml"], {}])
def test_a_file_without_a_name_is_refused(page: Page, sender: Sender, name: Any) -> None:
    sender.start(page.upload, 4, 2, name=name)
    sender.start(page.upload, 4, 2, key=name)
    sender.part(0, b"ab", key=name)
    assert sender.states == {}
    assert all("255 characters" in text and len(text) < 500 for text in page.told)


@pytest.mark.parametrize("content", [b"x" * 5, "text", None, [1, 2], 7])
def test_a_file_that_is_not_what_it_said_is_dropped(page: Page, sender: Sender, content: Any) -> None:
    sender.start(page.upload, 6, 3)
    sender.part(0, b"ab")
    sender.part(1, content)
    assert sender.states == {}
    assert "the page sent more than it had said" in page.told[-1]
    sender.part(2, b"ef")
    assert sender.states == {}


def test_one_name_serves_one_file(page: Page, sender: Sender) -> None:
    """Else a page would begin again and again what the sum counts once."""
    sender.start(page.upload, 400, 2)
    sender.part(0, b"x" * 200)
    sender.start(page.upload, 2, 1)
    assert [(state["total_bytes"], state["transferred_bytes"]) for state in sender.states.values()] == [(400, 200)]


def test_files_that_never_end_give_way(page: Page, sender: Sender, monkeypatch: pytest.MonkeyPatch) -> None:
    for k in range(upload_limits.MOST_FILES + 1):
        sender.start(page.upload, 2, 1, key=f"t{k}")
    assert len(sender.states) == upload_limits.MOST_FILES
    assert "on their way" in page.told[-1]
    monkeypatch.setattr(upload_limits, "PATIENCE", -1.0)
    sender.start(page.upload, 1000, 1, key="new")
    assert list(sender.states) == ["new"]


def test_other_controls_take_no_file(page: Page, sender: Sender) -> None:
    """Neither from the start nor at the end."""
    sender.start(page.slider, 2, 1)
    assert sender.states == {}
    sender.start(page.upload, 2, 1)
    sender.control = sender.name(page.slider)
    sender.part(0, b"ab")
    assert page.slider.value == 1.0


def test_visitors_share_the_bound(page: Page, sender: Sender, monkeypatch: pytest.MonkeyPatch) -> None:
    other = SimpleNamespace(
        gui=SimpleNamespace(_current_file_upload_states={"o": {"total_bytes": 600, "heard": 1e300}})
    )
    monkeypatch.setattr(page.server, "get_clients", lambda: {1: other})
    sender.start(page.upload, 401, 1)
    assert sender.states == {}
    assert "MiB" in page.told[-1]
    sender.start(page.upload, 400, 1)
    assert list(sender.states) == ["t"]
