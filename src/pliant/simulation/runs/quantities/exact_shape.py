"""Shape of a beam under known forces by exact kinematics: no slope need be small.

R' = R [kappa]x and r' = R (e_x + nu), with the strains (kappa, nu) that follow from the wrench of each section. The
beam is a row of cells with two Gauss points each, over which the strains are linear (Magnus' fourth order); cells may
meet at an angle. Loads act where they acted on a known shape: half-way between two points, with a constant couple.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pliant.arrays import Array

GAUSS = 0.5 + np.array([-1.0, 1.0]) * np.sqrt(3.0) / 6
MOST_STEPS = 30
CONVERGED, SMALL, LARGE = 1e-9, 1e-6, 0.3
"""Changes of the angle over half a cell: below the first, the iteration has converged; the second is the step of
differences; the third is the largest step that an iteration takes."""


@dataclass(frozen=True)
class KnownShape:
    """N points of a beam, two per cell, with a last one at the tip, on a shape that is known; in axes of the root.

    Attributes
    ----------
    size : (N/2,) lengths of the cells
    gap, turn : (N/2, 3), (N/2, 3, 3) displacement and rotation from the end of the cell before, or the root, to each
    compliance : (N, 6, 6) strains (kappa, nu) per wrench (moment, force) of a section, in its axes
    damped : (N, 6) strains that would carry as much of the wrench as damping does
    place, attitude : (N + 1, 3), (N + 1, 3, 3)
    force, moment : (N + 1, 3) of the outer part on the inner part; the last ones act on the tip
    mass : (N + 1,) mass that moves with the points
    outward : (3, 3) force per mass and displacement, in a frame that turns
    lever : (3,) from the tip to the mass that moves with it, in axes of the end section
    pull : (3,) weight and inertia of that mass
    free : whether nothing holds the root: the beam then accelerates so that the wrench of the root does not change
    """

    size: Array
    gap: Array
    turn: Array
    compliance: Array
    damped: Array
    place: Array
    attitude: Array
    force: Array
    moment: Array
    mass: Array
    outward: Array
    lever: Array
    pull: Array
    free: bool

    def tip(self) -> Array | None:
        """(3,) place of the tip at rest under the same forces, by Newton's method; None if no rest is found."""
        strains = self._strains(self.attitude[None, :-1], self.moment[None, :-1], self.force[None, :-1])[0].ravel()
        active = np.flatnonzero(self.compliance.any(axis=2).ravel())
        lever = np.repeat(self.size / 2, 12)[active]
        with np.errstate(all="ignore"):
            for _ in range(MOST_STEPS):
                lanes = np.tile(strains, (len(active) + 1, 1))
                lanes[np.arange(1, len(active) + 1), active] += SMALL / lever
                try:
                    missed = self._missed(lanes)[0][:, active]
                    change = np.linalg.solve(((missed[1:] - missed[0]) / (SMALL / lever)[:, None]).T, missed[0])
                except np.linalg.LinAlgError:
                    return None
                largest = float(np.abs(change * lever).max(initial=0.0))
                if not np.isfinite(largest):
                    return None
                strains[active] -= change * min(1.0, LARGE / max(largest, LARGE))
                if largest < CONVERGED:
                    return np.asarray(self._missed(strains[None])[1][0])
        return None

    def _missed(self, strains: Array) -> tuple[Array, Array]:
        """(B, 6 N) strains less those that the sections carry, and (B, 3) tips."""
        xi = strains.reshape(len(strains), -1, 6)
        R, r = self._points(xi)
        drift = self.mass[:, None] * ((r - self.place) @ self.outward)
        force, moment = self._wrenches(R, r, drift)
        if self.free:
            drift += self._set_free(r, force, moment)
            force, moment = self._wrenches(R, r, drift)
        return (xi - self._strains(R[:, :-1], moment[:, :-1], force[:, :-1])).reshape(len(xi), -1), r[:, -1]

    def _wrenches(self, R: Array, r: Array, drift: Array) -> tuple[Array, Array]:
        """(B, N + 1, 3) forces and moments of the points, with forces that drift adds to each."""
        force = self.force + np.cumsum(drift[:, ::-1], axis=1)[:, ::-1]
        mean = (self.force[1:] + self.force[:-1]) / 2
        couple = self.moment[:-1] - self.moment[1:] - np.cross(np.diff(self.place, axis=0), mean)
        added = np.cross(np.diff(r, axis=1), (force[:, 1:] + force[:, :-1]) / 2) + couple
        tip = self.moment[-1] + np.cross((R[:, -1] - self.attitude[-1]) @ self.lever, self.pull)
        steps = np.concatenate([added, tip[:, None]], axis=1)
        return force, np.cumsum(steps[:, ::-1], axis=1)[:, ::-1]

    def _set_free(self, r: Array, force: Array, moment: Array) -> Array:
        """(B, N + 1, 3) forces -m (a + alpha x r) that cancel the change of the wrench at the first point."""
        gained = np.concatenate([moment[:, 0] - self.moment[0], force[:, 0] - self.force[0]], axis=1)
        arm = r - r[:, :1]
        turning = np.cross(np.eye(3), arm[:, :, None])  # (B, N + 1, axis, 3)
        moves = np.concatenate([turning, np.broadcast_to(np.eye(3), turning.shape)], axis=2)
        pulls = self.mass[:, None, None] * moves
        balance = np.concatenate([np.cross(arm[:, :, None], pulls).sum(axis=1), pulls.sum(axis=1)], axis=2)
        asked = (np.linalg.pinv(balance.transpose(0, 2, 1), 1e-9) @ gained[..., None])[..., 0]
        return np.asarray(-np.einsum("bnak,ba->bnk", pulls, asked))

    def _strains(self, R: Array, moment: Array, force: Array) -> Array:
        """(B, N, 6) what moments and forces (B, N, 3) ask of sections with attitudes R."""
        wrench = np.concatenate([np.einsum("bnji,bnj->bni", R, x) for x in (moment, force)], axis=-1)
        return np.asarray(np.einsum("nij,bnj->bni", self.compliance, wrench) - self.damped)

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
