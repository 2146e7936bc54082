"""Where a body is held and where others hang: sets of nodes that move as a frame."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from pliant.arrays import Array
from pliant.base.reading import plain_number
from pliant.base.signatures import checked
from pliant.errors import ModelError
from pliant.mechanics.bodies.element_model import ElementModel, Indices, present_nodes, rigid_motions
from pliant.options import InterfaceKind
from pliant.robot.files.error_messages import suggestion
from pliant.robot.parts.angles import rotation_rpy

TOUCH = 1e-6
"""Tolerance of places, of the largest extent of the mesh."""
_NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
_PLANE = re.compile(rf"([xyz])\s*(<=?|>=?|==?)\s*({_NUMBER})")
_REGION = re.compile(r"(box|cylinder)\s*\(([^()]*)\)")


@checked
@dataclass(frozen=True)
class Interface:
    """A set of nodes that moves as a frame.

    Parameters
    ----------
    where : str
        Name of a group of the file; or conditions in the unit of the file, joined by `and`: a plane `z < 0.001`,
        `box(x0, y0, z0, x1, y1, z1)` by two corners, `cylinder(x, y, z, ax, ay, az, radius, length)` by a point, the
        direction of its axis, its radius, and the length along the axis from the point (all of it without).
    kind : 'rigid' or 'average'
        Whether the nodes move as one rigid piece, as a flange that is bolted to something stiff; or the frame moves as
        the nodes do on average (weighted by area), and forces spread over them without stiffening.
    origin : three numbers, optional
        Of the frame, in the unit of the file; the center of the nodes (of their faces) by default.
    rpy : three numbers
        Angles of the frame's axes against those of the file, rad, as URDF has them.

    Examples
    --------
    >>> pliant.bodies.Interface("x > 0.299 and z < 0.02", kind="average").kind
    'average'
    """

    where: str
    kind: InterfaceKind = "rigid"
    origin: Sequence[float] | None = None
    rpy: Sequence[float] = (0.0, 0.0, 0.0)

    def __post_init__(self) -> None:
        for name, value in (("origin", self.origin), ("rpy", self.rpy)):
            if value is not None and not (np.shape(value) == (3,) and np.isfinite(np.asarray(value, float)).all()):
                raise ModelError(f"{name}: got {value!r}, expected three finite numbers")

    def __str__(self) -> str:
        return f"{self.where!r} ({self.kind})"


@dataclass(frozen=True, eq=False)
class HeldNodes:
    """An interface on a model: its nodes (m,), their weights, the origin (3,) and axes (3, 3) of its frame."""

    name: str
    kind: InterfaceKind
    nodes: Indices
    weights: Array
    origin: Array
    axes: Array

    def motions(self, model: ElementModel) -> Array:
        """(d n, 6) of the nodes of the interface with its frame, in the axes of the mesh; zero elsewhere."""
        out = np.zeros((len(model.nodes), model.freedoms, 6))
        whole = rigid_motions(model, self.origin).reshape(out.shape)
        out[self.nodes] = whole[self.nodes]
        return out.reshape(-1, 6)

    def averages(self, model: ElementModel) -> Array:
        """(6, d n): displacement and turn of the frame by those of its nodes, least squares with their weights.

        Of nodes that move as a rigid piece it is their motion.
        """
        R = self.motions(model).reshape(len(model.nodes), model.freedoms, 6)
        length = float(np.linalg.norm(model.nodes[self.nodes] - self.origin, axis=1).max()) or 1.0
        weights = np.zeros((len(model.nodes), model.freedoms))
        weights[self.nodes, :3] = self.weights[:, None]
        if len(self.nodes) < 3:
            weights[self.nodes, 3:] = self.weights[:, None] * length**2  # turns of the nodes themselves
        scale = np.array([1.0] * 3 + [length] * 3)
        scaled = R.reshape(-1, 6) / scale
        weighted = scaled * weights.reshape(-1, 1)
        normal = scaled.T @ weighted
        if np.linalg.eigvalsh(normal)[0] <= 1e-9 * np.trace(normal):
            raise ModelError(
                f"interface {self.name}: its {len(self.nodes)} nodes lie on a line, and give no rotation; "
                "choose a larger one"
            )
        return np.asarray(np.linalg.solve(normal, weighted.T) / scale[:, None])


def place_interface(model: ElementModel, name: str, interface: Interface, unit: float) -> HeldNodes:
    """Find the nodes of an interface and its frame; `unit` is a unit of the file in meters."""
    nodes = chosen_nodes(model, name, interface.where, unit)
    weights = _weights(model, nodes)
    origin = weights @ model.nodes[nodes] / weights.sum()
    if interface.origin is not None:
        origin = np.asarray(interface.origin, dtype=float) * unit
    return HeldNodes(name, interface.kind, nodes, weights, origin, np.array(rotation_rpy(interface.rpy)))


def _weights(model: ElementModel, nodes: Indices) -> Array:
    """Areas of the faces all of whose nodes are among these; where there is none, nodes count alike."""
    if model.shares is not None:
        outside = np.ones(len(model.nodes))
        outside[nodes] = 0.0
        pattern = model.shares.copy()
        pattern.data = np.ones_like(pattern.data)
        areas = (model.shares.T @ (pattern @ outside == 0).astype(float))[nodes]
        areas[np.abs(areas) < 1e-9 * np.abs(areas).max()] = 0.0  # corners of quadratic triangles have none
        if areas.min() >= 0 and areas.any():
            return np.asarray(areas)
    return np.ones(len(nodes))


def chosen_nodes(model: ElementModel, name: str, where: str, unit: float) -> Indices:
    """Indices of the nodes that an expression means."""
    whole = where.strip()
    terms = [whole] if whole in model.groups else re.split(r"\s+and\s+|\s*&\s*", whole)
    inside = present_nodes(model)
    for term in terms:
        inside = inside & _region(model.nodes / unit, name, term, model.groups)
    nodes = np.flatnonzero(inside)
    if not len(nodes):
        low, high = model.nodes.min(axis=0) / unit, model.nodes.max(axis=0) / unit
        extent = ", ".join(f"{a} {lo:.4g} to {hi:.4g}" for a, lo, hi in zip("xyz", low, high))
        raise ModelError(f"interface {name}: {where!r} catches no node; the mesh has {extent} in its unit")
    return nodes


def _region(places: Array, name: str, term: str, groups: Mapping[str, Indices]) -> Indices:
    if term in groups:
        return np.isin(np.arange(len(places)), groups[term])
    touch = TOUCH * float(np.ptp(places, axis=0).max())
    if plane := _PLANE.fullmatch(term):
        along, bound = places[:, "xyz".index(plane[1])], float(plane[3])
        if plane[2] in ("=", "=="):
            return np.asarray(np.abs(along - bound) <= touch)
        return np.asarray(along <= bound + touch if plane[2][0] == "<" else along >= bound - touch)
    region = _REGION.fullmatch(term)
    try:
        numbers = [plain_number(word) for word in region[2].split(",")] if region else []
    except ValueError:
        numbers = []
    if region and region[1] == "box" and len(numbers) == 6:
        low, high = np.sort(np.reshape(numbers, (2, 3)), axis=0)
        return np.asarray(((places >= low - touch) & (places <= high + touch)).all(axis=1))
    if region and region[1] == "cylinder" and len(numbers) in (7, 8) and np.any(numbers[3:6]):
        axis = np.array(numbers[3:6]) / np.linalg.norm(numbers[3:6])
        arms = places - numbers[:3]
        along = arms @ axis
        inside = np.linalg.norm(arms - along[:, None] * axis, axis=1) <= numbers[6] + touch
        if len(numbers) == 8:
            inside &= (along >= -touch) & (along <= numbers[7] + touch)
        return np.asarray(inside)
    raise ModelError(
        f"interface {name}: got {term!r}, expected a group of the file, a plane such as "
        "'z < 0.001', box(six numbers) or cylinder(seven or eight)" + suggestion(term, groups)
    )


def interfaces_of(
    root: str | Interface, tip: str | Interface, frames: Mapping[str, str | Interface]
) -> dict[str, Interface]:
    """All interfaces by name, root and tip first; a text is a rigid one."""
    if wrong := {"root", "tip"} & set(frames):
        raise ModelError(f"frames: `{wrong.pop()}` has an argument of its own")
    given = {"root": root, "tip": tip, **frames}
    return {name: one if isinstance(one, Interface) else Interface(one) for name, one in given.items()}


def check_places(model: ElementModel, places: Sequence[HeldNodes]) -> None:
    """Raise `ModelError` unless every interface has a rotation and no node belongs to two of them."""
    owner: dict[int, str] = {}
    for place in places:
        place.averages(model)
        for node in place.nodes.tolist():
            if owner.setdefault(node, place.name) != place.name:
                raise ModelError(f"interfaces {owner[node]} and {place.name}: share nodes; make one of them smaller")
