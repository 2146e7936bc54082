"""The sum forms of [KS09] evaluated with numbers, one after another as printed, each known misprint on request.

Nothing here is recursive except the angular velocity (63). The scope is the paper's: revolute joints, no offsets,
deflections at rest (rates are free), so that E = 1 and thetad is the angular velocity of the tip.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import casadi as ca
import numpy as np

from pliant.mechanics.formulations.gibbs_appell_links import GibbsAppellLink, links_of
from pliant.mechanics.links.chain import Chain

MISPRINTS = ("44", "67", "69", "70", "102", "gravity")
"""Equation numbers; "67" has no base term at all, "gravity" has one of the wrong sign."""


def tilde(v: np.ndarray) -> np.ndarray:
    """Skew matrix."""
    return np.array([[0, -v[2], v[1]], [v[2], 0, -v[0]], [-v[1], v[0], 0]])


@dataclass(frozen=True)
class PrintedLink:
    """Numbers of one link in the paper's symbols; `c_vector` is c_jf (39), which equals alpha_jf at rest."""

    joint: int
    indices: tuple[int, ...]
    z: np.ndarray
    r: np.ndarray
    rd: np.ndarray
    thetad: np.ndarray
    r_modes: np.ndarray
    theta_modes: np.ndarray
    M: float
    B_2: np.ndarray
    B_3: np.ndarray
    B_8: np.ndarray
    B_9: np.ndarray
    eps: np.ndarray
    alpha: np.ndarray
    beta: list[np.ndarray]
    c: list[np.ndarray]
    sC: np.ndarray


def _numbers(link: GibbsAppellLink, value: Callable[[ca.SX], np.ndarray]) -> PrintedLink:
    def flat(expression: ca.SX) -> np.ndarray:
        return value(expression).reshape(-1)

    i = link.integrals
    return PrintedLink(
        link.joint, link.indices, flat(link.z if link.joints else ca.SX(3, 1)), flat(link.r), flat(link.next[0].rd),
        flat(link.next[0].thetad),
        value(link.r_modes), value(link.theta_modes), float(flat(i.M)[0]),
        *(value(B) for B in (i.B_2, i.B_3, i.B_8, i.B_9)),
        value(i.eps), value(i.alpha), [value(b) for b in i.beta], [flat(c) for c in i.c], value(i.sC),
    )  # fmt: skip


class PrintedArm:
    """Links 1...n (index 0 is unused), compound rotations `R[i, k]` = i_R_k, origins `p` in the base."""

    def __init__(self, chain: Chain, q: np.ndarray, qd: np.ndarray) -> None:
        symbols = ca.SX.sym("q", chain.n), ca.SX.sym("qd", chain.n)
        links = links_of(chain, *symbols)

        def value(expression: ca.SX) -> np.ndarray:
            return np.array(ca.Function("value", symbols, [ca.densify(ca.SX(expression))])(q, qd))

        self.n, self.size, self.qd = len(links) - 1, chain.n, qd
        self.g = value(chain.gravity)[:, 0]
        self.to_base, self.p = [np.eye(3)], [np.zeros(3)]
        for before, link in pairwise(links):
            self.p.append(self.p[-1] + self.to_base[-1] @ value(before.r)[:, 0])
            self.to_base.append(self.to_base[-1] @ value(link.R.matrix))
        self.R = {(i, k): A.T @ B for i, A in enumerate(self.to_base) for k, B in enumerate(self.to_base)}
        self.links = [None] + [_numbers(link, value) for link in links[1:]]

    def between(self, i: int, j: int, axes: int) -> np.ndarray:
        """From O_j to O_i, in the axes of link `axes`."""
        return self.to_base[axes].T @ (self.p[i] - self.p[j])

    # ------------------------------------------------------------------------------------------------- right-hand side

    def derivatives(self, misprint: str = "") -> np.ndarray:
        """(size,) dS/dqdd and dS/ddeltadd at zero second derivatives, (95)-(102): the velocity and gravity terms."""
        omega, omegad, rdd = self._motion(misprint)
        out = np.zeros(self.size)
        S, T, T_deflection = [None], [None], [None]
        for i in range(1, self.n + 1):
            b = self.links[i]
            centrifugal, gyroscopic = (np.cross(omega[i], B @ omega[i]) for B in (b.B_3, b.B_9))
            S.append(b.M * rdd[i] - 2 * b.B_2 @ omega[i] - b.B_3 @ omegad[i] - centrifugal)  # (96)
            common = b.B_3 @ rdd[i] + 2 * b.B_8 @ omega[i] + b.B_9 @ omegad[i]
            T.append(common + gyroscopic)  # (97)
            T_deflection.append(common + (-gyroscopic if misprint == "44" else gyroscopic))
        for j in range(1, self.n + 1):
            link = self.links[j]
            for i in range(j, self.n + 1):
                z = self.R[i, j] @ link.z
                out[link.joint] += np.cross(z, self.between(i, j, i)) @ S[i] + z @ T[i]  # (95), (71), (73)
            for f, index in enumerate(link.indices):
                out[index] -= self._Q(j, f, omega[j], omegad[j], rdd[j], misprint)
                for i in range(j + 1, self.n + 1):
                    r, theta = self.R[i, j] @ link.r_modes[:, f], self.R[i, j] @ link.theta_modes[:, f]
                    moved = r + np.cross(theta, self.between(i, j + 1, i))  # (74)
                    out[index] += moved @ S[i] + theta @ T_deflection[i]  # (101)
        return out

    def _Q(self, j: int, f: int, omega: np.ndarray, omegad: np.ndarray, rdd: np.ndarray, misprint: str) -> float:
        b = self.links[j]
        eps = b.alpha[:, f] if misprint == "102" else b.eps[:, f]
        return 2 * omega @ b.c[f] + omega @ b.beta[f] @ omega - rdd @ eps - omegad @ b.alpha[:, f]  # (102)

    def _motion(self, misprint: str) -> tuple[list, list, list]:
        omega, omegad, rdd = [np.zeros(3)], [np.zeros(3)], [None]
        base = {"67": 0.0, "gravity": 1.0}.get(misprint, -1.0) * self.g
        for i in range(1, self.n + 1):
            spin = self.links[i].z * self.qd[self.links[i].joint]
            before = omega[i - 1] + (self.links[i - 1].thetad if i > 1 else 0)
            omega.append(self.R[i, i - 1] @ before + spin)  # (63)
        for i in range(1, self.n + 1):
            alpha, a = np.zeros(3), self.R[i, 0] @ base
            for k in range(1, i):
                link, after = self.links[k], self.links[k + 1]
                turned = self.R[i, k] @ (omega[k] + link.thetad)
                alpha += np.cross(turned, self.R[i, k + 1] @ after.z * self.qd[after.joint])  # (70)
                if misprint != "70":
                    alpha += self.R[i, k] @ np.cross(omega[k], link.thetad)
                local = 2 * np.cross(omega[k], link.rd) + np.cross(omega[k], np.cross(omega[k], link.r))  # (69)
                if misprint != "69":
                    local = local + np.cross(omegad[k], link.r)
                a = a + self.R[i, k] @ local
            omegad.append(alpha)
            rdd.append(a)
        return omega, omegad, rdd

    # -------------------------------------------------------------------------------------------------- inertia matrix

    def sums(self, j: int, k: int, plus_j: bool, plus_k: bool) -> dict[str, np.ndarray]:
        """sigma - psi - U, gamma + xi, V + xi and lambda of j or j+ and k or k+, straight from (76)-(93)."""
        out = {name: np.zeros((3, 3)) for name in ("Phi", "Gamma", "V_xi", "lam")}
        row, column = j + plus_j, k + plus_k  # origins about which the row and the column turn
        for i in range(max(row, column), self.n + 1):
            b = self.links[i]
            r_j, r_k = tilde(self.between(i, row, j)), tilde(self.between(i, column, k))
            B_3, B_9 = (self.R[j, i] @ B @ self.R[i, k] for B in (b.B_3, b.B_9))
            M = b.M * self.R[j, k]
            out["Phi"] += B_9 - r_j @ B_3 - (r_j @ M + B_3) @ r_k
            out["Gamma"] += r_j @ M + B_3
            out["V_xi"] += M @ r_k + B_3
            out["lam"] += M
        return out

    def printed_85(self, j: int, k: int) -> np.ndarray:
        """(m_j, m_k) block, j < k < n, of what (85) prints: lost tildes restored, doubled terms left in."""
        row, column, R, s = self.links[j], self.links[k], self.R[j, k], self.sums(j, k, True, True)
        lever = tilde(self.between(k, j + 1, j))
        moment = s["Phi"] @ column.theta_modes + s["Gamma"] @ column.r_modes
        moment += lever @ R @ column.eps + 2 * R @ column.alpha
        force = -s["V_xi"] @ column.theta_modes + 2 * R @ column.r_modes
        return row.theta_modes.T @ moment + row.r_modes.T @ force + row.eps.T @ R @ column.r_modes
