"""Scenario files: an arm, where it starts, what drives it, how it is integrated and what is written."""

from pliant.robot.fields import FORMAT
from pliant.scenario.parts import REGISTRY, Part
from pliant.scenario.scenario import Initial, ModelOptions, Outputs, Scenario, schema
from pliant.scenario.values import TorqueSamples

__all__ = ["FORMAT", "REGISTRY", "Initial", "ModelOptions", "Outputs", "Part", "Scenario", "TorqueSamples", "schema"]
