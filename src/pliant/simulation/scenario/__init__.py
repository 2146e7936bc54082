"""Scenario files: an arm, where it starts, what drives it, how it is integrated and what is written."""

from pliant.robot.parts.fields import FORMAT
from pliant.simulation.scenario.parts import REGISTRY, Part
from pliant.simulation.scenario.scenario import Initial, ModelOptions, Outputs, Scenario, schema
from pliant.simulation.scenario.values import TorqueSamples

__all__ = ["FORMAT", "REGISTRY", "Initial", "ModelOptions", "Outputs", "Part", "Scenario", "TorqueSamples", "schema"]
