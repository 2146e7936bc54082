"""Operation counts and numbers of equations that Theodore & Ghosal print: Table 2 and section 4.4 of [TG95].

The columns count different functions. Book's numbers are inverse dynamics; all others are the inertia matrix
alone. The authors' own come from MACSYMA with the parameters as numbers, so they depend on that program's simplifier
and cannot be derived: only their order can be compared. RR and RP have two flexible links, RRR and RRP a rigid first
link and two flexible ones, each with two modes or two elements per plane; joints P are sliding beams.
"""

from __future__ import annotations

from pliant.mechanics.formulations.published.korayem_shafei import Operations

WHAT = {
    "book": "inverse dynamics",
    "li-sankar": "inertia matrix",
    "modes": "inertia matrix",
    "elements": "inertia matrix",
}
"""Function that each column of Table 2 counts."""

TABLE_2: dict[str, dict[str, Operations]] = {
    "RR": {
        "book": Operations(3665, 3755),
        "li-sankar": Operations(49, 44),
        "modes": Operations(168, 405),
        "elements": Operations(80, 156),
    },
    "RRR": {
        "book": Operations(4851, 4922),
        "li-sankar": Operations(102, 92),
        "modes": Operations(376, 878),
        "elements": Operations(237, 592),
    },
    "RP": {"modes": Operations(42, 103), "elements": Operations(33, 88)},
    "RRP": {"modes": Operations(284, 743), "elements": Operations(128, 376)},
    "RR with payload": {"modes": Operations(366, 909), "elements": Operations(98, 178)},
}
"""Table 2 by arm and column; the arm with payload is quoted in the text."""


def equations(n: int, n_f: int, m: int, *, elements: bool, planar: bool = False) -> int:
    """Second-order equations of `n` links, `n_f` of them flexible with `m` modes per plane or `m` elements."""
    planes = 1 if planar else 2
    return n + planes * (2 if elements else 1) * m * n_f


def frequency_equations(n_f: int, m: int, planar: bool = False) -> int:
    """First-order equations for beta that clamped-mass modes with a moving boundary load add."""
    return (1 if planar else 2) * m * n_f
