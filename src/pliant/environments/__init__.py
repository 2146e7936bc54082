"""Learning environments (extra `[rl]`): flexible arms that reach, track, and come to rest without vibration.

import gymnasium, pliant.environments
env  = gymnasium.make("pliant/reach-v0", robot="two-link")
envs = gymnasium.make_vec("pliant/rest-to-rest-v0", num_envs=1024, vectorization_mode="vector_entry_point")
"""

from pliant.errors import UnsupportedModel, install

try:
    import gymnasium
except ImportError:
    raise UnsupportedModel(f"pliant.environments needs gymnasium, which is not installed; {install('rl')}") from None

from pliant.environments.environments import ArmEnv, ArmVectorEnv
from pliant.environments.tasks import TASKS

for _task in TASKS:
    if f"pliant/{_task}-v0" not in gymnasium.registry:
        gymnasium.register(
            id=f"pliant/{_task}-v0",
            entry_point="pliant.environments:ArmEnv",
            vector_entry_point="pliant.environments:ArmVectorEnv",
            kwargs={"task": _task},
        )

__all__ = ["TASKS", "ArmEnv", "ArmVectorEnv"]
