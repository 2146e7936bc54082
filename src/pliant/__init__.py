"""Pliant: robot arms whose links and joints bend."""

from pliant.dynamics import FORMULATIONS
from pliant.errors import ModelError, PliantError, SimulationError, UnsupportedModel
from pliant.model import Model
from pliant.results import Result
from pliant.robot import (
    DH,
    Beam,
    Drive,
    Friction,
    Joint,
    Limits,
    Link,
    Lump,
    Material,
    Origin,
    RigidBody,
    Robot,
    Section,
    Shapes,
    TipLoad,
    arms,
    load,
)
from pliant.scenario import Scenario
from pliant.simulation import Event, simulate

__version__ = "0.1.0"

__all__ = [
    "DH",
    "FORMULATIONS",
    "Beam",
    "Drive",
    "Event",
    "Friction",
    "Joint",
    "Limits",
    "Link",
    "Lump",
    "Material",
    "Model",
    "ModelError",
    "Origin",
    "PliantError",
    "Result",
    "RigidBody",
    "Robot",
    "Scenario",
    "Section",
    "Shapes",
    "SimulationError",
    "TipLoad",
    "UnsupportedModel",
    "arms",
    "load",
    "simulate",
]
