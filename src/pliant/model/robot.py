"""Robots with equations of motion: a description of an arm, and methods that need a model of it."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pliant.base.later import provided
from pliant.base.signatures import checked, shown
from pliant.base.writing import atomic_write
from pliant.errors import ModelError
from pliant.options import FormulationName, RotationName, ShapesName, StiffeningChoice
from pliant.robot.description import RobotDescription
from pliant.robot.files.file_paths import FilePaths, SearchPaths
from pliant.robot.files.robot_files import bundled_file, read_file, read_source, read_text_of, save
from pliant.robot.files.text_table import table
from pliant.robot.parts.fields import document_schema

if TYPE_CHECKING:
    from pliant.mechanics.formulations.formulation import Formulation
    from pliant.model.model import Model


class Robot(RobotDescription):
    """A robot arm: links in a chain or a tree, gravity, and payloads. SI units, radians.

    Links are kept in an order in which each stands behind the one that carries it.

    Examples
    --------
    >>> from pliant.robot import Beam, Link, Robot, Shapes
    >>> beam = Beam(length=1.0, mass_per_length=5.0, EI_z=1000.0)
    >>> arm = Robot(name="one link", links=[Link(name="upper", beam=beam, shapes=Shapes(bending_y=2))])
    >>> arm.replace({"links.upper.beam.EI_z": 2000.0}).link("upper").beam.EI_z
    2000.0
    """

    @property
    def freedom(self) -> int:
        """Number of freedoms of its joints and a free base, less what loops take: 1 for a four-bar. Amplitudes and
        motors do not count."""
        if self.loops:
            return self.model().layout.mobility
        return sum(len(body.joint.speeds(body.name)) for body in self.bodies)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a robot file (YAML); `pliant.load` reads it back as an equal robot.

        Parameters
        ----------
        path : str or path
            The file.

        Examples
        --------
        >>> arm = pliant.load("two-link")
        >>> arm.save("arm.yaml")
        >>> pliant.load("arm.yaml") == arm
        True
        """
        save(self, path)

    def to_urdf(self, path: str | os.PathLike[str] | None = None) -> str:
        """The rigid skeleton as URDF, which `pliant.load` reads back: links, joints, masses, limits and friction.

        Beams are rigid bodies with their mass and inertia, straight or curved as they are described; one that slides is
        a rod on a prismatic joint. Hubs are part of their links; tip loads, payloads and frames become links on fixed
        joints; a joint of several axes becomes several. A floating joint connects a free base to a link `world`.
        A comment at the head lists what the format cannot express (stiffness, rotors and gears, gravity). Gravity is
        in the attribute `pliant:gravity`, which `load` reads.

        Parameters
        ----------
        path : str or path, optional
            The file to write.

        Returns
        -------
        str
            The document, or the path of the file.

        Raises
        ------
        UnsupportedModel
            The arm has a spherical joint, which URDF does not support.

        Examples
        --------
        >>> rigid = pliant.load(pliant.load("lab-arm").to_urdf())
        >>> [link.name for link in rigid.links]
        ['base', 'upper', 'upper_tip', 'fore', 'fore_payload']
        """
        from pliant.robot.files.urdf_out import urdf_text

        return _handed(urdf_text(self), path)

    def to_mjcf(
        self, path: str | os.PathLike[str] | None = None, bodies: int | None = None, error: float = 0.01
    ) -> str:
        """A MuJoCo model (MJCF): links as rigid bodies, beams that bend as chains of bodies with springs between them.

        A beam becomes as many elements as there are `bodies`; the flexibility of an element sits in its middle, in
        hinges for bending in the planes that `shapes` have and for torsion, in slides for axial motion and shear.
        Without `bodies` there are as few as keep the first three frequencies (q = 0, no gravity, joints held and free)
        within `error` of those of the beams; a comment in the file states it. An elastic drive is a motor joint with
        the rotor as `armature`, then a joint with its spring; friction and limits of both act on a tendon, their sum.
        Rotors of stiff drives are `armature`. Dampers of beams are in proportion to their springs, so that a `damping`
        ratio holds for the first mode of a link alone. Named frames and `tip` are sites, and each joint has a motor.

        Parameters
        ----------
        path : str or path, optional
            The file to write.
        bodies : int, optional
            Springs per beam; found from `error` by default.
        error : float
            Relative, of the first three frequencies.

        Returns
        -------
        str
            The document, or the path of the file.

        Raises
        ------
        UnsupportedModel
            A beam slides.

        Examples
        --------
        >>> text = pliant.load("lab-arm").to_mjcf(bodies=6)
        >>> text.count("<motor"), text.count('type="hinge"')
        (3, 42)
        """
        if bodies is not None and (isinstance(bodies, bool) or not isinstance(bodies, int) or not 1 <= bodies <= 400):
            raise ModelError(f"bodies: got {shown(bodies)}, expected a whole number from 1 to 400")
        if not isinstance(error, float) or not 1e-3 <= error <= 0.2:
            raise ModelError(f"error: got {shown(error)}, expected a part from 0.001 to 0.2, such as 0.01 for 1 %")
        return _handed(str(provided("mjcf_text")(self, bodies, error)), path)

    def model(
        self,
        formulation: FormulationName | Formulation = "denoc",
        rotation: RotationName = "exact",
        stiffening: StiffeningChoice = "auto",
        parameters: Sequence[str] = (),
        shapes: ShapesName = "exact",
    ) -> Model:
        """Callable dynamics of the robot; `pliant.Model` says what the options do.

        Parameters
        ----------
        formulation : str or Formulation
            One of `pliant.robot.FORMULATIONS`, or one of your own.
        rotation : "exact" or "linear"
            Rotation of a bent link's tip.
        stiffening : "auto", "second-order" or bool
            How far the place of a bent beam is followed: first (False), second or third order (True); "auto" is
            second order wherever it may matter.
        parameters : sequence of str
            Paths of numbers that stay inputs.
        shapes : "exact" or "nominal"
            Whether parameters may leave the shape functions as they are in the nominal robot.

        Returns
        -------
        Model

        Examples
        --------
        >>> model = pliant.load("two-link").model("lagrange", parameters=["payload.mass"])
        >>> model.coordinates
        ('upper', 'fore', 'upper.bending_y.1', 'fore.bending_y.1')
        """
        from pliant.model.model import Model

        return Model(self, formulation, rotation, stiffening, parameters, shapes)

    def _repr_html_(self) -> str:
        return str(provided("robot_html")(self))

    def __str__(self) -> str:
        return table(self)


def load(
    source: str | os.PathLike[str],
    flexible: str | os.PathLike[str] | Mapping[str, Any] | None = None,
    tip: str | None = None,
    floating: bool = False,
    *,
    search_paths: SearchPaths | None = None,
) -> Robot:
    """Read a robot file (YAML), a bundled arm by name, or a URDF file.

    Meshes and bodies that the file names are read beside it and below, in its own ROS package, in those of
    ROS_PACKAGE_PATH and AMENT_PREFIX_PATH, and in `search_paths`. `load` raises `ModelError` for paths that lead
    elsewhere.

    Parameters
    ----------
    source : path or str
        A file, one of `arms()`, or the text of a URDF file, which begins with `<`.
    flexible : path or mapping, optional
        For URDF: the side file that makes chosen links flexible.
    tip : str, optional
        For URDF: the link at the end of a chain; the whole tree by default.
    floating : bool
        For URDF: whether the root link is a free base.
    search_paths : mapping, optional
        Further folders that the file may read, by name: `{"my_arm": "/ws/src/my_arm"}`. `package://my_arm/...` leads
        there.

    Returns
    -------
    Robot

    Raises
    ------
    ModelError
        With the file, the place in it, what was given and expected, and a remedy; several faults at once.

    Examples
    --------
    >>> pliant.load("two-link").name
    'two-link elastic arm'
    >>> pliant.load("two-lin")
    Traceback (most recent call last):
    pliant.errors.ModelError: no file and no bundled arm `two-lin`, did you mean `two-link`?
    """
    return read_source(Robot, source, search_paths, flexible=flexible, tip=tip, floating=floating)


def load_file(
    path: Path,
    paths: FilePaths,
    **urdf: Any,
) -> Robot:
    """The robot of a file that exists; `paths` says what it may read."""
    return read_file(Robot, path, paths, **urdf)


def bundled(name: str) -> Robot:
    """A bundled arm, whatever files have its name."""
    path = bundled_file(name)
    return load_file(path, FilePaths.of_file(path))


@checked
def parse(text: str, source: str = "robot", *, search_paths: SearchPaths | None = None) -> Robot:
    """Return the robot of the text of a robot file, which names files in packages and in `search_paths` only.

    Parameters
    ----------
    text : str
        YAML.
    source : str
        Its name in messages.
    search_paths : sequence of path, optional
        Folders of files that it names.

    Returns
    -------
    Robot

    Examples
    --------
    >>> pliant.robot.parse("{name: pendulum, links: [{name: rod, rigid: {mass: 1.0}}]}").links[0].name
    'rod'
    """
    return read_text_of(Robot, text, source, search_paths)


def schema() -> dict[str, Any]:
    """Return the JSON schema of a robot file, for editors.

    Returns
    -------
    dict

    Examples
    --------
    >>> sorted(pliant.robot.schema())[:3]
    ['$defs', '$schema', 'additionalProperties']
    """
    return document_schema(Robot)


_RECENT: deque[tuple[Robot, Model]] = deque(maxlen=8)


def model_of(given: Model | Robot) -> Model:
    """Return a model as it is, and of a robot its default model, which is kept for the next call."""
    if not isinstance(given, Robot):
        return given
    for robot, model in tuple(_RECENT):  # another thread may add one
        if robot is given:
            return model
    model = given.model()
    _RECENT.append((given, model))
    return model


def _handed(text: str, path: str | os.PathLike[str] | None) -> str:
    """The text, or the file that it was written to."""
    if path is None:
        return text
    with atomic_write(Path(path)) as partial:
        partial.write_text(text, encoding="utf-8")
    return os.fspath(path)
