"""Order to which a model follows its bent links, and the warning where that order proves too low."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from pliant.arrays import Array
from pliant.options import StiffeningChoice, StiffeningName

if TYPE_CHECKING:
    from pliant.mechanics.loads.wrenches import Load
    from pliant.model.model import Model

NOTICED = 1e-3
"""Part of a beam's stiffness, or of its deflection, below which second order is left out."""
NOTICED_BODY = 1e-2
"""The same for a body whose file has no second order. Only a new reduction can add it."""
CORNERS = 32
"""Rows of parameters of a batch that are looked at, those with the extremes."""
RIGID = "no link bends"
LINEAR = "no beam bends, and no file of a body has its second order"
LACKS = "has none"
FIRST = "is of first order"
FOLLOW = "follow the arm (tip_load: track)"
SMALL = f"weight and limits.speed change no link by {NOTICED:.1%}"
REMEDIES = {LACKS: " and another formulation", FIRST: " and rotation='exact'", FOLLOW: " and `tip_load: auto`"}


class Effect(NamedTuple):
    """Relative change of a link by second order, and its cause; `body` names a body without second order."""

    link: str
    through: str
    size: float
    body: bool = False

    @property
    def noticed(self) -> bool:
        """True if the effect is large enough to matter."""
        return self.size > (NOTICED_BODY if self.body else NOTICED)

    def __str__(self) -> str:
        return f"{self.through} changes link {self.link} by up to {100 * self.size:.2g} %"


class Level(NamedTuple):
    """Order that a model follows, the reason where "auto" chose it, and whether a check raised it later."""

    stiffening: StiffeningName
    reason: str = ""
    raised: bool = False

    @property
    def auto(self) -> bool:
        """True if "auto" chose the order."""
        return bool(self.reason)

    @property
    def asked(self) -> StiffeningChoice:
        """The option that makes the same model of the same arm again."""
        return "auto" if self.auto and not self.raised else self.stiffening

    @property
    def in_doubt(self) -> bool:
        """True if "auto" left second order out, so that states, loads and numbers are checked."""
        return self.auto and self.stiffening == "off" and self.reason not in (RIGID, LINEAR)

    @property
    def can_rise(self) -> bool:
        """True if the same model exists with second order."""
        return self.in_doubt and self.reason == SMALL

    @property
    def wanted(self) -> bool:
        """True if second order is wanted where it matters: asked for, or left to "auto"."""
        return self.auto or self.stiffening != "off"

    def doubt(self, found: Effect, where: str = "in this run") -> dict[str, str]:
        """Warning, by its subject, where an effect that was left out is large enough to matter."""
        if not found.noticed:
            return {}
        if found.body:
            text = (
                f"stiffening: got a body without second order for link {found.link}, but {where} {found}, expected "
                f"less than {NOTICED_BODY:.0%}; reduce it anew with stiffening='second-order'"
            )
            return {f"stiffening of {found.link}": text}
        remedy = "stiffening='second-order'" + next(
            (more for words, more in REMEDIES.items() if words in self.reason), ""
        )
        text = f"stiffening: got {self}, but {where} {found}, expected less than {NOTICED:.1%}; use {remedy}"
        return {"stiffening": text}

    def __str__(self) -> str:
        return self.stiffening + (f" (auto: {self.reason})" if self.auto else "")


def is_checked(model: Model) -> bool:
    """Return whether states are to be checked: the order of a model may be too low, and nobody asked for it."""
    return model.level.in_doubt or (model.level.wanted and bool(linear_bodies(model)))


def linear_bodies(model: Model) -> tuple[str, ...]:
    """Names of links whose bodies bend, and whose files have no second order."""

    def found() -> tuple[str, ...]:
        bodies = ((link.name, link.body.reduced) for link in model.robot.links if link.body is not None)
        return tuple(name for name, body in bodies if body.size and not body.beyond)

    return model.derived("linear bodies", (), found)


def acts(model: Model, loads: Sequence[Load]) -> bool:
    """Return True if loads, couplings, contacts or loops act on the arm, besides weight and speed."""
    return bool(len(loads) or model.robot.couplings or model.robot.contacts) or not model.layout.is_open


def corners(model: Model, p: ArrayLike | None) -> Array | None:
    """Rows of parameters with the extremes of each; None where all are those of the robot."""
    if p is None or not model.parameters:
        return None
    values = np.atleast_2d(np.asarray(p, dtype=float))
    if values.shape[1] != len(model.parameters) or not np.isfinite(values).all():
        return None  # which is refused where it is read
    rows = np.unique([*values.argmin(axis=0), *values.argmax(axis=0)])[:CORNERS]
    found = np.unique(values[rows], axis=0)
    return None if len(found) == 1 and np.array_equal(found[0], model.nominal_parameters) else found
