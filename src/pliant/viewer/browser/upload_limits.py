"""Limits on files that a browser sends: size, number and time."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from viser._messages import FileTransferPart, FileTransferStartUpload

    from pliant.viewer.browser.viewer_meshes import Page

State = dict[str, Any]
"""Viser's record of a file that is being sent."""
MOST = 64 << 20
"""Bytes that all files on their way to the server may have together."""
MOST_FILES = 16
"""Files that may be on their way together."""
SMALLEST_PART = 1 << 16
"""Least bytes of a part, the last one excepted: what is kept of each part besides its bytes is small against them."""
LONGEST_NAME = 255
"""Characters of a name, as in a file system."""
PATIENCE = 60.0
"""Seconds without a part after which a file is forgotten."""
INSIDE = (
    "_websock_interface", "_current_file_upload_states", "_handle_file_transfer_start", "_handle_file_transfer_part",
    "_gui_input_handle_from_uuid",
)  # fmt: skip
"""Private members of viser 1.1 that hold files on their way; there are no public ones."""
TOO_LARGE = f"larger than {MOST >> 20} MiB; copy it into the folder of the studio and choose it there"


def bound_uploads(page: Page, refused: Callable[[str], None]) -> None:
    """Refuse files that viser would keep: for a control that takes none, of an impossible size, more than `MOST` bytes
    or `MOST_FILES` files of all visitors together, or larger than announced. `page` is viser's handle of a visitor, or
    of the server; `refused` is called with the reason."""
    from viser import GuiUploadButtonHandle
    from viser import _messages as messages

    socket, states, start, part, controls = (getattr(page.gui, name) for name in INSIDE)
    server: Any = getattr(page, "_viser_server", page)

    def started(client: int, message: FileTransferStartUpload) -> None:
        pages: tuple[Page, ...] = (server, *server.get_clients().values())
        everyone: list[dict[str, State]] = [getattr(one.gui, INSIDE[1]) for one in pages]
        _forget_given_up(everyone)
        reason = _fault(message, [state for sent in everyone for state in sent.values()])
        if reason is not None:
            refused(f"{str(message.filename)[:LONGEST_NAME]}: {reason}")
        elif message.transfer_uuid not in states and isinstance(
            controls.get(message.source_component_uuid), GuiUploadButtonHandle
        ):
            start(client, message)
            states.get(message.transfer_uuid, {}).update(heard=time.monotonic(), control=message.source_component_uuid)

    def continued(client: int, message: FileTransferPart) -> None:
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


def _fault(message: FileTransferStartUpload, sent: list[State]) -> str | None:
    """Reason to refuse a file that is announced while others are being sent; None if it may come. A browser may send
    anything, so that types are checked as well."""
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


def _forget_given_up(everyone: list[dict[str, State]]) -> None:
    """Forget files of which nothing has come for a while: a page may begin one and never end it."""
    long_ago = time.monotonic() - PATIENCE
    for states in everyone:
        for name in [name for name, state in states.items() if state["heard"] < long_ago]:
            del states[name]
