"""The inertia matrix I(Theta) of [KS09], Steps 7-10: compound rotations, sums over all links beyond, their assembly.

For the joint (or the deflection) of link j and of link k the paper sums the links i that both move. `X[j, k]` is the
matrix j_X_k, which takes vectors in the axes of link k to the axes of link j:

    sigma  = sum R B_9 R                        i >= max(k, j)          (76)
    xi     = sum R B_3 R                        i >= max(k, j)
    psi    = sum r~ R B_3 R                     i >= max(k, j + 1)      (77)
    lambda = sum M R                            i > max(k, j)           (93)
    gamma  = sum r~ M R                         i > max(k, j)           (79)
    U      = sum (gamma_t + xi_t+) r~_t R       t >= k                  (78)
    V      = sum lambda_t r~_t R                t > k                   (88)

A `+` behind k (before j) means that only links beyond k (beyond j) count, which is one more rotation:
X_k+ = X_{k+1} k+1_R_k and j+_X = j_R_{j+1} j+1_X. Both are linear, so they are applied once to Phi = sigma - psi - U
and to Gamma = gamma + xi_+, the only combinations that enter the matrix. Blocks below the diagonal follow by symmetry.

Notes
-----
The first printed interchange of sums should read sum_{i>=j} sum_{k<=i} = sum_k sum_{i>=max(k,j)}. (85) is garbled;
Step 10 is used, with its first bracket closed behind the theta_kt term. Step 8 runs over i = 2...n-1, j = i-1...1.
lambda is formed by (93), mass times compound rotation, for less than its recursion costs. Link 0 is the base; it counts
only where a prismatic first joint gives it a deflection variable.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass

import casadi as ca

from pliant.algebra.rotations import SX, skew
from pliant.mechanics.formulations.gibbs_appell_links import GibbsAppellLink

Table = defaultdict[tuple[int, int], SX]
"""Matrices j_X_k by (j, k); what has no links to sum is zero."""


@dataclass(frozen=True)
class Sums:
    """Tables that Step 10 reads: `R`, `r` of Steps 7, 8 and the sums of Step 9."""

    R: Table
    r: Table
    xi: Table
    lam: Table
    Phi: Table
    Gamma: Table
    V: Table


def inertia_matrix(links: list[GibbsAppellLink], size: int) -> SX:
    """(size, size) inertia matrix of the whole system: Step 10, with blocks below the diagonal from symmetry."""
    sums = compound_sums(links)
    Y = _moments_of_deflections(links, sums)
    I = ca.SX(size, size)
    for j, row in enumerate(links):
        for k, column in enumerate(links):
            if row.joint is not None and column.joint is not None and j <= k:
                _put(I, [row.joint], [column.joint], ca.mtimes([row.z.T, sums.Phi[j, k], column.z]))  # (75)
            if row.joint is not None and column.indices:
                _put(I, [row.joint], list(column.indices), ca.mtimes(row.z.T, Y[j, k]))  # (81)
            if row.indices and column.indices and j <= k:
                _put(I, list(row.indices), list(column.indices), _deflection_block(links, sums, Y, j, k))
    return ca.densify(I)


def compound_sums(links: list[GibbsAppellLink]) -> Sums:
    """Sums of Steps 7-9."""
    n, first = len(links) - 1, 0 if links[0].indices else 1
    R = _compound_rotations(links, first)
    r = _compound_positions(links, R, first)
    sigma = _outer_sums([link.integrals.B_9 for link in links], R, first, _symmetric)
    xi = _outer_sums([link.integrals.B_3 for link in links], R, first, _skew_symmetric)
    psi = _psi(links, R, r, xi, first)
    lam = _lambda(links, R, first)
    gamma = _gamma(links, R, r, lam, first)
    Gamma, U, V, Phi = _table(), _table(), _table(), _table()
    for j in range(first, n + 1):
        for k in range(n - 1, first - 1, -1):
            Gamma[j, k] = gamma[j, k] + ca.mtimes(xi[j, k + 1], R[k + 1, k])
            U[j, k] = ca.mtimes(Gamma[j, k], skew(links[k].r)) + ca.mtimes(U[j, k + 1], R[k + 1, k])
        for k in range(n - 2, first - 1, -1):
            inner = ca.mtimes(lam[j, k + 1], skew(links[k + 1].r)) + V[j, k + 1]
            V[j, k] = ca.mtimes(inner, R[k + 1, k])
        for k in range(first, n + 1):
            Phi[j, k] = sigma[j, k] - psi[j, k] - U[j, k]
    return Sums(R, r, xi, lam, Phi, Gamma, V)


# -------------------------------------------------------------------------------------------------------- Steps 7 and 8


def _compound_rotations(links: list[GibbsAppellLink], first: int) -> Table:
    """Step 7: j_R_k for every pair of links."""
    n, R = len(links) - 1, _table()
    for j in range(first, n + 1):
        R[j, j] = ca.SX.eye(3)
        for k in range(j + 1, n + 1):
            R[j, k] = ca.mtimes(R[j, k - 1], links[k].R.matrix)
            R[k, j] = R[j, k].T
    return R


def _compound_positions(links: list[GibbsAppellLink], R: Table, first: int) -> Table:
    """Step 8: `r[i, j]` from O_i to O_j in the axes of link i, j > i."""
    n, step, r = len(links) - 1, _table(), _table()
    for i in range(first, n):
        step[i, i] = links[i].r
        for j in range(i - 1, first - 1, -1):
            step[j, i] = ca.mtimes(R[j, j + 1], step[j + 1, i])
    for i in range(first, n):
        r[i, i + 1] = step[i, i]
        for j in range(i + 2, n + 1):
            r[i, j] = r[i, j - 1] + step[i, j - 1]
    return r


# --------------------------------------------------------------------------------------------------------------- Step 9


def _outer_sums(B: list[SX], R: Table, first: int, mirrored: Callable[[SX], tuple[SX, int]]) -> Table:
    """sigma (76) from B_9 and xi from B_3; the lower half by symmetry, or by antisymmetry for B_3."""
    n, X = len(B) - 1, _table()
    for k in range(n, first - 1, -1):
        X[k, k], sign = mirrored(B[k] + ca.mtimes(X[k, k + 1], R[k + 1, k]))
        for j in range(k - 1, first - 1, -1):
            X[j, k] = ca.mtimes(R[j, j + 1], X[j + 1, k])
            X[k, j] = sign * X[j, k].T
    return X


def _psi(links: list[GibbsAppellLink], R: Table, r: Table, xi: Table, first: int) -> Table:
    """psi (77)."""
    n, psi = len(links) - 1, _table()
    for j in range(n - 1, first - 1, -1):
        psi[j, n] = ca.mtimes(skew(r[j, n]), xi[j, n])
        for k in range(n - 1, first - 1, -1):
            psi[j, k] = ca.mtimes(psi[j, k + 1], R[k + 1, k])
            if k > j:
                psi[j, k] += ca.mtimes([skew(r[j, k]), R[j, k], links[k].integrals.B_3])
    return psi


def _lambda(links: list[GibbsAppellLink], R: Table, first: int) -> Table:
    """lambda (93): the mass beyond both links times their compound rotation."""
    n, lam = len(links) - 1, _table()
    mass = ca.SX(1, 1)
    for k in range(n - 1, first - 1, -1):
        mass = mass + links[k + 1].integrals.M
        lam[k, k] = mass * ca.SX.eye(3)
        for j in range(k - 1, first - 1, -1):
            lam[j, k] = mass * R[j, k]
            lam[k, j] = lam[j, k].T
    return lam


def _gamma(links: list[GibbsAppellLink], R: Table, r: Table, lam: Table, first: int) -> Table:
    """gamma (79)."""
    n, gamma = len(links) - 1, _table()
    for j in range(n - 1, first - 1, -1):
        gamma[j, n - 1] = ca.mtimes(skew(r[j, n]), lam[j, n - 1])
        for k in range(n - 2, first - 1, -1):
            gamma[j, k] = ca.mtimes(gamma[j, k + 1], R[k + 1, k])
            if k >= j:
                gamma[j, k] += ca.mtimes(skew(links[k + 1].integrals.M * r[j, k + 1]), R[j, k])
    return gamma


# -------------------------------------------------------------------------------------------------------------- Step 10


def _moments_of_deflections(links: list[GibbsAppellLink], s: Sums) -> Table:
    """`Y[j, k]` (3, m_k): moments about O_j of unit second derivatives of link k's deflections, brackets of (81)."""
    Y = _table()
    for k, column in enumerate(links):
        i = column.integrals
        for j in range(1, len(links) if column.indices else 1):
            Phi_plus = ca.mtimes(s.Phi[j, k + 1], s.R[k + 1, k])
            Y[j, k] = ca.mtimes(Phi_plus, column.theta_modes) + ca.mtimes(s.Gamma[j, k], column.r_modes)
            if k == j:
                Y[j, k] += i.alpha
            if k > j:
                Y[j, k] += ca.mtimes(s.R[j, k], i.alpha) + ca.mtimes(skew(s.r[j, k]), ca.mtimes(s.R[j, k], i.eps))
    return Y


def _deflection_block(links: list[GibbsAppellLink], s: Sums, Y: Table, j: int, k: int) -> SX:
    """(m_j, m_k) block of two links' deflections, j <= k: Step 10 in place of (85).

    The moment about O_{j+1} of all beyond link j is the bracket of (81) for j + 1, turned to the axes of link j.
    """
    row, column, R = links[j], links[k], s.R
    block = column.integrals.sC if k == j else ca.mtimes([row.r_modes.T, R[j, k], column.integrals.eps])
    if j + 1 < len(links):
        block += ca.mtimes(row.theta_modes.T, ca.mtimes(R[j, j + 1], Y[j + 1, k]))
    if k + 1 < len(links):
        xi_plus = ca.mtimes(R[j, j + 1], ca.mtimes(s.xi[j + 1, k + 1], R[k + 1, k]))  # (87)
        force = ca.mtimes(s.lam[j, k], column.r_modes) - ca.mtimes(s.V[j, k] + xi_plus, column.theta_modes)
        block += ca.mtimes(row.r_modes.T, force)
    return ca.triu2symm(ca.triu(block)) if k == j else block


# -------------------------------------------------------------------------------------------------------------- helpers


def _table() -> Table:
    return defaultdict(lambda: ca.SX(3, 3))


def _symmetric(A: SX) -> tuple[SX, int]:
    """The symmetric matrix with the upper triangle of `A`, and its sign under transposition."""
    return ca.triu2symm(ca.triu(A)), 1


def _skew_symmetric(A: SX) -> tuple[SX, int]:
    """The skew matrix with the upper triangle of `A`, and its sign under transposition."""
    return skew(ca.vertcat(-A[1, 2], A[0, 2], -A[0, 1])), -1


def _put(I: SX, rows: list[int], columns: list[int], block: SX) -> None:
    """Write a block and its mirror image."""
    I[rows, columns] = block
    I[columns, rows] = block.T
