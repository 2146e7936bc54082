"""A rigid link on an elastic drive: the motor held, it swings at sqrt(k / J)."""

import numpy as np

import pliant

k, J = 800.0, 0.3
body = pliant.RigidBody(mass=1.0, inertia=(J, J, J), tip=(0.5, 0, 0))
joint = pliant.Joint(drive=pliant.robot.Drive(stiffness=k, rotor_inertia=1e-4, gear_ratio=100))
robot = pliant.Robot(name="elastic joint", gravity=(0, 0, 0), links=[pliant.Link(name="arm", joint=joint, rigid=body)])
model = robot.model()

held = model.frequencies(joints="locked")[0]
free = model.frequencies(joints="free")[-1]
print(f"coordinates {model.coordinates}")
print(f"motor held: {held:.4f} Hz, sqrt(k/J) {np.sqrt(k / J) / 2 / np.pi:.4f} Hz")
print(f"motor free: {free:.4f} Hz, sqrt(k (1/J + 1/J_r N^2)) {np.sqrt(k * (1 / J + 1 / 1.0)) / 2 / np.pi:.4f} Hz")
assert abs(held - np.sqrt(k / J) / 2 / np.pi) < 1e-9
assert abs(free - np.sqrt(k * (1 / J + 1 / 1.0)) / 2 / np.pi) < 1e-9


def picture(ax):
    swing = pliant.simulate(model, 0.5, q0=[0.01, 0.0], motion={"arm.motor": lambda t: 0 * t}, output_step=1e-3)
    ax.plot(swing.t, 1e3 * swing["arm"], label="run, motor held")
    ax.plot(swing.t, 10 * np.cos(np.sqrt(k / J) * swing.t), "k:", label="sqrt(k / J)")
    ax.set(xlabel="t, s", ylabel="joint, mrad", ylim=(-11, 17), title="A rigid link on a spring")
    ax.legend()
