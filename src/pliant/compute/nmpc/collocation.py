"""A step of the arm over an interval by Radau collocation, with its exact slopes.

The method is stiffly accurate: modes too fast for its steps settle, as damped ones do, and do not require short steps.

With stages a_i, the accelerations at times c_i h of a step,

    V_i = v + h sum_j A_ij a_j,   Q_i = q + h c_i v + h^2 sum_j (A^2)_ij a_j,   a_i = f(Q_i, V_i, tau),
    v' = v + h sum_i b_i a_i,     q' = q + h v + h^2 sum_i (b^T A)_i a_i.

Stages are unknowns of the whole problem beside states and torques. Each preparation takes one step of Newton's method
for them, from the last solution, and computes how they follow a change of x and tau [QGD18]. The factor that gives the
step gives the slopes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pliant.arrays import Array
from pliant.compute.compiled_loops.primitives import Doubles, call, called, shift
from pliant.compute.nmpc.dense import add_product, add_row, add_two, copy, dot, fill, largest, solve

RESTING = 1e-9
"""Relative change of the stages below which Newton's method stops."""


class Steps(NamedTuple):
    """Data for stepping an interval: sizes n of q and m of tau, stages of a step, steps of an interval, the address of
    the function of accelerations and their slopes; the tableau [c, b, b^T A, A, A^2]; memory."""

    n: int
    m: int
    stages: int
    steps: int
    slopes: int
    tableau: Doubles
    given: Doubles
    found: Doubles
    W: Doubles
    own: Doubles


def radau_tableau(stages: int) -> Array:
    """[c, b, b^T A, A, A^2] of the Radau IIA method, which has order 2 stages - 1 and damps modes that are too fast."""
    orders = np.arange(1, stages + 1)
    nodes = np.polynomial.legendre.legroots([0.0] * (stages - 1) + [1.0, -1.0])  # of P_(s-1) - P_s, the last is 1
    c = (np.sort(nodes.real) + 1) / 2
    powers = np.vander(c, stages, increasing=True)  # A integrates polynomials of degree below `stages` exactly
    A = (c[:, None] ** orders / orders) @ np.linalg.inv(powers)
    b = A[-1]
    return np.concatenate([c, b, b @ A, A.ravel(), (A @ A).ravel()])


def step_sizes(n: int, m: int, stages: int, parameters: int) -> dict[str, int]:
    """Number of entries of each part of the memory of `Steps`."""
    columns = 1 + 2 * n + m
    found = n + 2 * n * n + n * m + n * parameters
    size = {"given": 2 * n + m + parameters, "found": found, "W": stages * n * (stages * n + right_sides(n, m))}
    return size | {"own": 2 * n * columns}


def right_sides(n: int, m: int) -> int:
    """Columns beside the matrix of a step: defects of stages, slopes by its start and torques, and zeros up to a
    multiple of four, the length of a vector."""
    return 4 * int((1 + 2 * n + m + 3) / 4)


def kept_size(n: int, m: int, stages: int) -> int:
    """Numbers kept of a step: the change of its stages with their slopes, and the slopes of its end."""
    return stages * n * (1 + 2 * n + m) + 2 * n * (2 * n + m)


@called
def interval(
    steps: Steps, h: float, x: Doubles, tau: Doubles, a: Doubles, end: Doubles, F: Doubles, K: Doubles, rounds: int
) -> bool:  # fmt: skip
    """Compute the state at the end of an interval of steps h, its slopes F (2n, 2n + m) by x and tau, and the kept
    numbers K of each step. Newton's method moves the stages rounds - 1 times, from zero if `rounds` exceeds one; the
    last move is left to `follow`. False: a singular step."""
    n = steps.n
    columns = 2 * n + steps.m
    stride = kept(steps)
    sound = True
    copy(x, end, 2 * n)
    for k in range(steps.steps):
        own = shift(K, k * stride + steps.stages * n * (1 + columns))
        sound = (
            one_step(steps, h, end, tau, shift(a, k * steps.stages * n), own, shift(K, k * stride), rounds) and sound
        )
        if k == 0:
            copy(own, F, 2 * n * columns)
        else:  # x' = own_x x + own_tau tau, with x = F (x_0, tau)
            copy(F, steps.own, 2 * n * columns)
            fill(F, 2 * n * columns, 0.0)
            for i in range(2 * n):
                copy(shift(own, i * columns + 2 * n), shift(F, i * columns + 2 * n), steps.m)
            add_product(F, columns, 1.0, own, columns, 1, steps.own, columns, rows=2 * n, inner=2 * n, columns=columns)
    return sound


def kept(steps: Steps) -> int:
    """Numbers kept of a step, as `kept_size`."""
    n = steps.n
    return steps.stages * n * (1 + 2 * n + steps.m) + 2 * n * (2 * n + steps.m)


def one_step(
    steps: Steps, h: float, x: Doubles, tau: Doubles, a: Doubles, F: Doubles, K: Doubles, rounds: int
) -> bool:  # fmt: skip
    """Take x to the end of a step; compute its slopes F, and the change of the stages with its slopes K. False: the
    step is singular."""
    n = steps.n
    s = steps.stages
    size = s * n
    columns = 1 + 2 * n + steps.m
    width = size + right_sides(n, steps.m)
    sound = True
    if rounds > 1:
        fill(a, size, 0.0)
    for k in range(rounds):
        fill(steps.W, size * width, 0.0)
        for i in range(s):
            stage_rows(steps, h, x, tau, a, i)
        sound = solve(steps.W, width, size) and sound
        moved = 0.0
        for r in range(size):
            moved = max(moved, abs(steps.W[r * width + size]))
        if k + 1 == rounds or moved <= RESTING * (1.0 + largest(a, size)):
            break
        for r in range(size):
            a[r] += steps.W[r * width + size]
    for r in range(size):
        copy(shift(steps.W, r * width + size), shift(K, r * columns), columns)
    step_end(steps, h, x, a, F, K)
    return sound


def stage_rows(steps: Steps, h: float, x: Doubles, tau: Doubles, a: Doubles, i: int) -> None:
    """Write the rows of a stage: its matrix, the defect of its equation, and slopes by the start and torques."""
    n = steps.n
    s = steps.stages
    m = steps.m
    width = s * n + right_sides(n, m)
    c = steps.tableau[i]
    A = shift(steps.tableau, 3 * s + i * s)
    square = shift(steps.tableau, 3 * s + s * s + i * s)
    given = steps.given
    for k in range(n):
        given[k] = x[k] + h * c * x[n + k]
        given[n + k] = x[n + k]
    for j in range(s):
        add_row(given, h * h * square[j], shift(a, j * n), n)
        add_row(shift(given, n), h * A[j], shift(a, j * n), n)
    copy(tau, shift(given, 2 * n), m)
    call(steps.slopes, given, steps.found)
    by_q = shift(steps.found, n)
    by_v = shift(steps.found, n + n * n)
    by_tau = shift(steps.found, n + 2 * n * n)
    for r in range(n):
        row = shift(steps.W, (i * n + r) * width)
        for j in range(s):
            add_two(shift(row, j * n), -h * h * square[j], shift(by_q, r * n), -h * A[j], shift(by_v, r * n), n)
        row[i * n + r] += 1.0
        right = shift(row, s * n)
        right[0] = steps.found[r] - a[i * n + r]
        copy(shift(by_q, r * n), shift(right, 1), n)
        copy(shift(by_v, r * n), shift(right, 1 + n), n)
        add_row(shift(right, 1 + n), h * c, shift(by_q, r * n), n)
        copy(shift(by_tau, r * m), shift(right, 1 + 2 * n), m)


def step_end(steps: Steps, h: float, x: Doubles, a: Doubles, F: Doubles, K: Doubles) -> None:
    """Compute the end x' of a step and its slopes F, from the changed stages and their slopes K."""
    n = steps.n
    s = steps.stages
    columns = 2 * n + steps.m
    b = shift(steps.tableau, s)
    twice = shift(steps.tableau, 2 * s)
    fill(F, 2 * n * columns, 0.0)
    for k in range(n):
        F[k * columns + k] = 1.0
        F[k * columns + n + k] = h
        F[(n + k) * columns + n + k] = 1.0
        x[k] += h * x[n + k]
    for i in range(s):
        for k in range(n):
            row = shift(K, (i * n + k) * (1 + columns))
            acceleration = a[i * n + k] + row[0]
            x[k] += h * h * twice[i] * acceleration
            x[n + k] += h * b[i] * acceleration
            add_row(shift(F, k * columns), h * h * twice[i], shift(row, 1), columns)
            add_row(shift(F, (n + k) * columns), h * b[i], shift(row, 1), columns)


@called
def follow(steps: Steps, a: Doubles, K: Doubles, dx: Doubles, dtau: Doubles) -> None:
    """Change the stages of an interval by Newton's method and for a change (dx, dtau) of its start; dx becomes the
    change of its end."""
    n = steps.n
    columns = 2 * n + steps.m
    size = steps.stages * n
    stride = kept(steps)
    change = steps.own
    for k in range(steps.steps):
        own = shift(K, k * stride)
        F = shift(own, size * (1 + columns))
        copy(dx, change, 2 * n)
        copy(dtau, shift(change, 2 * n), steps.m)
        for r in range(size):
            row = shift(own, r * (1 + columns))
            a[k * size + r] += row[0] + dot(shift(row, 1), change, columns)
        for r in range(2 * n):
            dx[r] = dot(shift(F, r * columns), change, columns)
