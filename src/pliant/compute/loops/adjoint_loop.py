"""The discrete adjoint of runs with fixed steps, in packs: forward, then the same steps back (`kernels.translate`).

A step x' = x + h sum_i b_i k_i, k_i = f(t + c_i h, X_i), X_i = x + h a_i k_(i-1), turns a sensitivity l' of the cost to
x' into one to x: backwards over the stages, v_i = h b_i l' + h a_(i+1) m_(i+1) and m_i = (df/dX)^T v_i, then
l = l' + sum m_i; what f reads besides the state gathers (df/dw)^T v_i and (df/dp)^T v_i. The stages X_i are those of
the run itself, so that the gradient is that of the computed cost, to rounding.

Stages are kept for `block` steps at a time, and states at the start of every block: going back, a block is run again
from its start. One block keeps all stages and runs nothing twice.

Where loops are closed after every step, x' becomes C(C(x')): two of the evaluations that close them, of which one is
the rule, so that all lanes do the same. l' then goes back through both, (dC/dx)^T, before it goes through the step.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

from pliant.compute.loops import primitives, step_control
from pliant.compute.loops.pack_loop import PackForm, body, closing, gather, norm, scatter
from pliant.compute.loops.primitives import Doubles, Integers, Packs, fma, in_lanes, numbers, shift, unrolled

CLOSINGS = 2
"""Evaluations that close the loops after a step: they close gaps up to 1e-2 m or rad."""


class AdjointJob(NamedTuple):
    """What the loop is told: starts x and inputs w, p of runs with their strides, segments of fixed steps (segment s
    has the steps begin[s] ... begin[s + 1] - 1), blocks with the segment in which each begins; and what it fills:
    values, final states, and gradients by x, by the first rows of each piece of w, and by p."""

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


class Scratch(NamedTuple):
    """Memory of a pack: inputs [t, x, w, p, v] of the functions, the state at the last step, slopes, the sensitivity
    and its sum over a step, what the functions give, what is gathered for w and p, room for the functions; then stages
    of a block, and states at the starts of blocks."""

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
    """What is known of a loop when it is translated; `by_w` and `by_p` are the numbers of entries differentiated."""

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
    def step_rows(self) -> int:
        """Rows kept of a step: its stages, quaternions before they get their length, states before loops are closed."""
        return self.before_closing + len(self.rounds) * self.n

    @property
    def rounds(self) -> tuple[int, ...]:
        """Numbers of the evaluations that close the loops after a step."""
        return tuple(range(CLOSINGS)) if self.closes else ()

    @property
    def rounds_back(self) -> tuple[int, ...]:
        """The last one first."""
        return self.rounds[::-1]

    @property
    def before_closing(self) -> int:
        """Rows of a step at which states before loops are closed begin."""
        return self.stages * self.n + 4 * len(self.quaternions)

    @property
    def starts(self) -> tuple[int, ...]:
        """Rows at which the parts of `Scratch` begin, and where the kept stages do."""
        n, inputs = self.n, 1 + self.n + self.held + self.own
        out = max(n + self.by_w + self.by_p, 1 + n + self.by_p, n + 2)
        sizes = (inputs, n, n, 2 * n, n, n, out, self.by_w, self.by_p, self.work)
        return tuple(sum(sizes[:k]) for k in range(len(sizes) + 1))


def product(inp: Packs, out: Packs, work: Packs) -> None:
    """v^T times the derivatives of f by x, w and p, written from its tape."""
    raise NotImplementedError


def ending(inp: Packs, out: Packs, work: Packs) -> None:
    """The cost of a run from its end, and its derivatives by x and p, written from its tape."""
    raise NotImplementedError


def closing_product(inp: Packs, out: Packs, work: Packs) -> None:
    """v^T times the derivatives of what brings a state nearer to closed loops, by x, w and p, written from its tape."""
    raise NotImplementedError


def run_adjoints(job_address: int, scratch: int, start: int, stop: int, form: AdjointForm) -> int:
    """Costs and gradients of the runs of rows start ... stop - 1, pack by pack."""
    (job,) = primitives.unpack(primitives.integers(job_address), AdjointJob)
    memory, at, n = primitives.packs(primitives.doubles(scratch)), form.starts, form.n
    pack = Scratch(
        memory, shift(memory, at[1]), shift(memory, at[2]), shift(memory, at[3]), shift(memory, at[4]),
        shift(memory, at[5]), shift(memory, at[6]), shift(memory, at[7]), shift(memory, at[8]), shift(memory, at[9]),
        shift(memory, at[10]),
    )  # fmt: skip
    starts = shift(pack.kept, job.block * form.step_rows)
    first = start
    while first < stop:
        gather(form, job.x, n, 0, n, pack.x, first, stop)
        gather(form, job.p, job.p_stride, 0, form.own, shift(pack.inp, 1 + n + form.held), first, stop)
        for b in range(job.blocks - 1):
            copy(pack.x, shift(starts, b * n), n)
            forward(pack, form, job, b, first, stop, False)
        forward(pack, form, job, job.blocks - 1, first, stop, True)
        scatter(form, job.end, n, 0, n, pack.x, first, stop)
        pack.inp[0] = job.end_time[0]
        copy(pack.x, shift(pack.inp, 1), n)
        ending(pack.inp, pack.out, pack.work)
        scatter(form, job.value, 1, 0, 1, pack.out, first, stop)
        copy(shift(pack.out, 1), pack.costate, n)
        copy(shift(pack.out, 1 + n), pack.by_p, form.by_p)
        backward(pack, form, job, job.blocks - 1, first, stop)
        for back in range(job.blocks - 1):
            b = job.blocks - 2 - back
            copy(shift(starts, b * n), pack.x, n)
            forward(pack, form, job, b, first, stop, True)
            backward(pack, form, job, b, first, stop)
        scatter(form, job.by_x, n, 0, n, pack.costate, first, stop)
        scatter(form, job.by_p, form.by_p, 0, form.by_p, pack.by_p, first, stop)
        first += form.width
    return 0


def copy(source: Packs, target: Packs, count: int) -> None:
    """Rows from one place to another."""
    for j in range(count):
        target[j] = source[j]


def inputs(pack: Scratch, form: AdjointForm, job: AdjointJob, s: int, first: int, stop: int) -> None:
    """What holds in a segment."""
    place = job.piece[s] * form.held
    gather(form, job.w, job.w_stride, place, form.held, shift(pack.inp, 1 + form.n), first, stop)


def at_time(pack: Scratch, form: AdjointForm, job: AdjointJob, s: int, steps: float) -> None:
    """The time of an evaluation, so many steps behind the start of a segment, kept inside it."""
    if form.reads_time:
        pack.inp[0] = max(min(in_lanes(job.t[s] + steps * job.h[s]), job.late[s]), job.early[s])


def forward(
    pack: Scratch, form: AdjointForm, job: AdjointJob, block: int, first: int, stop: int, keep: bool
) -> None:  # fmt: skip
    """The steps of a block; its stages are kept where asked."""
    s = job.segment[block]
    inputs(pack, form, job, s, first, stop)
    copy(pack.x, shift(pack.inp, 1), form.n)
    begin = block * job.block
    for i in range(begin, min(begin + job.block, job.begin[job.segments])):
        if i >= job.begin[s + 1]:
            s += 1
            inputs(pack, form, job, s, first, stop)
        step_forward(pack, form, job, s, i - job.begin[s], shift(pack.kept, (i - begin) * form.step_rows), keep)


def step_forward(
    pack: Scratch, form: AdjointForm, job: AdjointJob, s: int, step: int, kept: Packs, keep: bool
) -> None:  # fmt: skip
    """One step, as in `pack_loop.fixed_steps`."""
    n, h = form.n, job.h[s]
    state, total = shift(pack.inp, 1), shift(pack.k, n)
    stages = form.method.low_storage
    for stage, (clock, weight, ahead) in unrolled(tuple(enumerate(stages))):
        if keep:
            copy(state, shift(kept, stage * n), n)
        at_time(pack, form, job, s, step + clock)
        body(pack.inp, pack.k, pack.work)
        for j in range(n):
            slope, x = pack.k[j], pack.x[j]
            gathered = fma(h * weight, slope, x if stage == 0 else total[j])
            if stage < len(stages) - 1:
                total[j] = gathered
                state[j] = fma(h * ahead, slope, x)
            else:
                pack.x[j] = gathered
                state[j] = gathered
    if form.closes:
        close_loops(pack, form, job, s, step, shift(kept, form.before_closing), keep)
    for turn, place in unrolled(tuple(enumerate(form.quaternions))):
        if keep:
            copy(shift(state, place), shift(kept, len(stages) * n + 4 * turn), 4)
        length = norm(shift(state, place))
        for j in unrolled(range(place, place + 4)):
            state[j] = state[j] / length
            pack.x[j] = state[j]


def close_loops(pack: Scratch, form: AdjointForm, job: AdjointJob, s: int, step: int, kept: Packs, keep: bool) -> None:
    """Bring the state at the end of a step to closed loops; a lane in which that takes longer gets NaN."""
    n, state = form.n, shift(pack.inp, 1)
    at_time(pack, form, job, s, step + 1.0)
    for turn in unrolled(form.rounds):
        if keep:
            copy(state, shift(kept, turn * n), n)
        closing(pack.inp, pack.out, pack.work)
        near = pack.out[n] <= step_control.NEARLY_CLOSED or turn < len(form.rounds) - 1
        sound = pack.out[n + 1] > step_control.SINGULAR and near
        for j in range(n):
            state[j] = pack.out[j] if sound else math.nan
            pack.x[j] = state[j]


def backward(pack: Scratch, form: AdjointForm, job: AdjointJob, block: int, first: int, stop: int) -> None:
    """The sensitivity from the end of a block to its start."""
    begin = block * job.block
    end = min(begin + job.block, job.begin[job.segments])
    s = job.segments - 1
    if block < job.blocks - 1:
        s = job.segment[block + 1]
    if job.begin[s] >= end:
        s -= 1
    inputs(pack, form, job, s, first, stop)
    for j in range(form.by_w):
        pack.by_w[j] = 0.0
    for back in range(end - begin):
        i = end - 1 - back
        if i < job.begin[s]:
            hand_over(pack, form, job, s, first, stop)
            s -= 1
            inputs(pack, form, job, s, first, stop)
        step_backward(pack, form, job, s, i - job.begin[s], shift(pack.kept, (i - begin) * form.step_rows))
    hand_over(pack, form, job, s, first, stop)


def step_backward(pack: Scratch, form: AdjointForm, job: AdjointJob, s: int, step: int, kept: Packs) -> None:
    """One step back."""
    n, h = form.n, job.h[s]
    state, costate = shift(pack.inp, 1), pack.costate
    stages = form.method.low_storage
    last = len(stages) - 1
    for turn, place in unrolled(tuple(enumerate(form.quaternions))):
        whole = shift(kept, len(stages) * n + 4 * turn)
        length = norm(whole)
        along = in_lanes(0.0)
        for j in unrolled(range(4)):
            along = fma(whole[j], costate[place + j], along)
        for j in unrolled(range(4)):
            costate[place + j] = (costate[place + j] - whole[j] * along / (length * length)) / length
    for turn in unrolled(form.rounds_back):
        copy(shift(kept, form.before_closing + turn * n), state, n)
        at_time(pack, form, job, s, step + 1.0)
        copy(costate, pack.v, n)
        closing_product(pack.inp, pack.out, pack.work)
        copy(pack.out, costate, n)
        gather_slopes(pack, form)
    for stage, (clock, weight, ahead) in unrolled(form.backwards):
        copy(shift(kept, stage * n), state, n)
        at_time(pack, form, job, s, step + clock)
        for j in range(n):
            share = h * weight * costate[j]
            pack.v[j] = share if stage == last else fma(h * ahead, pack.out[j], share)
        product(pack.inp, pack.out, pack.work)
        for j in range(n):
            pack.total[j] = pack.out[j] + (costate[j] if stage == last else pack.total[j])
        gather_slopes(pack, form)
    copy(pack.total, costate, n)


def gather_slopes(pack: Scratch, form: AdjointForm) -> None:
    """Add what a product says of w and p."""
    for j in range(form.by_w):
        pack.by_w[j] += pack.out[form.n + j]
    for j in range(form.by_p):
        pack.by_p[j] += pack.out[form.n + form.by_w + j]


def hand_over(pack: Scratch, form: AdjointForm, job: AdjointJob, s: int, first: int, stop: int) -> None:
    """What was gathered for the piece of a segment; several segments may have one piece."""
    for lane in unrolled(range(form.width)):
        if first + lane < stop:
            line = shift(job.by_w, (first + lane) * job.by_w_stride + job.piece[s] * form.by_w)
            for j in range(form.by_w):
                line[j] += numbers(pack.by_w)[j * form.width + lane]
    for j in range(form.by_w):
        pack.by_w[j] = 0.0
