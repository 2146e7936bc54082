"""Contacts: spheres on the arm, and surfaces that they may touch."""

from __future__ import annotations

from typing import Self

from pydantic import Field, model_validator

from pliant.options import SurfaceName
from pliant.robot.files.error_messages import clash
from pliant.robot.parts.drives.stops import Restitution
from pliant.robot.parts.fields import Description, LinkName, NonNegative, Positive, Vector
from pliant.robot.parts.loop_joints import WORLD

NEEDS: dict[str, tuple[str, ...]] = {
    "plane": (), "sphere": ("radius",), "capsule": ("radius", "length"), "box": ("size",),
}  # fmt: skip
"""Dimensions of each type of surface."""


class Surface(Description):
    """Surface that a contact touches, fixed to a frame: a `plane` across its z, which is outwards; a `sphere` about its
    origin; a `capsule` along its z, in the middle of which it is; a `box` along its axes about its origin.

    Examples
    --------
    >>> pliant.robot.Surface(type="capsule", radius=0.05, length=0.4).frame
    'world'
    """

    type: SurfaceName = Field("plane", description="its shape", examples=["sphere"])
    frame: str = Field(WORLD, description="that it is fixed to: as in `between` of a coupling", examples=["wall"])
    radius: Positive | None = Field(None, description="m, of a sphere or a capsule", examples=[0.05])
    length: Positive | None = Field(None, description="m, of the axis of a capsule, without its ends", examples=[0.4])
    size: Vector | None = Field(None, description="m, lengths of the edges of a box", examples=[[0.2, 0.2, 0.1]])

    @model_validator(mode="after")
    def _check(self) -> Self:
        for key in ("radius", "length", "size"):
            given, needed = getattr(self, key) is not None, key in NEEDS[self.type]
            if given != needed:
                wrong = f"needs `{key}`, in m" if needed else f"has no `{key}`; remove it"
                raise clash(f"a {self.type} {wrong}")
        if self.size is not None and min(self.size) <= 0:
            raise clash("edges of a box, `size`, must be above 0")
        return self


class Contact(Description):
    """A sphere about a frame of the arm that may touch a surface.

    Pressed together by u, they push apart by `stiffness * u**exponent * (1 + damping * u')` (Hunt and Crossley), and
    never pull; `restitution` says in place of `damping` how fast a hit comes back, right for every exponent. Friction
    goes with that force, against sliding: `friction` times it above `stick_speed`, below it in proportion to the speed,
    so that what sticks creeps more slowly than that.

    Examples
    --------
    >>> touch = pliant.robot.Contact(name="wipe", frame="tip", radius=0.02, surface={"frame": "wall"}, stiffness=1e5)
    >>> touch.exponent, touch.stick_speed
    (1.5, 0.0001)
    """

    name: LinkName = Field(description="letters, digits and _", examples=["wipe"])
    frame: str = Field("tip", description="center of the sphere: as in `between` of a coupling", examples=["tip"])
    radius: Positive = Field(description="m, of the sphere", examples=[0.02])
    surface: Surface = Field(Surface(), description="what it may touch", examples=[{"type": "plane", "frame": "wall"}])
    stiffness: Positive = Field(description="N/m^exponent, of the two surfaces", examples=[100000.0])
    exponent: Positive = Field(1.5, description="of the depth: 1.5 of a sphere by Hertz, 1 of a spring", examples=[1.5])
    damping: NonNegative = Field(
        0.0, description="s/m, part by which the force grows per speed of the two into one another", examples=[0.4]
    )
    restitution: Restitution | None = Field(
        None, description="what a hit gives back, instead of damping", examples=[{"value": 0.8, "speed": 0.5}]
    )
    friction: NonNegative = Field(0.0, description="friction force over normal force", examples=[0.5])
    stick_speed: Positive = Field(1e-4, description="m/s, below which it sticks and creeps", examples=[1e-4])

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.damping and self.restitution is not None:
            raise clash("`damping` and `restitution` both say what is lost; give one of them")
        if self.exponent < 1:
            raise clash(f"`exponent` {self.exponent:g} is below 1: a contact that is soft at depth; 1.5 is a sphere's")
        return self

    @property
    def touches(self) -> str:
        """Surface that it may touch, in words."""
        return f"{self.surface.type} at {self.surface.frame}"

    @property
    def between(self) -> tuple[str, str]:
        """Frames of the sphere and of what it may touch."""
        return self.frame, self.surface.frame
