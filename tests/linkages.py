"""Linkages for tests: loops whose motion has a closed form, and seeded random ones."""

from __future__ import annotations

from typing import Any

import numpy as np

from pliant.mechanics.constraints.loop_constraints import ROWS
from pliant.robot import Friction, Joint, Link, Loop, LoopJoint, Origin, RigidBody, Robot
from pliant.robot.parts.frames import Frame

FOUR_BAR = {"ground": 0.5, "crank": 0.15, "coupler": 0.45, "rocker": 0.35}
SLIDER_CRANK = {"crank": 0.2, "rod": 0.6, "offset": 0.05}
DOWN = (0.0, -9.81, 0.0)


def bar(name: str, length: float, joint: Joint | None = None, **options: Any) -> Link:
    """A uniform rigid rod along x."""
    mass = 4.0 * length
    inertia = (1e-3 * mass, mass * length**2 / 12, mass * length**2 / 12)
    body = RigidBody(mass=mass, com=(length / 2, 0, 0), inertia=inertia, tip=(length, 0, 0))
    return Link(name=name, joint=joint or Joint(), rigid=body, **options)


def passive(**options: Any) -> Joint:
    return Joint(actuated=False, **options)


def four_bar(**options: Any) -> Robot:
    """Crank and coupler from one pivot, rocker from the other; a pin between coupler and rocker."""
    a = FOUR_BAR
    links = [
        bar("crank", a["crank"]),
        bar("coupler", a["coupler"], passive()),
        bar("rocker", a["rocker"], passive(origin=Origin(xyz=(a["ground"], 0, 0))), parent="base"),
    ]
    given = {"name": "four-bar", "links": links, "gravity": DOWN,
             "loops": [Loop(name="pin", between=("coupler.tip", "rocker.tip"))]}  # fmt: skip
    return Robot(**(given | options))


def four_bar_angles(crank: float) -> tuple[float, float]:
    """Angles of coupler (from the crank) and rocker of the open four-bar."""
    a = FOUR_BAR
    end = a["crank"] * np.exp(1j * crank)
    across = a["ground"] - end
    d = abs(across)
    inner = np.arccos((a["coupler"] ** 2 + d**2 - a["rocker"] ** 2) / (2 * a["coupler"] * d))
    coupler = np.angle(across) + inner
    joint = end + a["coupler"] * np.exp(1j * coupler)
    return float(coupler - crank), float(np.angle(joint - a["ground"]))


def slider_crank(**options: Any) -> Robot:
    """A crank, a rod, and the end of the rod on a straight guide: the piston slides along x and turns on the rod."""
    a = SLIDER_CRANK
    piston = RigidBody(mass=1.2, inertia=(1e-3, 1e-3, 1e-3), tip=(0, 0, 0))
    links = [
        bar("crank", a["crank"]),
        bar("rod", a["rod"], passive()),
        Link(name="piston", joint=passive(), rigid=piston),
    ]
    rail = Frame(name="rail", link="base", origin=Origin(xyz=(0, a["offset"], 0)))
    guide = Loop(name="guide", between=("rail", "piston.tip"), joint=LoopJoint(type="prismatic", axis=(1, 0, 0)))
    given = {"name": "slider-crank", "links": links, "gravity": DOWN, "frames": [rail], "loops": [guide]}
    return Robot(**(given | options))


def slider_crank_state(crank: float) -> tuple[float, float, float]:
    """Angles of the rod (from the crank) and of the piston (from the rod), and place of the piston."""
    a = SLIDER_CRANK
    rod = np.arcsin((a["offset"] - a["crank"] * np.sin(crank)) / a["rod"])
    return rod - crank, -rod, a["crank"] * np.cos(crank) + a["rod"] * np.cos(rod)


def rubbing(joint: Joint, viscous: float) -> Joint:
    return joint.model_copy(update={"friction": Friction(viscous=viscous)})


def random_linkage(seed: int) -> tuple[Robot, np.ndarray]:
    """A random tree of rigid and bending links with one or two loops, and coordinates that close them: of those
    that are drawn, the first whose joints have more freedoms than its loops have rows."""
    for attempt in range(100):
        robot, q = _drawn(seed, attempt)
        freedoms = sum(len(body.joint.speeds(body.name)) for body in robot.bodies)
        if freedoms > sum(len(ROWS[loop.joint.type]) for loop in robot.loops):
            return robot, q
    raise AssertionError("no linkage was drawn")


def _drawn(seed: int, attempt: int) -> tuple[Robot, np.ndarray]:
    from trees import random_tree, tree_state

    rng = np.random.default_rng((seed, 29) if not attempt else (seed, 29, attempt))
    tree = random_tree(
        seed + 1000 * attempt,
        3 + seed % 2,
        flying=bool(rng.integers(2)),
        drives=seed % 3 == 0,
        elements=False,
        bending_only=True,
    )
    model = tree.model(stiffening="off")
    q = tree_state(model.chain, seed)[0]
    q[model.layout.quaternions] = 1.0
    q = np.asarray(model.state(q))
    frames: list[Frame] = []
    loops: list[Loop] = []
    kinds = ("revolute", "spherical", "universal", "prismatic", "fixed", "distance")
    for number in range(1 + seed % 2):
        kind = kinds[int(rng.integers(len(kinds)))] if number == 0 else ("spherical", "distance")[int(rng.integers(2))]
        chosen = rng.choice(len(tree.links), 2, replace=False)
        ends = [tree.links[int(k)].name for k in chosen]
        if rng.random() < 0.3 and not tree.base.is_free:
            ends[1] = "base"
        poses = [np.eye(4) if end == "base" else model.pose(q, frame=f"{end}.tip") for end in ends]
        meeting = rng.normal(size=3) * 0.3
        if kind == "distance":
            frames += [Frame(name=f"f{number}{k}", link=end) for k, end in enumerate(ends)]
            joint = LoopJoint(type=kind, length=float(np.linalg.norm(poses[1][:3, 3] - poses[0][:3, 3])))
        else:
            for k, (end, pose) in enumerate(zip(ends, poses)):
                xyz = pose[:3, :3].T @ (meeting - pose[:3, 3])
                frames.append(Frame(name=f"f{number}{k}", link=end, origin=Origin(xyz=xyz, rpy=rpy(pose[:3, :3].T))))
            joint = LoopJoint(type=kind)
        loops.append(Loop(name=f"loop{number}", between=(f"f{number}0", f"f{number}1"), joint=joint))
    return tree.model_copy(update={"frames": tuple(frames), "loops": tuple(loops), "name": f"linkage-{seed}"}), q


def rpy(R: np.ndarray) -> tuple[float, float, float]:
    """Roll, pitch and yaw of a rotation, Rz Ry Rx."""
    pitch = np.arcsin(np.clip(-R[2, 0], -1, 1))
    return float(np.arctan2(R[2, 1], R[2, 2])), float(pitch), float(np.arctan2(R[1, 0], R[0, 0]))
