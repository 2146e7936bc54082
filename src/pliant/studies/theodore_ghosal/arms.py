"""Arms of Table 2 of [TG95]: RR, RRR, RP, RRP, with two modes or two elements a flexible link."""

from __future__ import annotations

from collections.abc import Callable

from pliant.robot import Beam, Joint, Link, Lump, Origin, RigidBody, Robot, Shapes, load

BEAM = Beam(length=1.0, mass_per_length=0.331, EI_y=1165.4916, EI_z=1165.4916)
SLIDING = Beam(length=1.0, mass_per_length=0.331, EI_y=1165.4916, EI_z=1165.4916, slides=True, total_length=1.3)
PLANAR = {"modes": Shapes(bending_y=2), "elements": Shapes(method="elements", count=2, bending_y=True)}
SPATIAL = Shapes(method="elements", count=2, bending_y=True, bending_z=True)


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


def _rrp() -> dict[str, Robot]:
    arm = load("rrp")
    return {"modes": arm, "elements": arm.replace({"links.boom.shapes": SPATIAL, "links.slide.shapes": SPATIAL})}


ARMS: dict[str, Callable[[], dict[str, Robot]]] = {
    "RR": lambda: _arms("RR", lambda s: [_turning("inner", s), _turning("outer", s)]),
    "RRR": lambda: _arms("RRR", lambda s: [_column(), _turning("inner", s), _turning("outer", s)]),
    "RP": lambda: _arms("RP", lambda s: [_turning("inner", s), _sliding("outer", s)]),
    "RRP": _rrp,
    "RR with payload": lambda: _arms("RR", lambda s: [_turning("inner", s), _turning("outer", s)], 0.0828),
}
"""Both versions of each arm, by the names of Table 2."""
