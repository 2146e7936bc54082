"""What the study `theodore-ghosal` is expected to find."""

from __future__ import annotations

from pliant.studies.checks import NOT_REPRODUCED, REPORTED, ROUGHLY
from studies.expected import Expected, Plant

PLANTS: dict[str, list[Plant]] = {}
EXPECTED = Expected(
    figures=range(4, 11),
    plants=PLANTS,
    exceptions={
        "E-tracking": ROUGHLY,  # 22 mm against "of the order of 8 mm"
        "eig-higher": NOT_REPRODUCED,
        "eig-constant": NOT_REPRODUCED,
        "F-bound": NOT_REPRODUCED,  # the Lemma's bound is not sufficient
        "table-2": NOT_REPRODUCED,
        "lag": REPORTED,
    },
    timed=frozenset({"cpu"}),
)
