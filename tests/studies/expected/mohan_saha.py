"""What the study `mohan-saha` is expected to find."""

from __future__ import annotations

from pliant.studies.checks import NOT_REPRODUCED, REPORTED, ROUGHLY
from studies.expected import Expected, Plant

PLANTS: dict[str, list[Plant]] = {}
EXPECTED = Expected(
    figures=range(4, 10),
    plants=PLANTS,
    exceptions={
        "n-star": NOT_REPRODUCED,  # Brandle's 14 is 15
        "n-plus": NOT_REPRODUCED,
        "fewest": NOT_REPRODUCED,
        "table-3": ROUGHLY,
        "advantage": NOT_REPRODUCED,  # both algorithms leave the unstable motion together
        "matching": NOT_REPRODUCED,
        "power": REPORTED,
    },
    timed=frozenset({"cpu"}),
)
