"""How links look: meshes and simple bodies that are drawn in place of their sections, and change no number."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar, Self

from pydantic import Field, ValidationInfo, field_validator, model_validator

from pliant.robot.faults import clash
from pliant.robot.fields import Description, Positive, Vector
from pliant.robot.joint import Origin


class VisualCylinder(Description):
    """A round cylinder about z, its middle at the origin.

    Examples
    --------
    >>> pliant.robot.VisualCylinder(radius=0.05, length=0.4).length
    0.4
    """

    radius: Positive = Field(description="m, radius", examples=[0.05])
    length: Positive = Field(description="m, length along z", examples=[0.4])


class Visual(Description):
    """Something that is drawn and has no mass: one of `mesh`, `box`, `cylinder` and `sphere`, in the axes of its link.

    Examples
    --------
    >>> pliant.robot.Visual(mesh="forearm.stl", scale=[0.001, 0.001, 0.001]).mesh
    'forearm.stl'
    """

    only_drawn: ClassVar[bool] = True

    mesh: str | None = Field(None, description="file in STL or OBJ, seen from the robot file", examples=["forearm.stl"])
    scale: Vector = Field((1.0, 1.0, 1.0), description="factors of the mesh", examples=[[0.001, 0.001, 0.001]])
    box: Vector | None = Field(None, description="m, edges", examples=[[0.4, 0.05, 0.08]])
    cylinder: VisualCylinder | None = Field(
        None, description="about z of the origin", examples=[{"radius": 0.05, "length": 0.4}]
    )
    sphere: Positive | None = Field(None, description="m, radius", examples=[0.06])
    origin: Origin = Field(Origin(), description="its place on the link", examples=[{"xyz": [0, 0, 0.05]}])
    colour: Vector | None = Field(
        None, description="red, green and blue from 0 to 1; of a link that bends its strain", examples=[[0.9, 0.5, 0.1]]
    )

    @field_validator("mesh")
    @classmethod
    def _beside_its_file(cls, name: str | None, info: ValidationInfo) -> str | None:
        folder = (info.context or {}).get("folder")
        return name if name is None or folder is None else str(Path(folder) / name)

    @model_validator(mode="after")
    def _check(self) -> Self:
        given = [name for name in ("mesh", "box", "cylinder", "sphere") if getattr(self, name) is not None]
        if len(given) != 1:
            raise clash(f"got {' and '.join(given) or 'nothing to draw'}, expected one of mesh, box, cylinder, sphere")
        return self
