"""Costs of many runs with fixed steps, and their exact gradients.

A run is given as CasADi functions: its rates, the products of vectors with their derivatives, and the cost at its end
(`Differentiated`). `AdjointIntegrator` compiles them together with the loops of `adjoint_loop`, which take packs of
runs forward and back. Slices of all runs go through the compiled code in threads (`threads.in_blocks`), one after
another, so that Ctrl-C comes through between them.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import casadi as ca
import numpy as np

from pliant.algebra.tableau import ExplicitTableau
from pliant.arrays import Array, Integers
from pliant.base.interrupts import abandonable
from pliant.compute.compiled_loops.primitives import table
from pliant.compute.compiled_loops.translate import PLAIN, Module
from pliant.compute.llvm import emit, llvm, threads
from pliant.compute.llvm.lanes import Lanes
from pliant.compute.llvm.target import machine
from pliant.compute.llvm.threads import in_blocks
from pliant.compute.tape.lower import lower
from pliant.compute.tape.tape import Tape
from pliant.errors import ModelError
from pliant.integrators.packs.adjoint_loop import (
    AdjointForm,
    AdjointJob,
    closing_product,
    ending,
    product,
    run_adjoints,
)
from pliant.integrators.packs.pack import TimeSegments, reads_time, stride
from pliant.integrators.packs.pack_loop import body, closing

ENTRY = "pliant_adjoints"
SLICE = 2_000_000
"""Steps of all runs in a slice: some seconds of the smallest arms."""
_TYPE = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_int64] * 4)


@dataclass(frozen=True)
class Adjoints:
    """Costs (B,) of runs, final states (B, n), and gradients: by the start (B, n), by the first entries of each piece
    of w (B, pieces, by_w), and by the chosen entries of p (B, by_p)."""

    value: Array
    end: Array
    by_x: Array
    by_w: Array
    by_p: Array


@dataclass(frozen=True)
class Differentiated:
    """A run to be differentiated, as CasADi functions.

    Attributes
    ----------
    rates : casadi.Function
        f(t, x, w, p).
    product : casadi.Function
        (t, x, w, p, v) -> one column: v^T times the derivatives of f by x, by entries of w and by entries of p.
    ending : casadi.Function
        (t, x, w, p) -> one column: the cost, and its derivatives by x and by the same entries of p.
    by_w, by_p : int
        Numbers of these entries.
    quaternions : tuple of int
        Where quaternions begin in x: their length is made one after every step.
    closing, closing_product : casadi.Function, optional
        Of arms with loops: (t, x, w, p) -> a state nearer to closed loops, by how much it was moved, and the least part
        of a row that the others leave; and (t, x, w, p, v) -> v^T times the derivatives of that state, as `product`.
    """

    rates: ca.Function
    product: ca.Function
    ending: ca.Function
    by_w: int
    by_p: int
    quaternions: tuple[int, ...] = ()
    closing: ca.Function | None = None
    closing_product: ca.Function | None = None

    def __post_init__(self) -> None:
        n = self.rates.size1_out(0)
        sizes = n + self.by_w + self.by_p, 1 + n + self.by_p
        found = self.product.size1_out(0), self.ending.size1_out(0)
        if found != sizes:
            raise ModelError(f"a run to be differentiated: got columns of {found} entries, expected {sizes}")


def block_length(steps: int, stages: int) -> int:
    """Steps of a block for which kept states and stages together are fewest."""
    return max(1, min(steps, round(math.sqrt(steps / stages))))


class AdjointIntegrator:
    """Compiled runs forward and back by an explicit method with fixed steps; `width` runs side by side."""

    def __init__(self, run: Differentiated, method: ExplicitTableau, width: int | None = None) -> None:
        target = machine()
        parts = {
            body: run.rates, product: run.product, ending: run.ending, closing: run.closing,
            closing_product: run.closing_product,
        }  # fmt: skip
        tapes = {part.__name__: Tape.from_function(traced) for part, traced in parts.items() if traced is not None}
        self.lanes = Lanes(width) if width else target.pack(len(tapes["body"]))
        self.n, self.n_held, self.n_own = tapes["body"].in_sizes[1:]
        angles = target.width if self.lanes.width == 1 and target.fma else 1
        programs = {name: lower(tape, target.fma, llvm.PART_LENGTH, angles) for name, tape in tapes.items()}
        self.form = AdjointForm(
            method=method, n=self.n, held=self.n_held, own=self.n_own, by_w=run.by_w, by_p=run.by_p,
            work=max(program.work_size for program in programs.values()), width=self.lanes.width,
            reads_time=any(map(reads_time, tapes.values())), quaternions=run.quaternions,
            closes=run.closing is not None,
        )  # fmt: skip
        loops = Module(self.lanes, target.fma, "", PLAIN + target.wide, external=parts)
        loops.entry(ENTRY, run_adjoints, form=self.form)
        writers = {name: emit.BodyWriter(program, self.lanes, angles) for name, program in programs.items()}
        text = emit.bodies(writers, target.fma, "external")
        self._code = llvm.compile_text(text + target.attributes, ENTRY, loops.text())
        self._function: Callable[..., int] = _TYPE(self._code.address)

    def rows(self, steps: int, block: int) -> int:
        """Numbers that a run keeps when stages are kept for `block` steps."""
        return block * self.form.step_rows + -(-steps // block) * self.n

    def __call__(self, x: Array, w: Array, p: Array, plan: TimeSegments, t_end: float, block: int) -> Adjoints:
        """Costs and gradients from the starts `x` (B, n); `w` is (B or 1, pieces, held), `p` is (B or 1, own)."""
        x, w, p = (np.ascontiguousarray(a) for a in (x, w, p))
        B, pieces, steps = len(x), w.shape[1], int(plan.count.sum())
        found = Adjoints(
            value=np.zeros(B), end=np.zeros((B, self.n)), by_x=np.zeros((B, self.n)),
            by_w=np.zeros((B, pieces, self.form.by_w)), by_p=np.zeros((B, self.form.by_p)),
        )  # fmt: skip
        job = self._job(x, w, p, plan, t_end, block, found)
        told = table(job)
        size = (self.form.starts[-1] + self.rows(steps, block)) * self.lanes.width
        together = max(1, SLICE // steps // self.lanes.width) * self.lanes.width
        for first in range(0, B, together):
            abandonable(partial(self._run_slice, job, told, first, min(together, B - first), size))
        return found

    def _job(
        self, x: Array, w: Array, p: Array, plan: TimeSegments, t_end: float, block: int, found: Adjoints
    ) -> AdjointJob:  # fmt: skip
        """The arrays of the loop: runs, segments, blocks with the segments in which they begin, and results."""
        begin = np.concatenate([[0], np.cumsum(plan.count)])
        first_steps = np.arange(0, begin[-1], block)
        segment = (np.searchsorted(begin, first_steps, side="right") - 1).astype(np.int64)
        early, late = plan.sides()
        return AdjointJob(
            x=x, w=w, w_stride=stride(w), p=p, p_stride=stride(p), t=plan.t, h=plan.h, early=early, late=late,
            begin=begin, piece=plan.piece, segments=len(plan.t), end_time=np.array([t_end]), block=block,
            blocks=len(first_steps), segment=segment, value=found.value, end=found.end, by_x=found.by_x,
            by_w=found.by_w, by_w_stride=w.shape[1] * self.form.by_w, by_p=found.by_p,
        )  # fmt: skip

    def _run_slice(self, job: AdjointJob, told: Integers, first: int, count: int, size: int) -> bool:
        """Runs first ... first + count - 1 of a job in threads. It keeps the arrays that the code works on alive, also
        where its caller gives up waiting."""

        def runs(scratch: int, start: int, stop: int) -> int:
            return self._function(told.ctypes.data, scratch, first + start, first + stop)

        width = self.lanes.width
        return in_blocks(runs, size, count, width, min(threads.get_threads(), -(-count // width)))
