"""Linkages for tests: loops whose motion has a closed form, and seeded random ones."""

from __future__ import annotations

from typing import Any

import numpy as np

from pliant.robot import Friction, Joint, Link, Loop, LoopJoint, Origin, RigidBody, Robot
from pliant.robot.named_frames import Frame

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
