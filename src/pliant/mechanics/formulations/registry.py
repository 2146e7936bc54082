"""The five formulations, by name."""

from __future__ import annotations

from pliant.mechanics.formulations import denoc, dual_screw, gibbs_appell, lagrange, recursive_lagrange
from pliant.mechanics.formulations.formulation import Formulation
from pliant.mechanics.formulations.motion_equations import MANY_AMPLITUDES, Equations, require
from pliant.mechanics.links.chain import Chain
from pliant.options import FormulationName

_EVERYTHING = frozenset(
    {"flexible joints", "stiffening", "sliding beams", "a moving base", "spherical and free joints", "closed loops"}
)

FORMULATIONS: dict[str, Formulation] = {
    f.name: f
    for f in (
        Formulation(
            "denoc", "Mohan & Saha 2007", denoc.mass_matrix, denoc.inertial_forces,
            denoc.forward_dynamics, denoc.inverse_dynamics, _EVERYTHING | {MANY_AMPLITUDES},
        ),
        Formulation(
            "dual-screw", "Cibicik & Egeland 2021", dual_screw.mass_matrix, dual_screw.inertial_forces,
            supports=frozenset({"flexible joints", "a moving base"}),
        ),
        Formulation(
            "gibbs-appell", "Korayem & Shafei 2009", gibbs_appell.mass_matrix, gibbs_appell.inertial_forces,
            inverse=gibbs_appell.inverse_dynamics, supports=_EVERYTHING,
        ),
        Formulation(
            "lagrange", "Theodore & Ghosal 1995", lagrange.mass_matrix, lagrange.inertial_forces,
            supports=_EVERYTHING | {"modes that follow the arm"},
        ),
        Formulation(
            "recursive-lagrange", "Book 1984, [ZZZ]", recursive_lagrange.mass_matrix,
            recursive_lagrange.inertial_forces, inverse=recursive_lagrange.inverse_dynamics, supports=_EVERYTHING,
        ),
    )
}  # fmt: skip
"""The one registry: command line, tests and benchmarks read it."""


def equations(chain: Chain, formulation: FormulationName | Formulation) -> Equations:
    """Equations of `chain` by the formulation of that name, or by one that is not in the registry."""
    chosen = FORMULATIONS[formulation] if isinstance(formulation, str) else formulation
    require(chosen, chain, list(FORMULATIONS.values()))
    return Equations(chain, chosen)
