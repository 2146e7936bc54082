"""Operation counts that Korayem & Shafei print for forming I(Theta) and Re of a flexible arm: [KS09] Tables 1 and 2.

`n` links of which `n_f` are flexible, each with `m` modes; revolute joints, full rotations, symmetric inertia matrix.
The counts are those of forming the equations, Steps 1-10 (for Book's method the same). They do not include the solution
of the linear system, sines and cosines, and modal integrals. Structural zeros of a particular arm are not used.

Notes
-----
Table 1 prints the last term of Step 10 as 42 m^2 m^2; it is 42 m^2 n_f^2, without which the steps do not add up to
Table 2. The first column of examples in Table 2 is headed m = 3, but its four numbers are those of m = 2; "2134M" there
is a number of sums.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Operations:
    """Published additions and multiplications."""

    sums: float
    products: float


QUOTED = {
    ("book", 6, 6, 2): Operations(24569, 25251),
    ("gibbs-appell", 6, 6, 2): Operations(18332, 19557),
    ("book", 3, 2, 2): Operations(4851, 4922),
    ("gibbs-appell", 3, 2, 2): Operations(2134, 2706),
}
"""The eight numbers of Table 2 by method, n, n_f and the m that they belong to."""


def gibbs_appell(n: int, n_f: int, m: int) -> Operations:
    """[KS09]'s own method, Table 2."""
    sums = (
        6 * m - 553 * n - 49.5 * m * n_f + 351 * n**2 + 18 * m**2 + 53.5 * m**2 * n_f**2
        + 52.5 * m * n_f**2 - 89.5 * m**2 * n_f + 188
    )  # fmt: skip
    products = (
        -15 * m - 790.5 * n + 6 * m * n_f + 475.5 * n**2 + 18 * m**2 + 42 * m**2 * n_f**2
        + 30 * m * n_f**2 - 60 * m**2 * n_f + 300
    )  # fmt: skip
    return Operations(sums, products)


def book(n: int, n_f: int, m: int) -> Operations:
    """Book's recursive Lagrangian method as counted by [KS09], Table 2."""
    sums = (
        329 * n + 115.5 * m * n_f**2 + 19 * m**2 * n_f + 123 * m * n_f + 85 * n**2 + 68 * n * n_f * m
        + 6.5 * m**2 * n_f**2 - 91 + 80 * n * n_f + 111 * n_f
    )  # fmt: skip
    products = (
        279 * n + 118 * m * n_f**2 + 17.5 * m**2 * n_f + 137.5 * m * n_f + 84 * n**2 + 74 * n * n_f * m
        + 6 * m**2 * n_f**2 - 57 + 86 * n * n_f + 126 * n_f
    )  # fmt: skip
    return Operations(sums, products)


def products_by_step(n: int, n_f: int, m: int) -> dict[int, float]:
    """Multiplications of each of the ten steps, Table 1; Steps 1-6 give Re, Steps 7-10 the inertia matrix."""
    return {
        1: 15 * n - 15,
        2: 60 * n - 60,
        3: 66 * n - 27,
        4: 24 * n - 24,
        5: 21 * n_f * m,
        6: 15 * m * n_f - 15 * m,
        7: 13.5 * n**2 - 40.5 * n + 27,
        8: 4.5 * n**2 - 13.5 * n + 9,
        9: 390 - 901.5 * n + 457.5 * n**2,
        10: 30 * m * n_f**2 - 30 * m * n_f - 60 * m**2 * n_f + 18 * m**2 + 42 * m**2 * n_f**2,
    }
