"""Pliant: robot arms whose links and joints bend.

Names are imported on first use, so that a start brings in what it needs and no more.
"""

from pliant.started import STARTED as _STARTED  # noqa: F401, I001 - the time of the first import, and Ctrl-C from then on

from importlib import import_module
from typing import TYPE_CHECKING, Any

from pliant.version import VERSION

if TYPE_CHECKING:
    from pliant import (
        analysis,
        batch,
        bodies,
        control,
        export,
        gradients,
        identification,
        loads,
        rigs,
        ringing,
        robot,
        scenario,
        studies,
        sweeps,
        validation,
        view,
    )
    from pliant import environments as environments
    from pliant.batch import simulate_batch
    from pliant.dynamics import FORMULATIONS
    from pliant.errors import Interrupted, ModelError, PliantError, SimulationError, UnsupportedModel
    from pliant.gradients import gradient, gradient_batch
    from pliant.identification import Identification, Recording, identify
    from pliant.model import Model
    from pliant.ringing import shape
    from pliant.robot import (
        DH,
        MATERIALS,
        BaseBody,
        Beam,
        BeamStation,
        Cable,
        Contact,
        Coupling,
        Cushion,
        Cylinder,
        Drive,
        Expected,
        Frame,
        Friction,
        GearError,
        Hysteresis,
        Joint,
        JointAxis,
        Limits,
        LineForce,
        LineSpring,
        Link,
        Loop,
        LoopJoint,
        Lump,
        Material,
        Motor,
        Origin,
        Payload,
        Restitution,
        RigidBody,
        Robot,
        Section,
        Shapes,
        Stop,
        Surface,
        TipLoad,
        Valve,
        Visual,
        VisualCylinder,
        arms,
        load,
    )
    from pliant.runs import Event, Result, simulate
    from pliant.scenario import Scenario
    from pliant.stepping import Stepper
    from pliant.sweeps import sweep
    from pliant.validation import validate

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
    from pliant.signatures import near

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
