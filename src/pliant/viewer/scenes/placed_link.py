"""Links of a scene: their axes over time, and their poses in the base."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pliant.arrays import Array
from pliant.viewer.scenes.body_surfaces import SceneSurface


@dataclass(frozen=True)
class ScenePlace:
    """A port of a link, at which another link or a frame hangs: straight position, displacement and rotation vector,
    (F, 3) or (1, 3) as for the stations of a link, and a fixed turn (3, 3)."""

    straight: Array
    shift: Array
    turn: Array
    end: Array


@dataclass(frozen=True)
class SceneBox:
    """A box that stands for a body without a length: center (3,), axes in the columns of (3, 3), and edges (3,)."""

    center: Array
    axes: Array
    edges: Array


@dataclass(frozen=True)
class SceneLink:
    """One link over F frames at S stations, in its own axes.

    Attributes
    ----------
    name, kind : str
        Name of the link, and type of its joint: "revolute", "prismatic", "fixed", ...
    parent, port : int
        Number of the link that it hangs on, -1 for the base, and number of the port there: 0 is the tip.
    axes : (k, 3)
        Axes of its joint, which slides along the first `sliding` of them and turns about the others.
    sliding : int
        Number of axes along which the joint slides.
    origin : (4, 4)
        Pose of the joint in the frame that it hangs on.
    end : (3, 3)
        Fixed turn of the tip frame against the end section.
    joint, motor : (F, k)
        Positions of the joint; `motor` is where the joint of the rigid arm would stand. A spherical joint has a
        quaternion (F, 4), a free one position and quaternion (F, 7).
    straight : (F, S, 3) or (1, S, 3)
        Stations of the undeformed axis.
    shift, turn : (F, S, 3) or (1, S, 3)
        Displacement of the axis and rotation vector of the section.
    strain : (F, S) or (1, S)
        Largest bending strain of the section.
    half : (S, 2)
        Half width and half height of the drawn section.
    round : bool
        Whether the section is a circle, else a rectangle.
    places : tuple of ScenePlace
        Ports besides the tip: where other links hang, and frames of loops, couplings and contacts.
    box : SceneBox, optional
        Box drawn in place of the axis, where the body has no length.
    marked : bool
        Whether its joint is drawn.
    loaded : bool
        Whether its tip carries a payload.
    owner : str
        Name of the link of the robot that it is, or is a piece of.
    surface : SceneSurface, optional
        Surface of a body from a file, drawn in place of the axis.
    """

    name: str
    kind: str
    parent: int
    port: int
    axes: Array
    sliding: int
    origin: Array
    end: Array
    joint: Array
    motor: Array
    straight: Array
    shift: Array
    turn: Array
    strain: Array
    half: Array
    round: bool
    places: tuple[ScenePlace, ...] = ()
    box: SceneBox | None = None
    marked: bool = True
    loaded: bool = False
    owner: str = ""
    surface: SceneSurface | None = None

    @property
    def joint_size(self) -> float:
        """Least half size of its drawn joint; the joint of a panel is narrower than the panel."""
        return 1.25 * min(float(self.half.max()), 2 * float(self.half.min()))

    @property
    def axis(self) -> Array:
        """(3,) axis along which its joint is drawn."""
        return np.asarray(self.axes[-1] if len(self.axes) else (0.0, 0.0, 1.0))

    @property
    def flexible(self) -> bool:
        """True if the link has a deformation of its own."""
        return len(self.half) > 2


@dataclass(frozen=True)
class PlacedLink:
    """A link in the base: axis points (F, S, 3), sections (F, S, 3, 3), frame behind the joint, and ports (F, 4, 4),
    tip first; and the magnification of its deformations."""

    link: SceneLink
    points: Array
    sections: Array
    joint: Array
    ports: tuple[Array, ...]
    magnification: float = 1.0

    @property
    def tip(self) -> Array:
        """(F, 4, 4) frame of its tip."""
        return self.ports[0]
