"""Pliant: robot arms whose links and joints bend.

Names are imported on first use, so that a start brings in what it needs and no more.
"""

from pliant.base.started import STARTED as _STARTED  # noqa: F401, I001 - the time of the first import, and Ctrl-C from then on

from importlib import import_module
from typing import TYPE_CHECKING, Any

from pliant.version import VERSION

if TYPE_CHECKING:
    from pliant import analysis, control, export, identification, robot, sweeps, validation, viewer as view
    from pliant.simulation import batch, gradients, scenario
    from pliant.mechanics import bodies, loads
    from pliant_studies import measured as rigs
    from pliant.control import planning as ringing
    import pliant_studies as studies
    from pliant import environments as environments
    from pliant.simulation.batch.simulate_batch import simulate_batch
    from pliant.mechanics.formulations.registry import FORMULATIONS
    from pliant.errors import Interrupted, ModelError, PliantError, SimulationError, UnsupportedModel
    from pliant.simulation.gradients.run_gradients import gradient, gradient_batch
    from pliant.identification.estimate import Identification
    from pliant.identification.recording import Recording
    from pliant.identification.fitting import identify
    from pliant.model.model import Model
    from pliant.control.planning.plan import shape
    from pliant.robot.parts.joint import DH, Joint, JointAxis, Limits, Origin
    from pliant.robot.parts.materials import MATERIALS, Material
    from pliant.robot.parts.base import BaseBody
    from pliant.robot.parts.beam import Beam
    from pliant.robot.parts.link import BeamStation, Link
    from pliant.robot.parts.couplings import Cable, Coupling, Cushion, Cylinder, LineForce, LineSpring, Valve
    from pliant.robot.parts.contacts import Contact, Surface
    from pliant.robot.parts.gear import Drive, GearError, Hysteresis
    from pliant.robot.robot import Expected, Robot
    from pliant.robot.parts.frames import Frame
    from pliant.robot.parts.friction import Friction
    from pliant.robot.parts.loops import Loop, LoopJoint
    from pliant.robot.parts.rigid_body import Lump, Payload, RigidBody
    from pliant.robot.parts.motor import Motor
    from pliant.robot.parts.stops import Restitution, Stop
    from pliant.robot.parts.sections import Section
    from pliant.robot.parts.shapes import Shapes, TipLoad
    from pliant.robot.parts.visuals import Visual, VisualCylinder
    from pliant.robot.files.robot_files import arms, load
    from pliant.simulation.runs.composition import Event
    from pliant.simulation.runs.results import Result
    from pliant.simulation.runs.simulation import simulate
    from pliant.simulation.scenario.scenario import Scenario
    from pliant.simulation.stepping.stepper import Stepper
    from pliant.sweeps.sweep import sweep
    from pliant.validation.validate import validate

__version__ = VERSION

_ROBOT = ("DH", "MATERIALS", "BaseBody", "Beam", "BeamStation", "Cable", "Contact", "Coupling", "Cushion",
          "Cylinder", "Drive", "Expected", "Frame", "Friction", "GearError", "Hysteresis", "Joint", "JointAxis",
          "Limits", "LineForce", "LineSpring", "Link", "Loop", "LoopJoint", "Lump", "Material", "Motor", "Origin",
          "Payload", "Restitution", "RigidBody", "Robot", "Section", "Shapes", "Stop", "Surface", "TipLoad", "Valve",
          "Visual", "VisualCylinder", "arms", "load")  # fmt: skip
_LATER = {
    **dict.fromkeys(("Interrupted", "ModelError", "PliantError", "SimulationError", "UnsupportedModel"), "errors"),
    **dict.fromkeys(_ROBOT, "robot"),
    **dict.fromkeys(("Event", "Result", "simulate"), "runs"),
    **dict.fromkeys(("Identification", "Recording", "identify"), "identification"),
    **dict.fromkeys(("gradient", "gradient_batch"), "gradients"),
    **{"FORMULATIONS": "dynamics", "Model": "model", "Scenario": "scenario", "simulate_batch": "batch"},
    **{"Stepper": "stepping", "shape": "ringing", "sweep": "sweeps", "validate": "validation"},
}
_ROOMS = ("analysis", "batch", "bodies", "control", "environments", "export", "gradients", "identification", "loads",
          "rigs", "ringing", "robot", "scenario", "studies", "sweeps", "validation", "view")  # fmt: skip
_INNER = (
    "dynamics",
    "errors",
    "kernels",
    "model",
    "runs",
    "shapes",
    "stepping",
)  # what the public names come from

_LEARNERS = ("jax", "torch")  # not listed: what completes names would ask for libraries that take seconds to import


def __getattr__(name: str) -> Any:
    """Imports on first use."""
    if name in _LATER:
        value = globals()[name] = getattr(import_module(f"pliant.{_LATER[name]}"), name)
        return value
    if name in (*_ROOMS, *_INNER, *_LEARNERS):
        return import_module(f"pliant.{name}")
    from pliant.base.signatures import near

    meant = near(name, __dir__())
    raise AttributeError(f"module 'pliant' has no attribute {name!r}" + (f"; did you mean {meant!r}?" if meant else ""))


def __dir__() -> list[str]:
    return [*__all__, "__version__", "environments"]


# Everything public but `environments`, which needs an extra: `from pliant import *` must work without it.
__all__ = [
    "DH",
    "FORMULATIONS",
    "MATERIALS",
    "BaseBody",
    "Beam",
    "BeamStation",
    "Cable",
    "Contact",
    "Coupling",
    "Cushion",
    "Cylinder",
    "Drive",
    "Event",
    "Expected",
    "Frame",
    "Friction",
    "GearError",
    "Hysteresis",
    "Identification",
    "Interrupted",
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
    "Model",
    "ModelError",
    "Motor",
    "Origin",
    "Payload",
    "PliantError",
    "Recording",
    "Restitution",
    "Result",
    "RigidBody",
    "Robot",
    "Scenario",
    "Section",
    "Shapes",
    "SimulationError",
    "Stepper",
    "Stop",
    "Surface",
    "TipLoad",
    "UnsupportedModel",
    "Valve",
    "Visual",
    "VisualCylinder",
    "analysis",
    "arms",
    "batch",
    "bodies",
    "control",
    "export",
    "gradient",
    "gradient_batch",
    "gradients",
    "identification",
    "identify",
    "load",
    "loads",
    "rigs",
    "ringing",
    "robot",
    "scenario",
    "shape",
    "simulate",
    "simulate_batch",
    "studies",
    "sweep",
    "sweeps",
    "validate",
    "validation",
    "view",
]
