"""The choice of steps: error measure, PI controller, first step. One definition for single runs, packs and CUDA.

Every function here is a sequence of expressions without branches, so that `compute.compiled_loops.translate` translates
it for one number and for lanes, and `compute.cuda.c_functions` writes it as CUDA.

E. Hairer, S. P. Nørsett, G. Wanner, Solving Ordinary Differential Equations I, II.4 [HNW]; the controller: E. Hairer,
G. Wanner, II, IV.2.
"""

from __future__ import annotations

import math

from pliant.compute.compiled_loops.primitives import exponent, floor, power_of_two, significand

SAFETY = 0.9
SHRINK, GROW = 0.2, 8.0
"""Least and largest ratio of a step to the one before."""
BROKEN = 0.1
"""The same ratio behind a step whose error is not a number."""
LEAST_ERROR, LEAST_MEMORY = 1e-10, 1e-4
"""Least errors of a step and of the step before it; smaller ones count as these."""
REACH = 1.01
"""A step ends on a break that lies within this multiple of its length."""
FIRST_ERROR = LEAST_MEMORY
"""The error before the first step."""
LEAST_FIRST = 1e-6
"""A first step where state or slope are next to nothing."""
TINY = 1e-14
"""A step below this fraction of the time is a breakdown."""
MOST_CLOSING = 8
"""Most evaluations that close the loops after a step; usually one does."""
NEARLY_CLOSED = 1e-6
"""Rad or m: a state that is moved by less has gaps of the third power of it, and speeds of the second."""
SINGULAR = 1e-11
"""Least part of the square of a constraint's row that the other rows leave; with less they depend on one another."""
FIXED_WIDTHS = 10.0
"""Widths that a fixed step may pass unseen: a quarter of the thinnest thing that can be met."""
NEARLY_CLOSED_SINGLE, SINGULAR_SINGLE = 1e-3, 1e-7
"""The same two limits in single precision, whose rounding is about 1e-7."""


def exponents(order: int) -> tuple[float, float]:
    """Exponents of the error and of the error before it, where the error of a step h goes with h^`order`."""
    beta = 0.2 / order
    return 1.0 / order - 0.75 * beta, beta


def power(x: float, y: float) -> float:
    """x^y to 1e-7 for x > 0 while |y log2(x)| < 1000, by sums and products alone: the same bits on every system."""
    half = significand(x) > 1.4142135623730951
    m = significand(x) * (0.5 if half else 1.0)
    s = (m - 1.0) / (m + 1.0)
    q = s * s
    series = 1.0 + q * (0.3333333333333333 + q * (0.2 + q * (0.14285714285714285 + q * 0.1111111111111111)))
    log = exponent(x) + (1.0 if half else 0.0) + 2.885390081777927 * s * series
    whole = floor(y * log + 0.5)
    f = (y * log - whole) * 0.6931471805599453
    taylor = 1.0 + f * (1.0 + f * (0.5 + f * (0.16666666666666666 + f * (0.041666666666666664 + f * (
        0.008333333333333333 + f * 0.001388888888888889)))))  # fmt: skip
    return taylor * power_of_two(whole)


def scaled(error: float, before: float, after: float, rtol: float, atol: float) -> float:
    """An error in units of the tolerance, which follows from two values of its coordinate."""
    return abs(error) / (atol + rtol * max(abs(before), abs(after)))


def step_ratio(error: float, previous: float, again: bool, alpha: float, beta: float) -> float:
    """Ratio of the next step to this one. An error above 1 refuses the step; behind a refusal a step does not grow."""
    bounded = min(max(LEAST_ERROR, error), 1e10)  # a number, even where the error is none
    factor = SAFETY * power(bounded, -alpha)
    refused = max(SHRINK, factor) if math.isfinite(error) else BROKEN
    grown = min(1.0 if again else GROW, max(SHRINK, factor * power(previous, beta)))
    return grown if error <= 1.0 else refused


def next_step(step: float, planned: float, ratio: float) -> float:
    """The next step to propose; a step that a break cut short does not shrink the proposal."""
    cut = step < 0.98 * planned and ratio > 0.99
    return max(step * ratio, planned) if cut else step * ratio


def reach(gap: float, speed: float) -> float:
    """The longest step towards a gap at a speed, both in widths: to its far side, and one width into it."""
    return (abs(gap) + 1.0) / speed


def leaps(before: float, after: float, speed: float, step: float, widths: float) -> bool:
    """Whether a step between two values of a gap may leap over more than `widths`. A step that stays on the far side
    does not, nor one where a value is not a number."""
    return max(before, after) >= 0.0 and speed * step > abs(before) + abs(after) + widths


def first_step(state: float, slope: float) -> float:
    """First step from the sizes of state and slope in units of the tolerance: a hundredth of the time in which the
    slope makes up the state, [HNW] II.4."""
    return LEAST_FIRST if min(state, slope) < 1e-5 else 0.01 * state / slope
