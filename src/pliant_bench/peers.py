"""Task of a peer and its answer: a planar arm of uniform beams, and a run.

Every peer reads the same `PlanarArm`, taken from a `Robot`, so that nothing is typed twice. Angles are those of pliant:
the root tangent of a link against the tip tangent of the link before. Deflections are the offset of a tip along y of
its link's root frame.
"""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pliant.arrays import Array
from pliant.errors import ModelError, install
from pliant.model.robot import Robot
from pliant.robot.mass_sum import payload_mass
from pliant.robot.parts.beam import beam_properties
from pliant.robot.parts.bodies.rigid_body import Lump


@dataclass(frozen=True)
class PeerRun:
    """Histories of one run of a peer, and the time that it took."""

    peer: str
    t: Array  # (T,)
    angles: Array  # (T, links), rad
    deflections: Array  # (T, links), m
    wall_simulation: float  # s, the time stepping alone
    wall_setup: float  # s, from nothing to the first step; imports not counted
    settings: dict[str, Any] = field(default_factory=dict)

    def against(self, other: PeerRun) -> tuple[float, float]:
        """Largest differences of angles (rad) and deflections (m) at common instants."""
        grid = other.t
        mine = [np.column_stack([_sampled(self.t, h, grid) for h in y.T]) for y in (self.angles, self.deflections)]
        return float(np.abs(mine[0] - other.angles).max()), float(np.abs(mine[1] - other.deflections).max())


def _sampled(t: Array, y: Array, grid: Array) -> Array:
    if len(t) == len(grid) and np.allclose(t, grid, rtol=0.0, atol=1e-9):
        return y
    from scipy.interpolate import CubicSpline

    return np.asarray(CubicSpline(t, y)(grid))


@dataclass(frozen=True)
class PlanarLink:
    """A uniform beam in the plane, a hub that turns with its root and a lump that turns with its tip."""

    length: float
    mass_per_length: float
    EI: float
    EA: float | None
    hub_inertia: float  # about the joint
    tip_mass: float  # and the hub of the next link
    tip_inertia: float  # about the tip


@dataclass(frozen=True)
class PlanarArm:
    """Beams in the xy plane, joined by revolute joints about z."""

    links: tuple[PlanarLink, ...]
    gravity: tuple[float, float]

    @classmethod
    def of(cls, robot: Robot) -> PlanarArm:
        """The planar arm that a robot is; `ModelError` if it is none."""
        links = []
        for k, link in enumerate(robot.links):
            joint, beam = link.joint, None if link.beam is None else beam_properties(link.beam)
            plain = joint.type == "revolute" and joint.drive is None and np.allclose(joint.axis, (0, 0, 1))
            if beam is None or not plain or np.any(joint.origin.xyz) or np.any(joint.origin.rpy):
                raise ModelError(
                    f"links.{link.name}: not a beam on a plain revolute joint about z at the tip of the link before; "
                    "the planar peers know nothing else"
                )
            outer = robot.links[k + 1].joint.hub.mass if k < len(robot.links) - 1 else payload_mass(robot)
            lumps = [link.tip, *robot.payloads] if k == len(robot.links) - 1 else [link.tip]
            links.append(
                PlanarLink(
                    beam.length, beam.mass_per_length, beam.EI_z, beam.EA or None, _about_z(joint.hub),
                    link.tip.mass + outer, sum(_about_z(lump) for lump in lumps),
                )
            )  # fmt: skip
        return cls(tuple(links), (robot.gravity[0], robot.gravity[1]))


def _about_z(lump: Lump) -> float:
    if np.any(lump.com):
        raise ModelError("a lump off its frame: the planar peers take hubs, tips and payloads without `com`")
    return float(np.asarray(lump.inertia, dtype=float)[2])


def absent(*modules: str) -> str | None:
    """Libraries of a peer that are not installed, as a message; None if all are."""
    missing = [name for name in modules if importlib.util.find_spec(name) is None]
    return f"{', '.join(missing)} not installed; {install('bench')}" if missing else None
