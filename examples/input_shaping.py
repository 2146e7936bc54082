"""Turn a flexible arm by 30 degrees: a shaped command leaves little of the vibration."""

import numpy as np

import pliant
from pliant.control import Quintic, Shaped, shaper_for

beam = pliant.Beam(length=1.2, mass_per_length=0.4, EI_y=900.0, EI_z=900.0)
link = pliant.Link(name="arm", beam=beam, shapes=pliant.Shapes(bending_y=2))
model = pliant.Robot(name="arm", gravity=(0, 0, 0), links=[link], payload=pliant.robot.Lump(mass=0.3)).model()

plain = Quintic([0.0], [np.pi / 6], duration=0.25)
shaped = Shaped(plain, shaper_for(model, [0.0], "zv"))

rest, runs = {}, {}
for name, motion in {"plain": plain, "shaped": shaped}.items():
    result = runs[name] = pliant.simulate(model, 3.0, motion={"arm": motion[0]})
    rest[name] = 1e3 * np.abs(result.deflection("arm")[result.t > 1.5, 1]).max()
    print(f"{name:7s}: the tip still swings by {rest[name]:.3f} mm after 1.5 s")

assert rest["shaped"] < 0.05 * rest["plain"]  # what is left is the second mode, and that the arm is not linear


def picture(ax):
    for name, run in runs.items():
        ax.plot(run.t, 1e3 * run.deflection("arm")[:, 1], label=name)
    ax.set(
        xlabel="t, s", ylabel="deflection of the tip, mm", xlim=(0, 1.5), ylim=(-30, 50), title="The same move, shaped"
    )
    ax.legend()
