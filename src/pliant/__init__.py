"""Pliant: robot arms whose links and joints bend.

    arm = pliant.load("arm.yaml")                    # or a URDF; or Robot(name=..., links=[...])
    model = arm.model()                              # equations of motion, compiled on first use
    run = pliant.simulate(model, 3.0, q0=[0.5, 0], torque=[10, 0])
    run.to_html("run.html")

Describe     load, Robot, Link, Joint, Beam, Section, Material, Shapes, RigidBody, Payload, Frame
             pliant.robot: drives, motors, friction, loops, hydraulics, contacts; pliant.bodies: links from meshes
Compute      Model: forward_dynamics, inverse_dynamics, energy, equilibrium, frequencies, modes, linearize, ...
Run          simulate -> Result; simulate_batch, Stepper, Scenario, Event; pliant.loads
Control      pliant.control: trajectories, controllers, sensors, filters; plan -> a motion without residual vibration
             (pliant.planning: its files and figures)
Analyze      pliant.analysis; gradient, pliant.gradients: derivatives of runs; sweep: many points
Measure      identify, validate; pliant.identification: Recording
Show         Result.plot, Result.to_html; pliant.view
Hand on      pliant.export: C, FMU, CUDA, Python, CasADi, LaTeX; pliant.environments: Gymnasium
Errors       PliantError: ModelError, UnsupportedModel, SimulationError; Interrupted

`help` of any of these, such as help(pliant.Beam), shows units, defaults and an example.
On the command line: pliant --help.
"""

from pliant.base.started import STARTED as _STARTED  # noqa: F401, I001 - the time of the first import, and Ctrl-C from then on

from importlib import import_module
from typing import TYPE_CHECKING, Any

from pliant.base.later import alias_modules as _alias_modules
from pliant.base.later import provide as _provide
from pliant.version import VERSION

# Names are imported on first use, so that a start brings in what it needs and no more.

if TYPE_CHECKING:
    from pliant import analysis, control, export, identification, robot
    from pliant import environments as environments
    from pliant import sweeps as sweeps
    from pliant import validation as validation
    from pliant import viewer as view
    from pliant.control import planning
    from pliant.control.planning import plan
    from pliant.errors import Interrupted, ModelError, PliantError, SimulationError, UnsupportedModel
    from pliant.identification import identify
    from pliant.mechanics import bodies, loads
    from pliant.model import Model
    from pliant.robot import (
        Beam,
        Frame,
        Joint,
        Link,
        Material,
        Payload,
        RigidBody,
        Robot,
        Section,
        Shapes,
        load,
    )
    from pliant.simulation import batch as batch
    from pliant.simulation import gradients
    from pliant.simulation import scenario as scenario
    from pliant.simulation.batch import simulate_batch
    from pliant.simulation.gradients import gradient
    from pliant.simulation.runs import Event, Result, simulate
    from pliant.simulation.scenario import Scenario
    from pliant.simulation.stepper import Stepper
    from pliant.sweeps import sweep
    from pliant.validation import validate

__version__ = VERSION

_NAMES = {
    "robot": "load Robot Link Joint Beam Section Material Shapes RigidBody Payload Frame",
    "model": "Model",
    "simulation.runs": "simulate Result Event",
    "simulation.batch": "simulate_batch",
    "simulation.stepper": "Stepper",
    "simulation.gradients": "gradient",
    "simulation.scenario": "Scenario",
    "control.planning": "plan",
    "sweeps": "sweep",
    "identification": "identify",
    "validation": "validate",
    "errors": "PliantError ModelError SimulationError UnsupportedModel Interrupted",
}
"""Public names, by the module that has them."""
_LATER = {name: module for module, names in _NAMES.items() for name in names.split()}
_ROOMS = ("analysis", "bodies", "control", "environments", "export", "gradients", "identification", "loads", "planning",
          "robot", "view")  # fmt: skip
"""Public modules."""
_INNER = ("batch", "compute", "errors", "mechanics", "model", "scenario", "simulation", "sweeps",
          "validation")  # fmt: skip
"""Modules that can be reached as attributes of `pliant`, and are not listed."""
_LEARNERS = ("jax", "torch")  # not listed: what completes names would ask for libraries that take seconds to import

_alias_modules(
    {
        "pliant.batch": "pliant.simulation.batch",
        "pliant.bodies": "pliant.mechanics.bodies",
        "pliant.gradients": "pliant.simulation.gradients",
        "pliant.jax": "pliant.learning.jax",
        "pliant.loads": "pliant.mechanics.loads",
        "pliant.planning": "pliant.control.planning",
        "pliant.scenario": "pliant.simulation.scenario",
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

    for room in ("robot", "identification", "gradients", "model"):
        if name in import_module(f"pliant.{room}").__all__:
            raise AttributeError(f"module 'pliant' has no attribute {name!r}; did you mean pliant.{room}.{name}?")
    meant = near(name, __dir__())
    raise AttributeError(f"module 'pliant' has no attribute {name!r}" + (f"; did you mean {meant!r}?" if meant else ""))


def __dir__() -> list[str]:
    if _asked_by("pydoc"):
        return []  # `help(pliant)` is the text above; members have their own help
    return [*__all__, "__version__", "environments"]


def _asked_by(module: str) -> bool:
    """Return True if a function of a module is among the callers."""
    from inspect import currentframe

    frame = currentframe()
    while frame is not None and frame.f_globals.get("__name__") != module:
        frame = frame.f_back
    return frame is not None


# Everything public but `environments`, which needs an extra: `from pliant import *` must work without it.
__all__ = [
    "Beam",
    "Event",
    "Frame",
    "Interrupted",
    "Joint",
    "Link",
    "Material",
    "Model",
    "ModelError",
    "Payload",
    "PliantError",
    "Result",
    "RigidBody",
    "Robot",
    "Scenario",
    "Section",
    "Shapes",
    "SimulationError",
    "Stepper",
    "UnsupportedModel",
    "analysis",
    "bodies",
    "control",
    "export",
    "gradient",
    "gradients",
    "identification",
    "identify",
    "load",
    "loads",
    "plan",
    "planning",
    "robot",
    "simulate",
    "simulate_batch",
    "sweep",
    "validate",
    "view",
]
