"""Arms, motion and algorithms of [MS07]."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from pliant.control.trajectories.trajectories import MohanSaha
from pliant.mechanics.formulations.registry import FORMULATIONS
from pliant.model.robot import Robot, load
from pliant.robot.parts.link import Link

RECURSIVE = FORMULATIONS["denoc"]
ALGORITHMS = {"recursive": RECURSIVE, "non-recursive": replace(RECURSIVE, name="denoc by matrix", forward=None)}
"""Formulations by the name of the algorithm: O(n) by U D U^T, or the matrix of (28), (29) formed and solved by L D L^T;
both take phi by the same recursion."""
HUBS = ("about z", "isotropic")
LEFT = 0.01
"""Distance (rad) at which a joint has left the desired motion."""


def desired() -> MohanSaha:
    """Desired motion (38)."""
    return MohanSaha(6, 10.0)


def puma(hub: str) -> Robot:
    """PUMA with hubs that have inertia about the axis of their joint only, or about every axis."""
    robot = load("puma")
    if hub == "isotropic":
        for link in robot.links:
            inertia = link.joint.hub.inertia[2]
            robot = robot.replace({f"links.{link.name}.joint.hub.inertia": (inertia, inertia, inertia)})
    return robot


def rods(n: int) -> Robot:
    """Arm of `n` bent rods with random lengths and twists."""
    rng = np.random.default_rng(3)
    links = [
        Link.bent_rod(f"link{k}", 3.0, float(rng.uniform(0.2, 0.5)), float(rng.uniform(0.1, 0.4)),
                      float(rng.uniform(0.4, 1.2)), hub_inertia=0.05)
        for k in range(n)
    ]  # fmt: skip
    return Robot(name=f"{n} bent rods", links=links)
