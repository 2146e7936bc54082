"""A horizon that recedes: linearise and condense ahead of a measurement, answer it by one quadratic program.

    minimise sum_k l(t_k, x_k, tau_k) + e(t_N, x_N)   with  x_(k+1) = the end of interval k from x_k under tau_k,
    x_0 as measured, bounds on torques and their rates, and soft bounds on outputs y(x_k) of all later nodes.

The real-time iteration [DBS05]: the last plan, shifted by an interval, is where all is linearised; states are eliminated
[condensing], which leaves the torques; a measurement then enters the gradient and the bounds alone. A step that finds no
solution gives the torques of the shifted plan, as often as it has intervals, and then those of a safe law.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from pliant.horizon.collocation import Steps, follow, interval, kept
from pliant.horizon.dense import add_product, cholesky, copy, dot, fill, largest
from pliant.horizon.interior_point import BROKEN, SOLVED, Program, Sides, solve_program
from pliant.kernels.primitives import Doubles, call, integers, shift, unpack

UNREAD = 4
"""Status of a measurement that is not finite, beside those of `interior_point`."""
PLANNED, SHIFTED, SAFE = 0, 1, 2
"""Where a torque comes from."""
LARGEST_CHANGE = 1e9
"""Of scaled torques in one step, beyond which a solution is none."""


class Plan(NamedTuple):
    """What is remembered: states of all nodes, torques and stages of all intervals, the torques that act, the last
    finite measurement, and [has a plan, is prepared, steps since the last solution, is to be shifted]."""

    x: Doubles
    tau: Doubles
    a: Doubles
    last: Doubles
    seen: Doubles
    mark: Doubles


HAS, PREPARED, LATE, STALE = 0, 1, 2, 3


class Horizon(NamedTuple):
    """A problem: intervals, outputs at each node, most iterations of a first plan and of a step; addresses of the cost
    and the outputs of a node, of the last node, and of the safe law; [t, length of an interval, of a collocation step,
    of a sample]; bounds of torques, their rates, bounds and weights of outputs; what is measured, what is answered;
    memory."""

    intervals: int
    outputs: int
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
    Gamma: Doubles
    W: Doubles
    T: Doubles
    free: Doubles
    slope: Doubles


TOLD = 4
"""Numbers that a step tells of itself: source of the torque, largest slack, iterations of the program, change."""


def node_size(n: int, m: int, outputs: int) -> int:
    """Numbers that the function of a node gives: gradient and Hessian of the cost by (x, tau), outputs and their slopes
    by x."""
    z = 2 * n + m
    return z + z * z + outputs * (1 + 2 * n)


def horizon_sizes(n: int, m: int, intervals: int, outputs: int, kept_numbers: int) -> dict[str, int]:
    """How many numbers each part of the memory of a `Horizon` has."""
    x, variables = 2 * n, intervals * m
    return {
        "measured": x, "answer": m, "slack": max(outputs, 1), "told": TOLD, "given": 1 + x + m, "F": intervals * x * (x + m),
        "miss": intervals * x, "K": intervals * kept_numbers, "cost": (intervals + 1) * node_size(n, m, outputs),
        "Gamma": (intervals + 1) * x * variables, "W": 2 * x * variables, "T": m * variables,
        "free": (intervals + 1) * x, "slope": 2 * x,
    }  # fmt: skip


def prepare_horizon(address: int) -> int:
    """Shift the plan where it is stale, linearise all nodes and intervals about it, and eliminate the states."""
    horizon, plan, steps, program, _ = unpack(integers(address), Horizon, Plan, Steps, Program, Sides)
    return prepared(horizon, plan, steps, program)


def answer_horizon(address: int) -> int:
    """Torques for what was measured; the status says what came of it, `told` where they come from."""
    horizon, plan, steps, program, sides = unpack(integers(address), Horizon, Plan, Steps, Program, Sides)
    return answered(horizon, plan, steps, program, sides)


# ---------------------------------------------------------------------------------------------------- preparation


def prepared(horizon: Horizon, plan: Plan, steps: Steps, program: Program) -> int:
    """Everything that needs no measurement. BROKEN: numbers are not finite, and there is no plan any more."""
    plan.mark[PREPARED] = 0.0
    if plan.mark[HAS] == 0.0:
        return SOLVED
    if plan.mark[STALE] != 0.0:
        shift_plan(horizon, plan, steps)
        plan.mark[STALE] = 0.0
    sound = linearised(horizon, plan, steps)
    condensed(horizon, steps, program)
    copy(program.H, program.factor, program.n * program.n)
    cholesky(program.factor, program.n)
    if not sound or not math.isfinite(largest(program.H, program.n * program.n)):
        return BROKEN
    plan.mark[PREPARED] = 1.0
    return SOLVED


def shift_plan(horizon: Horizon, plan: Plan, steps: Steps) -> None:
    """One interval on; the last one is repeated."""
    N = horizon.intervals
    copy(shift(plan.x, 2 * steps.n), plan.x, N * 2 * steps.n)
    copy(shift(plan.tau, steps.m), plan.tau, (N - 1) * steps.m)
    size = steps.steps * steps.stages * steps.n
    copy(shift(plan.a, size), plan.a, (N - 1) * size)


def linearised(horizon: Horizon, plan: Plan, steps: Steps) -> bool:
    """Costs, outputs and intervals with their slopes about the plan."""
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
                shift(horizon.K, k * steps.steps * kept(steps)),
            )  # fmt: skip
            sound = sound and good
            for j in range(x):
                miss[j] -= state[x + j]
        else:
            call(horizon.end, horizon.given, cost)
    return sound


def condensed(horizon: Horizon, steps: Steps, program: Program) -> None:
    """H of the torques alone, and the rows of all outputs."""
    x = 2 * steps.n
    m = steps.m
    n = program.n
    columns = x + m
    outputs = horizon.outputs
    each = columns + columns * columns + outputs * (1 + x)
    for k in range(horizon.intervals):  # x_(k+1) = A x_k + B tau_k
        F = shift(horizon.F, k * x * columns)
        before = shift(horizon.Gamma, k * x * n)
        after = shift(before, x * n)
        for i in range(x):
            fill(shift(after, i * n), k * m, 0.0)
            copy(shift(F, i * columns + x), shift(after, i * n + k * m), m)
        add_product(after, n, 1.0, F, columns, 1, before, n, x, x, k * m)
        slopes = shift(horizon.cost, (k + 1) * each + columns + columns * columns + outputs)
        rows = shift(program.G, k * outputs * n)
        fill(rows, outputs * n, 0.0)
        add_product(rows, n, 1.0, slopes, x, 1, after, n, outputs, x, (k + 1) * m)
    above = horizon.W
    below = shift(horizon.W, x * n)
    fill(above, x * n, 0.0)
    for back in range(horizon.intervals + 1):  # W_k = Q_k Gamma_k + A_k^T W_(k+1)
        k = horizon.intervals - back
        hessian = shift(horizon.cost, k * each + columns)
        own = shift(horizon.Gamma, k * x * n)
        if back > 0:
            F = shift(horizon.F, k * x * columns)
            torque_rows(horizon, steps, program, k, below)
            for i in range(x):
                fill(shift(above, i * n), k * m, 0.0)
            add_product(above, n, 1.0, F, 1, columns, below, n, x, x, k * m)
        add_product(above, n, 1.0, hessian, columns, 1, own, n, x, x, k * m)
        kept_one = above
        above = below
        below = kept_one


def torque_rows(horizon: Horizon, steps: Steps, program: Program, k: int, W: Doubles) -> None:
    """H of the torques of interval k beside all earlier ones: B^T W + S Gamma, and R of their own."""
    x = 2 * steps.n
    m = steps.m
    n = program.n
    columns = x + m
    each = columns + columns * columns + horizon.outputs * (1 + x)
    F = shift(horizon.F, k * x * columns)
    hessian = shift(horizon.cost, k * each + columns)
    T = horizon.T
    fill(T, m * n, 0.0)
    add_product(T, n, 1.0, shift(F, x), 1, columns, W, n, m, x, (k + 1) * m)
    add_product(T, n, 1.0, shift(hessian, x * columns), columns, 1, shift(horizon.Gamma, k * x * n), n, m, x, k * m)
    for i in range(m):
        for j in range(m):
            T[i * n + k * m + j] += hessian[(x + i) * columns + x + j]
        for j in range(k * m + i + 1):
            program.H[j * n + k * m + i] = T[i * n + j]


# ------------------------------------------------------------------------------------------------------- an answer


def answered(horizon: Horizon, plan: Plan, steps: Steps, program: Program, sides: Sides) -> int:
    """Torques of a plan from what was measured, or of the last plan, or of the safe law."""
    m = steps.m
    fill(horizon.told, TOLD, 0.0)
    status = UNREAD
    if math.isfinite(largest(horizon.measured, 2 * steps.n)):
        copy(horizon.measured, plan.seen, 2 * steps.n)
        status = planned(horizon, plan, steps, program, sides)
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
    if 2.0 * horizon.clock[3] > horizon.clock[1]:  # of shorter samples nodes stay as far ahead as they are
        plan.mark[STALE] = plan.mark[HAS]
    plan.mark[PREPARED] = 0.0
    return status


def within(horizon: Horizon, plan: Plan, m: int) -> None:
    """Keep the answer inside the bounds of torques, and of their rates where these allow it."""
    for i in range(m):
        far = horizon.rate[i] * horizon.clock[3]
        answer = min(max(horizon.answer[i], plan.last[i] - far), plan.last[i] + far)
        horizon.answer[i] = min(max(answer, horizon.least[i]), horizon.most[i])


def planned(horizon: Horizon, plan: Plan, steps: Steps, program: Program, sides: Sides) -> int:
    """Solve for the measurement: once, or several times for a first plan."""
    rounds = horizon.iterations
    if plan.mark[HAS] == 0.0:
        start_plan(horizon, plan, steps)
        rounds = horizon.first
    status = SOLVED
    for k in range(rounds):
        if plan.mark[PREPARED] == 0.0:
            status = prepared(horizon, plan, steps, program)
        if status == SOLVED:
            status = one_round(horizon, plan, steps, program, sides)
        plan.mark[PREPARED] = 0.0
        if status != SOLVED:
            break
        if horizon.told[3] < 1e-10:
            break
    return status


def start_plan(horizon: Horizon, plan: Plan, steps: Steps) -> None:
    """A first plan: stay where it is, under the torques of the safe law."""
    x = 2 * steps.n
    for k in range(horizon.intervals + 1):
        copy(horizon.measured, shift(plan.x, k * x), x)
        if k < horizon.intervals:
            call(horizon.hold, plan.seen, shift(plan.tau, k * steps.m))
    fill(plan.a, horizon.intervals * steps.steps * steps.stages * steps.n, 0.0)
    plan.mark[HAS] = 1.0
    plan.mark[PREPARED] = 0.0
    plan.mark[STALE] = 0.0


def one_round(horizon: Horizon, plan: Plan, steps: Steps, program: Program, sides: Sides) -> int:
    """Gradient and bounds for the measurement, the program, and the plan moved to its solution."""
    free_motion(horizon, plan, steps)
    gradient(horizon, steps, program)
    bounds(horizon, plan, steps, program)
    status = solve_program(program, sides)
    horizon.told[2] += program.told[0]
    if status == SOLVED:
        change = 0.0
        for i in range(program.n):
            unit = 1.0 / math.sqrt(max(program.H[i * program.n + i], 1e-300))
            change = max(change, abs(program.z[i]) / (unit + abs(plan.tau[i])))
        if not change < LARGEST_CHANGE:
            return BROKEN
        horizon.told[3] = change
        slacks(horizon, program)
        expand(horizon, plan, steps, program)
    return status


def free_motion(horizon: Horizon, plan: Plan, steps: Steps) -> None:
    """Changes of all states by the measurement and what intervals miss, with the torques of the plan."""
    x = 2 * steps.n
    columns = x + steps.m
    for j in range(x):
        horizon.free[j] = horizon.measured[j] - plan.x[j]
    for k in range(horizon.intervals):
        before = shift(horizon.free, k * x)
        for i in range(x):
            row = shift(horizon.F, (k * x + i) * columns)
            before[x + i] = horizon.miss[k * x + i] + dot(row, before, x)


def gradient(horizon: Horizon, steps: Steps, program: Program) -> None:
    """g of the torques, by costates from the end."""
    x = 2 * steps.n
    m = steps.m
    columns = x + m
    each = columns + columns * columns + horizon.outputs * (1 + x)
    costate = horizon.slope
    earlier = shift(horizon.slope, x)
    for back in range(horizon.intervals + 1):
        k = horizon.intervals - back
        cost = shift(horizon.cost, k * each)
        hessian = shift(cost, columns)
        change = shift(horizon.free, k * x)
        F = shift(horizon.F, k * x * columns)
        for i in range(x):
            earlier[i] = cost[i] + dot(shift(hessian, i * columns), change, x)
        if back > 0:
            for i in range(m):
                row = shift(hessian, (x + i) * columns)
                program.g[k * m + i] = cost[x + i] + dot(row, change, x)
            add_product(shift(program.g, k * m), m, 1.0, costate, x, 1, shift(F, x), columns, 1, x, m)
            add_product(earlier, x, 1.0, costate, x, 1, F, columns, 1, x, x)
        copy(earlier, costate, x)


def bounds(horizon: Horizon, plan: Plan, steps: Steps, program: Program) -> None:
    """Bounds of the changes of torques, of their differences, and of the outputs."""
    x = 2 * steps.n
    m = steps.m
    n = program.n
    columns = x + m
    outputs = horizon.outputs
    each = columns + columns * columns + outputs * (1 + x)
    for k in range(horizon.intervals):
        for i in range(m):
            at = k * m + i
            program.low[at] = horizon.least[i] - plan.tau[at]
            program.high[at] = horizon.most[i] - plan.tau[at]
            far = horizon.rate[i] * horizon.clock[1]
            before = plan.last[i]
            if k == 0:
                far = horizon.rate[i] * horizon.clock[3]
            else:
                before = plan.tau[at - m]
            program.low[n + at] = before - far - plan.tau[at]
            program.high[n + at] = before + far - plan.tau[at]
            if k == 0:  # bounds of torques come first
                program.low[n + at] = min(program.low[n + at], program.high[at])
                program.high[n + at] = max(program.high[n + at], program.low[at])
        found = shift(horizon.cost, (k + 1) * each + columns + columns * columns)
        change = shift(horizon.free, (k + 1) * x)
        for i in range(outputs):
            now = found[i] + dot(shift(found, outputs + i * x), change, x)
            program.low[2 * n + k * outputs + i] = horizon.low[i] - now
            program.high[2 * n + k * outputs + i] = horizon.high[i] - now


def slacks(horizon: Horizon, program: Program) -> None:
    """By how much each output is predicted to leave its bounds, at most, and the largest of all."""
    fill(horizon.slack, horizon.outputs, 0.0)
    for k in range(horizon.intervals):
        for i in range(horizon.outputs):
            r = 2 * program.n + k * horizon.outputs + i
            over = max(program.value[r] - program.high[r], program.low[r] - program.value[r])
            horizon.slack[i] = max(horizon.slack[i], over)
    horizon.told[1] = largest(horizon.slack, horizon.outputs)


def expand(horizon: Horizon, plan: Plan, steps: Steps, program: Program) -> None:
    """Torques, states and stages of the plan, moved to the solution."""
    x = 2 * steps.n
    m = steps.m
    size = steps.steps * steps.stages * steps.n
    change = horizon.slope
    for j in range(x):
        change[j] = horizon.measured[j] - plan.x[j]
    for k in range(horizon.intervals):
        state = shift(plan.x, k * x)
        for j in range(x):
            state[j] += change[j]
        dtau = shift(program.z, k * m)
        tau = shift(plan.tau, k * m)
        for i in range(m):
            tau[i] = min(max(tau[i] + dtau[i], horizon.least[i]), horizon.most[i])
        K = shift(horizon.K, k * steps.steps * kept(steps))
        follow(steps, shift(plan.a, k * size), K, change, dtau)
        for j in range(x):
            change[j] += horizon.miss[k * x + j]
    state = shift(plan.x, horizon.intervals * x)
    for j in range(x):
        state[j] += change[j]
