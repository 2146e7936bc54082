"""Gradients of runs with fixed steps: forward, then back through the same steps."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from pliant.algebra.tableaux import explicit
from pliant.arrays import Array
from pliant.compute.llvm.threads import get_threads
from pliant.integrators.cuda.adjoint import DeviceAdjoints
from pliant.integrators.packs.adjoint import AdjointIntegrator, block_length
from pliant.options import CheckpointsName
from pliant.simulation.batch.batch_equations import make_plan
from pliant.simulation.gradients.request import Inquiry

KEPT_BYTES = 256e6
"""Stages that are kept at once where nothing else is asked for."""


@dataclass(frozen=True)
class Found:
    """Costs (B,), final states and gradients by the start (B, n + 1), by pieces and by p, and the effort of the
    computation.

    If `sampled`, `by_w` is the gradient by the samples themselves, (B, K, m).
    """

    value: Array
    end: Array
    by_x: Array
    by_w: Array
    by_p: Array
    steps: int
    evaluations: int
    products: int
    kept: int
    wall: float
    sampled: bool = False


def adjoint(
    asked: Inquiry, t_end: float, stops: Array, step: float, checkpoints: CheckpointsName | int, device: str
) -> Found:
    """Gradient by "rk4"."""
    c, given, method = asked.f.composition, asked.given, explicit("rk4")
    starts = given.samples.starts if given.samples else None
    plan = make_plan(np.array([0.0, t_end]), stops, starts, step, False)
    steps, stages = int(plan.count.sum()), len(method.low_storage)
    key, width = (*asked.key, tuple(asked.wanted.chosen)), 1 if given.arms == 1 else None
    run = c.derived("differentiated runs", key, lambda: asked.run.differentiated(asked.wanted.chosen))
    integrator: AdjointIntegrator | DeviceAdjoints
    if device == "cuda":
        integrator = c.derived("adjoints on a device", key, lambda: DeviceAdjoints(run, method))
        beside, room = given.arms, integrator.room
    else:
        integrator = c.derived("adjoints", (*key, width), lambda: AdjointIntegrator(run, method, width))
        beside = integrator.lanes.width * min(get_threads(), -(-given.arms // integrator.lanes.width))
        room = KEPT_BYTES
    block = _block(checkpoints, steps, stages, 8 * beside * integrator.rows(steps, steps) <= room)
    x, w, own = asked.starts(), given.pieces(), given.held(asked.f)
    begin = time.perf_counter()
    found = integrator(x, w, own, plan, t_end, block)
    wall = time.perf_counter() - begin
    again = (-(-steps // block) - 1) * block  # all blocks but the last
    return Found(
        value=found.value,
        end=found.end,
        by_x=found.by_x,
        by_w=found.by_w,
        by_p=found.by_p,
        steps=steps,
        evaluations=stages * (steps + again),
        products=stages * steps,
        kept=integrator.rows(steps, block),
        wall=wall,
    )


def _block(checkpoints: CheckpointsName | int, steps: int, stages: int, fits: bool) -> int:
    """Steps whose stages are kept at once."""
    if checkpoints == "all" or (checkpoints == "auto" and fits):
        return steps
    if checkpoints in ("fewest", "auto"):
        return block_length(steps, stages)
    return max(1, -(-steps // int(checkpoints)))
