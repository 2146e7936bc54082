"""Links of a scene: their axes over time, and where they stand."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pliant.arrays import Array
from pliant.viewer.body_surfaces import SceneSurface


@dataclass(frozen=True)
class ScenePlace:
    """A place on a link at which another hangs: (F, 3) or (1, 3) as the stations of a link, and a fixed turn (3, 3)."""

    straight: Array
    shift: Array
    turn: Array
    end: Array


@dataclass(frozen=True)
class SceneBox:
    """A box that stands for a body without a length: centre (3,), axes in the columns of (3, 3), and edges (3,)."""

    centre: Array
    axes: Array
    edges: Array


@dataclass(frozen=True)
class SceneLink:
    """One link over F frames at S stations, in its own axes.

    Attributes
    ----------
    name, kind : str
        Of the link, and of its joint: "revolute", "prismatic", "fixed", ...
    parent, port : int
        Number of the link that it hangs on, -1 for the base, and which of its ports: 0 is the tip.
    axes : (k, 3)
        Of its joint, which slides along the first `sliding` of them and turns about the others.
    sliding : int
    origin : (4, 4)
        Pose of the joint in the frame that it hangs on.
    end : (3, 3)
        Fixed turn of the tip frame against the end section.
    joint, motor : (F, k)
        Positions; `motor` is where the rigid arm's joint would stand. Of a spherical joint a quaternion (F, 4), of a
        free one position and quaternion (F, 7).
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
        Drawn in place of the axis, where the body has no length.
    marked : bool
        Whether its joint is drawn.
    loaded : bool
        Whether its tip carries a payload.
    owner : str
        The link of the robot that it is, or is a piece of.
    surface : SceneSurface, optional
        Of a body from a file, drawn in place of the axis.
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
        """Half size that its joint is drawn with, at least; a panel is fixed by a joint narrower than itself."""
        return 1.25 * min(float(self.half.max()), 2 * float(self.half.min()))

    @property
    def axis(self) -> Array:
        """(3,) along which its joint is drawn."""
        return np.asarray(self.axes[-1] if len(self.axes) else (0.0, 0.0, 1.0))

    @property
    def flexible(self) -> bool:
        """True if the link has a deformation of its own."""
        return len(self.half) > 2


@dataclass(frozen=True)
class PlacedLink:
    """A link in the base: axis points (F, S, 3), sections (F, S, 3, 3), joint frame, and ports (F, 4, 4), tip first;
    how many times its deformations are magnified."""

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
