"""Learn gains that bring a flexible arm to rest: cross-entropy search over 256 arms at once (extra [rl])."""

import numpy as np

import pliant
from pliant.environments import ArmVectorEnv

ARMS, GROUP, ROUNDS, STEPS = 256, 8, 15, 100
rng = np.random.default_rng(0)
damped = {f"links.{link}.shapes.damping": 0.02 for link in ("upper", "fore")}
robot = pliant.load("two-link").replace(damped)
envs = ArmVectorEnv(ARMS, robot, "rest-to-rest", period=0.01, horizon=10.0, torque_limit=[150.0, 40.0])


def returns(gains: np.ndarray) -> np.ndarray:
    """Sum of rewards of each arm under its own gains (ARMS, 6): torque = k (goal - q) - d qd + c, joint by joint."""
    seen, _ = envs.reset(seed=7)
    total = np.zeros(ARMS)
    for _ in range(STEPS):
        q, qd, goal = seen[:, :2], seen[:, 4:6], seen[:, -2:]
        action = gains[:, :2] * (goal - q) - gains[:, 2:4] * qd + gains[:, 4:]
        seen, reward, *_ = envs.step(action.astype(np.float32))
        total += reward
    return total


mean, deviation = np.zeros(6), np.full(6, 1.0)
costs = []
alone = returns(np.tile(mean, (ARMS, 1)))  # without control: some goals are farther than others
for _ in range(ROUNDS):
    gains = mean + deviation * rng.normal(size=(ARMS // GROUP, 6))  # each is tried by a group of arms
    gained = (returns(np.repeat(gains, GROUP, axis=0)) - alone).reshape(-1, GROUP).mean(axis=1)
    costs.append(-(gained + alone.mean()).mean())
    best = gains[np.argsort(gained)[-6:]]
    mean, deviation = best.mean(axis=0), best.std(axis=0) + 0.05
last = returns(np.tile(mean, (ARMS, 1))).mean()

print(f"gains {np.round(mean, 2)}")
print(f"mean return of {ARMS} arms: {alone.mean():.3f} without control, {last:.3f} after {ROUNDS} rounds")
assert last > 0.1 * alone.mean()  # both are negative: at most a tenth of the cost is left


def picture(ax):
    ax.plot(costs, "o-")
    ax.set(yscale="log", xlabel="round", ylabel="mean cost of 256 arms", title="Cross-entropy search")
