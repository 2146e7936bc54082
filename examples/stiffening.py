"""A beam spun up to 6 rad/s: without geometric stiffening the model bends ever further, with it the beam comes back."""

import casadi as ca
import numpy as np

import pliant

robot = pliant.load("spin-up")  # 8 m, first frequency 0.46 Hz = 2.9 rad/s


def turn(t):
    """Smooth spin-up to 6 rad/s in 15 s, then constant speed: the angle of Kane's classic example."""
    ramp = 6.0 / 15.0 * (t**2 / 2 + (15 / (2 * np.pi)) ** 2 * (ca.cos(2 * np.pi * t / 15) - 1))
    return ca.if_else(t < 15, ramp, 6.0 * t - 45.0)


deflection, runs = {}, {}
for stiffening in ("off", "third-order"):
    result = runs[stiffening] = pliant.simulate(robot.model(stiffening=stiffening), 12.0, motion={"arm": turn})
    deflection[stiffening] = result.deflection("arm")[-1, 1]
    print(f"stiffening {stiffening:11}: after 12 s the tip lags by {-deflection[stiffening]:.3f} m")

assert abs(deflection["off"]) > 3 * abs(deflection["third-order"])
assert 0.1 < -deflection["third-order"] < 0.7


def picture(ax):
    for stiffening, run in runs.items():
        ax.plot(run.t, run.deflection("arm")[:, 1], label=f"stiffening {stiffening}")
    ax.set(xlabel="t, s", ylabel="deflection of the tip, m", ylim=(-4, 0.2), title="A blade spun up to 6 rad/s")
    ax.legend()
