"""Engines that run a slice of a batch: SIMD packs on this machine, or a graphics processor."""

from __future__ import annotations

from functools import partial
from types import ModuleType

import numpy as np

from pliant.algebra.tableaux import explicit
from pliant.arrays import Array
from pliant.base.interrupts import TimeOver, haltable
from pliant.compute.cuda.device import cupy, shared_bytes
from pliant.compute.tape.tape import Tape
from pliant.integrators.cuda.device_integrator import DeviceIntegrator
from pliant.integrators.cuda.source import emit
from pliant.integrators.packs.pack import BatchIntegrator, TimeSegments
from pliant.simulation.batch.arguments import Given
from pliant.simulation.batch.batch_equations import BatchEquations, DeviceArray
from pliant.simulation.runs.equations.rate_jumps import Impulses

SLICE_BYTES = 64e6
"""Bytes of histories that are held at once on their way to a file."""
DEVICE_SHARE = 0.4
"""Part of the free device memory that histories may take at once."""


class Stages:
    """A run cut at the impulses of prescribed motion: plans that follow each other, and the jumps between them."""

    def __init__(self, f: BatchEquations, plan: TimeSegments, impulses: Impulses) -> None:
        self.f, self.plan, self.impulses = f, plan, impulses
        self.plans = plan.split(impulses.times)

    def between(self, k: int, x: Array, w: Array, own: Array) -> Array:
        """States (b, n) after the k-th impulse; `w` and `own` are the inputs that hold there. Broken arms stay so."""
        at, piece = self.impulses, int(self.plans[k + 1].piece[0])
        t, broken = at.behind(at.times[k : k + 1]), ~np.isfinite(x).all(axis=1)
        found: Array = self.f.impulse_kernel(t, np.nan_to_num(x), w[:, piece], own, at.before[k], at.after[k])
        found[broken] = x[broken]
        return found


class Cpu:
    """SIMD packs in threads."""

    module: ModuleType = np
    cut_short: KeyboardInterrupt | TimeOver | None = None
    """Reason why the last slice ended early; the states of arms that were running are minus infinity then."""

    def __init__(
        self, f: BatchEquations, given: Given, stages: Stages, settings: tuple[float, ...], method: str,
        precision: str, n_rows: int,
    ) -> None:  # fmt: skip
        key = (method, f.has_constant, f.n, f.judged)
        make = partial(
            BatchIntegrator, f.function, explicit(method), quaternions=f.composition.quaternions, judged=f.judged,
            closing=f.closing, tick=f.tick, ticks=f.ticks, approach=f.approach,
        )  # fmt: skip
        self.integrator: BatchIntegrator = f.composition.derived("packs", key, make)
        self.dtype, self.precision = np.float64, precision
        self.stages, self.settings, self.rows = stages, np.array(settings), n_rows
        self.own, self._inputs = given.held(f), partial(given.of_arms, f)
        self.ceilings = given.ceilings(f, float(stages.plan.t[-1]))
        self.slice_bytes = SLICE_BYTES

    def __call__(self, x: Array, first: int) -> tuple[Array, Array]:
        """Histories (b, rows - 1, n) after the start, and step counts (b, 2), of arms first, first + 1, ..."""
        out = np.empty((len(x), self.rows - 1, self.integrator.n))
        halt = np.zeros(1)
        counts, self.cut_short = haltable(partial(self._run, x, first, out, halt), partial(halt.fill, 1.0))
        return out, counts

    def _run(self, x: Array, first: int, out: Array, halt: Array) -> Array:
        b = len(x)
        pieces, own = self._inputs(first, first + b)
        if self.integrator.form.ticks[1]:  # each arm remembers for itself
            own = np.array(np.broadcast_to(own, (b, own.shape[1])))
        counts = np.zeros((b, 2))
        for k, plan in enumerate(self.stages.plans):
            if k:
                x = np.ascontiguousarray(self.stages.between(k - 1, x, pieces, own))
                _amend(out, self.stages.plans[k - 1], x)
            ceilings = self.ceilings[first : first + b]
            counts += self.integrator(x, pieces, own, plan, out, self.settings, ceilings, halt)
        return counts


class Cuda:
    """One thread per arm. A slice runs to its end."""

    cut_short: None = None

    def __init__(
        self, f: BatchEquations, given: Given, stages: Stages, settings: tuple[float, ...], method: str,
        precision: str, n_rows: int,
    ) -> None:  # fmt: skip
        self.module = cupy()
        key = (method, precision, f.has_constant, f.with_work, int(self.module.cuda.Device().id))

        def make() -> DeviceIntegrator:
            states, tape = f.typical_inputs(given.held(f)[0]), Tape.from_function(f.function)
            source = emit(
                tape,
                explicit(method),
                precision,
                shared_bytes=shared_bytes(),
                states=states,
                quaternions=f.composition.quaternions,
                closing=None if f.closing is None else Tape.from_function(f.closing),
                approach=None if f.approach is None else Tape.from_function(f.approach),
            )
            return DeviceIntegrator(source)

        self.integrator: DeviceIntegrator = f.composition.derived("gpu", key, make)
        self.dtype, self.precision = self.integrator.dtype, precision
        self.stages, self.settings, self.rows = stages, settings, n_rows
        self.own, self.pieces = self.module.asarray(given.held(f)), self.module.asarray(given.pieces())
        self.ceilings = given.ceilings(f, float(stages.plan.t[-1]))
        self.slice_bytes = DEVICE_SHARE * self.module.cuda.Device().mem_info[0]

    def __call__(self, x: DeviceArray, first: int) -> tuple[DeviceArray, DeviceArray]:
        """Histories and step counts as from `Cpu`, in arrays of the device."""
        cp, b = self.module, len(x)
        own, pieces = (a if len(a) == 1 else a[first : first + b] for a in (self.own, self.pieces))
        X, rows, settings = self.integrator.states(x), self.rows - 1, self.settings
        first_plan, *others = self.stages.plans
        out, counts = self.integrator(X, pieces, own, first_plan, rows, settings)
        for k, plan in enumerate(others):
            host = [np.asarray(cp.asnumpy(a), dtype=float) for a in (X.T, pieces, own)]
            X = self.integrator.states(self.stages.between(k, *host))
            _amend(out.transpose(2, 0, 1), self.stages.plans[k], X.T)
            more, further = self.integrator(X, pieces, own, plan, rows, settings)
            filled = plan.row[plan.row >= 0]
            out[filled], counts = more[filled], counts + further
        return cp.ascontiguousarray(out.transpose(2, 0, 1)), cp.ascontiguousarray(counts.T)


def _amend(out: DeviceArray, plan: TimeSegments, x: DeviceArray) -> None:
    """Put states (b, n) into the row at the end of a plan, if there is one."""
    if len(plan.row) and plan.row[-1] >= 0:
        out[:, plan.row[-1]] = x
