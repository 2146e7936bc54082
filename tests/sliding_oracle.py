"""A sliding beam from positions alone: where each material point is, by modes found afresh at every length.

Shares nothing with the trace: roots by bisection, Gauss points in the material, velocities by differences at fixed s.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from itertools import pairwise

import casadi as ca
import numpy as np
from scipy.spatial.transform import Rotation

from pliant.mechanics import build_chain, equations
from pliant.mechanics.links.chain import Chain
from pliant.mechanics.shapes import CLAMPED, BendingModes, bending_modes, link_shapes
from pliant.robot import Beam, Joint, Link, Lump, RigidBody, Robot, Shapes
from pliant_studies.theodore_ghosal.moving_roots import load_at_length

MU, TOTAL, LENGTH = 0.331, 1.3, 0.6  # data of [TG95] Table 3
EI_Y, EI_Z = 900.0, 1165.4916
PAYLOAD, HUB = 0.0828, 0.2

SHAPES: dict[str, dict[str, object] | None] = {
    "rigid": None,
    "clamped-free": {"bending_y": 2, "bending_z": 1},
    "clamped-mass": {"bending_y": 2, "bending_z": 2, "boundary": "clamped-mass", "tip_load": "auto"},
    "elements": {"method": "elements", "count": 2, "bending_y": True, "bending_z": True},
    "reduced": {"method": "elements", "count": 3, "reduce": 2, "bending_y": True},
}


def arm(
    shapes: dict[str, object] | None = None,
    EI: tuple[float, float] = (EI_Y, EI_Z),
    payload: Lump = Lump(mass=PAYLOAD),  # noqa: B008
    gravity: tuple[float, float, float] = (0.0, 0.0, 0.0),
    polar: float = 0.001,
) -> Robot:
    """A hub that turns about z, out of which a beam slides along x."""
    turning = Link(
        name="hub",
        joint=Joint(hub=Lump(inertia=(0.0, 0.0, HUB))),
        rigid=RigidBody(mass=0.0, com=(0.0, 0.0, 0.0), inertia=(0.0, 0.0, 0.0), tip=(0.0, 0.0, 0.0)),
    )
    beam = Beam(
        length=LENGTH, total_length=TOTAL, slides=True, mass_per_length=MU, EI_y=EI[0], EI_z=EI[1], polar_inertia=polar
    )
    sliding = Link(
        name="arm",
        joint=Joint(type="prismatic", axis=(1.0, 0.0, 0.0)),
        beam=beam,
        shapes=Shapes(**shapes) if shapes else None,
    )
    return Robot(name="telescope", gravity=gravity, links=[turning, sliding], payload=payload)


def functions(chain: Chain, formulation: str) -> tuple[Callable, Callable, Callable]:
    """M(q), bias(q, qd) and qdd(q, qd, tau) as functions of numbers, each traced when it is first asked."""
    e = equations(chain, formulation)
    q, qd, tau = ca.SX.sym("q", chain.n), ca.SX.sym("qd", chain.n), ca.SX.sym("tau", chain.n_joints)
    recipes = ((e.mass_matrix, (q,)), (e.bias, (q, qd)), (e.forward_dynamics, (q, qd, tau)))

    @cache
    def traced(k: int) -> ca.Function:
        build, inputs = recipes[k]
        return ca.Function("f", inputs, [ca.densify(build(*inputs))], {"cse": True})

    return tuple(lambda *x, k=k: np.array(traced(k)(*x)).squeeze() for k in range(3))  # type: ignore[return-value]


@cache
def _modes_at(n: int, l: float, payload: float) -> BendingModes:
    return bending_modes(n, CLAMPED, load_at_length(l, MU, payload))


class Oracle:
    """Positions of the points of `arm(...)`, and the energies that follow from them by differences."""

    def __init__(self, robot: Robot, followed: bool) -> None:
        self.robot, self.link = robot, robot.links[1]
        self.followed = followed
        self.shapes = link_shapes(self.link) if self.link.shapes is not None and not followed else None
        points, weights = np.polynomial.legendre.leggauss(24)
        pieces = 1 if self.shapes is None else 6  # elements of 2 or 3 a beam end on these pieces
        edges = np.linspace(0.0, 1.0, pieces + 1)
        self.eta = np.concatenate([a + (b - a) * (1 + points) / 2 for a, b in pairwise(edges)])
        self.weight = np.concatenate([(b - a) * weights / 2 for a, b in pairwise(edges)])

    def displacement(self, eta: np.ndarray, l: float, c: np.ndarray, order: int = 0) -> np.ndarray:
        """(points, 3) displacement at eta (or its `order`-th derivative in x) for amplitudes c at length l."""
        out = np.zeros((len(eta), 3))
        if self.link.shapes is None:
            return out
        if self.followed:
            n = int(self.link.shapes.bending_y)
            psi = _modes_at(n, l, self.robot.payload.mass).evaluate(eta, order) / l**order
            out[:, 1] = psi @ c[:n]
            out[:, 2] = psi[:, : len(c) - n] @ c[n:]
            return out
        assert self.shapes is not None
        psi = self.shapes.evaluate(eta, order) * l ** (np.array(self.shapes.powers, dtype=float) - order)
        for j, name in enumerate(self.shapes.fields):
            out[:, 1 if name == "bending_y" else 2] += psi[:, j] * c[j]
        return out

    def points(self, q: np.ndarray, s: np.ndarray) -> np.ndarray:
        """(points, 3) places in the base of the material at distances s from the tip."""
        l, c = q[1], q[2:]
        r = np.zeros((len(s), 3))
        r[:, 0] = l - s
        outside = s <= l
        if outside.any():
            r[outside] += self.displacement(1 - s[outside] / l, l, c)
        return r @ Rotation.from_rotvec([0.0, 0.0, q[0]]).as_matrix().T

    def payload(self, q: np.ndarray) -> np.ndarray:
        """(1, 3) place of the payload's center, which turns with the tip."""
        slope = self.displacement(np.ones(1), q[1], q[2:], 1)[0]
        tip = Rotation.from_rotvec([0.0, -slope[2], slope[1]]).as_matrix()
        arm = Rotation.from_rotvec([0.0, 0.0, q[0]]).as_matrix()
        return self.points(q, np.zeros(1)) + arm @ tip @ np.array(self.robot.payload.com)

    def material(self, l: float) -> tuple[np.ndarray, np.ndarray]:
        """Stations s outside and inside, with their masses."""
        s = np.concatenate([l * (1 - self.eta), l + (TOTAL - l) * self.eta])
        return s, MU * np.concatenate([l * self.weight, (TOTAL - l) * self.weight])

    def kinetic_energy(self, q: np.ndarray, qd: np.ndarray, h: float = 2e-4) -> float:
        """1/2 int v^2, v by fourth-order differences of positions along q + qd t at fixed s."""
        s, mass = self.material(q[1])
        v = _rate(lambda t: self.points(q + qd * t, s), h)
        v_load = _rate(lambda t: self.payload(q + qd * t), h)
        T = mass @ (v**2).sum(axis=1) + self.robot.payload.mass * (v_load**2).sum() + HUB * qd[0] ** 2
        return float(T / 2)

    def mass_matrix(self, q: np.ndarray) -> np.ndarray:
        """By polarization of the kinetic energy."""
        n = len(q)
        e = np.eye(n)
        single = [self.kinetic_energy(q, e[i]) for i in range(n)]
        return np.array(
            [[self.kinetic_energy(q, e[i] + e[j]) - single[i] - single[j] for j in range(n)] for i in range(n)]
        )

    def strain_energy(self, q: np.ndarray) -> float:
        l = q[1]
        bent = self.displacement(self.eta, l, q[2:], 2)
        EI = np.array([0.0, self.link.beam.EI_z, self.link.beam.EI_y])
        return float(l * self.weight @ (bent**2 @ EI) / 2)

    def gravity_energy(self, q: np.ndarray) -> float:
        s, mass = self.material(q[1])
        g = np.array(self.robot.gravity)
        return float(-(mass @ self.points(q, s) @ g) - self.robot.payload.mass * self.payload(q)[0] @ g)


def gradient(f: Callable[[np.ndarray], float], q: np.ndarray, h: float = 2e-4) -> np.ndarray:
    """Fourth-order differences."""
    return np.array([_rate(lambda t, e=e: np.array(f(q + e * t)), h) for e in np.eye(len(q))])


def _rate(f: Callable[[float], np.ndarray], h: float) -> np.ndarray:
    return (8 * (f(h) - f(-h)) - (f(2 * h) - f(-2 * h))) / (12 * h)


def oracle(name: str, **kwargs: object) -> tuple[Chain, Oracle]:
    robot = arm(SHAPES[name], **kwargs)  # type: ignore[arg-type]
    return build_chain(robot), Oracle(robot, name == "clamped-mass")
