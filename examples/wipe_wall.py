"""A flexible arm wipes a wall: impedance control presses with the force that its virtual spring says."""

import numpy as np

import pliant

robot = pliant.robot.parse("""
name: wiping arm
gravity: [0, -9.81, 0]
links:
  - name: upper
    joint: {drive: {rotor_inertia: 3.0e-5, gear_ratio: 80}}
    beam: {length: 0.7, material: aluminium, section: {shape: tube, outer_diameter: 0.030, inner_diameter: 0.026}}
    shapes: {bending_y: 2, damping: 0.01}
  - name: fore
    joint: {hub: {mass: 0.6, inertia: [0.0005, 0.0005, 0.0008]}, drive: {rotor_inertia: 2.0e-5, gear_ratio: 60}}
    beam: {length: 0.6, material: aluminium, section: {shape: tube, outer_diameter: 0.022, inner_diameter: 0.018}}
    shapes: {bending_y: 2, damping: 0.01}
payload: {mass: 0.4}
frames:
  - {name: wall, link: base, origin: {xyz: [0.9, 0, 0], rpy: [0, -90 deg, 0]}}
contacts:
  - name: sponge
    radius: 0.03
    surface: {frame: wall}
    stiffness: 2.0e+5
    damping: 2.0
    friction: 0.25
    stick_speed: 0.01
""")
model = robot.model()
alone = robot.model_copy(update={"contacts": ()}).model()  # what the controller knows: no wall
stiffness, damping = np.array([400.0, 900.0]), np.array([60.0, 60.0])  # N/m and N s/m, along x and y
depth, top, bottom = 0.05, 0.35, -0.15  # m: the goal lies so deep in the wall, and goes down it


def goal(t):
    """Towards the wall in half a second, then down along it, at 0.2 m/s at most."""
    down = np.clip((t - 0.8) / 3.0, 0, 1)
    y = top + (bottom - top) * down**2 * (3 - 2 * down)
    x = 0.87 - 0.10 + (0.10 + depth) * min(t / 0.5, 1.0)
    return np.array([x, y])


def impedance(t, q, qd):
    """A spring from the tip to its goal, by the transposed Jacobian, a damper at the joints, the weight of the arm."""
    J = model.jacobian(q)[3:5, :2]
    force = stiffness * (goal(t) - model.tip_pose(q)[:2, 3]) - damping * (J @ qd[:2])
    return J.T @ force + alone.bias(q, np.zeros(model.n))[:2]


start = pliant.control.inverse_kinematics(model, [*goal(0.0), 0.0], guess=[1.2, -1.4])
result = pliant.simulate(
    model, 4.5, dict(zip(model.joints, start)), torque=impedance, sample_time=1e-3, equilibrium=True, method="rodas5p"
)
wiping = (result.t > 1.2) & (result.t < 3.6)
pressed, rubbed = (result[f"sponge.{name}"][wiping] for name in ("force", "friction"))
said = stiffness[0] * depth
print(f"presses by {pressed.mean():.2f} N, {pressed.min():.2f} to {pressed.max():.2f} N; the spring says {said:g} N")
print(f"rubs by {rubbed.mean():.2f} N over {np.ptp(result.tip[wiping, 1]):.2f} m, and bends by "
      f"{1e3 * np.abs(result.deflection('fore')).max():.1f} mm")  # fmt: skip
assert abs(pressed.mean() / said - 1) < 0.05
assert pressed.min() > 10  # never leaves the wall
assert np.allclose(rubbed / pressed, 0.25, atol=0.01)  # it slides all the time


def picture(ax):
    ax.plot(result.t, result["sponge.force"], label="pressed")
    ax.plot(result.t, result["sponge.friction"], label="rubbed")
    ax.axhline(said, color="black", linewidth=0.8, linestyle=":")
    ax.set(xlabel="t, s", ylabel="N", title="A wall wiped under impedance control", ylim=(0, 30))
    ax.legend()
