"""The description of an arm: frozen, checked, readable from and writable to files."""

from typing import TYPE_CHECKING

from pliant.base.later import later
from pliant.robot.description import Expected
from pliant.robot.files.robot_files import arms, save
from pliant.robot.files.text_table import falls, hangs_on
from pliant.robot.files.urdf_meshes import UrdfMesh, urdf_meshes
from pliant.robot.mass_sum import beam_mass, link_mass, payload_mass, robot_mass
from pliant.robot.parts.angles import rotation_rpy
from pliant.robot.parts.base import BaseBody
from pliant.robot.parts.beam import Beam, BeamProperties, Profile, beam_properties
from pliant.robot.parts.bodies.imported_body import ImportedBody
from pliant.robot.parts.bodies.reduced_body import ReducedBody
from pliant.robot.parts.bodies.rigid_body import Lump, Payload, RigidBody, inertia_matrix
from pliant.robot.parts.bodies.visuals import Visual, VisualCylinder
from pliant.robot.parts.contacts import Contact, Surface
from pliant.robot.parts.couplings import Cable, Coupling, Cushion, Cylinder, LineForce, LineSpring, Valve
from pliant.robot.parts.cross_sections.section_formulas import AreaMoments
from pliant.robot.parts.cross_sections.sections import Section, area_moments, shear_coefficients, tapered_moments
from pliant.robot.parts.drives.friction import Friction
from pliant.robot.parts.drives.gear import Drive, GearError, Hysteresis
from pliant.robot.parts.drives.motor import Motor
from pliant.robot.parts.drives.stops import Restitution, Stop
from pliant.robot.parts.fields import FORMAT
from pliant.robot.parts.frames import Frame
from pliant.robot.parts.joint import DH, Freedom, Joint, JointAxis, Limits, Origin, origin_transform
from pliant.robot.parts.link import BeamStation, BodyFrame, Link, tip_rotation
from pliant.robot.parts.loop_joints import Loop, LoopJoint
from pliant.robot.parts.materials import MATERIALS, Material
from pliant.robot.parts.shapes import FIELDS, Shapes, TipLoad
from pliant.robot.pieces import BeamPiece, at_fraction, in_one_piece, in_pieces, pieces
from pliant.robot.symbolic_view import RobotView, View
from pliant.robot.tree import BASE, beyond, parents

if TYPE_CHECKING:
    from pliant.model.robot import Robot, load, parse, schema

__getattr__ = later(__name__, dict.fromkeys(("Robot", "load", "parse", "schema"), "pliant.model.robot"))

__all__ = [
    "BASE",
    "DH",
    "FIELDS",
    "FORMAT",
    "MATERIALS",
    "AreaMoments",
    "BaseBody",
    "Beam",
    "BeamPiece",
    "BeamProperties",
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
    "Freedom",
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
    "Profile",
    "ReducedBody",
    "Restitution",
    "RigidBody",
    "Robot",
    "RobotView",
    "Section",
    "Shapes",
    "Stop",
    "Surface",
    "TipLoad",
    "UrdfMesh",
    "Valve",
    "View",
    "Visual",
    "VisualCylinder",
    "area_moments",
    "arms",
    "at_fraction",
    "beam_mass",
    "beam_properties",
    "beyond",
    "falls",
    "hangs_on",
    "in_one_piece",
    "in_pieces",
    "inertia_matrix",
    "link_mass",
    "load",
    "origin_transform",
    "parents",
    "parse",
    "payload_mass",
    "pieces",
    "robot_mass",
    "rotation_rpy",
    "save",
    "schema",
    "shear_coefficients",
    "tapered_moments",
    "tip_rotation",
    "urdf_meshes",
]
