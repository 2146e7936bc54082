"""Grids of bricks, from which bricks may be left out: meshes without a mesher."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from pliant.arrays import Array
from pliant.base.signatures import checked
from pliant.errors import ModelError
from pliant.mechanics.bodies.element_model import Indices
from pliant.mechanics.bodies.mesh_reading import SolidMesh

_CORNERS = ((0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0), (0, 0, 1), (1, 0, 1), (1, 1, 1), (0, 1, 1))
MOST = 10_000_000


@checked
def brick_mesh(
    x: ArrayLike, y: ArrayLike, z: ArrayLike, without: Callable[[Array], Indices] | None = None
) -> SolidMesh:
    """Bricks between planes across the three axes.

    Parameters
    ----------
    x, y, z : array
        Rising places of the planes, two or more along each axis, in the unit that the mesh will be said to have.
    without : callable, optional
        Of the centers (e, 3) of all bricks, which (e,) are left out: hollows and holes.

    Returns
    -------
    SolidMesh

    Examples
    --------
    >>> across = [-0.03, -0.026, 0.0, 0.026, 0.03]
    >>> tube = pliant.bodies.brick_mesh(
    ...     np.linspace(0, 0.4, 11), across, across, lambda center: abs(center[:, 1:]).max(axis=1) < 0.026)
    >>> len(tube.cells)
    120
    """
    lines = [np.asarray(line, dtype=float) for line in (x, y, z)]
    for name, line in zip("xyz", lines):
        if line.ndim != 1 or len(line) < 2 or not np.isfinite(line).all() or not (np.diff(line) > 0).all():
            raise ModelError(f"{name}: expected two or more rising places, got an array of shape {line.shape}")
    divisions = [len(line) - 1 for line in lines]
    if np.prod(np.array(divisions, dtype=float)) > MOST:
        raise ModelError(f"x, y, z: got more than {MOST} bricks")
    points = np.stack(np.meshgrid(*lines, indexing="ij"), -1).reshape(-1, 3)
    i, j, k = np.meshgrid(*(np.arange(n) for n in divisions), indexing="ij")
    _, ny, nz = divisions
    corners = [((i + a) * (ny + 1) + j + b) * (nz + 1) + k + c for a, b, c in _CORNERS]
    cells = np.stack(corners, -1).reshape(-1, 8)
    if without is not None:
        out: Indices = np.asarray(without(points[cells].mean(axis=1)))
        if out.shape != (len(cells),) or out.dtype != bool or out.all():
            raise ModelError(f"without: expected True or False for each of {len(cells)} bricks, and bricks that stay")
        cells = cells[~out]
    return SolidMesh(points, cells, {}, f"a grid of {len(cells)} hexahedra")
