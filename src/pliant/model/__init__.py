"""Where mechanics and computing meet: the expressions of a formulation become functions of numbers."""

from __future__ import annotations

from pliant.dynamics import Formulation
from pliant.model.model import Model, Options
from pliant.model.recipes import EXPRESSIONS
from pliant.model.states import named_places, normalised, read_state
from pliant.model.terms import DenocMatrices, Energy, Matrices, PartitionedMatrices, ScrewMatrices, StateSpace

__all__ = [
    "EXPRESSIONS",
    "DenocMatrices",
    "Energy",
    "Formulation",
    "Matrices",
    "Model",
    "Options",
    "PartitionedMatrices",
    "ScrewMatrices",
    "StateSpace",
    "named_places",
    "normalised",
    "read_state",
]
