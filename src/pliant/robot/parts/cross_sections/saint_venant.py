"""Torsion and shear center of a section of any outline: Saint-Venant's problem by quadratic finite elements.

The stress function obeys lap(u) = -2 with u = 0 on the outline and one value on each hole, whose flux is twice its
area; the torsion constant is J = 2 int u + 2 sum u_hole A_hole. The warping function is harmonic with the flux
(z, -y) . n; its first moments place the shear center (Trefftz), about which a section twists without bending. Warping
restraint is left out: the torque is G J phi', as in the rest of the library.

The outline is cut into triangles, with the corners that look inwards carried on to the facing walls, and every
triangle is halved some times, nearer to the corners than to the middle. J of two meshes is extrapolated; it errs by
0.02 % for walls of a tenth of the section and by 0.2 % for walls of a hundredth.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from math import fsum
from typing import NamedTuple

import numpy as np

from pliant.arrays import Array
from pliant.errors import ModelError

Places = np.ndarray
"""Array of whole numbers of nodes, or of loops."""
Loops = tuple[tuple[tuple[float, float], ...], ...]
"""The outline counter-clockwise, then the holes clockwise: corners (y, z)."""

MOST_TRIANGLES = 4500
GRADING = 0.25
"""Part of an edge, from a corner, at which it is cut: stresses vary over a wall's thickness there, not its length."""
INWARDS = 0.3
"""Sine of the angle at which a corner that looks inwards counts as one; less is a curve in pieces."""
NOTHING = 1e-9
"""Part of the section's size that counts as no length."""
CENTERD = 1e-3
"""Part of the section's size: a shear center nearer to the centroid than this is put there. Meshes of symmetric
sections are not symmetric and leave 5e-6, those of curves in many pieces 3e-4."""
_MIDDLES = np.array([[0.5, 0.5, 0.0], [0.0, 0.5, 0.5], [0.5, 0.0, 0.5]])  # degree 2, weights 1/3
_CUBIC = np.array([[1, 1, 1], [1.8, 0.6, 0.6], [0.6, 1.8, 0.6], [0.6, 0.6, 1.8]]) / 3  # degree 3
_CUBIC_WEIGHTS = np.array([-27.0, 25.0, 25.0, 25.0]) / 48


class SaintVenant(NamedTuple):
    """Torsion constant (m^4), shear center (y, z) in the axes of the drawing, and the torsion modulus (m^3): torque
    over the largest shear stress halfway between corners. At a sharp corner that looks inwards the stress has no
    bound; what it is there hangs on the fillet."""

    J: float
    shear_center: tuple[float, float]
    modulus: float


class Area(NamedTuple):
    """Area, centroid, and int y^2, int z^2, int y z about it."""

    A: float
    center: tuple[float, float]
    yy: float
    zz: float
    yz: float


class _Mesh(NamedTuple):
    """Corners of triangles; nodes of each, its three middles last; places of all nodes; loop of each node, -1 inside;
    nodes halfway between corners of the outline."""

    triangles: Places
    elements: Places
    places: Array
    loop: Places
    halfway: Places


def signed_area(loop: Sequence[tuple[float, float]]) -> float:
    """Area inside a loop, negative for one that runs clockwise."""
    return fsum(y * Z - Y * z for (y, z), (Y, Z) in zip(loop, (*loop[1:], loop[0]))) / 2


def area_integrals(loops: Sequence[Array | Sequence[tuple[float, float]]]) -> Area:
    """Integrals over the area between an outline and its holes, exact."""
    sums = np.zeros(6)
    for loop in loops:
        y, z = np.array(loop).T
        Y, Z = np.roll(y, -1), np.roll(z, -1)
        c = y * Z - Y * z
        terms = (
            c / 2, c * (y + Y) / 6, c * (z + Z) / 6, c * (y * y + y * Y + Y * Y) / 12, c * (z * z + z * Z + Z * Z) / 12,
            c * (2 * y * z + y * Z + Y * z + 2 * Y * Z) / 24,
        )  # fmt: skip
        sums += [fsum(term) for term in terms]  # the same bits on every machine
    A, first_y, first_z, yy, zz, yz = sums.tolist()
    cy, cz = first_y / A, first_z / A
    return Area(A, (cy, cz), yy - A * cy**2, zz - A * cz**2, yz - A * cy * cz)


@lru_cache(maxsize=256)
def saint_venant(loops: Loops) -> SaintVenant:
    """The solution for a section whose centroid is at the origin."""
    size = float(np.abs(np.array(loops[0])).max())
    scaled = [np.array(loop) / size for loop in loops]
    coarse, fine = (_Problem(_mesh(scaled, most), scaled) for most in (MOST_TRIANGLES // 4, MOST_TRIANGLES))
    (J_coarse, _), (J_fine, u) = coarse.torsion(), fine.torsion()
    J = J_fine + (J_fine - J_coarse) / 3  # half the length of every side leaves a quarter of the error
    e = [0.0 if abs(x) < CENTERD else _settled(x) * size for x in fine.shear_center()]
    return SaintVenant(_settled(J) * size**4, (e[0], e[1]), _settled(J / fine.steepest(u)) * size**3)


class _Problem:
    """Laplace's operator on a mesh, with the solutions for torsion and for warping."""

    def __init__(self, mesh: _Mesh, loops: Sequence[Array]) -> None:
        self.mesh, self.loops, self.n = mesh, loops, len(mesh.places)
        self.corners = mesh.places[mesh.triangles]
        a, b, c = (self.corners[:, k] for k in range(3))
        self.area = _cross(b - a, c - a) / 2
        self.G = self.gradients(_MIDDLES)
        self.K = np.einsum("t,tqia,tqja->tij", self.area / 3, self.G, self.G)

    def gradients(self, at: Array) -> Array:
        """(T, Q, 6, 2) gradients of the shape functions at barycentric coordinates."""
        facing = np.roll(self.corners, 1, axis=1) - np.roll(self.corners, -1, axis=1)
        g = np.stack([-facing[..., 1], facing[..., 0]], axis=-1) / (2 * self.area[:, None, None])
        own = np.einsum("qk,tka->tqka", 4 * at - 1, g)
        after, g_after = np.roll(at, -1, axis=1), np.roll(g, -1, axis=1)
        middle = 4 * (np.einsum("qk,tka->tqka", at, g_after) + np.einsum("qk,tka->tqka", after, g))
        return np.concatenate([own, middle], axis=2)

    def solved(self, number: Places, load: Places) -> Array:
        """Values of all nodes, of which `number` counts the unknowns and gives -1 to those that are zero."""
        from scipy.sparse import csc_matrix
        from scipy.sparse.linalg import splu

        rows, columns = (number[np.repeat(self.mesh.elements, 6, axis=1)], number[np.tile(self.mesh.elements, 6)])
        kept = (rows >= 0) & (columns >= 0)
        matrix = csc_matrix((self.K.reshape(rows.shape)[kept], (rows[kept], columns[kept])))
        right = np.bincount(number[number >= 0], load[number >= 0])
        return np.where(number >= 0, np.append(splu(matrix).solve(right), 0.0)[number], 0.0)

    def torsion(self) -> tuple[float, Array]:
        """Torsion constant and stress function."""
        loop, holes = self.mesh.loop, len(self.loops) - 1
        load = np.bincount(self.mesh.elements[:, 3:].ravel(), np.repeat(self.area / 3 * 2, 3), self.n)
        for k in range(1, holes + 1):  # a hole is one unknown: its own load may stand at any of its nodes
            load[np.argmax(loop == k)] += 2 * abs(signed_area(self.loops[k].tolist()))
        number = np.where(loop < 0, holes - 1 + np.cumsum(loop < 0), loop - 1)
        u = self.solved(number, load)
        return float(load @ u), u

    def shear_center(self) -> Array:
        """(y, z) by the first moments of the warping function w: its twin about (e_y, e_z) is w - e_z y + e_y z."""
        at = np.einsum("qk,tka->tqa", _MIDDLES, self.corners)
        flux = np.einsum("t,tqia,tqa->ti", self.area / 3, self.G, np.stack([at[..., 1], -at[..., 0]], axis=-1))
        load = np.bincount(self.mesh.elements.ravel(), flux.ravel(), self.n)
        w = self.solved(np.arange(self.n) - 1, load)
        at = np.einsum("qk,tka->tqa", _CUBIC, self.corners)
        shapes = np.hstack([_CUBIC * (2 * _CUBIC - 1), 4 * _CUBIC * np.roll(_CUBIC, -1, axis=1)])
        values = np.einsum("qi,ti->tq", shapes, w[self.mesh.elements])
        first = np.einsum("t,q,tq,tqa->a", self.area, _CUBIC_WEIGHTS, values, at)
        _, _, yy, zz, yz = area_integrals(self.loops)
        return np.linalg.solve([[-yz, yy], [-zz, yz]], first)

    def steepest(self, u: Array) -> float:
        """Largest slope of the stress function halfway between corners."""
        node, halfway = self.mesh.triangles.ravel(), self.mesh.halfway
        slopes = np.einsum("tqia,ti->tqa", self.gradients(np.eye(3)), u[self.mesh.elements]).reshape(-1, 2)
        y, z, count = (np.bincount(node, x, self.n)[halfway] for x in (slopes[:, 0], slopes[:, 1], np.ones(len(node))))
        return float(np.max(np.hypot(y, z) / count))


def _settled(value: float) -> float:
    """The number without round-off, which differs from machine to machine."""
    return float(f"{value:.9g}")


# ---------------------------------------------------------------------------------------------------------- mesh


def _mesh(loops: Sequence[Array], most: int) -> _Mesh:
    loops = _carried_on(loops)
    places, ring = _joined(loops)
    triangles = _ears(places, ring)
    corners = len(places)
    loop: Places = np.repeat(np.arange(len(loops)), [len(own) for own in loops])
    halfway = None
    while halfway is None or 4 * len(triangles) <= most:
        places, triangles, loop, new = _halved(places, triangles, loop, corners)
        halfway = new if halfway is None else halfway
    edges, sides, outer = _edges(triangles)
    middles = places[edges].mean(axis=1)
    loop = np.append(loop, np.where(outer, loop[edges[:, 0]], -1))
    return _Mesh(triangles, np.hstack([triangles, len(places) + sides]), np.vstack([places, middles]), loop, halfway)


def _edges(triangles: Places) -> tuple[Places, Places, Places]:
    """Edges (E, 2), those of each triangle (T, 3), and whether an edge is part of a loop."""
    pairs = np.sort(np.concatenate([triangles[:, [k, (k + 1) % 3]] for k in range(3)]), axis=1)
    edges, place, count = np.unique(pairs, axis=0, return_inverse=True, return_counts=True)
    return edges, place.reshape(3, -1).T, count == 1


def _halved(places: Array, triangles: Places, loop: Places, corners: int) -> tuple[Array, Places, Places, Places]:
    """Cut every triangle into four; edges from a corner are cut near it."""
    edges, sides, outer = _edges(triangles)
    at_corner = edges < corners
    part = np.where(at_corner[:, 0] == at_corner[:, 1], 0.5, np.where(at_corner[:, 0], GRADING, 1 - GRADING))
    new = places[edges[:, 0]] * (1 - part)[:, None] + places[edges[:, 1]] * part[:, None]
    d, e, f = (len(places) + sides).T
    a, b, c = triangles.T
    four = [np.stack(nodes, axis=1) for nodes in ((a, d, f), (d, b, e), (f, e, c), (d, e, f))]
    loop = np.append(loop, np.where(outer, loop[edges[:, 0]], -1))
    return np.vstack([places, new]), np.concatenate(four), loop, len(places) + np.flatnonzero(outer)


def _carried_on(loops: Sequence[Array]) -> list[Array]:
    """Add corners to the loops where the edges of a corner that looks inwards, carried on, meet a wall."""
    starts, ends = np.vstack(loops), np.vstack([np.roll(loop, -1, axis=0) for loop in loops])
    before = np.vstack([np.roll(loop, 1, axis=0) for loop in loops])
    cuts: list[list[float]] = [[0.0] for _ in starts]
    for a, b, c in zip(before, starts, ends):
        if _cross(b - a, c - b) > -INWARDS * np.hypot(*(b - a)) * np.hypot(*(c - b)):
            continue
        for ray in (b - a, b - c):
            turn = _cross(ray, ends - starts)
            turn = np.where(np.abs(turn) < NOTHING, np.inf, turn)
            along, part = _cross(starts - b, ends - starts) / turn, _cross(starts - b, ray) / turn
            along[(along < NOTHING) | (part < -NOTHING) | (part > 1 + NOTHING)] = np.inf
            met = int(np.argmin(along))
            if 1e-6 < part[met] < 1 - 1e-6:
                cuts[met].append(round(float(part[met]), 9))
    corners = [[start + (end - start) * x for x in sorted(set(own))] for start, end, own in zip(starts, ends, cuts)]
    pieces = np.cumsum([0, *(len(loop) for loop in loops)]).tolist()
    return [np.vstack([place for own in corners[a:b] for place in own]) for a, b in pairwise(pieces)]


def _joined(loops: Sequence[Array]) -> tuple[Array, list[int]]:
    """All corners, and one ring through all loops: the shortest bridge that crosses nothing leads to each hole and
    back."""
    places, ends = np.vstack(loops), np.vstack([np.roll(loop, -1, axis=0) for loop in loops])
    pieces = np.cumsum([0, *(len(loop) for loop in loops)]).tolist()
    ring = list(range(len(loops[0])))
    for first, last in pairwise(pieces[1:]):
        lengths = np.linalg.norm(places[ring, None] - places[first:last], axis=2)
        for which in np.argsort(np.round(lengths, 9), axis=None, kind="stable").tolist():
            i, j = which // (last - first), which % (last - first) + first
            around = places[ring[i - 1]], places[ring[i]], places[ring[(i + 1) % len(ring)]]
            if _opens(*around, places[j]) and not _meet(places[ring[i]], places[j], places, ends).any():
                ring = [*ring[: i + 1], *range(j, last), *range(first, j + 1), *ring[i:]]
                break
        else:
            raise ModelError(
                "section: a hole cannot be reached from the outline; it must lie inside, apart from others"
            )
    return places, ring


def _ears(places: Array, ring: Sequence[int]) -> Places:
    """Triangles between the corners of a ring, the roundest cut off first."""
    left, triangles = np.array(ring), []
    while len(left) > 3:
        Q = places[left]
        a, c = np.roll(Q, 1, axis=0), np.roll(Q, -1, axis=0)
        sides = (a, Q), (Q, c), (c, a)
        inside = np.all([_cross((q - p)[:, None], Q - p[:, None]) > -NOTHING for p, q in sides], axis=0)
        own = np.any([(p[:, None] == Q).all(axis=2) for p in (a, Q, c)], axis=0)
        longest = np.max([np.sum((q - p) ** 2, axis=1) for p, q in sides], axis=0)
        round_ = np.round(_cross(Q - a, c - Q) / longest, 9)  # equal ones are equal on every machine
        k = int(np.argmax(np.where((inside & ~own).any(axis=1), 0.0, round_)))
        if round_[k] <= 0 or (inside & ~own).any(axis=1)[k]:
            raise ModelError("section: the outline crosses or touches itself; give its corners in order")
        triangles.append((left[k - 1], left[k], left[(k + 1) % len(left)]))
        left = np.delete(left, k)
    return np.array([*triangles, tuple(left)])


def _opens(a: Array, b: Array, c: Array, d: Array) -> bool:
    """Whether d is seen from the corner b between a and c, which a ring may pass more than once."""
    left, right = _cross(c - b, d - b) > 0, _cross(d - b, a - b) > 0
    return bool(left and right if _cross(b - a, c - b) > 0 else left or right)


def _meet(a: Array, b: Array, c: Array, d: Array) -> Places:
    """Whether segments a to b and c to d cross."""
    apart = _cross(b - a, c - a) * _cross(b - a, d - a), _cross(d - c, a - c) * _cross(d - c, b - c)
    return np.asarray((apart[0] < -(NOTHING**2)) & (apart[1] < -(NOTHING**2)))


def crosses_itself(loops: Loops) -> bool:
    """Whether edges of the loops cross one another."""
    starts = np.array([corner for loop in loops for corner in loop])
    ends = np.array([corner for loop in loops for corner in (*loop[1:], loop[0])])
    return bool(_meet(starts[:, None], ends[:, None], starts, ends).any())


def lies_inside(corner: tuple[float, float], loop: Sequence[tuple[float, float]]) -> bool:
    """Whether a point lies inside a loop: a ray from it crosses an odd number of edges."""
    y, z = np.array(loop).T
    Y, Z = np.roll(y, -1), np.roll(z, -1)
    passed = (z > corner[1]) != (corner[1] < Z)
    rise = np.where(passed, Z - z, 1.0)
    return bool(np.sum(passed & (corner[0] < (Y - y) * (corner[1] - z) / rise + y)) % 2)


def _cross(a: Array, b: Array) -> Array:
    return np.asarray(a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0])
