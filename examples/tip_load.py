"""One clamped-mass mode beats one clamped-free mode when the arm carries a load."""

import numpy as np

import pliant
from pliant.mechanics.shapes import clamped_mass_roots

L, mu, EI, payload = 1.0, 0.6, 40.0, 1.5
beam = pliant.Beam(length=L, mass_per_length=mu, EI_y=EI, EI_z=EI)
beta = clamped_mass_roots(1, payload / (mu * L))[0]
theory = beta**2 * np.sqrt(EI / (mu * L**4)) / (2 * np.pi)

errors = {}
for boundary in ("clamped-free", "clamped-mass"):
    more = {"tip_load": "auto"} if boundary == "clamped-mass" else {}
    link = pliant.Link(name="arm", beam=beam, shapes=pliant.Shapes(boundary=boundary, bending_y=1, **more))
    robot = pliant.Robot(name="loaded", gravity=(0, 0, 0), links=[link], payload=pliant.robot.Lump(mass=payload))
    first = robot.model().frequencies()[0]
    errors[boundary] = first / theory - 1
    print(f"one {boundary} mode: {first:.5f} Hz, theory {theory:.5f} Hz, {100 * errors[boundary]:+.4f} %")

assert abs(errors["clamped-mass"]) < 1e-10  # its shape is the exact mode
assert errors["clamped-free"] > 1e-3


def picture(ax):
    ax.bar(list(errors), [100 * error for error in errors.values()])
    ax.set(ylabel="error of the first frequency, %", title="One mode under a heavy load")
