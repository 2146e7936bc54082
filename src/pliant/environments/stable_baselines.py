"""Many arms behind the interface of Stable-Baselines3."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pliant.arrays import Array, Booleans
from pliant.environments.environments import ArmVectorEnv
from pliant.errors import UnsupportedModel, install

try:
    from stable_baselines3.common.vec_env import VecEnv
except ImportError:
    raise UnsupportedModel(
        f"pliant.environments.stable_baselines needs stable-baselines3, which is not installed; {install('sb3')}"
    ) from None


Indices: TypeAlias = int | Iterable[int] | None
"""Numbers of environments; None: all."""


class ArmVecEnv(VecEnv):  # type: ignore[misc]
    """Many flexible arms behind the interface of Stable-Baselines3, stepped together as in `ArmVectorEnv`.

    Parameters
    ----------
    num_envs : int
        Number of arms.
    **options
        Options of `ArmVectorEnv`: robot, task, period, horizon, spread, torque_limit, vary, render_mode.

    Notes
    -----
    An arm that is done begins anew at once; its last observation is in `info["terminal_observation"]`, and
    `info["TimeLimit.truncated"]` is True if its time was up. With the same seeds runs have the same bits.

    Examples
    --------
    >>> from stable_baselines3 import PPO  # doctest: +SKIP
    >>> from pliant.environments.stable_baselines import ArmVecEnv  # doctest: +SKIP
    >>> PPO("MlpPolicy", ArmVecEnv(64, robot="two-link", task="rest-to-rest"), seed=1).learn(100_000)  # doctest: +SKIP
    """

    def __init__(self, num_envs: int = 64, **options: Any) -> None:
        self.arms = ArmVectorEnv(num_envs, **options, autoreset="same-step")
        self.render_mode = self.arms.render_mode
        super().__init__(num_envs, self.arms.single_observation_space, self.arms.single_action_space)
        self.actions = np.zeros((num_envs, *self.action_space.shape))

    def reset(self) -> Array:
        """Begin episodes of all arms with new starts and goals; the seed is that of the first environment.

        Returns
        -------
        (num_envs, k) array
            Observations.
        """
        seen, _ = self.arms.reset(seed=self._seeds[0])
        self._reset_seeds()
        self._reset_options()
        self.reset_infos: list[dict[str, object]] = [{} for _ in range(self.num_envs)]
        return seen

    def step_async(self, actions: Array) -> None:
        """Keep the actions of the next step.

        Parameters
        ----------
        actions : (num_envs, m) array
            Torques in units of the limit.
        """
        self.actions = actions

    def step_wait(self) -> tuple[Array, Array, Booleans, list[dict[str, object]]]:
        """Advance all arms.

        Returns
        -------
        observations, rewards, dones, infos
            Those of Stable-Baselines3.
        """
        seen, reward, fallen, over, info = self.arms.step(self.actions)
        infos: list[dict[str, object]] = [{} for _ in range(self.num_envs)]
        for arm in np.flatnonzero(fallen | over):
            infos[arm] = {
                "terminal_observation": info["final_obs"][arm],
                "TimeLimit.truncated": bool(over[arm] and not fallen[arm]),
            }
            if fallen[arm]:
                infos[arm]["limit"] = str(info["limit"][arm])
        return seen, reward, fallen | over, infos

    def close(self) -> None:
        """Close the environments."""
        self.arms.close()

    def get_images(self) -> Sequence[NDArray[np.uint8]]:
        """Return pictures of all arms.

        Returns
        -------
        sequence of (H, W, 3) arrays
        """
        return list(self.arms.render() or ())

    def get_attr(self, attr_name: str, indices: Indices = None) -> list[object]:
        """Return an attribute of the environments, which they share.

        Parameters
        ----------
        attr_name : str
            Name of the attribute.
        indices : optional
            Numbers of environments; all by default.

        Returns
        -------
        list
        """
        return [getattr(self.arms, attr_name) for _ in self._get_indices(indices)]

    def set_attr(self, attr_name: str, value: object, indices: Indices = None) -> None:
        """Set an attribute of the environments, which they share.

        Parameters
        ----------
        attr_name : str
            Name of the attribute.
        value : object
            New value.
        indices : optional
            Not used.
        """
        setattr(self.arms, attr_name, value)

    def env_method(
        self, method_name: str, *method_args: object, indices: Indices = None, **method_kwargs: object
    ) -> list[object]:
        """Call a method of the environments, which they share, once.

        Parameters
        ----------
        method_name : str
            Name of the method.
        *method_args, **method_kwargs
            Arguments of the method.
        indices : optional
            Numbers of environments; all by default.

        Returns
        -------
        list
        """
        value = getattr(self.arms, method_name)(*method_args, **method_kwargs)
        return [value for _ in self._get_indices(indices)]

    def env_is_wrapped(self, wrapper_class: type, indices: Indices = None) -> list[bool]:
        """Return False for each environment: none is wrapped.

        Parameters
        ----------
        wrapper_class : type
            Class of wrappers.
        indices : optional
            Numbers of environments; all by default.

        Returns
        -------
        list of bool
        """
        return [False for _ in self._get_indices(indices)]
