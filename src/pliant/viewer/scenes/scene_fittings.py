"""Fittings, drawn with an arm besides its links: joints that close loops, cylinders, springs and cables, contact
surfaces, and arrows of contact forces.

A fitting is a body of one color. It is fixed to a frame, spans the line between two frames, or is the arrow of a force.
One affine map (4, 4) of its points says where it is at a time, for any magnification of the deflections.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from pliant.arrays import Array
from pliant.model.robot import Robot
from pliant.robot.parts.contacts import Contact
from pliant.robot.parts.couplings import Coupling, Cylinder
from pliant.viewer.colors import AMBER, BARREL, CHROME, DARK, FORCE, WALL
from pliant.viewer.scenes.scene_tubes import ball, section_outline, tube_faces

if TYPE_CHECKING:
    from pliant.viewer.scenes.placed_link import PlacedLink

PIN, THIN, THICK = 0.017, 0.004, 0.011
"""Half sizes as parts of the reach of what has no size of its own: pins, cables and rods, dampers."""
PLATE, CELLS = 0.22, 10
"""Least half edge of a drawn plane, as a part of the reach, and number of cells along an edge."""
LONGEST = 0.3
"""Length of the arrow of the largest force of a run, as a part of the reach."""
TURNS, WIRE_SIDES = 9, 6
"""Turns of a spring, and corners of the section of its wire."""
Mesh = tuple[Array, NDArray[np.uint32]]
"""Points (P, 3) and triangles (K, 3), seen from outside."""


@dataclass(frozen=True)
class SceneFrame:
    """A frame: the number of its link, -1 where it stands still, the port of that link, and a fixed pose (4, 4)."""

    link: int
    port: int
    pose: Array

    def at(self, placed: Sequence[PlacedLink]) -> Array:
        """(F, 4, 4) or (1, 4, 4) poses in the base."""
        return self.pose[None] if self.link < 0 else placed[self.link].ports[self.port] @ self.pose


@dataclass(frozen=True)
class Held:
    """Place of a fitting that is fixed to a frame."""

    frame: SceneFrame

    def maps(self, placed: Sequence[PlacedLink]) -> Array:
        """(F, 4, 4) or (1, 4, 4) from the axes of the frame."""
        return self.frame.at(placed)


@dataclass(frozen=True)
class Spanned:
    """Place of a fitting along the line between two frames: x = 0 at `begin` and x = 1 at `end`, each a part of the
    line and meters more; y and z are across it."""

    frames: tuple[SceneFrame, SceneFrame]
    begin: tuple[float, float] = (0.0, 0.0)
    end: tuple[float, float] = (1.0, 0.0)

    def maps(self, placed: Sequence[PlacedLink]) -> Array:
        """(F, 4, 4) or (1, 4, 4) maps from the axes of the line."""
        a, b = (frame.at(placed)[:, :3, 3] for frame in self.frames)
        whole = b - a
        x = whole / np.maximum(np.linalg.norm(whole, axis=1, keepdims=True), 1e-300)
        first, last = (part * whole + metres * x for part, metres in (self.begin, self.end))
        return _along(a + first, last - first, 1.0)


@dataclass(frozen=True)
class Pushed:
    """Place of the arrow of a force (F, 3) on a sphere, in base axes; (F, 3) `normal` leads from the point of contact
    to the center. `scale` is meters per newton."""

    frame: SceneFrame
    radius: float
    normal: Array
    force: Array
    scale: float

    def maps(self, placed: Sequence[PlacedLink]) -> Array:
        """(F, 4, 4) maps from the axes of the arrow; zero where there is no force."""
        arrow = self.scale * self.force
        point = self.frame.at(placed)[:, :3, 3] - self.radius * self.normal
        return _along(point, arrow, np.linalg.norm(arrow, axis=1))


def _along(origin: Array, x: Array, across: float | Array) -> Array:
    """(F, 4, 4) maps of x to (F, 3) vectors, and of y and z to vectors across them, of length `across`."""
    out = np.zeros((max(len(origin), len(x)), 4, 4))
    u = x / np.maximum(np.linalg.norm(x, axis=1, keepdims=True), 1e-300)
    away = np.eye(3)[np.argmin(np.abs(u), axis=1)]
    y = np.cross(u, away)
    y /= np.maximum(np.linalg.norm(y, axis=1, keepdims=True), 1e-300)
    out[:, :3, 0], out[:, :3, 3], out[:, 3, 3] = x, origin, 1.0
    out[:, :3, 1], out[:, :3, 2] = (np.reshape(across, (-1, 1)) * v for v in (y, np.cross(u, y)))
    return out


@dataclass(frozen=True)
class Fitting:
    """A body of one color (red, green, blue, opacity), by points (P, 3) and triangles (K, 3), and where it is."""

    name: str
    mesh: Mesh
    color: tuple[float, float, float, float]
    place: Held | Spanned | Pushed

    def points(self, maps: Array, frame: int) -> Array:
        """(P, 3) points in the base, by the maps of its place."""
        T = maps[min(frame, len(maps) - 1)]
        return np.asarray(self.mesh[0] @ T[:3, :3].T + T[:3, 3])


@dataclass(frozen=True)
class Touched:
    """Contacts of a run: (F, contacts, 3) normals and forces on the spheres, in base axes."""

    normal: Array
    force: Array


def fittings(
    robot: Robot,
    frame: Callable[[str], SceneFrame],
    placed: Sequence[PlacedLink],
    reach: float,
    touched: Touched | None,
) -> Iterator[Fitting]:
    """All fittings of an arm whose frames are found by name; contacts have arrows where forces are known."""
    for loop in robot.loops:
        pair = (frame(loop.between[0]), frame(loop.between[1]))
        if loop.joint.type == "distance":
            yield Fitting(f"loop/{loop.name}", _tube(THICK / 2 * reach), (*CHROME, 1.0), Spanned(pair))
        else:
            mesh = _joint(loop.joint.type, np.array(loop.joint.directions[0]), PIN * reach)
            yield Fitting(f"loop/{loop.name}", mesh, (*DARK, 1.0), Held(pair[0]))
    for coupling in robot.couplings:
        yield from _coupling(coupling, (frame(coupling.between[0]), frame(coupling.between[1])), placed, reach)
    ends = [*(loop.between for loop in robot.loops), *(coupling.between for coupling in robot.couplings)]
    held = dict.fromkeys(name for both in ends for name in both)
    yield from (bracket for name in held for bracket in _bracket(name, frame(name), placed, reach))
    surfaces: dict[str, list[Contact]] = {}
    for contact in robot.contacts:
        surfaces.setdefault(contact.surface.model_dump_json(), []).append(contact)
        size = max(float(contact.radius), THIN * reach)
        yield Fitting(f"contact/{contact.name}", _scaled_ball(size), (*AMBER, 1.0), Held(frame(contact.frame)))
    for number, contacts in enumerate(surfaces.values()):
        ground = frame(contacts[0].surface.frame)
        spheres = [frame(contact.frame).at(placed)[:, :3, 3] for contact in contacts]
        mesh = _surface(contacts[0], ground, spheres, placed, reach)
        yield Fitting(f"surface/{number}", mesh, (*WALL, 0.55), Held(ground))
    if touched is not None:
        yield from _arrows(robot.contacts, frame, touched, reach)


def _coupling(
    coupling: Coupling, ends: tuple[SceneFrame, SceneFrame], placed: Sequence[PlacedLink], reach: float
) -> Iterator[Fitting]:
    """Fittings of each part of a coupling; parts that act side by side are drawn into one another."""
    name, thin, thick = f"coupling/{coupling.name}", THIN * reach, THICK * reach
    if coupling.cylinder is not None:
        inner, outer, housed = _sizes(coupling.cylinder, thin / 2)
        yield Fitting(f"{name}/barrel", _tube(outer), (*BARREL, 1.0), Spanned(ends, end=(0.0, housed)))
        yield Fitting(f"{name}/rod", _tube(inner), (*CHROME, 1.0), Spanned(ends, begin=(0.0, 0.9 * housed)))
    elif "damping" in coupling.kinds or "force" in coupling.kinds:
        yield Fitting(f"{name}/barrel", _tube(thick), (*BARREL, 1.0), Spanned(ends, end=(0.55, 0.0)))
        yield Fitting(f"{name}/rod", _tube(thick / 2), (*CHROME, 1.0), Spanned(ends, begin=(0.5, 0.0)))
    if coupling.spring is not None:
        a, b = (end.at(placed)[0, :3, 3] for end in ends)
        length = max(float(np.linalg.norm(b - a)), thick)
        yield Fitting(f"{name}/spring", _coil(2 * thick, 0.8 * thin, length), (*AMBER, 1.0), Spanned(ends))
    if coupling.cable is not None:
        yield Fitting(f"{name}/cable", _tube(thin / 2), (*DARK, 1.0), Spanned(ends))


def _bracket(name: str, frame: SceneFrame, placed: Sequence[PlacedLink], reach: float) -> Iterator[Fitting]:
    """Bar from the axis of a link to a frame beside it."""
    if frame.link < 0:
        return
    link, at = placed[frame.link].link, frame.pose
    ports = [(link.straight[0, -1], link.end), *((place.straight[0], place.end) for place in link.places)]
    p, R = ports[frame.port]
    first, whole = link.straight[0, 0], link.straight[0, -1] - link.straight[0, 0]
    eye = p + R @ at[:3, 3]
    part = np.clip((eye - first) @ whole / max(float(whole @ whole), 1e-300), 0.0, 1.0)
    nearest = np.array(at)
    nearest[:3, 3] = R.T @ (first + part * whole - p)
    if np.linalg.norm(nearest[:3, 3] - at[:3, 3]) > PIN * reach:
        near = SceneFrame(frame.link, frame.port, nearest)
        yield Fitting(f"bracket/{name}", _tube(THICK / 2 * reach), (*BARREL, 1.0), Spanned((near, frame)))


def _sizes(cylinder: Cylinder, least: float) -> tuple[float, float, float]:
    """Radii of rod and barrel, and length of the barrel, which ends before the retracted rod does."""
    piston, ring = cylinder.areas
    inner = max(np.sqrt((piston - ring) / np.pi), least)
    return float(inner), float(max(1.2 * np.sqrt(piston / np.pi), 1.6 * inner)), 0.92 * float(cylinder.dead_length)


def _arrows(
    contacts: Sequence[Contact], frame: Callable[[str], SceneFrame], touched: Touched, reach: float
) -> Iterator[Fitting]:
    """Arrows of contact forces, scaled by the largest of the run."""
    largest = float(np.linalg.norm(touched.force, axis=-1).max(initial=0.0))
    if largest > 0:
        for k, contact in enumerate(contacts):
            push = Pushed(
                frame=frame(contact.frame),
                radius=float(contact.radius),
                normal=touched.normal[:, k],
                force=touched.force[:, k],
                scale=LONGEST * reach / largest,
            )
            yield Fitting(f"force/{contact.name}", _arrow(), (*FORCE, 1.0), push)


# -------------------------------------------------------------------------------------------------------------- meshes


def _tube(radius: float) -> Mesh:
    """Cylinder from x = 0 to x = 1."""
    return _turned([0.0, 1.0], [radius, radius])


def _arrow() -> Mesh:
    """Arrow of length one along x."""
    return _turned([0.0, 0.7, 0.7, 1.0], [0.03, 0.03, 0.09, 1e-4])


def _turned(x: Sequence[float], radii: Sequence[float]) -> Mesh:
    """A body of revolution about x."""
    ring = section_outline(True)
    points = [np.column_stack([np.full(len(ring), at), r * ring]) for at, r in zip(x, radii, strict=True)]
    return np.concatenate(points), tube_faces(len(x), len(ring))


def _coil(radius: float, wire: float, length: float) -> Mesh:
    """A spring along x, from 0 to 1, whose wire is round where it is `length` long."""
    angle = np.linspace(0.0, 2 * np.pi * TURNS, 14 * TURNS + 1)
    out = np.column_stack([np.zeros_like(angle), np.cos(angle), np.sin(angle)])
    middle = radius * out + np.linspace(0.0, 1.0, len(angle))[:, None] * np.array([1.0, 0.0, 0.0])
    around = np.linspace(0.0, 2 * np.pi, WIRE_SIDES, endpoint=False)
    along = np.array([-1.0 / length, 0.0, 0.0])
    ring = np.cos(around)[None, :, None] * out[:, None] + np.sin(around)[None, :, None] * along
    return (middle[:, None] + wire * ring).reshape(-1, 3), tube_faces(len(angle), WIRE_SIDES)


def _scaled_ball(radius: float) -> Mesh:
    points, faces = ball()
    return radius * points, faces


def _box(edges: Array) -> Mesh:
    ends = [[x, y, z] for x in (-1.0, 1.0) for y, z in section_outline(False)]
    return np.array(ends) * np.asarray(edges) / 2, tube_faces(2, 4)


def _joint(kind: str, axis: Array, size: float) -> Mesh:
    """A pin about its axis, a ball, or a box along its axis."""
    if kind in ("spherical", "universal"):
        return _scaled_ball(1.1 * size)
    points, faces = _tube(size) if kind == "revolute" else _box(np.array([1.0, 1.6 * size, 1.6 * size]))
    x = points[:, 0] - 0.5 if kind == "revolute" else points[:, 0]
    points = np.column_stack([2.6 * size * x, points[:, 1:]])
    T = _along(np.zeros((1, 3)), axis[None], 1.0)[0]
    return points @ T[:3, :3].T, faces


def _surface(
    contact: Contact, ground: SceneFrame, spheres: Sequence[Array], placed: Sequence[PlacedLink], reach: float
) -> Mesh:
    """Contact surface in the axes of its frame; of a plane only the part below the spheres is drawn."""
    surface = contact.surface
    if surface.type == "box":
        assert surface.size is not None
        return _box(np.array(surface.size, dtype=float))
    if surface.type == "plane":
        T = ground.at(placed)
        seen = [np.einsum("fji,fj->fi", T[:, :3, :3], p - T[:, :3, 3])[:, :2] for p in spheres]
        low, high = np.concatenate(seen).min(0), np.concatenate(seen).max(0)
        middle, half = (low + high) / 2, (high - low) / 2 + PLATE * reach
        return _plate(middle - half, middle + half)
    assert surface.radius is not None
    points, faces = ball(20, 12)
    shift = np.sign(points[:, 2:]) * np.array([0.0, 0.0, float(surface.length or 0.0) / 2])
    return float(surface.radius) * points + shift, faces


def _plate(low: Array, high: Array) -> Mesh:
    """Sheet in the plane z = 0, cut into cells that can be sorted by depth one by one."""
    x, y = (np.linspace(a, b, CELLS + 1) for a, b in zip(low, high))
    X, Y = np.meshgrid(x, y, indexing="ij")
    k = np.arange((CELLS + 1) ** 2).reshape(CELLS + 1, CELLS + 1)
    a, b, c, d = (part.ravel() for part in (k[:-1, :-1], k[1:, :-1], k[1:, 1:], k[:-1, 1:]))
    faces = np.concatenate([np.column_stack([a, b, c]), np.column_stack([a, c, d])]).astype(np.uint32)
    return np.column_stack([X.ravel(), Y.ravel(), np.zeros(X.size)]), faces
