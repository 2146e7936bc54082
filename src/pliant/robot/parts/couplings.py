"""Couplings: forces along the line between two frames, from a spring to a hydraulic cylinder."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import BeforeValidator, Field, WithJsonSchema, model_validator

from pliant.robot.files.error_messages import clash, fault
from pliant.robot.parts.drives.stops import Stop
from pliant.robot.parts.fields import Description, LinkName, NonNegative, Number, Positive, sequence
from pliant.robot.parts.loop_joints import Ends


def _two(value: object) -> list[object]:
    entries = sequence(value, "two numbers above 0")
    if len(entries) != 2:
        raise fault(f"two numbers above 0, not {len(entries)}", "of the piston's side and of the rod's side")
    return entries


_TWO = {"type": "array", "items": {"type": "number", "exclusiveMinimum": 0}, "minItems": 2, "maxItems": 2}
Sides = Annotated[tuple[Positive, Positive], BeforeValidator(_two), WithJsonSchema(_TWO)]
"""Two numbers of a cylinder: of the piston's side, which pushes, and of the rod's side."""


class LineSpring(Description):
    """A spring: it pulls by `preload + stiffness * (distance - length)`, and pushes where that is negative.

    Examples
    --------
    >>> pliant.robot.LineSpring(stiffness=2000.0, length=0.5).preload
    0.0
    """

    stiffness: Positive = Field(description="N/m, of the spring", examples=[2000.0])
    length: NonNegative = Field(description="m, distance of the frames at which it pulls by `preload`", examples=[0.5])
    preload: Number = Field(0.0, description="N, pull at `length`", examples=[20.0])


class LineForce(Description):
    """A force that drives two frames apart, or pulls them together where it is negative.

    A commanded one is an input of runs, called like its coupling, to which `value` is added.

    Examples
    --------
    >>> pliant.robot.LineForce(commanded=True).value
    0.0
    """

    value: Number = Field(0.0, description="N, constant, apart", examples=[50.0])
    commanded: bool = Field(False, description="whether runs are given a force for it", examples=[True])


class Cable(Description):
    """A cable that pulls and never pushes: `stiffness * u * (1 + damping * u')` where it is longer than `length` by u.

    Examples
    --------
    >>> pliant.robot.Cable(stiffness=1e5, length=1.2).smoothing
    0.001
    """

    stiffness: Positive = Field(description="N/m, of the cable", examples=[100000.0])
    length: Positive = Field(description="m, of the cable that carries nothing", examples=[1.2])
    damping: NonNegative = Field(
        0.0, description="s/m, part by which the pull grows per speed of lengthening", examples=[0.5]
    )
    smoothing: Positive = Field(0.001, description="m, either way, over which it becomes taut", examples=[0.001])


class Valve(Description):
    """A valve with four edges between pump, tank and the two chambers of a cylinder.

    Command 1 opens the piston's side to the pump and the rod's side to the tank, -1 the other way round, 0 closes it.
    Each edge lets `flow * opening * sqrt(drop / pressure_drop)` through.

    Examples
    --------
    >>> pliant.robot.Valve(flow=1e-3).pressure_drop
    1000000.0
    """

    flow: Positive = Field(description="m^3/s, through one edge that is wide open", examples=[0.001])
    pressure_drop: Positive = Field(1e6, description="Pa, over the edge at this flow", examples=[500000.0])
    laminar: Positive = Field(
        1e4, description="Pa, drop below which the flow goes with the drop and no longer with its root", examples=[1e4]
    )
    bandwidth: Positive | None = Field(
        None, description="Hz, at which its spool follows; without it at once", examples=[50.0]
    )


class Cushion(Stop):
    """Cushion that the piston meets at both ends of its stroke, from `length` before the end on.

    Examples
    --------
    >>> pliant.robot.Cushion(length=0.02, stiffness=1e7).damping
    5.0
    """

    length: NonNegative = Field(0.0, description="m, before the end of the stroke, where it begins", examples=[0.02])
    stiffness: Positive = Field(1e8, description="N/m, of the end", examples=[1e7])
    damping: NonNegative = Field(
        5.0, description="s/m, part by which the force grows per speed into the end", examples=[5.0]
    )


class Cylinder(Description):
    """A hydraulic cylinder: two chambers of oil, whose pressures are states of a run, and a valve, whose opening from
    -1 to 1 is an input of runs. Positive force drives the frames apart.

    `p_a' = bulk_modulus / V_a (Q_a - A_a x' - leak)`, `p_b' = bulk_modulus / V_b (Q_b + A_b x' + leak)`, with x the
    distance of the frames less `dead_length`. Pressures are above that of the surrounding air, and do not fall below 0.
    A run begins with pressures that hold the cylinder where it is.

    With `mass` the arm gets two links, NAME_barrel on a universal joint at the first frame and NAME_rod that slides in
    it, and a loop NAME_pin at the second frame; the coordinate NAME_rod is x. Where the first frame is on the last
    link, NAME_rod hangs on the second one and NAME_barrel slides on it.

    Examples
    --------
    >>> lift = pliant.robot.Cylinder(areas=[5e-3, 3e-3], stroke=0.6, dead_length=0.8, valve={"flow": 1e-3})
    >>> lift.volumes
    (0.00015, 9e-05)
    """

    areas: Sides = Field(description="m^2, of the piston: its own side, and that of the rod", examples=[[5e-3, 3e-3]])
    stroke: Positive = Field(description="m, way of the piston", examples=[0.6])
    dead_length: Positive = Field(description="m, distance of the frames where it is drawn in", examples=[0.8])
    valve: Valve = Field(description="how its command lets oil through", examples=[{"flow": 0.001}])
    supply: Positive = Field(2e7, description="Pa, pressure of the pump", examples=[2e7])
    tank: NonNegative = Field(0.0, description="Pa, pressure of the tank", examples=[0.0])
    bulk_modulus: Positive = Field(1.4e9, description="Pa, of the oil with its hoses", examples=[1.4e9])
    dead_volumes: Sides | None = Field(
        None, description="m^3, of hoses and ends on both sides; 5 % of what the stroke moves by default",
        examples=[[1e-4, 1e-4]],
    )  # fmt: skip
    leakage: NonNegative = Field(0.0, description="m^3/s/Pa, past the piston", examples=[1e-13])
    cushion: Cushion = Field(Cushion(), description="at both ends of the stroke", examples=[{"length": 0.02}])
    mass: Sides | None = Field(
        None, description="kg, of barrel and rod, uniform bars of `dead_length`, which become links; without it none",
        examples=[[14.0, 9.0]],
    )  # fmt: skip

    @model_validator(mode="after")
    def _check(self) -> Self:
        a, b = self.areas
        if b > a:
            raise clash(
                f"`areas` {a:g}, {b:g}: the rod takes area away, so that the second is the smaller; exchange them"
            )
        if self.tank >= self.supply:
            raise clash(f"`tank` {self.tank:g} Pa is not below `supply` {self.supply:g} Pa")
        if 2 * self.cushion.length >= self.stroke:
            raise clash(
                f"two cushions of `length` {self.cushion.length:g} leave nothing of the `stroke` {self.stroke:g}"
            )
        return self

    @property
    def volumes(self) -> tuple[float, float]:
        """Volumes of hoses and ends on both sides, m^3."""
        if self.dead_volumes is not None:
            return self.dead_volumes
        return DEAD * self.areas[0] * self.stroke, DEAD * self.areas[1] * self.stroke


DEAD = 0.05
"""Volume of hoses and ends over the volume that a stroke moves, by default."""


class Coupling(Description):
    """Forces along the line between two frames: one or several of spring, damper, force, cable and cylinder.

    Examples
    --------
    >>> pliant.robot.Coupling(name="strut", between=["boom", "base"], damping=300.0).kinds
    ('damping',)
    """

    name: LinkName = Field(description="letters, digits and _", examples=["lift"])
    between: Ends = Field(
        description="frames: names of `frames`, NAME.tip and NAME.root of links, tip, base, world",
        examples=[["boom_pin", "base"]],
    )
    spring: LineSpring | None = Field(
        None, description="that pulls and pushes", examples=[{"stiffness": 2000.0, "length": 0.5}]
    )
    damping: NonNegative = Field(0.0, description="N s/m, of a damper", examples=[300.0])
    force: LineForce | None = Field(None, description="constant, or commanded", examples=[{"commanded": True}])
    cable: Cable | None = Field(None, description="that pulls", examples=[{"stiffness": 1e5, "length": 1.2}])
    cylinder: Cylinder | None = Field(
        None, description="hydraulic, with its valve",
        examples=[{"areas": [5e-3, 3e-3], "stroke": 0.6, "dead_length": 0.8, "valve": {"flow": 0.001}}],
    )  # fmt: skip

    @model_validator(mode="after")
    def _check(self) -> Self:
        if not self.kinds:
            raise clash("nothing acts there; give `spring`, `damping`, `force`, `cable` or `cylinder`")
        if self.cylinder is not None and self.force is not None and self.force.commanded:
            raise clash("`force` and `cylinder` are both commanded; put one of them in a coupling of its own")
        return self

    @property
    def kinds(self) -> tuple[str, ...]:
        """Keys of the forces that it is made of."""
        return tuple(kind for kind in ("spring", "damping", "force", "cable", "cylinder") if getattr(self, kind))

    @property
    def commanded(self) -> bool:
        """Whether runs are given something for it."""
        return self.cylinder is not None or (self.force is not None and self.force.commanded)

    @property
    def heavy(self) -> bool:
        """Whether it is a cylinder whose halves become links."""
        return self.cylinder is not None and self.cylinder.mass is not None
