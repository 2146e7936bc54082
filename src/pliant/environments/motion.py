"""Many arms under held torques, advanced by control periods, and the states in which they may begin."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from pliant.arrays import Array
from pliant.errors import ModelError, UnsupportedModel
from pliant.model.equilibrium.statics import settled_arms
from pliant.model.model import Model
from pliant.model.robot import Robot
from pliant.model.states import read_state
from pliant.robot.closed_chains import looped
from pliant.simulation.runs.checks.limits import joint_limits
from pliant.simulation.runs.inputs import read_start
from pliant.simulation.stepper.fixed_step import fastest_mode, longest_step
from pliant.simulation.stepper.stepper import Stepper

MOST_SUBSTEPS = 2000
SETTLE_SAMPLES = 32
SHORTEST, LONGEST = 1e-9, 1e6
"""Bounds of a period, s."""


def placed_joints(model: Model) -> list[str]:
    """Names of the joints that a task places: actuated ones, and passive ones that cylinders hold; others follow from
    loops, or settle."""
    following = looped(model.robot)
    held = any(coupling.states for coupling in model.layout.commanded)
    return [
        shaft.name
        for shaft in model.layout.all_shafts
        if not shaft.passive or (held and shaft.name.partition(".")[0] not in following)
    ]


def _ranges(robot: Robot, vary: Mapping[str, tuple[float, float]]) -> Array:
    """Lowest and highest values (k, 2), which the description accepts."""
    for path, (low, high) in vary.items():
        if not (np.isfinite(low) and np.isfinite(high) and low <= high):
            raise ModelError(f"vary[{path!r}]: got ({low}, {high}), expected a finite lowest and highest number")
        for end in (low, high):
            try:
                robot.replace({path: float(end)})
            except ModelError as error:
                raise ModelError(f"vary[{path!r}]: got ({low}, {high}): {error}") from None
    return np.array(list(vary.values()), dtype=float).reshape(-1, 2)


class ArmMotion:
    """B arms of one robot, with numbers of their own where some vary, advanced a control period at a time."""

    def __init__(self, robot: Robot, count: int, period: float, vary: Mapping[str, tuple[float, float]]) -> None:
        if not SHORTEST <= period <= LONGEST:
            raise ModelError(f"period: got {period!r}, expected a number of seconds from {SHORTEST:g} to {LONGEST:g}")
        self.model: Model = robot.model(parameters=tuple(vary), shapes="nominal")
        self.model.layout.require_plain("an environment")
        self.joints = placed_joints(self.model)
        self.ranges = _ranges(robot, vary)
        self.count, self.period = count, period
        self.n, self.m = self.model.n, self.model.layout.n_inputs
        self._limits = joint_limits(self.model)
        self.stepper = Stepper(self.model, step=period / self._substeps(), count=count)
        self.p = np.tile(self.model.nominal_parameters, (count, 1))
        self._vibrating()

    def _substeps(self) -> int:
        """Integration steps in a period that the fastest mode needs."""
        steps = max(1, int(np.ceil(self.period / longest_step(self.model))))
        if steps > MOST_SUBSTEPS:
            raise UnsupportedModel(
                f"{self.model.robot.name}: its fastest mode ({fastest_mode(self.model):.3g} rad/s), contacts, stops or "
                f"oil need {steps} steps in a period of {self.period:g} s; use fewer shape functions, no axial ones, "
                "softer contacts, or a rigid robot"
            )
        return steps

    @property
    def q(self) -> Array:
        """Coordinates (B, n)."""
        return self.stepper.q

    @property
    def positions(self) -> Array:
        """Positions (B, k) of the joints that are placed."""
        return self.q[:, self._places]

    def at_rest(self) -> Array:
        """Positions (joints,) of the arm as it is described: a sliding beam stands in the middle of its travel."""
        return self.model.layout.rest()[self._places]

    @property
    def _places(self) -> list[int]:
        return [self.model.index(name) for name in self.joints]

    @property
    def qd(self) -> Array:
        """Rates (B, n)."""
        return self.stepper.qd

    @property
    def own(self) -> Array | None:
        """Parameters for functions of the model; None if nothing varies."""
        return self.p if len(self.ranges) else None

    def place(self, chosen: NDArray[np.bool_], joints: Array, rng: np.random.Generator) -> None:
        """Put the chosen arms at static rest with these joint positions (k, joints) and new values of parameters."""
        if not chosen.any():
            return
        if len(self.ranges):
            low, high = self.ranges.T
            self.p[chosen] = rng.uniform(low, high, (int(chosen.sum()), len(self.ranges)))
            self.stepper.change(self.p)
        self.stepper.reset(self.settled(joints, self.p[chosen]), arms=chosen)

    def settled(self, joints: Array, p: Array) -> Array:
        """Coordinates (k, n) at static rest with these joint positions (k, joints)."""
        own = p if len(self.ranges) else None
        if self._serial:
            return settled_arms(self.model, read_state(self.model, joints, many=True), own)
        at = dict(zip(self.joints, joints.T))
        return read_start(self.model, at, equilibrium=True, p=own, many=True)[0]

    @property
    def _serial(self) -> bool:
        """Return whether all joints are actuated and no cylinders hold them. Such arms are settled together."""
        return self.model.layout.is_open and not self.model.layout.couplings

    def unbent(self, joints: Array, p: Array) -> Array:
        """Coordinates (k, n) with these joint positions and nothing bent; with loops or cylinders, those at rest."""
        return read_state(self.model, joints, many=True) if self._serial else self.settled(joints, p)

    def holding(self, q: Array, p: Array) -> Array:
        """Torques (k, m) that hold arms at rest in these coordinates (k, n); valves are closed."""
        own = p if len(self.ranges) else None
        if self._serial:
            rows = [shaft.actuated for shaft in self.model.chain.shafts]
            return np.asarray(self.model.bias(q, np.zeros_like(q), own)[:, rows])
        values = [None] * len(q) if own is None else own
        held = np.array([self.model.holding_torque(x, p=v) for x, v in zip(q, values)])
        return np.hstack([held, np.zeros((len(q), self.m - held.shape[1]))])

    def room(self, middle: Array, spread: float) -> tuple[Array, Array]:
        """Middle and half width of the joint positions within `spread` of `middle`, moved to within the limits; the
        whole range where the limits are closer together."""
        low, high = np.full(len(self.joints), -np.inf), np.full(len(self.joints), np.inf)
        for limit in (limit for limit in self._limits if limit.index in self._places):
            index, bound = self._places.index(limit.index), high if limit.direction > 0 else low
            bound[index] = (min if limit.direction > 0 else max)(bound[index], limit.value)
        half = np.minimum(spread, (high - low) / 2)
        return np.clip(middle, low + half, high - half), half

    def advance(self, torque: Array) -> NDArray[np.bool_]:
        """Advance by one period under torques (B, m); return which arms are sound. Those that left a joint limit or
        broke down stand still from then on."""
        self.stepper.step(self.period, torque)
        return np.asarray(self.stepper.stopped == "")

    def tip(self) -> Array:
        """Positions of the tips (B, 3), m."""
        return np.asarray(self.model.tip_pose(self.q, self.own)[:, :3, 3])

    def ringing(self) -> Array:
        """Vibration (B,) of the tip relative to the rigid arm, m: rates of what bends, each over its own frequency."""
        J = self.model.jacobian(self.q, self.own)[:, 3:]
        swing = self.qd @ self._vibration.T
        return np.asarray(np.linalg.norm(np.einsum("bik,bk->bi", J[:, :, self._bending], swing), axis=1))

    def _vibrating(self) -> None:
        """Find the speeds that vibrate, and the matrix from rates to amplitudes: those of a joint behind an elastic
        drive are relative to its motor."""
        model, rest = self.model, self.model.layout.rest()
        driven = {shaft.index: shaft.actuated for shaft in model.layout.driven}
        moved = {shaft.actuated for shaft in model.chain.shafts}
        self._bending = [k for k in range(model.n) if k not in moved]
        K, M = np.diag(model.stiffness(rest)), np.diag(model.mass_matrix(rest))
        self._vibration = np.zeros((len(self._bending), model.n))
        for row, k in enumerate(self._bending):
            scale = 1 / np.sqrt(K[k] / M[k]) if K[k] > 0 else 0.0
            self._vibration[row, k] = scale
            if k in driven:
                self._vibration[row, driven[k]] = -scale

    def reach(self) -> float:
        """Largest distance of the tip from the base, m."""
        return float(np.linalg.norm(self.model.tip_pose(self._poses())[:, :3, 3], axis=1).max())

    def _poses(self) -> Array:
        """Poses of the unbent arm, all over its workspace; with loops or cylinders only the pose at rest."""
        rng = np.random.default_rng(0)
        if not self._serial:
            return self.settled(self.at_rest()[None], self.model.nominal_parameters[None])
        states = np.tile(self.model.layout.rest(), (SETTLE_SAMPLES, 1))
        turning = np.array([shaft.turns for shaft in self.model.chain.shafts])
        states[:, : self.m] += np.where(turning, rng.uniform(-np.pi, np.pi, (SETTLE_SAMPLES, self.m)), 0.0)
        return states

    def torque_scale(self) -> Array:
        """Torques (m,) that hold the arm in any pose, twice over, and also turn it at 2 rad/s^2; 1 for valves."""
        states = self._poses()
        nominal = np.tile(self.model.nominal_parameters, (len(states), 1))
        rows = [shaft.actuated for shaft in self.model.chain.shafts]
        hold = np.abs(self.holding(states, nominal)[:, : len(rows)]).max(axis=0)
        inertia = np.abs(self.model.mass_matrix(states)[:, rows, rows]).max(axis=0)
        valves = []
        for coupling in self.model.layout.commanded:
            if not coupling.states:
                raise ModelError(
                    f"torque_limit: got none, expected one for each of {', '.join(self.model.layout.inputs)}; the "
                    f"force of {coupling.name} has no scale of its own"
                )
            valves.append(1.0)
        return np.concatenate([2.0 * hold + 2.0 * inertia, valves])
