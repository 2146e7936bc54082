"""Inverse dynamics of an arm at many states at once, with slopes and second derivatives from compiled kernels; likewise
of the arm with stiff links and drives."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pliant.arrays import Array
from pliant.model.model import Model

SMOOTH = 0.1
"""Share of a joint's mean speed over which Coulomb friction changes its sign, at least: a search needs slopes."""


class ArmForces:
    """Inverse dynamics F(q, qd, qdd): generalized forces of all coordinates of an arm.

    Parameters
    ----------
    model : Model
        The arm.
    """

    def __init__(self, model: Model) -> None:
        model.layout.require_open("forces of a motion")
        self.model, self.n = model, model.n
        self.actuated: Sequence[int] = [shaft.actuated for shaft in model.layout.shafts]
        self._p = [model.nominal_parameters] if model.parameters else []

    def slopes(self, q: Array, qd: Array, qdd: Array) -> tuple[Array, Array, Array, Array]:
        """Return F (..., n), and its slopes (..., n, n) by q, by qd and by qdd."""
        found = self.model.kernel("inverse_dynamics_derivatives")(q, qd, qdd, *self._p)
        return found[0], found[1], found[2], found[3]

    def gradient(self, q: Array, qd: Array, qdd: Array, w: Array) -> Array:
        """Return slopes (P, 3, n) of w . F by q, qd and qdd, at states and weights (P, n)."""
        return np.stack(self.model.kernel("inverse_dynamics_vjp")(q, qd, qdd, *self._p, w)[:3], axis=1)

    def second(self, q: Array, qd: Array, qdd: Array, w: Array) -> Array:
        """Return second derivatives (P, 3, n, 3, n) of w . F by q, qd and qdd, at states and weights (P, n)."""
        P, n = q.shape
        along, still = np.eye(2 * n).reshape(2 * n, 1, 2, n), np.zeros((1, 1, n))
        changes = (along[:, :, 0], along[:, :, 1], still, *(np.zeros((1, 1, p.size)) for p in self._p))
        found = self.model.kernel("inverse_dynamics_hvp")(q, qd, qdd, *self._p, w, *changes)
        out = np.zeros((P, 3, n, 3, n))  # F is linear in qdd: zeros by qdd twice
        out[:, :2] = np.stack(found[:3], axis=-2).transpose(1, 0, 2, 3).reshape(P, 2, n, 3, n)
        out[:, 2, :, 0] = out[:, 0, :, 2].transpose(0, 2, 1)
        return out


class StiffArmForces(ArmForces):
    """Inverse dynamics of the arm with links kept straight and motors fixed to their joints; its m coordinates are the
    joints."""

    def __init__(self, model: Model) -> None:
        super().__init__(model)
        shafts = model.layout.shafts
        self._S = np.zeros((model.n, len(shafts)))  # all coordinates by the joints
        for k, shaft in enumerate(shafts):
            self._S[[shaft.index, shaft.actuated], k] = 1
        self._rest = model.layout.rest() * (self._S.sum(axis=1) == 0)
        self.n, self.actuated = len(shafts), range(len(shafts))

    def _whole(self, q: Array, qd: Array, qdd: Array) -> tuple[Array, Array, Array]:
        """Return all coordinates, their rates and accelerations (..., n) from those of the joints (..., m)."""
        return self._rest + q @ self._S.T, qd @ self._S.T, qdd @ self._S.T

    def slopes(self, q: Array, qd: Array, qdd: Array) -> tuple[Array, Array, Array, Array]:
        """Return F (..., m), and its slopes (..., m, m) by q, by qd and by qdd."""
        F, *by = super().slopes(*self._whole(q, qd, qdd))
        a, b, c = (self._S.T @ each @ self._S for each in by)
        return F @ self._S, a, b, c

    def gradient(self, q: Array, qd: Array, qdd: Array, w: Array) -> Array:
        """Return slopes (P, 3, m) of w . F by q, qd and qdd."""
        return super().gradient(*self._whole(q, qd, qdd), w @ self._S.T) @ self._S

    def second(self, q: Array, qd: Array, qdd: Array, w: Array) -> Array:
        """Return second derivatives (P, 3, m, 3, m) of w . F by q, qd and qdd."""
        P, m = q.shape
        S = self._S
        along, still = np.zeros((2 * m, 1, 2, len(S))), np.zeros((1, 1, len(S)))
        along[:m, 0, 0], along[m:, 0, 1] = S.T, S.T
        changes = (along[:, :, 0], along[:, :, 1], still, *(np.zeros((1, 1, p.size)) for p in self._p))
        given = (*self._whole(q, qd, qdd), *self._p, w @ S.T)
        found = self.model.kernel("inverse_dynamics_hvp")(*given, *changes)
        out = np.zeros((P, 3, m, 3, m))
        out[:, :2] = (np.stack(found[:3], axis=-2) @ S).transpose(1, 0, 2, 3).reshape(P, 2, m, 3, m)
        out[:, 2, :, 0] = out[:, 0, :, 2].transpose(0, 2, 1)
        return out


def smoothed(model: Model, speeds: Array) -> Model:
    """Return the arm with Coulomb friction that a search can differentiate, at mean speeds (m,) of its joints."""
    mean = {shaft.name: float(speed) for shaft, speed in zip(model.layout.shafts, SMOOTH * speeds)}
    changes = {}
    for link in model.robot.links:
        for k, freedom in enumerate(link.joint.freedoms):
            friction, speed = freedom.friction, mean.get(freedom.name(link.name), 0.0)
            if friction.coulomb and friction.coulomb_speed < speed:
                where = f"axes[{k}].friction" if freedom.suffix else "friction"
                changes[f"links.{link.name}.joint.{where}.coulomb_speed"] = speed
    if not changes:
        return model
    return Model(model.robot.replace(changes), **vars(model.options))
