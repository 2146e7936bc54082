"""Output folders of commands, which do not overwrite existing files unless told to."""

from __future__ import annotations

import os
from pathlib import Path

from pliant.errors import ModelError


def fresh_folder(folder: Path, force: bool) -> Path:
    """Make a folder and return it; it must be empty, unless `force` allows files in it."""
    if folder.exists() and not folder.is_dir():
        raise ModelError(f"--out {folder}: a file of this name is in the way; choose another folder")
    if folder.is_dir() and any(folder.iterdir()) and not force:
        raise ModelError(f"--out {folder}: there is something in it already; choose another folder, or pass --force")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ModelError(f"--out {folder}: cannot be made ({error.strerror}); choose another folder") from None
    if not os.access(folder, os.W_OK | os.X_OK):
        raise ModelError(f"--out {folder}: cannot be written to; choose another folder")
    return folder
