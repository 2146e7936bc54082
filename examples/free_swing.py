"""Let the two-link elastic arm fall from the horizontal; without torques and damping its energy stays."""

import numpy as np

import pliant

model = pliant.load("two-link").model()
result = pliant.simulate(model, t_end=3.0)

total = result.energy.total
drift = np.abs(total - total[0]).max()
bent = 1e3 * np.abs(result.deflection("fore")).max()
print(f"{result.stats.steps} steps of {result.stats.method} in {result.stats.wall:.3f} s")
print(f"largest deflection of the fore link {bent:.3f} mm")
print(f"energy kept within {drift:.1e} J of {result.energy.kinetic.max():.1f} J that move")
assert drift < 1e-5  # rtol 1e-8 per step on some 100 J, over a few thousand steps
