"""Quaternions (w, x, y, z) as numbers: from what users give, and to local coordinates and back."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pliant.arrays import Array
from pliant.errors import ModelError

ORTHONORMAL = 1e-6
"""Largest deviation of R R^T from the identity for a matrix to pass as a rotation: it may be given with few digits."""
SHORTEST = 1e-6
"""Length below which a quaternion has no direction."""


def normalize(states: Array, places: Sequence[int]) -> Array:
    """States (..., n), changed in place, whose quaternions begin at `places` and get length one."""
    for first in places:
        q = states[..., first : first + 4]
        q /= np.linalg.norm(q, axis=-1, keepdims=True)
    return states


def as_quaternion(kind: str, given: object, name: str) -> Array:
    """A unit quaternion from a `quaternion`, angles `rpy` (Rz Ry Rx) or a `rotation` matrix."""
    value = as_numbers(given, {"quaternion": (4,), "rpy": (3,), "rotation": (3, 3)}[kind], f"{name}[{kind!r}]")
    if kind == "quaternion":
        if np.linalg.norm(value) < SHORTEST:
            raise ModelError(f"{name}: got a quaternion of zero length, expected (w, x, y, z) of length one")
        return normalize(value.copy(), [0])
    if kind == "rpy":
        roll, pitch, yaw = (exponential(np.eye(3)[k] * value[k]) for k in range(3))
        return product(product(yaw, pitch), roll)
    if np.abs(value @ value.T - np.eye(3)).max() > ORTHONORMAL or np.linalg.det(value) < 0:
        raise ModelError(f"{name}: got a matrix that is no rotation, expected an orthonormal, right-handed one")
    return from_matrix(value)


def as_numbers(given: object, shape: tuple[int, ...], name: str) -> Array:
    """Return finite numbers of a shape; raises `ModelError` if they are not."""
    try:
        value = np.asarray(given, dtype=float)
    except (TypeError, ValueError):
        value = np.full(shape, np.nan)
    if value.shape != shape or not np.isfinite(value).all():
        raise ModelError(f"{name}: got {given!r}, expected finite numbers of shape {shape}")
    return value


def product(a: Array, b: Array) -> Array:
    """Product a b of quaternions (..., 4)."""
    w, v, x, u = a[..., :1], a[..., 1:], b[..., :1], b[..., 1:]
    real = w * x - (v * u).sum(axis=-1, keepdims=True)
    return np.concatenate([real, w * u + x * v + np.cross(v, u)], axis=-1)


def conjugate(a: Array) -> Array:
    """The inverse of a unit quaternion."""
    return np.asarray(a * np.array([1.0, -1.0, -1.0, -1.0]))


def exponential(turn: Array) -> Array:
    """Unit quaternion of a rotation vector (..., 3)."""
    angle = np.linalg.norm(turn, axis=-1, keepdims=True)
    return np.concatenate([np.cos(angle / 2), np.sinc(angle / (2 * np.pi)) / 2 * turn], axis=-1)


def logarithm(a: Array) -> Array:
    """Rotation vector (..., 3) of a quaternion, of at most half a turn."""
    a = np.where(a[..., :1] < 0, -a, a)
    v = a[..., 1:]
    length = np.linalg.norm(v, axis=-1, keepdims=True)
    angle = 2 * np.arctan2(length, a[..., :1])
    return np.asarray(np.where(length > 1e-12, angle / np.where(length > 0, length, 1.0), 2.0) * v)


def rotation_vectors(R: Array) -> Array:
    """Rotation vectors (N, 3) of matrices (N, 3, 3) in a row, each the nearest to the one before: they may grow beyond
    half a turn."""
    found = np.array([logarithm(from_matrix(one)) for one in R]).reshape(-1, 3)
    for k in range(1, len(found)):
        length = float(np.linalg.norm(found[k]))
        if length:
            axis = found[k] / length
            found[k] += 2 * np.pi * np.round((axis @ found[k - 1] - length) / (2 * np.pi)) * axis
    return found


def from_matrix(R: Array) -> Array:
    """Unit quaternion of a rotation matrix, by the largest of its four squares."""
    trace = np.trace(R)
    squares = np.array([trace, *np.diag(R)])
    k = int(np.argmax(squares))
    if k == 0:
        q = np.array([1 + trace, R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]])
    else:
        i, j, l = k - 1, k % 3, (k + 1) % 3
        q = np.zeros(4)
        q[0] = R[l, j] - R[j, l]
        q[1 + i] = 1 + R[i, i] - R[j, j] - R[l, l]
        q[1 + j] = R[j, i] + R[i, j]
        q[1 + l] = R[l, i] + R[i, l]
    q = q / np.linalg.norm(q)
    return np.asarray(-q if q[0] < 0 else q)


def to_matrix(a: Array) -> Array:
    """Rotation matrices (..., 3, 3) of quaternions, of any length but zero."""
    w, x, y, z = np.moveaxis(a / np.linalg.norm(a, axis=-1, keepdims=True), -1, 0)
    rows = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
    ]
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)


def between(a: Array, b: Array, part: Array) -> Array:
    """Interpolate from a to b by `part` (..., 1) of the turn between them, the short way."""
    return product(a, exponential(part * logarithm(product(conjugate(a), b))))


def angles(a: Array) -> Array:
    """Roll, pitch and yaw (N, 3) of a history (N, 4), Rz Ry Rx: of the sets that give a rotation, the one next to the
    one before, so that they pass full turns, and a pitch of a quarter turn, without a jump."""
    R = to_matrix(a)
    roll, yaw = np.arctan2(R[:, 2, 1], R[:, 2, 2]), np.arctan2(R[:, 1, 0], R[:, 0, 0])
    pitch = np.arctan2(-R[:, 2, 0], np.hypot(R[:, 2, 1], R[:, 2, 2]))
    first = np.stack([roll, pitch, yaw], axis=-1)
    sets = np.stack([first, first * [1.0, -1.0, 1.0] + np.pi], axis=1)
    found = np.array(first)
    for k in range(1, len(found)):
        near = sets[k] - 2 * np.pi * np.round((sets[k] - found[k - 1]) / (2 * np.pi))
        found[k] = near[np.argmin(np.abs(near - found[k - 1]).sum(axis=1))]
    return found
