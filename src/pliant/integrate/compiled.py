"""The stepping loops, compiled by Numba, calling kernels by address.

All compiled code stands in this one file on purpose: Numba's cache on disk notices a change only in the file of the
function itself, so a helper elsewhere could silently stay old. Import this module on first use only (Numba is slow to
import).

A loop takes one table of integers: sizes, and addresses of arrays that its caller keeps alive. Inside, arrays are bare
pointers in named tuples, which compiles several times faster than passing NumPy arrays between functions. A loop
advances the run by at most `budget` attempts and returns a status; all that must survive until the next call lives in
those arrays, so where a run is cut into chunks does not change a single bit of its result.
"""

from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic

from pliant.integrate.numba_target import follow_kernels
from pliant.kernels.sides import MARGIN  # a number: the cache would not notice a change of it

follow_kernels()  # before the first function is compiled

# Statuses of a loop.
RUNNING, DONE, HOLD, ROOM, EVENT, NONFINITE, UNDERFLOW, CALLBACK, NEWTON, STIFF = range(10)
# Entries of `clock`: time, proposed step, last error, start of the segment, smallest and largest step, last step tried,
# a = gamma h of the factors at hand, earliest and latest time of an evaluation, a jump that nobody declared and the
# time before it; then settings: rtol, exponents of the controller, stability radius, gamma.
T, H, ERR, START, H_MIN, H_MAX, TRIED, FACTORED, FROM, UNTIL, JUMP, BEFORE = range(12)
RTOL, ALPHA, BETA, STABILITY, GAMMA, CLOCK = range(12, 18)
# Entries of `tally`. AGAIN: the last attempt was rejected; CHECK_AT: from this step on a crawl returns to
# Python; FRESH: 1 after a break (everything anew), 2 after a step (a new Jacobian is due).
STEPS, REJECTED, RHS, JACOBIANS, LUS, ROWS, NEXT, BREAK, FRESH, SEG, SEG_AT = range(11)
LOGGED, HITS, MISSES, CRAWL, WORST, AGAIN, CHECK_AT, TALLY = range(11, 19)
EVENT_SAMPLES = 4  # points per step at which event functions are looked at
NEWTON_LIMIT = 30
EPS = 2.220446049250313e-16
SMALLEST = 2.2250738585072014e-308  # a time that is later than zero
HALVINGS = 60  # of a step, to find a jump: more than there are numbers in it
UNEVEN = 8.0  # f changes so much more over one half of a time than over the other, if there is a jump in it


class Ode(NamedTuple):
    """The equations: addresses of flat functions (0: none), and their common input [t, x, p].

    The first `positions` derivatives are the next `positions` states.
    """

    rhs: Any
    jacobian: Any
    callback: Any
    n: Any
    positions: Any
    inp: Any
    flag: Any
    clock: Any
    tally: Any
    atol: Any


class LoopPlan(NamedTuple):
    """Times a step must end on; row `which[k]` of `table` goes to p[first:] there; `stops[k]` returns to Python."""

    count: Any
    width: Any
    first: Any
    breaks: Any
    which: Any
    stops: Any
    table: Any


class Record(NamedTuple):
    """Where results go: rows at `times`, or at every step when `natural`; events, and their log."""

    natural: Any
    requested: Any
    capacity: Any
    log_capacity: Any
    event: Any
    events: Any
    times: Any
    t: Any
    x: Any
    g: Any
    g_new: Any
    g_trial: Any
    root: Any
    direction: Any
    terminal: Any
    log_t: Any
    log_x: Any
    log_event: Any


class StepState(NamedTuple):
    """Start and end of the step at hand, room for a state between, dense output, and `degree` rows of it."""

    degree: Any
    x: Any
    y: Any
    z: Any
    Q: Any


class Explicit(NamedTuple):
    """An explicit tableau of `stages` (+ those for the dense output); row `stages - 1` of A is the step itself."""

    fixed: Any
    stages: Any
    all_stages: Any
    low: Any
    A: Any
    c: Any
    error: Any
    error_low: Any
    dense: Any
    K: Any


class Rosenbrock(NamedTuple):
    """A Rosenbrock tableau in transformed variables, and its stages U."""

    stages: Any
    A: Any
    C: Any
    c: Any
    d: Any
    b: Any
    error: Any
    dense: Any
    U: Any


class Newton(NamedTuple):
    """Jacobian, factors of I - a J, and work for 2 n numbers; slope and scale serve the midpoint rule."""

    J: Any
    W: Any
    pivot: Any
    work: Any
    r: Any
    slope: Any
    scale: Any


# Helpers are linked into the loops that call them, and only those are cached.
HELPER: dict[str, Any] = {"error_model": "numpy", "no_cpython_wrapper": True, "no_cfunc_wrapper": True}
compiled = njit(fastmath={"contract"}, **HELPER)
loop = njit(cache=True, nogil=True, error_model="numpy", fastmath={"contract"}, no_cfunc_wrapper=True)
DOUBLES = types.CPointer(types.float64)
INTEGERS = types.CPointer(types.int64)


@intrinsic
def call(typingctx, address, source, sink):
    """Call ``void f(const double *source, double *sink)`` at an integer address."""

    def emit(context, builder, signature, args):
        double_p = ir.DoubleType().as_pointer()
        function_type = ir.FunctionType(ir.VoidType(), [double_p, double_p])
        builder.call(builder.inttoptr(args[0], function_type.as_pointer()), args[1:])
        return context.get_dummy_value()

    return types.void(types.int64, DOUBLES, DOUBLES), emit


@intrinsic
def shift(typingctx, pointer, offset):
    """The pointer to pointer[offset]."""

    def emit(context, builder, signature, args):
        return builder.gep(args[0], [args[1]])

    return pointer(pointer, types.int64), emit


@intrinsic
def doubles(typingctx, address):
    """The array of doubles at an integer address."""

    def emit(context, builder, signature, args):
        return builder.inttoptr(args[0], ir.DoubleType().as_pointer())

    return DOUBLES(types.int64), emit


@intrinsic
def integers(typingctx, address):
    """The array of integers at an integer address."""

    def emit(context, builder, signature, args):
        return builder.inttoptr(args[0], ir.IntType(64).as_pointer())

    return INTEGERS(types.int64), emit


# ---------------------------------------------------------------- unpacking


@compiled
def unpack(i):
    """Ode, LoopPlan, Record and StepState from the head of a loop's table, in the order of their fields."""
    ode = Ode(
        i[0], i[1], i[2], i[3], i[4], doubles(i[5]), integers(i[6]), doubles(i[7]), integers(i[8]), doubles(i[9])
    )  # fmt: skip
    plan = LoopPlan(i[10], i[11], i[12], doubles(i[13]), integers(i[14]), integers(i[15]), doubles(i[16]))
    record = Record(
        i[17], i[18], i[19], i[20], i[21], i[22], doubles(i[23]), doubles(i[24]), doubles(i[25]), doubles(i[26]),
        doubles(i[27]), doubles(i[28]), doubles(i[29]), integers(i[30]), integers(i[31]), doubles(i[32]),
        doubles(i[33]), integers(i[34]),
    )  # fmt: skip
    step = StepState(i[35], doubles(i[36]), doubles(i[37]), doubles(i[38]), doubles(i[39]))
    return ode, plan, record, step


HEAD = 40  # entries of a table taken by `unpack`


# ---------------------------------------------------------------- evaluating


@compiled
def within(ode, t):
    """The time inside the segment between two breaks: a step that ends at a jump sees what was before it, the next one
    what comes after, however f compares t with the time of the jump."""
    return max(min(t, ode.clock[UNTIL]), ode.clock[FROM])


@compiled
def roundings(t):
    """What lies between a break and the evaluations beside it, as in `kernels.sides`."""
    return max(MARGIN * EPS * abs(t), SMALLEST)


@compiled
def evaluate(ode, t, out):
    """out = f(t, x, p), with x already in place in the input."""
    ode.inp[0] = within(ode, t)
    if ode.callback != 0:
        call(ode.callback, ode.inp, shift(ode.inp, 1 + ode.n))
    call(ode.rhs, ode.inp, out)
    ode.tally[RHS] += 1


@compiled
def place(ode, x):
    """Put a state into the input of the kernels."""
    for k in range(ode.n):
        ode.inp[1 + k] = x[k]


@compiled
def jacobian(ode, newton, t, x):
    """J = [df/dx by rows, df/dt] at (t, x): exact, or by differences where p hangs on x through a Python callback."""
    n = ode.n
    J = newton.J
    base = newton.work
    ahead = shift(base, n)
    ode.tally[JACOBIANS] += 1
    place(ode, x)
    if ode.jacobian != 0 and ode.callback == 0:
        ode.inp[0] = within(ode, t)
        call(ode.jacobian, ode.inp, J)
        return
    evaluate(ode, t, base)
    for j in range(n + 1):
        if j < n:
            delta = 1.5e-8 * max(abs(x[j]), 1e-2)
            ode.inp[1 + j] = x[j] + delta
            delta = ode.inp[1 + j] - x[j]
            evaluate(ode, t, ahead)
            ode.inp[1 + j] = x[j]
            for i in range(n):
                J[i * n + j] = (ahead[i] - base[i]) / delta
        else:
            delta = 1.5e-8 * max(abs(t), 1e-2)
            if t + delta > ode.clock[UNTIL]:
                delta = -delta
            evaluate(ode, t + delta, ahead)
            for i in range(n):
                J[n * n + i] = (ahead[i] - base[i]) / delta


# ---------------------------------------------------------------- linear algebra of I - a J


@compiled
def factor(ode, newton, a):
    """LU with partial pivoting of I - a J, after elimination of the first m unknowns (q' = v). False: singular."""
    n = ode.n
    m = ode.positions
    size = n - m
    W = newton.W
    for i in range(size):
        row = shift(newton.J, (m + i) * n)
        for j in range(size):
            W[i * size + j] = -a * row[m + j]
        for j in range(m):
            W[i * size + j] -= a * a * row[j]
        W[i * size + i] += 1.0
    ode.tally[LUS] += 1
    for k in range(size):
        top = shift(W, k * size)
        best = k
        for i in range(k + 1, size):
            if abs(W[i * size + k]) > abs(W[best * size + k]):
                best = i
        newton.pivot[k] = best
        if not abs(W[best * size + k]) > 0.0:
            return False
        if best != k:
            for j in range(size):
                swap = top[j]
                top[j] = W[best * size + j]
                W[best * size + j] = swap
        for i in range(k + 1, size):
            row = shift(W, i * size)
            if row[k] != 0.0:
                ratio = row[k] / top[k]
                row[k] = ratio
                for j in range(k + 1, size):
                    row[j] -= ratio * top[j]
    return True


@njit(fastmath={"contract", "reassoc"}, **HELPER)
def back_substitute(ode, newton, a, r):
    """r = (I - a J)^-1 r by the factors of `factor`."""
    n = ode.n
    m = ode.positions
    size = n - m
    W = newton.W
    v = shift(r, m)
    for i in range(size):
        row = shift(newton.J, (m + i) * n)
        total = 0.0
        for j in range(m):
            total += row[j] * r[j]
        v[i] += a * total
    for k in range(size):
        best = newton.pivot[k]
        if best != k:
            swap = v[k]
            v[k] = v[best]
            v[best] = swap
    for i in range(size):
        row = shift(W, i * size)
        total = 0.0
        for j in range(i):
            total += row[j] * v[j]
        v[i] -= total
    for back in range(size):
        i = size - 1 - back
        row = shift(W, i * size)
        total = 0.0
        for j in range(i + 1, size):
            total += row[j] * v[j]
        v[i] = (v[i] - total) / row[i]
    for j in range(m):
        r[j] += a * v[j]


# ---------------------------------------------------------------- dense output, events, rows


@compiled
def interpolate(ode, step, theta):
    """z = x + Q_1 theta + ... + Q_d theta^d."""
    n = ode.n
    for k in range(n):
        total = 0.0
        for back in range(step.degree):
            total = total * theta + step.Q[(step.degree - 1 - back) * n + k]
        step.z[k] = step.x[k] + theta * total


@compiled
def polynomial(ode, step, dense, K, stages, scale):
    """Q_d = scale * sum_j dense[j, d] K_j."""
    n = ode.n
    for d in range(step.degree):
        Q = shift(step.Q, d * n)
        for k in range(n):
            Q[k] = 0.0
        for j in range(stages):
            weight = scale * dense[j * step.degree + d]
            if weight != 0.0:
                for k in range(n):
                    Q[k] += weight * K[j * n + k]


@compiled
def event_values(ode, record, t, z, g):
    """g(t, z, p)."""
    place(ode, z)
    ode.inp[0] = t
    if ode.callback != 0:
        call(ode.callback, ode.inp, shift(ode.inp, 1 + ode.n))
    call(record.event, ode.inp, g)


@compiled
def crosses(before, after, direction):
    """Whether an event function has changed its sign in the wanted direction."""
    rising = before < 0.0 and after >= 0.0
    falling = before > 0.0 and after <= 0.0
    return (rising and direction >= 0) or (falling and direction <= 0)


@compiled
def locate(ode, record, step, e, left, right, t, h):
    """Root of event e in (left, right] by bisection on the dense output, on the far side of the crossing."""
    while right - left > EPS:
        middle = 0.5 * (left + right)
        if middle <= left or middle >= right:
            break
        interpolate(ode, step, middle)
        event_values(ode, record, t + middle * h, step.z, record.g_trial)
        if crosses(record.g[e], record.g_trial[e], record.direction[e]):
            right = middle
        else:
            left = middle
    return right


@compiled
def find_events(ode, record, step, t, h):
    """Log the events of a step; return the fraction of the step at which the run ends, 2 if it does not."""
    n = ode.n
    end = 2.0
    for sample in range(EVENT_SAMPLES):
        left = sample / EVENT_SAMPLES
        right = (sample + 1) / EVENT_SAMPLES
        interpolate(ode, step, right)
        event_values(ode, record, t + right * h, step.z, record.g_new)
        for e in range(record.events):
            record.root[e] = 3.0
            if crosses(record.g[e], record.g_new[e], record.direction[e]):
                record.root[e] = locate(ode, record, step, e, left, right, t, h)
                if record.terminal[e] != 0:
                    end = min(end, record.root[e])
        for e in range(record.events):
            if record.root[e] <= end:
                at = ode.tally[LOGGED]
                interpolate(ode, step, record.root[e])
                record.log_t[at] = t + record.root[e] * h
                record.log_event[at] = e
                for k in range(n):
                    record.log_x[at * n + k] = step.z[k]
                ode.tally[LOGGED] = at + 1
            record.g[e] = record.g_new[e]
        if end <= 1.0:
            break
    return end


@compiled
def write_row(ode, record, t, z):
    """One more row of the result."""
    row = ode.tally[ROWS]
    record.t[row] = t
    for k in range(ode.n):
        record.x[row * ode.n + k] = z[k]
    ode.tally[ROWS] = row + 1


@compiled
def wants_dense(ode, record, t_new):
    """Whether something is wanted strictly inside the step."""
    following = ode.tally[NEXT]
    return record.events > 0 or (following < record.requested and record.times[following] < t_new)


@compiled
def finish_step(ode, plan, record, step, t, t_new, watch):
    """Events, rows, and the move to (t_new, y); at a break new p. Returns the status of the loop."""
    tally = ode.tally
    h = t_new - t
    end = 2.0
    if watch is not None:
        end = find_events(ode, record, step, t, h)
    if end <= 1.0:
        t_new = t + end * h
        interpolate(ode, step, end)
        for k in range(ode.n):
            step.y[k] = step.z[k]
    while tally[NEXT] < record.requested and record.times[tally[NEXT]] <= t_new:
        at = record.times[tally[NEXT]]
        if at == t_new:
            write_row(ode, record, at, step.y)
        else:
            interpolate(ode, step, (at - t) / h)
            write_row(ode, record, at, step.z)
        tally[NEXT] += 1
    if record.natural != 0:
        write_row(ode, record, t_new, step.y)
    for k in range(ode.n):
        step.x[k] = step.y[k]
    ode.clock[T] = t_new
    tally[STEPS] += 1
    if ode.flag[0] != 0:
        return CALLBACK
    if end <= 1.0:
        return EVENT
    if t_new == plan.breaks[tally[BREAK]]:
        return cross_break(ode, plan)
    if t_new == ode.clock[JUMP]:
        ode.tally[FRESH] = 1
        ode.clock[FROM] = t_new
        ode.clock[JUMP] = np.inf
    return RUNNING


@compiled
def cross_break(ode, plan):
    """Take the new values of p, and mark what has been computed from the old ones as stale."""
    at = ode.tally[BREAK]
    if at == plan.count - 1:
        return DONE
    row = plan.which[at]
    if row >= 0:
        for k in range(plan.width):
            ode.inp[1 + ode.n + plan.first + k] = plan.table[row * plan.width + k]
    ode.tally[BREAK] = at + 1
    ode.tally[FRESH] = 1
    ode.tally[SEG] = 0
    ode.clock[START] = ode.clock[T]
    ode.clock[FROM] = ode.clock[T] + roundings(ode.clock[T])
    ode.clock[UNTIL] = np.inf  # until the next step is chosen
    ode.clock[JUMP] = np.inf
    return HOLD if plan.stops[at] != 0 else RUNNING


@compiled
def lacks_room(ode, record):
    """Whether the next step might not find room for its rows."""
    rows = record.natural != 0 and ode.tally[ROWS] >= record.capacity
    return rows or ode.tally[LOGGED] + EVENT_SAMPLES * record.events > record.log_capacity


# ---------------------------------------------------------------- choosing steps


@compiled
def next_time(ode, plan, fixed):
    """End of the next step: on the grid of the segment for a fixed step, else by the proposal, never past a break."""
    clock = ode.clock
    tally = ode.tally
    stop = plan.breaks[tally[BREAK]]
    clock[UNTIL] = stop - roundings(stop)
    if clock[JUMP] < stop:
        stop = clock[JUMP]
        clock[UNTIL] = clock[BEFORE]
    if fixed:
        length = stop - clock[START]
        if tally[SEG] == 0:
            tally[SEG] = max(1, int(np.ceil(length / clock[H] * (1.0 - 1e-10))))
            tally[SEG_AT] = 0
        tally[SEG_AT] += 1
        return stop if tally[SEG_AT] >= tally[SEG] else clock[START] + tally[SEG_AT] * (length / tally[SEG])
    h = min(clock[H], clock[H_MAX])
    return stop if clock[T] + 1.01 * h >= stop else clock[T] + h


@compiled
def lost(ode, step):
    """Note the coordinate that stopped being finite, the largest before if there are several. False: none."""
    worst = -1
    for k in range(ode.n):
        if not np.isfinite(step.y[k]) and (worst < 0 or abs(step.x[k]) > abs(step.x[worst])):
            worst = k
    if worst >= 0:
        ode.tally[WORST] = worst
    return worst >= 0


@compiled
def error_norm(ode, step, weights, stages, K, scale):
    """Root mean square of the scaled error over the coordinates with a finite tolerance; notes the worst one."""
    n = ode.n
    total = 0.0
    largest = -1.0
    counted = 0
    for k in range(n):
        if np.isfinite(ode.atol[k]):
            e = 0.0
            for j in range(stages):
                e += weights[j] * K[j * n + k]
            e = abs(scale * e) / (ode.atol[k] + ode.clock[RTOL] * max(abs(step.x[k]), abs(step.y[k])))
            if np.isfinite(largest) and not e <= largest:
                largest = e
                ode.tally[WORST] = k
            total += e * e
            counted += 1
    return np.sqrt(total / max(counted, 1))


@compiled
def difference(ode, step, h, a, b):
    """Size of h (b - a), for two values of f, in units of what a step may be off by; where a coordinate has no
    tolerance, of what f itself may. What is not a number does not count."""
    total = 0.0
    for k in range(ode.n):
        if np.isfinite(ode.atol[k]):
            e = h * (b[k] - a[k]) / (ode.atol[k] + ode.clock[RTOL] * abs(step.x[k]))
        else:
            e = (b[k] - a[k]) / (ode.clock[RTOL] * max(abs(a[k]), abs(b[k])))
        if np.isfinite(e):
            total += e * e
    return np.sqrt(total)


@compiled
def find_jump(ode, step, h):
    """Look for a jump of f in time within the step that was refused, with the state held still; True: it is in the
    clock, and the time before it.

    Of two halves the one over which f changes more is halved again. A smooth change is soon much the same over both, a
    jump never.
    """
    n = ode.n
    left = shift(step.Q, 0)
    right = shift(step.Q, n)
    middle = shift(step.Q, 2 * n)
    early = within(ode, ode.clock[T])
    late = within(ode, ode.clock[T] + h)
    if not early < 0.5 * (early + late) < late:
        return False  # there is no time between
    place(ode, step.x)
    evaluate(ode, early, left)
    evaluate(ode, late, right)
    for _ in range(HALVINGS):
        time = 0.5 * (early + late)
        if time <= early or time >= late:
            break
        evaluate(ode, time, middle)
        first = difference(ode, step, h, left, middle)
        second = difference(ode, step, h, middle, right)
        if ode.flag[0] != 0 or max(first, second) < max(1.0, UNEVEN * min(first, second)):
            return False
        if first > second:
            late = time
            for k in range(n):
                right[k] = middle[k]
        else:
            early = time
            for k in range(n):
                left[k] = middle[k]
    ode.clock[JUMP] = late
    ode.clock[BEFORE] = early
    return True


@compiled
def judge(ode, step, err, h):
    """Accept or not, and propose the next step by a PI controller. Returns RUNNING (accept), STIFF (again), UNDERFLOW.

    A step that was cut short by a break does not shrink the proposal.
    """
    clock = ode.clock
    if lost(ode, step):
        err = np.inf
    if not err <= 1.0:
        ode.tally[REJECTED] += 1
        ode.tally[AGAIN] = 1
        clock[H] = h * (max(0.2, 0.9 * err ** -clock[ALPHA]) if np.isfinite(err) else 0.1)
        if find_jump(ode, step, h):
            clock[H] = max(clock[H], clock[JUMP] - clock[T])
        return UNDERFLOW if clock[H] < clock[H_MIN] else STIFF
    growth = 0.9 * max(err, 1e-10) ** -clock[ALPHA] * clock[ERR] ** clock[BETA]
    growth = min(1.0 if ode.tally[AGAIN] != 0 else 8.0, max(0.2, growth))
    cut = h < 0.98 * clock[H] and growth > 0.99
    clock[H] = max(h * growth, clock[H]) if cut else h * growth
    clock[ERR] = max(err, 1e-4)
    ode.tally[AGAIN] = 0
    return RUNNING


# ---------------------------------------------------------------- explicit Runge-Kutta


@compiled
def explicit_stages(ode, step, method, first, last, t, t_new):
    """Stages first ... last - 1; the last input left behind is the state at the end of the step."""
    n = ode.n
    h = t_new - t
    state = shift(ode.inp, 1)
    K = method.K
    for i in range(first, last):
        for k in range(n):
            state[k] = 0.0
        for j in range(i):
            a = method.A[i * method.all_stages + j]
            if a != 0.0:
                for k in range(n):
                    state[k] += a * K[j * n + k]
        for k in range(n):
            state[k] = step.x[k] + h * state[k]
        evaluate(ode, t_new if method.c[i] == 1.0 else t + method.c[i] * h, shift(K, i * n))


@compiled
def watch_stiffness(ode, method):
    """Hairer's estimate of |h lambda| from the last two stages, both at t + h. True when it has been large for long."""
    n = ode.n
    tally = ode.tally
    last = method.stages - 1
    slope = 0.0
    change = 0.0
    for k in range(n):
        dk = method.K[last * n + k] - method.K[(last - 1) * n + k]
        dy = 0.0
        for j in range(last):
            a = method.A[last * method.all_stages + j] - method.A[(last - 1) * method.all_stages + j]
            dy += a * method.K[j * n + k]
        slope += dk * dk
        change += dy * dy
    if slope > ode.clock[STABILITY] ** 2 * change:
        tally[MISSES] = 0
        tally[HITS] += 1
        if tally[HITS] >= 15:
            tally[HITS] = 0
            tally[CRAWL] += 1
            return True
    elif tally[HITS] > 0:
        tally[MISSES] += 1
        if tally[MISSES] == 6:
            tally[HITS] = 0
    return False


@compiled
def explicit_error(ode, step, method, h):
    """Norm of the error; where there are two estimates, combined as in dop853."""
    low = 0.0
    if method.low != 0:
        low = error_norm(ode, step, method.error_low, method.stages, method.K, h)
    err = error_norm(ode, step, method.error, method.stages, method.K, h)
    return err * err / np.sqrt(err * err + 0.01 * low * low) if err > 0.0 else err


@loop
def run_explicit(address, budget, watch):
    """Advance an explicit Runge-Kutta method by at most `budget` attempts; `watch` is None where there are no events.

    None is a type of its own, so a run without events does not wait for the search for them to be compiled.
    """
    table = integers(address)
    ode, plan, record, step = unpack(table)
    i = shift(table, HEAD)
    method = Explicit(
        i[0], i[1], i[2], i[3], doubles(i[4]), doubles(i[5]), doubles(i[6]), doubles(i[7]), doubles(i[8]), doubles(i[9])
    )  # fmt: skip
    n = ode.n
    tally = ode.tally
    fixed = method.fixed != 0
    for _ in range(budget):
        if lacks_room(ode, record):
            return ROOM
        t = ode.clock[T]
        if tally[FRESH] != 0:
            if watch is not None:
                event_values(ode, record, t, step.x, record.g)
            place(ode, step.x)
            evaluate(ode, t, method.K)
            tally[FRESH] = 0
        t_new = next_time(ode, plan, fixed)
        h = t_new - t
        ode.clock[TRIED] = h
        explicit_stages(ode, step, method, 1, method.stages, t, t_new)
        if ode.flag[0] != 0:
            return CALLBACK
        for k in range(n):
            step.y[k] = ode.inp[1 + k]
        if fixed:
            if lost(ode, step):
                return NONFINITE
        else:
            verdict = judge(ode, step, explicit_error(ode, step, method, h), h)
            if verdict == UNDERFLOW:
                return UNDERFLOW
            if verdict != RUNNING:
                continue
        if wants_dense(ode, record, t_new):
            explicit_stages(ode, step, method, method.stages, method.all_stages, t, t_new)
            polynomial(ode, step, method.dense, method.K, method.all_stages, h)
        stiff = False
        if not fixed and (tally[STEPS] % 20 == 0 or tally[HITS] > 0):
            stiff = watch_stiffness(ode, method)
        for k in range(n):
            method.K[k] = method.K[(method.stages - 1) * n + k]
        status = finish_step(ode, plan, record, step, t, t_new, watch)
        if status != RUNNING:
            return status
        if stiff and tally[STEPS] >= tally[CHECK_AT]:
            return STIFF
    return RUNNING


# ---------------------------------------------------------------- implicit methods


@compiled
def unpack_newton(i):
    """The Newton part of a table."""
    return Newton(
        doubles(i[0]), doubles(i[1]), integers(i[2]), doubles(i[3]), doubles(i[4]), doubles(i[5]), doubles(i[6])
    )  # fmt: skip


@compiled
def rosenbrock_step(ode, step, method, newton, t, t_new):
    """(I - a J) u_i = a f(t_i, x + sum A_ij u_j) + gamma sum C_ij u_j + gamma d_i h^2 df/dt,  a = gamma h."""
    n = ode.n
    s = method.stages
    h = t_new - t
    gamma = ode.clock[GAMMA]
    state = shift(ode.inp, 1)
    for i in range(s):
        u = shift(method.U, i * n)
        for k in range(n):
            state[k] = step.x[k]
        for j in range(i):
            for k in range(n):
                state[k] += method.A[i * s + j] * method.U[j * n + k]
        evaluate(ode, t_new if method.c[i] == 1.0 else t + method.c[i] * h, u)
        for k in range(n):
            u[k] = gamma * h * (u[k] + method.d[i] * h * newton.J[n * n + k])
        for j in range(i):
            weight = gamma * method.C[i * s + j]
            for k in range(n):
                u[k] += weight * method.U[j * n + k]
        back_substitute(ode, newton, gamma * h, u)
    for k in range(n):
        step.y[k] = step.x[k]
        for j in range(s):
            step.y[k] += method.b[j] * method.U[j * n + k]


@loop
def run_rosenbrock(address, budget, watch):
    """Advance a Rosenbrock method by at most `budget` attempts."""
    table = integers(address)
    ode, plan, record, step = unpack(table)
    i = shift(table, HEAD)
    method = Rosenbrock(
        i[0], doubles(i[1]), doubles(i[2]), doubles(i[3]), doubles(i[4]), doubles(i[5]), doubles(i[6]), doubles(i[7]),
        doubles(i[8]),
    )  # fmt: skip
    newton = unpack_newton(shift(i, 9))
    tally = ode.tally
    for _ in range(budget):
        if lacks_room(ode, record):
            return ROOM
        t = ode.clock[T]
        if tally[FRESH] != 0:
            if watch is not None:  # noqa: SIM102, a test of its own, so that the branch falls away when compiled
                if tally[FRESH] == 1:
                    event_values(ode, record, t, step.x, record.g)
            jacobian(ode, newton, t, step.x)
            tally[FRESH] = 0
        t_new = next_time(ode, plan, False)
        h = t_new - t
        ode.clock[TRIED] = h
        err = np.inf
        if factor(ode, newton, ode.clock[GAMMA] * h):
            rosenbrock_step(ode, step, method, newton, t, t_new)
            err = error_norm(ode, step, method.error, method.stages, method.U, 1.0)
        if ode.flag[0] != 0:
            return CALLBACK
        verdict = judge(ode, step, err, h)
        if verdict == UNDERFLOW:
            return UNDERFLOW
        if verdict == RUNNING:
            if wants_dense(ode, record, t_new):
                polynomial(ode, step, method.dense, method.U, method.stages, 1.0)
            tally[FRESH] = 2
            status = finish_step(ode, plan, record, step, t, t_new, watch)
            if status != RUNNING:
                return status
    return RUNNING


@compiled
def solve_midpoint(ode, step, newton, t_mid, a):
    """Newton to round-off for z = x + a f(t_mid, z); the factors are kept while they converge fast. False: failed."""
    n = ode.n
    z = step.z
    r = newton.r
    before = np.inf
    for iteration in range(NEWTON_LIMIT):
        if ode.clock[FACTORED] != a:
            jacobian(ode, newton, t_mid, z)
            if not factor(ode, newton, a):
                return False
            ode.clock[FACTORED] = a
            before = np.inf
        place(ode, z)
        evaluate(ode, t_mid, r)
        for k in range(n):
            r[k] = (step.x[k] - z[k]) + a * r[k]
        back_substitute(ode, newton, a, r)
        size = 0.0
        for k in range(n):
            z[k] += r[k]
            ratio = abs(r[k]) / max(newton.scale[k], abs(z[k]), 1e-300)
            if not ratio <= size and np.isfinite(size):
                size = ratio
                ode.tally[WORST] = k
        if not np.isfinite(size):
            return False
        if size <= 2.0 * EPS or (size < 1e-9 and size > 0.3 * before):
            return True
        if size > 0.2 * before or iteration % 10 == 9:
            ode.clock[FACTORED] = 0.0
        before = size
    return False


@compiled
def hermite(ode, step, newton, t, t_new):
    """Cubic dense output from both ends of a step."""
    n = ode.n
    h = t_new - t
    left = newton.work
    right = shift(left, n)
    place(ode, step.x)
    evaluate(ode, t, left)
    place(ode, step.y)
    evaluate(ode, t_new, right)
    for k in range(n):
        rise = step.y[k] - step.x[k]
        step.Q[k] = h * left[k]
        step.Q[n + k] = 3.0 * rise - h * (2.0 * left[k] + right[k])
        step.Q[2 * n + k] = h * (left[k] + right[k]) - 2.0 * rise


@loop
def run_midpoint(address, budget, watch):
    """Advance the implicit midpoint rule by at most `budget` steps."""
    table = integers(address)
    ode, plan, record, step = unpack(table)
    newton = unpack_newton(shift(table, HEAD))
    tally = ode.tally
    for _ in range(budget):
        if lacks_room(ode, record):
            return ROOM
        t = ode.clock[T]
        if tally[FRESH] != 0:
            if watch is not None:
                event_values(ode, record, t, step.x, record.g)
            place(ode, step.x)
            evaluate(ode, t, newton.slope)
            ode.clock[FACTORED] = 0.0
            tally[FRESH] = 0
        t_new = next_time(ode, plan, True)
        ode.clock[TRIED] = t_new - t
        a = 0.5 * (plan.breaks[tally[BREAK]] - ode.clock[START]) / tally[SEG]
        for k in range(ode.n):
            step.z[k] = step.x[k] + a * newton.slope[k]
        solved = solve_midpoint(ode, step, newton, t + a, a)
        if ode.flag[0] != 0:
            return CALLBACK
        for k in range(ode.n):
            step.y[k] = step.x[k] + 2.0 * (step.z[k] - step.x[k])
            newton.slope[k] = (step.z[k] - step.x[k]) / a
            newton.scale[k] = max(newton.scale[k], abs(step.y[k]))
        if lost(ode, step):
            return NONFINITE
        if not solved:
            return NEWTON
        if wants_dense(ode, record, t_new):
            hermite(ode, step, newton, t, t_new)
        status = finish_step(ode, plan, record, step, t, t_new, watch)
        if status != RUNNING:
            return status
    return RUNNING
