"""Pliant: robot arms whose links and joints bend.

Names are imported on first use, so that a start brings in what it needs and no more.
"""

from pliant.base.started import STARTED as _STARTED  # noqa: F401, I001 - the time of the first import, and Ctrl-C from then on

from importlib import import_module
from typing import TYPE_CHECKING, Any

from pliant.base.later import alias_modules as _alias_modules
from pliant.base.later import provide as _provide
from pliant.version import VERSION

if TYPE_CHECKING:
    import pliant_studies as studies
    from pliant import analysis, control, export, identification, robot, sweeps, validation
    from pliant import environments as environments
    from pliant import viewer as view
    from pliant.control import planning as ringing
    from pliant.control.planning import shape
    from pliant.errors import Interrupted, ModelError, PliantError, SimulationError, UnsupportedModel
    from pliant.identification import Identification, Recording, identify
    from pliant.mechanics import FORMULATIONS, bodies, loads
    from pliant.model import Model
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
    from pliant.simulation import batch, gradients, scenario
    from pliant.simulation.batch import simulate_batch
    from pliant.simulation.gradients import gradient, gradient_batch
    from pliant.simulation.runs import Event, Result, simulate
    from pliant.simulation.scenario import Scenario
    from pliant.simulation.stepper import Stepper
    from pliant.sweeps import sweep
    from pliant.validation import validate
    from pliant_studies import measured as rigs

__version__ = VERSION

_ROBOT = ("DH", "MATERIALS", "BaseBody", "Beam", "BeamStation", "Cable", "Contact", "Coupling", "Cushion",
          "Cylinder", "Drive", "Expected", "Frame", "Friction", "GearError", "Hysteresis", "Joint", "JointAxis",
          "Limits", "LineForce", "LineSpring", "Link", "Loop", "LoopJoint", "Lump", "Material", "Motor", "Origin",
          "Payload", "Restitution", "RigidBody", "Robot", "Section", "Shapes", "Stop", "Surface", "TipLoad", "Valve",
          "Visual", "VisualCylinder", "arms", "load")  # fmt: skip
_LATER = {
    **dict.fromkeys(("Interrupted", "ModelError", "PliantError", "SimulationError", "UnsupportedModel"), "errors"),
    **dict.fromkeys(_ROBOT, "robot"),
    **dict.fromkeys(("Event", "Result", "simulate"), "simulation.runs"),
    **dict.fromkeys(("Identification", "Recording", "identify"), "identification"),
    **dict.fromkeys(("gradient", "gradient_batch"), "simulation.gradients"),
    **{"FORMULATIONS": "mechanics", "Model": "model", "Scenario": "simulation.scenario"},
    **{"simulate_batch": "simulation.batch", "Stepper": "simulation.stepper", "shape": "control.planning"},
    **{"sweep": "sweeps", "validate": "validation"},
}
_ROOMS = ("analysis", "batch", "bodies", "control", "environments", "export", "gradients", "identification", "loads",
          "rigs", "ringing", "robot", "scenario", "studies", "sweeps", "validation", "view")  # fmt: skip
_INNER = ("compute", "errors", "mechanics", "model", "simulation")
"""Modules that can be reached as attributes of `pliant`: public rooms, then inner ones."""
_LEARNERS = ("jax", "torch")  # not listed: what completes names would ask for libraries that take seconds to import

_alias_modules(
    {
        "pliant.batch": "pliant.simulation.batch",
        "pliant.bodies": "pliant.mechanics.bodies",
        "pliant.gradients": "pliant.simulation.gradients",
        "pliant.jax": "pliant.learning.jax",
        "pliant.loads": "pliant.mechanics.loads",
        "pliant.rigs": "pliant_studies.measured",
        "pliant.ringing": "pliant.control.planning",
        "pliant.scenario": "pliant.simulation.scenario",
        "pliant.studies": "pliant_studies",
        "pliant.torch": "pliant.learning.torch",
        "pliant.view": "pliant.viewer",
    }
)
_provide(
    {
        "compare": "pliant.figures.comparison",
        "mjcf_text": "pliant.export.mjcf",
        "model_html": "pliant.viewer.notebook",
        "plot": "pliant.figures.plots",
        "result_html": "pliant.viewer.notebook",
        "robot_html": "pliant.viewer.notebook",
        "to_html": "pliant.viewer.page",
        "to_video": "pliant.viewer.video",
    }
)


def __getattr__(name: str) -> Any:
    """Imports on first use."""
    if name in _LATER:
        value = globals()[name] = getattr(import_module(f"pliant.{_LATER[name]}"), name)
        return value
    if name in (*_ROOMS, *_INNER, *_LEARNERS):
        return import_module(f"pliant.{name}")
    if name.startswith("_"):  # asked by tools that look at every module
        raise AttributeError(f"module 'pliant' has no attribute {name!r}")
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
