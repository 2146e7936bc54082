"""Pliant: robot arms whose links and joints bend.

What describes and computes an arm is imported at once; the rest of the house on first use, so that `import pliant`
stays light.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from pliant.dynamics import FORMULATIONS
from pliant.errors import ModelError, PliantError, SimulationError, UnsupportedModel
from pliant.model import Model
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
from pliant.runs import Event, Result, simulate

if TYPE_CHECKING:
    from pliant import analysis, control, loads
    from pliant.identification import Identification, Recording, identify
    from pliant.scenario import Scenario
    from pliant.sweeps import sweep

__version__ = "0.1.0"

_LATER = {
    "Scenario": "pliant.scenario",
    "simulate_batch": "pliant.batch",
    "Identification": "pliant.identification",
    "Recording": "pliant.identification",
    "identify": "pliant.identification",
    "sweep": "pliant.sweeps",
}
_ROOMS = ("analysis", "control", "loads", "view", "studies", "environments", "sweeps", "export", "identification")


def __getattr__(name: str) -> Any:
    """Imports on first use what is not needed to describe, compute and run one arm."""
    if name in _LATER:
        return getattr(import_module(_LATER[name]), name)
    if name in _ROOMS:
        return import_module(f"pliant.{name}")
    raise AttributeError(f"module 'pliant' has no attribute {name!r}")


__all__ = [
    "DH",
    "FORMULATIONS",
    "Beam",
    "Drive",
    "Event",
    "Friction",
    "Identification",
    "Joint",
    "Limits",
    "Link",
    "Lump",
    "Material",
    "Model",
    "ModelError",
    "Origin",
    "PliantError",
    "Recording",
    "Result",
    "RigidBody",
    "Robot",
    "Scenario",
    "Section",
    "Shapes",
    "SimulationError",
    "TipLoad",
    "UnsupportedModel",
    "analysis",
    "arms",
    "control",
    "identify",
    "load",
    "loads",
    "simulate",
    "sweep",
]
