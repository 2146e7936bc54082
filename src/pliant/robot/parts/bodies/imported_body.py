"""Bodies from files: the part of a link that was made of a mesh or by a finite-element program.

A robot is complete in itself: the file is read with the robot, and its content goes wherever the robot goes. Results
and messages between processes carry it as text; a robot file names it, and `save` puts it beside.
"""

from __future__ import annotations

import os
from pathlib import Path, PurePath
from typing import Annotated, Self

import numpy as np
from pydantic import BeforeValidator, ConfigDict, Field, ValidationInfo, WithJsonSchema, model_validator

from pliant.algebra.canonical import canonical
from pliant.arrays import Array
from pliant.base.writing import inside
from pliant.errors import ModelError
from pliant.robot.files.error_messages import clash, fault
from pliant.robot.files.file_paths import FilePaths, paths_of
from pliant.robot.files.mesh_files import MeshContent
from pliant.robot.parts.bodies.reduced_body import TIP, ReducedBody
from pliant.robot.parts.fields import Description, NonNegative
from pliant.robot.parts.shapes import Pair

MOST_COORDINATES = 60
"""Most coordinates of a body: products of all of them with each other are in the equations."""


def _content(value: object) -> ReducedBody | None:
    if value is None or isinstance(value, ReducedBody):
        return value
    if not isinstance(value, str):
        raise fault("a ReducedBody, or the text that a saved robot has in its place")
    try:
        return ReducedBody.from_text(value)
    except ModelError as error:
        raise clash(str(error)) from None


def _file(value: object) -> str | None:
    if value is None or (isinstance(value, str | os.PathLike) and os.fspath(value)):
        return value if value is None else str(os.fspath(value))
    raise fault("the name of a file, such as forearm.npz")


def _modes(value: object) -> int | None:
    if value is None or (isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MOST_COORDINATES):
        return value
    raise fault(f"a whole number from 0 to {MOST_COORDINATES}")


Content = Annotated[
    ReducedBody | None,
    BeforeValidator(_content),
    WithJsonSchema({"type": "string"}),
]
FileName = Annotated[str | None, BeforeValidator(_file), WithJsonSchema({"type": "string"})]
Modes = Annotated[
    int | None, BeforeValidator(_modes), WithJsonSchema({"type": "integer", "minimum": 0, "maximum": MOST_COORDINATES})
]


class ImportedBody(Description):
    """A body from a file, made of a mesh or by a finite-element program: linear in its own coordinates.

    Its root frame is the link frame, its tip frame that of the link; others may hang on its further frames too, by
    `at: {frame: NAME}`. `modes` keeps those of the lowest frequencies while the root is held and all else is free, in
    place of the coordinates of the file; what they cannot do, a load on the tip say, is then missed. `damping` is the
    ratio of every mode, root held and all beyond it lumped at its tip; `rayleigh` adds alpha times its mass and beta
    times its stiffness; both add to the damping in the file. Two bodies of the same content are equal, whatever their
    files are called.

    Examples
    --------
    >>> bar = pliant.bodies.brick_mesh(np.linspace(0, 0.4, 5), [-0.01, 0.01], [-0.005, 0.005])
    >>> path = pliant.bodies.from_mesh(bar, "aluminium", "x = 0", "x = 0.4", unit="m", modes=2).save("forearm.npz")
    >>> pliant.robot.ImportedBody(file="forearm.npz", damping=0.01).reduced.frames
    ('root', 'tip')
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)

    file: FileName = Field(None, description="`.npz`, seen from the robot file", examples=["forearm.npz"])
    content: Content = Field(None, exclude=True, description="of the file, which saved runs have as text")
    modes: Modes = Field(None, description="keep so many of its lowest modes; 0: rigid", examples=[8])
    damping: NonNegative = Field(
        0.0, description="ratio of each mode of the link, root held, all beyond at its tip", examples=[0.01]
    )
    rayleigh: Pair = Field(
        (0.0, 0.0),
        description="[alpha, beta]: 1/s times the mass of the link, s times its stiffness",
        examples=[[0.1, 0.0001]],
    )

    @model_validator(mode="after")
    def _check(self, info: ValidationInfo) -> Self:
        if self.content is None:
            if self.file is None:
                raise clash("missing key `file`: a body is read from a file that `pliant body` wrote")
            self.__dict__["content"] = _read(self.file, paths_of(info.context))
        if self.file is not None:
            self.__dict__["file"] = Path(self.file).name
        given = self.content.size if self.content is not None else 0
        if self.modes is not None and self.modes > given:
            raise clash(f"`modes` {self.modes} is more than the {given} coordinates of the body")
        if self.modes is None and given > MOST_COORDINATES:
            raise clash(f"a body of {given} coordinates, expected at most {MOST_COORDINATES}; keep fewer by `modes`")
        return self

    def _held(self) -> tuple[object, ...]:
        return self.content, self.modes, self.damping, self.rayleigh

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ImportedBody) and self._held() == other._held()

    def __hash__(self) -> int:
        return hash(self._held())

    @property
    def reduced(self) -> ReducedBody:
        """Body in the coordinates of the equations: those of the file, or its lowest `modes`."""
        assert self.content is not None
        return self.content if self.modes is None else self.content.lowest(self.modes)

    def pose(self, frame: str) -> tuple[Array, Array]:
        """Return the place of one of its frames while it is not bent, without rounding.

        Parameters
        ----------
        frame : str

        Returns
        -------
        (3, 3) array
            Rotation.
        (3,) array
            Position, m.

        Examples
        --------
        >>> bar = pliant.bodies.brick_mesh(np.linspace(0, 0.4, 5), [-0.01, 0.01], [-0.005, 0.005])
        >>> path = pliant.bodies.from_mesh(bar, "aluminium", "x = 0", "x = 0.4", unit="m", modes=2).save("bar.npz")
        >>> float(pliant.robot.ImportedBody(file="bar.npz").pose("tip")[1][0].round(9))
        0.4
        """
        number = self.reduced.frames.index(frame)
        p = self.reduced.places[number]
        return canonical(self.reduced.axes[number]), canonical(p, np.abs(p).max())

    @property
    def length(self) -> float:
        """Distance of its tip from its root, m."""
        return float(np.linalg.norm(self.pose(TIP)[1]))


def read_body(value: object) -> object:
    """Return the entries of a body for the name of its file, or for the content of a file."""
    if isinstance(value, ReducedBody):
        return {"content": value}
    return {"file": value} if isinstance(value, str | os.PathLike) else value


def _read(name: str, paths: FilePaths) -> ReducedBody:
    try:
        return ReducedBody.read(paths.find(name))
    except ModelError as error:
        raise clash(str(error)) from None


def beside(content: ReducedBody | MeshContent, name: str, folder: Path) -> str:
    """Name of a file with this content in a folder, where it is written unless it is there. A file of that name with
    other content is left alone."""
    wanted = PurePath(name)
    for known in (wanted, wanted.with_name(f"{wanted.stem}-{content.digest[:8]}{wanted.suffix}")):
        path = inside(folder, known.as_posix())
        if not os.path.lexists(path):
            content.save(path)
            return known.as_posix()
        if _holds(path, content):
            return known.as_posix()
    raise ModelError(f"{folder / name}: there is another file of that name; save the robot in another folder")


def _holds(path: Path, content: ReducedBody | MeshContent) -> bool:
    try:
        return type(content).read(path) == content
    except ModelError:
        return False
