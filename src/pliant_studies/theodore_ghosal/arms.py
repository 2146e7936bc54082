"""Arms of [TG95]: the RRP arm of Table 3 in several readings, those of Table 2, and a planar arm with an elbow."""

from __future__ import annotations

from collections.abc import Callable

from pliant.model.robot import Robot, load
from pliant.robot.parts.beam import Beam
from pliant.robot.parts.bodies.rigid_body import Lump, RigidBody
from pliant.robot.parts.joint import Joint, Limits, Origin
from pliant.robot.parts.link import Link
from pliant.robot.parts.shapes import Shapes, TipLoad

EI, RHO_A, LINK_3, PAYLOAD = 1165.4916, 0.331, 0.4303, 0.0828
BEAM = Beam(length=1.0, mass_per_length=RHO_A, EI_y=EI, EI_z=EI)
SLIDING = Beam(length=1.0, mass_per_length=RHO_A, EI_y=EI, EI_z=EI, slides=True, total_length=1.3)
PLANAR = {
    "modes": Shapes(boundary="clamped-free", bending_y=2),
    "elements": Shapes(method="elements", count=2, bending_y=True),
}
_SHAPES = ("links.boom.shapes", "links.slide.shapes")


# ------------------------------------------------------------------------------------------------------ RRP arm


def with_modes(count: int = 2, inertia: bool = True) -> Robot:
    """RRP arm with clamped-mass modes; those of link 2 know the mass of link 3 and, with `inertia`, J_L and M_DL."""
    point = TipLoad(mass=LINK_3 + PAYLOAD)
    boom = Shapes(boundary="clamped-mass", tip_load="auto" if inertia else point, bending_y=count, bending_z=count)
    slide = Shapes(boundary="clamped-mass", tip_load=TipLoad(mass=PAYLOAD), bending_y=count, bending_z=count)
    return load("rrp").replace({"links.boom.shapes": boom, "links.slide.shapes": slide})


def with_elements(count: int = 2) -> Robot:
    """RRP arm with finite elements on both links."""
    return load("rrp").replace(
        dict.fromkeys(_SHAPES, Shapes(method="elements", count=count, bending_y=True, bending_z=True))
    )


def readings() -> dict[str, Robot]:
    """Geometries that agree with the paper's figure of the arm; its Denavit-Hartenberg table is not printed."""
    arm = with_modes()
    return {
        "square, alpha2 = +90 deg": arm,
        "square, alpha2 = -90 deg": arm.replace({"links.boom.joint.dh.alpha": "-pi/2"}),
        "in line": arm.replace({"links.boom.joint.dh.alpha": 0.0, "links.slide.joint.origin.rpy": (0, 0, 0)}),
    }


def single(shapes: Shapes, hub: float = 0.0) -> Robot:
    """Link 2 alone on a revolute joint."""
    joint = Joint(hub=Lump(inertia=(0.0, 0.0, hub)))
    return Robot(name="one link", gravity=(0, 0, 0), links=[Link(name="link", joint=joint, beam=BEAM, shapes=shapes)])


# ------------------------------------------------------------------------------------------- planar arm with an elbow

ELBOW_LIMITS = (None, Limits(lower=-0.1, upper=0.6), Limits(lower=-0.1, upper=2.5))


def elbow_arm(kind: str, count: int = 2) -> Robot:
    """Planar 3R arm of three such beams, [TG95] section 2.1.1: J_L and M_DL of link 1 change with joints 2 and 3.

    `kind` is the load for which the modes of links 1 and 2 are computed: "followed" (the current load), "straight"
    (that of the straight arm), "point" (the mass alone); or "elements".
    """

    def shapes(place: int) -> Shapes:
        if kind == "elements":
            return Shapes(method="elements", count=count, bending_y=True)
        if kind == "point":
            return Shapes(boundary="clamped-mass", tip_load=TipLoad(mass=(2 - place) * RHO_A + PAYLOAD),
                          bending_y=count)  # fmt: skip
        tip = "track" if kind == "followed" and place < 2 else "auto"
        return Shapes(boundary="clamped-mass", tip_load=tip, bending_y=count)

    links = [
        Link(name=f"link{k + 1}", joint=Joint(limits=limits), beam=BEAM, shapes=shapes(k))
        for k, limits in enumerate(ELBOW_LIMITS)
    ]
    return Robot(name=f"planar 3R arm, {kind}", gravity=(0, 0, 0), links=links, payload=Lump(mass=PAYLOAD))


# ------------------------------------------------------------------------------------------------------- Table 2


def _turning(name: str, shapes: Shapes) -> Link:
    return Link(name=name, beam=BEAM, shapes=shapes)


def _sliding(name: str, shapes: Shapes) -> Link:
    joint = Joint(type="prismatic", axis=(1, 0, 0), origin=Origin(rpy=(0, 0, "pi/2")))
    return Link(name=name, joint=joint, beam=SLIDING, shapes=shapes)


def _column() -> Link:
    body = RigidBody(mass=3.7, com=(0, 0, 0.05), inertia=(0.3, 0.3, 0.3), tip=(0, 0, 0.1), tip_rpy=("pi/2", 0, 0))
    return Link(name="column", rigid=body)


def _arms(name: str, make: Callable[[Shapes], list[Link]], payload: float = 0.0) -> dict[str, Robot]:
    return {
        kind: Robot(name=f"{name}, {kind}", gravity=(0, 0, 0), links=make(shapes), payload=Lump(mass=payload))
        for kind, shapes in PLANAR.items()
    }


ARMS: dict[str, Callable[[], dict[str, Robot]]] = {
    "RR": lambda: _arms("RR", lambda s: [_turning("inner", s), _turning("outer", s)]),
    "RRR": lambda: _arms("RRR", lambda s: [_column(), _turning("inner", s), _turning("outer", s)]),
    "RR with payload": lambda: _arms("RR", lambda s: [_turning("inner", s), _turning("outer", s)], PAYLOAD),
    "RP": lambda: _arms("RP", lambda s: [_turning("inner", s), _sliding("outer", s)]),
    "RRP": lambda: {"modes": with_modes(2, False), "elements": with_elements()},
}
"""Both versions of each arm, by the names of Table 2."""
REVOLUTE = ("RR", "RRR", "RR with payload")
