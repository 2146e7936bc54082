"""A run of pliant told as a peer tells it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import pliant
from pliant import Robot
from pliant_bench.peers import PeerRun


def ours(
    robot: Robot,
    t_end: float,
    angles: Sequence[float],
    torque: Callable[[float], Any] | None = None,
    motion: Any = None,
    output_step: float = 0.002,
    formulation: str = "denoc",
    stiffening: Any = "third-order",
) -> PeerRun:
    """Joint angles and tip deflections of a planar arm with clamped shapes, from straight beams at rest."""
    model = robot.model(formulation, stiffening=stiffening)
    q0 = np.zeros(model.n)
    q0[: len(angles)] = angles
    result = pliant.simulate(
        model, t_end, q0=q0, method="dop853", rtol=1e-8, output_step=output_step,
        torque=None if torque is None else lambda t, q, qd: torque(t),
        motion=None if motion is None else {robot.links[0].name: motion},
    )  # fmt: skip
    tips = np.column_stack([result.deflection(link.name)[:, 1] for link in robot.links])
    return PeerRun("pliant", result.t, result.q[:, : len(robot.links)], tips, 0.0, 0.0)
