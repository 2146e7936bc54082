"""A flexible link slides out of its hub: the longer it stands out, the lower its frequency."""

import numpy as np

import pliant

robot = pliant.load("rrp")
model = robot.model()

found = {}
for length in (0.4, 0.8, 1.2):
    q = model.equilibrium([0.0, 0.0, length])
    found[length] = model.frequencies(q, joints="locked")[0]
    print(f"free length {length:.1f} m: first frequency {found[length]:.3f} Hz")

values = list(found.values())
assert np.all(np.diff(values) < 0)
