"""Figure of a shaped motion and the plain one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pliant.base.stages import work
from pliant.drawing.figure_data import Curve, Panel, Quantity, length_unit, position_unit
from pliant.drawing.panel_drawing import panels_figure
from pliant.drawing.style import Paths

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from pliant.control.planning.plan_motion import Plan

MOST_JOINTS = 6
"""Largest number of joints that get a panel."""


@work("plot", "drawing a figure")
def shaped_figure(shaped: Plan, path: Paths = None) -> Figure:
    """Draw the distance of the tip from rest after the end for every arm, then the commands of the joints."""
    panels = []
    for name, both in shaped.compared.items():
        runs = (("plain", both.plain, "second"), ("shaped", both.shaped, "first"))
        after = {label: run.run.t >= run.duration for label, run, _ in runs}
        unit, scale = length_unit(*(run.distance[after[label]] for label, run, _ in runs))
        curves = tuple(
            Curve(label, run.run.t[after[label]], scale * run.distance[after[label]], role) for label, run, role in runs
        )
        panels.append(Panel("swing after the end", Quantity("tip from rest", unit), curves, of=name, span="from zero"))
    robot, joints = shaped.compared["as described"].plain.run.robot, shaped.motion.joints
    moved = [k for k in range(len(joints)) if np.ptp(shaped.motion.q[:, k]) > 1e-9]
    for k in moved[:MOST_JOINTS]:
        unit, scale = position_unit(robot, joints[k])
        t = np.linspace(0.0, shaped.plain.end, len(shaped.motion.t))
        curves = (
            Curve("plain", t, scale * shaped.plain(t)[0][:, k], "second"),
            Curve("shaped", shaped.motion.t, scale * shaped.motion.q[:, k], "first"),
        )
        panels.append(Panel("commands", Quantity("position", unit), curves, of=joints[k]))
    return panels_figure(panels, path)
