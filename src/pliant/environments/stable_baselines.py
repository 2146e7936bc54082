"""Many arms as Stable-Baselines3 takes them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from pliant.environments.environments import ArmVectorEnv
from pliant.errors import UnsupportedModel, install

try:
    from stable_baselines3.common.vec_env import VecEnv
except ImportError:
    raise UnsupportedModel(
        f"pliant.environments.stable_baselines needs stable-baselines3, which is not installed; {install('sb3')}"
    ) from None


class ArmVecEnv(VecEnv):  # type: ignore[misc]
    """Many flexible arms behind the interface of Stable-Baselines3, stepped together as in `ArmVectorEnv`.

    Parameters
    ----------
    num_envs : int
        How many arms.
    **options
        As of `ArmVectorEnv`: robot, task, period, horizon, spread, torque_limit, vary, render_mode.

    Notes
    -----
    An arm that is done begins anew at once; its last observation is in `info["terminal_observation"]`, and
    `info["TimeLimit.truncated"]` says whether its time was up. With the same seeds runs have the same bits.

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

    def reset(self) -> Any:
        """New starts and goals of all arms; the seed is that of the first environment.

        Returns
        -------
        (num_envs, k) array
            Observations.
        """
        seen, _ = self.arms.reset(seed=self._seeds[0])
        self._reset_seeds()
        self._reset_options()
        self.reset_infos: list[dict[str, Any]] = [{} for _ in range(self.num_envs)]
        return seen

    def step_async(self, actions: Any) -> None:
        """Keep the actions of the next step.

        Parameters
        ----------
        actions : (num_envs, m) array
            Torques in units of the limit.
        """
        self.actions = actions

    def step_wait(self) -> Any:
        """Advance all arms.

        Returns
        -------
        observations, rewards, dones, infos
            As Stable-Baselines3 has them.
        """
        seen, reward, fallen, over, info = self.arms.step(self.actions)
        infos: list[dict[str, Any]] = [{} for _ in range(self.num_envs)]
        for arm in np.flatnonzero(fallen | over):
            infos[arm] = {
                "terminal_observation": info["final_obs"][arm],
                "TimeLimit.truncated": bool(over[arm] and not fallen[arm]),
            }
            if fallen[arm]:
                infos[arm]["limit"] = str(info["limit"][arm])
        return seen, reward, fallen | over, infos

    def close(self) -> None:
        """Let go of the arms."""
        self.arms.close()

    def get_images(self) -> Sequence[Any]:
        """Pictures of all arms.

        Returns
        -------
        sequence of (H, W, 3) arrays
        """
        return list(self.arms.render() or ())

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        """An attribute of the environments, which they share.

        Parameters
        ----------
        attr_name : str
            Its name.
        indices : optional
            Which environments.

        Returns
        -------
        list
        """
        return [getattr(self.arms, attr_name) for _ in self._get_indices(indices)]

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        """Set an attribute of the environments, which they share.

        Parameters
        ----------
        attr_name : str
            Its name.
        value : object
            Its value.
        indices : optional
            Not used.
        """
        setattr(self.arms, attr_name, value)

    def env_method(self, method_name: str, *method_args: Any, indices: Any = None, **method_kwargs: Any) -> list[Any]:
        """Call a method of the environments, which they share, once.

        Parameters
        ----------
        method_name : str
            Its name.
        *method_args, **method_kwargs
            What it is given.
        indices : optional
            Which environments.

        Returns
        -------
        list
        """
        value = getattr(self.arms, method_name)(*method_args, **method_kwargs)
        return [value for _ in self._get_indices(indices)]

    def env_is_wrapped(self, wrapper_class: Any, indices: Any = None) -> list[bool]:
        """Whether environments are wrapped; they are not.

        Parameters
        ----------
        wrapper_class : type
            A wrapper.
        indices : optional
            Which environments.

        Returns
        -------
        list of bool
        """
        return [False for _ in self._get_indices(indices)]
