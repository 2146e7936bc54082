"""The equations of [MS07] evaluated with numbers in base axes, twists [linear; angular] as printed there.

Bent slender rods with payload and hub on revolute joints, straight from the Denavit-Hartenberg rows; rates of matrices
by differences of fourth order in time. Each known misprint on request.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from pliant.robot import Link, Robot

ROWS = (  # mass, a, b, alpha, hub inertia about z, payload
    (3.0, 0.4, 0.3, 0.7, 0.2, 0.5),
    (2.0, 0.5, 0.2, -0.9, 0.1, 0.0),
    (2.5, 0.3, 0.4, 1.1, 0.0, 0.3),
    (1.5, 0.6, 0.1, 0.4, 0.3, 0.8),
)


def cross_matrix(v: np.ndarray) -> np.ndarray:
    """v x 1 of the paper."""
    return np.array([[0, -v[2], v[1]], [v[2], 0, -v[0]], [-v[1], v[0], 0]])


def propagation(a: np.ndarray) -> np.ndarray:
    """A of (4) for the vector a, which runs from the new origin to the old one."""
    return np.block([[np.eye(3), cross_matrix(a)], [np.zeros((3, 3)), np.eye(3)]])


def rate(f: Callable[[float], np.ndarray], h: float = 1e-3) -> np.ndarray:
    """df/dt at 0, fourth order: error h^4 times fifth derivatives of order one, below 1e-11."""
    return (8 * (f(h) - f(-h)) - (f(2 * h) - f(-2 * h))) / (12 * h)


@dataclass(frozen=True)
class Frame:
    """Link i at one instant: O_i, axes of frame i, z_i, and the rod's end seen from O_i."""

    O: np.ndarray
    axes: np.ndarray
    end: np.ndarray
    x: np.ndarray

    @property
    def z(self) -> np.ndarray:
        return self.axes[:, 2]


def robot(gravity: tuple[float, float, float] = (0.0, 0.0, 0.0)) -> Robot:
    """The same arm as the package describes it."""
    links = [Link.bent_rod(f"link{k}", m, a, b, alpha, hub, load) for k, (m, a, b, alpha, hub, load) in enumerate(ROWS)]
    return Robot(name="rods", gravity=gravity, links=links)


def frames(theta: np.ndarray) -> list[Frame]:
    """Origins and axes, Steps 1 and 2."""
    O, axes, out = np.zeros(3), np.eye(3), []
    for (_, a, b, alpha, _, _), t in zip(ROWS, theta, strict=True):
        x = axes @ np.array([np.cos(t), np.sin(t), 0.0])
        end = b * axes[:, 2] + a * x
        out.append(Frame(O, axes, end, x))
        c, s, ca, sa = np.cos(t), np.sin(t), np.cos(alpha), np.sin(alpha)
        Q = np.array([[c, -s * ca, s * sa], [s, c * ca, -c * sa], [0.0, sa, ca]])
        O, axes = O + end, axes @ Q
    return out


def points(i: int, frame: Frame) -> tuple[np.ndarray, np.ndarray]:
    """Places r from O_i and masses: Gauss points on both legs (integrands are quadratic: exact), and the payload."""
    mass, a, b, _, _, payload = ROWS[i]
    node, weight = np.polynomial.legendre.leggauss(3)
    node, weight = (node + 1) / 2, weight / 2
    r = np.vstack([np.outer(b * node, frame.z), b * frame.z + np.outer(a * node, frame.x), frame.end])
    return r, np.concatenate([mass / (a + b) * b * weight, mass / (a + b) * a * weight, [payload]])


def hub(i: int, frame: Frame) -> np.ndarray:
    return ROWS[i][4] * np.outer(frame.z, frame.z)


def mass_matrix(i: int, frame: Frame) -> np.ndarray:
    """M_i of (17a), payload and hub included, by quadrature."""
    M = np.zeros((6, 6))
    for r, m in zip(*points(i, frame), strict=True):
        J = np.hstack([np.eye(3), -cross_matrix(r)])
        M += m * J.T @ J
    M[3:, 3:] += hub(i, frame)
    return M


def gamma(i: int, frame: Frame, omega: np.ndarray) -> np.ndarray:
    """(17b)."""
    out = np.concatenate([np.zeros(3), np.cross(omega, hub(i, frame) @ omega)])
    for r, m in zip(*points(i, frame), strict=True):
        inward = np.cross(omega, np.cross(omega, r))
        out += m * np.concatenate([inward, np.cross(r, inward)])
    return out


def complement(theta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """N_l and N_d of (8c)."""
    placed, n = frames(theta), len(theta)
    N_l, N_d = np.zeros((6 * n, 6 * n)), np.zeros((6 * n, n))
    for i, at in enumerate(placed):
        N_d[6 * i + 3 : 6 * i + 6, i] = at.z
        for j in range(i + 1):
            N_l[6 * i : 6 * i + 6, 6 * j : 6 * j + 6] = propagation(placed[j].O - at.O)
    return N_l, N_d


def twists(theta: np.ndarray, thetad: np.ndarray) -> np.ndarray:
    """t = N_l N_d thetad, (7)."""
    N_l, N_d = complement(theta)
    return N_l @ N_d @ thetad


def inertia_wrenches(theta: np.ndarray, thetad: np.ndarray, td: np.ndarray) -> np.ndarray:
    """w* of all links, (16)."""
    placed = frames(theta)
    omega = twists(theta, thetad).reshape(-1, 6)[:, 3:]
    rows = [mass_matrix(i, at) @ td[6 * i : 6 * i + 6] + gamma(i, at, omega[i]) for i, at in enumerate(placed)]
    return np.concatenate(rows)


def factors(theta: np.ndarray, misprint: str = "") -> tuple[np.ndarray, np.ndarray, list[np.ndarray]]:
    """Pivots m-hat, psi (n, 6) and A_{i+1,i} by (33), (34); "5 ww" and "5 K" keep the printed vv lines of Step 5, "8"
    divides the first half of psi by a vector (read as its length)."""
    placed, n = frames(theta), len(theta)
    A = [propagation(before.O - after.O) for before, after in pairwise(placed)]
    m_hat, psi = np.zeros(n), np.zeros((n, 6))
    M_bar, M_hat = np.zeros((6, 6)), np.zeros((6, 6))
    for i in reversed(range(n)):
        beyond, own = M_hat, mass_matrix(i, placed[i])
        M_hat = own + (A[i].T @ M_bar @ A[i] if i + 1 < n else 0)
        if i + 1 < n and misprint == "5 ww":
            M_hat[:3, :3] = own[:3, :3] + beyond[3:, 3:]
        if i + 1 < n and misprint == "5 K":
            M_hat[:3, :3] = own[:3, :3] - cross_matrix(placed[i].end)
        p = np.concatenate([np.zeros(3), placed[i].z])
        psi_hat = M_hat @ p
        m_hat[i] = p @ psi_hat
        psi[i] = psi_hat / m_hat[i]
        if misprint == "8":
            psi[i, :3] = psi_hat[:3] / np.linalg.norm(psi_hat)
        M_bar = M_hat - np.outer(psi_hat, psi[i])
    return m_hat, psi, A


def accelerations(theta: np.ndarray, phi: np.ndarray, misprint: str = "") -> np.ndarray:
    """Steps 5-15; "14" and "15" keep the printed ranges of their loops, which leave vectors at zero."""
    m_hat, psi, A = factors(theta, misprint)
    n, placed = len(theta), frames(theta)
    p = [np.concatenate([np.zeros(3), at.z]) for at in placed]
    phi_hat, eta = phi.copy(), np.zeros(6)
    for i in reversed(range(n)):
        carried = A[i].T @ eta if i + 1 < n else eta
        phi_hat[i] = phi[i] - p[i] @ carried
        eta = psi[i] * phi_hat[i] + carried
    out, mu = np.zeros(n), np.zeros(6)
    for i in range(n):
        tilde = A[i - 1] @ mu if i else np.zeros(6)
        if misprint == "14" and i == n - 1:  # i = 1 ... n-1
            tilde = np.zeros(6)
        out[i] = phi_hat[i] / m_hat[i] - psi[i] @ tilde
        mu = p[i] * out[i] + tilde
        if misprint == "15" and i:  # i = 1 alone
            mu = np.zeros(6)
    return out
