"""The shape that a beam takes under forces that are known, by exact kinematics: no slope need be small.

R' = R [kappa]x and r' = R (e_x + nu), with the strains (kappa, nu) that the wrench of each section asks for. The beam
is a row of cells with two Gauss points each, over which the strains are linear (Magnus' fourth order); cells may meet
at an angle. Loads act where they acted on a known shape: between two points half-way, with a couple that stays.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pliant.arrays import Array

GAUSS = 0.5 + np.array([-1.0, 1.0]) * np.sqrt(3.0) / 6
MOST_STEPS = 30
CONVERGED, SMALL, LARGE = 1e-9, 1e-6, 0.3
"""Change of the angle over half a cell at which the shape is found, by which slopes are taken, and taken at most."""


@dataclass(frozen=True)
class KnownShape:
    """N points of a beam, two per cell, with a last one at the tip, on a shape that is known; in axes of the root.

    Attributes
    ----------
    size : (N/2,) lengths of the cells
    gap, turn : (N/2, 3), (N/2, 3, 3) displacement and rotation from the end of the cell before, or the root, to each
    compliance : (N, 6, 6) strains (kappa, nu) per wrench (moment, force) of a section, in its axes
    place, attitude : (N + 1, 3), (N + 1, 3, 3)
    force, moment : (N + 1, 3) of the outer part on the inner part; the last ones act on the tip
    drift : (N + 1, 3, 3) force per displacement of each point, of its mass in a frame that turns
    lever : (3,) from the tip to what its force acts on, in axes of the end section
    """

    size: Array
    gap: Array
    turn: Array
    compliance: Array
    place: Array
    attitude: Array
    force: Array
    moment: Array
    drift: Array
    lever: Array

    def tip(self) -> Array | None:
        """(3,) where the tip comes to rest under the same forces, by Newton's method; None if no rest is found."""
        strains = self._strains(self.attitude[None, :-1], self.moment[None, :-1], self.force[None, :-1])[0].ravel()
        active = np.flatnonzero(self.compliance.any(axis=2).ravel())
        lever = np.repeat(self.size / 2, 12)[active]
        for _ in range(MOST_STEPS):
            lanes = np.tile(strains, (len(active) + 1, 1))
            lanes[np.arange(1, len(active) + 1), active] += SMALL / lever
            missed = self._missed(lanes)[0][:, active]
            slopes = ((missed[1:] - missed[0]) / (SMALL / lever)[:, None]).T
            if not np.isfinite(slopes).all():
                return None
            change = np.linalg.solve(slopes, missed[0])
            largest = float(np.abs(change * lever).max(initial=0.0))
            strains[active] -= change * min(1.0, LARGE / max(largest, LARGE))
            if largest < CONVERGED:
                return np.asarray(self._missed(strains[None])[1][0])
        return None

    def _missed(self, strains: Array) -> tuple[Array, Array]:
        """(B, 6 N) strains less those that the sections carry, and (B, 3) tips."""
        xi = strains.reshape(len(strains), -1, 6)
        R, r = self._points(xi)
        moved = np.einsum("nij,bnj->bni", self.drift, r - self.place)
        force = self.force + np.cumsum(moved[:, ::-1], axis=1)[:, ::-1]
        mean = (self.force[1:] + self.force[:-1]) / 2
        couple = self.moment[:-1] - self.moment[1:] - np.cross(np.diff(self.place, axis=0), mean)
        added = np.cross(np.diff(r, axis=1), (force[:, 1:] + force[:, :-1]) / 2) + couple
        at_tip = self.moment[-1] + np.cross((R[:, -1] - self.attitude[-1]) @ self.lever, force[:, -1])
        moment = at_tip[:, None] + np.cumsum(added[:, ::-1], axis=1)[:, ::-1]
        return (xi - self._strains(R[:, :-1], moment, force[:, :-1])).reshape(len(xi), -1), r[:, -1]

    def _strains(self, R: Array, moment: Array, force: Array) -> Array:
        """(B, N, 6) what moments and forces (B, N, 3) ask of sections with attitudes R."""
        wrench = np.concatenate([np.einsum("bnji,bnj->bni", R, x) for x in (moment, force)], axis=-1)
        return np.asarray(np.einsum("nij,bnj->bni", self.compliance, wrench))

    def _points(self, xi: Array) -> tuple[Array, Array]:
        """(B, N + 1, 3, 3) attitudes and (B, N + 1, 3) places of the points."""
        h = self.size[:, None]
        whole = xi + np.eye(6)[3]
        one, two = whole[:, ::2], whole[:, 1::2]
        slope, bracket = (two - one) * np.sqrt(3.0) / h, _bracket(one, two) * np.sqrt(3.0) / h
        parts = [
            _exponential(s * (one + slope * (s / 2 - GAUSS[0] * h)) + s**3 / 12 * bracket)
            for s in (*(c * h for c in GAUSS), h)
        ]
        lanes, cells = one.shape[:2]
        R, r = np.empty((lanes, 2 * cells + 1, 3, 3)), np.empty((lanes, 2 * cells + 1, 3))
        R0, r0 = np.tile(np.eye(3), (lanes, 1, 1)), np.zeros((lanes, 3))
        for k in range(cells):
            r0, R0 = r0 + R0 @ self.gap[k], R0 @ self.turn[k]
            for side in (0, 1):
                R[:, 2 * k + side] = R0 @ parts[side][0][:, k]
                r[:, 2 * k + side] = r0 + (R0 @ parts[side][1][:, k, :, None])[..., 0]
            r0, R0 = r0 + (R0 @ parts[2][1][:, k, :, None])[..., 0], R0 @ parts[2][0][:, k]
        R[:, -1], r[:, -1] = R0, r0
        return R, r


def _bracket(a: Array, b: Array) -> Array:
    """Lie's bracket of twists (angular, linear)."""
    (k1, v1), (k2, v2) = (np.split(x, 2, axis=-1) for x in (a, b))
    return np.concatenate([np.cross(k1, k2), np.cross(k1, v2) + np.cross(v1, k2)], axis=-1)


def _exponential(twist: Array) -> tuple[Array, Array]:
    """Rotation (..., 3, 3) and displacement (..., 3) of a twist."""
    theta, v = np.split(twist, 2, axis=-1)
    x = np.sum(theta**2, axis=-1)[..., None]
    angle = np.sqrt(np.maximum(x, 1e-8))
    small = x < 1e-4
    a = np.where(small, 1 - x / 6 + x * x / 120, np.sin(angle) / angle)
    b = np.where(small, 0.5 - x / 24 + x * x / 720, (1 - np.cos(angle)) / angle**2)
    c = np.where(small, 1 / 6 - x / 120 + x * x / 5040, (angle - np.sin(angle)) / angle**3)
    once = np.cross(theta, v)
    K = np.cross(theta[..., None, :], -np.eye(3))
    R = np.eye(3) + a[..., None] * K + b[..., None] * (K @ K)
    return R, v + b * once + c * np.cross(theta, once)
