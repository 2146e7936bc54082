"""Exact gradients of runs with fixed steps: a pack of runs goes forward, then back through the same steps.

**A step** from x to x' evaluates slopes k_i at stages X_i, each from the slope before it alone:

    X_1 = x,  X_(i+1) = x + h a_i k_i,   k_i = f(t + c_i h, X_i, w, p),   x' = x + h sum_i b_i k_i.

**The way back** turns the sensitivity l' of the cost to x' into the sensitivity l to x, from the last stage to the
first one:

    v_i = h b_i l' + h a_i m_(i+1),   m_i = (df/dX)^T v_i,   l = l' + sum_i m_i,

without the second term of v_i at the last stage. The same products give (df/dw)^T v_i and (df/dp)^T v_i, which add up
to the sensitivities to w and p. The stages X_i are those of the run, so that the gradient is that of the computed
cost, to rounding.

**Quaternions** are divided by their length after a step, q' = q / |q|, so that l = (l' - q (q . l') / |q|^2) / |q|.

**Closed loops** are restored before that: the state x' becomes C(C(x')), with Newton's step C towards closed loops.
Two evaluations serve every lane, where one is the rule. The sensitivity goes back through both, by (dC/dx)^T.

**Memory.** Stages are kept for one block of steps at a time, states at the start of every block. On the way back a
block is run again from its start, but for the last one, whose stages are still there. One block keeps all stages and
runs nothing twice.

Functions are translated to machine code by `compute.compiled_loops.translate`, and run in Python as they are.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

from pliant.compute.compiled_loops import primitives
from pliant.compute.compiled_loops.primitives import Doubles, Integers, Packs, fma, in_lanes, numbers, shift, unrolled
from pliant.integrators import step_control
from pliant.integrators.packs.pack_loop import PackForm, Rows, body, closing, gather, norm, scatter

CLOSINGS = 2
"""Evaluations that close the loops after a step: they close gaps up to 1e-2 m or rad."""


class AdjointJob(NamedTuple):
    """Arrays and sizes of a loop.

    It reads starts x and inputs w, p of all runs, with strides from run to run (0 where all share them). Segment s has
    the steps begin[s] ... begin[s + 1] - 1 of length h[s] from t[s], evaluated within early[s] ... late[s], and reads
    piece[s] of w. Block b has `block` steps and begins in segment[b]. The loop fills costs, final states, and gradients
    by x, by the first entries of each piece of w, and by p.
    """

    x: Doubles
    w: Doubles
    w_stride: int
    p: Doubles
    p_stride: int
    t: Doubles
    h: Doubles
    early: Doubles
    late: Doubles
    begin: Integers
    piece: Integers
    segments: int
    end_time: Doubles
    block: int
    blocks: int
    segment: Integers
    value: Doubles
    end: Doubles
    by_x: Doubles
    by_w: Doubles
    by_w_stride: int
    by_p: Doubles


class Segment(NamedTuple):
    """Steps of length h from time t, evaluated within early ... late."""

    t: float
    h: float
    early: float
    late: float


class Scratch(NamedTuple):
    """Memory of a pack.

    `inp` holds the inputs [t, x, w, p, v] of the traced functions, and `v` is the last part of it. Then: the state at
    the start of the step, slopes, the sensitivity to the state and its sum over a step, outputs of the traced
    functions, sensitivities to w and p, room for the traced functions, stages of a block and, behind them, states at
    the starts of blocks.
    """

    inp: Packs
    v: Packs
    x: Packs
    k: Packs
    costate: Packs
    total: Packs
    out: Packs
    by_w: Packs
    by_p: Packs
    work: Packs
    kept: Packs


@dataclass(frozen=True, eq=False)
class AdjointForm(PackForm):
    """Constants of a loop, known when it is translated; `by_w` and `by_p` count the entries differentiated by."""

    by_w: int = 0
    by_p: int = 0

    @property
    def stages(self) -> int:
        return len(self.method.low_storage)

    @property
    def backwards(self) -> tuple[tuple[int, tuple[float, float, float]], ...]:
        """The stages with their numbers, the last one first."""
        return tuple(enumerate(self.method.low_storage))[::-1]

    @property
    def closings(self) -> tuple[int, ...]:
        """Numbers of the evaluations that close the loops after a step."""
        return tuple(range(CLOSINGS)) if self.closes else ()

    @property
    def closings_back(self) -> tuple[int, ...]:
        """The same numbers, the last one first."""
        return self.closings[::-1]

    @property
    def before_normalizing(self) -> int:
        """Rows of a step at which quaternions before they are normalized begin, behind its stages."""
        return self.stages * self.n

    @property
    def before_closing(self) -> int:
        """Rows of a step at which states before loops are closed begin, behind the quaternions."""
        return self.before_normalizing + 4 * len(self.quaternions)

    @property
    def step_rows(self) -> int:
        """Rows kept of a step: its stages, quaternions before they are normalized, states before loops are closed."""
        return self.before_closing + len(self.closings) * self.n

    @property
    def starts(self) -> tuple[int, ...]:
        """Rows at which the parts of `Scratch` begin; the last of them, the kept stages, has no fixed size."""
        n, inputs = self.n, 1 + self.n + self.held + self.own
        out = max(n + self.by_w + self.by_p, 1 + n + self.by_p, n + 2)
        sizes = (inputs, n, n, 2 * n, n, n, out, self.by_w, self.by_p, self.work)
        return tuple(sum(sizes[:k]) for k in range(len(sizes) + 1))


# ------------------------------------------------------------------------------------------------- traced functions


def product(inp: Packs, out: Packs, work: Packs) -> None:
    """v^T times the derivatives of f by x, w and p, written from its tape."""
    raise NotImplementedError


def ending(inp: Packs, out: Packs, work: Packs) -> None:
    """The cost of a run from its end, and its derivatives by x and p, written from its tape."""
    raise NotImplementedError


def closing_product(inp: Packs, out: Packs, work: Packs) -> None:
    """v^T times the derivatives of `closing` by x, w and p, written from its tape."""
    raise NotImplementedError


# -------------------------------------------------------------------------------------------- runs, blocks, segments


def run_adjoints(job_address: int, scratch: int, start: int, stop: int, form: AdjointForm) -> int:
    """Costs and gradients of the runs of rows start ... stop - 1, pack by pack."""
    (job,) = primitives.unpack(primitives.integers(job_address), AdjointJob)
    memory, at = primitives.packs(primitives.doubles(scratch)), form.starts
    pack = Scratch(
        inp=memory, v=shift(memory, at[1]), x=shift(memory, at[2]), k=shift(memory, at[3]),
        costate=shift(memory, at[4]), total=shift(memory, at[5]), out=shift(memory, at[6]), by_w=shift(memory, at[7]),
        by_p=shift(memory, at[8]), work=shift(memory, at[9]), kept=shift(memory, at[10]),
    )  # fmt: skip
    first = start
    while first < stop:
        run_pack(pack, form, job, Rows(first, stop))
        first += form.width
    return 0


def run_pack(pack: Scratch, form: AdjointForm, job: AdjointJob, rows: Rows) -> None:
    """One pack: forward through all blocks, the cost at the end, and back through all blocks."""
    n, last = form.n, job.blocks - 1
    starts = shift(pack.kept, job.block * form.step_rows)
    gather(form, rows, job.x, pack.x, size=n, stride=n, place=0)
    gather(form, rows, job.p, shift(pack.inp, 1 + n + form.held), size=form.own, stride=job.p_stride, place=0)
    for b in range(last):
        copy(pack.x, shift(starts, b * n), n)
        forward(pack, form, job, rows, b, keep=False)
    forward(pack, form, job, rows, last, keep=True)
    cost_at_end(pack, form, job, rows)
    backward(pack, form, job, rows, last)
    for back in range(last):
        b = last - 1 - back
        copy(shift(starts, b * n), pack.x, n)
        forward(pack, form, job, rows, b, keep=True)
        backward(pack, form, job, rows, b)
    scatter(form, rows, pack.costate, job.by_x, size=n, stride=n, place=0)
    scatter(form, rows, pack.by_p, job.by_p, size=form.by_p, stride=form.by_p, place=0)


def cost_at_end(pack: Scratch, form: AdjointForm, job: AdjointJob, rows: Rows) -> None:
    """Store final states and costs; the derivatives of a cost are the sensitivities that go back."""
    n = form.n
    scatter(form, rows, pack.x, job.end, size=n, stride=n, place=0)
    pack.inp[0] = job.end_time[0]
    copy(pack.x, shift(pack.inp, 1), n)
    ending(pack.inp, pack.out, pack.work)
    scatter(form, rows, pack.out, job.value, size=1, stride=1, place=0)
    copy(shift(pack.out, 1), pack.costate, n)
    copy(shift(pack.out, 1 + n), pack.by_p, form.by_p)


def forward(pack: Scratch, form: AdjointForm, job: AdjointJob, rows: Rows, block: int, keep: bool) -> None:
    """Take the steps of a block, and keep their stages if `keep` says so."""
    s = job.segment[block]
    read_inputs(pack, form, job, rows, s)
    copy(pack.x, shift(pack.inp, 1), form.n)
    begin = block * job.block
    for i in range(begin, min(begin + job.block, job.begin[job.segments])):
        if i >= job.begin[s + 1]:
            s += 1
            read_inputs(pack, form, job, rows, s)
        segment = Segment(job.t[s], job.h[s], job.early[s], job.late[s])
        step_forward(pack, form, segment, i - job.begin[s], shift(pack.kept, (i - begin) * form.step_rows), keep)


def backward(pack: Scratch, form: AdjointForm, job: AdjointJob, rows: Rows, block: int) -> None:
    """Take the sensitivity from the end of a block to its start."""
    begin = block * job.block
    end = min(begin + job.block, job.begin[job.segments])
    s = segment_before(job, block + 1, end)
    read_inputs(pack, form, job, rows, s)
    for j in range(form.by_w):
        pack.by_w[j] = 0.0
    for back in range(end - begin):
        i = end - 1 - back
        if i < job.begin[s]:
            hand_over(pack, form, job, rows, s)
            s -= 1
            read_inputs(pack, form, job, rows, s)
        segment = Segment(job.t[s], job.h[s], job.early[s], job.late[s])
        step_backward(pack, form, segment, i - job.begin[s], shift(pack.kept, (i - begin) * form.step_rows))
    hand_over(pack, form, job, rows, s)


def segment_before(job: AdjointJob, block: int, step: int) -> int:
    """Segment of the step before `step`, the first one of a block or the end of the run."""
    s = job.segments - 1
    if block < job.blocks:
        s = job.segment[block]
    if job.begin[s] >= step:
        s -= 1
    return s


def read_inputs(pack: Scratch, form: AdjointForm, job: AdjointJob, rows: Rows, s: int) -> None:
    """Read the piece of w that a segment holds."""
    place = job.piece[s] * form.held
    gather(form, rows, job.w, shift(pack.inp, 1 + form.n), size=form.held, stride=job.w_stride, place=place)


def hand_over(pack: Scratch, form: AdjointForm, job: AdjointJob, rows: Rows, s: int) -> None:
    """Add the sensitivities to w to those of the piece of a segment; several segments may read one piece."""
    for lane in unrolled(range(form.width)):
        if rows.first + lane < rows.stop:
            line = shift(job.by_w, (rows.first + lane) * job.by_w_stride + job.piece[s] * form.by_w)
            for j in range(form.by_w):
                line[j] += numbers(pack.by_w)[j * form.width + lane]
    for j in range(form.by_w):
        pack.by_w[j] = 0.0


# ------------------------------------------------------------------------------------------------------ steps forward


def step_forward(
    pack: Scratch, form: AdjointForm, segment: Segment, step: int, kept: Packs, keep: bool
) -> None:  # fmt: skip
    """Take a step as `pack_loop.fixed_steps` does: stages, closed loops, quaternions of length one."""
    run_stages(pack, form, segment, step, kept, keep)
    if form.closes:
        close_loops(pack, form, segment, step + 1.0, shift(kept, form.before_closing), keep)
    normalize_quaternions(pack, form, shift(kept, form.before_normalizing), keep)


def run_stages(pack: Scratch, form: AdjointForm, segment: Segment, step: int, kept: Packs, keep: bool) -> None:
    """Evaluate the stages of a step and add up x' = x + h sum_i b_i k_i."""
    n, h = form.n, segment.h
    state, total = shift(pack.inp, 1), shift(pack.k, n)
    for stage, (clock, weight, ahead) in unrolled(tuple(enumerate(form.method.low_storage))):
        if keep:
            copy(state, shift(kept, stage * n), n)
        at_time(pack, form, segment, step + clock)
        body(pack.inp, pack.k, pack.work)
        for j in range(n):
            slope, x = pack.k[j], pack.x[j]
            gathered = fma(h * weight, slope, x if stage == 0 else total[j])
            if stage < form.stages - 1:
                total[j] = gathered
                state[j] = fma(h * ahead, slope, x)
            else:
                pack.x[j] = gathered
                state[j] = gathered


def close_loops(pack: Scratch, form: AdjointForm, segment: Segment, steps: float, kept: Packs, keep: bool) -> None:
    """Bring the state at the end of a step to closed loops; a lane that needs more evaluations than these gets NaN."""
    n, state = form.n, shift(pack.inp, 1)
    at_time(pack, form, segment, steps)
    for turn in unrolled(form.closings):
        if keep:
            copy(state, shift(kept, turn * n), n)
        closing(pack.inp, pack.out, pack.work)
        near = pack.out[n] <= step_control.NEARLY_CLOSED or turn < len(form.closings) - 1
        sound = pack.out[n + 1] > step_control.SINGULAR and near
        for j in range(n):
            state[j] = pack.out[j] if sound else math.nan
            pack.x[j] = state[j]


def normalize_quaternions(pack: Scratch, form: AdjointForm, kept: Packs, keep: bool) -> None:
    """Divide the quaternions of a state by their lengths."""
    state = shift(pack.inp, 1)
    for turn, place in unrolled(tuple(enumerate(form.quaternions))):
        if keep:
            copy(shift(state, place), shift(kept, 4 * turn), 4)
        length = norm(shift(state, place))
        for j in unrolled(range(place, place + 4)):
            state[j] = state[j] / length
            pack.x[j] = state[j]


# --------------------------------------------------------------------------------------------------------- steps back


def step_backward(pack: Scratch, form: AdjointForm, segment: Segment, step: int, kept: Packs) -> None:
    """Take the sensitivity from the end of a step to its start: through quaternions, closed loops, and stages."""
    back_through_quaternions(pack, form, shift(kept, form.before_normalizing))
    if form.closes:
        back_through_closing(pack, form, segment, step + 1.0, shift(kept, form.before_closing))
    back_through_stages(pack, form, segment, step, kept)


def back_through_quaternions(pack: Scratch, form: AdjointForm, kept: Packs) -> None:
    """l = (l' - q (q . l') / |q|^2) / |q| for each quaternion q, as it was before it was normalized."""
    for turn, place in unrolled(tuple(enumerate(form.quaternions))):
        q, costate = shift(kept, 4 * turn), shift(pack.costate, place)
        length = norm(q)
        along = in_lanes(0.0)
        for j in unrolled(range(4)):
            along = fma(q[j], costate[j], along)
        for j in unrolled(range(4)):
            costate[j] = (costate[j] - q[j] * along / (length * length)) / length


def back_through_closing(pack: Scratch, form: AdjointForm, segment: Segment, steps: float, kept: Packs) -> None:
    """l = (dC/dx)^T l' for the evaluations C that closed the loops, the last one first."""
    n, costate = form.n, pack.costate
    for turn in unrolled(form.closings_back):
        copy(shift(kept, turn * n), shift(pack.inp, 1), n)
        at_time(pack, form, segment, steps)
        copy(costate, pack.v, n)
        closing_product(pack.inp, pack.out, pack.work)
        copy(pack.out, costate, n)
        gather_slopes(pack, form)


def back_through_stages(pack: Scratch, form: AdjointForm, segment: Segment, step: int, kept: Packs) -> None:
    """l = l' + sum_i m_i with m_i = (df/dX)^T v_i, from the last stage to the first."""
    n, h, costate = form.n, segment.h, pack.costate
    last = form.stages - 1
    for stage, (clock, weight, ahead) in unrolled(form.backwards):
        copy(shift(kept, stage * n), shift(pack.inp, 1), n)
        at_time(pack, form, segment, step + clock)
        for j in range(n):  # v_i, with m_(i+1) still in pack.out
            share = h * weight * costate[j]
            pack.v[j] = share if stage == last else fma(h * ahead, pack.out[j], share)
        product(pack.inp, pack.out, pack.work)
        for j in range(n):
            pack.total[j] = pack.out[j] + (costate[j] if stage == last else pack.total[j])
        gather_slopes(pack, form)
    copy(pack.total, costate, n)


def gather_slopes(pack: Scratch, form: AdjointForm) -> None:
    """Add the parts of a product that belong to w and p to the sensitivities to them."""
    for j in range(form.by_w):
        pack.by_w[j] += pack.out[form.n + j]
    for j in range(form.by_p):
        pack.by_p[j] += pack.out[form.n + form.by_w + j]


# ------------------------------------------------------------------------------------------------------------- both


def copy(source: Packs, target: Packs, count: int) -> None:
    """Copy rows from one place to another."""
    for j in range(count):
        target[j] = source[j]


def at_time(pack: Scratch, form: AdjointForm, segment: Segment, steps: float) -> None:
    """Set the time of an evaluation: so many steps behind the start of a segment, kept inside it."""
    if form.reads_time:
        pack.inp[0] = max(min(in_lanes(segment.t + steps * segment.h), segment.late), segment.early)
