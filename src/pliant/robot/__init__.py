"""The description of an arm: frozen, checked, readable from and writable to files."""

from typing import TYPE_CHECKING

from pliant.base.later import later
from pliant.robot.description import Expected
from pliant.robot.files.robot_files import arms
from pliant.robot.parts.base import BaseBody
from pliant.robot.parts.beam import Beam, beam_properties
from pliant.robot.parts.bodies.imported_body import ImportedBody
from pliant.robot.parts.bodies.rigid_body import Lump, Payload, RigidBody
from pliant.robot.parts.bodies.visuals import Visual, VisualCylinder
from pliant.robot.parts.contacts import Contact, Surface
from pliant.robot.parts.couplings import Cable, Coupling, Cushion, Cylinder, LineForce, LineSpring, Valve
from pliant.robot.parts.cross_sections.sections import Section, area_moments
from pliant.robot.parts.drives.friction import Friction
from pliant.robot.parts.drives.gear import Drive, GearError, Hysteresis
from pliant.robot.parts.drives.motor import Motor
from pliant.robot.parts.drives.stops import Restitution, Stop
from pliant.robot.parts.frames import Frame
from pliant.robot.parts.joint import DH, Joint, JointAxis, Limits, Origin
from pliant.robot.parts.link import BeamStation, BodyFrame, Link
from pliant.robot.parts.loop_joints import Loop, LoopJoint
from pliant.robot.parts.materials import MATERIALS, Material
from pliant.robot.parts.shapes import Shapes, TipLoad

if TYPE_CHECKING:
    from pliant.mechanics import FORMULATIONS
    from pliant.model.robot import Robot, load, parse, schema

_HIGHER = {
    "FORMULATIONS": "pliant.mechanics",
    **dict.fromkeys(("Robot", "load", "parse", "schema"), "pliant.model.robot"),
}
__getattr__ = later(__name__, _HIGHER)

__all__ = [
    "DH",
    "FORMULATIONS",
    "MATERIALS",
    "BaseBody",
    "Beam",
    "BeamStation",
    "BodyFrame",
    "Cable",
    "Contact",
    "Coupling",
    "Cushion",
    "Cylinder",
    "Drive",
    "Expected",
    "Frame",
    "Friction",
    "GearError",
    "Hysteresis",
    "ImportedBody",
    "Joint",
    "JointAxis",
    "Limits",
    "LineForce",
    "LineSpring",
    "Link",
    "Loop",
    "LoopJoint",
    "Lump",
    "Material",
    "Motor",
    "Origin",
    "Payload",
    "Restitution",
    "RigidBody",
    "Robot",
    "Section",
    "Shapes",
    "Stop",
    "Surface",
    "TipLoad",
    "Valve",
    "Visual",
    "VisualCylinder",
    "area_moments",
    "arms",
    "beam_properties",
    "load",
    "parse",
    "schema",
]
