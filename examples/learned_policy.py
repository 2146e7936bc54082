"""A network that PPO has trained turns flexible arms to their goals and keeps them still (extra [rl]).

examples/training/train_policy.py trained it, with Stable-Baselines3; here it runs with NumPy alone.
"""

from pathlib import Path

import numpy as np

import pliant
from pliant.environments import ArmVectorEnv

policy = np.load(Path(__file__).parent / "training" / "rest_policy.npz")
robot = pliant.load("two-link").replace({f"links.{link}.shapes.damping": 0.02 for link in ("upper", "fore")})
arms = ArmVectorEnv(
    64, robot, "rest-to-rest", period=0.02, horizon=10.0, spread=0.4, torque_limit=[150.0, 40.0]
)  # goals it has not seen


def action(seen: np.ndarray) -> np.ndarray:
    """Torques in units of the limit: two layers of 64 on what is observed, in units of its deviation."""
    x = np.clip((seen - policy["mean"]) / policy["deviation"], -policy["clip"], policy["clip"])
    for k in range(2):
        x = np.tanh(x @ policy[f"W{k}"].T + policy[f"b{k}"])
    return np.clip(x @ policy["W2"].T + policy["b2"], -1.0, 1.0)


seen, _ = arms.reset(seed=2024)
start = np.abs(seen[:, :2] - seen[:, -2:]).mean()
far = []
for _ in range(100):
    seen, reward, *_ = arms.step(action(seen))
    far.append(np.abs(seen[:, :2] - seen[:, -2:]).mean(axis=1))
error = np.abs(seen[:, :2] - seen[:, -2:]).mean()
shaking = np.linalg.norm(seen[:, 6:8], axis=1).mean()  # rates of the links' bending
print(f"joints {1e3 * start:.0f} mrad from their goals at the start, {1e3 * error:.0f} mrad after 2 s")
print(f"links bend at {1e3 * shaking:.2f} mm/s then")
assert error < 0.2 * start
assert shaking < 0.03


def picture(ax):
    ax.plot(0.02 * np.arange(1, 101), 1e3 * np.array(far), color="C0", alpha=0.25)
    ax.set(xlabel="t, s", ylabel="joints from their goals, mrad", title="64 arms that the network has not seen")
