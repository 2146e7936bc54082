"""The arm live in a browser by viser: replay of a result, and the stage on which the studio shows its runs."""

from __future__ import annotations

import threading
import time
from itertools import pairwise
from typing import Any

import numpy as np

from pliant.errors import PliantError
from pliant.results import Result
from pliant.view.scene import Placed, Scene, scene_of
from pliant.view.scene_tubes import RIGID, rings, strain_colours, tube_faces

CHUNKS = 8
"""Pieces of one colour of a link that bends."""
FRAME = 1 / 25
"""Seconds between pictures."""
GHOST = (127, 143, 160)


def viser() -> Any:
    """The library, or a message that says how to get it."""
    try:
        import viser as found
    except ImportError as error:
        raise PliantError('the viewer needs viser: pip install "pliant[studio]"') from error
    return found


def start_server(port: int, host: str = "127.0.0.1", label: str = "pliant") -> Any:
    """A server that only this machine reaches, on `port` or the next free one."""
    import logging

    logging.getLogger("websockets.server").setLevel(logging.CRITICAL)  # a browser that leaves is no error
    server = viser().ViserServer(host=host, port=port, label=label, verbose=False)
    server.gui.configure_theme(control_width="large", show_logo=False, show_share_button=False)
    if hasattr(server.gui, "main_panel"):  # viser 1.1 and later
        server.gui.main_panel.dock_right()
    server.scene.configure_default_lights(enabled=True, cast_shadow=False)
    return server


def address(server: Any) -> str:
    """Where a browser finds it."""
    return f"http://{server.get_host()}:{server.get_port()}"


class _LinkMeshes:
    """The meshes of one link: pieces of tube, each of one colour."""

    def __init__(self, server: Any, name: str, placed: Placed, colour: Any, opacity: float | None) -> None:
        surface = rings(placed, 0)
        count = min(CHUNKS if placed.link.flexible and colour is None else 1, len(surface) - 1)
        edges = np.linspace(0, len(surface) - 1, count + 1).round().astype(int)
        self.pieces = [(int(a), int(b) + 1) for a, b in pairwise(edges)]
        self.fixed, self.shown = colour, [(-1, -1, -1)] * count
        self.meshes = [
            server.scene.add_mesh_simple(
                f"{name}/{k}", surface[a:b].reshape(-1, 3).astype(np.float32), tube_faces(b - a, surface.shape[1]),
                color=colour or tuple(int(255 * c) for c in RIGID), opacity=opacity, side="double",
                cast_shadow=False, receive_shadow=False,
            )
            for k, (a, b) in enumerate(self.pieces)
        ]  # fmt: skip

    def update(self, placed: Placed, frame: int, largest: float) -> None:
        surface = rings(placed, frame)
        strain = placed.link.strain[min(frame, len(placed.link.strain) - 1)]
        for k, ((a, b), mesh) in enumerate(zip(self.pieces, self.meshes)):
            mesh.vertices = surface[a:b].reshape(-1, 3).astype(np.float32)
            if self.fixed is None and placed.link.flexible and largest > 0:
                rgb = strain_colours(np.asarray(strain[a:b].mean() / largest))
                red, green, blue = (int(8 * round(255 / 8 * float(c))) for c in rgb)
                wanted = (red, green, blue)
                if wanted != self.shown[k]:
                    self.shown[k] = wanted
                    mesh.color = wanted


class Stage:
    """An arm, its rigid ghost and the path of its tip, at a time that the user chooses."""

    def __init__(self, server: Any) -> None:
        self.server = server
        self.scene: Scene | None = None
        self.lock = threading.RLock()
        self._arms: list[tuple[list[Placed], list[_LinkMeshes], float]] = []
        self._others: list[Any] = []
        self._stop = threading.Event()
        gui = server.gui
        with gui.add_folder("Time"):
            self.play = gui.add_checkbox("play", False)
            self.clock = gui.add_slider("t (s)", 0.0, 1.0, 0.001, 0.0)
            self.speed = gui.add_dropdown("speed", ("0.05", "0.1", "0.25", "0.5", "1", "2", "4"), initial_value="1")
            self.magnify = gui.add_slider("deflection ×", 1.0, 100.0, 1.0, 1.0)
            self.ghost = gui.add_checkbox("rigid ghost", True)
        self.clock.on_update(lambda _: self.draw())
        self.magnify.on_update(lambda _: self.show(self.scene, self.kept, keep_time=True) if self.scene else None)
        self.ghost.on_update(lambda _: self.show(self.scene, self.kept, keep_time=True) if self.scene else None)
        self.kept: tuple[Scene, ...] = ()
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    def show(self, scene: Scene | None, kept: tuple[Scene, ...] = (), keep_time: bool = False) -> None:
        """Put a scene on the stage, with other runs as coloured shadows."""
        assert scene is not None
        with self.lock:
            new = self.scene is None or len(self.scene.links) != len(scene.links) or self.scene.reach != scene.reach
            self.scene, self.kept = scene, kept
            for item in self._others:
                item.remove()
            self._others, self._arms = [], []
            self._place("/arm", scene, self.magnify.value, None, None)
            if self.ghost.value:
                self._place("/ghost", scene, 0.0, GHOST, 0.3)
            for k, other in enumerate(kept):
                self._place(
                    f"/kept{k}", other, self.magnify.value, ((213, 94, 0), (0, 158, 115), (204, 121, 167))[k % 3], 0.45
                )
            self._furniture(scene)
            end = float(scene.t[-1])
            self.clock.max, self.clock.step = max(end, 1e-3), max(end / 2000, 1e-4)
            if new:
                self._camera(scene)
            if not keep_time:
                self.clock.value = 0.0
            self.draw()

    def _place(self, name: str, scene: Scene, magnification: float, colour: Any, opacity: float | None) -> None:
        placed = list(scene.lines(magnification))
        meshes = [_LinkMeshes(self.server, f"{name}/{p.link.name}", p, colour, opacity) for p in placed]
        self._others += [mesh for link in meshes for mesh in link.meshes]
        self._arms.append((placed, meshes, scene.largest_strain))

    def _furniture(self, scene: Scene) -> None:
        api, size = self.server.scene, scene.reach
        api.set_up_direction(tuple(float(v) for v in scene.up))
        tip = self._arms[0][0][-1].tip[:, :3, 3]
        if len(tip) > 1:
            segments = np.stack([tip[:-1], tip[1:]], axis=1).astype(np.float32)
            path = api.add_line_segments("/path", segments, (213, 94, 0), thickness=2.0, thickness_units="screen")
            self._others.append(path)
        self.load = api.add_icosphere("/payload", 0.022 * size, color=(217, 130, 43), visible=scene.payload > 0)
        self.joints = [
            api.add_icosphere(
                f"/joint/{p.link.name}", max(0.012 * size, 1.25 * float(p.link.half.max())), color=(58, 70, 83)
            )
            for p in self._arms[0][0]
        ]
        self._others += [self.load, *self.joints]

    def _camera(self, scene: Scene) -> None:
        points = np.concatenate([p.points.reshape(-1, 3) for p in self._arms[0][0]])
        low, high = np.minimum(points.min(0), 0), np.maximum(points.max(0), 0)
        centre, radius = (low + high) / 2, max(float(np.linalg.norm(high - low)) / 2, 0.3 * scene.reach)
        span = high - low
        side = np.zeros(3)
        side[int(np.argmin(span - 1e-9 * np.abs(scene.up)))] = 1.0
        if span.min() > 0.04 * scene.reach or abs(float(side @ scene.up)) > 0.5:
            side = np.array([0.8, -1.0, 0.0]) if scene.up[2] > 0.5 else np.array([0.6, 0.0, 1.0])
        eye = centre + 2.1 * radius * (side + 0.4 * scene.up) / np.linalg.norm(side + 0.4 * scene.up)
        floor = float(min((points @ scene.up).min(), 0.0)) - 0.04 * scene.reach
        turn = _turn_to(scene.up)
        self.server.scene.add_grid(
            "/floor", 4 * scene.reach, 4 * scene.reach, cell_size=scene.reach / 5, section_size=scene.reach,
            position=tuple(floor * scene.up), wxyz=turn,
        )  # fmt: skip
        camera = self.server.initial_camera
        camera.position, camera.look_at, camera.up = tuple(eye), tuple(centre), tuple(scene.up)
        for client in self.server.get_clients().values():
            client.camera.up_direction = tuple(scene.up)
            client.camera.position, client.camera.look_at = tuple(eye), tuple(centre)

    def draw(self) -> None:
        """The arm at the time of the clock."""
        with self.lock:
            if self.scene is None:
                return
            frame = int(np.clip(np.searchsorted(self.scene.t, self.clock.value), 0, len(self.scene) - 1))
            with self.server.atomic():
                for placed, meshes, largest in self._arms:
                    for part, link in zip(placed, meshes):
                        link.update(part, min(frame, len(part.points) - 1), largest)
                for part, joint in zip(self._arms[0][0], self.joints):
                    joint.position = part.joint[frame, :3, 3]
                self.load.position = self._arms[0][0][-1].tip[frame, :3, 3]

    def _run(self) -> None:
        before = time.monotonic()
        while not self._stop.wait(FRAME):
            now = time.monotonic()
            if self.play.value and self.scene is not None:
                later = self.clock.value + (now - before) * float(self.speed.value)
                self.clock.value = later if later <= float(self.scene.t[-1]) else 0.0
                self.draw()
            before = now

    def close(self) -> None:
        """Stop playing."""
        self._stop.set()
        self.thread.join(timeout=2)


def _turn_to(up: Any) -> tuple[float, float, float, float]:
    """Quaternion (w, x, y, z) that turns z to `up`."""
    axis, w = np.cross([0.0, 0.0, 1.0], up), 1.0 + float(up[2])
    if w < 1e-9:
        return (0.0, 1.0, 0.0, 0.0)
    q = np.array([w, *axis]) / np.linalg.norm([w, *axis])
    return (float(q[0]), float(q[1]), float(q[2]), float(q[3]))


def view(result: Result, port: int = 8080) -> Any:
    """Replay a result in the browser; returns the viser server, which runs until it is stopped."""
    server = start_server(port, label=result.robot.name)
    stage = Stage(server)
    duration = float(result.t[-1] - result.t[0])
    stage.show(scene_of(result, int(np.clip(60 * duration, 200, 1200))))
    server.gui.add_markdown(
        f"**{result.robot.name}**  \n{result.t[-1]:g} s by {result.options['formulation']} and {result.stats.method}"
    )
    stage.play.value = True
    return server
