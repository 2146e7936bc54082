"""Fit stiffness, payload and friction to a noisy recording of joint angles, tip and strain; errors come with it."""

import numpy as np

import pliant
from pliant.identification import Strain

paths = ["links.upper.beam.EI_z", "payload.mass", "links.upper.joint.friction.viscous"]
truth = [920.0, 0.62, 0.9]  # what the real arm has, and nobody knows
gauge, q0 = Strain("upper", 0.05, at=(0.01, 0.0)), {"upper": -1.0, "fore": 0.3}

# A run of the real arm under known torques, read with 1 % noise.
rng = np.random.default_rng(0)
torque = (np.linspace(0, 1, 21), 30 * rng.normal(size=(21, 2)))
real = pliant.load("two-link").replace(dict(zip(paths, truth))).model()
run = pliant.simulate(real, 1.0, q0, torque=torque, output_step=1e-3)
clean = {"upper": run["upper"], "tip.x": run.tip[:, 0], "gauge": run.strain("upper", 0.05, at=gauge.at)}
noisy = {name: y + 0.01 * np.std(y) * rng.normal(size=len(y)) for name, y in clean.items()}
recording = pliant.identification.Recording(run.t, noisy, q0=q0, torque=torque, sensors={"gauge": gauge})

start = dict(zip(paths, [1100.0, 0.5, 0.5]))
found = pliant.identify(pliant.load("two-link"), recording, paths, start=start)

print(found)
error = np.abs(found.estimates / truth - 1).max()
print(f"largest error {error:.2%}, {found.evaluations} runs of the model")
assert error < 0.02  # four standard errors of the friction, the least certain of the three
assert not found.unresolved


def picture(ax):
    low, high = (found.intervals()[:, k] / truth for k in (0, 1))
    ax.errorbar(
        range(3), found.estimates / truth, yerr=[found.estimates / truth - low, high - found.estimates / truth], fmt="o"
    )
    ax.axhline(1, color="0.6", linewidth=0.8)
    ax.set(
        xticks=range(3),
        xticklabels=["stiffness", "payload", "friction"],
        ylabel="found / true",
        title="With 95 % intervals",
    )
