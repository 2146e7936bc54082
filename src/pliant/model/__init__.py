"""Models: expressions of a formulation, compiled to functions of numbers."""

from typing import TYPE_CHECKING

from pliant.base.later import later
from pliant.mechanics.formulations.formulation import Formulation
from pliant.model.model import Model
from pliant.model.model_options import Options
from pliant.model.states import named_places, normalized, read_state
from pliant.model.terms import DenocMatrices, Energy, Matrices, Modes, PartitionedMatrices, ScrewMatrices, StateSpace

if TYPE_CHECKING:
    from pliant.model.recipes import EXPRESSIONS

__getattr__ = later(__name__, {"EXPRESSIONS": "recipes"})

__all__ = [
    "EXPRESSIONS",
    "DenocMatrices",
    "Energy",
    "Formulation",
    "Matrices",
    "Model",
    "Modes",
    "Options",
    "PartitionedMatrices",
    "ScrewMatrices",
    "StateSpace",
    "named_places",
    "normalized",
    "read_state",
]
