"""The stage of the viewer and the studio: an arm in the browser, its rigid ghost and other runs, at a chosen time.

Meshes stay when a new run has the same links, so that a moved slider bends the arm that is there instead of building
another.
"""

from __future__ import annotations

import threading
import time
from typing import Any

import numpy as np

from pliant.view.scene import Scene
from pliant.view.scene_camera import Outlook, outlook
from pliant.view.stage_meshes import ArmMeshes, Ball, layout
from pliant.view.style import COLOURS

FRAME = 1 / 25
"""Seconds between pictures."""
GHOST = (127, 143, 160)
STEEL = (58, 70, 83)
KEPT = tuple(tuple(bytes.fromhex(colour[1:])) for colour in COLOURS[1:4])
"""Colours of kept runs, those of their lines in the plot."""
FIELD_OF_VIEW = np.radians(35)


class Stage:
    """An arm, its rigid ghost and the path of its tip, at a time that the user chooses; on viser's server for all who
    look, or on the handle of one of them."""

    def __init__(self, server: Any, playing: bool = True) -> None:
        self.server = server
        self.scene: Scene | None = None
        self.kept: tuple[Scene, ...] = ()
        self.lock = threading.RLock()
        self._arms: dict[str, ArmMeshes] = {}
        self._furniture: list[Any] = []
        self._path: Any = None
        self._rooms = 0
        self._stop = threading.Event()
        gui = server.gui
        with gui.add_folder("Time"):
            self.play = gui.add_checkbox("play", playing)
            self.clock = gui.add_slider("t (s)", 0.0, 1.0, 0.001, 0.0)
            self.speed = gui.add_dropdown("speed", ("0.05", "0.1", "0.25", "0.5", "1", "2", "4"), initial_value="1")
            self.magnify = gui.add_slider("deflection ×", 1.0, 100.0, 1.0, 1.0)
            self.ghost = gui.add_checkbox("rigid ghost", True)
            self.follow = gui.add_checkbox("follow the base", True, visible=False)
        self.clock.on_update(lambda _: self.draw())
        self.magnify.on_update(lambda _: self._again())
        self.ghost.on_update(lambda _: self._again())
        self.follow.on_update(lambda _: self._turned())
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    def _again(self) -> None:
        if self.scene is not None:
            self.show(self.scene, self.kept, keep_time=True)

    def _turned(self) -> None:
        """The base is followed, or not any more."""
        with self.lock:
            if self.scene is not None:
                self.draw()
                self._look(self.scene)

    def show(self, scene: Scene, kept: tuple[Scene, ...] = (), keep_time: bool = False) -> None:
        """Put a scene on the stage, with other runs as coloured shadows."""
        with self.lock:
            new = self.scene is None or not _alike(self.scene, scene)
            with self.server.atomic():
                self._exchange(scene, kept, keep_time, new)
            if new:
                self.server.flush()
                time.sleep(FRAME)  # a browser that turns the scene after the camera would turn both
                self._look(scene)

    def _exchange(self, scene: Scene, kept: tuple[Scene, ...], keep_time: bool, new: bool) -> None:
        self.scene, self.kept = scene, kept
        names = ["/arm", *(["/ghost"] if self.ghost.value else []), *(f"/kept{k}" for k in range(len(kept)))]
        for name in [name for name in self._arms if name not in names]:
            self._arms.pop(name).remove()
        self._place("/arm", scene, self.magnify.value, None, None)
        if self.ghost.value:
            self._place("/ghost", scene, 0.0, GHOST, 0.3)
        for k, other in enumerate(kept):
            self._place(f"/kept{k}", other, self.magnify.value, KEPT[k % len(KEPT)], 0.45)
        if new:
            self._furnish(scene)
        self.follow.visible = scene.flies
        for part, ball in zip(self._arms["/arm"].placed, self.loads):
            ball.mesh.visible = part.link.loaded
        self._trail()
        end = float(scene.t[-1])
        self.clock.max, self.clock.step = max(end, 1e-3), max(end / 2000, 1e-4)
        if not keep_time or self.clock.value > end:
            self.clock.value = 0.0
        self.draw()

    def _place(self, name: str, scene: Scene, magnification: float, colour: Any, opacity: float | None) -> None:
        placed = list(scene.lines(magnification))
        arm = self._arms.get(name)
        if arm is None or arm.layout != layout(placed):
            if arm is not None:
                arm.remove()
            arm = self._arms[name] = ArmMeshes(self.server, name, placed, colour, opacity)
        arm.placed, arm.largest = placed, scene.largest_strain

    def _trail(self) -> None:
        """The path of the tip over the whole run."""
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
            "/path", segments, (213, 94, 0), thickness=1.5, thickness_units="screen"
        )

    def _furnish(self, scene: Scene) -> None:
        """Joints, payload, base plate and floor: sized by the arm."""
        for item in self._furniture:
            item.remove()
        self._rooms += 1
        here = f"/room{self._rooms}"  # a browser would give a thing of the same name the place of the last
        api, size, placed = self.server.scene, scene.reach, self._arms["/arm"].placed
        api.set_up_direction(tuple(float(v) for v in scene.up))
        seen = outlook(scene, placed)
        turn, sizes = _turn_to(scene.up), [max(0.014 * size, p.link.joint_size) for p in placed]
        foot = sizes[0] + 0.01 * size
        names = [p.link.name for p in placed]
        self.loads = [Ball(self.server, f"{here}/payload/{name}", 0.024 * size, (217, 130, 43)) for name in names]
        self.joints = [Ball(self.server, f"{here}/joint/{name}", r, STEEL) for name, r in zip(names, sizes)]
        for part, joint in zip(placed, self.joints):
            joint.mesh.visible = part.link.marked
        self._furniture = [*(ball.mesh for ball in (*self.loads, *self.joints))]
        if not scene.flies:
            self._furniture.append(
                api.add_cylinder(f"{here}/foot", 0.05 * size, 0.02 * size, STEEL, cast_shadow=False, wxyz=turn,
                                 position=tuple((foot if seen.hangs else -foot) * scene.up))
            )  # fmt: skip
        self._floor, self._height = None, seen.floor * scene.up
        if scene.standing:
            self._floor = api.add_grid(
                f"{here}/floor", 3 * size, 3 * size, cell_size=size / 5, section_size=size, cell_color=(226, 231, 236),
                section_color=(200, 208, 216), position=tuple(self._height), wxyz=turn, shadow_opacity=0.0,
            )  # fmt: skip
            self._furniture.append(self._floor)

    def _look(self, scene: Scene) -> None:
        """Of all who watch, at the arm as it stands on the stage."""
        follow = bool(scene.flies and self.follow.value)
        self._camera(outlook(scene, self._arms["/arm"].placed, follow), tuple(scene.up))

    def _camera(self, seen: Outlook, up: Any) -> None:
        """Everything that the arm touches fills the picture."""
        eye = tuple(seen.centre + 1.06 * seen.radius / np.sin(FIELD_OF_VIEW / 2) * seen.towards)
        cameras = [self.server.camera] if hasattr(self.server, "camera") else self._everybody(eye, seen, up)
        for camera in cameras:
            camera.up_direction, camera.fov = up, FIELD_OF_VIEW
            camera.position, camera.look_at = eye, tuple(seen.centre)

    def _everybody(self, eye: Any, seen: Outlook, up: Any) -> list[Any]:
        """Cameras of a page that all share; who comes later begins there."""
        first = self.server.initial_camera
        first.position, first.look_at, first.up, first.fov = eye, tuple(seen.centre), up, FIELD_OF_VIEW
        return [client.camera for client in self.server.get_clients().values()]

    def draw(self) -> None:
        """The arm at the time of the clock."""
        with self.lock:
            if self.scene is None:
                return
            frame = int(np.abs(self.scene.t - self.clock.value).argmin())
            placed = self._arms["/arm"].placed
            away = self.scene.base(placed)[frame] * bool(self.follow.value)
            with self.server.atomic():
                for arm in self._arms.values():
                    arm.draw(frame, away)
                for part, joint, load in zip(placed, self.joints, self.loads):
                    joint.put(part.joint[frame, :3, 3] - away)
                    load.put(part.tip[frame, :3, 3] - away)
                if self.scene.flies:
                    self._path.position = tuple(-away)
                    if self._floor is not None:
                        self._floor.position = tuple(self._height - away)

    def _run(self) -> None:
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


def _alike(one: Scene, two: Scene) -> bool:
    """Whether the same furniture and camera serve both."""
    names = [[link.name for link in scene.links] for scene in (one, two)]
    return names[0] == names[1] and one.reach == two.reach and bool((one.up == two.up).all())


def _turn_to(up: Any) -> tuple[float, float, float, float]:
    """Quaternion (w, x, y, z) that turns z to `up`."""
    axis, w = np.cross([0.0, 0.0, 1.0], up), 1.0 + float(up[2])
    if w < 1e-9:
        return (0.0, 1.0, 0.0, 0.0)
    q = np.array([w, *axis]) / np.linalg.norm([w, *axis])
    return (float(q[0]), float(q[1]), float(q[2]), float(q[3]))
