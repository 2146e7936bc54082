"""Base of an arm: fixed, or a free body."""

from __future__ import annotations

from typing import Self

from pydantic import Field, model_validator

from pliant.options import BaseType
from pliant.robot.files.error_messages import clash
from pliant.robot.parts.bodies.rigid_body import BodyInertia
from pliant.robot.parts.bodies.visuals import Visual
from pliant.robot.parts.fields import Description, NonNegative, Vector


class BaseBody(Description):
    """The base: `fixed`, or `free` with a mass, a center of mass and an inertia about it, in base axes.

    Examples
    --------
    >>> pliant.robot.BaseBody(type="free", mass=500.0, inertia=[80.0, 90.0, 70.0]).is_free
    True
    """

    type: BaseType = Field("fixed", description="whether it stands or flies", examples=["free"])
    mass: NonNegative = Field(0.0, description="kg, of a free base", examples=[500.0])
    com: Vector = Field((0.0, 0.0, 0.0), description="m, center of mass in base axes", examples=[[0.0, 0.0, 0.1]])
    inertia: BodyInertia = Field((0.0, 0.0, 0.0), description="kg m^2, about com", examples=[[80.0, 90.0, 70.0]])
    visuals: tuple[Visual, ...] = Field(
        (), description="what is drawn in its place", examples=[[{"box": [0.3, 0.3, 0.1]}]]
    )

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.type == "fixed" and (self.mass or any(self.inertia) or any(self.com)):
            raise clash("a fixed base has no mass, com or inertia; remove them, or make it `type: free`")
        if self.type == "free" and not self.mass:
            raise clash("missing key `mass`: a free base needs one; give it, or make the base `type: fixed`")
        return self

    @property
    def is_free(self) -> bool:
        """Whether the base is a free body."""
        return self.type == "free"
