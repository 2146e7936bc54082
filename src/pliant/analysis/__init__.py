"""Analyses of a model and its runs: vibration, closed loops, convergence, sensitivity."""

from __future__ import annotations

from pliant.analysis.campbell import Campbell, campbell
from pliant.analysis.closed_loop import (
    EigenvalueHistory,
    closed_loop_eigenvalues,
    closed_loop_matrix,
    eigenvalues_along,
    link_frequencies,
)
from pliant.analysis.convergence import Convergence, convergence, with_shapes
from pliant.analysis.linear import Controllability, controllability, frequency_response, to_control
from pliant.analysis.overestimation import Overestimation, overestimation
from pliant.analysis.pose_maps import PoseMap, damping_map, frequency_map
from pliant.analysis.sensitivity import (
    Sensitivity,
    finite_difference,
    frequency_sensitivity,
    rest_sensitivity,
    rest_slope,
    run_sensitivity,
)

__all__ = [
    "Campbell",
    "Controllability",
    "Convergence",
    "EigenvalueHistory",
    "Overestimation",
    "PoseMap",
    "Sensitivity",
    "campbell",
    "closed_loop_eigenvalues",
    "closed_loop_matrix",
    "controllability",
    "convergence",
    "damping_map",
    "eigenvalues_along",
    "finite_difference",
    "frequency_map",
    "frequency_response",
    "frequency_sensitivity",
    "link_frequencies",
    "overestimation",
    "rest_sensitivity",
    "rest_slope",
    "run_sensitivity",
    "to_control",
    "with_shapes",
]
