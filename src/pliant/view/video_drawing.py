"""Pictures of an arm without a browser: shaded tubes, projected and painted from back to front by matplotlib."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from pliant.arrays import Array
from pliant.view.scene import PlacedLink, Scene
from pliant.view.scene_tubes import RIGID, rings, strain_colours

LIGHT = np.array([0.35, -0.45, 0.82])


@dataclass(frozen=True)
class Camera:
    """Perspective from `eye` to `centre`; rows of `axes` are right, up and towards the eye."""

    eye: Array
    centre: Array
    axes: Array

    @classmethod
    def around(cls, scene: Scene, points: Array) -> Camera:
        """Sees all points, a planar arm from the side it moves in."""
        low, high = np.minimum(points.min(0), 0.0), np.maximum(points.max(0), 0.0)
        span, up = high - low, scene.up
        thin = np.eye(3)[int(np.argmin(span))]
        side = thin + 0.2 * np.cross(up, thin)
        if span.min() > 0.04 * scene.reach or abs(float(thin @ up)) > 0.5:
            first = np.array([1.0, 0, 0]) if abs(up[0]) < 0.9 else np.array([0, 0, 1.0])
            first = first - (first @ up) * up
            side = 0.75 * first - np.cross(up, first)
        towards = side / np.linalg.norm(side) + 0.35 * up
        towards = towards / np.linalg.norm(towards)
        right = np.cross(up, towards)
        right = right / np.linalg.norm(right)
        radius = max(float(np.linalg.norm(span)) / 2, 0.3 * scene.reach)
        centre = (low + high) / 2
        return cls(centre + 4.0 * radius * towards, centre, np.stack([right, np.cross(towards, right), towards]))

    def project(self, points: Array) -> tuple[Array, Array]:
        """(..., 2) places on the picture and (...) depths, larger behind."""
        seen = (points - self.eye) @ self.axes.T
        depth = -seen[..., 2]
        distance = float(np.linalg.norm(self.eye - self.centre))
        return np.asarray(seen[..., :2] * (distance / depth)[..., None]), np.asarray(depth)


def faces(
    placed: list[PlacedLink], frame: int, largest: float, camera: Camera, ghost: bool = False
) -> tuple[Any, Any, Any]:
    """Quadrilaterals (K, 4, 2), colours (K, 4) and depths (K,) of an arm at a frame."""
    corners, colours = [], []
    for part in placed:
        surface = rings(part, frame)
        around = np.roll(surface, -1, axis=1)
        quads = np.stack([surface[:-1], around[:-1], around[1:], surface[1:]], axis=2).reshape(-1, 4, 3)
        strain = part.link.strain[min(frame, len(part.link.strain) - 1)]
        middle = (strain[:-1] + strain[1:]) / 2
        plain = not (part.link.flexible and largest > 0)
        own = np.broadcast_to(RIGID, (len(middle), 3)) if plain else strain_colours(middle / largest)
        corners.append(quads)
        colours.append(np.repeat(own, surface.shape[1], axis=0))
    quads, own = np.concatenate(corners), np.concatenate(colours)
    normal = np.cross(quads[:, 2] - quads[:, 0], quads[:, 3] - quads[:, 1])
    normal = normal / np.maximum(np.linalg.norm(normal, axis=1, keepdims=True), 1e-300)
    light = LIGHT @ camera.axes
    shade = 0.62 + 0.38 * np.abs(normal @ light)
    rgba = np.column_stack([np.clip(own * shade[:, None], 0, 1), np.full(len(own), 0.12 if ghost else 1.0)])
    flat, depth = camera.project(quads)
    return flat, rgba, depth.mean(1)


class FrameDrawing:
    """A matplotlib axes that shows a scene at any of its frames."""

    def __init__(self, axes: Any, scene: Scene, magnification: float = 1.0, ghost: bool = True) -> None:
        from matplotlib.collections import PolyCollection

        self.scene, self.axes, self.largest = scene, axes, scene.largest_strain
        self.arm, self.rigid = list(scene.lines(magnification)), list(scene.lines(0.0)) if ghost else []
        points = np.concatenate([part.points.reshape(-1, 3) for part in self.arm])
        self.camera = Camera.around(scene, points)
        self._floor(points)
        tip, _ = self.camera.project(self.arm[-1].tip[:, :3, 3])
        self.tip = tip
        (self.path,) = axes.plot([], [], color="#D55E00", linewidth=0.9, zorder=2)
        self.shapes: Any = PolyCollection([], closed=True, linewidths=0.0, antialiased=False, zorder=3)
        axes.add_collection(self.shapes)
        colour = "#d9822b" if scene.payload > 0 else "none"
        (self.load,) = axes.plot([], [], "o", color=colour, markersize=7, zorder=5)
        (self.joints,) = axes.plot([], [], "o", color="#3a4653", markersize=5, zorder=4)
        self.moving = (self.path, self.shapes, self.joints, self.load)
        self._frame(points)

    def _floor(self, points: Array) -> None:
        scene, up = self.scene, self.scene.up
        first = np.array([1.0, 0, 0]) if abs(up[0]) < 0.9 else np.array([0, 0, 1.0])
        first = first - (first @ up) * up
        second = np.cross(up, first)
        level = min(float((points @ up).min()), 0.0) - 0.04 * scene.reach
        steps = np.linspace(-1.5, 1.5, 13) * scene.reach
        for a, b in ((first, second), (second, first)):
            for s in steps:
                ends = level * up + s * a + np.array([steps[0], steps[-1]])[:, None] * b
                flat, _ = self.camera.project(ends)
                self.axes.plot(*flat.T, color="#d3dbe3", linewidth=0.5, zorder=0)

    def _frame(self, points: Array) -> None:
        flat, _ = self.camera.project(np.vstack([points, np.zeros((1, 3))]))
        low, high = flat.min(0), flat.max(0)
        box, page = self.axes.get_position(), self.axes.figure.get_size_inches()
        shape = np.array([box.width * page[0], box.height * page[1]])  # equal scales on an axes that keeps its size
        half = 0.58 * max(((high - low) / shape).max(), 0.3 * self.scene.reach / shape.min()) * shape
        centre = (low + high) / 2
        self.axes.set_xlim(centre[0] - half[0], centre[0] + half[0])
        self.axes.set_ylim(centre[1] - half[1], centre[1] + half[1])
        self.axes.set_axis_off()

    def show(self, frame: int) -> None:
        """Move everything to a frame."""
        parts = [faces(self.arm, frame, self.largest, self.camera)]
        if self.rigid:
            parts.append(faces(self.rigid, frame, 0.0, self.camera, ghost=True))
        quads, colours, depth = (np.concatenate(columns) for columns in zip(*parts))
        order = np.argsort(-depth)
        self.shapes.set_verts(quads[order])
        self.shapes.set_facecolor(colours[order])
        self.path.set_data(*self.tip[: frame + 1].T)
        self.load.set_data(*self.tip[frame : frame + 1].T)
        roots = np.array([part.joint[frame, :3, 3] for part in self.arm])
        self.joints.set_data(*self.camera.project(roots)[0].T)
