"""What a model and its runs tell: vibration, closed loops, convergence, sensitivity."""

from __future__ import annotations

from pliant.analysis.closed_loop import (
    EigenvalueHistory,
    closed_loop_eigenvalues,
    closed_loop_matrix,
    eigenvalues_along,
    link_frequencies,
)
from pliant.analysis.convergence import Convergence, convergence, with_shapes
from pliant.analysis.linear import Modes, frequency_response, modes, to_control
from pliant.analysis.overestimation import Overestimation, overestimation
from pliant.analysis.sensitivity import (
    Sensitivity,
    finite_difference,
    frequency_sensitivity,
    rest_sensitivity,
    rest_slope,
    run_sensitivity,
)

__all__ = [
    "Convergence",
    "EigenvalueHistory",
    "Modes",
    "Overestimation",
    "Sensitivity",
    "closed_loop_eigenvalues",
    "closed_loop_matrix",
    "convergence",
    "eigenvalues_along",
    "finite_difference",
    "frequency_response",
    "frequency_sensitivity",
    "link_frequencies",
    "modes",
    "overestimation",
    "rest_sensitivity",
    "rest_slope",
    "run_sensitivity",
    "to_control",
    "with_shapes",
]
