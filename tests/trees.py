"""Seeded random trees for tests: branches on tips, roots and stations, joints of every type."""

from __future__ import annotations

import numpy as np

from arms import random_robot
from pliant.mechanics.links.chain import Chain
from pliant.robot import BaseBody, BeamStation, Drive, Friction, Joint, JointAxis, Link, Lump, Robot
from pliant.robot.parts.bodies.rigid_body import Payload

COUNTS = {"universal": 2, "cylindrical": 2, "planar": 3}


def random_tree(
    seed: int,
    links: int | None = None,
    *,
    several: bool = True,
    drives: bool = True,
    flying: bool = False,
    **options: bool,
) -> Robot:
    """A robot whose links hang somewhere on any one before; `several`: with joints that have several axes; `flying`:
    with spherical and free joints, and mostly on a free base."""
    rng = np.random.default_rng((seed, 77))
    count = links or int(rng.integers(2, 6))
    chain = random_robot(seed, count, drives=drives, **options)
    made: list[Link] = []
    for k, link in enumerate(chain.links):
        changes: dict[str, object] = {}
        if k:
            parent = chain.links[int(rng.integers(0, k))] if rng.random() < 0.7 else chain.links[k - 1]
            onto = None if rng.random() < 0.15 else parent
            changes["parent"] = "base" if onto is None else onto.name
            if onto is not None and not (onto.beam is not None and onto.beam.slides):
                places = ["tip", "root"]
                if onto.beam is not None:
                    places += [BeamStation(x=float(rng.uniform(0.05, 1.0)) * onto.beam.length)] * 2
                changes["at"] = places[int(rng.integers(len(places)))]
        if several and link.joint.moves and rng.random() < 0.4:
            changes["joint"] = several_axes(rng, link.joint, drives)
        if flying and rng.random() < 0.4:
            kind = ("spherical", "free")[int(rng.integers(2))]
            changes["joint"] = Joint(type=kind, origin=link.joint.origin, hub=link.joint.hub)
        made.append(link.model_copy(update=changes))
    base = BaseBody()
    if flying and rng.random() < 0.7:
        base = BaseBody(type="free", mass=3.0, com=(0.1, -0.2, 0.05), inertia=(0.5, 0.6, 0.7))
    last = made[int(rng.integers(len(made)))].name
    loads = [chain.payload, Payload(link=last, mass=0.3, com=(0.05, -0.02, 0.01), inertia=(0.001, 0.002, 0.0015))]
    return Robot(name=f"tree-{seed}", gravity=chain.gravity, links=made, payload=loads, base=base)


def tree_state(chain: Chain, seed: int, deflection: float = 0.02) -> tuple[np.ndarray, np.ndarray]:
    """Coordinates and speeds of order one, of amplitudes by `deflection`; motors near their joints."""
    rng = np.random.default_rng(seed)
    q, speeds = rng.normal(size=chain.n_q), rng.normal(size=chain.n)
    for link in chain.links:
        q[list(link.body_places)] *= deflection
        speeds[list(link.body_indices)] *= 20 * deflection
        if link.joint.is_ball:
            turn = list(link.joint_places[-4:])
            q[turn] /= np.linalg.norm(q[turn])
    motors = [shaft.drive.place for shaft in chain.driven if shaft.drive is not None]
    q[motors] = chain.followed(q.copy())[motors] + deflection * q[motors]
    return q, speeds


def several_axes(rng: np.random.Generator, joint: Joint, drives: bool) -> Joint:
    """The joint with several axes in place of one."""
    kind = list(COUNTS)[int(rng.integers(3))]
    axes = []
    for k in range(COUNTS[kind]):
        drive = Drive(stiffness=180.0 + 90 * k, rotor_inertia=0.013, gear_ratio=4.0, damping=0.2)
        axes.append(
            JointAxis(
                axis=tuple(rng.normal(size=3)) if kind == "universal" else None,
                drive=drive if drives and rng.random() < 0.4 else None,
                friction=Friction(viscous=float(rng.uniform(0, 0.4))),
            )
        )
    hub = Lump(mass=0.4, com=(0.01, 0.03, -0.02), inertia=(0.02, 0.025, 0.03))
    own = {"axis": joint.axis} if kind == "cylindrical" else {}
    return Joint(type=kind, axes=axes, origin=joint.origin, hub=hub, **own)
