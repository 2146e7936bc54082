"""The real-time iteration: linearize and condense ahead of a measurement, then solve one quadratic program for it.

    minimize sum_k l(t_k, x_k, tau_k) + e(t_N, x_N)   with  x_(k+1) = the end of interval k from x_k under tau_k,
    x_0 as measured, bounds on torques and their rates, and soft bounds on outputs y(x_k) of all later nodes.

In the real-time iteration [DBS05], everything is linearized about the last plan, shifted by an interval. States are
eliminated, and torques are counted from the feedback that is optimal without bounds, dtau_k = L_k dx_k + U_k^-1 w_k,
with L and U of the Riccati recursion. In the variables w the cost is 1/2 w^T w + g^T w, however unstable the arm and
however long the horizon, and a measurement enters the bounds alone. A step that finds no solution gives the torques of
the shifted plan, at most as many times as it has intervals, and then those of a safe law.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from pliant.compute.compiled_loops.primitives import Doubles, call, called, integers, shift, unpack
from pliant.compute.nmpc.collocation import Steps, follow, interval, kept
from pliant.compute.nmpc.dense import add_product, add_row, cholesky, copy, dot, fill, largest
from pliant.compute.nmpc.quadratic_program import BROKEN, SOLVED, QuadraticProgram, WorkingSet, solve_program

UNREAD = 4
"""Status for a measurement that is not finite, in addition to those of `quadratic_program`."""
PLANNED, SHIFTED, SAFE = 0, 1, 2
"""Sources of a torque: the present plan, the shifted plan, or the safe law."""
SETTLING, ENDING = 10, 2
"""Most steps of Newton's method for the first interval of a new plan, and for one added behind its end, which takes
part in as many further rounds as the horizon has intervals before its torques act."""
SETTLED = 1e-8
"""Relative change of torques by a round, below which no further round is taken."""


class Plan(NamedTuple):
    """Memory between steps: states of all nodes, torques and stages of all intervals, multipliers of all bounds, the
    torques that act, the last finite measurement, and the marks [has a plan, is prepared, steps since the last
    solution, is to be shifted]."""

    x: Doubles
    tau: Doubles
    a: Doubles
    y: Doubles
    last: Doubles
    seen: Doubles
    mark: Doubles


HAS, PREPARED, LATE, STALE = 0, 1, 2, 3


class Horizon(NamedTuple):
    """A problem: number of intervals, of outputs at each node, 1 if rates of torques are bounded, most iterations of a
    first plan and of a step; addresses of the cost and the outputs of a node, of the last node, and of the safe law;
    the clock [t, length of an interval, of a collocation step]; bounds of torques, their rates, bounds of outputs; the
    measurement, the answer; memory."""

    intervals: int
    outputs: int
    rated: int
    first: int
    iterations: int
    node: int
    end: int
    hold: int
    clock: Doubles
    least: Doubles
    most: Doubles
    rate: Doubles
    low: Doubles
    high: Doubles
    measured: Doubles
    answer: Doubles
    slack: Doubles
    told: Doubles
    given: Doubles
    F: Doubles
    miss: Doubles
    K: Doubles
    cost: Doubles
    closed: Doubles
    gain: Doubles
    root: Doubles
    P: Doubles
    work: Doubles
    small: Doubles
    Gamma: Doubles
    free: Doubles
    slope: Doubles


TOLD = 4
"""Numbers in `Horizon.told`: source of the torque, largest slack, iterations of the program, change of torques."""


def node_size(n: int, m: int, outputs: int) -> int:
    """Number of results of the function of a node: gradient and Hessian of the cost by (x, tau), outputs and their
    slopes by x."""
    z = 2 * n + m
    return z + z * z + outputs * (1 + 2 * n)


def horizon_sizes(n: int, m: int, intervals: int, outputs: int, kept_numbers: int) -> dict[str, int]:
    """Number of entries of each part of the memory of a `Horizon`."""
    x, variables = 2 * n, intervals * m
    return {
        "measured": x, "answer": m, "slack": max(outputs, 1), "told": TOLD, "given": 1 + x + m,
        "F": intervals * x * (x + m), "miss": intervals * x, "K": intervals * kept_numbers,
        "cost": (intervals + 1) * node_size(n, m, outputs), "closed": intervals * x * x, "gain": intervals * m * x,
        "root": intervals * m * m, "P": x * x, "work": x * x, "small": 2 * m * x + m * m + m,
        "Gamma": 2 * x * variables, "free": (intervals + 1) * x, "slope": 2 * x + m,
    }  # fmt: skip


def run_horizon(address: int, answering: int) -> int:
    """Compute torques for a measurement, or prepare for the next one; return the status. `told` holds the source of the
    torques."""
    records = unpack(integers(address), Horizon, Plan, Steps, QuadraticProgram, WorkingSet)
    horizon, plan, steps, program, working = records
    if answering == 1:
        return answered(horizon, plan, steps, program, working)
    return prepared(horizon, plan, steps, program)


# ---------------------------------------------------------------------------------------------------- preparation


@called
def prepared(horizon: Horizon, plan: Plan, steps: Steps, program: QuadraticProgram) -> int:
    """Do everything that needs no measurement. BROKEN: numbers are not finite, and the plan is not prepared."""
    plan.mark[PREPARED] = 0.0
    if plan.mark[HAS] == 0.0:
        return SOLVED
    if plan.mark[STALE] != 0.0:
        shift_plan(horizon, plan, steps)
        plan.mark[STALE] = 0.0
    sound = linearized(horizon, plan, steps)
    regulated(horizon, steps, program)
    condensed(horizon, steps, program)
    if not sound or not math.isfinite(largest(program.G, program.rows * program.n) + largest(program.g, program.n)):
        return BROKEN
    plan.mark[PREPARED] = 1.0
    return SOLVED


def rows_of_interval(horizon: Horizon, steps: Steps) -> int:
    """Number of bounds of an interval: of its torques, of their changes if rates are bounded, of outputs at its end."""
    return steps.m * (1 + horizon.rated) + horizon.outputs


@called
def shift_plan(horizon: Horizon, plan: Plan, steps: Steps) -> None:
    """Shift the plan by one interval; in the new last interval the safe law holds the arm."""
    N = horizon.intervals
    x = 2 * steps.n
    size = steps.steps * steps.stages * steps.n
    copy(shift(plan.x, x), plan.x, N * x)
    copy(shift(plan.tau, steps.m), plan.tau, (N - 1) * steps.m)
    copy(shift(plan.a, size), plan.a, (N - 1) * size)
    block = rows_of_interval(horizon, steps)
    copy(shift(plan.y, block), plan.y, (N - 1) * block)
    fill(shift(plan.y, (N - 1) * block), block, 0.0)
    tau = shift(plan.tau, (N - 1) * steps.m)
    call(horizon.hold, shift(plan.x, (N - 1) * x), tau)
    for i in range(steps.m):
        tau[i] = min(max(tau[i], horizon.least[i]), horizon.most[i])
    new_interval(horizon, plan, steps, N - 1, ENDING)
    copy(shift(horizon.miss, (N - 1) * x), shift(plan.x, N * x), x)


def new_interval(horizon: Horizon, plan: Plan, steps: Steps, k: int, rounds: int) -> None:
    """Compute the stages of an interval from its start and its torques alone; its end goes to `miss`."""
    x = 2 * steps.n
    a = shift(plan.a, k * steps.steps * steps.stages * steps.n)
    K = shift(horizon.K, k * steps.steps * kept(steps))
    interval(
        steps, horizon.clock[2], shift(plan.x, k * x), shift(plan.tau, k * steps.m), a, shift(horizon.miss, k * x),
        shift(horizon.F, k * x * (x + steps.m)), K, rounds=rounds,
    )  # fmt: skip
    change = horizon.slope
    fill(change, x + steps.m, 0.0)
    follow(steps, a, K, change, shift(change, x))


@called
def linearized(horizon: Horizon, plan: Plan, steps: Steps) -> bool:
    """Evaluate costs, outputs and intervals with their slopes about the plan. False: a step is singular."""
    n = steps.n
    x = 2 * n
    columns = x + steps.m
    size = steps.steps * steps.stages * n
    each = columns + columns * columns + horizon.outputs * (1 + x)
    sound = True
    for k in range(horizon.intervals + 1):
        state = shift(plan.x, k * x)
        horizon.given[0] = horizon.clock[0] + k * horizon.clock[1]
        copy(state, shift(horizon.given, 1), x)
        cost = shift(horizon.cost, k * each)
        if k < horizon.intervals:
            tau = shift(plan.tau, k * steps.m)
            copy(tau, shift(horizon.given, 1 + x), steps.m)
            call(horizon.node, horizon.given, cost)
            miss = shift(horizon.miss, k * x)
            good = interval(
                steps, horizon.clock[2], state, tau, shift(plan.a, k * size), miss, shift(horizon.F, k * x * columns),
                shift(horizon.K, k * steps.steps * kept(steps)), rounds=1,
            )  # fmt: skip
            sound = sound and good
            for j in range(x):
                miss[j] -= state[x + j]
        else:
            call(horizon.end, horizon.given, cost)
    return sound


@called
def regulated(horizon: Horizon, steps: Steps, program: QuadraticProgram) -> None:
    """Compute gains L, inverse roots U^-1 of the cost of torques, and g, by the Riccati recursion from the end.

    With V_(k+1) = 1/2 x^T P x + p^T x behind an interval, and e = p + P miss: Lambda = R + B^T P B = U^T U,
    L = -Lambda^-1 (S + B^T P A), g = U^-T (r + B^T e).
    """
    x = 2 * steps.n
    m = steps.m
    columns = x + m
    each = columns + columns * columns + horizon.outputs * (1 + x)
    p = horizon.slope
    e = shift(horizon.slope, x)
    last = shift(horizon.cost, horizon.intervals * each)
    copy(last, p, x)
    for i in range(x):
        copy(shift(last, columns + i * columns), shift(horizon.P, i * x), x)
    for back in range(horizon.intervals):
        k = horizon.intervals - 1 - back
        cost = shift(horizon.cost, k * each)
        for i in range(x):
            e[i] = p[i] + dot(shift(horizon.P, i * x), shift(horizon.miss, k * x), x)
        gains(horizon, steps, k)
        L = shift(horizon.gain, k * m * x)
        F = shift(horizon.F, k * x * columns)
        closed = shift(horizon.closed, k * x * x)
        for i in range(x):
            copy(shift(F, i * columns), shift(closed, i * x), x)
        add_product(closed, x, 1.0, shift(F, x), columns, 1, L, x, rows=x, inner=m, columns=x)
        torque = shift(horizon.small, 2 * m * x + m * m)
        copy(shift(cost, x), torque, m)
        copy(cost, p, x)
        add_product(p, x, 1.0, torque, m, 1, L, x, rows=1, inner=m, columns=x)
        add_product(p, x, 1.0, e, x, 1, closed, x, rows=1, inner=x, columns=x)
        add_product(torque, m, 1.0, e, x, 1, shift(F, x), columns, rows=1, inner=x, columns=m)
        g = shift(program.g, k * m)
        fill(g, m, 0.0)
        add_product(g, m, 1.0, torque, m, 1, shift(horizon.root, k * m * m), m, rows=1, inner=m, columns=m)
        if k > 0:
            cost_to_go(horizon, steps, k)


@called
def gains(horizon: Horizon, steps: Steps, k: int) -> None:
    """Compute L and U^-1 of an interval from P behind it."""
    x = 2 * steps.n
    m = steps.m
    columns = x + m
    each = columns + columns * columns + horizon.outputs * (1 + x)
    F = shift(horizon.F, k * x * columns)
    hessian = shift(horizon.cost, k * each + columns)
    PB = horizon.small
    Lambda = shift(PB, 2 * m * x)
    L = shift(horizon.gain, k * m * x)
    root = shift(horizon.root, k * m * m)
    fill(PB, x * m, 0.0)
    add_product(PB, m, 1.0, horizon.P, x, 1, shift(F, x), columns, rows=x, inner=x, columns=m)
    for i in range(m):
        copy(shift(hessian, (x + i) * columns + x), shift(Lambda, i * m), m)
        copy(shift(hessian, (x + i) * columns), shift(L, i * x), x)
        fill(shift(root, i * m), m, 0.0)
        root[i * m + i] = 1.0
    add_product(Lambda, m, 1.0, shift(F, x), 1, columns, PB, m, rows=m, inner=x, columns=m)
    add_product(L, x, 1.0, PB, 1, m, F, columns, rows=m, inner=x, columns=x)
    cholesky(Lambda, m)
    for i in range(m):  # -Lambda^-1 of the rows
        for j in range(i):
            add_row(shift(L, i * x), -Lambda[j * m + i], shift(L, j * x), x)
        for j in range(x):
            L[i * x + j] /= Lambda[i * m + i]
    back_substitute_rows(Lambda, m, L, x)
    back_substitute_rows(Lambda, m, root, m)
    for j in range(m * x):
        L[j] = -L[j]


def back_substitute_rows(U: Doubles, m: int, rows: Doubles, width: int) -> None:
    """rows = U^-1 rows."""
    for back in range(m):
        i = m - 1 - back
        row = shift(rows, i * width)
        for j in range(i + 1, m):
            add_row(row, -U[i * m + j], shift(rows, j * width), width)
        for j in range(width):
            row[j] /= U[i * m + i]


@called
def cost_to_go(horizon: Horizon, steps: Steps, k: int) -> None:
    """P = Q + S^T L + L^T (S + R L) + C^T P C with the closed loop C; P stays positive."""
    x = 2 * steps.n
    m = steps.m
    columns = x + m
    each = columns + columns * columns + horizon.outputs * (1 + x)
    hessian = shift(horizon.cost, k * each + columns)
    L = shift(horizon.gain, k * m * x)
    closed = shift(horizon.closed, k * x * x)
    S = shift(hessian, x * columns)
    sum_rows = shift(horizon.small, m * x)
    for i in range(m):
        copy(shift(S, i * columns), shift(sum_rows, i * x), x)
    add_product(sum_rows, x, 1.0, shift(S, x), columns, 1, L, x, rows=m, inner=m, columns=x)
    P = horizon.P
    PC = horizon.work
    fill(PC, x * x, 0.0)
    add_product(PC, x, 1.0, P, x, 1, closed, x, rows=x, inner=x, columns=x)
    for i in range(x):  # the upper triangle, then the other
        row = shift(P, i * x + i)
        count = x - i
        copy(shift(hessian, i * columns + i), row, count)
        add_product(row, x, 1.0, shift(closed, i), 1, x, shift(PC, i), x, rows=1, inner=x, columns=count)
        add_product(row, x, 1.0, shift(L, i), 1, x, shift(sum_rows, i), x, rows=1, inner=m, columns=count)
        add_product(row, x, 1.0, shift(S, i), 1, columns, shift(L, i), x, rows=1, inner=m, columns=count)
    for i in range(x):
        for j in range(i):
            P[i * x + j] = P[j * x + i]


@called
def condensed(horizon: Horizon, steps: Steps, program: QuadraticProgram) -> None:
    """Write the rows of torques, of their differences and of outputs, as functions of w."""
    x = 2 * steps.n
    m = steps.m
    n = program.n
    columns = x + m
    outputs = horizon.outputs
    each = columns + columns * columns + outputs * (1 + x)
    block = rows_of_interval(horizon, steps)
    before = horizon.Gamma
    after = shift(horizon.Gamma, x * n)
    for k in range(horizon.intervals):
        F = shift(horizon.F, k * x * columns)
        root = shift(horizon.root, k * m * m)
        rows = shift(program.G, k * block * n)
        fill(rows, block * n, 0.0)
        add_product(rows, n, 1.0, shift(horizon.gain, k * m * x), x, 1, before, n, rows=m, inner=x, columns=k * m)
        for i in range(m):
            copy(shift(root, i * m), shift(rows, i * n + k * m), m)
        if horizon.rated == 1:
            copy(rows, shift(rows, m * n), m * n)
            if k > 0:
                add_row(shift(rows, m * n), -1.0, shift(rows, -block * n), m * n)
        for i in range(x):
            fill(shift(after, i * n), (k + 1) * m, 0.0)
        add_product(after, n, 1.0, shift(horizon.closed, k * x * x), x, 1, before, n, rows=x, inner=x, columns=k * m)
        add_product(shift(after, k * m), n, 1.0, shift(F, x), columns, 1, root, m, rows=x, inner=m, columns=m)
        slopes = shift(horizon.cost, (k + 1) * each + columns + columns * columns + outputs)
        add_product(
            shift(rows, (block - outputs) * n), n, 1.0, slopes, x, 1, after, n, rows=outputs, inner=x,
            columns=(k + 1) * m,
        )  # fmt: skip
        other = before
        before = after
        after = other


# ------------------------------------------------------------------------------------------------------- an answer


def answered(horizon: Horizon, plan: Plan, steps: Steps, program: QuadraticProgram, working: WorkingSet) -> int:
    """Answer a measurement by torques of a new plan, of the shifted plan, or of the safe law; return the status."""
    m = steps.m
    fill(horizon.told, TOLD, 0.0)
    status = UNREAD
    if math.isfinite(largest(horizon.measured, 2 * steps.n)):
        copy(horizon.measured, plan.seen, 2 * steps.n)
        status = planned(horizon, plan, steps, program, working)
    else:
        fill(shift(plan.seen, steps.n), steps.n, 0.0)
    if status == SOLVED:
        plan.mark[LATE] = 0.0
        copy(plan.tau, horizon.answer, m)
    else:
        plan.mark[LATE] += 1.0
        if plan.mark[HAS] != 0.0 and plan.mark[LATE] < horizon.intervals:
            horizon.told[0] = SHIFTED
            copy(plan.tau, horizon.answer, m)
        else:
            horizon.told[0] = SAFE
            plan.mark[HAS] = 0.0
            call(horizon.hold, plan.seen, horizon.answer)
    within(horizon, plan, m)
    copy(horizon.answer, plan.last, m)
    plan.mark[STALE] = plan.mark[HAS]
    plan.mark[PREPARED] = 0.0
    return status


def within(horizon: Horizon, plan: Plan, m: int) -> None:
    """Keep the answer inside the bounds of torques, and inside those of their rates where the former allow it."""
    for i in range(m):
        far = horizon.rate[i] * horizon.clock[1]
        answer = min(max(horizon.answer[i], plan.last[i] - far), plan.last[i] + far)
        horizon.answer[i] = min(max(answer, horizon.least[i]), horizon.most[i])


def planned(horizon: Horizon, plan: Plan, steps: Steps, program: QuadraticProgram, working: WorkingSet) -> int:
    """Solve for the measurement in one or more rounds, more for a first plan; return the status."""
    rounds = horizon.iterations
    if plan.mark[HAS] == 0.0:
        start_plan(horizon, plan, steps)
        rounds = horizon.first
    status = SOLVED
    for _k in range(rounds):
        if plan.mark[PREPARED] == 0.0:
            status = prepared(horizon, plan, steps, program)
        if status == SOLVED:
            status = one_round(horizon, plan, steps, program, working)
        plan.mark[PREPARED] = 0.0
        if status != SOLVED:
            break
        if horizon.told[3] < SETTLED:
            break
    return status


def start_plan(horizon: Horizon, plan: Plan, steps: Steps) -> None:
    """Make a first plan: the arm stays where it is, under the torques of the safe law."""
    x = 2 * steps.n
    for k in range(horizon.intervals + 1):
        copy(horizon.measured, shift(plan.x, k * x), x)
        if k < horizon.intervals:
            call(horizon.hold, plan.seen, shift(plan.tau, k * steps.m))
    new_interval(horizon, plan, steps, 0, SETTLING)
    size = steps.steps * steps.stages * steps.n
    for k in range(1, horizon.intervals):
        copy(plan.a, shift(plan.a, k * size), size)
    fill(plan.y, horizon.intervals * rows_of_interval(horizon, steps), 0.0)
    plan.mark[HAS] = 1.0
    plan.mark[PREPARED] = 0.0
    plan.mark[STALE] = 0.0


def one_round(horizon: Horizon, plan: Plan, steps: Steps, program: QuadraticProgram, working: WorkingSet) -> int:
    """Set the bounds for the measurement, solve the program, and move the plan to its solution; return the status."""
    free_motion(horizon, plan, steps)
    bounds(horizon, plan, steps, program)
    copy(plan.y, program.y, program.rows)
    status = solve_program(program, working)
    horizon.told[2] += program.told[0]
    fill(plan.y, program.rows, 0.0)
    if status == SOLVED:
        copy(program.y, plan.y, program.rows)
        slacks(horizon, steps, program)
        horizon.told[3] = expand(horizon, plan, steps, program)
        if not math.isfinite(horizon.told[3]):
            plan.mark[HAS] = 0.0
            return BROKEN
    return status


def free_motion(horizon: Horizon, plan: Plan, steps: Steps) -> None:
    """Compute the changes of all states by the measurement and by the defects of intervals, with w = 0."""
    x = 2 * steps.n
    for j in range(x):
        horizon.free[j] = horizon.measured[j] - plan.x[j]
    for k in range(horizon.intervals):
        before = shift(horizon.free, k * x)
        for i in range(x):
            before[x + i] = horizon.miss[k * x + i] + dot(shift(horizon.closed, (k * x + i) * x), before, x)


@called
def bounds(horizon: Horizon, plan: Plan, steps: Steps, program: QuadraticProgram) -> None:
    """Set the bounds of the parts of torques, of their differences and of outputs that w adds."""
    x = 2 * steps.n
    m = steps.m
    columns = x + m
    outputs = horizon.outputs
    each = columns + columns * columns + outputs * (1 + x)
    block = rows_of_interval(horizon, steps)
    for k in range(horizon.intervals):
        low = shift(program.low, k * block)
        high = shift(program.high, k * block)
        for i in range(m):
            now = plan.tau[k * m + i] + dot(shift(horizon.gain, (k * m + i) * x), shift(horizon.free, k * x), x)
            low[i] = horizon.least[i] - now
            high[i] = horizon.most[i] - now
            if horizon.rated == 1:
                far = horizon.rate[i] * horizon.clock[1]
                before = plan.last[i]
                if k > 0:
                    before = horizon.least[i] - low[i - block]
                low[m + i] = before - far - now
                high[m + i] = before + far - now
                if k == 0:  # bounds of torques come first
                    low[m + i] = min(low[m + i], high[i])
                    high[m + i] = max(high[m + i], low[i])
        found = shift(horizon.cost, (k + 1) * each + columns + columns * columns)
        change = shift(horizon.free, (k + 1) * x)
        for i in range(outputs):
            now = found[i] + dot(shift(found, outputs + i * x), change, x)
            low[block - outputs + i] = horizon.low[i] - now
            high[block - outputs + i] = horizon.high[i] - now


def slacks(horizon: Horizon, steps: Steps, program: QuadraticProgram) -> None:
    """Find how far each output is predicted to exceed its bounds, at most, and the largest of all."""
    first = steps.m * (1 + horizon.rated)
    fill(horizon.slack, horizon.outputs, 0.0)
    for k in range(horizon.intervals):
        for i in range(horizon.outputs):
            r = k * (first + horizon.outputs) + first + i
            over = max(program.value[r] - program.high[r], program.low[r] - program.value[r])
            horizon.slack[i] = max(horizon.slack[i], over)
    horizon.told[1] = largest(horizon.slack, horizon.outputs)


@called
def expand(horizon: Horizon, plan: Plan, steps: Steps, program: QuadraticProgram) -> float:
    """Move torques, states and stages of the plan to the solution; return the relative change of torques."""
    x = 2 * steps.n
    m = steps.m
    size = steps.steps * steps.stages * steps.n
    change = horizon.slope
    dtau = horizon.small
    moved = 0.0
    for j in range(x):
        change[j] = horizon.measured[j] - plan.x[j]
    for k in range(horizon.intervals):
        state = shift(plan.x, k * x)
        tau = shift(plan.tau, k * m)
        root = shift(horizon.root, k * m * m)
        for i in range(m):
            wanted = dot(shift(horizon.gain, (k * m + i) * x), change, x)
            wanted += tau[i] + dot(shift(root, i * m), shift(program.z, k * m), m)
            wanted = min(max(wanted, horizon.least[i]), horizon.most[i])
            dtau[i] = wanted - tau[i]
            moved += abs(dtau[i]) / (abs(root[i * m + i]) + abs(wanted))
            tau[i] = wanted
        for j in range(x):
            state[j] += change[j]
        K = shift(horizon.K, k * steps.steps * kept(steps))
        follow(steps, shift(plan.a, k * size), K, change, dtau)
        for j in range(x):
            change[j] += horizon.miss[k * x + j]
    state = shift(plan.x, horizon.intervals * x)
    for j in range(x):
        state[j] += change[j]
        moved += 0.0 * state[j]  # not finite where a state is not
    return moved
