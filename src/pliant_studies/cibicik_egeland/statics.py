"""The arm of [CE21] at rest, by beam formulas and levers: nothing of the library but the printed data.

Angles are measured from the vertical: link 2 stands at q2, link 3 at q2 + q3, the tool at q2 + q3 + q4, each turned on
by the slope at the tips of the links before. A cantilever of length L bends at its tip by p L^4/8 EI under its weight p
per length across the axis, F L^3/3 EI under a tip force and M L^2/2 EI under a tip moment; the slopes are p L^3/6 EI,
F L^2/2 EI and M L/EI.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

GRAVITY, MODULUS = 9.81, 210e9
OUTER, INNER, DENSITY = 0.050, 0.040, 7850.0
INNER_LENGTH, OUTER_LENGTH = 2.00, 1.80
TOOL_MASS, TOOL_ARM = 3.56, 0.124
PER_LENGTH = DENSITY * np.pi / 4 * (OUTER**2 - INNER**2)
BEYOND = PER_LENGTH * OUTER_LENGTH + TOOL_MASS
"""Mass at the tip of link 2 (kg)."""
EI = MODULUS * np.pi / 64 * (OUTER**4 - INNER**4)


def torques(pose: Sequence[float]) -> list[float]:
    """Moments of the weights about joints 2, 3 and 4 of the undeformed arm (N m)."""
    a, b, c = np.sin(np.cumsum(np.asarray(pose)[1:]))
    inner = GRAVITY * INNER_LENGTH * a * (PER_LENGTH * INNER_LENGTH / 2 + BEYOND)
    return [float(inner + _moment(b, c)), _moment(b, c), float(GRAVITY * TOOL_MASS * TOOL_ARM * c)]


def deflections(pose: Sequence[float]) -> list[float]:
    """Tip deflections of links 2 and 3 across their axes, in the vertical plane (m)."""
    angles = np.cumsum(np.asarray(pose)[1:])
    turned = np.zeros(3)
    for _ in range(20):  # slopes of some milliradians turn what follows, and with it the loads
        a, b, c = np.sin(angles + turned)
        inner, inner_slope = _bent(INNER_LENGTH, a, BEYOND, _moment(b, c))
        outer, outer_slope = _bent(OUTER_LENGTH, b, TOOL_MASS, GRAVITY * TOOL_MASS * TOOL_ARM * c)
        turned = np.array([0.0, inner_slope, inner_slope + outer_slope])
    return [inner, outer]


def _moment(outer: float, tool: float) -> float:
    """Moment about joint 3 of all weights beyond it (N m), by the sines of the angles of link 3 and the tool."""
    link = PER_LENGTH * OUTER_LENGTH**2 / 2 * outer
    return float(GRAVITY * (link + TOOL_MASS * (OUTER_LENGTH * outer + TOOL_ARM * tool)))


def _bent(length: float, sine: float, tip_mass: float, moment: float) -> tuple[float, float]:
    """Deflection (m) and slope at the tip of a link."""
    p, F = GRAVITY * sine * PER_LENGTH, GRAVITY * sine * tip_mass
    deflection = p * length**4 / 8 + F * length**3 / 3 + moment * length**2 / 2
    slope = p * length**3 / 6 + F * length**2 / 2 + moment * length
    return float(deflection / EI), float(slope / EI)
