"""Many runs of one differential equation on this machine: packs of states through compiled stepping loops, in threads.

xdot = f(t, x, w, p): `w` is held over pieces of time, `p` for a whole run; both may differ from run to run. Lanes do
not touch each other, so that a run has the same bits whatever runs beside it and with any number of threads.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from pliant.arrays import Array
from pliant.errors import ModelError
from pliant.kernels import emit, llvm, pack_steps, sides, threads
from pliant.kernels.batch import aligned
from pliant.kernels.lanes import Lanes
from pliant.kernels.lower import lower
from pliant.kernels.operations import INPUT
from pliant.kernels.pack_steps import OWN, Layout
from pliant.kernels.pack_text import Text
from pliant.kernels.tape import Tape
from pliant.kernels.target import machine

ENTRY = "pliant_march"
JOB = ("x", "w", "w_stride", "p", "p_stride", "out", "out_stride", "t", "h", "early", "late", "count", "row", "piece",
       "segments", "settings", "counts")  # fmt: skip
"""What a compiled march is told, in this order, as 64-bit integers: addresses, strides (elements) and a number."""

_TYPE = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)


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
    """

    t: Array
    h: Array
    count: NDArray[np.int64]
    row: NDArray[np.int64]
    piece: NDArray[np.int64]

    def sides(self, kind: Any = np.float64) -> tuple[Array, Array]:
        """Earliest and latest time of an evaluation in each segment, in numbers of this kind: an input that jumps
        where it begins or ends has jumped or has not yet."""
        ends = np.where(self.count > 0, self.t + self.count * self.h, self.h)
        return sides.after(self.t, kind), sides.before(ends, kind)

    def split(self, times: Array) -> list[TimeSegments]:
        """Plans that follow each other, cut where segments begin at these times."""
        cuts = [0, *(int(np.abs(self.t - t).argmin()) for t in times), len(self.t)]
        return [
            TimeSegments(self.t[a:b], self.h[a:b], self.count[a:b], self.row[a:b], self.piece[a:b])
            for a, b in pairwise(cuts)
        ]


@dataclass(frozen=True)
class Method:
    """A Runge-Kutta method: "rk4", or an embedded pair by its table."""

    name: str
    A: Array | None = None
    c: Array | None = None
    error: Array | None = None

    @property
    def adaptive(self) -> bool:
        return self.error is not None

    @property
    def table(self) -> tuple[Array, Array, Array]:
        """(A, c, error) of an embedded pair."""
        if self.A is None or self.c is None or self.error is None:
            raise ModelError(f"method: {self.name} has no error estimate.")
        return self.A, self.c, self.error

    @property
    def slopes(self) -> int:
        return 2 if self.c is None else len(self.c)


class BatchIntegrator:
    """Compiled runs of `f`, a CasADi function of (t, x, w, p)."""

    def __init__(self, f: ca.Function, method: Method, width: int | None = None) -> None:
        tape = Tape.from_function(f)
        target = machine()
        self.lanes = Lanes(width) if width else target.pack(len(tape))
        self.n, self.n_held, self.n_own = tape.in_sizes[1:]
        if tape.n_out != self.n:
            raise ModelError(f"f: {tape.n_out} rates were given for {self.n} states.")
        program = lower(tape, target.fma, llvm.PART_LENGTH)
        reads_time = bool(((tape.op == INPUT) & (tape.a == 0)).any())
        self.layout = Layout(self.n, tape.n_in, method.slopes, program.work_size, reads_time)
        text = emit.body(program, self.lanes, target.fma, 1)
        if method.adaptive:
            text += pack_steps.dopri5(self.layout, self.lanes, target.fma, *method.table)
        else:
            text += pack_steps.rk4(self.layout, self.lanes, target.fma)
        text += _march(self.layout, self.lanes, target.fma, (self.n, self.n_held, self.n_own))
        self._code = llvm.compile_text(_declared(text, self.lanes) + target.attributes, ENTRY)
        self._function = _TYPE(self._code.address)

    def __call__(
        self, x: Array, w: Array, p: Array, plan: TimeSegments, out: Array, settings: Array, h0: float = 0.0
    ) -> Array:
        """Run every row of `x` (B, n), which ends as the final state, and fill `out` (B, rows, n).

        `w` is (B or 1, pieces, held), `p` is (B or 1, own); gives the numbers of steps taken and refused, (B, 2).
        """
        B = len(x)
        counts = np.zeros((B, 2))
        strides = [0 if len(a) == 1 else int(np.prod(a.shape[1:])) for a in (w, p)]
        early, late = plan.sides()
        fields = (x, w, strides[0], p, strides[1], out, int(np.prod(out.shape[1:])), plan.t, plan.h, early, late,
                  plan.count, plan.row, plan.piece, len(plan.t), settings, counts)  # fmt: skip
        job = np.array([a if isinstance(a, int) else a.ctypes.data for a in fields], dtype=np.int64)

        def work(next_block: Callable[[], tuple[int, int] | None]) -> None:
            scratch, start = aligned(self.layout.total * self.lanes.width)
            while block := next_block():
                self._function(job.ctypes.data, start, *block)
            del scratch

        packs = -(-B // self.lanes.width)
        threads.share(work, B, self.lanes.width, min(threads.get_threads(), packs))
        return counts


def _declared(text: str, lanes: Lanes) -> str:
    """The module with the vector intrinsics that the loops need, each declared once."""
    known = set(text.splitlines())
    return "".join(line + "\n" for line in lanes.declarations().splitlines() if line not in known) + text


def _march(layout: Layout, lanes: Lanes, fma: bool, sizes: tuple[int, int, int]) -> str:
    """`void pliant_march(job, scratch, start, stop)`: the runs of rows start ... stop - 1, pack by pack."""
    n, held, own = sizes
    text = Text(lanes, fma)
    at = layout.pointers(text, "%scratch")
    job = {
        name: text.load("%job", i, "i64" if name.endswith("stride") or name == "segments" else "ptr")
        for i, name in enumerate(JOB)
    }
    last = text.let("sub i64 %stop, 1")
    length = text.let("sub i64 %stop, %start")
    packs = text.let(f"udiv i64 {text.let(f'add i64 {length}, {lanes.width - 1}')}, {lanes.width}")
    with text.loop(packs) as number:
        first = text.let(f"add i64 {text.let(f'mul i64 {number}, {lanes.width}')}, %start")
        rows = [_row(text, first, lane, last) for lane in range(lanes.width)]
        _gather(text, rows, job["x"], str(n), "0", n, at["x"], 0)
        _gather(text, rows, job["x"], str(n), "0", n, at["in"], 1)
        _gather(text, rows, job["p"], job["p_stride"], "0", own, at["in"], 1 + n + held)
        for k in range(OWN):
            text.store(lanes.constant(0.0), at["own"], k)
        with text.loop(job["segments"]) as s:
            if held:
                place = text.let(f"mul i64 {text.load(job['piece'], s, 'i64')}, {held}")
                _gather(text, rows, job["w"], job["w_stride"], place, held, at["in"], 1 + n)
            t, h, early, late = (text.load(job[name], s, "double") for name in ("t", "h", "early", "late"))
            count, row = text.load(job["count"], s, "i64"), text.load(job["row"], s, "i64")
            times = f"double {t}, double {h}, double {early}, double {late}"
            text.do(f"call void @steps(ptr %scratch, {times}, i64 {count}, ptr {job['settings']})")
            with text.when(text.let(f"icmp sge i64 {row}, 0")):
                place = text.let(f"mul i64 {row}, {n}")
                _scatter(text, rows, job["out"], job["out_stride"], place, n, at["x"], 0)
        _scatter(text, rows, job["x"], str(n), "0", n, at["x"], 0)
        _scatter(text, rows, job["counts"], "2", "0", 2, at["own"], 2)
    text.do("ret void")
    return text.function(f"void @{ENTRY}(ptr %job, ptr noalias %scratch, i64 %start, i64 %stop)")


def _row(text: Text, first: str, lane: int, last: str) -> str:
    """Row of a lane; lanes beyond the end repeat the last row."""
    row = text.let(f"add i64 {first}, {lane}")
    return text.let(f"select i1 {text.let(f'icmp sgt i64 {row}, {last}')}, i64 {last}, i64 {row}")


def _addresses(text: Text, rows: list[str], base: str, stride: str, place: str) -> list[str]:
    starts = [text.let(f"add i64 {text.let(f'mul i64 {row}, {stride}')}, {place}") for row in rows]
    return [text.at(base, start, "double") for start in starts]


def _gather(
    text: Text, rows: list[str], base: str, stride: str, place: str, size: int, target: str, offset: int
) -> None:
    """One row of memory a lane becomes one row of packs a component."""
    T = text.lanes.type
    sources = _addresses(text, rows, base, stride, place)
    with text.loop(size) as j:
        pack = text.load(sources[0], j, "double")
        if text.lanes.width > 1:
            elements = [pack, *(text.load(source, j, "double") for source in sources[1:])]
            pack = "undef"
            for lane, element in enumerate(elements):
                pack = text.let(f"insertelement {T} {pack}, double {element}, i32 {lane}")
        text.store(pack, target, text.let(f"add i64 {j}, {offset}"))


def _scatter(
    text: Text, rows: list[str], base: str, stride: str, place: str, size: int, source: str, offset: int
) -> None:
    """The way back."""
    T = text.lanes.type
    targets = _addresses(text, rows, base, stride, place)
    with text.loop(size) as j:
        pack = text.load(source, text.let(f"add i64 {j}, {offset}"))
        for lane, target in enumerate(targets):
            element = pack if text.lanes.width == 1 else text.let(f"extractelement {T} {pack}, i32 {lane}")
            text.do(f"store double {element}, ptr {text.at(target, j, 'double')}, align 8")
