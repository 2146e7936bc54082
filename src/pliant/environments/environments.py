"""Gymnasium environments of flexible arms: one arm, or many on the batch kernels."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import ArrayLike, NDArray

from pliant.arrays import Array
from pliant.base.signatures import checked, shown
from pliant.control.controllers.controller import checked_limit
from pliant.environments.motion import ArmMotion
from pliant.environments.tasks import TASKS
from pliant.errors import ModelError, UnsupportedModel
from pliant.model.robot import Robot, load
from pliant.options import AutoresetName, DeviceName, RenderName, TaskName

FALL = -100.0
"""Reward of an arm that was driven out of its joint limits or out of all bounds; its episode ends."""
LONGEST, MOST_STEPS = 1e9, 1e15
"""Most seconds of an episode, and most periods in it."""
MOST_ENVS = 1_000_000


class _Arms:
    """Common part of both kinds of environment: B arms, a task, spaces."""

    def __init__(
        self, robot: str | Robot, task: TaskName, count: int, period: float, horizon: float, spread: float,
        torque_limit: ArrayLike | None, vary: Mapping[str, tuple[float, float]] | None,
    ) -> None:  # fmt: skip
        if not 0 < horizon <= LONGEST:
            raise ModelError(f"horizon: got {horizon!r}, expected a number of seconds above 0, at most {LONGEST:g}")
        if not 0 <= spread <= LONGEST:
            raise ModelError(f"spread: got {spread!r}, expected a number from 0 to {LONGEST:g}")
        arm = load(robot) if isinstance(robot, str) else robot
        self.motion = ArmMotion(arm, count, period, vary or {})
        if torque_limit is None:
            self.limit = self.motion.torque_scale()
        else:
            self.limit = checked_limit("torque_limit", torque_limit, self.motion.m)
        rest = self.motion.at_rest()
        self.motion.place(np.ones(count, dtype=bool), np.tile(rest, (count, 1)), np.random.default_rng(0))
        self.task = TASKS[task](self.motion, spread, self.limit)
        self.steps, self.most = np.zeros(count, dtype=int), max(1, round(min(horizon / period, MOST_STEPS)))
        size = 2 * self.motion.n + 3 + self.task.goal_size
        self.observation_space = gym.spaces.Box(-np.inf, np.inf, (size,), np.float64)
        self.action_space = gym.spaces.Box(-1.0, 1.0, (self.motion.m,), np.float32)

    def begin(self, chosen: NDArray[np.bool_], rng: np.random.Generator) -> None:
        self.task.begin(chosen, rng)
        self.steps[chosen] = 0

    def observe(self) -> Array:
        """Observations of all arms: state, tip and goal."""
        return np.hstack([self.motion.q, self.motion.qd, self.motion.tip(), self.task.goal])

    def step(self, action: Array) -> tuple[Array, NDArray[np.bool_], NDArray[np.bool_]]:
        """Advance all arms; return rewards, whether arms have fallen, and whether their time is up."""
        bounded = np.clip(action, -1.0, 1.0)
        sound = self.motion.advance(bounded * self.limit)
        self.task.advance()
        self.steps += 1
        reward = np.where(sound, self.task.reward(bounded) * self.motion.period, FALL)
        return reward, ~sound, self.steps >= self.most

    def picture(self, arm: int) -> NDArray[np.uint8]:
        """Picture (H, W, 3) of one arm, with its goal."""
        from pliant.environments.picture import picture

        return picture(self.motion, self.task, arm)


def _action(name: str, action: ArrayLike, shape: tuple[int, ...]) -> Array:
    """Check that actions are numbers of the shape of the space."""
    try:
        found = np.asarray(action, dtype=float)
    except (TypeError, ValueError):
        found = None
    if found is None or found.shape != shape:
        raise ModelError(f"{name}: got {shown(action)}, expected numbers of shape {shape}")
    return found


def _check_seed(seed: int | None) -> None:
    if seed is not None and (not isinstance(seed, int | np.integer) or isinstance(seed, bool) or seed < 0):
        raise ModelError(f"seed: got {shown(seed)}, expected a whole number from 0, or None")


def _check_device(device: DeviceName) -> None:
    if device != "cpu":
        raise UnsupportedModel(
            f"device: got {device!r}, expected 'cpu': environments run on processors; `simulate_batch` runs many arms "
            "on a GPU"
        )


@checked
class ArmEnv(gym.Env[Array, Array]):
    """One flexible arm.

    Parameters
    ----------
    robot : str or Robot
        A bundled arm, a robot file, or a robot.
    task : "reach", "track" or "rest-to-rest"
        Task, which gives the rewards.
    period, horizon : float
        Time between actions, and duration of an episode, s.
    spread : float
        Distance from the middle within which joints begin and goals lie, rad or m. Near a joint limit it is moved
        inwards.
    torque_limit : float or (m,), optional
        Torque of an action of 1; by default enough to hold the arm in any pose, twice over. Commands of couplings
        follow the torques, those of valves from -1 to 1.
    vary : mapping from paths to (lowest, highest), optional
        Numbers of the robot that are drawn anew for each episode; shape functions stay those of the robot as given.
    render_mode : "rgb_array", optional
        Result of `render`.
    device : "cpu"
        Device of the arms. "cuda" raises an error, since environments run on processors only.

    Notes
    -----
    Observations are coordinates, rates, the position of the tip and the goal; actions are torques in units of the
    limit. Starts and goals lie within the joint limits of the robot file; an arm that leaves them ends its episode, and
    `info["limit"]` names the limit.

    Examples
    --------
    >>> env = pliant.environments.ArmEnv("two-link", "reach", period=0.02)
    >>> observation, _ = env.reset(seed=1)
    >>> observation, reward, terminated, truncated, _ = env.step(np.zeros(2))
    >>> observation.shape, terminated
    ((14,), False)
    """

    metadata: dict[str, Any] = {"render_modes": ["rgb_array"], "render_fps": 50}

    def __init__(
        self, robot: str | Robot = "two-link", task: TaskName = "reach", period: float = 0.02, horizon: float = 4.0,
        spread: float = 0.5, torque_limit: ArrayLike | None = None,
        vary: Mapping[str, tuple[float, float]] | None = None, render_mode: RenderName | None = None,
        device: DeviceName = "cpu",
    ) -> None:  # fmt: skip
        _check_device(device)
        self._arms = _Arms(robot, task, 1, period, horizon, spread, torque_limit, vary)
        self.observation_space = self._arms.observation_space
        self.action_space = self._arms.action_space  # type: ignore[assignment]
        self.render_mode = render_mode

    @property
    def step_length(self) -> float:
        """Length of an integration step, s, which the fastest mode determines."""
        return float(self._arms.motion.stepper.step_length or 0.0)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Array, dict[str, Any]]:
        """Begin an episode with a new start and goal.

        Parameters
        ----------
        seed : int, optional
            Seed of the random numbers.
        options : dict, optional
            Not used.

        Returns
        -------
        observation : array
            Coordinates, rates, tip and goal.
        info : dict
        """
        _check_seed(seed)
        super().reset(seed=seed)
        self._arms.begin(np.ones(1, dtype=bool), self.np_random)
        return self._arms.observe()[0], {}

    def step(self, action: Array) -> tuple[Array, float, bool, bool, dict[str, Any]]:
        """Advance by one period under the torques of the action.

        Parameters
        ----------
        action : (m,) array
            Torques in units of the limit, from -1 to 1.

        Returns
        -------
        observation, reward, terminated, truncated, info
            Those of Gymnasium.
        """
        reward, fallen, over = self._arms.step(_action("action", action, self.action_space.shape or ())[None])
        stopped = str(self._arms.motion.stepper.stopped[0])
        info = {"limit": stopped} if stopped else {}
        return self._arms.observe()[0], float(reward[0]), bool(fallen[0]), bool(over[0]), info

    def render(self) -> Any:
        """Return a picture of the arm and its goal.

        Returns
        -------
        (H, W, 3) array of uint8, or None
            For `render_mode="rgb_array"`.
        """
        return self._arms.picture(0) if self.render_mode == "rgb_array" else None


@checked
class ArmVectorEnv(VectorEnv[Array, Array, Array]):
    """Many flexible arms, stepped together in SIMD packs on all threads.

    Parameters
    ----------
    num_envs : int
        Number of arms.
    robot : str or Robot
        A bundled arm, a robot file, or a robot.
    task : "reach", "track" or "rest-to-rest"
        Task, which gives the rewards.
    period, horizon : float
        Time between actions, and duration of an episode, s.
    spread : float
        Distance from the middle within which joints begin and goals lie, rad or m. Near a joint limit it is moved
        inwards.
    torque_limit : float or (m,), optional
        Torque of an action of 1, as in `ArmEnv`.
    vary : mapping from paths to (lowest, highest), optional
        Numbers of the robot that are drawn anew for each episode; shape functions stay those of the robot as given.
    render_mode : "rgb_array", optional
        Result of `render`.
    autoreset : "next-step" or "same-step"
        Time at which an arm that is done begins anew, as in Gymnasium: in the next step, whose action is ignored, or
        at once, with its last observation in `info["final_obs"]`.
    device : "cpu"
        Device of the arms. "cuda" raises an error, since environments run on processors only.

    Examples
    --------
    >>> envs = pliant.environments.ArmVectorEnv(8, "two-link", "rest-to-rest")
    >>> observations, _ = envs.reset(seed=1)
    >>> observations, rewards, terminated, truncated, _ = envs.step(np.zeros((8, 2)))
    >>> rewards.shape
    (8,)
    """

    metadata: dict[str, Any] = {"render_modes": ["rgb_array"], "render_fps": 50}

    def __init__(
        self, num_envs: int = 64, robot: str | Robot = "two-link", task: TaskName = "reach", period: float = 0.02,
        horizon: float = 4.0, spread: float = 0.5, torque_limit: ArrayLike | None = None,
        vary: Mapping[str, tuple[float, float]] | None = None, render_mode: RenderName | None = None,
        autoreset: AutoresetName = "next-step", device: DeviceName = "cpu",
    ) -> None:  # fmt: skip
        _check_device(device)
        if not 1 <= num_envs <= MOST_ENVS:
            raise ModelError(f"num_envs: got {shown(num_envs)}, expected a whole number from 1 to {MOST_ENVS}")
        self.num_envs, self._at_once = num_envs, autoreset == "same-step"
        mode = AutoresetMode.SAME_STEP if self._at_once else AutoresetMode.NEXT_STEP
        self.metadata = {**self.metadata, "autoreset_mode": mode}
        self._arms = _Arms(robot, task, num_envs, period, horizon, spread, torque_limit, vary)
        self.single_observation_space = self._arms.observation_space
        self.single_action_space = self._arms.action_space
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self.render_mode = render_mode
        self._done = np.zeros(num_envs, dtype=bool)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Array, dict[str, Any]]:
        """Begin episodes of all arms with new starts and goals.

        Parameters
        ----------
        seed : int, optional
            Seed of the random numbers.
        options : dict, optional
            Not used.

        Returns
        -------
        observations : (num_envs, k) array
            Coordinates, rates, tip and goal.
        info : dict
        """
        _check_seed(seed)
        super().reset(seed=seed)
        self._arms.begin(np.ones(self.num_envs, dtype=bool), self.np_random)
        self._done[:] = False
        return self._arms.observe(), {}

    def step(self, actions: Array) -> tuple[Array, Array, Any, Any, dict[str, Any]]:
        """Advance by one period; with `autoreset="next-step"` arms that were done begin anew instead, with reward 0.

        Parameters
        ----------
        actions : (num_envs, m) array
            Torques in units of the limit, from -1 to 1.

        Returns
        -------
        observations, rewards, terminated, truncated, info
            Those of Gymnasium, each with num_envs rows; `info["limit"]` names the limits that arms have left.
        """
        begun = self._done.copy()
        reward, fallen, over = self._arms.step(_action("actions", actions, self.action_space.shape or ()))
        if begun.any():
            self._arms.begin(begun, self.np_random)
            reward, fallen, over = np.where(begun, 0.0, reward), fallen & ~begun, over & ~begun
        done = fallen | over
        stopped = np.asarray(self._arms.motion.stepper.stopped)
        at_limit = np.asarray(stopped != "")
        info: dict[str, Any] = {"limit": stopped, "_limit": at_limit} if at_limit.any() else {}
        seen = self._arms.observe()
        if self._at_once and done.any():
            last = np.full(self.num_envs, None, dtype=object)
            for arm in np.flatnonzero(done):
                last[arm] = seen[arm]
            info |= {"final_obs": last, "_final_obs": done, "final_info": dict(info), "_final_info": done}
            self._arms.begin(done, self.np_random)
            seen = self._arms.observe()
        else:
            self._done = done
        return seen, np.asarray(reward), fallen, over, info

    def render(self) -> Any:
        """Return pictures of all arms.

        Returns
        -------
        tuple of (H, W, 3) arrays of uint8, or None
            For `render_mode="rgb_array"`.
        """
        if self.render_mode != "rgb_array":
            return None
        return tuple(self._arms.picture(arm) for arm in range(self.num_envs))
