"""Planar flexible arms as chains of rigid segments with rotational springs, in MuJoCo and in Pinocchio.

The way beams are imitated where an engine knows rigid bodies only, cut by the rule of `robot.stretches`, by which
models are written for MuJoCo too. `segments_for` finds the N at which the frequencies of the arm are as exact as asked.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from pliant.arrays import Array
from pliant.errors import ModelError
from pliant.robot.lumped_segments import springs, stretches
from pliant_bench.peers import PeerRun, PlanarArm
from pliant_bench.rigid_peers import RigidChain, RigidJoint, mujoco_arm, pinocchio_arm

MOST = 512


@dataclass(frozen=True)
class Segments:
    """A chain of rigid rods: hinge k turns rod k against rod k - 1."""

    length: Array
    mass: Array
    com: Array  # from the hinge, along the rod
    inertia: Array  # about the center of mass
    stiffness: Array  # of the hinge; 0 at the joints of the arm
    roots: tuple[int, ...]  # first rod of each link
    gravity: tuple[float, float]

    @property
    def n(self) -> int:
        """Number of hinges."""
        return len(self.length)

    def rigid(self) -> RigidChain:
        """The rods as rigid peers read them; inertia about x and y is never felt in the plane."""
        turn, before = tuple(np.eye(3).ravel().tolist()), [0.0, *self.length[:-1].tolist()]
        rows = zip(before, self.mass.tolist(), self.com.tolist(), self.inertia.tolist())
        joints = [RigidJoint(turn, (x, 0.0, 0.0), m, (c, 0.0, 0.0), tuple(I * r for r in turn)) for x, m, c, I in rows]
        return RigidChain(tuple(joints), (*self.gravity, 0.0))

    def points(self, q: Array) -> tuple[Array, Array]:
        """Headings (..., n) of the rods and their ends (..., n + 1, 2)."""
        heading = np.cumsum(q, axis=-1)
        steps = self.length[:, None] * np.stack([np.cos(heading), np.sin(heading)], axis=-1)
        zero = np.zeros((*q.shape[:-1], 1, 2))
        return heading, np.concatenate([zero, np.cumsum(steps, axis=-2)], axis=-2)

    def mass_matrix(self, q: Array) -> Array:
        """(n, n), from the Jacobians of the centers of mass."""
        heading, ends = self.points(q)
        center = ends[:-1] + self.com[:, None] * np.column_stack([np.cos(heading), np.sin(heading)])
        M = np.zeros((self.n, self.n))
        for k in range(self.n):
            arm = center[k] - ends[: k + 1]
            J = np.column_stack([-arm[:, 1], arm[:, 0]])  # of the hinges that carry rod k
            M[: k + 1, : k + 1] += self.mass[k] * J @ J.T + self.inertia[k]
        return M

    def frequencies(self, q: Array) -> Array:
        """Hz, without gravity, the joints of the arm free."""
        from scipy.linalg import eigh

        squares = eigh(np.diag(self.stiffness), self.mass_matrix(q), eigvals_only=True)
        return np.asarray(np.sqrt(np.maximum(squares, 0.0)) / (2 * np.pi))


def segments(arm: PlanarArm, elements: int) -> Segments:
    """The arm with `elements` springs per link."""
    length: list[float] = []
    mass, com, inertia, stiffness, roots = [], [], [], [], []
    for link in arm.links:
        roots.append(len(length))
        cut = springs(elements)
        hinges = [0.0, *(link.EI / (link.length * (spring.high - spring.low)) for spring in cut)]
        for k, (low, high) in enumerate(stretches(cut)):
            l = link.length * (high - low)
            rod, lump = link.mass_per_length * l, link.tip_mass if k == elements else 0.0
            center = (rod * l / 2 + lump * l) / (rod + lump)
            own = rod * l**2 / 12 + rod * (center - l / 2) ** 2 + lump * (l - center) ** 2
            length.append(l)
            mass.append(rod + lump)
            com.append(center)
            inertia.append(own + (link.hub_inertia if k == 0 else 0.0) + (link.tip_inertia if k == elements else 0.0))
            stiffness.append(hinges[k])
    rods = [np.array(x) for x in (length, mass, com, inertia, stiffness)]
    return Segments(rods[0], rods[1], rods[2], rods[3], rods[4], tuple(roots), arm.gravity)


def segments_for(arm: PlanarArm, exact: ArrayLike, error: float) -> int:
    """Fewest elements per link for which the first frequencies of the straight arm come within a relative `error`.

    Parameters
    ----------
    exact : (k,)
        Frequencies above zero, Hz, joints free, without gravity.
    """
    wanted = np.asarray(exact, dtype=float)
    elements = 1
    while elements <= MOST:
        chain = segments(arm, elements)
        found = chain.frequencies(np.zeros(chain.n))[len(arm.links) :][: len(wanted)]
        if len(found) == len(wanted) and np.abs(found / wanted - 1).max() <= error:
            return elements
        elements += max(1, elements // 16)
    raise ModelError(f"error {error:g}: more than {MOST} segments per link; ask for less")


def mujoco_run(
    arm: PlanarArm, t_end: float, angles: ArrayLike, elements: int, step: float, output_step: float = 0.002
) -> PeerRun:
    """MuJoCo without contacts and constraints; `mj_step` runs the steps between two outputs."""
    import mujoco

    start = time.perf_counter()
    chain = segments(arm, elements)
    stride = max(1, round(output_step / step))
    model, data = mujoco_arm(chain.rigid(), output_step / stride)
    model.jnt_stiffness[:] = chain.stiffness
    data.qpos[list(chain.roots)] = angles
    ready = time.perf_counter()
    rows = [data.qpos.copy()]
    for _ in range(round(t_end / output_step)):
        mujoco.mj_step(model, data, stride)
        rows.append(data.qpos.copy())
    done = time.perf_counter()
    settings = {"elements": elements, "step": output_step / stride, "integrator": "RK4", "coordinates": chain.n}
    return _peer_run("mujoco chain", chain, np.array(rows), output_step, done - ready, ready - start, settings)


def pinocchio_run(
    arm: PlanarArm, t_end: float, angles: ArrayLike, elements: int, step: float, output_step: float = 0.002
) -> PeerRun:
    """Pinocchio's articulated-body algorithm under a loop of the classical Runge-Kutta method in NumPy."""
    start = time.perf_counter()
    chain = segments(arm, elements)
    model, data = pinocchio_arm(chain.rigid())
    stride = max(1, round(output_step / step))
    h = output_step / stride
    q, v = np.zeros(chain.n), np.zeros(chain.n)
    q[list(chain.roots)] = angles
    ready = time.perf_counter()
    rows = [q]
    for _ in range(round(t_end / output_step)):
        for _ in range(stride):
            q, v = _rk4(model, data, chain.stiffness, q, v, h)
        rows.append(q)
    done = time.perf_counter()
    settings = {"elements": elements, "step": h, "integrator": "RK4", "coordinates": chain.n}
    return _peer_run("pinocchio chain", chain, np.array(rows), output_step, done - ready, ready - start, settings)


def _rk4(model: Any, data: Any, k: Array, q: Array, v: Array, h: float) -> tuple[Array, Array]:
    from pinocchio import aba  # steps written out: a peer is timed at its best, without our code

    a1 = aba(model, data, q, v, -k * q).copy()
    q2, v2 = q + h / 2 * v, v + h / 2 * a1
    a2 = aba(model, data, q2, v2, -k * q2).copy()
    q3, v3 = q + h / 2 * v2, v + h / 2 * a2
    a3 = aba(model, data, q3, v3, -k * q3).copy()
    q4, v4 = q + h * v3, v + h * a3
    a4 = aba(model, data, q4, v4, -k * q4)
    return q + h / 6 * (v + 2 * v2 + 2 * v3 + v4), v + h / 6 * (a1 + 2 * a2 + 2 * a3 + a4)


def _peer_run(
    peer: str, chain: Segments, q: Array, output_step: float, simulation: float, setup: float, settings: dict[str, Any]
) -> PeerRun:
    heading, ends = chain.points(q)
    first = list(chain.roots)
    last = [*(k - 1 for k in first[1:]), chain.n - 1]
    offset = ends[:, [k + 1 for k in last]] - ends[:, first]
    phi = heading[:, first]
    across = offset[..., 1] * np.cos(phi) - offset[..., 0] * np.sin(phi)
    t = np.arange(len(q), dtype=np.float64) * output_step
    return PeerRun(peer, t, q[:, first], across, simulation, setup, settings)
