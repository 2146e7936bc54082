"""Panel of files: open one from the browser's machine, save the run that is shown."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from pliant.errors import ModelError, PliantError
from pliant.studio.files import ENDINGS, Shelf
from pliant.studio.saving import ENDINGS as SAVED
from pliant.viewer.browser.upload_limits import MOST, TOO_LARGE

if TYPE_CHECKING:
    from viser import GuiApi

    from pliant.viewer.browser.viewer_meshes import Control


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


NAMES = {"scenario": "studio.yaml", "robot": "arm.yaml", "run": "run.nc", "page": "run.html", "video": "run.mp4"}
"""File names to begin with."""


class FilePanel:
    """Controls in the tab that is being built. `opened` gets name and content of a file; `saved`, which writes to the
    folder, and `taken`, which sends to the browser, get kind and file name."""

    def __init__(
        self,
        gui: GuiApi,
        opened: Callable[[str, bytes], None],
        saved: Callable[[str, str], None],
        taken: Callable[[str, str], None],
    ) -> None:
        gui.add_markdown("Open a robot, a scenario (.yaml), a URDF or a saved run (.nc) of your own machine.")
        self.upload = gui.add_upload_button("open a file")
        gui.add_markdown("Save what is on the stage, into the folder of the studio or to where your browser puts it.")
        self.kind = gui.add_dropdown("what", tuple(SAVED), initial_value="scenario")
        self.file: Control = gui.add_text("file name", NAMES["scenario"])
        self.save = gui.add_button("save into the folder")
        self.download = gui.add_button("download")
        self.kind.on_update(lambda _: self._name())
        self.upload.on_upload(lambda _: opened(self.upload.value.name, self.upload.value.content))
        self.save.on_click(lambda _: saved(str(self.kind.value), str(self.file.value)))
        self.download.on_click(lambda _: taken(str(self.kind.value), str(self.file.value)))

    def _name(self) -> None:
        """Suggest a file name for the chosen kind."""
        self.file.value = NAMES[str(self.kind.value)]
