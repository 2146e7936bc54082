"""Frames of a robot by name, and what acts between two of them: loops, couplings and contacts.

A frame is on a link, at its tip or at a place on it, or stands still. A loop is closed by a joint between two frames, a
coupling pulls along the line between them, a contact is a sphere on the one that may touch a surface on the other.
"""

from __future__ import annotations

import casadi as ca

from pliant.algebra.rotations import SX, constant
from pliant.mechanics.links.attachments import Place
from pliant.mechanics.links.builders.build_laws import core, line_drive, line_laws, pressing
from pliant.mechanics.links.builders.link_geometry import place_at
from pliant.mechanics.links.chain import Chain, Closure, ContactMap, FrameMap, LineMap
from pliant.mechanics.links.frames import frame_of
from pliant.robot.parts.angles import rotation_rpy
from pliant.robot.parts.frames import Frame
from pliant.robot.parts.loop_joints import WORLD
from pliant.robot.symbolic_view import RobotView


def named_frames(view: RobotView) -> dict[str, FrameMap]:
    """The robot's own frames by name."""
    numbers = {body.name: number for number, body in enumerate(view.description.bodies)}
    return {frame.name: _frame(view, frame, numbers.get(frame.link)) for frame in view.frames}


def _frame(view: RobotView, frame: Frame, body: int | None) -> FrameMap:
    """A frame on body number `body`; None for a base that stands."""
    place = None
    if body is not None and frame.at != "tip":
        first = len(view.description.bodies) - len(view.links)  # 1 where the base is a body
        place = Place(None) if body < first else place_at(view.links[body - first], frame.at)
    rotation = constant(ca.blockcat(rotation_rpy(frame.origin.rpy)))
    return FrameMap(body, place, rotation, ca.SX(ca.vertcat(*frame.origin.xyz)))


def closures(view: RobotView, chain: Chain) -> tuple[Closure, ...]:
    """Loops of the robot between frames of the chain."""
    found = []
    for loop, nominal in zip(view.loops, view.description.loops):
        length: SX | None = None if nominal.joint.length is None else ca.SX(loop.joint.length)
        found.append(
            Closure(
                name=nominal.name,
                kind=nominal.joint.type,
                frames=_ends(chain, nominal.between),
                axes=nominal.joint.directions,
                length=length,
            )
        )
    return tuple(found)


def couplings(view: RobotView, chain: Chain) -> tuple[LineMap, ...]:
    """Couplings of the robot between frames of the chain."""
    return tuple(
        LineMap(
            name=coupling.name,
            frames=_ends(chain, coupling.between),
            laws=tuple(line_laws(coupling)),
            drive=line_drive(coupling),
            grounded=WORLD in coupling.between,
        )
        for coupling in view.couplings
    )


def contacts(view: RobotView, chain: Chain) -> tuple[ContactMap, ...]:
    """Contacts of the robot between frames of the chain."""
    return tuple(
        ContactMap(
            name=nominal.name,
            frames=_ends(chain, nominal.between),
            radius=contact.radius,
            core=core(contact.surface),
            law=pressing(contact, contact.exponent),
            friction=contact.friction,
            stick_speed=contact.stick_speed,
            grounded=WORLD in nominal.between,
        )
        for contact, nominal in zip(view.contacts, view.description.contacts)
    )


def _ends(chain: Chain, names: tuple[str, str]) -> tuple[FrameMap, FrameMap]:
    first, second = names
    return frame_of(chain, first), frame_of(chain, second)
