"""Links: a joint, a body that is rigid, a beam or from a file, the shapes of the beam, and a lump at the tip."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Self, get_args

from pydantic import BeforeValidator, Field, WithJsonSchema, model_validator

from pliant.options import PlaceName
from pliant.robot.files.error_messages import clash, fault
from pliant.robot.parts.angles import Matrix, matmul, rotation_rpy, rotation_x
from pliant.robot.parts.beam import Beam, beam_properties
from pliant.robot.parts.bodies.imported_body import ImportedBody, read_body
from pliant.robot.parts.bodies.reduced_body import TIP
from pliant.robot.parts.bodies.rigid_body import Lump, RigidBody
from pliant.robot.parts.bodies.visuals import Visual
from pliant.robot.parts.fields import Alternatives, Description, LinkName, NonNegative, non_negative
from pliant.robot.parts.joint import Joint, Origin
from pliant.robot.parts.shapes import AUTO, Shapes, amplitudes

if TYPE_CHECKING:
    from pydantic.json_schema import JsonSchemaValue

_STIFFNESS_OF = {"bending_y": "EI_z", "bending_z": "EI_y", "torsion": "GJ", "axial": "EA"}


class BeamStation(Description):
    """A section of a beam, at which another link or a frame sits.

    Examples
    --------
    >>> pliant.robot.BeamStation(x=0.4).x
    0.4
    """

    x: NonNegative = Field(description="m, from the root of the beam", examples=[0.4])


class BodyFrame(Description):
    """An interface frame of a body from a file, at which another link or a frame sits.

    Examples
    --------
    >>> pliant.robot.BodyFrame(frame="flange").frame
    'flange'
    """

    frame: str = Field(description="its name in the file of the body", examples=["flange"])


def _place(value: object) -> object:
    if isinstance(value, BeamStation | BodyFrame) or (isinstance(value, str) and value in get_args(PlaceName)):
        return value
    if isinstance(value, dict) and list(value) == ["x"]:
        return BeamStation(x=non_negative(value["x"]))
    if isinstance(value, dict) and list(value) == ["frame"] and isinstance(value["frame"], str):
        return value["frame"] if value["frame"] in get_args(PlaceName) else BodyFrame(frame=value["frame"])
    raise fault("tip, root, {x: 0.4}, a station of the beam in metres, or {frame: flange}, a frame of the body")


_PLACE = {
    "anyOf": [
        {"enum": list(get_args(PlaceName))},
        {"type": "object", "properties": {"x": {"type": "number", "minimum": 0}}, "required": ["x"]},
        {"type": "object", "properties": {"frame": {"type": "string"}}, "required": ["frame"]},
    ]
}
At = Annotated[PlaceName | BeamStation | BodyFrame, BeforeValidator(_place), WithJsonSchema(_PLACE)]


Imported = Annotated[ImportedBody | None, BeforeValidator(read_body), Alternatives(({"type": "string"},))]


def _with_auto(schema: JsonSchemaValue) -> None:
    schema["anyOf"] = [{"const": AUTO}, *schema["anyOf"]]


class Link(Description):
    """One link; it hangs on the tip frame of the link before it, or `at` a place of its `parent`.

    Exactly one of `beam`, `rigid` and `body` is given. A beam without `shapes` does not bend. The tip lump is expressed
    in the tip frame.

    Examples
    --------
    >>> rod = pliant.RigidBody.slender_rod(2.0, 0.5)
    >>> pliant.Link(name="fore", rigid=rod).bends
    False
    """

    name: LinkName = Field(description="of letters, digits and _", examples=["upper"])
    joint: Joint = Field(Joint(), description="joint at its root", examples=[{"type": "revolute"}])
    beam: Beam | None = Field(
        None,
        description="a body that may bend",
        examples=[{"length": 1.0, "mass_per_length": 5.0, "EI_y": 1000, "EI_z": 1000}],
    )
    rigid: RigidBody | None = Field(
        None, description="a body that does not", examples=[{"mass": 3.5, "com": [0.1, 0, 0], "tip": [0.24, 0, 0]}]
    )
    body: Imported = Field(
        None,
        description="a body from a file, of a mesh or a finite-element program",
        examples=[{"file": "forearm.npz"}],
    )
    shapes: Shapes | None = Field(
        None,
        description="how the beam deforms; auto: the model chooses",
        examples=["auto"],
        json_schema_extra=_with_auto,
    )
    tip: Lump = Field(Lump(), description="lump at the far end", examples=[{"mass": 0.3}])
    parent: LinkName | None = Field(
        None, description="link that it hangs on, or base; the link before by default", examples=["upper"]
    )
    at: At = Field(
        "tip",
        description="where it hangs on its parent: tip, root, {x: 0.4} of its beam or {frame: NAME} of its body",
        examples=["root"],
    )
    visuals: tuple[Visual, ...] = Field(
        (),
        description="what is drawn in place of its section, in the axes of its root",
        examples=[[{"mesh": "forearm.stl"}]],
    )

    @classmethod
    def bent_rod(
        cls,
        name: str,
        mass: float,
        a: float,
        b: float,
        alpha: float | str = 0.0,
        hub_inertia: float = 0.0,
        payload: float = 0.0,
    ) -> Self:
        """The link of [MS07]: a bent slender rod with a payload, and a hub with inertia about the joint's axis z.

        Parameters
        ----------
        name : str
            Name of the link.
        mass : float
            Mass of the rod, spread evenly over `a + b`, kg.
        a, b : float
            DH length and offset, m.
        alpha : float or str
            DH twist, rad, or text such as "90 deg".
        hub_inertia : float
            Moment of the hub about the joint's axis, kg m^2.
        payload : float
            Point mass at the tip, kg.

        Returns
        -------
        Link
            A rigid link on a revolute joint.

        Examples
        --------
        >>> pliant.Link.bent_rod("first", mass=10.0, a=0.5, b=0.2, alpha="90 deg").rigid.tip
        (0.5, 0.0, 0.2)
        """
        body = RigidBody.bent_rod(mass, a, b, alpha, payload)
        return cls(name=name, joint=Joint(hub=Lump(inertia=(0.0, 0.0, hub_inertia))), rigid=body)

    @classmethod
    def wheel(
        cls,
        name: str,
        axis: tuple[float, float, float],
        inertia: float,
        parent: str = "base",
        mass: float = 0.0,
        origin: Origin | None = None,
    ) -> Self:
        """A reaction wheel: a link that turns about an axis through its center of mass, and has a moment about it.

        The torque of its joint drives it, and acts on the parent with the opposite sign; what it stores is
        h = J (Omega + a . omega), with its own speed Omega and the angular velocity omega of the parent. Its moments
        across the axis, which do not depend on its angle, belong to the inertia of the parent.

        Parameters
        ----------
        name : str
            Name of the link.
        axis : (3,) tuple
            Axis of rotation, in the axes of its parent (turned by `origin`); of any length.
        inertia : float
            Moment J about the axis, kg m^2.
        parent : str
            Link that carries it, or base.
        mass : float
            Mass, kg; zero where the parent has it already.
        origin : Origin, optional
            Place of its center on the parent.

        Returns
        -------
        Link
            A rigid link on a revolute joint.

        Examples
        --------
        >>> wheel = pliant.Link.wheel("wheel_z", axis=[0, 0, 1], inertia=0.08)
        >>> wheel.joint.hub.inertia
        (0.0, 0.0, 0.08)
        """
        joint = Joint(axis=axis, origin=origin or Origin())
        a, square = joint.axis, sum(x * x for x in joint.axis)
        xx, yy, zz, xy, xz, yz = (
            inertia * a[i] * a[j] / square for i, j in ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))
        )
        about = (xx, yy, zz, xy, xz, yz) if xy or xz or yz else (xx, yy, zz)
        joint = Joint(axis=joint.axis, origin=joint.origin, hub=Lump(inertia=about))
        return cls(name=name, joint=joint, rigid=RigidBody(mass=mass), parent=parent)

    @model_validator(mode="after")
    def _check(self) -> Self:
        given = [f"`{name}`" for name in ("beam", "rigid", "body") if getattr(self, name) is not None]
        if not given:
            raise clash("missing key `beam`, `rigid` or `body`: a link has one of them")
        if len(given) > 1:
            raise clash(f"{' and '.join(given[:2])} are both given; a link has one of them")
        if self.beam is None and self.shapes is not None:
            own = "a rigid link" if self.body is None else "a body from a file, which has its own"
            raise clash(f"`shapes` on {own}; remove them, or give a `beam`")
        if self.beam is None and self.joint.offset:
            own = "a rigid body has its `com` and `tip`" if self.body is None else "a body has its frames"
            raise clash(f"`joint.offset` is where a beam is clamped; {own} instead")
        self._check_row()
        if self.beam is not None:
            if self.beam.curved and self.joint.dh is not None and self.joint.dh.convention == "standard":
                raise clash(
                    "a curved beam on a standard DH row; give an `origin`, or a row with `convention: modified`"
                )
            self._check_sliding(self.beam)
            self._check_shapes(self.beam)
        return self

    def _check_row(self) -> None:
        """Hand `a` of a standard DH row over to the body, which supplies it, so that the body may change."""
        dh = self.joint.dh
        if dh is None or dh.convention != "standard" or not dh.a:
            return
        if self.rigid is not None and "tip" not in self.rigid.model_fields_set:
            self.__dict__["rigid"] = self.rigid.model_copy(update={"tip": (dh.a, 0.0, 0.0)})
        reach = self.rigid.tip[0] if self.rigid is not None else 0.0
        if self.beam is not None:
            reach = self.beam.length + self.joint.offset
        if self.body is not None:
            reach = float(self.body.pose(TIP)[1][0])
        if abs(reach - dh.a) > 1e-9 * max(abs(reach), abs(dh.a)):
            raise clash(
                f"the body reaches {reach:g} along x but `joint.dh.a` is {dh.a:g}; leave `a` out, the body supplies it"
            )
        self.__dict__["joint"] = self.joint.model_copy(update={"dh": dh.model_copy(update={"a": 0.0})})

    def _check_sliding(self, beam: Beam) -> None:
        if not beam.slides:
            return
        if self.joint.type != "prismatic" or self.joint.axis != (1.0, 0.0, 0.0):
            raise clash(
                "a beam that slides needs `joint: {type: prismatic, axis: [1, 0, 0]}`, "
                f"not a {self.joint.type} joint with axis {list(self.joint.axis)}"
            )
        if self.joint.offset:
            raise clash("`joint.offset` on a beam that slides; move the joint by `origin`")
        limits = self.joint.limits
        if limits is None:
            return
        if limits.upper is not None and beam.total_length is not None and limits.upper > beam.total_length:
            raise clash(f"`beam.total_length` {beam.total_length:g} is less than `joint.limits.upper` {limits.upper:g}")
        if limits.lower is not None and limits.lower <= 0.0:
            raise clash(f"`joint.limits.lower` {limits.lower:g} of a beam that slides must be above 0")

    def _check_shapes(self, beam: Beam) -> None:
        if self.shapes is None:
            return
        for field, stiffness in _STIFFNESS_OF.items():
            if getattr(self.shapes, field) and beam.section is None and getattr(beam, stiffness) is None:
                raise clash(f"missing key `{stiffness}` in beam: `shapes.{field}` needs it")
        if self.shapes.torsion and beam.polar_inertia == 0.0:
            raise clash("`beam.polar_inertia` must be above 0 for torsion shapes: without it they have no mass")
        if self.shapes.is_auto:
            self._check_auto(beam)
        if self.shapes.method == "elements":
            self._check_shearing(beam, self.shapes)
        if self.shapes.boundary == "pinned":
            self._check_pinned(self.shapes)
        if beam.parts > 1:
            self._check_pieces(self.shapes)

    @staticmethod
    def _check_pieces(shapes: Shapes) -> None:
        if shapes.boundary == "pinned":
            raise clash("pinned shapes are those of a whole beam; without `pieces` and curvature, or `clamped-free`")
        if shapes.tip_load not in (None, "auto"):
            raise clash("`tip_load` of a beam in `pieces` is what lies beyond each of them; use `auto`")

    def _check_auto(self, beam: Beam) -> None:
        if beam.slides:
            raise clash(
                "`shapes: auto` on a beam that slides, which it cannot judge; give numbers, `bending_y: 2`, say"
            )
        if not self.fields:
            raise clash("`shapes: auto` on a beam without stiffness; give it `EI_z`, say, or `material` and `section`")

    @staticmethod
    def _check_shearing(beam: Beam, shapes: Shapes) -> None:
        turned = dict(zip(("bending_z", "bending_y"), beam_properties(beam).rotary))
        if any(turned[plane] == 0.0 for plane in beam.shearing if getattr(shapes, plane)):
            raise clash("`beam.rotary` must be above 0 for elements that shear: without it their sections have no mass")

    def _check_pinned(self, shapes: Shapes) -> None:
        turns_in = {(0.0, 0.0, 1.0): "bending_y", (0.0, 1.0, 0.0): "bending_z"}
        plane = turns_in.get((abs(self.joint.axis[0]), abs(self.joint.axis[1]), abs(self.joint.axis[2])))
        if self.joint.type != "revolute" or plane is None:
            raise clash("`boundary: pinned` needs a revolute joint about z or y, in whose plane the beam bends")
        if self.joint.offset:
            raise clash("pinned shapes turn about the root of the beam, but `joint.offset` is not 0; use clamped-free")
        if getattr(shapes, "bending_z" if plane == "bending_y" else "bending_y"):
            raise clash(f"pinned shapes live in the plane the joint turns: only `{plane}` may be given here")

    @property
    def fields(self) -> tuple[str, ...]:
        """Fields in which the beam may deform: those with shapes, or for auto all with stiffness and mass."""
        if self.shapes is None or self.beam is None:
            return ()
        asked = tuple(field for field in _STIFFNESS_OF if getattr(self.shapes, field))
        if asked or not self.shapes.is_auto:
            return asked
        drawn = self.beam.section is not None
        stiff = (field for field, name in _STIFFNESS_OF.items() if drawn or getattr(self.beam, name) is not None)
        return tuple(field for field in stiff if field != "torsion" or self.beam.polar_inertia != 0.0)

    @property
    def amplitudes(self) -> int:
        """Number of amplitudes of the link, in all its pieces; 0 where the model will choose."""
        if self.body is not None:
            return self.body.reduced.size
        if self.shapes is None or self.beam is None:
            return 0
        return self.pieces * amplitudes(self.shapes, self.beam.shearing)

    @property
    def pieces(self) -> int:
        """Number of pieces in which it is followed: those of its beam, where that bends or is curved."""
        return self.beam.parts if self.beam is not None and (self.bends or self.beam.curved) else 1

    @property
    def bends(self) -> bool:
        """Whether its beam has amplitudes, or the model will choose them."""
        return self.shapes is not None and (self.shapes.is_auto or self.shapes.number > 0)


def tip_rotation(link: Link) -> Matrix:
    """Fixed rotation (3x3 nested list) from the end of a link's body to its tip frame.

    `R(tip_rpy)` of a rigid body, or the axes of the tip of a body from a file, then `Rx(alpha)` of a standard DH row;
    the identity for everything else.
    """
    R = rotation_rpy(link.rigid.tip_rpy) if link.rigid is not None else rotation_rpy((0.0, 0.0, 0.0))
    if link.body is not None:
        R = link.body.pose("tip")[0].tolist()
    dh = link.joint.dh
    return matmul(R, rotation_x(dh.alpha)) if dh is not None and dh.convention == "standard" else R
