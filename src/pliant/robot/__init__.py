"""The description of an arm: frozen, checked, readable from and writable to files."""

from pliant.robot.angles import rotation_rpy
from pliant.robot.base_body import BaseBody
from pliant.robot.beam import Beam, BeamProperties, Profile, beam_properties
from pliant.robot.closed_loops import Loop, LoopJoint
from pliant.robot.contacts import Contact, Surface
from pliant.robot.couplings import Cable, Coupling, Cushion, Cylinder, LineForce, LineSpring, Valve
from pliant.robot.discretisation import FIELDS, Shapes, TipLoad
from pliant.robot.fields import FORMAT
from pliant.robot.files import arms, load, parse, save
from pliant.robot.gear import Drive, GearError, Hysteresis
from pliant.robot.imported_body import ImportedBody
from pliant.robot.joint import (
    DH,
    Freedom,
    Joint,
    JointAxis,
    Limits,
    Origin,
    origin_transform,
    tip_rotation,
)
from pliant.robot.link import BeamStation, BodyFrame, Link
from pliant.robot.lumps import Lump, Payload, RigidBody, inertia_matrix
from pliant.robot.materials import MATERIALS, Material
from pliant.robot.motor import Motor
from pliant.robot.named_frames import Frame
from pliant.robot.pieces import BeamPiece, at_fraction, in_one_piece, in_pieces, pieces
from pliant.robot.reduced_body import ReducedBody
from pliant.robot.robot import Expected, Robot, schema
from pliant.robot.rubbing import Friction
from pliant.robot.section_formulas import AreaMoments
from pliant.robot.sections import Section, area_moments, shear_coefficients, tapered_moments
from pliant.robot.stops import Restitution, Stop
from pliant.robot.symbols import RobotView, View
from pliant.robot.text_table import beam_mass, falls, hangs_on, link_mass, payload_mass, robot_mass
from pliant.robot.tree import BASE, beyond, parents
from pliant.robot.urdf_meshes import UrdfMesh, urdf_meshes
from pliant.robot.visuals import Visual, VisualCylinder

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
