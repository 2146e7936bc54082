"""What does it carry? A moving horizon weighs the payload during one swing.

The arm believes that it carries 0.5 kg and holds 0.9 kg. It has encoders, a strain gauge on each link, and a camera
that sees the tip 25 times a second and says so 20 ms late. Every 4 ms the horizon fits states and payload to the last
readings.
"""

import numpy as np

import pliant
from pliant.control import Encoder, MovingHorizon, StrainGauge, TipPosition

period, seconds, true = 4e-3, 1.0, 0.9
robot = pliant.load("two-link").replace({f"links.{name}.shapes.bending_y": 2 for name in ("upper", "fore")})
model = robot.replace({"payload.mass": 0.5}).model(parameters=["payload.mass"], shapes="nominal")
sensors = [
    *(Encoder(joint, noise=2e-4) for joint in model.joints),
    *(StrainGauge(link, x=0.05, noise=3e-4) for link in ("upper", "fore")),
    TipPosition((0, 1), noise=1e-3, sample_time=0.04, delay=0.02, name="camera"),
]

rest = model.equilibrium([-1.2, 0.4])
times = np.arange(0.0, seconds, period)
torque = model.holding_torque(rest) + np.column_stack([20 * np.sin(6 * times), 6 * np.sin(9 * times + 0.5)])
carried = robot.replace({"payload.mass": true}).model()
run = pliant.simulate(carried, times[-1], carried.equilibrium([-1.2, 0.4]), torque=(times, torque, "hold"),
                      sensors=sensors, output_step=period)  # fmt: skip

horizon = MovingHorizon(model, sensors, period, process=0.5, unknown={"payload.mass": 0.4}, window=8)
found = horizon.over(horizon.readings(run.measured), torque, horizon.start(rest, spread=0.05))
mass, spread = found.numbers[:, 0], found.spread()[:, -1]
print(f"payload {mass[-1]:.3f} kg, believed to {spread[-1]:.3f} kg; it is {true} kg")
assert abs(mass[-1] - true) < 0.02 * true


def picture(ax):
    ax.fill_between(times, mass - 2 * spread, mass + 2 * spread, alpha=0.2, linewidth=0)
    ax.plot(times, mass, label="believed, with two deviations")
    ax.axhline(true, color="black", linestyle=":", label="carried")
    ax.set(xlabel="t, s", ylabel="payload, kg", ylim=(0, 1.6), title="Weighed in one swing")
    ax.legend()
