"""Train the network of examples/learned_policy.py: PPO of Stable-Baselines3 on 128 arms at once (extra [sb3]).

python examples/training/train_policy.py [STEPS] writes rest_policy.npz and its learning curve, rest_policy.png, beside
this file; 4 million steps take some 15 minutes on one core.
"""

import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import torch
from stable_baselines3 import PPO
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.vec_env import VecMonitor, VecNormalize

import pliant
from pliant.environments.stable_baselines import ArmVecEnv

HERE = Path(__file__).parent
STEPS = int(float(sys.argv[1])) if len(sys.argv) > 1 else 4_000_000
torch.set_num_threads(1)
damped = {f"links.{link}.shapes.damping": 0.02 for link in ("upper", "fore")}
robot = pliant.load("two-link").replace(damped)
arms = ArmVecEnv(
    128, robot=robot, task="rest-to-rest", period=0.02, horizon=2.0, spread=0.4, torque_limit=[150.0, 40.0]
)
env = VecNormalize(VecMonitor(arms), gamma=0.98)


class Curve(BaseCallback):
    """Mean return of the last hundred episodes, after each round."""

    def __init__(self) -> None:
        super().__init__()
        self.rows: list[tuple[float, float]] = []

    def _on_step(self) -> bool:
        return True

    def _on_rollout_end(self) -> None:
        if self.model.ep_info_buffer:
            returns = [episode["r"] for episode in self.model.ep_info_buffer]
            self.rows.append((self.num_timesteps, float(np.mean(returns))))
            if len(self.rows) % 25 == 0:
                print(f"{self.num_timesteps:>9} steps: mean return {self.rows[-1][1]:.3f}", flush=True)


model = PPO(
    "MlpPolicy", env, n_steps=64, batch_size=1024, n_epochs=6, gamma=0.98, seed=1, device="cpu",
    learning_rate=lambda left: 8e-4 * left + 2e-5, policy_kwargs={"net_arch": [64, 64], "log_std_init": -1.5},
)  # fmt: skip
curve = Curve()
model.learn(STEPS, callback=curve)

hidden, last = model.policy.mlp_extractor.policy_net, model.policy.action_net
layers = [(layer.weight, layer.bias) for layer in (hidden[0], hidden[2], last)]
weights = {f"W{k}": W.detach().numpy().astype(np.float32) for k, (W, _) in enumerate(layers)}
biases = {f"b{k}": b.detach().numpy().astype(np.float32) for k, (_, b) in enumerate(layers)}
seen = {"mean": env.obs_rms.mean, "deviation": np.sqrt(env.obs_rms.var + env.epsilon), "clip": env.clip_obs}
rows = np.array(curve.rows)
np.savez_compressed(HERE / "rest_policy.npz", **weights, **biases, **seen, curve=rows.astype(np.float32))
figure, axes = plt.subplots(figsize=(5.0, 3.2), layout="constrained")
axes.plot(rows[:, 0] / 1e6, -rows[:, 1], color="#0072B2", linewidth=1.2)
axes.set(xlabel="steps of all arms, millions", ylabel="cost of an episode of 2 s", yscale="log")
axes.grid(alpha=0.3)
figure.savefig(HERE / "rest_policy.png", dpi=150)
