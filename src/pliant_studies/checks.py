"""Checks of a study: a claim of a paper, our numbers, and the verdict that follows from both by computation.

There are two kinds. *Claims* of a paper are reproduced, not reproduced, or only reported where the paper gives nothing
to compare with. *Requirements* are ours, such as conservation of energy or agreement of two methods; they hold or do
not hold.

`published` has only values that the paper prints. `reference` has our own value from another method, whose code is in
the study.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from pliant_bench.timing import Timings

Numbers = Mapping[str, Any]
"""Measured numbers, as `judge` reads them."""
Measured = dict[str, Any]
"""Measured numbers by name, as `measure` finds them: plain data, nested."""
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
        The claim or requirement in one sentence.
    where : str
        Place in the paper, or the requirement of ours.
    published : numbers, lists, mappings or text
        Values that the paper prints, and nothing else; none for a requirement of ours.
    ours : numbers, lists, mappings or text
        Measured values.
    tolerance : number or text
        Allowed difference between them.
    reason : str
        Reason for the tolerance.
    verdict : str
        One of `VERDICTS`.
    text : str
        A paragraph for the reader: method, result and meaning.
    reference : numbers, lists, mappings or text, optional
        Our own value from another method.
    """

    id: str
    claim: str
    where: str
    published: object
    ours: object
    tolerance: object
    reason: str
    verdict: str
    text: str
    reference: object = None

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {key: plain(value) for key, value in asdict(self).items()}


def compared(
    id: str, claim: str, where: str, published: ArrayLike, ours: ArrayLike, relative: float, reason: str, text: str
) -> Check:
    """Check of a published number (or list) against ours."""
    theirs, mine = np.asarray(published, dtype=float), np.asarray(ours, dtype=float)
    good = np.isfinite(mine).all() and (np.abs(mine - theirs) <= relative * np.abs(theirs)).all()
    verdict = REPRODUCED if good else NOT_REPRODUCED
    return Check(
        id, claim, where, published=published, ours=ours, tolerance=f"{relative:g} relative", reason=reason,
        verdict=verdict, text=text,
    )  # fmt: skip


def claimed(
    id: str,
    claim: str,
    where: str,
    published: object,
    ours: object,
    true: bool,
    tolerance: object,
    reason: str,
    text: str,
) -> Check:
    """Check of a statement of the paper, which is `true` by our numbers or not."""
    return Check(
        id, claim, where, published=published, ours=ours, tolerance=tolerance, reason=reason,
        verdict=REPRODUCED if true else NOT_REPRODUCED, text=text,
    )  # fmt: skip


def timed(
    id: str,
    claim: str,
    where: str,
    published: object,
    ours: Mapping[str, object],
    rounds: list[float],
    reason: str,
    text: str,
) -> Check:
    """Check of a claim that one thing takes longer than another: the ratio of their times is above 1 in every round.

    The verdict is for the machine that is named beside it. If ratios lie on both sides of 1 there is no verdict.
    """
    from pliant.compute.llvm.target import machine

    ratio = Timings(tuple(rounds))
    spread = min(ratio.values), max(ratio.values)
    found = {"ratio of times": ratio.median, "least and greatest": spread, "measured on": machine().summary, **ours}
    verdict = REPRODUCED if spread[0] > 1 else NOT_REPRODUCED if spread[1] < 1 else REPORTED
    span = f"{ratio.median:.2f}, from {spread[0]:.2f} to {spread[1]:.2f} in {len(ratio.values)} rounds taken in turns"
    told = f"{text} Ratio of times: {span} ({machine().summary})."
    return Check(
        id, claim, where, published=published, ours=found, tolerance="every round above 1", reason=reason,
        verdict=verdict, text=told,
    )  # fmt: skip


def reported(id: str, claim: str, where: str, ours: object, text: str, published: object = None) -> Check:
    """Report of our number for something that the paper shows or states without a value to compare with."""
    return Check(
        id, claim, where, published=published, ours=ours, tolerance="none",
        reason="no published value to compare with", verdict=REPORTED, text=text,
    )  # fmt: skip


def required(
    id: str,
    claim: str,
    where: str,
    ours: object,
    limit: object,
    true: bool,
    reason: str,
    text: str,
    reference: object = None,
) -> Check:
    """Check of a requirement of ours, with a reference value where there is one."""
    return Check(
        id, claim, where, published=None, ours=ours, tolerance=limit, reason=reason,
        verdict=HOLDS if true else FAILS, text=text, reference=reference,
    )  # fmt: skip


def below(id: str, claim: str, where: str, ours: float, limit: float, reason: str, text: str) -> Check:
    """Check of a requirement that a number stays at or below a limit."""
    return required(id, claim, where, float(ours), limit, bool(ours <= limit), reason, text)


def plain(value: object) -> Any:
    """Value in types of JSON and YAML; a number that is not finite becomes text."""
    if isinstance(value, dict):
        return {str(key): plain(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [plain(entry) for entry in value]
    if isinstance(value, np.ndarray | np.generic):
        return plain(value.tolist())
    if isinstance(value, float):
        return value if np.isfinite(value) else str(value)
    return value
