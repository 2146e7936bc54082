"""Many runs of one differential equation on this machine: packs of states in compiled stepping loops, in threads.

The equation is xdot = f(t, x, w, p), where `w` is held over pieces of time and `p` for a whole run; both may differ
from run to run. Lanes do not touch each other, so that a run has the same bits whatever runs beside it, with any number
of threads.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from functools import partial
from itertools import pairwise

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from pliant.algebra.tableau import ExplicitTableau
from pliant.arrays import Array
from pliant.compute.compiled_loops.primitives import table
from pliant.compute.compiled_loops.translate import PLAIN, Module
from pliant.compute.llvm import emit, emit_calls, llvm, threads
from pliant.compute.llvm.lanes import Lanes
from pliant.compute.llvm.target import machine
from pliant.compute.llvm.threads import in_blocks
from pliant.compute.tape import one_sided_time
from pliant.compute.tape.call_plan import lowered
from pliant.compute.tape.lower import lower
from pliant.compute.tape.one_sided_time import FloatKind
from pliant.compute.tape.operations import INPUT
from pliant.compute.tape.tape import Tape
from pliant.errors import ModelError
from pliant.integrators.packs import pack_loop
from pliant.integrators.packs.pack_loop import Job, PackForm, body, run_packs

ENTRY = "pliant_packs"
_TYPE = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_int64] * 4)


@dataclass(frozen=True)
class TimeSegments:
    """A run cut into segments.

    Attributes
    ----------
    t, h : (S,)
        Start of each segment, and its step (fixed steps) or its end (adaptive steps).
    count : (S,)
        Number of fixed steps.
    row : (S,)
        Row of the result that takes the state at the segment's end, or -1.
    piece : (S,)
        Piece of `w` that holds during the segment.
    tick : (S,), optional
        Whether a sampled controller acts where it begins; 0 where it does not.
    """

    t: Array
    h: Array
    count: NDArray[np.int64]
    row: NDArray[np.int64]
    piece: NDArray[np.int64]
    tick: NDArray[np.int64] | None = None

    @property
    def ticks(self) -> NDArray[np.int64]:
        """(S,) the entries of `tick`, zeros where the plan has none."""
        return np.zeros(len(self.t), dtype=np.int64) if self.tick is None else self.tick

    def sides(self, kind: FloatKind = np.float64) -> tuple[Array, Array]:
        """Earliest and latest time of an evaluation in each segment, as numbers of this kind: behind a jump of an input
        at the start of the segment, and before one at its end."""
        ends = np.where(self.count > 0, self.t + self.count * self.h, self.h)
        return one_sided_time.after(self.t, kind), one_sided_time.before(ends, kind)

    def split(self, times: Array) -> list[TimeSegments]:
        """Cut the plan where segments begin at these times; return the parts in order."""
        return [
            self._between(a, b)
            for a, b in pairwise([0, *(int(np.abs(self.t - t).argmin()) for t in times), len(self.t)])
        ]

    def within(self, max_steps: int) -> TimeSegments:
        """The segments up to the last row that needs no more than `max_steps` fixed steps."""
        steps, ends = np.cumsum(self.count), np.flatnonzero(self.row >= 0)
        if steps[ends[0]] > max_steps:
            raise ModelError(f"max_steps: got {max_steps}, expected at least {steps[ends[0]]}, those to the first row")
        return self._between(0, int(ends[steps[ends] <= max_steps][-1]) + 1)

    def _between(self, a: int, b: int) -> TimeSegments:
        return TimeSegments(self.t[a:b], self.h[a:b], self.count[a:b], self.row[a:b], self.piece[a:b], self.ticks[a:b])


def reads_time(tape: Tape) -> bool:
    """Whether a function of time and more reads the time."""
    return bool(((tape.op == INPUT) & (tape.a == 0)).any())


def stride(array: Array) -> int:
    """Numbers from one run to the next in an array with a row for each run; 0 where one row serves all."""
    return 0 if len(array) == 1 else int(np.prod(array.shape[1:]))


class BatchIntegrator:
    """Compiled runs of `f`, a CasADi function of (t, x, w, p), by a method with fixed or with adaptive steps.

    `quaternions` says where quaternions begin in x: their length is made one after every step. The first `judged`
    states, all by default, count in the error of a step. Further functions of the same inputs are optional: `closing`
    brings a state nearer to closed loops after every step; `approach` gives gaps and speeds of bodies that a step must
    not leap over; `tick` gives the first and the last numbers of p, `ticks` of each, at the start of a segment that has
    a tick. p then has a row for each run, and changes.
    """

    def __init__(
        self, f: ca.Function, method: ExplicitTableau, width: int | None = None, quaternions: tuple[int, ...] = (),
        judged: int | None = None, closing: ca.Function | None = None, tick: ca.Function | None = None,
        ticks: tuple[int, int] = (0, 0), approach: ca.Function | None = None,
    ) -> None:  # fmt: skip
        asked = (("closing", closing), ("ticking", tick), ("approach", approach))
        others = {name: one for name, one in asked if one is not None}
        tape = Tape.from_function(f, calls=not others)
        target = machine()
        self.lanes = Lanes(width) if width else target.pack(len(tape))
        self.n, self.n_held, self.n_own = tape.in_sizes[1:]
        if tape.n_out != self.n:
            raise ModelError(f"f: got {tape.n_out} rates, expected {self.n}, one per state")
        tapes = {"body": tape, **{name: Tape.from_function(one) for name, one in others.items()}}
        if not others:
            program = lowered(tape, target.fma, llvm.PART_LENGTH)
            work, text = program.work_size, emit_calls.body(program, self.lanes, target.fma, 1, "external")
        else:
            programs = {name: lower(one, target.fma, llvm.PART_LENGTH) for name, one in tapes.items()}
            writers = {name: emit.BodyWriter(one, self.lanes, 1) for name, one in programs.items()}
            work, text = max(one.work_size for one in programs.values()), emit.bodies(writers, target.fma, "external")
        self.form = PackForm(
            method=method, n=self.n, held=self.n_held, own=self.n_own, work=work, width=self.lanes.width,
            reads_time=any(map(reads_time, tapes.values())), quaternions=quaternions, judged=judged,
            closes=closing is not None, meets=0 if approach is None else tapes["approach"].n_out // 2, ticks=ticks,
        )  # fmt: skip
        external = (body, pack_loop.closing, pack_loop.ticking, pack_loop.approach)
        loops = Module(self.lanes, target.fma, "", PLAIN + target.wide, external=external)
        loops.entry(ENTRY, run_packs, form=self.form)
        self._code = llvm.compile_text(text + target.attributes, ENTRY, loops.text())
        self._function = _TYPE(self._code.address)

    def __call__(
        self, x: Array, w: Array, p: Array, plan: TimeSegments, out: Array, settings: Array,
        ceilings: Array | None = None, halt: Array | None = None,
    ) -> Array:  # fmt: skip
        """Run every row of `x` (B, n), which ends as the final state, and fill `out` (B, rows, n).

        `w` is (B or 1, pieces, held), `p` is (B or 1, own). The result (B, 2) counts the steps taken and refused; with
        fixed steps, the second number counts those that were too long for what they passed. With adaptive steps, a run
        whose last state exceeds its entry of `ceilings` (B,) ends there, at infinity. All runs end at minus infinity
        soon after another thread makes the number in `halt` (1,) positive.
        """
        B = len(x)
        counts = np.zeros((B, 2))
        most = np.full(B, np.inf) if ceilings is None else np.ascontiguousarray(ceilings)
        early, late = plan.sides()
        told = Job(
            x=x, w=w, w_stride=stride(w), p=p, p_stride=stride(p), out=out, out_stride=int(np.prod(out.shape[1:])),
            t=plan.t, h=plan.h, early=early, late=late, count=plan.count, row=plan.row, piece=plan.piece,
            tick=plan.ticks, segments=len(plan.t), settings=settings, ceilings=most, counts=counts,
            halt=np.zeros(1) if halt is None else halt,
        )  # fmt: skip
        job = table(told)
        count = min(threads.get_threads(), -(-B // self.lanes.width))
        size = self.form.starts[-1] * self.lanes.width
        in_blocks(partial(self._function, job.ctypes.data), size, B, self.lanes.width, count)
        return counts
