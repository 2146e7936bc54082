"""A slew that turns the satellite, and one that does not: the same arm, to the same pose, by a reaction-null path.

What floats has no momentum, so that a motion of the arm turns its base, unless the joint speeds lie in the null space
of the coupling inertia about the center of mass. Six joints and three such conditions leave three ways to go.
"""

import numpy as np

import pliant
from pliant.control import Constant, Quintic, Waypoints

model = pliant.load("free-flyer").model(stiffening="off")
arm = ["shoulder", "upper", "fore", "wrist_pitch", "wrist_yaw", "hand"]
wheels = ["wheel_x", "wheel_y", "wheel_z"]
columns = [model.speed_index(name) - 6 for name in arm]
start = np.radians([-60.0, 20.0, -60.0, 20.0, 80.0, 60.0])
wanted = np.radians([-90.0, 90.0, -90.0, -90.0, -60.0, 0.0])  # that way, as far as the base allows


def null_speeds(joints):
    """The wanted speeds without the part that would turn the base."""
    H = model.coupling_inertia(model.state(dict(zip(arm, joints))))[:3, columns]
    return wanted - np.linalg.pinv(H) @ (H @ wanted)


times = np.linspace(0.0, 80.0, 31)
progress = Quintic([0.0], [1.0], times[-1])(times)[0].ravel()
path = [start]
for step in np.diff(progress):  # the middle of each step decides on it
    middle = path[-1] + null_speeds(path[-1]) * step / 2
    path.append(path[-1] + null_speeds(middle) * step)

turned = {}
slews = {"straight": Quintic(path[0], path[-1], times[-1]), "reaction-null": Waypoints(times, path)}
for name, slew in slews.items():
    motion = {joint: slew[k] for k, joint in enumerate(arm)} | {wheel: Constant([0.0])[0] for wheel in wheels}
    run = pliant.simulate(model, times[-1], model.state(dict(zip(arm, start))), motion=motion, output_step=2.0)
    cosine = (np.trace(run.pose("base")[:, :3, :3], axis1=1, axis2=2) - 1) / 2
    turned[name] = np.degrees(np.arccos(np.clip(cosine, -1.0, 1.0)))
    print(f"{name}: the satellite turns by {turned[name].max():.3f} deg, and has {turned[name][-1]:.3f} deg at the end")
    assert np.abs(run.momentum).max() < 1e-6  # of everything, the bending panels included
assert turned["straight"].max() > 15.0
assert turned["reaction-null"].max() < 0.1  # the links bend, and the path is a spline through 31 points


def picture(ax):
    for name, degrees in turned.items():
        ax.plot(np.linspace(0, times[-1], len(degrees)), degrees, label=name)
    ax.set(xlabel="t, s", ylabel="attitude of the satellite, deg", title="Same arm, same goal")
    ax.legend()
