"""Operation counts of rigid forward dynamics that Mohan & Saha print: the fifteen steps and Table 1 of [MS07].

The counts are those of the accelerations of an arm of `n` revolute joints and general Denavit-Hartenberg geometry from
given right-hand side forces, divisions as multiplications. They do not include the forces phi themselves (velocity and
gravity terms come from some inverse dynamics), payloads and hubs. Mohan & Saha take links as bent slender rods, the
others as general bodies.

Notes
-----
Step 3 prints C5 = rho a^2 b; it is rho a^2 b / 2. The crossovers n* and n+ of Table 1 do not follow from its formulas
throughout: Brandle's n* = 14 would be 3278 < 3201 multiplications and is 15; no single reading of "both
multiplications and additions" gives all of 12, 14, 14, 15, 16: the total gives 11, 12, 13, 14, 16. For six links the
O(n^3) method is the cheapest of all.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from pliant.mechanics.formulations.published.korayem_shafei import Operations


@dataclass(frozen=True)
class LinkStep:
    """A step of the algorithm: counts per link, per link but one, and once."""

    number: int
    what: str
    each: tuple[int, int] = (0, 0)
    each_but_one: tuple[int, int] = (0, 0)
    once: tuple[int, int] = (0, 0)

    def operations(self, n: int) -> Operations:
        """Its operations for `n` links."""
        products, sums = (
            n * a + (n - 1) * b + c for a, b, c in zip(self.each, self.each_but_one, self.once, strict=True)
        )
        return Operations(sums, products)


STEPS = (
    LinkStep(1, "vectors a_i in two frames", each=(4, 0)),
    LinkStep(2, "rotations Q_i", each=(4, 0)),
    LinkStep(3, "mass matrices M_i", each=(9, 2)),
    LinkStep(4, "forces phi, the difference only", each=(0, 1)),
    LinkStep(5, "articulated M-hat_i", each_but_one=(80, 91)),
    LinkStep(6, "psi-hat_i"),
    LinkStep(7, "m-hat_i"),
    LinkStep(8, "psi_i", each=(5, 0)),
    LinkStep(9, "M-bar_i", each_but_one=(16, 18), once=(16, 14)),
    LinkStep(10, "phi-hat_i", each_but_one=(14, 8)),
    LinkStep(11, "eta_i", each_but_one=(14, 10), once=(6, 0)),
    LinkStep(12, "phi-tilde_i", each=(1, 0)),
    LinkStep(13, "accelerations", each_but_one=(4, 6)),
    LinkStep(14, "mu-tilde_i", each_but_one=(22, 14)),
    LinkStep(15, "mu_i"),
)
"""The fifteen steps as printed: (multiplications, additions)."""


def trigonometric(n: int) -> int:
    """Sines and cosines: 2 n, step 1."""
    return 2 * n


def proposed(n: int) -> Operations:
    """Sum of the steps: (173 n - 128) M, (150 n - 133) A."""
    counts = [step.operations(n) for step in STEPS]
    return Operations(sum(c.sums for c in counts), sum(c.products for c in counts))


def saha(n: int) -> Operations:
    """Saha's DeNOC forward dynamics of general rigid links."""
    return Operations(187 * n - 325, 191 * n - 284)


def featherstone(n: int) -> Operations:
    """Featherstone's articulated bodies."""
    return Operations(174 * n - 173, 199 * n - 198)


def valasek(n: int) -> Operations:
    """Valasek, as quoted by [MS07]."""
    return Operations(206 * n - 345, 226 * n - 343)


def brandle(n: int) -> Operations:
    """Brandle, Johanni and Otter, as quoted by [MS07]."""
    return Operations(220 * n - 198, 250 * n - 222)


def walker_orin(n: int) -> Operations:
    """Walker and Orin's composite bodies as implemented by Featherstone, O(n^3)."""
    products = Fraction(n**3, 6) + Fraction(23, 2) * n**2 + Fraction(115, 3) * n - 47
    sums = Fraction(n**3, 6) + 7 * n**2 + Fraction(233, 6) * n - 46
    return Operations(float(sums), float(products))


METHODS: dict[str, Callable[[int], Operations]] = {
    "Mohan-Saha": proposed,
    "Saha": saha,
    "Featherstone": featherstone,
    "Valasek": valasek,
    "Brandle": brandle,
    "Walker-Orin": walker_orin,
}
"""Table 1 by name, in its order."""


@dataclass(frozen=True)
class PrintedRow:
    """Row of Table 1: crossovers in multiplications (`n_star`) and in both (`n_plus`), and the counts there."""

    n_star: int
    products_star: int
    n_plus: int
    products_plus: int
    sums_plus: int


PRINTED = {
    "Mohan-Saha": PrintedRow(10, 1602, 12, 1948, 1667),
    "Saha": PrintedRow(10, 1626, 14, 2390, 2293),
    "Featherstone": PrintedRow(12, 2190, 14, 2588, 2263),
    "Valasek": PrintedRow(13, 2595, 15, 3047, 2745),
    "Brandle": PrintedRow(14, 3278, 16, 3778, 3322),
    "Walker-Orin": PrintedRow(10, 1653, 12, 2357, 1716),
}
"""Numbers that Table 1 prints beside the formulas."""


TABLE_3 = {
    "recursive": (5.4, 5.6, 5.4, 5.4, 5.4, 5.4),
    "non-recursive": (5.1, 5.1, 4.8, 5.1, 5.1, 4.8),
}
"""Acceptable durations (s) of the forced PUMA, joint by joint."""


def crossover(method: str, criterion: Callable[[Operations, Operations], bool]) -> int:
    """Smallest number of links from which on the method beats Walker-Orin by a criterion of (its, theirs)."""
    last_loss = max(n for n in range(1, 100) if not criterion(METHODS[method](n), walker_orin(n)))
    return last_loss + 1


def fewer_products(mine: Operations, theirs: Operations) -> bool:
    """The criterion of n*."""
    return mine.products < theirs.products


def fewer_in_total(mine: Operations, theirs: Operations) -> bool:
    """One reading of n+: multiplications and additions together."""
    return mine.products + mine.sums < theirs.products + theirs.sums


def fewer_of_each(mine: Operations, theirs: Operations) -> bool:
    """The other reading of n+: fewer multiplications and fewer additions."""
    return mine.products < theirs.products and mine.sums < theirs.sums


def rod_constants(rho: float, a: float, b: float) -> tuple[float, float, float, float, float]:
    """C1 ... C5 of step 3 for a rod of `rho` per length bent once: `b` along z_i, then `a` along x_{i+1}."""
    return -rho * b * (b / 2 + a), -rho * a**2 / 2, rho * b**2 * (b / 3 + a), rho * a**3 / 3, rho * a**2 * b / 2


def rod_mass_matrix(rho: float, a: float, b: float, theta: float, printed: bool = False) -> np.ndarray:
    """(6, 6) M_i of step 3 in frame i, twists [linear; angular] as in the paper, without payload and hub.

    `printed` takes C5 = rho a^2 b.
    """
    C1, C2, C3, C4, C5 = rod_constants(rho, a, b)
    C5 = rho * a**2 * b if printed else C5
    c, s = np.cos(theta), np.sin(theta)
    z = np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
    x = np.array([[0.0, 0.0, s], [0.0, 0.0, -c], [-s, c, 0.0]])
    M_vw = C1 * z + C2 * x
    M_ww = C3 * z.T @ z + C4 * x.T @ x + C5 * (z.T @ x + x.T @ z)
    return np.block([[rho * (a + b) * np.eye(3), M_vw], [M_vw.T, M_ww]])
