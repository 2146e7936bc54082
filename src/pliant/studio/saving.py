"""Files of a run that the studio saves, in its folder or through the browser."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from pliant.errors import ModelError
from pliant.studio.run import StudioRun, edited_robot, scenario
from pliant.viewer.page import to_html
from pliant.viewer.video import Picture, pictures, write_pictures

ENDINGS: dict[str, tuple[str, ...]] = {
    "scenario": (".yaml",),
    "robot": (".yaml",),
    "run": (".nc",),
    "page": (".html",),
    "video": (".mp4", ".gif"),
}
"""Endings of files by the kind of what is saved, the usual ending first."""
FPS = 25
"""Pictures per second of a movie."""


def write(kind: str, run: StudioRun, path: Path, magnification: float, still: Callable[[], None]) -> None:
    """Write a file of a run. `still` is called now and then where that takes long, and ends it by raising."""
    if not path.name.endswith(ENDINGS[kind]):
        raise ModelError(f"{path.name}: a {kind} is a file that ends in {' or '.join(ENDINGS[kind])}")
    still()
    if kind == "scenario":
        scenario(run.choices).save(path)
    elif kind == "robot":
        edited_robot(run.choices).save(path)
    elif kind == "run":
        run.result.save(path)
    elif kind == "page":
        to_html(run.result, path)
    else:
        write_pictures(path, FPS, _frames(run, magnification, still))


def _frames(run: StudioRun, magnification: float, still: Callable[[], None]) -> Iterator[Picture]:
    """Pictures of a movie, which `still` may end early."""
    for frame in pictures(run.result, FPS, 1.0, magnification):
        still()
        yield frame


def content(kind: str, name: str, run: StudioRun, magnification: float, still: Callable[[], None]) -> bytes:
    """File of a run as bytes, to be sent to a browser."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        write(kind, run, path, magnification, still)
        return path.read_bytes()
