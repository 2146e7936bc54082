"""How long a fixed step may be."""

from __future__ import annotations

import numpy as np

from pliant.model import Model
from pliant.runs.coupled_lines import line_histories

RADIANS = 0.4
"""Of the fastest mode in a step: RK4 is stable to 2.8, and true to 1e-4 of a swing at this."""
SLIPS = 0.3
"""Of the time in which friction begins to slip, in a step: RK4 is stable to 0.4."""
OTHER_POSES = 1.3
"""They are up to a third faster."""


def fastest_mode(model: Model) -> float:
    """Highest frequency about the pose of rest with free joints, rad/s."""
    squares, _ = model.modes(joints="free")
    return float(np.sqrt(np.abs(squares).max(initial=0.0)))


def stiffest_stop(model: Model) -> float:
    """Highest square of a frequency that a stop adds where a joint meets it, (rad/s)^2."""
    ends = {name: freedom.limits for name, freedom in model.robot.freedoms.items()}
    stops = {name: limits.stop for name, limits in ends.items() if limits is not None and limits.stop is not None}
    if not stops:
        return 0.0
    yields = np.diag(np.linalg.inv(model.mass_matrix(model.layout.rest())))
    return max(float(stop.stiffness * yields[model.speed_index(name)]) for name, stop in stops.items())


def fastest_oil(model: Model) -> float:
    """Highest frequency of an arm on the oil of its cylinders, and rate of a valve that is wide open, rad/s.

    A piston at an end of its stroke stands on the stiffness beta A^2 / (dead volume), which is the greatest.
    """
    if not any(coupling.states for coupling in model.layout.commanded):
        return 0.0
    rest = model.layout.rest()
    _, slopes, _ = line_histories(model, np.tile(rest, (model.n, 1)), np.eye(model.n), model.nominal_parameters)
    M = model.mass_matrix(rest)
    rates = [0.0]
    for slope, coupling in zip(slopes.T, model.robot.couplings):
        cylinder = coupling.cylinder
        if cylinder is None:
            continue
        yields = float(slope @ np.linalg.solve(M, slope))
        K = [cylinder.bulk_modulus * A**2 / V for A, V in zip(cylinder.areas, cylinder.volumes)]
        laminar = cylinder.valve.flow / (cylinder.valve.pressure_drop * cylinder.valve.laminar) ** 0.5
        rates += [np.sqrt((sum(K) + cylinder.cushion.stiffness) * yields)]
        rates += [cylinder.bulk_modulus / V * laminar for V in cylinder.volumes]
    return float(max(rates))


def longest_step(model: Model) -> float:
    """Seconds that an explicit method with fixed steps should not exceed, by what bends, bounces and slips fastest."""
    rates = [OTHER_POSES * float(np.hypot(fastest_mode(model), np.sqrt(stiffest_stop(model)))) / RADIANS]
    for freedom in (freedom for link in model.robot.links for freedom in link.joint.freedoms):
        rubbing = [freedom.friction, freedom.drive.friction] if freedom.elastic else [freedom.friction]
        rates += [f.coulomb_speed / f.bristle / SLIPS for f in rubbing if f.law == "bristle" and f.bristle and f.level]
        rates += [freedom.motor.fastest / SLIPS] if freedom.motor is not None else []
    rates.append(fastest_oil(model) / RADIANS)
    highest = max(rates)
    return 1.0 / highest if highest > 0 else np.inf
