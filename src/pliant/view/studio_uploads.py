"""Files that a browser sends: data of a bounded size in a folder of their own, read as any other file is."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pliant.errors import ModelError
from pliant.view.studio_files import ENDINGS, Shelf

MOST = 64 << 20
"""Bytes that all files on their way to the server may have together."""
INSIDE = (
    "_websock_interface", "_current_file_upload_states", "_handle_file_transfer_start", "_handle_file_transfer_part",
)  # fmt: skip
"""Where viser 1.1 keeps what it is being sent; it has no public name for it."""
TOO_LARGE = f"larger than {MOST >> 20} MiB; copy it into the folder of the studio and choose it there"


def bound_uploads(gui: Any, refused: Callable[[str], None]) -> None:
    """viser keeps whatever a page sends; here a file that says it is too large, or turns out so, is dropped."""
    from viser import _messages as messages

    socket, states, start, part = (getattr(gui, name) for name in INSIDE)

    def started(client: Any, message: Any) -> None:
        if message.size_bytes + sum(state["total_bytes"] for state in states.values()) > MOST:
            refused(f"{message.filename}: {TOO_LARGE}")
        else:
            start(client, message)

    def continued(client: Any, message: Any) -> None:
        state = states.get(message.transfer_uuid)
        if state is not None and state["transferred_bytes"] + len(message.content) > state["total_bytes"]:
            states.pop(message.transfer_uuid, None)  # it lied about its size
        else:
            part(client, message)

    for kind, old, new in (
        (messages.FileTransferStartUpload, start, started),
        (messages.FileTransferPart, part, continued),
    ):
        socket.unregister_handler(kind, old)
        socket.register_handler(kind, new)


@contextmanager
def uploaded(name: str, content: bytes) -> Iterator[tuple[Shelf, str]]:
    """The content as a file alone in a folder; of its name only the ending is used."""
    ending = Path(name).suffix.lower()
    if ending not in ENDINGS:
        raise ModelError(f"{name}: expected a file that ends in {', '.join(ENDINGS)}")
    if len(content) > MOST:
        raise ModelError(f"{name}: {TOO_LARGE}")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"upload{ending}"
        path.write_bytes(content)
        yield Shelf(Path(folder)), path.name
