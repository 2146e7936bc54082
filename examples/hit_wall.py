"""An arm swings against a wall: a flexible one takes part of the hit into its vibration, and comes back slower."""

import numpy as np

import pliant

text = """
name: hammer
gravity: [0, -9.81, 0]
links:
  - name: arm
    joint: {origin: {rpy: [0, 0, -90 deg]}}    # hangs at zero
    beam: {length: 0.8, material: steel, section: {shape: rod, diameter: 0.012}}
    shapes: {bending_y: 3, damping: 0.01}
payload: {mass: 1.3}
frames:
  - {name: wall, link: base, origin: {xyz: [0.03, 0, 0], rpy: [0, -90 deg, 0]}}    # beside the hanging tip
contacts:
  - {name: hit, radius: 0.03, surface: {frame: wall}, stiffness: 5.0e+7, restitution: {value: 0.8, speed: 3.0}}
"""
runs = {}
for name in ("rigid", "flexible"):
    robot = pliant.robot.parse(text)
    robot = robot.replace({"links.arm.shapes": None}) if name == "rigid" else robot
    runs[name] = pliant.simulate(robot.model(), 1.2, {"arm": "-65 deg"}, output_step=1e-4, rtol=1e-9)

back = {}
for name, run in runs.items():
    moments = [next(t for t, event in run.stats.events if event == f"hit {word}") for word in ("touches", "leaves")]
    before = np.interp(moments[0], run.t, run.qd[:, 0])
    swing = -run["arm"][run.t > moments[0]].min()
    back[name] = np.sqrt((1 - np.cos(swing)) / (1 - np.cos(np.radians(65))))  # of the speed, by the height reached
    print(f"{name}: hits at {0.8 * before:.2f} m/s with up to {run['hit.force'].max():.0f} N for "
          f"{1e3 * np.ptp(moments):.2f} ms, swings back with {100 * back[name]:.0f} % of the speed")  # fmt: skip
    assert np.abs(run.energy_balance).max() < 1e-6 * run.energy.kinetic.max()

assert abs(back["rigid"] - 0.8) < 0.02  # the restitution of the contact, stated at this speed
assert back["flexible"] < back["rigid"]


def picture(ax):
    for name, run in runs.items():
        ax.plot(run.t, np.degrees(run["arm"]), label=name)
    ax.set(xlabel="t, s", ylabel="angle, deg", title="What a hit leaves of a swing")
    ax.legend()
