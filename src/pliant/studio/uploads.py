"""Files that a browser sends, put into a folder of their own and read like any other file."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath

from pliant.errors import ModelError, PliantError
from pliant.studio.files import ENDINGS, Shelf
from pliant.viewer.upload_limits import MOST, TOO_LARGE


@contextmanager
def uploaded(name: str, content: bytes) -> Iterator[tuple[Shelf, str]]:
    """Yield a folder with the content as its only file, and the name of the file, which keeps only the ending of
    `name`. Messages of errors name the file as the user does."""
    ending = Path(name).suffix.lower()
    if ending not in ENDINGS:
        raise ModelError(f"{name}: expected a file that ends in {', '.join(ENDINGS)}")
    if len(content) > MOST:
        raise ModelError(f"{name}: {TOO_LARGE}")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"upload{ending}"
        path.write_bytes(content)
        try:
            yield Shelf(Path(folder)), path.name
        except PliantError as error:
            error.args = (str(error).replace(path.name, PurePosixPath(name).name),)
            raise
