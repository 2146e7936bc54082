"""A run as a movie, without a display: the arm on the left, its deflection over time on the right."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pliant.base.quoting import quoted
from pliant.base.signatures import checked
from pliant.base.stages import say, work
from pliant.base.writing import atomic_write
from pliant.drawing.figure_data import color_scale
from pliant.drawing.panel_drawing import draw_panel
from pliant.drawing.style import STYLE
from pliant.errors import ModelError, PliantError, extra, install
from pliant.figures.run_panels import deflections, tip_deflection
from pliant.simulation.runs.results import Result
from pliant.viewer.colors import strain_colors
from pliant.viewer.scenes.scene import readable_magnification, scene_of
from pliant.viewer.video_drawing import FrameDrawing

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

Picture = NDArray[np.uint8]
"""(H, W, 3) red, green and blue of the pixels of a picture."""
SIZE = (960, 480)
"""Pixels; even numbers, as the codec needs."""
MOST_PICTURES = 100_000
"""Most pictures of a movie: more than an hour at 25 a second."""
FORMATS = (".mp4", ".gif")


@checked
@work("to_video", "drawing a movie")
def to_video(
    result: Result, path: str | os.PathLike[str], fps: int = 25, speed: float = 1.0, magnification: float | None = None
) -> Path:
    """Write a run as .mp4 (H.264) or .gif.

    Parameters
    ----------
    result : Result
        The run.
    path : str or path
        The file.
    fps : int
        Pictures per second.
    speed : float
        0.1 is ten times slower than the arm.
    magnification : float
        Factor by which deflections are drawn larger; the gray ghost is the rigid arm. By default chosen so that
        deflections are seen, and told in the title.

    Returns
    -------
    path

    Examples
    --------
    >>> result = pliant.simulate(pliant.load("two-link").model(), 0.08)
    >>> pliant.view.to_video(result, "run.gif", fps=25).name
    'run.gif'
    """
    target = Path(path)
    if target.suffix.lower() not in FORMATS:
        raise ModelError(f"path: got {str(target)!r}, expected a file name that ends in {' or '.join(FORMATS)}")
    if not (fps > 0 and speed > 0 and (magnification is None or magnification >= 0)):
        raise ModelError(f"fps, speed, magnification: got {fps}, {speed}, {magnification}, expected positive numbers")
    if len(result) < 2:
        raise ModelError("the result has fewer than two rows; nothing moves")
    seconds = float(result.t[-1] - result.t[0])
    if fps > MOST_PICTURES or not seconds * fps <= MOST_PICTURES * speed:
        raise ModelError(
            f"fps, speed: got {fps} and {speed:g}, which make more than {MOST_PICTURES:,} pictures of {seconds:g} s; "
            "take fewer a second, or play faster"
        )
    write_pictures(target, fps, pictures(result, fps, speed, magnification))
    return target


def write_pictures(target: Path, fps: int, frames: Iterator[Picture]) -> None:
    """Write pictures as a movie, in the format of the file's ending. The write is atomic."""
    writer = _write_gif if target.suffix.lower() == ".gif" else _write_mp4
    with atomic_write(target) as partial:
        writer(partial, fps, frames)


def pictures(result: Result, fps: int, speed: float, magnification: float | None = None) -> Iterator[Picture]:
    """Draw pictures at equal times; states between rows are interpolated."""
    import matplotlib
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    t = np.arange(result.t[0], result.t[-1] + 1e-9, speed / fps)
    scene = scene_of(result, t)
    magnification = readable_magnification(scene) if magnification is None else magnification
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(SIZE[0] / 100, SIZE[1] / 100), dpi=100)
        canvas: Any = FigureCanvasAgg(figure)  # most of its methods have no types
        drawing = FrameDrawing(figure.add_axes((0.0, 0.08, 0.56, 0.86)), scene, magnification)
        cursor = _side_plot(figure.add_axes((0.64, 0.14, 0.33, 0.72)), result)
        note = f", deflections × {magnification:g}" if magnification != 1 else ""
        figure.text(0.02, 0.945, f"{quoted(result.robot.name, 'figure')}{note}", fontsize=10, weight="bold")
        if drawing.largest > 0 or drawing.scene.largest_stress > 0:
            _strain_scale(figure, *color_scale(drawing.largest, drawing.scene.largest_stress))
        clock = figure.text(0.54, 0.945, "", fontsize=10, ha="right")
        moving = (*drawing.moving, cursor, clock)
        for artist in moving:
            artist.set_animated(True)
        canvas.draw()
        still = canvas.copy_from_bbox(figure.bbox)  # what does not move is drawn once
        for frame, now in enumerate(t):
            say(f"drawing a movie: {frame} of {len(t)} pictures")
            drawing.show(frame)
            cursor.set_xdata([now, now])
            clock.set_text(f"{now:.2f} s")
            canvas.restore_region(still)
            for artist in moving:
                figure.draw_artist(artist)
            yield np.asarray(canvas.buffer_rgba())[:, :, :3].copy()


def _side_plot(axes: Axes, result: Result) -> Line2D:
    """Plot of the deflection; return the line at the time of the picture."""
    (panel,) = tip_deflection(result)
    if not any(curve.y.any() for curve in panel.curves):  # of a piston on its guide
        panel = deflections(result)[0]
    draw_panel(axes, panel)
    axes.set_xlabel(str(panel.x))
    return axes.axvline(result.t[0], color="#D55E00", linewidth=1.2)


def _strain_scale(figure: Figure, shown: str, largest: str) -> None:
    """Scale of the colors of strain or stress."""
    bar = figure.add_axes((0.02, 0.04, 0.14, 0.02))
    bar.imshow(strain_colors(np.linspace(0.0, 1.0, 64))[None], aspect="auto")
    bar.set_axis_off()
    figure.text(0.17, 0.037, f"{shown}, 0 to {largest}", fontsize=8)


def _write_gif(target: Path, fps: int, frames: Iterator[Picture]) -> None:
    from PIL import Image

    images = [
        Image.fromarray(frame).quantize(64, Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE) for frame in frames
    ]
    images[0].save(
        target, "GIF", save_all=True, append_images=images[1:], optimize=False, duration=round(1000 / fps), loop=0
    )


def _write_mp4(target: Path, fps: int, frames: Iterator[Picture]) -> None:
    command = [
        _ffmpeg(), "-y", "-loglevel", "error", "-f", "rawvideo", "-pix_fmt", "rgb24", "-s", f"{SIZE[0]}x{SIZE[1]}",
        "-r", str(fps), "-i", "-", "-an", "-c:v", "libx264", "-pix_fmt", "yuv420p", "-crf", "20",
        "-movflags", "+faststart", "-f", "mp4", str(target),
    ]  # fmt: skip
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdin is not None
    try:
        for frame in frames:
            process.stdin.write(frame.tobytes())
    except BrokenPipeError:
        pass  # the encoder says below what was wrong
    except BaseException:
        process.kill()
        process.communicate()
        raise
    _, error = process.communicate()
    if process.returncode:
        raise PliantError(f"the encoder of the movie failed: {error.decode(errors='replace').strip()}")


def _ffmpeg() -> str:
    """Path of the encoder: ffmpeg of the system, or the one that imageio-ffmpeg brings."""
    found = shutil.which("ffmpeg")
    if found:
        return found
    remedy = "an .mp4 needs ffmpeg, a .gif needs nothing; install ffmpeg, or "
    return str(extra("imageio_ffmpeg", remedy + install("video")).get_ffmpeg_exe())
