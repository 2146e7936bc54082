"""A flexible link slides out of its hub: the longer it stands out, the lower its frequency."""

import numpy as np

import pliant

robot = pliant.load("rrp")
model = robot.model()

found = {}
for length in (0.6, 0.9, 1.2):
    q = model.equilibrium([0.0, 0.0, length])
    found[length] = model.frequencies(q, joints="locked")[0]
    print(f"free length {length:.1f} m: first frequency {found[length]:.3f} Hz")

values = list(found.values())
assert np.all(np.diff(values) < 0)


def picture(ax):
    lengths = np.linspace(0.6, 1.25, 30)
    first = [model.frequencies(model.equilibrium([0.0, 0.0, length]), joints="locked")[0] for length in lengths]
    ax.plot(lengths, first)
    ax.plot(list(found), values, "o")
    ax.set(xlabel="free length, m", ylabel="first frequency, Hz", title="A link that slides out")
