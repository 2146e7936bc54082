"""Pictures of an arm without a browser: shaded tubes, projected and painted from back to front by matplotlib."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from pliant.arrays import Array
from pliant.viewer.colors import GRID, ORANGE, RIGID, STEEL, hexadecimal, strain_colors
from pliant.viewer.scenes.placed_link import PlacedLink
from pliant.viewer.scenes.scene import Scene
from pliant.viewer.scenes.scene_camera import Outlook, outlook, touched
from pliant.viewer.scenes.scene_fittings import Fitting
from pliant.viewer.scenes.scene_tubes import rings, tube_faces
from pliant.viewer.scenes.skins import Skin, covered, shows, skins_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LIGHT = np.array([0.35, -0.45, 0.82])


@dataclass(frozen=True)
class Camera:
    """Perspective from `eye` to `center`; rows of `axes` point right, up and towards the eye."""

    eye: Array
    center: Array
    axes: Array

    @classmethod
    def at(cls, seen: Outlook, up: Array) -> Camera:
        """Camera of an outlook, four radii from the arm."""
        right = np.cross(up, seen.towards)
        right = right / np.linalg.norm(right)
        axes = np.stack([right, np.cross(seen.towards, right), seen.towards])
        return cls(seen.center + 4.0 * seen.radius * seen.towards, seen.center, axes)

    def project(self, points: Array) -> tuple[Array, Array]:
        """(..., 2) positions in the picture and (...) depths, larger behind."""
        seen = (points - self.eye) @ self.axes.T
        depth = -seen[..., 2]
        distance = float(np.linalg.norm(self.eye - self.center))
        return np.asarray(seen[..., :2] * (distance / depth)[..., None]), np.asarray(depth)


def faces(
    placed: list[PlacedLink],
    frame: int,
    largest: float,
    camera: Camera,
    away: Array | float = 0.0,
    ghost: bool = False,
    skins: Sequence[Skin] = (),
    fittings: Sequence[tuple[Fitting, Array]] = (),
) -> tuple[Array, Array]:
    """Triangles (K, 3, 2) of an arm at a frame that face the camera, and their colors (K, 4), from back to front.

    `away` is what the camera has followed. Fittings come with their maps, and are seen from both sides.
    """
    corners, colors, hidden = [], [], covered(skins)
    for skin in skins:
        corners.append((skin.points(placed, frame) - away)[skin.faces])
        colored = shows(skin, largest) and not ghost
        shown = strain_colors(skin.parts(placed, frame, largest)[skin.faces].mean(1)) if colored else skin.color
        colors.append(np.broadcast_to(shown, (len(skin.faces), 3)))
    for part in (each for k, each in enumerate(placed) if k not in hidden):
        surface = rings(part, frame) - away
        triangles = tube_faces(*surface.shape[:2])
        strain = part.link.strain[min(frame, len(part.link.strain) - 1)]
        plain = not (part.link.flexible and largest > 0)
        own = strain_colors(strain[triangles // surface.shape[1]].mean(1) / (largest or 1.0))
        corners.append(surface.reshape(-1, 3)[triangles])
        colors.append(np.broadcast_to(RIGID, own.shape) if plain else own)
    links = sum(map(len, corners))
    for body, maps in fittings:
        corners.append((body.points(maps, frame) - away)[body.mesh[1]])
        colors.append(np.broadcast_to(body.color[:3], (len(body.mesh[1]), 3)))
    opaque = np.array([0.24 if ghost else 1.0] * links + [body.color[3] for body, _ in fittings for _ in body.mesh[1]])
    solid, own = np.concatenate(corners), np.concatenate(colors)
    normal = np.cross(solid[:, 1] - solid[:, 0], solid[:, 2] - solid[:, 0])
    seen = ((camera.eye - solid[:, 0]) * normal).sum(1) > 0
    seen[links:] = True
    solid, own, normal, opaque = solid[seen], own[seen], normal[seen], opaque[seen]
    normal = normal / np.maximum(np.linalg.norm(normal, axis=1, keepdims=True), 1e-300)
    shade = 0.62 + 0.38 * np.abs(normal @ (LIGHT @ camera.axes))
    rgba = np.column_stack([np.clip(own * shade[:, None], 0, 1), opaque])
    flat, depth = camera.project(solid)
    order = np.argsort(-depth.mean(1))
    return flat[order], rgba[order]


class FrameDrawing:
    """Matplotlib axes that show a scene at any of its frames."""

    def __init__(self, axes: Axes, scene: Scene, magnification: float = 1.0, ghost: bool = True) -> None:
        from matplotlib.collections import PolyCollection

        self.scene, self.axes, self.largest = scene, axes, scene.largest_strain
        self.arm, self.rigid = list(scene.lines(magnification)), list(scene.lines(0.0)) if ghost else []
        self.away = scene.base(self.arm)
        self.skins = skins_of(scene)
        self.fittings = [(part, part.place.maps(self.arm)) for part in scene.fittings]
        seen = outlook(scene, self.arm, scene.flies)
        self.camera = Camera.at(seen, scene.up)
        if not scene.flies:  # it would have to move below a camera that follows
            self._floor(seen)
        self.tip = self.arm[-1].tip[:, :3, 3]
        (self.path,) = axes.plot([], [], color="#D55E00", linewidth=0.9, zorder=2)
        self.shapes: Any = PolyCollection([], closed=True, linewidths=0.0, antialiased=False, zorder=3)
        axes.add_collection(self.shapes)
        (self.load,) = axes.plot([], [], "o", color=hexadecimal(ORANGE), markersize=7, zorder=5)
        (self.joints,) = axes.plot([], [], "o", color=hexadecimal(STEEL), markersize=5, zorder=4)
        self.moving = (self.path, self.shapes, self.joints, self.load)
        self._frame(touched(scene, self.arm, scene.flies))

    def _floor(self, seen: Outlook) -> None:
        """Draw the lines of the floor."""
        scene, (first, second) = self.scene, seen.level
        steps = np.linspace(-1.5, 1.5, 13) * scene.reach
        for a, b in ((first, second), (second, first)):
            for s in steps:
                ends = seen.floor * scene.up + s * a + np.array([steps[0], steps[-1]])[:, None] * b
                flat, _ = self.camera.project(ends)
                self.axes.plot(*flat.T, color=hexadecimal(GRID[1]), linewidth=0.5, zorder=0)

    def _frame(self, points: Array) -> None:
        """Choose the limits of the axes so that all points are in the picture, with equal scales."""
        flat, _ = self.camera.project(np.vstack([points, np.zeros((1, 3))]))
        low, high = flat.min(0), flat.max(0)
        figure: Any = self.axes.figure
        box, page = self.axes.get_position(), figure.get_size_inches()
        shape = np.array([box.width * page[0], box.height * page[1]])  # equal scales on axes that keep their size
        half = 0.58 * max(((high - low) / shape).max(), 0.3 * self.scene.reach / shape.min()) * shape
        center = (low + high) / 2
        self.axes.set_xlim(center[0] - half[0], center[0] + half[0])
        self.axes.set_ylim(center[1] - half[1], center[1] + half[1])
        self.axes.set_axis_off()

    def show(self, frame: int) -> None:
        """Move everything to a frame."""
        away = self.away[frame]
        parts = [faces(self.rigid, frame, 0.0, self.camera, away, True, self.skins)] if self.rigid else []
        parts.append(faces(self.arm, frame, self.largest, self.camera, away, False, self.skins, self.fittings))
        triangles, colors = (np.concatenate(columns) for columns in zip(*parts))
        self.shapes.set_verts(triangles)
        self.shapes.set_facecolor(colors)
        loads = [part.tip[frame, :3, 3] for part in self.arm if part.link.loaded]
        roots = [part.joint[frame, :3, 3] for part in self.arm if part.link.marked]
        marks = ((self.path, self.tip[: frame + 1]), (self.load, loads), (self.joints, roots))
        for line, points in marks:
            line.set_data(*self.camera.project(np.reshape(points, (-1, 3)) - away)[0].T)
