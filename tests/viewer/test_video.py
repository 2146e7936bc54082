"""Movies and notebook pictures, without a display."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pliant
from figures.test_figure_values import SI, rigid_tip, unit_of
from pliant.viewer import video, video_drawing
from pliant.viewer.scenes.scene_camera import Outlook
from pliant.viewer.video import SIZE, pictures


@pytest.fixture(scope="module")
def short(swing: pliant.Result) -> pliant.Result:
    return swing


def test_pictures_show_an_arm_that_moves(short: pliant.Result) -> None:
    """Colored pixels are the arm; they lie elsewhere at another time."""
    frames = list(pictures(short, fps=4, speed=1.0, magnification=3.0))
    assert len(frames) == 9  # two seconds, four per second, and the first
    assert frames[0].shape == (SIZE[1], SIZE[0], 3)
    left = [frame[40:, : SIZE[0] // 2].astype(int) for frame in frames]
    colorful = [(f.max(axis=2) - f.min(axis=2)) > 40 for f in left]
    assert all(mask.sum() > 200 for mask in colorful)
    assert (colorful[0] ^ colorful[4]).sum() > 200


def test_gif(short: pliant.Result, tmp_path: Path) -> None:
    from PIL import Image

    with Image.open(short.to_video(tmp_path / "run.gif", fps=5)) as movie:
        assert movie.n_frames == 11
        assert movie.info["duration"] == 200
        assert movie.size == SIZE


@pytest.mark.slow
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


@pytest.mark.slow_cases("None-run.gif", "the movie before-run.gif")
@pytest.mark.parametrize("name", ["run.gif", "run.mp4"])
@pytest.mark.parametrize("before", [None, b"the movie before"])
def test_an_interrupted_movie_leaves_the_old_file_or_none(
    short: pliant.Result, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, before: bytes | None
) -> None:
    if name == "run.mp4":
        pytest.importorskip("imageio_ffmpeg", reason="imageio-ffmpeg is not installed (the video extra has it)")
    started: list[subprocess.Popen[bytes]] = []

    class Watched(subprocess.Popen):  # type: ignore[type-arg]
        def __init__(self, *args: Any, **kwargs: Any) -> None:
            super().__init__(*args, **kwargs)
            started.append(self)

    def cut(*_: Any) -> Any:
        for _ in range(40):  # enough for the encoder to write some
            yield np.zeros((SIZE[1], SIZE[0], 3), np.uint8)
        if name == "run.mp4":
            raise KeyboardInterrupt

    def half(image: Any, path: Path, *args: Any, **kwargs: Any) -> None:
        Path(path).write_bytes(b"GIF89a")
        raise KeyboardInterrupt

    if before is not None:
        (tmp_path / name).write_bytes(before)
    monkeypatch.setattr(video, "pictures", cut)
    monkeypatch.setattr("PIL.Image.Image.save", half)
    monkeypatch.setattr(video.subprocess, "Popen", Watched)
    with pytest.raises(KeyboardInterrupt):
        short.to_video(tmp_path / name)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == ({} if before is None else {name: before})
    assert all(process.returncode is not None for process in started), "the encoder goes on"
    assert bool(started) == (name == "run.mp4")


def test_a_failed_encoder_leaves_the_old_file(
    short: pliant.Result, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Here a program that is no encoder."""
    monkeypatch.setattr(video, "_ffmpeg", lambda: sys.executable)
    (tmp_path / "run.mp4").write_bytes(b"the movie before")
    with pytest.raises(pliant.PliantError, match="encoder"):
        short.to_video(tmp_path / "run.mp4", fps=5)
    assert [path.read_bytes() for path in tmp_path.iterdir()] == [b"the movie before"]


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

    from pliant.viewer.scenes.scene import scene_of
    from pliant.viewer.video_drawing import FrameDrawing

    drawing = FrameDrawing(Figure(figsize=(4, 3)).add_axes((0, 0, 1, 1)), scene_of(short, 30))
    points = np.concatenate([part.points.reshape(-1, 3) for part in drawing.arm])
    flat, depth = drawing.camera.project(points)
    (left, right), (low, high) = drawing.axes.get_xlim(), drawing.axes.get_ylim()
    assert (depth > 0).all()
    assert left < flat[:, 0].min()
    assert flat[:, 0].max() < right
    assert low < flat[:, 1].min()
    assert flat[:, 1].max() < high


class Film:
    """What was drawn into each picture of a movie: the frame of the scene, the clock, the cursor of the plot."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        from matplotlib.figure import Figure

        self.frames: list[int] = []
        self.clocks: list[float] = []
        self.cursors: list[float] = []
        self.drawing: video_drawing.FrameDrawing | None = None
        self.figure: Figure | None = None
        show, draw_artist = video_drawing.FrameDrawing.show, Figure.draw_artist

        def shown(drawing: video_drawing.FrameDrawing, frame: int) -> None:
            self.drawing = drawing
            self.frames.append(frame)
            show(drawing, frame)

        def drawn(figure: Figure, artist: Any) -> None:
            self.figure = figure
            if hasattr(artist, "get_text"):
                self.clocks.append(float(artist.get_text().removesuffix(" s")))
            elif artist.axes is figure.axes[1]:
                assert len(set(artist.get_xdata())) == 1
                self.cursors.append(float(artist.get_xdata()[0]))
            draw_artist(figure, artist)

        monkeypatch.setattr(video_drawing.FrameDrawing, "show", shown)
        monkeypatch.setattr(Figure, "draw_artist", drawn)


@pytest.mark.slow_cases("40-1.0")
@pytest.mark.parametrize(("fps", "speed"), [(40, 1.0), (25, 0.3)])
def test_frame_k_shows_time_k_by_fps(
    crooked: pliant.Result, monkeypatch: pytest.MonkeyPatch, fps: int, speed: float
) -> None:
    """Clock, cursor and arm all stand at t0 + k speed / fps; between rows the states are interpolated."""
    film = Film(monkeypatch)
    count = sum(1 for _ in pictures(crooked, fps, speed, 1.0))
    times = crooked.t[0] + np.arange(count) * speed / fps
    assert times[-1] <= crooked.t[-1] < times[-1] + speed / fps
    assert film.frames == list(range(count))
    np.testing.assert_allclose(film.clocks, times, atol=0.0051)
    np.testing.assert_allclose(film.cursors, times, rtol=1e-12)
    assert film.drawing is not None
    np.testing.assert_allclose(film.drawing.scene.t, times, rtol=1e-12)
    for link in film.drawing.scene.links:
        np.testing.assert_allclose(link.joint[:, 0], np.interp(times, crooked.t, crooked[link.name]), rtol=1e-12)
    q = np.column_stack([np.interp(times, crooked.t, column) for column in crooked.q.T])
    np.testing.assert_allclose(film.drawing.arm[-1].tip, crooked.model.tip_pose(q), atol=1e-12)


def test_the_plot_beside_the_arm(crooked: pliant.Result, monkeypatch: pytest.MonkeyPatch) -> None:
    """The tip less that of the rigid arm, by axis, in the unit of the label; and the scale of the strain's colors."""
    film = Film(monkeypatch)
    next(iter(pictures(crooked, 10, 1.0, 2.0)))
    assert film.figure is not None
    axes = film.figure.axes[1]
    away = SI[unit_of(axes.get_ylabel())] ** -1 * (crooked.tip - rigid_tip(crooked))
    lines = {str(line.get_label()): line for line in axes.lines}
    for k, name in enumerate("xyz"):
        np.testing.assert_array_equal(lines[name].get_xdata(), crooked.t)
        np.testing.assert_allclose(lines[name].get_ydata(), away[:, k], rtol=1e-9, atol=1e-9)
    assert axes.get_xlabel() == "time (s)"
    texts = [text.get_text() for text in film.figure.texts]
    assert "crooked, deflections × 2" in texts
    (scale,) = (text for text in texts if text.startswith("bending strain, 0 to "))
    number, unit = scale.removeprefix("bending strain, 0 to ").split()
    assert film.drawing is not None
    largest = max(link.strain.max() for link in film.drawing.scene.links)
    assert float(number) * {"%": 1e-2, "µε": 1e-6}[unit] == pytest.approx(largest, rel=5e-3)


def test_painted_arm_and_ghost(crooked: pliant.Result) -> None:
    """Joints, path and payload are projected from where the model has them; the ghost is the rigid arm's."""
    from matplotlib.figure import Figure

    from pliant.viewer.scenes.scene import scene_of

    drawing = video_drawing.FrameDrawing(Figure(figsize=(4, 3)).add_axes((0, 0, 1, 1)), scene_of(crooked), 1.0)
    drawing.show(70)
    flat, _ = drawing.camera.project(crooked.tip)
    np.testing.assert_allclose(np.column_stack(drawing.path.get_data()), flat[:71], atol=1e-12)
    np.testing.assert_allclose(np.column_stack(drawing.load.get_data()), flat[70:71], atol=1e-12)
    roots = np.array([part.joint[70, :3, 3] for part in drawing.arm])
    np.testing.assert_allclose(np.column_stack(drawing.joints.get_data()), drawing.camera.project(roots)[0])
    np.testing.assert_allclose(drawing.rigid[-1].tip[:, :3, 3], rigid_tip(crooked), atol=1e-12)
    opaque = drawing.shapes.get_facecolor()[:, 3]
    ghosts = int((opaque < 1).sum())
    assert 0 < ghosts < len(opaque)
    assert (opaque[:ghosts] < 1).all()  # painted first, so that it hides no strain


def test_colors_of_the_arm_are_its_strain(crooked: pliant.Result) -> None:
    """Along the upper link, the color of a painted face, but for its shade, is that of the strain over the largest."""
    from pliant.viewer.colors import strain_colors
    from pliant.viewer.scenes.scene import scene_of
    from pliant.viewer.scenes.scene_camera import outlook

    scene = scene_of(crooked)
    placed = [part for part in scene.lines() if part.link.name == "upper"]
    camera = video_drawing.Camera.at(outlook(scene, placed), scene.up)
    _, colors = video_drawing.faces(placed, 70, scene.largest_strain, camera)
    hue = colors[:, :3] / colors[:, :3].sum(1, keepdims=True)
    part = np.linspace(*(f(placed[0].link.strain[70]) / scene.largest_strain for f in (np.min, np.max)), 2000)
    possible = strain_colors(part)
    possible /= possible.sum(1, keepdims=True)
    assert max(np.abs(possible - one).sum(1).min() for one in hue) < 5e-3
    assert np.ptp(hue, axis=0).max() > 0.02  # they do differ along the link


def test_camera_projects_in_perspective() -> None:
    """The center stays in the middle, up is up, right is right, and what is nearer is larger."""
    seen = Outlook(np.array([1.0, 2.0, 3.0]), 0.5, np.array([0.0, -1.0, 0.0]), np.eye(3)[:2], 0.0, False)
    camera = video_drawing.Camera.at(seen, np.array([0.0, 0.0, 1.0]))
    points = seen.center + np.array([[0, 0, 0], [0, 0, 0.1], [0.1, 0, 0], [0.1, -1.0, 0]])
    flat, depth = camera.project(points)
    np.testing.assert_allclose(flat[:3], [[0, 0], [0, 0.1], [0.1, 0]], atol=1e-12)
    np.testing.assert_allclose(flat[3], [0.2, 0.0], atol=1e-12)  # half as far
    np.testing.assert_allclose(depth, [2.0, 2.0, 2.0, 1.0])


@pytest.mark.parametrize(
    ("fps", "speed"), [(25, 5e-324), (25, 1e-9), (10**400, 1.0)], ids=["speed of zero", "slow", "fps beyond all"]
)
def test_movies_without_end_are_refused(crooked: pliant.Result, tmp_path: Path, fps: int, speed: float) -> None:
    with pytest.raises(pliant.ModelError, match="more than 100,000 pictures"):
        pliant.view.to_video(crooked, tmp_path / "run.gif", fps=fps, speed=speed)
