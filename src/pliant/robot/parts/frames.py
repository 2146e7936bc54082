"""Named places on an arm."""

from __future__ import annotations

from typing import Self

from pydantic import Field, model_validator

from pliant.robot.files.error_messages import clash
from pliant.robot.parts.fields import Description, LinkName, NonNegative
from pliant.robot.parts.joint import Origin
from pliant.robot.parts.link import At, BeamStation


class Frame(Description):
    """A named frame: a place on a link that bends with it, and a fixed pose from there.

    Every link has two without asking, `NAME.tip` and `NAME.root`, a body from a file all of its own; `tip` is that of
    the last link, `base` the base.

    Examples
    --------
    >>> pliant.robot.Frame(name="camera", link="fore", x=0.4, origin={"xyz": [0, 0, 0.05]}).at
    BeamStation(x=0.4)
    """

    name: LinkName = Field(description="letters, digits and _", examples=["camera"])
    link: LinkName = Field(description="that it sits on", examples=["fore"])
    at: At = Field(
        "tip", description="where: tip, root, {x: 0.4} of the beam or {frame: NAME} of the body", examples=["tip"]
    )
    x: NonNegative | None = Field(None, description="m, short for at: {x: ...}", examples=[0.4])
    origin: Origin = Field(Origin(), description="its place from there", examples=[{"xyz": [0, 0, 0.05]}])

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.x is not None:
            if self.at != "tip":
                raise clash("`x` and `at` both place the frame; give one of them")
            self.__dict__.update(at=BeamStation(x=self.x), x=None)
        return self
