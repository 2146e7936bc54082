"""Rigid arms against Pinocchio: inertia matrix, bias, accelerations, torques, tip frame and Jacobian to 1e-10.

Both do the same arithmetic in another order: a 6-joint arm gathers some hundred roundings, 1e-14 of the largest number;
1e-10 leaves room for the condition of M (1e4 for the PUMA, whose wrist has no mass).
"""

from __future__ import annotations

import numpy as np
import pytest

import pliant
from pliant import Joint, Link, Robot
from pliant.robot import DH, Lump, Origin, RigidBody

pin = pytest.importorskip("pinocchio", reason="pinocchio is not installed: pip install 'pliant[bench]'")

TOLERANCE = 1e-10
OTHERS = ("gibbs-appell", "recursive-lagrange", "lagrange")


def inertia(rng: np.random.Generator, mass: float) -> tuple[float, ...]:
    """Six numbers of a body of six random point masses."""
    points = rng.normal(size=(6, 3)) * 0.2
    points -= points.mean(axis=0)
    D = points.T @ points * mass / 6
    I = np.trace(D) * np.eye(3) - D
    return tuple(float(I[i, j]) for i, j in ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2)))


def lump(rng: np.random.Generator) -> Lump:
    mass = float(rng.uniform(0.1, 2.0))
    return Lump(mass=mass, com=tuple(rng.normal(size=3) * 0.1), inertia=inertia(rng, mass))


def place(rng: np.random.Generator, kind: str) -> dict[str, object]:
    """Where a joint stands: an origin, or a row of either DH convention."""
    if kind == "origin":
        axis = tuple(rng.normal(size=3))
        return {"axis": axis, "origin": Origin(xyz=tuple(rng.normal(size=3)), rpy=tuple(rng.normal(size=3)))}
    a, alpha, d, theta = (float(x) for x in rng.normal(size=4))
    return {"dh": DH(a=a if kind == "modified" else 0.0, alpha=alpha, d=d, theta=theta, convention=kind)}


def random_arm(seed: int, joints: int) -> Robot:
    """A spatial chain of revolute, prismatic and fixed joints, placed by origins and by DH rows, lumps everywhere."""
    rng = np.random.default_rng([7, seed])
    links = []
    for k in range(joints):
        kind = str(rng.choice(["revolute", "revolute", "prismatic", "fixed" if k else "revolute"]))
        row = "origin" if kind == "fixed" else str(rng.choice(["origin", "modified", "standard"]))
        mass = float(rng.uniform(0.5, 5.0))
        body = RigidBody(
            mass=mass, com=tuple(rng.normal(size=3) * 0.2), inertia=inertia(rng, mass),
            tip=tuple(rng.normal(size=3) * 0.5), tip_rpy=tuple(rng.normal(size=3)),
        )  # fmt: skip
        joint = Joint(type=kind, hub=lump(rng), **place(rng, row))
        links.append(Link(name=f"link{k}", joint=joint, rigid=body, tip=lump(rng)))
    return Robot(name=f"rigid {seed}", gravity=tuple(rng.normal(size=3) * 9), links=links, payload=lump(rng))


def assert_equal(robot: Robot, formulation: str, seed: int, states: int = 5) -> None:
    from .pinocchio_twin import twin

    model = robot.model(formulation)
    peer, tip = twin(robot)
    data = peer.createData()
    rng = np.random.default_rng(seed)
    assert peer.nv == model.n
    for _ in range(states):
        q, qd, qdd, tau = rng.normal(size=(4, model.n))
        M = pin.crba(peer, data, q).copy()
        M = np.triu(M) + np.triu(M, 1).T
        close(model.mass_matrix(q), M)
        close(model.bias(q, qd), pin.nle(peer, data, q, qd))
        close(model.inverse_dynamics(q, qd, qdd), pin.rnea(peer, data, q, qd, qdd))
        close(model.forward_dynamics(q, qd, tau), pin.aba(peer, data, q, qd, tau))
        pin.framesForwardKinematics(peer, data, q)
        close(model.tip_pose(q), data.oMf[tip].homogeneous)
        J = pin.computeFrameJacobian(peer, data, q, tip, pin.LOCAL_WORLD_ALIGNED).reshape(6, -1)
        close(model.jacobian(q), np.vstack([J[3:], J[:3]]))  # pliant: [angular; linear]


def close(ours: np.ndarray, theirs: np.ndarray) -> None:
    """To 1e-10 of the largest entry."""
    assert np.abs(ours - theirs).max() <= TOLERANCE * np.abs(theirs).max()


@pytest.mark.parametrize("formulation", ["denoc", *(pytest.param(name, marks=pytest.mark.full) for name in OTHERS)])
def test_puma(formulation: str) -> None:
    assert_equal(pliant.load("puma"), formulation, 0)


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


@pytest.mark.full
def test_free_swing() -> None:
    """A run, not only states: 0.2 s of a falling arm, against a Runge-Kutta loop over Pinocchio's `aba`."""
    from .pinocchio_twin import twin

    robot = random_arm(2, 4)
    model = robot.model()
    peer, _ = twin(robot)
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
