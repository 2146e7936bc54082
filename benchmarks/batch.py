"""Batches on this machine: evaluations per second of the compiled stepping loops, and the time of whole batches.

    python -m benchmarks batch [--quick]

An evaluation is one right-hand side of a classical Runge-Kutta step in double precision. Rates are the best of several
runs, so that other work on the machine shows least; whole batches count everything from the call to the result, the
compile with an empty object cache included.
"""

from __future__ import annotations

import os
import tempfile
import time
from typing import Any
from unittest.mock import patch

import numpy as np

import pliant
from benchmarks.gpu import chain
from pliant.algebra.tableaux import explicit
from pliant.batch import equations, simulate_batch
from pliant.compute import set_threads
from pliant.integrators.packs.pack import BatchIntegrator, TimeSegments
from pliant_bench.timing import best

ARMS = {"2-link": (2, 1, 0, False), "rigid 6R": (6, 0, 0, True), "flexible 6 x 3": (6, 2, 1, True)}
STEPS = 10


def loops(name: str, seconds: float) -> dict[str, Any]:
    """Evaluations per second of the stepping loop itself, on one thread and on two."""
    model = chain(*ARMS[name]).model(stiffening="off")
    f = equations(model).function
    start = time.perf_counter()
    integrator = BatchIntegrator(f, explicit("rk4"))
    row: dict[str, Any] = {"arm": name, "instructions": f.n_instructions(), "compile s": time.perf_counter() - start}
    arms = max(64, 400_000 // f.n_instructions() // 16 * 16)
    zero = np.zeros(1, dtype=int)
    plan = TimeSegments(np.zeros(1), np.full(1, 1e-5), np.full(1, STEPS), zero, zero)
    x = np.random.default_rng(0).normal(size=(arms, integrator.n)) * 0.02
    out = np.empty((arms, 1, integrator.n))
    for threads in (1, 2):
        set_threads(threads)
        run = lambda: integrator(x.copy(), np.zeros((1, 1, 0)), np.zeros((1, 0)), plan, out, np.zeros(4))  # noqa: E731
        row[f"evaluations/s, {threads} thr"] = 4 * STEPS * arms / best(run, seconds)
    set_threads(None)
    return row


def whole(arms: int) -> float:
    """Seconds of `arms` two-link runs of 1 s at 1 ms, compile included."""
    model = chain(*ARMS["2-link"]).model(stiffening="off")
    q0 = np.random.default_rng(1).normal(size=(arms, model.n)) * [1.0, 1.0, 0.01, 0.01]
    start = time.perf_counter()
    result = simulate_batch(model, 1.0, q0, step=1e-3)
    seconds = time.perf_counter() - start
    one = pliant.simulate(model, 1.0, q0[3], method="rk4", step=1e-3, output_step=0.01)
    np.testing.assert_allclose(result.q[3], one.q, rtol=0, atol=1e-8)  # the same steps, a thousand of them
    return seconds


def main(quick: bool = False) -> None:
    """Print the tables."""
    with tempfile.TemporaryDirectory() as folder, patch.dict(os.environ, {"PLIANT_CACHE_DIR": folder}):
        _tables(quick)


def _tables(quick: bool) -> None:
    arms = 1000 if quick else 10_000
    print(f"{arms} two-link runs of 1 s at 1 ms, compile included: {whole(arms):.2f} s")
    rows = [loops(name, 0.2 if quick else 3.0) for name in ARMS]
    for key in rows[0]:
        print(
            f"{key:24}"
            + "".join(f"{row[key]:>16}" if isinstance(row[key], str) else f"{row[key]:>16.4g}" for row in rows)
        )
