"""A claim of a paper, what we find, and the verdict that follows from the two: never written by hand.

Two kinds stand side by side. *Claims* of a paper are reproduced, not reproduced, or only reported where the paper gives
nothing to compare with. *Requirements* are ours (energy is conserved, two ways to
one number agree) and hold or do not hold.

What a paper prints stands under `published`; a value that we computed by another way to hold ours against stands under
`reference`, with the code that computes it in the study.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from pliant_bench.timing import Timings

Numbers = Mapping[str, Any]
"""What was measured, as `judge` reads it."""
REPRODUCED = "reproduced"
NOT_REPRODUCED = "not reproduced"
REPORTED = "reported"
HOLDS = "holds"
FAILS = "does not hold"
VERDICTS = (REPRODUCED, NOT_REPRODUCED, REPORTED, HOLDS, FAILS)


@dataclass(frozen=True)
class Check:
    """One line of `checks.json`.

    Attributes
    ----------
    id : str
        Short name, unique in its study.
    claim : str
        What is said, in one sentence.
    where : str
        Where the paper says it, or which of our requirements it is.
    published : numbers, lists, mappings or text
        What the paper prints, and nothing else; none for a requirement of ours.
    ours : numbers, lists, mappings or text
        What we measured.
    tolerance : number or text
        What may lie between them.
    reason : str
        Why that much and not more.
    verdict : str
        One of `VERDICTS`.
    text : str
        A paragraph for the reader: what was done, what came out, what it means.
    reference : numbers, lists, mappings or text, optional
        Our own value from another way to the same number.
    """

    id: str
    claim: str
    where: str
    published: Any
    ours: Any
    tolerance: Any
    reason: str
    verdict: str
    text: str
    reference: Any = None

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {key: plain(value) for key, value in asdict(self).items()}


def compared(
    id: str, claim: str, where: str, published: Any, ours: Any, relative: float, reason: str, text: str
) -> Check:
    """A published number (or list) against ours."""
    theirs, mine = np.asarray(published, dtype=float), np.asarray(ours, dtype=float)
    good = np.isfinite(mine).all() and (np.abs(mine - theirs) <= relative * np.abs(theirs)).all()
    verdict = REPRODUCED if good else NOT_REPRODUCED
    return Check(id, claim, where, published, ours, f"{relative:g} relative", reason, verdict, text)


def claimed(
    id: str, claim: str, where: str, published: Any, ours: Any, true: bool, tolerance: Any, reason: str, text: str
) -> Check:
    """A statement of the paper that our numbers bear out or do not."""
    verdict = REPRODUCED if true else NOT_REPRODUCED
    return Check(id, claim, where, published, ours, tolerance, reason, verdict, text)


def timed(
    id: str, claim: str, where: str, published: Any, ours: dict[str, Any], rounds: list[float], reason: str, text: str
) -> Check:
    """A claim that one thing takes longer than another: ratio of their times in each of the rounds, above 1 if so.

    It holds for the machine that is named beside it. Where rounds fall on both sides of 1 there is no verdict.
    """
    from pliant.compute.llvm.target import machine

    ratio = Timings(tuple(rounds))
    spread = min(ratio.values), max(ratio.values)
    found = {"ratio of times": ratio.median, "least and greatest": spread, "measured on": machine().summary, **ours}
    verdict = REPRODUCED if spread[0] > 1 else NOT_REPRODUCED if spread[1] < 1 else REPORTED
    span = f"{ratio.median:.2f}, from {spread[0]:.2f} to {spread[1]:.2f} in {len(ratio.values)} rounds taken in turns"
    told = f"{text} Ratio of times: {span} ({machine().summary})."
    return Check(id, claim, where, published, found, "every round above 1", reason, verdict, told)


def reported(id: str, claim: str, where: str, ours: Any, text: str, published: Any = None) -> Check:
    """Our number for something that the paper shows or says without a value that could be compared."""
    return Check(id, claim, where, published, ours, "none", "no published value to compare with", REPORTED, text)


def required(
    id: str, claim: str, where: str, ours: Any, limit: Any, true: bool, reason: str, text: str, reference: Any = None
) -> Check:
    """A requirement of ours, held against a reference of ours where there is one."""
    return Check(id, claim, where, None, ours, limit, reason, HOLDS if true else FAILS, text, reference)


def below(id: str, claim: str, where: str, ours: float, limit: float, reason: str, text: str) -> Check:
    """A requirement that a number stays at or below a limit."""
    return required(id, claim, where, float(ours), limit, bool(ours <= limit), reason, text)


def plain(value: Any) -> Any:
    """The value in types that JSON and YAML know; a number that is not finite becomes text."""
    if isinstance(value, dict):
        return {str(key): plain(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [plain(entry) for entry in value]
    if isinstance(value, np.ndarray | np.generic):
        return plain(value.tolist())
    if isinstance(value, float):
        return value if np.isfinite(value) else str(value)
    return value
