"""Many arms stepped together under held torques: one call of a compiled RK4 loop for each control period."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from pliant.algebra.runge_kutta import rk4
from pliant.arrays import Array
from pliant.batch.batch_equations import equations
from pliant.errors import ModelError, UnsupportedModel
from pliant.kernels.pack import BatchIntegrator, TimeSegments
from pliant.model import Model, read_state
from pliant.robot import Robot
from pliant.runs.limits import joint_limits

RADIANS = 0.4
"""Of the fastest mode in a step: RK4 is stable to 2.8, and true to 1e-4 of a swing at this."""
SLIPS = 0.3
"""Of the time in which friction begins to slip, in a step: RK4 is stable to 0.4."""
MOST_SUBSTEPS = 2000
SETTLE_SAMPLES = 32


class PackMotion:
    """B arms of one robot: states x (B, 2n and friction), numbers p (B, P), advanced a control period at a time."""

    def __init__(self, robot: Robot, count: int, period: float, vary: Mapping[str, tuple[float, float]]) -> None:
        if count < 1 or not (np.isfinite(period) and period > 0):
            raise ModelError(f"got {count} arms and a period of {period} s; expected at least 1 and a number above 0")
        self.model: Model = robot.model(parameters=tuple(vary))
        self.model.layout.require_plain("an environment")
        self.ranges = np.array(list(vary.values()), dtype=float).reshape(-1, 2)
        self.count, self.period = count, period
        self.n, self.m = self.model.n, self.model.n_joints
        self._equations = f = equations(self.model, torque=np.zeros(self.m))
        self._integrator = BatchIntegrator(f.function, rk4())
        self.substeps = self._substeps()
        self._plan = TimeSegments(
            np.zeros(1), np.full(1, period / self.substeps), np.full(1, self.substeps), np.zeros(1, dtype=np.int64),
            np.zeros(1, dtype=np.int64),
        )  # fmt: skip
        self._settings, self._held = np.array([1e-6, 1e-9, period, 1e7]), np.zeros((1, 1, 0))
        self._limits = joint_limits(self.model)
        self.met = np.full(count, "", dtype=object)  # names of the limits that arms have left in the last period
        self.x = np.zeros((count, f.n))
        self.p = np.tile(self.model.nominal_parameters, (count, 1))

    def _substeps(self) -> int:
        """Steps in a period that the fastest mode allows."""
        squares, _ = self.model.modes(self.model.layout.rest(), "free")
        fastest = self.fastest = float(np.sqrt(np.abs(squares).max(initial=0.0)))
        rates = [1.3 * fastest / RADIANS]  # other poses are up to a third faster
        joints = (link.joint for link in self.model.robot.links)
        bristles = [freedom.friction for joint in joints for freedom in joint.freedoms if freedom.friction.bristle]
        rates += [f.coulomb_speed / f.bristle / SLIPS for f in bristles if f.coulomb]
        steps = max(1, int(np.ceil(self.period * max(rates))))
        if steps > MOST_SUBSTEPS:
            raise UnsupportedModel(
                f"{self.model.robot.name}: its fastest mode ({fastest:.3g} rad/s) needs {steps} steps in a period of "
                f"{self.period:g} s; use fewer shape functions, no axial ones, or a rigid robot"
            )
        return steps

    @property
    def q(self) -> Array:
        """(B, n)."""
        return self.x[:, : self.n]

    @property
    def qd(self) -> Array:
        """(B, n)."""
        return self.x[:, self.n : 2 * self.n]

    def place(self, chosen: NDArray[np.bool_], joints: Array, rng: np.random.Generator) -> None:
        """Put the chosen arms at rest with these joint positions (k, m), with new values of what varies."""
        if len(self.ranges):
            low, high = self.ranges.T
            self.p[chosen] = rng.uniform(low, high, (int(chosen.sum()), len(self.ranges)))
        if chosen.any():
            q = read_state(self.model, joints, many=True)
            own = np.hstack([np.zeros((len(q), self.m)), self.p[chosen]])
            self.x[chosen] = self._equations.loaded(self._equations.start(q, np.zeros_like(q), np), self._held[0], own)

    def room(self, middle: Array, spread: float) -> tuple[Array, Array]:
        """Middle and half width (m,) of the joint positions within `spread` of `middle`, moved to within the limits;
        between limits that are nearer together, all that there is."""
        low, high = np.full(self.m, -np.inf), np.full(self.m, np.inf)
        for limit in self._limits:
            index, bound = limit.index, high if limit.direction > 0 else low
            bound[index] = (min if limit.direction > 0 else max)(bound[index], limit.value)
        half = np.minimum(spread, (high - low) / 2)
        return np.clip(middle, low + half, high - half), half

    def advance(self, torque: Array) -> NDArray[np.bool_]:
        """One period under torques (B, m); which arms are finite and within their joint limits (the others are put to
        rest)."""
        x = np.ascontiguousarray(self.x)
        out = np.empty((self.count, 1, x.shape[1]))
        own = np.ascontiguousarray(np.hstack([torque, self.p]))
        self._integrator(x, self._held, own, self._plan, out, self._settings)
        sound = np.isfinite(x).all(axis=1)
        self.met = np.full(self.count, "", dtype=object)
        for limit in self._limits:
            left = limit.left(x[:, : self.n].T, x[:, self.n : 2 * self.n].T)
            self.met[sound & left] = limit.name
            sound &= ~left
        rest = self.model.layout.rest()[None]
        x[~sound] = self._equations.start(rest, np.zeros_like(rest), np)
        self.x = x
        return np.asarray(sound)

    def tip(self) -> Array:
        """(B, 3)."""
        pose = self.model.tip_pose(self.q, self.p if len(self.ranges) else None)
        return np.asarray(pose[:, :3, 3])

    def torque_scale(self) -> Array:
        """(m,) torques that hold the arm in any pose, twice over, and turn it at 2 rad/s^2 besides."""
        rng = np.random.default_rng(0)
        rest = self.model.layout.rest()
        states = np.tile(rest, (SETTLE_SAMPLES, 1))
        turning = np.array([shaft.turns for shaft in self.model.chain.shafts])
        states[:, : self.m] += np.where(turning, rng.uniform(-np.pi, np.pi, (SETTLE_SAMPLES, self.m)), 0.0)
        rows = [shaft.actuated for shaft in self.model.chain.shafts]
        hold = np.abs(self.model.bias(states, np.zeros_like(states))[:, rows]).max(axis=0)
        inertia = np.abs(self.model.mass_matrix(states)[:, rows, rows]).max(axis=0)
        return np.asarray(2.0 * hold + 2.0 * inertia)
