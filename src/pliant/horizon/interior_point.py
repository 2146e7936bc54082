"""Projections onto bounded sets by a primal-dual interior point method, in place and without any allocation.

    minimise 1/2 z^T z + g^T z + sum_r (w_r s_r + 1/2 W_r s_r^2)
    with     low <= G z <= high, and by s_r >= 0 less where row r is soft.

Any convex quadratic program is one of these in other variables; those of a horizon come with them (`receding`). Rows of
early nodes end early. Slacks and multipliers are eliminated row by row, which leaves 1 + G^T D G of n unknowns for each
step; steps are Mehrotra's predictor and corrector [Meh92]. Rows are scaled to length one and the gradient to largest
entry one, so that one start and one tolerance serve all problems. Where nothing binds, -g is the solution.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from pliant.horizon.dense import add_row, add_rows, cholesky, cholesky_solve, dot, fill, largest
from pliant.kernels.primitives import Doubles, Integers, integers, shift, unpack

GAP, FEASIBLE, STATIONARY = 1e-12, 1e-10, 1e-8
"""Mean product of slacks and multipliers, largest violated row, and largest slope over the largest multiplier, at which
a solution is one, all scaled. Products are not counted in multipliers: the price of one violated row would say how well
all others are solved. None is aimed at below a tenth."""
NEARLY = 1e-6
"""The same for an end at which steps no longer help: all three below it are a solution, violated rows above it none."""
BACK = 0.995
"""Of the way to the nearest bound."""
SOLVED, LIMIT, INFEASIBLE, BROKEN = 0, 1, 2, 3


class QuadraticProgram(NamedTuple):
    """Sizes and numbers of a program: `rows` of G, each of `width` entries that count; their bounds, infinite where
    there are none; weights of slacks, infinite of hard rows, then those of their squares. The solution z, and `value`
    G z."""

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
    value: Doubles
    told: Doubles


class Sides(NamedTuple):
    """Memory: bounded sides of rows, of which there are at most two each, their slacks t to the bound and s
    beyond it, multipliers, and the changes of these; then what a step works with."""

    row: Integers
    sign: Doubles
    bound: Doubles
    w: Doubles
    W: Doubles
    t: Doubles
    lam: Doubles
    s: Doubles
    mu: Doubles
    dt: Doubles
    dlam: Doubles
    ds: Doubles
    dmu: Doubles
    e: Doubles
    length: Doubles
    M: Doubles
    z: Doubles
    g: Doubles
    dz: Doubles
    r: Doubles
    of_rows: Doubles


TOLD = 4
"""Numbers that a solution tells of itself: iterations, mean product, violated row, slope."""


def side_sizes(n: int, rows: int) -> dict[str, int]:
    """How many numbers each part of `Sides` has."""
    own = dict.fromkeys(list(Sides.__annotations__)[:14], 2 * rows)
    return own | {"length": rows, "M": n * n} | dict.fromkeys(("z", "g", "dz", "r"), n) | {"of_rows": rows}


def solve_program(program: QuadraticProgram, sides: Sides) -> int:
    """Put the solution into `program.z`, and G z into `program.value`; how it ended."""
    n = program.n
    fill(program.told, TOLD, 0.0)
    strength = largest(program.g, n)
    if not math.isfinite(strength):
        return BROKEN
    for i in range(n):
        program.z[i] = -program.g[i]
    products(program, program.z, program.value)
    if is_inside(program):
        return SOLVED
    strength = size_of_solution(program, sides, strength)
    for i in range(n):
        sides.g[i] = program.g[i] / strength
    count = bounded_sides(program, sides, strength)
    status = iterate(program, sides, count)
    for i in range(n):
        program.z[i] = strength * sides.z[i]
    if not math.isfinite(largest(program.z, n)):
        return BROKEN
    products(program, program.z, program.value)
    return status


def is_inside(program: QuadraticProgram) -> bool:
    """Whether a solution without bounds keeps them all."""
    inside = True
    for r in range(program.rows):
        if program.value[r] < program.low[r] or program.value[r] > program.high[r]:
            inside = False
    return inside


def products(program: QuadraticProgram, z: Doubles, out: Doubles) -> None:
    """out = G z."""
    for r in range(program.rows):
        out[r] = dot(shift(program.G, r * program.n), z, program.width[r])


def add_transposed(program: QuadraticProgram, y: Doubles, out: Doubles) -> None:
    """out += G^T y."""
    for r in range(program.rows):
        if y[r] != 0.0:
            add_row(out, y[r], shift(program.G, r * program.n), program.width[r])


# ---------------------------------------------------------------------------------------------------------- a start


def size_of_solution(program: QuadraticProgram, sides: Sides, strength: float) -> float:
    """What z is counted in: the largest slope, or the farthest that a violated row asks for. Finds lengths of rows."""
    for r in range(program.rows):
        row = shift(program.G, r * program.n)
        sides.length[r] = math.sqrt(dot(row, row, program.width[r]))
        asked = max(program.low[r], -program.high[r])
        if asked > strength * sides.length[r] and sides.length[r] > 0.0:
            strength = asked / sides.length[r]
    return strength


def bounded_sides(program: QuadraticProgram, sides: Sides, strength: float) -> int:
    """List the sides of rows that have a bound, with a start inside: how many they are. Rows that nothing moves are
    left out."""
    count = 0
    for r in range(program.rows):
        unit = sides.length[r] * strength
        if unit > 0.0:
            for side in range(2):
                sign = 1.0 - 2.0 * side
                bound = program.high[r]
                if side == 1:
                    bound = -program.low[r]
                if bound < math.inf:
                    sides.row[count] = r
                    sides.sign[count] = sign
                    sides.bound[count] = bound / unit
                    sides.w[count] = program.weight[r] * sides.length[r] / strength
                    sides.W[count] = program.weight[program.rows + r] * sides.length[r] * sides.length[r]
                    start_side(sides, count)
                    count += 1
    return count


def start_side(sides: Sides, k: int) -> None:
    """Slacks and multipliers at z = 0, all products equal."""
    sides.t[k] = max(sides.bound[k], 1.0)
    sides.lam[k] = 1.0 / sides.t[k]
    sides.s[k] = 0.0
    sides.mu[k] = 0.0
    if sides.w[k] < math.inf:
        sides.lam[k] = min(sides.lam[k], 0.5 * sides.w[k])
        product = sides.lam[k] * sides.t[k]
        sides.s[k] = product / sides.w[k]
        sides.mu[k] = sides.w[k] + sides.W[k] * sides.s[k] - sides.lam[k]


# ------------------------------------------------------------------------------------------------------ iterations


def iterate(program: QuadraticProgram, sides: Sides, count: int) -> int:
    """Predictor and corrector until all products are small."""
    n = program.n
    fill(sides.z, n, 0.0)
    status = LIMIT
    for k in range(program.iterations):
        gap = residuals(program, sides, count)
        program.told[0] = k
        if not math.isfinite(program.told[1] + program.told[2] + program.told[3]):
            return BROKEN
        if program.told[1] <= GAP and program.told[2] <= FEASIBLE and program.told[3] <= STATIONARY:
            return SOLVED
        matrix(program, sides, count)
        cholesky(sides.M, n)
        direction(program, sides, count, 0.0, False)
        share = reach(sides, count, 1.0)
        ahead = mean_product(sides, count, share) / gap
        direction(
            program,
            sides,
            count,
            max(gap * ahead * ahead * ahead, 0.1 * GAP * gap / max(program.told[1], 1e-300)),
            True,
        )
        share = min(1.0, BACK * reach(sides, count, 2.0))
        if share < 1e-9:
            break
        advance(program, sides, count, share)
    residuals(program, sides, count)
    if max(program.told[1], max(program.told[2], program.told[3])) <= NEARLY:
        return SOLVED
    if program.told[2] > NEARLY:
        status = INFEASIBLE
    return status


def residuals(program: QuadraticProgram, sides: Sides, count: int) -> float:
    """Slopes r = z + g + G^T lambda, how rows miss in e, and the mean product of slacks and multipliers."""
    n = program.n
    for i in range(n):
        sides.r[i] = sides.z[i] + sides.g[i]
    row_sums(program, sides, count, False)
    add_transposed(program, sides.of_rows, sides.r)
    values(program, sides, sides.z)
    missed = 0.0
    most = 1.0
    total = 0.0
    pairs = 0
    for k in range(count):
        sides.e[k] = sides.sign[k] * sides.of_rows[sides.row[k]] + sides.t[k] - sides.s[k] - sides.bound[k]
        missed = max(missed, abs(sides.e[k]) / (1.0 + abs(sides.bound[k])))
        most = max(most, sides.lam[k])
        total += sides.lam[k] * sides.t[k]
        pairs += 1
        if sides.w[k] < math.inf:
            total += sides.mu[k] * sides.s[k]
            pairs += 1
    gap = total / max(pairs, 1)
    program.told[1] = gap
    program.told[2] = missed
    program.told[3] = largest(sides.r, n) / most
    return gap


def row_sums(program: QuadraticProgram, sides: Sides, count: int, weighed: bool) -> None:
    """Multipliers of both sides of each row; or D e of both."""
    fill(sides.of_rows, program.rows, 0.0)
    for k in range(count):
        r = sides.row[k]
        y = sides.lam[k]
        if weighed:
            y = stiffness(sides, k) * sides.dlam[k]
        sides.of_rows[r] += sides.sign[k] * y / sides.length[r]


def values(program: QuadraticProgram, sides: Sides, z: Doubles) -> None:
    """Scaled G z by rows."""
    products(program, z, sides.of_rows)
    for r in range(program.rows):
        if sides.length[r] > 0.0:
            sides.of_rows[r] /= sides.length[r]


def stiffness(sides: Sides, k: int) -> float:
    """D of a side: what its multiplier grows by per violation."""
    soft = 0.0
    if sides.w[k] < math.inf:
        soft = sides.s[k] / (sides.mu[k] + sides.W[k] * sides.s[k])
    return 1.0 / (sides.t[k] / sides.lam[k] + soft)


def matrix(program: QuadraticProgram, sides: Sides, count: int) -> None:
    """M = 1 + G^T D G, its upper triangle."""
    n = program.n
    D = sides.of_rows
    fill(D, program.rows, 0.0)
    for k in range(count):
        D[sides.row[k]] += stiffness(sides, k) / (sides.length[sides.row[k]] * sides.length[sides.row[k]])
    fill(sides.M, n * n, 0.0)
    for i in range(n):
        sides.M[i * n + i] = 1.0
    add_weighted_rows(program, sides.M, D)


def add_weighted_rows(program: QuadraticProgram, M: Doubles, D: Doubles) -> None:
    """M += G^T D G, its upper triangle, four rows of G at a time."""
    n = program.n
    r = 0
    while r + 4 <= program.rows:
        G = shift(program.G, r * n)
        width = max(max(program.width[r], program.width[r + 1]), max(program.width[r + 2], program.width[r + 3]))
        if D[r] + D[r + 1] + D[r + 2] + D[r + 3] > 0.0:
            for i in range(width):
                add_rows(
                    shift(M, i * n + i), D[r] * G[i], D[r + 1] * G[n + i], D[r + 2] * G[2 * n + i],
                    D[r + 3] * G[3 * n + i], shift(G, i), n, width - i,
                )  # fmt: skip
        r += 4
    while r < program.rows:
        G = shift(program.G, r * n)
        for i in range(program.width[r]):
            add_row(shift(M, i * n + i), D[r] * G[i], shift(G, i), program.width[r] - i)
        r += 1


def direction(program: QuadraticProgram, sides: Sides, count: int, target: float, corrected: bool) -> None:
    """The step towards products of size `target`; a corrected one takes those of the last step into account."""
    n = program.n
    for k in range(count):
        aim = target
        beyond = target
        if corrected:
            aim -= sides.dt[k] * sides.dlam[k]
            beyond -= sides.ds[k] * sides.dmu[k]
        sides.dt[k] = aim / sides.lam[k] - sides.t[k]
        soft = 0.0
        if sides.w[k] < math.inf:
            soft = (beyond - sides.mu[k] * sides.s[k]) / (sides.mu[k] + sides.W[k] * sides.s[k])
        sides.ds[k] = soft
        sides.dlam[k] = sides.e[k] + sides.dt[k] - soft
    row_sums(program, sides, count, True)
    for i in range(n):
        sides.dz[i] = sides.r[i]
    add_transposed(program, sides.of_rows, sides.dz)
    for i in range(n):
        sides.dz[i] = -sides.dz[i]
    cholesky_solve(sides.M, n, sides.dz)
    values(program, sides, sides.dz)
    for k in range(count):
        change = stiffness(sides, k) * (sides.sign[k] * sides.of_rows[sides.row[k]] + sides.dlam[k])
        sides.dlam[k] = change
        sides.dt[k] -= sides.t[k] / sides.lam[k] * change
        sides.dmu[k] = 0.0
        if sides.w[k] < math.inf:
            sides.ds[k] += sides.s[k] / (sides.mu[k] + sides.W[k] * sides.s[k]) * change
            sides.dmu[k] = sides.W[k] * sides.ds[k] - change


def reach(sides: Sides, count: int, most: float) -> float:
    """Part of the step, `most` at most, that keeps all slacks and multipliers positive."""
    share = most
    for k in range(count):
        share = min(share, kept(sides.t[k], sides.dt[k], share))
        share = min(share, kept(sides.lam[k], sides.dlam[k], share))
        if sides.w[k] < math.inf:
            share = min(share, kept(sides.s[k], sides.ds[k], share))
            share = min(share, kept(sides.mu[k], sides.dmu[k], share))
    return share


def kept(x: float, dx: float, share: float) -> float:
    """Part of a change that takes a positive number to zero; the given one where it stays positive."""
    if x + share * dx < 0.0:
        return -x / dx
    return share


def mean_product(sides: Sides, count: int, share: float) -> float:
    """Of slacks and multipliers behind a part of the step."""
    total = 0.0
    pairs = 0
    for k in range(count):
        total += (sides.lam[k] + share * sides.dlam[k]) * (sides.t[k] + share * sides.dt[k])
        pairs += 1
        if sides.w[k] < math.inf:
            total += (sides.mu[k] + share * sides.dmu[k]) * (sides.s[k] + share * sides.ds[k])
            pairs += 1
    return total / max(pairs, 1)


def advance(program: QuadraticProgram, sides: Sides, count: int, share: float) -> None:
    """Take a part of the step."""
    add_row(sides.z, share, sides.dz, program.n)
    add_row(sides.t, share, sides.dt, count)
    add_row(sides.lam, share, sides.dlam, count)
    add_row(sides.s, share, sides.ds, count)
    add_row(sides.mu, share, sides.dmu, count)


def run_program(address: int) -> int:
    """Solve; the table at the address holds a `QuadraticProgram` and its `Sides`."""
    program, sides = unpack(integers(address), QuadraticProgram, Sides)
    return solve_program(program, sides)
