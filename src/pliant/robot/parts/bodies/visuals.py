"""Visuals of links: meshes and simple bodies that are drawn in place of their sections, and change no number."""

from __future__ import annotations

from pathlib import PurePath
from typing import Annotated, ClassVar, Self

from pydantic import BeforeValidator, ConfigDict, Field, ValidationInfo, WithJsonSchema, model_validator

from pliant.errors import ModelError, warn_user
from pliant.robot.files.error_messages import clash, fault, short
from pliant.robot.files.file_paths import NOWHERE, FilePaths, paths_of
from pliant.robot.files.mesh_files import MeshContent
from pliant.robot.parts.fields import Description, Positive, Vector
from pliant.robot.parts.joint import Origin


def _content(value: object) -> MeshContent | None:
    if value is None or isinstance(value, MeshContent):
        return value
    if not isinstance(value, str):
        raise fault("the text that a saved robot has in place of a mesh")
    try:
        return MeshContent.from_text(value)
    except ModelError as error:
        raise clash(str(error)) from None


Content = Annotated[MeshContent | None, BeforeValidator(_content), WithJsonSchema({"type": "string"})]


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

    The file of a mesh is read with the robot, and its triangles go wherever the robot goes. A mesh that is not there
    is left out of the drawing, with a warning.

    Examples
    --------
    >>> pliant.robot.Visual(mesh="forearm.stl", scale=[0.001, 0.001, 0.001]).mesh
    'forearm.stl'
    """

    only_drawn: ClassVar[bool] = True

    model_config = ConfigDict(arbitrary_types_allowed=True)

    mesh: str | None = Field(None, description="file in STL or OBJ, seen from the robot file", examples=["forearm.stl"])
    content: Content = Field(None, exclude=True, description="triangles of `mesh`, which saved runs have as text")
    scale: Vector = Field((1.0, 1.0, 1.0), description="factors of the mesh", examples=[[0.001, 0.001, 0.001]])
    box: Vector | None = Field(None, description="m, edges", examples=[[0.4, 0.05, 0.08]])
    cylinder: VisualCylinder | None = Field(
        None, description="about z of the origin", examples=[{"radius": 0.05, "length": 0.4}]
    )
    sphere: Positive | None = Field(None, description="m, radius", examples=[0.06])
    origin: Origin = Field(Origin(), description="its place on the link", examples=[{"xyz": [0, 0, 0.05]}])
    color: Vector | None = Field(
        None, description="red, green and blue from 0 to 1; of a link that bends its strain", examples=[[0.9, 0.5, 0.1]]
    )

    @model_validator(mode="after")
    def _check(self, info: ValidationInfo) -> Self:
        given = [name for name in ("mesh", "box", "cylinder", "sphere") if getattr(self, name) is not None]
        if len(given) != 1:
            raise clash(f"got {' and '.join(given) or 'nothing to draw'}, expected one of mesh, box, cylinder, sphere")
        if self.mesh is None:
            self.__dict__["content"] = None
            return self
        if self.content is None:
            self.__dict__["content"] = _read(self.mesh, paths_of(info.context))
        self.__dict__["mesh"] = local_name(self.mesh)
        return self

    def _held(self) -> tuple[object, ...]:
        return tuple(getattr(self, name) for name in type(self).model_fields if name != "mesh")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Visual) and self._held() == other._held()

    def __hash__(self) -> int:
        return hash(self._held())


def local_name(name: str) -> str:
    """The name of a mesh below the folder of its robot file, or without a folder where it has come from elsewhere."""
    path = PurePath(name.rpartition("://")[2])
    return path.name if path.is_absolute() or ".." in path.parts or "://" in name else path.as_posix()


def _read(name: str, paths: FilePaths) -> MeshContent:
    try:
        found = paths.look_for(name)
    except ModelError as error:
        raise clash(str(error)) from None
    if found is None:
        if paths is not NOWHERE:
            warn_user(f"{short(name)}: no such mesh; it is not drawn")
        return MeshContent.none()
    try:
        return MeshContent.read(found)
    except ModelError as error:
        warn_user(f"{error}; it is not drawn")
        return MeshContent.none()
