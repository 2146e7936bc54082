"""Movies and notebook pictures, without a display."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import pliant
from pliant.view.video import SIZE, pictures


@pytest.fixture(scope="module")
def short(swing: pliant.Result) -> pliant.Result:
    return swing


def test_pictures_show_an_arm_that_moves(short: pliant.Result) -> None:
    """Coloured pixels are the arm; they lie elsewhere at another time."""
    frames = list(pictures(short, fps=4, speed=1.0, magnification=3.0))
    assert len(frames) == 9  # two seconds, four a second, and the first
    assert frames[0].shape == (SIZE[1], SIZE[0], 3)
    left = [frame[40:, : SIZE[0] // 2].astype(int) for frame in frames]
    colourful = [(f.max(axis=2) - f.min(axis=2)) > 40 for f in left]
    assert all(mask.sum() > 200 for mask in colourful)
    assert (colourful[0] ^ colourful[4]).sum() > 200


def test_gif(short: pliant.Result, tmp_path: Path) -> None:
    from PIL import Image

    with Image.open(short.to_video(tmp_path / "run.gif", fps=5)) as movie:
        assert movie.n_frames == 11
        assert movie.info["duration"] == 200
        assert movie.size == SIZE


def test_mp4(short: pliant.Result, tmp_path: Path) -> None:
    """A film that the encoder's own reader finds to be two seconds long."""
    pytest.importorskip("imageio_ffmpeg", reason="imageio-ffmpeg is not installed (the video extra has it)")
    from imageio_ffmpeg import count_frames_and_secs

    path = short.to_video(tmp_path / "run.mp4", fps=5, speed=0.5)
    frames, seconds = count_frames_and_secs(str(path))
    assert frames == 21
    assert seconds == pytest.approx(4.2, abs=0.01)


@pytest.mark.parametrize(
    ("name", "options", "said"),
    [
        ("run.avi", {}, "ends in .mp4 or .gif"),
        ("run.gif", {"fps": 0}, "positive"),
        ("run.gif", {"speed": -1}, "positive"),
    ],
)
def test_mistakes_are_answered(short: pliant.Result, tmp_path: Path, name: str, options: dict, said: str) -> None:
    with pytest.raises(pliant.ModelError, match=said):
        short.to_video(tmp_path / name, **options)


def test_notebook_shows_robot_model_and_result(short: pliant.Result) -> None:
    """Tables with a picture; names are text, not markup."""
    robot = pliant.load("two-link").model_copy(update={"name": "<b>arm</b>"})
    for thing, words in ((robot, "bending_y"), (robot.model(), "denoc"), (short, "dop853")):
        shown = thing._repr_html_()
        assert words in shown
        assert "<b>arm</b>" not in shown.replace("<b>&lt;b&gt;arm&lt;/b&gt;</b>", "")
        assert ("data:image/png;base64," in shown) == (not isinstance(thing, pliant.Model))


def test_rotated_camera_sees_every_point(short: pliant.Result) -> None:
    """Nothing of the arm is drawn outside the picture, at any time."""
    from matplotlib.figure import Figure

    from pliant.view.scene import scene_of
    from pliant.view.video_drawing import FrameDrawing

    drawing = FrameDrawing(Figure(figsize=(4, 3)).add_axes((0, 0, 1, 1)), scene_of(short, 30))
    points = np.concatenate([part.points.reshape(-1, 3) for part in drawing.arm])
    flat, depth = drawing.camera.project(points)
    (left, right), (low, high) = drawing.axes.get_xlim(), drawing.axes.get_ylim()
    assert (depth > 0).all()
    assert left < flat[:, 0].min()
    assert flat[:, 0].max() < right
    assert low < flat[:, 1].min()
    assert flat[:, 1].max() < high
