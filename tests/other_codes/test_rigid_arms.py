"""Rigid arms and trees against Pinocchio: inertia matrix, bias, accelerations, their derivatives, torques, frames and
Jacobians to 1e-10.

Both do the same arithmetic in another order: a 6-joint arm gathers some hundred roundings, 1e-14 of the largest number;
1e-10 leaves room for the condition of M (1e4 for the PUMA, whose wrist has no mass).

Coordinates and speeds of the two differ where joints have quaternions and where they are planar; `pinocchio_twin` says
how. With v' = T(q) v and therefore v'' = T vdot + Tdot v, the same forces do the same work where Q = T^T Q', so that

    M = T^T M' T,   bias = T^T (bias' + M' Tdot v),   J = J' T

and J' has [linear; angular] where pliant has [angular; linear].
"""

from __future__ import annotations

import numpy as np
import pytest

import pliant
from pliant import Robot

from .rigid_robots import JOINTS, random_arm, rigid_tree

pin = pytest.importorskip("pinocchio", reason="pinocchio is not installed: pip install '.[bench]'")

TOLERANCE = 1e-10
OTHERS = ("gibbs-appell", "recursive-lagrange", "lagrange")
FEW, MANY = range(12), range(60)


def assert_equal(
    robot: Robot, formulation: str, seed: int, states: int = 5, frames: tuple[str, ...] = ("tip",)
) -> None:
    from .pinocchio_twin import twin

    model = robot.model(formulation)
    other = twin(robot)
    peer = other.model
    data = peer.createData()
    rng = np.random.default_rng(seed)
    assert peer.nv == model.n
    for _ in range(states):
        q = rng.normal(size=model.n_q)
        for link in model.chain.links:
            if link.joint.is_ball:  # Pinocchio wants a quaternion of length one
                turn = list(link.joint_places[-4:])
                q[turn] /= np.linalg.norm(q[turn])
        qd, qdd = rng.normal(size=(2, model.n))
        tau = rng.normal(size=model.n_joints)
        named, rates = dict(zip(model.coordinates, q)), dict(zip(model.speeds, qd))
        theirs, T, drift = other.configuration(named), other.change(named, model.speeds), other.drift(named, rates)
        M = pin.crba(peer, data, theirs).copy()
        M = np.triu(M) + np.triu(M, 1).T
        close(model.mass_matrix(q), T.T @ M @ T)
        close(model.bias(q, qd), T.T @ (pin.nle(peer, data, theirs, T @ qd) + M @ drift))
        close(model.inverse_dynamics(q, qd, qdd), T.T @ pin.rnea(peer, data, theirs, T @ qd, T @ qdd + drift))
        applied = np.linalg.solve(T.T, model.actuation @ tau)
        found = pin.aba(peer, data, theirs, T @ qd, applied)
        close(model.forward_dynamics(q, qd, tau), np.linalg.solve(T, found - drift))
        if all(joint.type != "planar" for joint in (link.joint for link in robot.links)):  # T does not change
            slopes = model.forward_dynamics_derivatives(q, qd, tau)
            pin.computeABADerivatives(peer, data, theirs, T @ qd, applied)
            upper = np.triu(data.Minv)
            inverse = T.T @ (upper + np.triu(upper, 1).T) @ T  # T is a permutation
            for ours, found in zip(
                slopes[1:], (T.T @ data.ddq_dq @ T, T.T @ data.ddq_dv @ T, inverse @ model.actuation)
            ):
                close(ours, found, least=1.0)  # one link alone: rates change nothing
        pin.framesForwardKinematics(peer, data, theirs)
        for frame in frames:
            number = other.frames[frame]
            close(model.pose(q, frame=frame), data.oMf[number].homogeneous)
            J = pin.computeFrameJacobian(peer, data, theirs, number, pin.LOCAL_WORLD_ALIGNED).reshape(6, -1) @ T
            close(model.jacobian(q, frame=frame), np.vstack([J[3:], J[:3]]))


def close(ours: np.ndarray, theirs: np.ndarray, least: float = 0.0) -> None:
    """To 1e-10 of the largest entry, or of `least` where all are smaller."""
    assert np.abs(ours - theirs).max(initial=0.0) <= TOLERANCE * np.abs(theirs).max(initial=least)


def size(seed: int) -> int:
    """Links of a tree: up to 4 in the few of every run of the tests, up to 12 in the others."""
    return 1 + (3 * seed % 4 if seed in FEW else 7 * seed % 12)


@pytest.mark.parametrize("formulation", ["denoc", *(pytest.param(name, marks=pytest.mark.full) for name in OTHERS)])
def test_puma(formulation: str) -> None:
    assert_equal(pliant.load("puma"), formulation, 0)


@pytest.mark.slow_cases("0", "1", "3")
@pytest.mark.parametrize("seed", [*range(4), *(pytest.param(s, marks=pytest.mark.full) for s in range(4, 40))])
def test_random_arms(seed: int) -> None:
    """Prismatic, revolute and fixed joints, origins and both DH conventions."""
    assert_equal(random_arm(seed, 2 + seed % 6), "denoc", seed)


def test_random_arms_hold_every_kind() -> None:
    """The arms of the test above are not all alike."""
    arms = [random_arm(seed, 2 + seed % 6) for seed in range(4)]
    joints = [link.joint for arm in arms for link in arm.links]
    assert {joint.type for joint in joints} == {"revolute", "prismatic", "fixed"}
    assert {None if joint.dh is None else joint.dh.convention for joint in joints} == {None, "modified", "standard"}


@pytest.mark.slow_cases("10", "11", "1", "2", "3", "5", "6", "7", "9")
@pytest.mark.parametrize("seed", [*FEW, *(pytest.param(s, marks=pytest.mark.full) for s in MANY if s not in FEW)])
def test_random_trees(seed: int) -> None:
    """Branches, fixed and free bases, joints of every type, and frames on a tip and on a root."""
    robot = rigid_tree(seed, size(seed))
    assert_equal(robot, "denoc", seed, 3, ("eye0", "eye1"))


@pytest.mark.full
@pytest.mark.parametrize("seed", MANY[::6])
@pytest.mark.parametrize("formulation", OTHERS)
def test_random_trees_by_others(formulation: str, seed: int) -> None:
    """Likewise by the other formulations."""
    assert_equal(rigid_tree(seed, size(seed)), formulation, seed, 1, ())


def test_random_trees_hold_every_kind() -> None:
    """Few trees have everything, and they branch."""
    trees = [rigid_tree(seed, size(seed)) for seed in FEW]
    links = [link for tree in trees for link in tree.links]
    assert {link.joint.type for link in links} == set(JOINTS)
    assert {link.at for link in links} == {"tip", "root"}
    assert {tree.base.type for tree in trees} == {"fixed", "free"}
    assert {size(seed) for seed in MANY} == set(range(1, 13))
    assert sum(len({link.parent for link in tree.links}) < len(tree.links) for tree in trees) > 3
    assert max(len(tree.payloads) for tree in trees) > 2


@pytest.mark.full
def test_free_swing() -> None:
    """A run, not only states: 0.2 s of a falling arm, against a Runge-Kutta loop over Pinocchio's `aba`."""
    from .pinocchio_twin import twin

    robot = random_arm(2, 4)
    model = robot.model()
    peer = twin(robot).model
    data = peer.createData()
    h, steps = 1e-3, 200
    q, v = np.full(peer.nv, 0.3), np.zeros(peer.nv)
    run = pliant.simulate(model, h * steps, q0=q, method="rk4", step=h, output_step=h)
    for _ in range(steps):
        a1 = pin.aba(peer, data, q, v, 0 * v).copy()
        a2 = pin.aba(peer, data, q + h / 2 * v, v + h / 2 * a1, 0 * v).copy()
        a3 = pin.aba(peer, data, q + h / 2 * v + h * h / 4 * a1, v + h / 2 * a2, 0 * v).copy()
        a4 = pin.aba(peer, data, q + h * v + h * h / 2 * a2, v + h * a3, 0 * v).copy()
        q, v = q + h * v + h * h / 6 * (a1 + a2 + a3), v + h / 6 * (a1 + 2 * a2 + 2 * a3 + a4)
    assert np.abs(run.q[-1] - q).max() < 1e-10  # the same method: round-off of 200 steps
    assert np.abs(q - 0.3).max() > 0.05  # it does move
