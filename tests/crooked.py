"""An arm that is asymmetric in everything, and made-up runs of it in which no two columns are alike.

Lengths differ from 1, sections are not square, EI_y is not EI_z, joints turn and slide, stand off their axes and have
gears. A run is not integrated: figures must show its numbers, whatever they are.
"""

from __future__ import annotations

from dataclasses import asdict

import numpy as np

from pliant.robot import Beam, Drive, Joint, Link, Lump, Origin, RigidBody, Robot, Section, Shapes
from pliant.simulation.runs.results import Readings, Result, RunStats

WIDTH, HEIGHT = 0.045, 0.018
"""Of the section of the upper link, along y and z."""


def crooked_robot(links: int = 5) -> Robot:
    """The first links of: base (turns), rail (slides), upper and fore (turn, bend), tool (slides)."""
    made = (
        Link(
            name="base",
            joint=Joint(drive=Drive(stiffness=900.0, rotor_inertia=2e-4, gear_ratio=60.0, damping=0.4)),
            rigid=RigidBody(mass=3.0, com=(0.02, 0.01, 0.1), inertia=(0.03, 0.02, 0.01), tip=(0.05, -0.02, 0.21)),
        ),
        Link(
            name="rail",
            joint=Joint(
                type="prismatic", axis=(0.0, 1.0, 0.0), origin=Origin(xyz=(0.0, 0.03, 0.04), rpy=(0.2, -0.1, 0.4)),
                drive=Drive(stiffness=4e4, rotor_inertia=1e-3, gear_ratio=25.0, damping=3.0),
            ),
            rigid=RigidBody(mass=1.5, com=(0.03, 0.0, 0.01), inertia=(0.01, 0.02, 0.03), tip=(0.11, 0.02, -0.03)),
        ),
        Link(
            name="upper",
            joint=Joint(axis=(0.0, 1.0, 0.0), origin=Origin(xyz=(0.01, 0.0, 0.05), rpy=(0.0, 0.3, 0.0))),
            beam=Beam(
                length=0.73, material="aluminium", section=Section(shape="rectangle", width=WIDTH, height=HEIGHT)
            ),
            shapes=Shapes(bending_y=2, bending_z=3, torsion=1),
            tip=Lump(mass=0.3, com=(0.01, 0.02, 0.0), inertia=(1e-3, 2e-3, 3e-3)),
        ),
        Link(
            name="fore",
            joint=Joint(
                axis=(0.0, 1.0, 0.0), origin=Origin(rpy=(0.1, 0.0, 0.0)),
                drive=Drive(stiffness=500.0, rotor_inertia=1e-4, gear_ratio=40.0, damping=0.2),
            ),
            beam=Beam(
                length=0.46, material="steel",
                section=Section(shape="box", width=0.016, height=0.027, thickness=0.001),
            ),
            shapes=Shapes(bending_y=2, bending_z=1),
        ),
        Link(
            name="tool",
            joint=Joint(type="prismatic", axis=(1.0, 0.0, 0.0)),
            rigid=RigidBody(mass=0.4, com=(0.02, 0.0, 0.0), inertia=(1e-3, 1e-3, 2e-3), tip=(0.06, 0.0, 0.01)),
        ),
    )  # fmt: skip
    return Robot(
        name="crooked", gravity=(1.5, -2.5, -9.0), links=made[:links], payload=Lump(mass=0.25, com=(0.01, 0.0, 0.02))
    )


def made_up_run(links: int = 5, rows: int = 150) -> Result:
    """Sums of sines that differ from coordinate to coordinate, at uneven times that do not begin at zero."""
    robot = crooked_robot(links)
    model = robot.model()
    rng = np.random.default_rng(links)
    t = 0.25 + np.cumsum(rng.uniform(1.5e-3, 2.5e-3, rows))
    phase, rate = rng.uniform(0, 6, (3, model.n)), rng.uniform(5, 60, model.n)
    size = np.where(np.arange(model.n) < model.n_joints, 0.4, 0.003)
    q = size * np.sin(rate * t[:, None] + phase[0])
    for name in model.joints:
        if f"{name}.motor" in model.coordinates:
            q[:, model.index(f"{name}.motor")] += q[:, model.index(name)]
    qd = size * rate * np.cos(rate * t[:, None] + phase[0])
    tau = 20 * np.sin(3 * t[:, None] + phase[1, : model.n_joints]) + 7 * np.arange(model.n_joints)
    stats = RunStats("event", "tip stopped", "rodas5p", "stiff", 321, 12, 4567, 89, 45, 0.678, False, ((0.4, "stop"),))
    run = Result(
        t, q, qd, 3 * np.cos(9 * t), robot, asdict(model.options), np.array([]), stats,
        Readings.of(tau, np.zeros(rows), np.zeros_like(q)), {},
    )  # fmt: skip
    run.__dict__["model"] = model
    return run
