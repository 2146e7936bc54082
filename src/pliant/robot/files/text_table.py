"""A robot as a table of text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pliant.robot.mass_sum import link_mass, payload_mass, robot_mass
from pliant.robot.parts.link import BeamStation, BodyFrame
from pliant.robot.parts.shapes import FIELDS, Shapes
from pliant.robot.tree import BASE, parents

if TYPE_CHECKING:
    from pliant.robot.description import RobotDescription
    from pliant.robot.parts.link import Link

_HEAD = ("link", "joint", "body", "length", "mass", "shapes")


def falls(robot: RobotDescription) -> bool:
    """Whether its base is free and gravity acts on it."""
    return robot.base.is_free and any(robot.gravity)


def table(robot: RobotDescription) -> str:
    """Links, joints, masses and shapes, one line per link; where they hang, if that is not each on the tip before."""
    rows = [_HEAD, *(_row(link) for link in robot.bodies)]
    if any(link.parent is not None or link.at != "tip" for link in robot.links):
        flying = ["-"] if robot.base.is_free else []
        rows = [(*row, where) for row, where in zip(rows, ("hangs on", *flying, *hangs_on(robot)))]
    widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in rows]
    lines.insert(1, "  ".join("-" * width for width in widths))
    gravity = ", ".join(f"{entry:g}" for entry in robot.gravity)
    foot = f"gravity [{gravity}] m/s^2, payload {payload_mass(robot):g} kg, {robot_mass(robot):.4g} kg in all"
    if falls(robot):
        foot += "; the free base falls under this gravity"
    loops = [f"loop {loop.name}: {loop.joint.type} between {' and '.join(loop.between)}" for loop in robot.loops]
    couplings = [
        f"coupling {one.name}: {', '.join(one.kinds)} between {' and '.join(one.between)}" for one in robot.couplings
    ]
    contacts = [f"contact {one.name}: sphere at {one.frame} and {one.touches}" for one in robot.contacts]
    return "\n".join([robot.name, *lines, foot, *loops, *couplings, *contacts])


def hangs_on(robot: RobotDescription) -> list[str]:
    """Place that each link hangs on, in words."""
    found = []
    for link, parent in zip(robot.links, parents(robot.links)):
        if parent is None:
            found.append(BASE)
        else:
            place = link.at if isinstance(link.at, str) else _at(link.at)
            found.append(f"{robot.links[parent].name} {place}")
    return found


def _at(place: BeamStation | BodyFrame) -> str:
    return place.frame if isinstance(place, BodyFrame) else f"at {place.x:g} m"


def _row(link: Link) -> tuple[str, ...]:
    return (
        link.name,
        _joint(link),
        _body(link),
        f"{_length(link):.4g} m",
        f"{link_mass(link):.4g} kg",
        _deforms(link) + (f", in {link.pieces} pieces" if link.pieces > 1 and link.bends else ""),
    )


def _joint(link: Link) -> str:
    joint = link.joint
    names = {(1.0, 0.0, 0.0): "x", (0.0, 1.0, 0.0): "y", (0.0, 0.0, 1.0): "z"}
    axes = dict.fromkeys(names.get(freedom.axis, "skew") for freedom in joint.freedoms)
    return f"{joint.type} {' '.join(axes)}{', flexible' if joint.flexible else ''}" if joint.moves else "fixed"


def _body(link: Link) -> str:
    if link.body is not None:
        return "body"
    if link.beam is None:
        return "rigid"
    kind = "sliding beam" if link.beam.slides else "curved beam" if link.beam.curved else "beam"
    return kind if link.bends else f"rigid {kind}"


def _length(link: Link) -> float:
    if link.beam is not None:
        return link.beam.length
    if link.body is not None:
        return link.body.length
    return sum(entry**2 for entry in link.rigid.tip) ** 0.5 if link.rigid is not None else 0.0


def _deforms(link: Link) -> str:
    if link.body is None or not link.body.reduced.size:
        return _shapes(link.shapes)
    return f"{link.body.reduced.size} coordinates"


def _shapes(shapes: Shapes | None) -> str:
    if shapes is not None and shapes.is_auto:
        return "auto"
    if shapes is None or not shapes.number:
        return "-"
    if shapes.method == "elements":
        reduced = f" reduced to {shapes.reduce} each" if shapes.reduce is not None else ""
        return f"{shapes.count} elements ({', '.join(name for name in FIELDS if getattr(shapes, name))}){reduced}"
    counts = ", ".join(f"{getattr(shapes, name)} {name}" for name in FIELDS if getattr(shapes, name))
    return f"{counts}, {shapes.boundary or 'clamped'}"
