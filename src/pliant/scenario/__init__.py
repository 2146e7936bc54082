"""Scenario files: an arm, where it starts, what drives it, how it is integrated and what is written."""

from pliant.robot.base import FORMAT
from pliant.scenario.description import Initial, ModelOptions, Outputs, Scenario, schema
from pliant.scenario.inputs import Samples
from pliant.scenario.parts import REGISTRY, Part

__all__ = [
    "FORMAT",
    "REGISTRY",
    "Initial",
    "ModelOptions",
    "Outputs",
    "Part",
    "Samples",
    "Scenario",
    "schema",
]
