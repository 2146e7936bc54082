"""Prescribe the joints and read the torques they take; the torques alone then give the motion back."""

import numpy as np

import pliant
from pliant.control import Quintic

model = pliant.load("two-link").model()
path = Quintic([0.0, 0.0], [0.8, -0.5], duration=1.0)

result = pliant.simulate(model, 1.0, motion={"upper": path[0], "fore": path[1]}, output_step=5e-4)
again = pliant.simulate(model, 1.0, result.q[0], result.qd[0], torque=(result.t, result.tau, "cubic"))

print(f"largest torque {np.abs(result.tau).max():.2f} N m")
print(f"deflection on the way {1e3 * np.abs(result.deflection('fore')).max():.3f} mm")
error = np.abs(again.q[-1] - result.q[-1])[:2].max()
print(f"the torques alone bring the arm to within {error:.1e} rad of the goal")
assert error < 1e-4  # 2000 samples of torques that ring at up to 150 Hz, cubic in between


def picture(ax):
    ax.plot(result.t, result.tau, label=["upper", "fore"])
    ax.set(xlabel="t, s", ylabel="torque, N m", title="What the motion takes")
    ax.legend()
