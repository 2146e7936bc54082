"""Mechanics: links as maps, and one module per formulation. All of it emits expressions and knows no machine code."""

from typing import TYPE_CHECKING

from pliant.dynamics.formulation import Formulation
from pliant.later import later

if TYPE_CHECKING:
    from pliant.dynamics.build import build_chain
    from pliant.dynamics.chain import Chain, ChainLink
    from pliant.dynamics.joints import JointMap
    from pliant.dynamics.motion_equations import Equations, features
    from pliant.dynamics.registry import FORMULATIONS, equations

__getattr__ = later(
    __name__,
    {
        "FORMULATIONS": "registry", "equations": "registry", "build_chain": "build", "Chain": "chain",
        "ChainLink": "chain", "Equations": "motion_equations", "features": "motion_equations", "JointMap": "joints",
    },
)  # fmt: skip

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
