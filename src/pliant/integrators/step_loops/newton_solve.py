"""Linear algebra of I - a J, with the unknowns q' = v eliminated."""

from __future__ import annotations

from pliant.compute.compiled_loops.primitives import Doubles, reassociated, shift
from pliant.integrators.step_loops.loop_state import Newton, Ode, Tally


def factor(ode: Ode, newton: Newton, a: float) -> bool:
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
    ode.tally[Tally.LUS] += 1
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


@reassociated
def back_substitute(ode: Ode, newton: Newton, a: float, r: Doubles) -> None:
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
