"""Limits of what a browser may send: size, number and time of files."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any

MOST = 64 << 20
"""Bytes that all files on their way to the server may have together."""
MOST_FILES = 16
"""Files that may be on their way together."""
SMALLEST_PART = 1 << 16
"""Bytes of a part, the last one left out: what is kept of each part besides its bytes is small against them."""
LONGEST_NAME = 255
"""Characters, as in a file system."""
PATIENCE = 60.0
"""Seconds without a part after which a file gives way to another."""
INSIDE = (
    "_websock_interface", "_current_file_upload_states", "_handle_file_transfer_start", "_handle_file_transfer_part",
    "_gui_input_handle_from_uuid",
)  # fmt: skip
"""Where viser 1.1 keeps what it is being sent; it has no public name for it."""
TOO_LARGE = f"larger than {MOST >> 20} MiB; copy it into the folder of the studio and choose it there"


def bound_uploads(page: Any, refused: Callable[[str], None]) -> None:
    """Refuse what viser would keep: a file for a control that takes none, one without a possible size, one that makes
    all files of all visitors larger than `MOST`, one too many, and one that turns out larger than it said. `page` is
    viser's handle of a visitor, or of the server."""
    from viser import GuiUploadButtonHandle
    from viser import _messages as messages

    socket, states, start, part, controls = (getattr(page.gui, name) for name in INSIDE)
    server = getattr(page, "_viser_server", page)

    def started(client: int, message: Any) -> None:
        pages = (server, *server.get_clients().values())
        everyone: list[dict[str, Any]] = [getattr(one.gui, INSIDE[1]) for one in pages]
        _forget_given_up(everyone)
        reason = _fault(message, [state for sent in everyone for state in sent.values()])
        if reason is not None:
            refused(f"{str(message.filename)[:LONGEST_NAME]}: {reason}")
        elif message.transfer_uuid not in states and isinstance(
            controls.get(message.source_component_uuid), GuiUploadButtonHandle
        ):
            start(client, message)
            states.get(message.transfer_uuid, {}).update(heard=time.monotonic(), control=message.source_component_uuid)

    def continued(client: int, message: Any) -> None:
        state = states.get(message.transfer_uuid) if isinstance(message.transfer_uuid, str) else None
        if state is None or message.source_component_uuid != state["control"]:
            return
        content = message.content
        if isinstance(content, bytes) and state["transferred_bytes"] + len(content) <= state["total_bytes"]:
            state["heard"] = time.monotonic()
            part(client, message)
        else:
            states.pop(message.transfer_uuid)
            refused(f"{state['filename']}: the page sent more than it had said, or no bytes; send the file again")

    for kind, old, new in (
        (messages.FileTransferStartUpload, start, started),
        (messages.FileTransferPart, part, continued),
    ):
        socket.unregister_handler(kind, old)
        socket.register_handler(kind, new)


def _fault(message: Any, sent: list[dict[str, Any]]) -> str | None:
    """Reason to refuse a file that is announced while others are being sent; None if it may come."""
    names = (message.filename, message.transfer_uuid, message.source_component_uuid)
    if not all(isinstance(name, str) and len(name) <= LONGEST_NAME for name in names):
        return f"expected a name of at most {LONGEST_NAME} characters; rename the file"
    size, parts = message.size_bytes, message.part_count
    if not (isinstance(size, int) and isinstance(parts, int) and size >= 0):
        return f"got {size!r} bytes in {parts!r} parts, expected whole numbers from 0"
    if size + sum(state["total_bytes"] for state in sent) > MOST:
        return TOO_LARGE
    if not (size > 0) <= parts <= math.ceil(size / SMALLEST_PART):
        return f"got {size} bytes in {parts} parts, expected parts of at least {SMALLEST_PART} bytes"
    if len(sent) >= MOST_FILES:
        return f"{MOST_FILES} files are on their way to the studio; send it again when they have arrived"
    return None


def _forget_given_up(everyone: list[dict[str, Any]]) -> None:
    """Drop files of which nothing has come for a while: a page may begin one and never end it."""
    long_ago = time.monotonic() - PATIENCE
    for states in everyone:
        for name in [name for name, state in states.items() if state["heard"] < long_ago]:
            del states[name]
