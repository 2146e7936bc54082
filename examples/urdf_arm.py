"""A six-axis arm from a URDF file, and a side file that lets two links bend; coordinates have the names of joints."""

from pathlib import Path

import numpy as np

import pliant
from pliant.control import PD, Quintic, natural_gains

HERE = Path(__file__).parent / "urdf"
rigid = pliant.load(HERE / "ur5_like.urdf", tip="tool0")
arm = pliant.load(HERE / "ur5_like.urdf", flexible=HERE / "ur5_like_side.yaml", tip="tool0")
model = arm.model()
print("joints:", ", ".join(model.joints))
print("bending:", ", ".join(name for name in model.coordinates if "_link." in name))

start = dict(zip(model.joints, np.radians([0, -60, 80, -110, -90, 0])))
rest = model.equilibrium(list(start.values()))
frequencies = model.frequencies(rest)[:3]
straight = rigid.model().tip_pose(list(start.values()))[:3, 3]
sag = 1e3 * (straight - model.tip_pose(rest)[:3, 3])[2]
print("frequencies with the motors held:", np.round(frequencies, 2), "Hz")
print(f"the tool sags by {sag:.2f} mm")

goal = np.array(list(start.values()))
goal[0] += np.radians(40)
kp, kd = natural_gains(model, rest[: model.n_joints], frequency=4.0)
path = Quintic(list(start.values()), goal, duration=0.6)
result = pliant.simulate(model, 1.0, rest, controller=PD(kp, kd, path))
bent = 1e3 * np.ptp(result.deflection("forearm_link")[:, 1:], axis=0).max()
print(f"it turns by {np.degrees(result['shoulder_pan_joint'][-1]):.1f} degrees; the forearm bends by {bent:.2f} mm")

assert model.joints == tuple(start)
assert 3.0 < frequencies[0] < 12.0
assert 0.5 < sag < 20.0
assert abs(result["shoulder_pan_joint"][-1] - goal[0]) < np.radians(1)


def picture(ax):
    ax.plot(result.t, 1e3 * result.deflection("forearm_link")[:, 1:], label=["along y", "along z"])
    ax.set(xlabel="t, s", ylabel="deflection of the forearm, mm", title="A UR5-like arm turns by 40 degrees")
    ax.legend()
