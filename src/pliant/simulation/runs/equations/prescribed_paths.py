"""Prescribed coordinates of a run over time, before the run."""

from __future__ import annotations

from collections.abc import Mapping

import casadi as ca
import numpy as np

from pliant.arrays import Array
from pliant.control.trajectories.trajectories import RUN_TIME, looking_up
from pliant.model.model import Model
from pliant.model.stiffening.stiffening_check import Path
from pliant.protocols import PrescribedMotion
from pliant.simulation.runs.equations.composed_equations import path_of
from pliant.simulation.runs.equations.composition import prescribed_index
from pliant.simulation.runs.equations.piece_tables import series_in, series_table


def paths_over(model: Model, motion: Mapping[str, PrescribedMotion], times: Array) -> tuple[Path, ...]:
    """Prescribed coordinates at these times; a joint moves with its motor."""
    series = series_in(motion)
    t = ca.SX.sym(RUN_TIME if series else "t")
    with looking_up(series):
        x = ca.vertcat(*(path_of(name, path, t) for name, path in motion.items()))
    v = ca.jacobian(x, t)
    held = ca.vertcat(ca.SX(0, 1), *(one.held for one in series))
    function = ca.Function("paths", [t, held], [x, v, ca.jacobian(v, t)])
    table = series_table(series)
    looked_up = np.zeros((len(times), 0)) if table is None else table.pieces[0, table.piece(times)]
    rows = [np.array(found, dtype=float) for found in function.call([times[None], looked_up.T])]
    joints = {shaft.actuated: shaft.index for shaft in model.layout.shafts}
    found = []
    for name, *path in zip(motion, *rows):
        index = prescribed_index(model, name)
        for own in sorted({index, joints.get(index, index)}):
            found.append(Path(model.index(model.speeds[own]), own, *path))
    return tuple(found)
