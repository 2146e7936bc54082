"""What the study `cibicik-egeland` is expected to find."""

from __future__ import annotations

from pliant.studies.checks import NOT_REPRODUCED, REPORTED
from studies.expected import Expected, Plant

PLANTS: dict[str, list[Plant]] = {}
EXPECTED = Expected(
    figures=range(5, 11),
    plants=PLANTS,
    exceptions={
        "D-joints": NOT_REPRODUCED,  # the soft joint of the light tool
        "torques": REPORTED,
        "F": NOT_REPRODUCED,  # mostly: the exact O(n) recursion is as fast
    },
    timed=frozenset({"F"}),
)
