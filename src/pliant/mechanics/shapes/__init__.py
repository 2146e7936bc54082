"""How a beam may bend: modes, frequency equations, finite elements, and the integrals the dynamics needs."""

from pliant.mechanics.shapes.bent_axis import BentAxis, Forms, Projection, project
from pliant.mechanics.shapes.builder import link_shapes
from pliant.mechanics.shapes.elements import (
    Elements,
    ReducedShapes,
    bending_elements,
    eigenpairs,
    mass_matrix,
    reduce_elements,
    rod_elements,
    stiffness_matrix,
)
from pliant.mechanics.shapes.frequencies import FrequencyRow, frequency_table
from pliant.mechanics.shapes.integrals import UNIFORM, Field, ModalIntegrals, SectionProfile, modal_integrals
from pliant.mechanics.shapes.link_shapes import LinkShapes, section_profile
from pliant.mechanics.shapes.modes import BendingModes, bending_modes
from pliant.mechanics.shapes.pinned import pinned_shapes
from pliant.mechanics.shapes.quadrature import ShapeSet, gauss_rule, gram
from pliant.mechanics.shapes.rods import RodModes, rod_modes
from pliant.mechanics.shapes.roots import (
    CLAMPED,
    PINNED,
    RootSupport,
    bending_roots,
    clamped_free_roots,
    clamped_mass_roots,
    pinned_free_roots,
    pinned_pinned_roots,
    rod_roots,
)
from pliant.mechanics.shapes.tip_load import LoadRatios

__all__ = [
    "CLAMPED",
    "PINNED",
    "UNIFORM",
    "BendingModes",
    "BentAxis",
    "Elements",
    "Field",
    "Forms",
    "FrequencyRow",
    "LinkShapes",
    "LoadRatios",
    "ModalIntegrals",
    "Projection",
    "ReducedShapes",
    "RodModes",
    "RootSupport",
    "SectionProfile",
    "ShapeSet",
    "bending_elements",
    "bending_modes",
    "bending_roots",
    "clamped_free_roots",
    "clamped_mass_roots",
    "eigenpairs",
    "frequency_table",
    "gauss_rule",
    "gram",
    "link_shapes",
    "mass_matrix",
    "modal_integrals",
    "pinned_free_roots",
    "pinned_pinned_roots",
    "pinned_shapes",
    "project",
    "reduce_elements",
    "rod_elements",
    "rod_modes",
    "rod_roots",
    "section_profile",
    "stiffness_matrix",
]
