"""What the structure feels: the bending moment at the root of a hanging load, P L for a light arm."""

import numpy as np

import pliant
from pliant.loads import Wrench

section = pliant.Section(shape="tube", outer_diameter=0.05, inner_diameter=0.044)
beam = pliant.Beam(length=1.5, material="aluminium", section=section)
link = pliant.Link(name="arm", beam=beam, shapes=pliant.Shapes(bending_y=6))
model = pliant.Robot(name="loaded tube", gravity=(0, 0, 0), links=[link]).model()

load = Wrench(force=(0.0, -40.0, 0.0))
q = model.equilibrium([0.0], loads=[load])
sag = -model.tip_pose(q)[1, 3]
properties = pliant.robot.beam_properties(beam)
theory = 40.0 * 1.5**3 / (3 * properties.EI_z)
torque = model.holding_torque(q, loads=[load])[0]
print(f"tip sag {1e3 * sag:.4f} mm, P L^3 / 3 EI {1e3 * theory:.4f} mm")
print(f"torque that holds it {torque:.4f} N m, P L {40 * 1.5:.4f} N m")
assert abs(sag - theory) < 1e-3 * theory  # six modes; the rest of the series is beta^-4
assert abs(torque - 40.0 * model.tip_pose(q)[0, 3]) < 1e-6  # the bent arm is a little shorter


def picture(ax):
    x = np.linspace(0, 1.5, 30)
    v = -40.0 * x**2 * (3 * 1.5 - x) / (6 * properties.EI_z)
    shape = model.link_shapes[0].integrals.fields[0].shapes.evaluate(x / 1.5) @ q[1:]
    ax.plot(x, 1e3 * shape, label="six modes")
    ax.plot(x, 1e3 * v, "k:", label="P x² (3 L - x) / 6 EI")
    ax.set(xlabel="x, m", ylabel="deflection, mm", title="A tube under 40 N at its tip")
    ax.legend()
