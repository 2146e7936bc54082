"""Rods that bend by any angle, written down without the library: references for beams that are cut in pieces.

Both are rods of Kirchhoff: inextensible, without shear. `bent_rod` is at rest in space; `spun_rod` moves in a plane,
its root turned as prescribed, without rotary inertia of its sections. SI units, radians; frames and signs as in
docs/notation.md: the rod starts along +x, R' = R [kappa]x, kappa_z > 0 bends towards +y, kappa_y > 0 towards -z.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.polynomial import legendre
from scipy.integrate import solve_ivp

Array = np.ndarray
ZERO = (0.0, 0.0, 0.0)


# ------------------------------------------------------------------------------------------------ at rest, in space


@dataclass(frozen=True)
class Rod:
    """A rod clamped at the origin, with its root along x.

    `curvature` is what the rod has without load, kappa(x) = (twist, kappa_y, kappa_z): three numbers or a function of
    the station x in metres.
    """

    length: float
    EI_y: float
    EI_z: float
    GJ: float
    curvature: Sequence[float] | Callable[[float], Sequence[float]] = ZERO

    def natural(self, x: float) -> Array:
        return np.asarray(self.curvature(x) if callable(self.curvature) else self.curvature, dtype=float)


@dataclass(frozen=True)
class TipLoad:
    """Force (N) and moment (N m) at the end: fixed in space, or turning with the end section where they follow."""

    force: Sequence[float] = ZERO
    moment: Sequence[float] = ZERO
    force_follows: bool = False
    moment_follows: bool = False

    def at(self, R: Array) -> Array:
        """(moment, force) in axes of the base, with the end section at attitude R (..., 3, 3)."""
        f, m = np.asarray(self.force, dtype=float), np.asarray(self.moment, dtype=float)
        m = R @ m if self.moment_follows else np.broadcast_to(m, R.shape[:-1])
        return np.concatenate([m, R @ f if self.force_follows else np.broadcast_to(f, R.shape[:-1])], axis=-1)

    def scaled(self, share: float) -> TipLoad:
        f, m = (share * np.asarray(x, dtype=float) for x in (self.force, self.moment))
        return TipLoad(tuple(f), tuple(m), self.force_follows, self.moment_follows)


@dataclass(frozen=True)
class BentRod:
    """Stations x (n,), places (n, 3), attitudes (n, 3, 3), moments (n, 3) and force (3,) in axes of the base."""

    x: Array
    place: Array
    attitude: Array
    moment: Array
    force: Array

    @property
    def tip(self) -> Array:
        return np.asarray(self.place[-1])


def bent_rod(rod: Rod, load: TipLoad, steps: int = 4, points: int = 2, tolerance: float = 1e-11) -> BentRod:
    """The rod at rest, by shooting: moment and force at the root such that those at the end are the load.

    r' = R e_x,  R' = R [kappa]x,  kappa = kappa_0 + K^-1 R^T m,  m' = -R e_x x n,  n' = 0.  Newton's method, with the
    load applied in `steps`; the slopes are those of rods whose root loads differ a little, integrated along with it.
    Stops when the end misses its load by `tolerance` of it: places are then good to 1e-8 of the length and better.
    """
    K = np.array([rod.GJ, rod.EI_y, rod.EI_z])
    size = np.repeat([np.mean(K) / rod.length, np.mean(K) / rod.length**2], 3)  # of moments and forces
    root = np.zeros(6)
    for share in np.linspace(0.0, 1.0, steps + 1)[1:]:
        wanted, close = load.scaled(float(share)), tolerance if share == 1.0 else 1e-3
        for _ in range(30):
            step = 1e-6 * size
            starts = root + np.vstack([np.zeros(6), np.diag(step), -np.diag(step)])
            ends = _shot(rod, K, starts, np.array([0.0, rod.length]), max(1e-11, 1e-4 * close))[-1]
            missed = np.concatenate([ends[:, 12:], starts[:, 3:]], axis=1) - wanted.at(ends[:, 3:12].reshape(-1, 3, 3))
            slopes = ((missed[1:7] - missed[7:]) / (2 * step[:, None])).T
            if np.abs(missed[0] / size).max() < close * max(1.0, float(np.abs(root / size).max())):
                break
            root = root - np.linalg.solve(slopes, missed[0])
        else:
            raise ArithmeticError(f"no rest found at {share:.2f} of the load; take more steps")
    x = np.linspace(0.0, rod.length, points)
    state = _shot(rod, K, root[None], x)[:, 0]
    return BentRod(x, state[:, :3], state[:, 3:12].reshape(-1, 3, 3), state[:, 12:], root[3:])


def _shot(rod: Rod, K: Array, roots: Array, x: Array, rtol: float = 1e-11) -> Array:
    """States (stations, rods, 15) of rods with given (moment, force) at the root: place, attitude, moment."""
    count, (fx, fy, fz) = len(roots), roots[:, 3:].T

    def rate(s: float, y: Array) -> Array:
        _, a, b, c, m = y.reshape(5, 3, count)  # a, b, c: the axes of the section, columns of R
        natural = rod.natural(s)
        kx, ky, kz = (natural[i] + (axis * m).sum(axis=0) / K[i] for i, axis in enumerate((a, b, c)))
        bending = [fy * a[2] - fz * a[1], fz * a[0] - fx * a[2], fx * a[1] - fy * a[0]]  # n x R e_x
        return np.concatenate([a, kz * b - ky * c, kx * c - kz * a, ky * a - kx * b, bending]).ravel()

    start = np.zeros((5, 3, count))
    start[1:4] = np.eye(3)[:, :, None]
    start[4] = roots[:, :3].T
    scale = np.repeat([rod.length, 1.0, 1.0, 1.0, float(np.mean(K)) / rod.length], 3 * count)
    run = solve_ivp(
        rate, (0.0, rod.length), start.ravel(), method="DOP853", rtol=rtol, atol=0.01 * rtol * scale, t_eval=x
    )
    state = run.y.T.reshape(len(x), 5, 3, count)
    attitude = np.moveaxis(state[:, 1:4], 1, 2).reshape(len(x), 9, count)  # axes as columns
    return np.moveaxis(np.concatenate([state[:, 0], attitude, state[:, 4]], axis=1), 2, 1)


# ---------------------------------------------------------------------------------------- turned root, in the plane


@dataclass(frozen=True)
class PlanarRod:
    """Length (m), mass per length (kg/m) and bending stiffness (N m^2) of a rod in the x-y plane."""

    length: float
    mass_per_length: float
    EI: float


class CurvatureRod:
    """A planar rod with its curvature as coordinates: theta(x) = int_0^x sum_j q_j P_j, P_j Legendre's polynomials.

    At the points of Gauss's rule r = S (cos psi, sin psi), psi = phi + theta, where S integrates from the root exactly
    the polynomial through those points. With J = dr/dq the balance of virtual work is

        mu int J^T (J q'' + r_phi phi'' - S (cos psi, sin psi) psi'^2) dx + EI int P^T P dx q = 0,

    the exact equations of Lagrange for the kinetic energy that the rule gives.
    """

    def __init__(self, rod: PlanarRod, shapes: int, points: int = 0) -> None:
        self.rod, self.size = rod, shapes
        points = points or 2 * shapes + 8
        eta, w = legendre.leggauss(points)
        self.weights = rod.length / 2 * w
        basis = legendre.legvander(eta, points - 1)
        from_root = [legendre.legint(row, lbnd=-1) * rod.length / 2 for row in np.eye(points)]
        integrated = np.array([legendre.legval(eta, c) for c in from_root]).T
        self.sums = integrated @ np.linalg.inv(basis)
        self.turns = integrated[:, :shapes]  # theta = turns q
        self.stiffness = rod.EI * basis[:, :shapes].T @ (self.weights[:, None] * basis[:, :shapes])

    def accelerations(self, q: Array, qd: Array, phi: float, rate: float, acceleration: float) -> Array:
        """q'' with the root turned at given angle, rate and acceleration."""
        psi, turning = phi + self.turns @ q, rate + self.turns @ qd
        mu, M, force = self.rod.mass_per_length, 0.0, -self.stiffness @ q
        for along, across in ((np.cos(psi), -np.sin(psi)), (np.sin(psi), np.cos(psi))):
            J = self.sums @ (across[:, None] * self.turns)
            free = self.sums @ (across * acceleration - along * turning**2)
            M = M + mu * J.T @ (self.weights[:, None] * J)
            force = force - mu * J.T @ (self.weights * free)
        return np.linalg.solve(M, force)

    def tip(self, q: Array) -> Array:
        """Place of the end in axes that turn with the root; q (size,) or (size, n)."""
        theta, w = self.turns @ q, self.weights
        return np.array([w @ np.cos(theta), w @ np.sin(theta)])

    def energy(self, q: Array, qd: Array, phi: float, rate: float) -> float:
        """Kinetic and strain energy, J."""
        psi, turning = phi + self.turns @ q, rate + self.turns @ qd
        vx, vy = self.sums @ (-np.sin(psi) * turning), self.sums @ (np.cos(psi) * turning)
        return float(self.rod.mass_per_length / 2 * self.weights @ (vx**2 + vy**2) + q @ self.stiffness @ q / 2)


def spin_up_angle(speed: float, T: float) -> Callable[[float], tuple[float, float, float]]:
    """Angle, rate and acceleration of w(t) = (w0/T)(t - T/2pi sin 2pi t/T), then w0."""

    def at(t: float) -> tuple[float, float, float]:
        if t >= T:
            return speed * (t - T / 2), speed, 0.0
        a = 2 * np.pi / T
        return (
            speed / T * (t**2 / 2 + (np.cos(a * t) - 1) / a**2),
            speed / T * (t - np.sin(a * t) / a),
            speed / T * (1 - np.cos(a * t)),
        )

    return at


def spun_rod(
    rod: PlanarRod,
    motion: Callable[[float], tuple[float, float, float]],
    t_end: float,
    shapes: int = 6,
    rtol: float = 1e-8,
    t: Array | None = None,
) -> tuple[Array, Array, Any]:
    """Times, places (2, n) of the end in axes that turn with the root, and SciPy's dense solution (q, q')."""
    beam, n = CurvatureRod(rod, shapes), shapes

    def rate(at: float, y: Array) -> Array:
        return np.concatenate([y[n:], beam.accelerations(y[:n], y[n:], *motion(at))])

    run = solve_ivp(
        rate, (0.0, t_end), np.zeros(2 * n), method="DOP853", rtol=rtol, atol=rtol * 1e-2, t_eval=t, dense_output=True
    )
    return run.t, beam.tip(run.y[:n]), run.sol


def peak_lag(rod: PlanarRod, speed: float, T: float = 15.0, shapes: int = 6, rtol: float = 1e-8) -> tuple[float, float]:
    """Largest lag of the end behind the direction of the root while it is brought to speed, and its time."""
    beam = CurvatureRod(rod, shapes)
    _, _, solution = spun_rod(rod, spin_up_angle(speed, T), T, shapes, rtol)
    t = np.linspace(0.0, T, 15001)
    lag = -beam.tip(solution(t)[:shapes])[1]
    k = int(np.argmax(lag))
    return float(lag[k]), float(t[k])
