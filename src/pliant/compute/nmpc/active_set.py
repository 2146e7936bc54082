"""Projections onto bounded sets by a dual active-set method, in place and without any allocation.

    minimise 1/2 z^T z + g^T z + sum_r (w_r s_r + 1/2 W_r s_r^2)
    with     low <= G z <= high, and by s_r >= 0 less where row r is soft.

Any convex quadratic program is one of these in other variables; those of a horizon come with them (`receding`). Rows of
early nodes end early. Multipliers y >= 0 of upper bounds, y <= 0 of lower ones, give z = -g - G^T y, and every step of
theirs raises the dual cost [GI83]. A working set holds the rows whose multipliers move: a hard row at its bound, a soft
one at its bound as long as |y| < w, and beyond it by s = (|y| - w) / W from there on. Rows u are those of G with length
one, and the steps p of the multipliers solve

    (u u^T + c) p = e,    c = 1/W of rows that give way,  e what rows of the set are beyond where they should be,

by a factor L D L^T that grows by a row and loses one [ABA22]. The step ends where a multiplier meets zero or its price:
the row leaves the set, gives way, or is held again. At its end the most violated row enters. Where e is zero and none
is violated, z is the solution. Multipliers of a like program are a start; where no row is violated without any, -g is
the solution.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from pliant.compute.loops.primitives import Doubles, Integers, apart, called, integers, shift, unpack
from pliant.compute.nmpc.dense import add_row, copy, dot, fill, largest

SHARP, FEASIBLE = 1e-13, 1e-11
"""What rows of the set should miss at a solution, and what they and others may: of the gradient and the bound."""
ENOUGH = 3
"""Steps from what they may miss towards what they should, behind which it is rounding."""
NOISE = 1e-15
"""Of the largest multiplier: rounding, below which nothing is asked for."""
NEARLY = 1e-6
"""The same as the first two for an end at which steps no longer help."""
THIN = 1e-13
"""Pivots are at least this part of their diagonal: a row with less depends on the others of the set."""
SOLVED, LIMIT, INFEASIBLE, BROKEN = 0, 1, 2, 3


class QuadraticProgram(NamedTuple):
    """Sizes and numbers of a program: `rows` of G, each of `width` entries that count; their bounds, infinite where
    there are none; weights of slacks, infinite of hard rows, then those of their squares, positive of soft ones.
    The solution z and `value` G z; multipliers y, which are also the start."""

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
    """Memory. By place in the set: the row, its side (1 of the upper bound, -1 of the lower), 1 where it gives way, its
    multiplier |y| by length, the step p of that, what it misses, the factor and its pivots. Then room for a row of the
    factor; and by row: its length, and 1 where it is in the set."""

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
"""Numbers that a solution tells of itself: iterations, what rows of the set miss, the most violated other one."""


def working_sizes(rows: int) -> dict[str, int]:
    """How many numbers each part of a `WorkingSet` has."""
    return dict.fromkeys(WorkingSet.__annotations__, rows) | {"U": rows * rows}


def solve_program(program: QuadraticProgram, working: WorkingSet) -> int:
    """Put the solution into `program.z`, G z into `program.value`, its multipliers into `program.y`; how it ended."""
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
    """Whether a point keeps all bounds; never where one is not a number."""
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
    """Of all rows. INFEASIBLE where the bounds of one contradict each other, BROKEN where one is not a number."""
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
    """The set of the multipliers that are given, without those of rows that depend on others of it."""
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
    """Steps of the multipliers until no row is violated."""
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
    """The largest e, by which rows of the set are beyond where their multipliers have them."""
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
    """By how much a row is beyond one of its bounds."""
    if side > 0.0:
        return program.value[r] - program.high[r]
    return program.low[r] - program.value[r]


def size(program: QuadraticProgram, working: WorkingSet, r: int, side: float, strength: float) -> float:
    """What a row is compared with: where nothing holds it, or where its bound is."""
    if side > 0.0:
        return strength + abs(program.high[r]) / working.length[r]
    return strength + abs(program.low[r]) / working.length[r]


def compliance(program: QuadraticProgram, working: WorkingSet, r: int) -> float:
    """How far a soft row goes beyond its bound per multiplier."""
    return 1.0 / (program.weight[program.rows + r] * working.length[r] * working.length[r])


def price(program: QuadraticProgram, working: WorkingSet, r: int) -> float:
    """The multiplier from which on a row gives way."""
    return program.weight[r] * working.length[r]


@called
def most_violated(program: QuadraticProgram, working: WorkingSet, strength: float) -> int:
    """The row outside the set that is farthest beyond a bound; -1 where none is. Rows that nothing moves are left."""
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
    """Part of the step that takes a multiplier to where its row leaves the set, gives way, or is held."""
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
    """p of e; what of e it leaves, because a row depends on others of the set."""
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
    """A row behind all others of the set, with a multiplier of zero."""
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
    """A row that is beyond a bound; how many the set has then."""
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
    """The set behind a step that ended at one of its rows: it leaves, gives way, or is held; how many are left."""
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
    """Take a row out of the set. Rows of the factor behind it take over what it explained of them: its column l with
    its pivot is added to theirs, L D L^T + d l l^T, by [GGMS74]."""
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
    """Solve; the table at the address holds a `QuadraticProgram` and its `WorkingSet`."""
    program, working = unpack(integers(address), QuadraticProgram, WorkingSet)
    return solve_program(program, working)
