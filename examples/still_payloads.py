"""A URDF arm is to put down a light part and a heavy one without ringing: one motion each, and one for both."""

from pathlib import Path

import numpy as np

import pliant

HERE = Path(__file__).parent / "urdf"
arm = pliant.load(HERE / "ur5_like.urdf", flexible=HERE / "ur5_like_side.yaml", tip="tool0")
model = arm.model()
start, goal = np.radians([0, -60, 80, -110, -90, 0]), np.radians([40, -45, 65, -110, -90, 0])

limits = {"acceleration_limit": 8.0, "jerk_limit": 160.0}  # speed and effort stand in the URDF
found = {f"{mass:g} kg": pliant.plan(model, start, goal, payload=mass, **limits) for mass in (2.0, 3.0)}
found["2 to 3 kg"] = pliant.plan(model, start, goal, payload=2.5, payload_error=0.2, **limits)
for name, shaped in found.items():
    for case, both in shaped.compared.items():
        swing = f"{1e3 * both.plain.peak:6.2f} mm plain, {1e3 * both.shaped.peak:6.3f} mm shaped"
        print(f"{name:9s} {shaped.duration:.3f} s ({shaped.plain.end:.3f} s plain)  {case:14s} {swing}")

light, heavy, both = found.values()
assert all(shaped.compared["as described"].ratio < 1 / 20 for shaped in found.values())
assert all(case.ratio < 1 / 5 for case in both.compared.values())
assert both.duration < light.duration + 1 / both.frequency
assert all(share <= 1.0001 for shaped in found.values() for share in shaped.shares.values())


def picture(ax):
    arm = light.compared["as described"]
    for name, run in (("plain", arm.plain), ("shaped", arm.shaped)):
        after = run.run.t >= run.duration
        ax.plot(run.run.t[after] - run.duration, 1e3 * run.distance[after], label=name)
    ax.set(xlabel="t after the end, s", ylabel="tip from rest, mm", title="A UR5-like arm with 2 kg after a turn")
    ax.set_ylim(-0.2, 4.5)
    ax.legend(loc="upper right", ncols=2)
