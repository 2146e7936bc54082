"""A serial chain of links, each a joint (a rigid transform with one coordinate) and a body (a map of its own
coordinates).

Coordinates stand in the order joints, motors, then each link's amplitudes. Formulations walk over `chain.links` and
read joint and body; nobody but `build_chain` knows the robot file. What is not inertia — springs, dampers, friction,
drives — is the same for every formulation and lives in `forces.py`.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field, replace
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from pliant.algebra.rotations import SX, Identity, Rotation, about, compose
from pliant.dynamics.bodies import Body, Moments, is_zero
from pliant.dynamics.bristles import NO_FRICTION, Bristle
from pliant.errors import ModelError
from pliant.options import JointType, RotationName


@dataclass(frozen=True)
class JointMap:
    """Frame of a link from the tip frame of its predecessor: fixed `origin`, then motion by `q` about or along
    `axis`."""

    kind: JointType
    axis: tuple[float, float, float]
    origin_rotation: Rotation
    origin: SX

    @property
    def a(self) -> SX:
        """Unit axis, the same before and after the motion."""
        return ca.SX(ca.DM(self.axis))

    @property
    def turns(self) -> bool:
        """Whether the coordinate is an angle."""
        return self.kind == "revolute"

    def turn(self, q: SX) -> Rotation:
        """Rotation by the coordinate alone."""
        return about(self.axis, q) if self.turns else Identity()

    def rotation(self, q: SX) -> Rotation:
        """R from the link frame to the predecessor's tip frame."""
        return compose(self.origin_rotation, self.turn(q))

    def position(self, q: SX) -> SX:
        """Origin of the link frame in the predecessor's tip frame."""
        slide = self.origin_rotation.apply(self.a) * q if self.kind == "prismatic" else ca.SX.zeros(3)
        return self.origin + slide

    def screw(self) -> tuple[SX, SX]:
        """Angular and linear velocity of the link frame per unit rate, in link axes."""
        zero = ca.SX.zeros(3)
        return (self.a, zero) if self.turns else (zero, self.a if self.kind == "prismatic" else zero)


@dataclass(frozen=True)
class DriveMap:
    """Elastic drive: motor coordinate, reflected rotor inertia J_r N^2, spring and damper to the joint."""

    index: int
    rotor: SX
    stiffness: SX
    damping: SX


@dataclass(frozen=True)
class ChainLink:
    """One link: `joint_index` is None for a fixed joint, and for a sliding beam whose length is a coordinate of the
    body.

    `hub` is fixed to the link frame, `load` to the distal frame. `rotor` is the reflected rotor inertia of a stiff
    drive. `coulomb` is the friction of a run; where it has no deflection, and for all who know no state of bristles, it
    is smooth.
    """

    name: str
    joint: JointMap
    body: Body
    hub: Moments | None
    load: Moments | None
    joint_index: int | None
    body_indices: tuple[int, ...]
    actuated: int | None
    rotor: SX = 0.0
    viscous: SX = 0.0
    coulomb: Bristle = NO_FRICTION
    drive: DriveMap | None = None

    @property
    def shaft(self) -> int | None:
        """Index of the coordinate that the joint, or the sliding of the beam, moves by; None for a fixed joint."""
        return self.body_indices[0] if self.slides else self.joint_index

    @property
    def bristled(self) -> bool:
        """Whether its friction has a state in a run."""
        return self.actuated is not None and not any(is_zero(x) for x in (self.coulomb.level, self.coulomb.deflection))

    @property
    def flexible(self) -> bool:
        """Whether the body has coordinates of its own."""
        return bool(self.body_indices)

    @property
    def slides(self) -> bool:
        """Whether the joint and the beam are one: the first coordinate of the body is the free length."""
        return self.body.travel is not None

    def straight(self, c: SX) -> SX:
        """Body coordinates of the undeformed link: a sliding beam keeps its free length."""
        rest = ca.SX.zeros(c.shape)
        if self.slides:
            rest[0] = c[0]
        return rest


def _still() -> SX:
    return ca.SX.zeros(3)


@dataclass(frozen=True)
class BaseMotion:
    """Motion of the base, in its own axes: angular velocity and acceleration, and acceleration of its origin."""

    omega: SX = field(default_factory=_still)
    alpha: SX = field(default_factory=_still)
    a: SX = field(default_factory=_still)

    @property
    def at_rest(self) -> bool:
        """Whether the base stands still."""
        return all(x.is_zero() for x in (self.omega, self.alpha, self.a))


@dataclass(frozen=True)
class Chain:
    """The arm as maps: what every formulation receives."""

    links: tuple[ChainLink, ...]
    gravity: SX
    coordinates: tuple[str, ...]
    n_joints: int
    rotation: RotationName
    stiffening: bool | str
    base: BaseMotion = field(default_factory=BaseMotion)

    @property
    def bristled(self) -> list[ChainLink]:
        """Links whose friction has a state in a run, in the order of these states."""
        return [link for link in self.links if link.bristled]

    @property
    def n(self) -> int:
        """Number of generalised coordinates."""
        return len(self.coordinates)

    def rest(self) -> np.ndarray:
        """(n,) coordinates of the undeformed arm: zero, but for the sliding beams, which have no zero length."""
        q = np.zeros(self.n)
        for link in self.links:
            q[list(link.body_indices)] = link.body.rest
        return self.followed(q)

    def followed(self, q: np.ndarray, given: Collection[int] = ()) -> np.ndarray:
        """States (..., n) with the motors of elastic drives where their joints are, but those `given`."""
        for link in self.links:
            if link.drive is not None and link.drive.index not in given:
                q[..., link.drive.index] = q[..., link.shaft]
        return q

    def travels(self) -> dict[int, tuple[float, float]]:
        """Travel of each coordinate that is a free length."""
        found = ((link.body_indices, link.body.travel) for link in self.links)
        return {indices[0]: travel for indices, travel in found if travel is not None}

    def check_travel(self, q: ArrayLike) -> None:
        """Raises `ModelError` where a free length in `q` (..., n) has left its travel."""
        state = np.asarray(q, dtype=float)
        for index, (low, high) in self.travels().items():
            l = state[..., index]
            outside = ~((l >= low) & (l <= high))
            if outside.any():
                raise ModelError(
                    f"{self.coordinates[index]}: free length {np.ravel(l)[np.ravel(outside)][0]:g} m is outside its "
                    f"travel {low:g} to {high:g} m; stop the motion before the end, or give the beam a longer "
                    "total_length"
                )

    def on(self, base: Any, t: SX) -> Chain:
        """The arm on a base that moves as an object of `pliant.loads` says; on one at rest without it."""
        if base is None:
            return self
        if not hasattr(base, "expression"):
            raise ModelError(f"base: got {type(base).__name__}, expected pliant.loads.Base(...) or BasePath(...)")
        return replace(self, base=base.expression(t, self.gravity))

    def joint(self, link: ChainLink, q: SX) -> SX:
        """The joint coordinate of a link in `q` (zero where it has none)."""
        return q[link.joint_index] if link.joint_index is not None else ca.SX(0)

    def body(self, link: ChainLink, q: SX) -> SX:
        """The body coordinates of a link in `q`."""
        return q[list(link.body_indices)] if link.body_indices else ca.SX(0, 1)

    def actuation(self) -> SX:
        """(n, n_joints) matrix S of `M qdd + bias = S tau`: a drive's torque acts on its motor, else on its joint."""
        S = ca.SX(self.n, self.n_joints)
        column = 0
        for link in self.links:
            if link.actuated is None:
                continue
            S[link.actuated, column] = 1
            column += 1
        return S
