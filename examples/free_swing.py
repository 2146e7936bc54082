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


def picture(ax):
    ax.plot(result.tip[:, 0], result.tip[:, 1], linewidth=0.8)
    for k in range(0, 700, 50):
        elbow, tip = (result.pose(frame)[k, :2, 3] for frame in ("fore.root", "fore.tip"))
        ax.plot([0, elbow[0], tip[0]], [0, elbow[1], tip[1]], color="0.75", linewidth=0.8, zorder=0)
    ax.set(xlabel="x, m", ylabel="y, m", title="Path of the tip", aspect="equal")
