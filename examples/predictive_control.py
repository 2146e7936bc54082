"""Predictive control of three flexible links whose strain is bounded: as fast as the links allow, and no faster."""

import numpy as np

import pliant
from pliant.control import MPC, StrainBound
from pliant.robot import Beam, Joint, Link, Lump, Robot, Shapes

LENGTHS, STIFFNESS = (0.5, 0.4, 0.3), (60.0, 30.0, 12.0)
links = [
    Link(
        name=name,
        joint=Joint(hub=Lump(mass=0.3, inertia=(0.0, 0.0, 2e-3))),
        beam=Beam(length=length, mass_per_length=0.6, EI_y=EI, EI_z=EI),
        shapes=Shapes(bending_y=1, damping=0.01),
    )
    for name, length, EI in zip(("upper", "fore", "hand"), LENGTHS, STIFFNESS)
]
model = Robot(name="three flexible links", gravity=(0, 0, 0), links=links).model(stiffening="off")
start, goal = [0.0, 0.0, 0.0], [0.9, -0.6, 0.5]
period = 1 / model.frequencies(model.equilibrium(start))[0]

LIMIT, AT = 1.0e-4, (2e-3, 0.0)  # strain of the fibre 2 mm beside the axis, at the root of each link
strains = [StrainBound(link.name, 0.0, AT, LIMIT) for link in links]
weights = {"Q": {"joints": 100.0, "rates": 0.3}, "R": 1e-3, "torque": [8.0, 5.0, 2.0], "stages": 5, "steps": 4}
free = MPC(model, horizon=1.2 * period, intervals=20, reference=goal, **weights)
careful = MPC(model, horizon=1.2 * period, intervals=20, reference=goal, strains=strains, **weights)


def move(mpc):
    """A run of the arm, and the largest strain at the nodes, of what is allowed."""
    steps = round(1.5 / mpc.interval)
    run = pliant.simulate(
        model, steps * mpc.interval, q0=model.equilibrium(start), controller=mpc, output_step=mpc.interval
    )
    root = [abs(float(shape)) for shape in curvatures()]
    bent = AT[0] * np.abs(run.q[:, 3:]) * root / LIMIT
    return run, bent


def curvatures():
    """Curvature at the root of each link per metre of its amplitude."""
    from pliant.mechanics.links.stations import shape_curvature

    return [shape_curvature(link, 1.0 * np.ones(1), 0.0)[2] for link in model.chain.links]


fast, careless = move(free)
kept, within = move(careful)
missed = np.abs(kept.q[-1, :3] - goal).max()
print(f"strain of what is allowed: {careless.max():.2f} without the bounds, {within.max():.4f} with them")
print(f"{missed:.1e} rad from the goal after {kept.t[-1]:.2f} s")
assert careless.max() > 1.3
assert within.max() < 1.001
assert missed < 0.05


def picture(ax):
    ax.plot(fast.t, careless.max(axis=1), label="without bounds")
    ax.plot(kept.t, within.max(axis=1), label="bounded")
    ax.axhline(1.0, color="0.6", linewidth=1)
    ax.set(xlabel="time, s", ylabel="largest strain of its limit", title="As fast as the links allow")
    ax.legend()
