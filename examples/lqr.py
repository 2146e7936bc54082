"""Damp the vibration actively: an LQR moves the lightly damped poles to the left."""

import numpy as np

import pliant
from pliant.control import LQR

robot = pliant.load("two-link")
model = robot.model()
joints = np.array([-np.pi / 2, 0.2])
controller = LQR(joints, Q={"joints": 400.0, "flexible": 1e4, "rates": 1.0}, R=0.05)
design = controller.design(model)

before, after = np.linalg.eigvals(design.A), design.poles
slowest = -after.real.max()
print(f"open loop: slowest decay {-before.real.max():+.2e} 1/s; closed loop: {slowest:.3f} 1/s")

q0 = model.equilibrium(joints)
start = q0.copy()
start[0] += 0.05
result = pliant.simulate(model, 4.0, start, controller=controller)
left = np.abs(result.q[-1] - q0)[:2].max()
print(f"0.05 rad away at the start, {left:.1e} rad after 4 s")
assert slowest > 0.5
assert left < 0.05 * np.exp(-0.8 * slowest * 4.0) + 1e-6  # decays as the poles say


def picture(ax):
    ax.plot(before.real, before.imag, "x", label="open loop")
    ax.plot(after.real, after.imag, "o", markersize=4, label="closed loop")
    ax.set(xlabel="real part, 1/s", ylabel="imaginary part, 1/s", title="Poles move to the left")
    ax.legend()
