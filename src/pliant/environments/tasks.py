"""Tasks that an arm is to learn: its starts and goals, and the rewards."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pliant.arrays import Array, Booleans
from pliant.environments.motion import ArmMotion
from pliant.errors import ModelError

RINGING = 0.01
"""Amplitude of the tip, m, that counts as bad."""
RINGING_OF_REACH = 0.005
"""Amplitude of the tip of a short arm that counts as bad, as a part of its reach."""


@dataclass
class Task:
    """A task of B arms under torques up to `limit` (m,).

    `goal` (B, g) is part of the observation; subclasses set it and give the reward.
    """

    motion: ArmMotion
    spread: float
    limit: Array
    effort: float = 0.01

    def __post_init__(self) -> None:
        if not 0 <= self.spread < np.inf:
            raise ModelError(f"spread: got {self.spread}, expected a number from 0 on")
        m = len(self.motion.joints)
        self.start, self.target = np.zeros((self.motion.count, m)), np.zeros((self.motion.count, m))
        self.time = np.zeros(self.motion.count)
        self.goal = np.zeros((self.motion.count, self.goal_size))
        self.middle, self.half = self.motion.room(self.motion.positions[0], self.spread)

    @property
    def goal_size(self) -> int:
        """Numbers of a goal."""
        return len(self.motion.joints)

    def begin(self, chosen: Booleans, rng: np.random.Generator) -> None:
        """Give the chosen arms new starts and targets."""
        size = (int(chosen.sum()), len(self.motion.joints))
        self.start[chosen] = self.middle + rng.uniform(-self.half, self.half, size)
        self.target[chosen] = self.middle + rng.uniform(-self.half, self.half, size)
        self.time[chosen] = 0.0
        self.motion.place(chosen, self.start[chosen], rng)
        self.aim(chosen)

    def aim(self, chosen: Booleans) -> None:
        """Set the goals of the chosen arms."""
        self.goal[chosen] = self.target[chosen]

    def reward(self, action: Array) -> Array:
        """Rewards (B,) per second."""
        raise NotImplementedError

    def advance(self) -> None:
        """Note that a period has passed."""
        self.time += self.motion.period


class Reach(Task):
    """Bring the tip to a point in space; the reward is minus its distance, m."""

    @property
    def goal_size(self) -> int:
        """Three numbers: the position of the point."""
        return 3

    def aim(self, chosen: Booleans) -> None:
        """Set the goals to the positions that the tip of the unbent arm has at the targets."""
        if chosen.any():
            m = self.motion
            p = m.p[chosen] if m.p.shape[1] else None
            q = m.unbent(self.target[chosen], m.p[chosen])
            self.goal[chosen] = m.model.tip_pose(q, p)[:, :3, 3]

    def reward(self, action: Array) -> Array:
        """Reward: minus the distance, and minus a little effort."""
        gap = np.linalg.norm(self.motion.tip() - self.goal, axis=1)
        return np.asarray(-gap - self.effort * np.square(action).mean(axis=1))


class Track(Task):
    """Follow an oscillating reference of the joints; the reward is minus the squared error."""

    frequency = 0.5

    @property
    def goal_size(self) -> int:
        """Two numbers for each joint: position and speed of the reference."""
        return 2 * len(self.motion.joints)

    def aim(self, chosen: Booleans) -> None:
        """Set the goals to the present reference, which goes from the start towards the target and back."""
        w = 2 * np.pi * self.frequency
        phase = w * self.time[chosen, None]
        swing = self.target[chosen] - self.start[chosen]
        position = self.start[chosen] + 0.5 * swing * (1 - np.cos(phase))
        self.goal[chosen] = np.hstack([position, 0.5 * swing * w * np.sin(phase)])

    def advance(self) -> None:
        """Move the reference on by a period."""
        super().advance()
        self.aim(np.ones(self.motion.count, dtype=bool))

    def reward(self, action: Array) -> Array:
        """Reward: minus the mean squared error of the joints, and minus a little effort."""
        error = self.motion.positions - self.goal[:, : len(self.motion.joints)]
        return np.asarray(-np.square(error).mean(axis=1) - self.effort * np.square(action).mean(axis=1))


class RestToRest(Task):
    """Turn the joints to a goal and rest there; errors, vibration of the tip, and torques beyond the holding ones cost.

    One centimeter of vibration (or a two-hundredth of the arm's reach, if that is less) costs more than the largest
    torques: it never pays to let the arm vibrate.
    """

    error, ringing = 100.0, 0.05

    def __post_init__(self) -> None:
        super().__post_init__()
        self.hold = np.zeros((self.motion.count, self.motion.m))
        self.amplitude = min(RINGING, self.motion.reach() * RINGING_OF_REACH)

    def aim(self, chosen: Booleans) -> None:
        """Set the goals, and the actions that hold the arms there."""
        super().aim(chosen)
        if chosen.any():
            m, p = self.motion, self.motion.p[chosen]
            self.hold[chosen] = m.holding(m.settled(self.target[chosen], p), p) / self.limit

    def reward(self, action: Array) -> Array:
        """Reward: minus squared errors of the joints, vibration of the tip and effort."""
        m = self.motion
        error = np.square(m.positions - self.goal).mean(axis=1)
        shaking = np.square(m.ringing() / self.amplitude)
        effort = np.square(action - self.hold).mean(axis=1)
        return np.asarray(-self.error * error - self.ringing * shaking - self.effort * effort)


TASKS: dict[str, type[Task]] = {"reach": Reach, "track": Track, "rest-to-rest": RestToRest}
"""Tasks by name."""
