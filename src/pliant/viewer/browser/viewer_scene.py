"""Scene of the viewer and the studio in the browser: an arm, its rigid ghost and other runs, at a chosen time.

Meshes are kept when a new run has the same links, so that a moved slider bends the arm that is there instead of
building another.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from pliant.algebra.quaternions import to_matrix
from pliant.arrays import Array
from pliant.viewer.browser.viewer_furniture import Furniture, Stand, stand, turn_to
from pliant.viewer.browser.viewer_meshes import ArmMeshes, Ball, Control, FittingMeshes, layout
from pliant.viewer.colors import GHOST, KEPT, Color
from pliant.viewer.scenes.scene import TORN, Scene
from pliant.viewer.scenes.scene_camera import Outlook, outlook
from pliant.viewer.scenes.skins import skins_of

if TYPE_CHECKING:
    from viser import CameraHandle, InitialCameraConfig, LineSegmentsHandle

    from pliant.viewer.browser.viewer_meshes import Page

FRAME = 1 / 25
"""Seconds between pictures."""
FIELD_OF_VIEW = np.radians(35)
NARROW = 0.7
"""Width over height of a scene between two panels, until a browser tells its own."""
SEEN, ENOUGH = 0.02, 0.06
"""Parts of the reach: a deflection below the first is magnified, up to the second."""
Watcher = Callable[[float, bool], None]
WORLD, UP = "/world", (0.0, 0.0, 1.0)
"""Frame that holds everything, turned so that its up is the page's. A browser that turns the scene itself may do so
after it has placed the camera, and then turns both."""


class Stage:
    """An arm, its rigid ghost and the path of its tip, at a time that the user chooses: on viser's server for all
    visitors, or on the handle of one of them."""

    def __init__(self, server: Page, playing: bool = True) -> None:
        self.server = server
        self.scene: Scene | None = None
        self._fittings: FittingMeshes | None = None
        self.kept: tuple[Scene, ...] = ()
        self.lock = threading.RLock()
        self._arms: dict[str, ArmMeshes] = {}
        self._furniture: Furniture | None = None
        self._world = server.scene.add_frame(WORLD, show_axes=False)
        self._path: LineSegmentsHandle | None = None
        self._rooms = 0
        self._stop = threading.Event()
        gui = server.gui
        with gui.add_folder("Time"):
            self.play = gui.add_checkbox("play", playing)
            self.clock: Control = gui.add_slider("t (s)", 0.0, 1.0, 0.001, 0.0)
            self.speed = gui.add_dropdown("speed", ("0.05", "0.1", "0.25", "0.5", "1", "2", "4"), initial_value="1")
            self.magnify: Control = gui.add_slider("deflection ×", 1.0, 100.0, 1.0, 1.0)
            self.ghost = gui.add_checkbox("rigid ghost", True)
            self.follow = gui.add_checkbox("follow the base", True, visible=False)
        self.watchers: list[Watcher] = []
        self._setting = False
        self.clock.on_update(lambda _: self._timed())
        self.magnify.on_update(lambda _: self._again())
        self.ghost.on_update(lambda _: self._again())
        self.follow.on_update(lambda _: self._turned())
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    def watch(self, watcher: Watcher) -> None:
        """Call `watcher` with the time of the clock whenever it changes, and with whether the clock runs."""
        self.watchers.append(watcher)

    def _timed(self) -> None:
        self.draw()
        for watcher in self.watchers:
            watcher(float(self.clock.value), bool(self.play.value))

    def _again(self) -> None:
        if self.scene is not None and not self._setting:
            self.show(self.scene, self.kept, keep_time=True)

    def _turned(self) -> None:
        """Look again after the choice to follow the base has changed."""
        with self.lock:
            if self.scene is not None:
                self.draw()
                self._look(self.scene)

    def show(self, scene: Scene, kept: tuple[Scene, ...] = (), keep_time: bool = False) -> None:
        """Show a scene, with other runs as colored shadows."""
        with self.lock:
            new = self.scene is None or not _alike(self.scene, scene)
            with self.server.atomic():
                self._exchange(scene, kept, keep_time, new)
            if new:
                self.server.flush()
                self._look(scene)

    def _exchange(self, scene: Scene, kept: tuple[Scene, ...], keep_time: bool, new: bool) -> None:
        """Replace what is shown, and keep meshes and things around the arm that still fit."""
        self.scene, self.kept = scene, kept
        names = ["/arm", *(["/ghost"] if self.ghost.value else []), *(f"/kept{k}" for k in range(len(kept)))]
        for name in [name for name in self._arms if name not in names]:
            self._arms.pop(name).remove()
        if new:
            self._setting = True
            self.magnify.value = readable(scene)
            self._setting = False
        self._place("/arm", scene, self.magnify.value, None, None)
        self._fit(scene)
        if self.ghost.value:
            self._place("/ghost", scene, 0.0, GHOST, 0.3)
        for k, other in enumerate(kept):
            self._place(f"/kept{k}", other, self.magnify.value, KEPT[k % len(KEPT)], 0.45)
        base = stand(scene, self._arms["/arm"].placed)
        if new or self._furniture is None or not self._furniture.base.serves(base, scene.reach):
            self._furnish(scene, base)
        self.follow.visible = scene.flies
        for part, ball in zip(self._arms["/arm"].placed, self.loads):
            ball.mesh.visible = part.link.loaded
        self._trail()
        end = float(scene.t[-1])
        self.clock.max, self.clock.step = max(end, 1e-3), max(end / 2000, 1e-4)
        if not keep_time or self.clock.value > end:
            self.clock.value = 0.0
        self.draw()

    def _place(self, name: str, scene: Scene, magnification: float, color: Color | None, opacity: float | None) -> None:
        """Give the meshes of a name the links of a scene; new meshes if the old ones do not fit."""
        placed, skins = list(scene.lines(magnification)), skins_of(scene)
        arm = self._arms.get(name)
        if arm is None or arm.layout != layout(placed, skins):
            if arm is not None:
                arm.remove()
            arm = self._arms[name] = ArmMeshes(self.server, WORLD + name, placed, color, opacity, skins)
        arm.placed, arm.largest = placed, scene.largest_strain

    def _fit(self, scene: Scene) -> None:
        """Give the fittings the motion of a run."""
        if self._fittings is not None and not self._fittings.fits(scene.fittings):
            self._fittings.remove()
            self._fittings = None
        if self._fittings is None:
            self._fittings = FittingMeshes(self.server, f"{WORLD}/fittings", scene.fittings)
        self._fittings.place(scene.fittings, self._arms["/arm"].placed)

    def _trail(self) -> None:
        """Draw the path of the tip over the whole run."""
        from scipy.interpolate import CubicSpline

        tip = self._arms["/arm"].placed[-1].tip[:, :3, 3]
        if len(tip) < 2:
            tip = np.repeat(tip, 2, axis=0)
        if len(tip) > 3:  # frames are coarse where the tip is quick
            frames = np.arange(len(tip))
            tip = CubicSpline(frames, tip)(np.linspace(0, frames[-1], 4 * frames[-1] + 1))
        segments = np.stack([tip[:-1], tip[1:]], axis=1).astype(np.float32)
        if self._path is not None:
            self._path.remove()
        self._path = self.server.scene.add_line_segments(
            f"{WORLD}/path", segments, (213, 94, 0), thickness=1.5, thickness_units="screen"
        )

    def _furnish(self, scene: Scene, base: Stand) -> None:
        """Replace the things around the arm."""
        if self._furniture is not None:
            self._furniture.remove()
        self._rooms += 1  # a browser would give a thing of the same name the place of the last
        self._world.wxyz = _upright(scene)
        self._furniture = Furniture(self.server, f"{WORLD}/room{self._rooms}", scene, self._arms["/arm"].placed, base)

    @property
    def joints(self) -> list[Ball]:
        """Balls that stand for joints."""
        return [] if self._furniture is None else self._furniture.joints

    @property
    def loads(self) -> list[Ball]:
        """Balls that stand for payloads."""
        return [] if self._furniture is None else self._furniture.loads

    def _look(self, scene: Scene) -> None:
        """Point all cameras at the arm that is shown."""
        follow = bool(scene.flies and self.follow.value)
        self._camera(outlook(scene, self._arms["/arm"].placed, follow), to_matrix(np.array(_upright(scene))))

    def _camera(self, seen: Outlook, turn: Array) -> None:
        """Fill the picture, which may be narrow between the panels, with everything that the arm reaches."""
        for camera in self._cameras():
            wide = FIELD_OF_VIEW / 2
            narrow = min(wide, np.arctan(float(getattr(camera, "aspect", NARROW)) * np.tan(wide)))
            away = 1.06 * seen.radius / np.sin(narrow) * seen.towards
            camera.fov = FIELD_OF_VIEW
            setattr(camera, "up_direction" if hasattr(camera, "up_direction") else "up", UP)
            camera.position, camera.look_at = tuple(turn @ (seen.center + away)), tuple(turn @ seen.center)

    def _cameras(self) -> list[CameraHandle | InitialCameraConfig]:
        """Camera of a visitor; of a page that all share those of all visitors, and that with which others begin."""
        page = self.server
        if hasattr(page, "camera"):
            return [page.camera]
        return [page.initial_camera, *(client.camera for client in page.get_clients().values())]

    def draw(self) -> None:
        """Draw the arm at the time of the clock."""
        with self.lock:
            if self.scene is None:
                return
            frame = int(np.abs(self.scene.t - self.clock.value).argmin())
            placed = self._arms["/arm"].placed
            away = self.scene.base(placed)[frame] * bool(self.follow.value)
            with self.server.atomic():
                for arm in self._arms.values():
                    arm.draw(frame, away)
                if self._furniture is not None:
                    self._furniture.draw(placed, frame, away)
                if self._fittings is not None:
                    self._fittings.draw(frame, away)
                if self.scene.flies and self._path is not None:
                    self._path.position = tuple(-away)

    def _run(self) -> None:
        """Move the clock while it plays."""
        before = time.monotonic()
        while not self._stop.wait(FRAME):
            now = time.monotonic()
            if self.play.value and self.scene is not None:
                later = self.clock.value + (now - before) * float(self.speed.value)
                self.clock.value = later if later <= float(self.scene.t[-1]) else 0.0  # which draws
            before = now

    def close(self) -> None:
        """Stop playing."""
        self._stop.set()
        self.thread.join(timeout=2)


def readable(scene: Scene) -> float:
    """Round magnification by which the deflection of a tip is seen; 1 where it is seen as it is."""
    bent, rigid = (np.stack([part.tip[:, :3, 3] for part in scene.lines(m)]) for m in (1.0, 0.0))
    largest = float(np.linalg.norm(bent - rigid, axis=-1).max()) / scene.reach
    if largest >= SEEN or largest == 0.0:
        return 1.0
    fitting = [m for m in (2.0, 5.0, 10.0, 20.0, 50.0, 100.0) if m * largest <= ENOUGH]
    return max((m for m in fitting if scene.torn(m) <= TORN * scene.reach), default=1.0)


def _upright(scene: Scene) -> tuple[float, float, float, float]:
    """Quaternion that turns the arm's up to the page's."""
    w, x, y, z = turn_to(scene.up)
    return (w, -x, -y, -z)


def _alike(one: Scene, two: Scene) -> bool:
    """Whether the same furniture and camera serve both."""
    names = [[link.name for link in scene.links] for scene in (one, two)]
    return names[0] == names[1] and one.reach == two.reach and bool((one.up == two.up).all())
