"""Makes the first page of the API from `pliant.__all__`: a name that is public is on the page."""

from __future__ import annotations

from types import ModuleType
from typing import Any

from mkdocs.structure.files import File

import pliant

GROUPS = {
    "Describe": ("load", "Robot", "Link", "Joint", "Beam", "Section", "Material", "Shapes", "RigidBody",
                 "Payload", "Frame"),
    "Compute": ("Model",),
    "Run": ("simulate", "simulate_batch", "Stepper", "Event", "Result", "Scenario"),
    "Plan, vary, fit": ("plan", "gradient", "sweep", "identify", "validate"),
    "Errors": ("PliantError", "ModelError", "UnsupportedModel", "SimulationError", "Interrupted"),
}  # fmt: skip
PARTS = {
    "Joints and drives": ("JointAxis", "Origin", "DH", "Limits", "Stop", "Restitution", "Drive", "Motor", "GearError",
                          "Hysteresis", "Friction"),
    "Bodies": ("BaseBody", "Lump", "TipLoad", "BeamStation", "Visual", "VisualCylinder", "MATERIALS"),
    "Loops, couplings, hydraulics, contacts": ("Loop", "LoopJoint", "Coupling", "LineSpring", "LineForce", "Cable",
                                               "Cylinder", "Cushion", "Valve", "Contact", "Surface"),
    "Bodies from files": ("ImportedBody", "BodyFrame"),
    "Formulations": ("FORMULATIONS",),
    "Sections": ("area_moments", "beam_properties"),
    "Files": ("arms", "parse", "schema", "Expected"),
}  # fmt: skip
OPTIONS = {"Robot": "    options: {inherited_members: true}\n"}
"""Options of entries: methods of a robot come from its description too."""
HEAD = """# API

Public names of the package. Modules such as `pliant.robot` and `pliant.control` have their own pages.
Examples come after `import numpy as np` and `import pliant`; all of them run in `make test`.
"""


def on_files(files: Any, config: Any) -> Any:
    """Adds api/index.md and api/robot.md to the pages."""
    files.append(File.generated(config, "api/index.md", content=page()))
    files.append(File.generated(config, "api/robot.md", content=parts()))
    return files


def page() -> str:
    """Groups in reading order; what belongs to none stands before the errors."""
    known = {name for names in GROUPS.values() for name in names}
    public = [name for name in pliant.__all__ if not isinstance(getattr(pliant, name), ModuleType)]
    errors = GROUPS["Errors"]
    groups = {title: names for title, names in GROUPS.items() if names is not errors}
    groups |= {"More": tuple(name for name in public if name not in known), "Errors": errors}
    return HEAD + written("pliant", groups)


def parts() -> str:
    """Parts of a description that are used less often."""
    return "# pliant.robot\n\nParts of a description.\n" + written("pliant.robot", PARTS)


def written(module: str, groups: dict[str, tuple[str, ...]]) -> str:
    """Entries of names of a module, by groups that are not empty."""
    text = ""
    for title, names in groups.items():
        if names:
            text += f"\n## {title}\n\n" + "".join(f"::: {module}.{name}\n{OPTIONS.get(name, '')}" for name in names)
    return text
