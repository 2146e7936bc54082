"""Momentum that a free base and its arms exchange."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from pliant.arrays import Array
from pliant.errors import ModelError

if TYPE_CHECKING:
    from pliant.model.model import Model


def coupling_inertia(model: Model, q: ArrayLike, p: ArrayLike | None) -> Array:
    """Return the momentum (..., 6, n - 6) per unit speed of everything but a free base, about the center of mass."""
    base, others = _base_and_others(model, "coupling_inertia")
    M = model.mass_matrix(q, p)
    about_base = M[..., base, :][..., others]
    mass = M[..., base[3], base[3], None, None]
    to_center = M[..., base[:3], :][..., base[3:]] / mass  # cross product with the vector from the base to the center
    angular = about_base[..., :3, :] - to_center @ about_base[..., 3:, :]
    return np.concatenate([angular, about_base[..., 3:, :]], axis=-2)


def generalised_jacobian(model: Model, q: ArrayLike, p: ArrayLike | None, frame: str) -> Array:
    """Return the velocity (..., 6, n - 6) of a frame per speed of everything but a free base, without momentum."""
    base, others = _base_and_others(model, "generalised_jacobian")
    J, M = model.jacobian(q, p, frame), model.mass_matrix(q, p)
    H = M[..., base, :]
    return np.asarray(J[..., others] - J[..., base] @ np.linalg.solve(H[..., base], H[..., others]))


def stored_momentum(model: Model, q: ArrayLike, qd: ArrayLike, joint: str, p: ArrayLike | None) -> Array:
    """Return the momentum (...,) along the motion of a joint of all that it carries."""
    if joint not in model.joints:
        raise ModelError(f"joint: got {joint!r}, expected one of {', '.join(model.joints)}")
    row = model.layout.shafts[model.joints.index(joint)].index
    return np.asarray((model.mass_matrix(q, p)[..., row, :] * np.asarray(qd, dtype=float)).sum(axis=-1))


def _base_and_others(model: Model, function: str) -> tuple[list[int], list[int]]:
    """Numbers of the speeds of a free base, and of all others."""
    if not model.layout.first:
        raise ModelError(f"{function}: got a base that does not fly, expected base: {{type: free, mass: ...}}")
    model.layout.require_open(function)
    base = model.layout.base_speeds
    return base, [k for k in range(model.n) if k not in base]
