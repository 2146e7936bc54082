"""The stepping loops of packs: fixed steps, and adaptive steps with an error control for each lane.

The state of a pack lives in scratch memory, one row per component, one lane per run. Functions are translated to
machine code by `compute.compiled_loops.translate`, and run in Python as they are.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from pliant.algebra.tableau import ExplicitTableau
from pliant.arrays import Array
from pliant.compute.compiled_loops import primitives
from pliant.compute.compiled_loops.primitives import (
    Doubles,
    Integers,
    Lane,
    Packs,
    fma,
    in_lanes,
    numbers,
    shift,
    unrolled,
)
from pliant.integrators import step_control


class Job(NamedTuple):
    """Arrays and sizes of a loop.

    Strides are in numbers, from run to run (0 where all share them). `settings` are rtol, atol, largest step and most
    steps; `ceilings` the largest values that the last states of the runs may take; `halt` turns positive when all runs
    shall halt.
    """

    x: Doubles
    w: Doubles
    w_stride: int
    p: Doubles
    p_stride: int
    out: Doubles
    out_stride: int
    t: Doubles
    h: Doubles
    early: Doubles
    late: Doubles
    count: Integers  # type: ignore[assignment]
    row: Integers
    piece: Integers
    tick: Integers
    segments: int
    settings: Doubles
    ceilings: Doubles
    counts: Doubles
    halt: Doubles


class Rows(NamedTuple):
    """Runs in the lanes of a pack: from `first` on; lanes at `stop` and beyond repeat run stop - 1."""

    first: int
    stop: int


class Pack(NamedTuple):
    """Scratch memory: inputs [t, x, w, p] of the right-hand side, the state at the last step, slopes (one block of n
    rows per stage), variables of each lane (`Own`), a state with loops closed, gaps at the start and at the end of a
    step, outputs of a tick, and room for the right-hand side."""

    inp: Packs
    x: Packs
    k: Packs
    own: Packs
    closed: Packs
    near: Packs
    ahead: Packs
    ticked: Packs
    work: Packs


class Own:
    """Rows of `Pack.own`: time, proposed step, last error, whether the last step was refused, counts, ceiling, and the
    evaluations left to close the loops."""

    T, H, ERR, AGAIN, TAKEN, REFUSED, CEILING, OPEN, SIZE = range(9)


@dataclass(frozen=True, eq=False)
class PackForm:
    """Constants of a loop, known when it is translated."""

    method: ExplicitTableau
    n: int
    held: int
    own: int
    work: int
    width: int
    reads_time: bool
    quaternions: tuple[int, ...] = ()
    judged: int | None = None
    closes: bool = False
    meets: int = 0
    """Number of gaps that a step must not leap over, as in `step_loops.contact_steps`."""
    ticks: tuple[int, int] = (0, 0)
    """Numbers that a tick sets: the first ones of p, and the last ones, which it remembers."""

    @property
    def in_error(self) -> int:
        """Number of states, the first ones, that count in the error of a step."""
        return self.n if self.judged is None else self.judged

    @property
    def slopes(self) -> int:
        return self.method.stages if self.method.adaptive else 2

    @property
    def starts(self) -> tuple[int, ...]:
        """Rows at which the parts of `Pack` begin, and their end."""
        closed = self.n + 2 if self.closes else 0
        inputs = 1 + self.n + self.held + self.own
        gaps = 2 * self.meets
        sizes = (inputs, self.n, self.n * self.slopes, Own.SIZE, closed, gaps, gaps, sum(self.ticks), self.work)
        return tuple(sum(sizes[:k]) for k in range(len(sizes) + 1))


def nonzero(weights: Array) -> tuple[tuple[int, float], ...]:
    """(stage, weight) of the stages whose weight is not zero."""
    return tuple((int(k), float(weights[k])) for k in np.flatnonzero(weights))


def body(inp: Packs, out: Packs, work: Packs) -> None:
    """The right-hand side, written from its tape."""
    raise NotImplementedError


def closing(inp: Packs, out: Packs, work: Packs) -> None:
    """A state nearer to closed loops, the distance that it was moved, and the least pivot, written from its tape."""
    raise NotImplementedError


def approach(inp: Packs, out: Packs, work: Packs) -> None:
    """Gaps to bodies that may be met and speeds past them, in widths, written from its tape."""
    raise NotImplementedError


def ticking(inp: Packs, out: Packs, work: Packs) -> None:
    """Outputs of a sampled controller at a tick, then its memory behind it, written from its tape."""
    raise NotImplementedError


def run_packs(job_address: int, scratch: int, start: int, stop: int, form: PackForm) -> int:
    """Runs start ... stop - 1, pack by pack; lanes beyond the end repeat the last run."""
    (job,) = primitives.unpack(primitives.integers(job_address), Job)
    memory, starts, n = primitives.packs(primitives.doubles(scratch)), form.starts, form.n
    pack = Pack(
        inp=memory, x=shift(memory, starts[1]), k=shift(memory, starts[2]), own=shift(memory, starts[3]),
        closed=shift(memory, starts[4]), near=shift(memory, starts[5]), ahead=shift(memory, starts[6]),
        ticked=shift(memory, starts[7]), work=shift(memory, starts[8]),
    )  # fmt: skip
    inputs = shift(pack.inp, 1 + n)
    own_inputs = shift(inputs, form.held)
    first = start
    while first < stop:
        rows = Rows(first, stop)
        gather(form, rows, job.x, pack.x, size=n, stride=n, place=0)
        gather(form, rows, job.x, shift(pack.inp, 1), size=n, stride=n, place=0)
        gather(form, rows, job.p, own_inputs, size=form.own, stride=job.p_stride, place=0)
        for row in unrolled(range(Own.SIZE)):
            pack.own[row] = step_control.FIRST_ERROR if row == Own.ERR else 0.0
        gather(form, rows, job.ceilings, shift(pack.own, Own.CEILING), size=1, stride=1, place=0)
        for s in range(job.segments):
            gather(form, rows, job.w, inputs, size=form.held, stride=job.w_stride, place=job.piece[s] * form.held)
            if job.halt[0] <= 0.0:
                if form.ticks[1] > 0 and job.tick[s] != 0:
                    take_tick(pack, form, job.t[s])
                if form.method.adaptive:
                    adaptive_steps(pack, form, job.t[s], job.h[s], job.early[s], job.late[s], job.settings, job.halt)
                else:
                    fixed_steps(pack, form, job.t[s], job.h[s], job.early[s], job.late[s], job.count[s], job.halt)
            if job.halt[0] > 0.0:
                mark_halted(pack, form)
            if job.row[s] >= 0:
                scatter(form, rows, pack.x, job.out, size=n, stride=job.out_stride, place=job.row[s] * n)
        scatter(form, rows, pack.x, job.x, size=n, stride=n, place=0)
        if form.ticks[1] > 0:  # a run may go on in another call
            scatter(form, rows, own_inputs, job.p, size=form.own, stride=job.p_stride, place=0)
        scatter(form, rows, shift(pack.own, Own.TAKEN), job.counts, size=2, stride=2, place=0)
        first += form.width
    return stop


def mark_halted(pack: Pack, form: PackForm) -> None:
    """States of runs that were going on become minus infinity; those of runs that had ended keep NaN or infinity."""
    going = abs(pack.x[0]) < math.inf
    for j in range(form.n):
        pack.x[j] = -math.inf if going else pack.x[j]


def gather(form: PackForm, rows: Rows, source: Doubles, target: Packs, size: int, stride: int, place: int) -> None:
    """Read `size` numbers of each run, from `place` on in its part of an array, into the lanes of a pack."""
    for lane in unrolled(range(form.width)):
        line = shift(source, min(rows.first + lane, rows.stop - 1) * stride + place)
        for j in range(size):
            numbers(target)[j * form.width + lane] = line[j]


def scatter(form: PackForm, rows: Rows, source: Packs, target: Doubles, size: int, stride: int, place: int) -> None:
    """Write `size` numbers of each lane of a pack, from `place` on, into the part of an array that is its run's."""
    for lane in unrolled(range(form.width)):
        line = shift(target, min(rows.first + lane, rows.stop - 1) * stride + place)
        for j in range(size):
            line[j] = numbers(source)[j * form.width + lane]


def take_tick(pack: Pack, form: PackForm, t: float) -> None:
    """Let a sampled controller set the first numbers of p, and remember the last."""
    held, remembered = form.ticks
    own = shift(pack.inp, 1 + form.n + form.held)
    memory = shift(own, form.own - remembered)
    if form.reads_time:
        pack.inp[0] = in_lanes(t)
    ticking(pack.inp, pack.ticked, pack.work)
    for j in range(held):
        own[j] = pack.ticked[j]
    for j in range(remembered):
        memory[j] = pack.ticked[held + j]


def slopes(pack: Pack, form: PackForm, time: Lane, early: float, late: float, k: Packs) -> None:
    """Evaluate slopes k at a time, which is kept inside the segment."""
    if form.reads_time:
        pack.inp[0] = max(min(time, late), early)
    body(pack.inp, k, pack.work)


def fixed_steps(
    pack: Pack, form: PackForm, t: float, h: float, early: float, late: float, count: int, halt: Doubles
) -> None:
    """Take `count` steps of length h from t, in the short form of the method; stop early when `halt` says so."""
    n = form.n
    state = shift(pack.inp, 1)
    total = shift(pack.k, n)
    stages = form.method.low_storage
    if form.meets > 0:
        look(pack, form, t, early, late, pack.near)
    for step in range(count):
        if halt[0] > 0.0:
            break
        for stage, (clock, weight, ahead) in unrolled(tuple(enumerate(stages))):
            slopes(pack, form, t + (step + clock) * h, early, late, pack.k)
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
            close_loops(pack, form, in_lanes(t + (step + 1) * h), early, late)
            for j in range(n):
                pack.x[j] = state[j]
        for first in unrolled(form.quaternions):
            length = norm(shift(state, first))
            for j in unrolled(range(first, first + 4)):
                state[j] = state[j] / length
                pack.x[j] = state[j]
        if form.meets > 0:
            look(pack, form, t + (step + 1) * h, early, late, pack.ahead)
            pack.own[Own.REFUSED] += 1.0 if farthest(pack, form, in_lanes(h), step_control.FIXED_WIDTHS) < h else 0.0
            for j in range(2 * form.meets):
                pack.near[j] = pack.ahead[j]


def look(pack: Pack, form: PackForm, time: Lane, early: float, late: float, found: Packs) -> None:
    """Evaluate gaps and speeds at the state among the inputs."""
    if form.reads_time:
        pack.inp[0] = max(min(time, late), early)
    approach(pack.inp, found, pack.work)


def farthest(pack: Pack, form: PackForm, step: Lane, widths: float) -> Lane:
    """The longest step allowed where a lane may have passed something unseen within it; infinite elsewhere."""
    most = in_lanes(math.inf)
    for k in range(form.meets):
        before, after = pack.near[k], pack.ahead[k]
        speed = max(pack.near[form.meets + k], pack.ahead[form.meets + k])
        leaps = step_control.leaps(before, after, speed, step, widths)
        most = min(most, step_control.reach(before, speed) if leaps else math.inf)
    return most


def close_loops(pack: Pack, form: PackForm, time: Lane, early: float, late: float) -> None:
    """Take Newton's steps towards closed loops in every lane until its loops are closed, as in `step_loops.evaluation`.
    A lane whose loops cannot be closed gets NaN."""
    n, own = form.n, pack.own
    state = shift(pack.inp, 1)
    if form.reads_time:
        pack.inp[0] = max(min(time, late), early)
    own[Own.OPEN] = in_lanes(float(step_control.MOST_CLOSING))
    while primitives.any_lane(own[Own.OPEN] > 0.0):
        closing(pack.inp, pack.closed, pack.work)
        left = own[Own.OPEN] - 1.0
        moves = own[Own.OPEN] > 0.0
        near = pack.closed[n] <= step_control.NEARLY_CLOSED
        sound = pack.closed[n + 1] > step_control.SINGULAR and (near or left > 0.0)
        for j in range(n):
            x = pack.closed[j] if sound else math.nan
            state[j] = x if moves else state[j]
        own[Own.OPEN] = left if moves and sound and not near else 0.0


def norm(q: Packs) -> Lane:
    """Length of a quaternion."""
    return math.sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3])


def combination(k: Packs, n: int, j: int, weights: tuple[tuple[int, float], ...]) -> Lane:
    """Sum of weights times slopes at row j."""
    total = in_lanes(0.0)
    for stage, weight in unrolled(weights):
        total = fma(weight, k[stage * n + j], total)
    return total


def start_step(pack: Pack, form: PackForm, rtol: float, atol: float, largest: float) -> None:
    """Choose a first step for lanes without one, from one evaluation: a second would cost as much as a refused step."""
    state = in_lanes(0.0)
    slope = in_lanes(0.0)
    size = form.in_error
    for j in range(size):
        x = pack.x[j]
        a, b = step_control.scaled(x, x, x, rtol, atol), step_control.scaled(pack.k[j], x, x, rtol, atol)
        state += a * a
        slope += b * b
    guess = max(step_control.first_step(math.sqrt(state / size), math.sqrt(slope / size)), step_control.LEAST_FIRST)
    h = pack.own[Own.H]
    pack.own[Own.H] = h if h > 0.0 else min(guess, largest)


def adaptive_steps(
    pack: Pack, form: PackForm, t: float, end: float, early: float, late: float, settings: Doubles, halt: Doubles
) -> None:
    """Take every lane to time `end` by steps of its own; stop early when `halt` says so.

    A lane whose step vanishes, or that takes too many, ends with NaN; one whose last state is above its ceiling ends
    with infinity.
    """
    n = form.n
    stages = form.method.stages
    rtol, atol, largest, most = settings[0], settings[1], settings[2], settings[3]
    state = shift(pack.inp, 1)
    pack.own[Own.T] = t
    slopes(pack, form, in_lanes(t), early, late, pack.k)
    start_step(pack, form, rtol, atol, largest)
    if form.meets > 0:
        look(pack, form, in_lanes(t), early, late, pack.near)
    while primitives.any_lane(pack.own[Own.T] < end):
        if halt[0] > 0.0:
            break
        now, planned = pack.own[Own.T], pack.own[Own.H]
        last = now + step_control.REACH * planned >= end
        step = end - now if last else planned
        for stage in unrolled(range(1, stages)):
            for j in range(n):
                state[j] = fma(step, combination(pack.k, n, j, nonzero(form.method.A[stage])), pack.x[j])
            slopes(pack, form, fma(float(form.method.c[stage]), step, now), early, late, shift(pack.k, stage * n))
        total = in_lanes(0.0)
        for j in range(form.in_error):
            defect = step * combination(pack.k, n, j, nonzero(form.method.error))
            e = step_control.scaled(defect, pack.x[j], state[j], rtol, atol)
            total += e * e
        if form.closes:  # the slope at the end is that of the closed state
            time = end if last else now + step
            close_loops(pack, form, time, early, late)
            slopes(pack, form, time, early, late, shift(pack.k, (stages - 1) * n))
        if form.meets > 0:
            look(pack, form, end if last else now + step, early, late, pack.ahead)
        error = math.sqrt(total / form.in_error)
        judge_lanes(pack, form, error, now, step, last=last, end=end, largest=largest, most=most)


def judge_lanes(
    pack: Pack, form: PackForm, error: Lane, now: Lane, step: Lane, last: bool, end: float, largest: float, most: float
) -> None:
    """Take or refuse the step of each lane, and choose its next one."""
    n, own = form.n, pack.own
    active = now < end
    good = error <= 1.0
    allowed = in_lanes(math.inf)
    if form.meets > 0:
        allowed = farthest(pack, form, step, 1.0) if good else math.inf  # what an error spoils says nothing
        good = good and allowed >= step
    taken = good and active
    alpha, beta = step_control.exponents(form.method.order)
    ratio = step_control.step_ratio(error, own[Own.ERR], own[Own.AGAIN] > 0.0, alpha, beta)
    following = min(step_control.next_step(step, own[Own.H], ratio), largest)
    if form.meets > 0:
        following = min(following, allowed)
        for j in range(2 * form.meets):
            pack.near[j] = pack.ahead[j] if taken else pack.near[j]
    time = (end if last else now + step) if taken else now
    own[Own.TAKEN] += 1.0 if taken else 0.0
    own[Own.REFUSED] += 1.0 if active and not good else 0.0
    own[Own.ERR] = max(error, step_control.LEAST_MEMORY) if taken else own[Own.ERR]
    own[Own.AGAIN] = 0.0 if good else 1.0
    own[Own.H] = following if active else own[Own.H]
    state = shift(pack.inp, 1)
    away = active and (state[n - 1] if taken else pack.x[n - 1]) > own[Own.CEILING]
    stuck = time < end and (following < step_control.TINY * end or own[Own.TAKEN] + own[Own.REFUSED] >= most)
    broken = away or stuck
    own[Own.T] = end if broken else time
    slope = shift(pack.k, (form.method.stages - 1) * n)
    for first in unrolled(form.quaternions):  # rates of quaternions are proportional to them
        length = norm(shift(state, first))
        for j in unrolled(range(first, first + 4)):
            state[j] = state[j] / length
            slope[j] = slope[j] / length
    for j in range(n):
        x = state[j] if taken else pack.x[j]
        pack.x[j] = (math.inf if away else math.nan) if broken else x
        state[j] = pack.x[j]
        pack.k[j] = slope[j] if taken else pack.k[j]
