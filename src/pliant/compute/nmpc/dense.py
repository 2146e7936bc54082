"""Dense matrices by rows, four at a time: products, triangular factors, solutions of linear systems.

A matrix is a pointer and the width of its whole rows. Inner loops run along rows, so that LLVM fills vector registers.
"""

from __future__ import annotations

import math

from pliant.compute.compiled_loops.primitives import Doubles, apart, called, reassociated, shift

TINY = 1e-14
"""A pivot below this part of its diagonal is round-off: its direction is left out."""
BLOCKED = 1e128


def copy(source: Doubles, target: Doubles, count: int) -> None:
    """Copy numbers from one place to another."""
    for j in range(count):
        target[j] = source[j]


def fill(target: Doubles, count: int, value: float) -> None:
    """Set all entries to one number."""
    for j in range(count):
        target[j] = value


@apart
@reassociated
def dot(x: Doubles, y: Doubles, count: int) -> float:
    """Sum of products."""
    total = 0.0
    for j in range(count):
        total += x[j] * y[j]
    return total


@apart
def add_row(c: Doubles, a: float, b: Doubles, count: int) -> None:
    """c += a b."""
    for j in range(count):
        c[j] += a * b[j]


@apart
def add_two(c: Doubles, a0: float, b0: Doubles, a1: float, b1: Doubles, count: int) -> None:
    """c += a0 b0 + a1 b1."""
    for j in range(count):
        c[j] += a0 * b0[j] + a1 * b1[j]


@apart
def add_rows(c: Doubles, a0: float, a1: float, a2: float, a3: float, b: Doubles, wb: int, count: int) -> None:
    """c += a0 b_0 + a1 b_1 + a2 b_2 + a3 b_3, rows of a matrix b."""
    b1 = shift(b, wb)
    b2 = shift(b, 2 * wb)
    b3 = shift(b, 3 * wb)
    for j in range(count):
        c[j] += (a0 * b[j] + a1 * b1[j]) + (a2 * b2[j] + a3 * b3[j])


def add_product(
    C: Doubles, wc: int, scale: float, A: Doubles, down: int, along: int, B: Doubles, wb: int, rows: int, inner: int,
    columns: int,
) -> None:  # fmt: skip
    """C += scale A B, with A[i, k] at A[i down + k along]: a matrix (width, 1) or its transpose (1, width)."""
    for i in range(rows):
        c = shift(C, i * wc)
        a = shift(A, i * down)
        k = 0
        while k + 4 <= inner:
            a0 = scale * a[k * along]
            a1 = scale * a[(k + 1) * along]
            a2 = scale * a[(k + 2) * along]
            a3 = scale * a[(k + 3) * along]
            if a0 != 0.0 or a1 != 0.0 or a2 != 0.0 or a3 != 0.0:
                add_rows(c, a0, a1, a2, a3, shift(B, k * wb), wb, columns)
            k += 4
        while k < inner:
            add_row(c, scale * a[k * along], shift(B, k * wb), columns)
            k += 1


@apart
def swap_rows(x: Doubles, y: Doubles, count: int) -> None:
    """Swap two rows."""
    for j in range(count):
        kept = x[j]
        x[j] = y[j]
        y[j] = kept


def pivot(W: Doubles, width: int, size: int, column: int) -> int:
    """Row at or below the diagonal with the largest entry in a column; -1 if all entries are zero."""
    best = column
    for i in range(column + 1, size):
        if abs(W[i * width + column]) > abs(W[best * width + column]):
            best = i
    if not abs(W[best * width + column]) > 0.0:
        return -1
    return best


def solve(W: Doubles, width: int, size: int) -> bool:
    """[M, R] -> [., M^-1 R] in place, by elimination with partial pivoting, four columns at a time. False: singular."""
    first = 0
    while first < size:
        stop = min(first + 4, size)
        if not eliminated_four(W, width, size, first):
            return False
        for k in range(first + 1, stop):  # the rest of the four rows
            for j in range(first, k):
                add_row(
                    shift(W, k * width + stop), -W[k * width + j], shift(W, j * width + stop), width - stop
                )  # fmt: skip
        if stop < size:
            add_product(
                shift(W, stop * width + stop), width, -1.0, shift(W, stop * width + first), width, 1,
                shift(W, first * width + stop), width, rows=size - stop, inner=stop - first, columns=width - stop,
            )  # fmt: skip
        first = stop
    right = shift(W, size)
    count = width - size
    for back in range(size):
        i = size - 1 - back
        row = shift(right, i * width)
        below = shift(right, (i + 1) * width)
        add_product(
            row, width, -1.0, shift(W, i * width + i + 1), width, 1, below, width, rows=1, inner=back, columns=count
        )
        ratio = 1.0 / W[i * width + i]
        for j in range(count):
            row[j] *= ratio
    return True


def eliminated_four(W: Doubles, width: int, size: int, first: int) -> bool:
    """Eliminate up to four columns, also within each other; False: a column has no pivot."""
    stop = min(first + 4, size)
    for k in range(first, stop):
        best = pivot(W, width, size, k)
        if best < 0:
            return False
        top = shift(W, k * width)
        if best != k:
            swap_rows(top, shift(W, best * width), width)
        ratio = 1.0 / top[k]
        for i in range(k + 1, size):
            W[i * width + k] *= ratio
        if stop == first + 4:
            columns_of_four(W, width, size, first, k)
        else:
            for i in range(k + 1, size):
                row = shift(W, i * width)
                for j in range(k + 1, stop):
                    row[j] -= row[k] * top[j]
    return True


@apart
def columns_of_four(W: Doubles, width: int, size: int, first: int, k: int) -> None:
    """Eliminate column k from the columns behind it among four, without a loop over so few."""
    top = shift(W, k * width + first)
    second = 0.0
    third = 0.0
    if k < first + 1:
        second = top[1]
    if k < first + 2:
        third = top[2]
    if k < first + 3:
        for i in range(k + 1, size):
            row = shift(W, i * width + first)
            factor = row[k - first]
            row[1] -= factor * second
            row[2] -= factor * third
            row[3] -= factor * top[3]


@called
def cholesky(M: Doubles, n: int) -> None:
    """Upper triangle M = U^T U in place; entries below it are not read. Directions without a pivot are left out."""
    first = 0
    while first < n:
        stop = min(first + 4, n)
        for r in range(first, stop):
            row = shift(M, r * n + r)
            whole = row[0]
            for p in range(first, r):
                add_row(row, -M[p * n + r], shift(M, p * n + r), n - r)
            d = row[0]
            root = BLOCKED
            if d > TINY * abs(whole):
                root = math.sqrt(d)
            row[0] = root
            ratio = 1.0 / root
            for j in range(1, n - r):
                row[j] *= ratio
        for i in range(stop, n):
            add_product(
                shift(M, i * n + i), n, -1.0, shift(M, first * n + i), 1, n, shift(M, first * n + i), n, rows=1,
                inner=stop - first, columns=n - i,
            )  # fmt: skip
        first = stop


def largest(x: Doubles, count: int) -> float:
    """The largest magnitude of all entries; NaN where one is not finite."""
    found = 0.0
    sound = True
    for j in range(count):
        found = max(found, abs(x[j]))
        sound = sound and abs(x[j]) < math.inf
    if not sound:
        return math.nan
    return found
