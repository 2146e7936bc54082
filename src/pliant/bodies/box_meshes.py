"""Boxes cut into bricks, from which bricks may be left out: meshes without a mesher."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from pliant.arrays import Array
from pliant.bodies.element_model import Indices
from pliant.bodies.mesh_reading import SolidMesh
from pliant.errors import ModelError
from pliant.signatures import checked

_CORNERS = ((0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0), (0, 0, 1), (1, 0, 1), (1, 1, 1), (0, 1, 1))
MOST = 10_000_000


@checked
def box_mesh(
    size: Sequence[float], divisions: Sequence[int], without: Callable[[Array], Indices] | None = None
) -> SolidMesh:
    """A box along x, from x = 0 and centred in y and z, cut into bricks.

    Parameters
    ----------
    size : three numbers
        Lengths along x, y and z, in the unit that the mesh will be said to have.
    divisions : three whole numbers
        Bricks along x, y and z.
    without : callable, optional
        Of the centres (e, 3) of all bricks, which (e,) are left out: hollows and holes.

    Returns
    -------
    SolidMesh

    Examples
    --------
    >>> tube = pliant.bodies.box_mesh((0.4, 0.06, 0.06), (20, 6, 6), lambda c: abs(c[:, 1:]).max(axis=1) < 0.02)
    >>> len(tube.cells)
    400
    """
    if np.shape(size) != (3,) or np.shape(divisions) != (3,) or not all(0 < s < np.inf for s in size):
        raise ModelError(f"size, divisions: got {size!r} and {divisions!r}, expected three of each, above 0")
    if min(divisions) < 1 or np.prod(np.asarray(divisions, dtype=float)) > MOST:
        raise ModelError(f"divisions: got {divisions!r}, expected whole numbers from 1, and {MOST} bricks at most")
    lines = [np.linspace(0, s, n + 1) - (s / 2 if axis else 0) for axis, (s, n) in enumerate(zip(size, divisions))]
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
    return SolidMesh(points, cells, {}, f"a box of {len(cells)} hexahedra")
