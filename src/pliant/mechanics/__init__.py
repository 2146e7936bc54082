"""Mechanics: links as maps, and one module per formulation. All of it emits expressions and knows no machine code."""

from typing import TYPE_CHECKING

from pliant.base.later import later
from pliant.mechanics.formulations.formulation import Formulation

if TYPE_CHECKING:
    from pliant.mechanics.formulations.motion_equations import Equations, features
    from pliant.mechanics.formulations.registry import FORMULATIONS, equations
    from pliant.mechanics.links.builders.build_chain import build_chain
    from pliant.mechanics.links.chain import Chain, ChainLink
    from pliant.mechanics.links.joints import JointMap

__getattr__ = later(
    __name__,
    {
        "FORMULATIONS": "formulations.registry",
        "equations": "formulations.registry",
        "build_chain": "links.builders.build_chain",
        "Chain": "links.chain",
        "ChainLink": "links.chain",
        "JointMap": "links.joints",
        "Equations": "formulations.motion_equations",
        "features": "formulations.motion_equations",
    },
)

__all__ = [
    "FORMULATIONS",
    "Chain",
    "ChainLink",
    "Equations",
    "Formulation",
    "JointMap",
    "build_chain",
    "equations",
    "features",
]
