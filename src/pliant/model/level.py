"""What a model follows its bent beams to, and what is said where that proves to be too little."""

from __future__ import annotations

from typing import NamedTuple

from pliant.options import StiffeningName

NOTICED = 1e-3
"""Part of a beam's stiffness, or of its deflection, below which second order is left out."""
RIGID = "no link bends"
LINEAR = "no beam bends, and no file of a body has its second order"
LACKS = "has none"


class Effect(NamedTuple):
    """By how much second order changes a beam, and through what."""

    link: str
    through: str
    size: float

    def __str__(self) -> str:
        return f"{self.through} changes link {self.link} by up to {100 * self.size:.2g} %"


class Level(NamedTuple):
    """What a model follows its beams to, and why where the choice was ours."""

    stiffening: bool | StiffeningName
    reason: str = ""

    @property
    def auto(self) -> bool:
        """Whether the choice was ours."""
        return bool(self.reason)

    @property
    def in_doubt(self) -> bool:
        """Whether second order was left out by us, so that a run looks whether that was right."""
        return self.auto and not self.stiffening and self.reason not in (RIGID, LINEAR)

    def doubt(self, found: Effect) -> dict[str, str]:
        """The warning, by what it is about, where an effect that was left out would have been noticed."""
        if found.size <= NOTICED:
            return {}
        remedy = "stiffening='second-order'" + (" and another formulation" if LACKS in self.reason else "")
        text = f"stiffening: got {self}, but in this run {found}, expected less than {NOTICED:.1%}; use {remedy}"
        return {"stiffening": text}

    def __str__(self) -> str:
        name = {"False": "off", "True": "third-order"}.get(str(self.stiffening), str(self.stiffening))
        return name + (f" (auto: {self.reason})" if self.auto else "")
