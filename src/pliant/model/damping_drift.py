"""Check that links still have the damping ratios of their description after numbers changed.

Dampers of a ratio are made once, of the numbers that a model was built with (`mechanics/actuation/modal_damping.py`). A
payload that changes later changes the modes, not the dampers. What `delivered_damping.py` finds is kept with the
records.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from pliant.base.derived import Same
from pliant.base.later import LaterModule
from pliant.compute.tape.trace_cache import recalled
from pliant.model.robot import Robot

if TYPE_CHECKING:
    from pliant.model import delivered_damping
    from pliant.model.model import Model
else:  # it makes expressions
    delivered_damping = LaterModule("pliant.model.delivered_damping")

MOST_CHECKS = 8
"""Runs of a model whose parameters are looked at: a search would spend its time here."""


def drifted(model: Model, robot: Robot) -> dict[str, str]:
    """A finding for each link whose modes are damped otherwise than asked, if `model` has the numbers of `robot`."""
    asked = _asked(robot)
    if not asked:
        return {}
    recipe = model.first.recipe and f"{model.first.recipe} damping at {robot.digest()}"
    return dict(recalled(recipe, lambda: delivered_damping.findings(model, robot, asked)))


def drifted_rows(model: Model, p: ArrayLike | None) -> dict[str, str]:
    """The same for parameters (P,) or (B, P) of a run: where each is least and largest."""
    if p is None or not model.parameters or not _asked(model.robot):
        return {}
    if model.derived.count("runs whose dampers were looked at") >= MOST_CHECKS:
        return {}
    model.derived("runs whose dampers were looked at", Same(object()), lambda: None)
    rows = np.atleast_2d(np.asarray(p, dtype=float))[:, : len(model.parameters)]
    found: dict[str, str] = {}
    for row in rows[sorted({*rows.argmin(axis=0).tolist(), *rows.argmax(axis=0).tolist()})]:
        if not np.array_equal(row, model.nominal_parameters):
            found |= drifted(model, model.robot.replace(dict(zip(model.parameters, row.tolist()))))
    return found


def _asked(robot: Robot) -> dict[str, float]:
    return {link.name: link.shapes.damping for link in robot.links if link.shapes and link.shapes.damping}
