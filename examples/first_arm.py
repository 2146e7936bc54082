"""Describe a one-link arm in Python; its first frequency is that of a clamped-free beam."""

import numpy as np

import pliant

beam = pliant.Beam(length=1.0, mass_per_length=0.5, EI_y=20.0, EI_z=20.0)
link = pliant.Link(name="arm", beam=beam, shapes=pliant.Shapes(bending_y=3))
robot = pliant.Robot(name="one flexible link", gravity=(0, 0, 0), links=[link])
model = robot.model()

first = model.frequencies()[0]
theory = 1.8751040687**2 * np.sqrt(20.0 / 0.5) / (2 * np.pi)  # beta_1^2 sqrt(EI / mu L^4)

print(f"coordinates: {', '.join(model.coordinates)}")
print(f"first frequency with the joint locked: {first:.4f} Hz, theory {theory:.4f} Hz")
assert abs(first - theory) < 1e-8 * theory  # the shapes are the exact modes; ten digits of beta_1 were typed


def picture(ax):
    eta = np.linspace(0, 1, 100)
    ax.plot(eta, model.link_shapes[0].integrals.fields[0].shapes.evaluate(eta), label=["first", "second", "third"])
    ax.set(xlabel="x / L", ylabel="shape", ylim=(-1.7, 3.4), title="How the link may bend")
    ax.legend()
