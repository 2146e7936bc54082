"""Quadratic programs of predictive control, by a dual active-set method, in place and without any allocation.

    minimize 1/2 z^T z + g^T z + sum_r (w_r s_r + 1/2 W_r s_r^2)
    with     low <= G z <= high, where a soft row r may exceed its bounds by s_r >= 0.

Any convex quadratic program is one of these in other variables; `real_time_iteration` states its program in them. Rows
of early nodes end early. Multipliers y >= 0 of upper bounds, y <= 0 of lower ones, give z = -g - G^T y, and every step
of the multipliers raises the dual cost [GI83]. A working set holds the rows whose multipliers move: a hard row at its
bound, and a soft row at its bound as long as |y| < w; from there on it gives way, by s = (|y| - w) / W. Rows u are
those of G with length one, and the steps p of the multipliers solve

    (u u^T + c) p = e,    c = 1/W of rows that give way,  e = excess of rows of the set over their targets,

by a factor L D L^T that gains and loses rows [ABA22]. The step ends where a multiplier meets zero or its price: the row
leaves the set, gives way, or is held again. At its end the most violated row enters. Where e is zero and no row is
violated, z is the solution. Multipliers of a similar program are a start; where -g violates no row, -g is the solution.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from pliant.compute.compiled_loops.primitives import Doubles, Integers, apart, called, integers, shift, unpack
from pliant.compute.nmpc.dense import add_row, copy, dot, fill, largest

SHARP, FEASIBLE = 1e-13, 1e-11
"""Errors of a solution, relative to gradient and bound: aim for rows of the set, and limit for all rows."""
ENOUGH = 3
"""Steps from the limit towards the aim, after which the rest is rounding."""
NOISE = 1e-15
"""Rounding, relative to the largest multiplier; smaller errors do not count."""
NEARLY = 1e-6
"""Errors that are accepted when further steps do not help."""
THIN = 1e-13
"""Least pivot, relative to its diagonal: a row with less depends on the others of the set."""
SOLVED, LIMIT, INFEASIBLE, BROKEN = 0, 1, 2, 3


class QuadraticProgram(NamedTuple):
    """Sizes and numbers of a program: `rows` rows of G, each with `width` entries that count; their bounds, infinite
    where there are none; weights of slacks, infinite for hard rows, then weights of their squares, positive for soft
    rows. The solution z and `value` G z; multipliers y, which are also the start."""

    n: int
    rows: int
    iterations: int
    g: Doubles
    G: Doubles
    width: Integers
    low: Doubles
    high: Doubles
    weight: Doubles
    z: Doubles
    y: Doubles
    value: Doubles
    told: Doubles


class WorkingSet(NamedTuple):
    """Memory. For each place in the set: the row, its side (1: upper bound, -1: lower bound), 1 where it gives way, its
    multiplier |y| times its length, the step p of that, its excess e, the factor and its pivots. Then room for a row of
    the factor; for each row: its length, and 1 where it is in the set."""

    row: Integers
    side: Doubles
    gives: Doubles
    lam: Doubles
    p: Doubles
    e: Doubles
    U: Doubles
    d: Doubles
    spare: Doubles
    length: Doubles
    held: Doubles


TOLD = 3
"""Numbers in `QuadraticProgram.told`: iterations, largest error of rows in the set, largest violation of others."""


def working_sizes(rows: int) -> dict[str, int]:
    """Number of entries of each part of a `WorkingSet`."""
    return dict.fromkeys(WorkingSet.__annotations__, rows) | {"U": rows * rows}


def solve_program(program: QuadraticProgram, working: WorkingSet) -> int:
    """Put the solution into `program.z`, G z into `program.value`, multipliers into `program.y`; return the status."""
    n = program.n
    fill(program.told, TOLD, 0.0)
    strength = largest(program.g, n)
    if not math.isfinite(strength):
        return BROKEN
    for i in range(n):
        program.z[i] = -program.g[i]
    products(program)
    if is_inside(program):
        fill(program.y, program.rows, 0.0)
        return SOLVED
    status = lengths(program, working)
    if status == SOLVED:
        status = iterate(program, working, begin(program, working), strength)
    if not math.isfinite(largest(program.z, n)):
        status = BROKEN
    return status


def is_inside(program: QuadraticProgram) -> bool:
    """Whether a point keeps all bounds; it does not where a bound or a value is not a number."""
    inside = True
    for r in range(program.rows):
        if not (program.value[r] >= program.low[r] and program.value[r] <= program.high[r]):
            inside = False
    return inside


def products(program: QuadraticProgram) -> None:
    """value = G z."""
    for r in range(program.rows):
        program.value[r] = dot(shift(program.G, r * program.n), program.z, program.width[r])


@called
def lengths(program: QuadraticProgram, working: WorkingSet) -> int:
    """Compute the lengths of all rows. Return INFEASIBLE where the bounds of a row contradict each other, BROKEN where
    one is not a number."""
    status = SOLVED
    for r in range(program.rows):
        row = shift(program.G, r * program.n)
        working.length[r] = math.sqrt(dot(row, row, program.width[r]))
        if program.low[r] > program.high[r]:
            status = INFEASIBLE
        if not (program.low[r] <= program.high[r] or program.low[r] > program.high[r]):
            return BROKEN
    return status


@called
def begin(program: QuadraticProgram, working: WorkingSet) -> int:
    """Make the set from the given multipliers, without rows that depend on others of it; return its size."""
    count = 0
    fill(working.held, program.rows, 0.0)
    for r in range(program.rows):
        y = program.y[r]
        side = 1.0
        bound = program.high[r]
        if y < 0.0:
            side = -1.0
            bound = -program.low[r]
        if abs(y) > 0.0 and abs(y) < math.inf and bound < math.inf and working.length[r] > 0.0:
            gives = 0.0
            if abs(y) > program.weight[r]:
                gives = 1.0
            enter(program, working, count, r, side, gives)
            working.lam[count] = abs(y) * working.length[r]
            if working.d[count] > THIN:
                count += 1
            else:
                working.held[r] = 0.0
    return count


# ------------------------------------------------------------------------------------------------------ iterations


@called
def iterate(program: QuadraticProgram, working: WorkingSet, count: int, strength: float) -> int:
    """Step the multipliers until no row is violated; return the status."""
    status = LIMIT
    calm = 0
    noise = strength
    for k in range(program.iterations):
        program.told[0] = k
        noise = strength + NOISE / SHARP * largest(working.lam, count)
        place(program, working, count)
        program.told[1] = missed(program, working, count, noise)
        if program.told[1] <= FEASIBLE:
            r = most_violated(program, working, noise)
            calm += 1
            if r < 0 and (program.told[1] <= SHARP or calm > ENOUGH):
                return SOLVED
            if r >= 0:
                count = enter_violated(program, working, count, r)
                calm = 0
        left = direction(working, count, program.rows)
        share = 1.0
        at = -1
        for i in range(count):
            ahead = reach(program, working, i)
            if ahead < share:
                share = ahead
                at = i
        if at < 0 and left > FEASIBLE * noise:
            status = INFEASIBLE
            break
        add_row(working.lam, share, working.p, count)
        if at >= 0:
            count = changed(program, working, count, at)
    if status == LIMIT:
        noise = strength + NOISE / SHARP * largest(working.lam, count)  # the last step changed the multipliers
        place(program, working, count)
        program.told[1] = missed(program, working, count, noise)
        most_violated(program, working, noise)
    if max(program.told[1], program.told[2]) <= NEARLY:
        status = SOLVED
    return status


@called
def place(program: QuadraticProgram, working: WorkingSet, count: int) -> None:
    """z = -g - G^T y, and G z."""
    fill(program.y, program.rows, 0.0)
    for i in range(program.n):
        program.z[i] = -program.g[i]
    for i in range(count):
        r = working.row[i]
        program.y[r] = working.side[i] * working.lam[i] / working.length[r]
        add_row(program.z, -program.y[r], shift(program.G, r * program.n), program.width[r])
    products(program)


@called
def missed(program: QuadraticProgram, working: WorkingSet, count: int, strength: float) -> float:
    """Compute the excess e of the rows of the set over their targets; return the largest, relative to `size`."""
    worst = 0.0
    for i in range(count):
        r = working.row[i]
        e = beyond(program, r, working.side[i]) / working.length[r]
        if working.gives[i] != 0.0:
            e -= compliance(program, working, r) * (working.lam[i] - price(program, working, r))
        working.e[i] = e
        worst = max(worst, abs(e) / size(program, working, r, working.side[i], strength))
    return worst


def beyond(program: QuadraticProgram, r: int, side: float) -> float:
    """Distance of a row beyond one of its bounds, negative inside."""
    if side > 0.0:
        return program.value[r] - program.high[r]
    return program.low[r] - program.value[r]


def size(program: QuadraticProgram, working: WorkingSet, r: int, side: float, strength: float) -> float:
    """Size that the error of a row is compared with: that of the gradient plus that of its bound."""
    if side > 0.0:
        return strength + abs(program.high[r]) / working.length[r]
    return strength + abs(program.low[r]) / working.length[r]


def compliance(program: QuadraticProgram, working: WorkingSet, r: int) -> float:
    """Distance that a soft row goes beyond its bound per unit of its multiplier."""
    return 1.0 / (program.weight[program.rows + r] * working.length[r] * working.length[r])


def price(program: QuadraticProgram, working: WorkingSet, r: int) -> float:
    """The multiplier at which a row begins to give way."""
    return program.weight[r] * working.length[r]


@called
def most_violated(program: QuadraticProgram, working: WorkingSet, strength: float) -> int:
    """The row outside the set that is farthest beyond a bound, -1 if there is none. Zero rows are left out."""
    found = -1
    worst = FEASIBLE
    for r in range(program.rows):
        if working.held[r] == 0.0 and working.length[r] > 0.0:
            side = -1.0
            if program.value[r] > program.high[r]:
                side = 1.0
            over = beyond(program, r, side)
            if over > 0.0:
                over /= working.length[r] * size(program, working, r, side, strength)
                if over > worst:
                    worst = over
                    found = r
    program.told[2] = 0.0
    if found >= 0:
        program.told[2] = worst
    return found


def reach(program: QuadraticProgram, working: WorkingSet, i: int) -> float:
    """Part of the step after which a row leaves the set, gives way, or is held."""
    lam = working.lam[i]
    p = working.p[i]
    limit = price(program, working, working.row[i])
    if p < 0.0:
        if working.gives[i] != 0.0:
            lam -= limit
        return max(-lam / p, 0.0)
    if p > 0.0 and working.gives[i] == 0.0 and limit < math.inf:
        return max((limit - lam) / p, 0.0)
    return math.inf


# --------------------------------------------------------------------------------------------------------- factor


@called
def direction(working: WorkingSet, count: int, stride: int) -> float:
    """Solve for the steps p; return the part of e that is left because a row depends on others of the set."""
    left = 0.0
    p = working.p
    copy(working.e, p, count)
    for j in range(count):
        add_row(shift(p, j + 1), -p[j], shift(working.U, j * stride + j + 1), count - j - 1)
        p[j] /= working.d[j]
    for back in range(count):
        j = count - 1 - back
        p[j] -= dot(shift(working.U, j * stride + j + 1), shift(p, j + 1), back)
        if not working.d[j] > THIN:
            left = max(left, THIN * abs(p[j]))
    return left


@called
def enter(program: QuadraticProgram, working: WorkingSet, count: int, r: int, side: float, gives: float) -> None:
    """Add a row behind all others of the set, with a multiplier of zero."""
    stride = program.rows
    own = shift(program.G, r * program.n)
    column = working.spare
    d = 1.0
    if gives != 0.0:
        d += compliance(program, working, r)
    for j in range(count):
        other = working.row[j]
        both = dot(own, shift(program.G, other * program.n), min(program.width[r], program.width[other]))
        column[j] = side * working.side[j] * both / (working.length[r] * working.length[other])
    for j in range(count):
        add_row(shift(column, j + 1), -column[j], shift(working.U, j * stride + j + 1), count - j - 1)
        ratio = column[j] / working.d[j]
        d -= ratio * column[j]
        working.U[j * stride + count] = ratio
    working.d[count] = max(d, THIN)
    working.row[count] = r
    working.side[count] = side
    working.gives[count] = gives
    working.lam[count] = 0.0
    working.held[r] = 1.0


def enter_violated(program: QuadraticProgram, working: WorkingSet, count: int, r: int) -> int:
    """Add a row that is beyond a bound; return the size of the set."""
    side = -1.0
    if program.value[r] > program.high[r]:
        side = 1.0
    gives = 0.0
    if program.weight[r] == 0.0:
        gives = 1.0
    enter(program, working, count, r, side, gives)
    working.e[count] = beyond(program, r, side) / working.length[r]
    return count + 1


def changed(program: QuadraticProgram, working: WorkingSet, count: int, i: int) -> int:
    """Change the set after a step that ended at row i of it, which leaves, gives way or is held; return its size."""
    r = working.row[i]
    side = working.side[i]
    gives = working.gives[i]
    limit = price(program, working, r)
    down = working.p[i] < 0.0
    leave(working, count, i, program.rows)
    count -= 1
    working.held[r] = 0.0
    if not down or (gives != 0.0 and limit > 0.0):
        enter(program, working, count, r, side, 1.0 - gives)
        working.lam[count] = limit
        count += 1
    return count


@called
def leave(working: WorkingSet, count: int, i: int, stride: int) -> None:
    """Take a row out of the set. Its column l with its pivot d is added to the factor of the rows behind it, as
    L D L^T + d l l^T, by [GGMS74]."""
    U = working.U
    l = working.spare
    copy(shift(U, i * stride), l, count)
    part = working.d[i]
    for j in range(i):
        for r in range(i + 1, count):
            U[j * stride + r - 1] = U[j * stride + r]
    for j in range(i + 1, count):
        whole = working.d[j] + part * l[j] * l[j]
        ratio = part * l[j] / whole
        part *= working.d[j] / whole
        working.d[j - 1] = whole
        row = shift(U, j * stride + j + 1)
        exchange(shift(row, -stride - 1), row, shift(l, j + 1), l[j], ratio, count - j - 1)
        working.row[j - 1] = working.row[j]
        working.side[j - 1] = working.side[j]
        working.gives[j - 1] = working.gives[j]
        working.lam[j - 1] = working.lam[j]


@apart
def exchange(target: Doubles, source: Doubles, l: Doubles, own: float, ratio: float, count: int) -> None:
    """l -= own source, target = source + ratio l."""
    for j in range(count):
        l[j] -= own * source[j]
        target[j] = source[j] + ratio * l[j]


def run_program(address: int) -> int:
    """Solve a program; the table at the address holds a `QuadraticProgram` and its `WorkingSet`."""
    program, working = unpack(integers(address), QuadraticProgram, WorkingSet)
    return solve_program(program, working)
