"""Loops: joints between two frames of an arm, which close what is else a tree."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Protocol, Self

import numpy as np
from pydantic import BeforeValidator, Field, WithJsonSchema, model_validator

from pliant.options import LoopJointType
from pliant.robot.files.error_messages import clash, fault, suggestion
from pliant.robot.parts.fields import Description, LinkName, Positive, sequence
from pliant.robot.parts.frames import Frame
from pliant.robot.parts.joint import AXIS_SCHEMA, Axis
from pliant.robot.parts.link import Link

WORLD = "world"
"""Name of the frame that stands still, as the end of a loop: the base, unless that is free."""
_Y, _Z = (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)


def _ends(value: object) -> list[object]:
    entries = sequence(value, "two names of frames")
    if len(entries) != 2 or not all(isinstance(entry, str) for entry in entries):
        raise fault("two names of frames", "such as [coupler.tip, pivot]")
    return entries


_ENDS = {"type": "array", "items": {"type": "string"}, "minItems": 2, "maxItems": 2}
Ends = Annotated[tuple[str, str], BeforeValidator(_ends), WithJsonSchema(_ENDS)]
_PAIR = {"type": "array", "items": AXIS_SCHEMA, "minItems": 2, "maxItems": 2}
AxisPair = Annotated[tuple[Axis, Axis], WithJsonSchema(_PAIR)]


class LoopJoint(Description):
    """Joint of a loop: the motions of the second frame that it allows, seen from the first.

    `revolute`: turn about `axis`, which has the same numbers in both frames; `prismatic`: slide along it; `spherical`:
    turn anyhow; `universal`: turn about the first of `axes`, in the first frame, and about the second, in the second
    frame; `fixed`: nothing; `distance`: everything but leave its `length` from the first, as if on a massless rod.

    Examples
    --------
    >>> pliant.robot.LoopJoint(type="revolute", axis=[0, 1, 0]).axis
    (0.0, 1.0, 0.0)
    """

    type: LoopJointType = Field("revolute", description="how it moves", examples=["spherical"])
    axis: Axis | None = Field(
        None, description="of a revolute or prismatic joint, z by default, in both frames", examples=[[0, 1, 0]]
    )
    axes: AxisPair | None = Field(
        None,
        description="of a universal joint, z and y by default: one in the first frame, one in the second",
        examples=[[[0, 0, 1], [0, 1, 0]]],
    )
    length: Positive | None = Field(None, description="m, of a distance joint", examples=[0.4])

    @model_validator(mode="after")
    def _check(self) -> Self:
        needs = {"revolute": "axis", "prismatic": "axis", "universal": "axes", "distance": "length"}.get(self.type)
        for key in ("axis", "axes", "length"):
            if getattr(self, key) is not None and key != needs:
                raise clash(f"a {self.type} joint has no `{key}`; remove it")
        if self.type == "distance" and self.length is None:
            raise clash("a distance joint needs its `length`, the distance of the two frames")
        if self.type == "universal":
            u, w = self.directions
            if np.linalg.norm(np.cross(u, w)) < 1e-6:
                raise clash("the two `axes` of a universal joint are parallel")
        return self

    @property
    def directions(self) -> tuple[tuple[float, float, float], tuple[float, float, float]]:
        """Its axis in the first and in the second frame."""
        return self.axes or ((_Z, _Y) if self.type == "universal" else (self.axis or _Z,) * 2)


class Loop(Description):
    """Two frames that a joint holds together: one or both are on links, one may be the base.

    Examples
    --------
    >>> pin = pliant.robot.Loop(name="pin", between=["coupler.tip", "rocker.tip"])
    >>> pin.joint.type
    'revolute'
    """

    name: LinkName = Field(description="letters, digits and _", examples=["pin"])
    between: Ends = Field(
        description="frames: names of `frames`, NAME.tip and NAME.root of links, tip, base, world",
        examples=[["coupler.tip", "pivot"]],
    )
    joint: LoopJoint = Field(LoopJoint(), description="between the two", examples=[{"type": "spherical"}])


def places(link: Link) -> tuple[str, ...]:
    """Frames of a link, by the part of their names behind the name of the link."""
    return ("tip", "root") if link.body is None else link.body.reduced.frames


class HoldsFrames(Protocol):
    """Part of a robot between two frames: a loop, a coupling or a contact."""

    @property
    def name(self) -> str:
        """Name of the part."""

    @property
    def between(self) -> tuple[str, str]:
        """Names of the two frames."""


def check_ends(kind: str, parts: Iterable[HoldsFrames], links: Iterable[Link], frames: Iterable[Frame]) -> None:
    """Refuse loops, couplings or contacts between frames that do not exist, and names that stand twice."""
    ends = [f"{link.name}.{place}" for link in links for place in places(link)]
    known, taken = ["tip", "base", WORLD, *(frame.name for frame in frames), *ends], set()
    for part in parts:
        if part.name in taken:
            raise clash(f"{kind}s need different names; `{part.name}` stands twice, rename one")
        taken.add(part.name)
        for end in part.between:
            if end not in known:
                raise clash(f"{kind} `{part.name}` holds frame `{end}`, which is not there{suggestion(end, known)}")
        if part.between[0] == part.between[1]:
            raise clash(f"{kind} `{part.name}` holds frame `{part.between[0]}` to itself; name two frames")
