"""What each study is expected to find, and the wrong numbers that must turn its verdicts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

Plant = tuple[Mapping[str, Any], str]
"""Wrong numbers by their path in `numbers` (names joined by "/"), and the verdict that must follow from them."""


@dataclass(frozen=True)
class Expected:
    """What a person found when they last read the report of a study.

    A verdict that changes, either way, is news: read the report and move the claim.

    Attributes
    ----------
    figures : sequence of int
        Numbers of the paper's figures.
    plants : mapping
        For each check, wrong numbers and the verdict that must follow.
    exceptions : mapping
        Checks whose verdict is not `reproduced` or `holds`.
    quick : mapping
        Checks of a quick run whose verdict differs from that of a full one.
    timed : set
        Checks that rest on measured time: what they say holds for one machine at one time, and they say which.
    """

    figures: Sequence[int]
    plants: Mapping[str, Sequence[Plant]]
    exceptions: Mapping[str, str]
    quick: Mapping[str, str] = field(default_factory=dict)
    timed: frozenset[str] = frozenset()
