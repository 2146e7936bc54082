"""Makes the first page of the API from `pliant.__all__`: a name that is public is on the page."""

from __future__ import annotations

from types import ModuleType
from typing import Any

from mkdocs.structure.files import File

import pliant

GROUPS = {
    "Describe": (
        "load", "arms", "Robot", "Link", "Joint", "Origin", "DH", "Limits", "Stop", "Restitution", "Drive", "GearError",
        "Hysteresis", "Motor", "Friction", "Beam", "Section", "Material", "MATERIALS", "RigidBody", "Lump", "Shapes",
        "TipLoad", "JointAxis", "BeamStation", "Payload", "BaseBody", "Frame", "Visual", "VisualCylinder", "Expected",
    ),
    "Compute": ("Model", "FORMULATIONS"),
    "Run": ("simulate", "simulate_batch", "Event", "Result", "Scenario"),
    "Errors": ("PliantError", "ModelError", "UnsupportedModel", "SimulationError"),
}  # fmt: skip
OPTIONS = {"Robot": "    options: {inherited_members: true}\n"}
"""Options of entries: methods of a robot come from its description too."""
HEAD = """# API

Public names of the package. Rooms such as `pliant.control`, `pliant.loads` and `pliant.view` have their own pages.
Examples come after `import numpy as np` and `import pliant`; all of them run in `make test`.
"""


def on_files(files: Any, config: Any) -> Any:
    """Adds api/index.md to the pages."""
    files.append(File.generated(config, "api/index.md", content=page()))
    return files


def page() -> str:
    """Groups in reading order; what belongs to none stands before the errors."""
    known = {name for names in GROUPS.values() for name in names}
    public = [name for name in pliant.__all__ if not isinstance(getattr(pliant, name), ModuleType)]
    errors = GROUPS["Errors"]
    groups = {title: names for title, names in GROUPS.items() if names is not errors}
    groups |= {"More": tuple(name for name in public if name not in known), "Errors": errors}
    text = HEAD
    for title, names in groups.items():
        if names:
            text += f"\n## {title}\n\n" + "".join(f"::: pliant.{name}\n{OPTIONS.get(name, '')}" for name in names)
    return text
