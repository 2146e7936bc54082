"""What the study `flexible-joints` is expected to find."""

from __future__ import annotations

from pliant.studies.checks import NOT_REPRODUCED, REPORTED
from studies.expected import Expected, Plant

PLANTS: dict[str, list[Plant]] = {}
EXPECTED = Expected(
    figures=(3, 4, 5, *range(8, 19)),
    plants=PLANTS,
    exceptions={
        "resonance": NOT_REPRODUCED,  # spin stiffens the beam: no resonance at 3 rad/s
        "tip-grows": NOT_REPRODUCED,
        "stiffness": REPORTED,
        "EA": REPORTED,
    },
)
