"""Data of a stepping loop: statuses, entries of its clock and counters, records of sizes and pointers.

A loop takes one table of integers: sizes, and addresses of arrays that its caller keeps alive, in the order of the
fields of these records. It advances the run by at most `budget` attempts and returns a status. Everything that the next
call needs lives in those arrays, so that cutting a run into chunks does not change a single bit of it.
"""

from __future__ import annotations

from typing import NamedTuple

from pliant.compute.compiled_loops.primitives import Doubles, Integers


class LoopStatus:
    """Status that a loop returns: STIFF says that the last step was refused or that the run crawls."""

    RUNNING, DONE, HOLD, ROOM, EVENT, NONFINITE, UNDERFLOW, CALLBACK, NEWTON, STIFF, RUNAWAY, SINGULAR = range(12)


class EventKind:
    """Values of `Record.terminal`: an event is logged; it ends the run; it ends a step, and the run goes on."""

    NOTE, STOP, CUT = range(3)


class Clock:
    """Entries of `clock`: time, proposed step, last error, start of the segment, smallest and largest step, last step
    tried, a = gamma h of the factors at hand, earliest and latest time of an evaluation, an undeclared jump and the
    time before it; then settings: rtol, exponents of the controller, stability radius, gamma, and the largest value
    allowed for the last state."""

    T, H, ERR, START, H_MIN, H_MAX, TRIED, FACTORED, FROM, UNTIL, JUMP, BEFORE = range(12)
    RTOL, ALPHA, BETA, STABILITY, GAMMA, CEILING, SIZE = range(12, 19)


class Tally:
    """Entries of `tally`. AGAIN: the last attempt was rejected; CHECK_AT: from this step on a crawl returns to Python;
    FRESH: 1 after a break (everything anew), 2 after a step (a new Jacobian, or slope, is due). OVER: steps of a fixed
    length that were too long for what they passed."""

    STEPS, REJECTED, RHS, JACOBIANS, LUS, ROWS, NEXT, BREAK, FRESH, SEG, SEG_AT = range(11)
    LOGGED, HITS, MISSES, CRAWL, WORST, AGAIN, CHECK_AT, OVER, SIZE = range(11, 20)


class Ode(NamedTuple):
    """The equations: addresses of flat functions (0: none), and their common input [t, x, p].

    The first `positions` derivatives are the next `positions` states. `turns` quaternions begin at `turn` in x.
    `closing` writes a state nearer to closed loops into `closed`, then the distance that it was moved and the least
    pivot. `approach` gives gaps to, and speeds past, `meets` things that may be met; they go to `near` at the start of
    a step and to `ahead` within it.
    """

    rhs: int
    jacobian: int
    callback: int
    closing: int
    approach: int
    meets: int
    n: int
    positions: int
    turns: int
    turn: Integers
    closed: Doubles
    near: Doubles
    ahead: Doubles
    inp: Doubles
    flag: Integers
    clock: Doubles
    tally: Integers
    atol: Doubles


class LoopPlan(NamedTuple):
    """Times on which a step must end: row `which[k]` of `table` goes to p[first:] there, and the loop returns to Python
    where `stops[k]` is 1, or calls a tick where it is 2."""

    number: int
    width: int
    first: int
    breaks: Doubles
    which: Integers
    stops: Integers
    table: Doubles


class Ticking(NamedTuple):
    """A function called at ticks, as in `problem.CompiledTicks`. It reads `inputs` numbers of p, `noises` of noise and
    `memory` of its memory, and sets `held` numbers of p."""

    function: int
    inputs: int
    noises: int
    memory: int
    held: int
    given: Doubles
    found: Doubles
    noise: Doubles
    log: Doubles
    taken: Integers


class Record(NamedTuple):
    """Buffers for results: rows at `times`, or at every step when `natural`; events, and their log."""

    natural: int
    requested: int
    capacity: int
    log_capacity: int
    event: int
    events: int
    cuts: int
    times: Doubles
    t: Doubles
    x: Doubles
    g: Doubles
    g_new: Doubles
    g_trial: Doubles
    root: Doubles
    direction: Integers
    terminal: Integers
    log_t: Doubles
    log_x: Doubles
    log_event: Integers


class StepState(NamedTuple):
    """States x at the start and y at the end of the step at hand, room z for one between, and dense output Q with
    `degree` rows."""

    degree: int
    x: Doubles
    y: Doubles
    z: Doubles
    Q: Doubles


class Explicit(NamedTuple):
    """An explicit tableau of `stages` stages, and further ones for the dense output; row `stages - 1` of A is the step
    itself."""

    fixed: int
    stages: int
    all_stages: int
    low: int
    A: Doubles
    c: Doubles
    error: Doubles
    error_low: Doubles
    dense: Doubles
    K: Doubles


class Rosenbrock(NamedTuple):
    """A Rosenbrock tableau in transformed variables, and its stages U."""

    stages: int
    A: Doubles
    C: Doubles
    c: Doubles
    d: Doubles
    b: Doubles
    error: Doubles
    dense: Doubles
    U: Doubles


class Newton(NamedTuple):
    """Jacobian, factors of I - a J, and work for 2 n numbers; slope and scale serve the midpoint rule."""

    J: Doubles
    W: Doubles
    pivot: Integers
    work: Doubles
    r: Doubles
    slope: Doubles
    scale: Doubles
