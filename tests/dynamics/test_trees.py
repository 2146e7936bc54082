"""Trees: links on tips, roots and stations of others, joints of several axes, held against points and energies."""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np
import pytest

import pliant
from arms import random_state
from oracle import oracle
from pliant.dynamics import FORMULATIONS, Equations, build_chain
from pliant.errors import ModelError
from pliant.robot import BeamStation, Link, Robot
from trees import random_tree

AGREE = 1e-9
NO_SPIN = {"rotary": None, "polar_inertia": 0.0}
NONLINEAR = ("denoc", "gibbs-appell", "recursive-lagrange")


def terms(chain: Any, name: str, *functions: str) -> ca.Function:
    """M, forces of inertia, and what else is asked, by one formulation, on CasADi's virtual machine."""
    q, qd, x = (ca.SX.sym(s, chain.n) for s in ("q", "qd", "x"))
    e = Equations(chain, FORMULATIONS[name])
    found = {
        "M": lambda: e.mass_matrix(q), "bias": lambda: e.bias(q, qd), "forward": lambda: e.accelerations(q, qd, x),
        "inverse": lambda: e.inverse_dynamics(q, qd, x),
    }  # fmt: skip
    return ca.Function("f", [q, qd, x], [found[f]() for f in functions])


def error(ours: Any, truth: Any) -> float:
    a, b = (np.squeeze(np.array(x, dtype=float)) for x in (ours, truth))
    return float(np.abs(a - b).max() / np.abs(b).max())


def agree(seed: int, stiffening: Any) -> None:
    robot = random_tree(seed)
    chain = build_chain(robot, stiffening=stiffening)
    state = random_state(robot, chain.n, chain.n_joints, seed, deflection=0.02)[:2]
    x = np.cos(np.arange(chain.n))
    M, bias = terms(chain, "lagrange", "M", "bias")(*state, x)
    given = M @ x + bias
    for name in NONLINEAR:
        functions = ("M", "bias", "inverse", *(("forward",) if FORMULATIONS[name].forward is not None else ()))
        found = terms(chain, name, *functions)(*state, given if "forward" in functions else x)
        truth = [M, bias, given if "forward" not in functions else M @ given + bias, x]
        for function, ours, right in zip(functions, found, truth):
            assert error(ours, right) < AGREE, (name, function, seed)


@pytest.mark.parametrize("seed", range(6))
def test_formulations_agree_on_trees(seed: int) -> None:
    """Inertia, bias, inverse and forward dynamics of random trees with drives, by every nonlinear formulation."""
    agree(seed, False)


@pytest.mark.parametrize("seed", range(2))
def test_formulations_agree_on_stiffened_trees(seed: int) -> None:
    """Likewise with beams that are followed to second order."""
    agree(seed + 40, "second-order")


@pytest.mark.full
@pytest.mark.parametrize("seed", range(6, 100))
def test_formulations_agree_on_many_trees(seed: int) -> None:
    """Every third with stiffening."""
    agree(seed, "second-order" if seed % 3 == 0 else False)


@pytest.mark.parametrize("seed", range(5))
def test_lagrange_on_trees_is_that_of_points(seed: int) -> None:
    """The judge against positions of material points and nothing else."""
    robot = random_tree(seed + 100, bending_only=True, drives=False)
    robot = robot.replace({f"links.{link.name}.beam.rotary": None for link in robot.links if link.beam is not None})
    robot = robot.replace(
        {f"links.{link.name}.beam.polar_inertia": 0.0 for link in robot.links if link.beam is not None}
    )
    chain = build_chain(robot)
    q, qd, _ = random_state(robot, chain.n, chain.n_joints, seed, deflection=0.02)
    M, h, _ = oracle(robot, chain)(q, qd)
    found = terms(chain, "lagrange", "M", "bias")
    still = np.zeros(chain.n)
    ours, bias = found(q, qd, still)
    Q, Qd = ca.SX.sym("q", chain.n), ca.SX.sym("qd", chain.n)
    from pliant.dynamics.forces import passive

    rest = ca.Function("passive", [Q, Qd], [passive(chain, Q, Qd)])(q, qd)
    assert error(ours, M) < AGREE
    assert error(bias - rest, h) < AGREE


@pytest.mark.parametrize("seed", range(4))
def test_dual_screw_carries_trees_to_first_order(seed: int) -> None:
    """Its equations are linear in the amplitudes and their rates: what it errs by falls with the square of both."""
    robot = random_tree(seed + 20, drives=False)
    chain = build_chain(robot)
    both = [terms(chain, name, "M", "bias") for name in ("lagrange", "dual-screw")]
    whole, rates, _ = random_state(robot, chain.n, chain.n_joints, seed, deflection=1.0)
    small = np.array([name.count(".") < 2 for name in chain.coordinates])
    errors = []
    for size in (1e-3, 1e-4):
        scale = np.where(small, 1.0, size)
        truth, ours = (f(whole * scale, rates * scale, rates) for f in both)
        errors.append([float(ca.norm_inf(ca.vec(a - b))) for a, b in zip(ours, truth)])
    for before, after in zip(*errors):
        assert after < 1e-11 or after < before / 50


def test_a_side_branch_without_joints_is_a_lump() -> None:
    """A rigid branch on a fixed joint weighs like a lump: at the tip, at the root, and inside a rigid beam."""
    lump = pliant.Lump(mass=0.7, com=(0.1, -0.2, 0.05), inertia=(0.01, 0.02, 0.015))
    branch = pliant.RigidBody(mass=0.7, com=(0.1, -0.2, 0.05), inertia=(0.01, 0.02, 0.015))
    fixed = pliant.Joint(type="fixed")
    for place, where in (("tip", "tip"), ("root", "joint.hub")):
        robot = pliant.load("two-link")
        side = Link(name="side", parent="upper", at=place, joint=fixed, rigid=branch)
        tree = Robot.from_dict({**robot.to_dict(), "links": [*robot.links, side], "payload": {"link": "fore"}})
        lumped = robot.replace({f"links.upper.{where}": lump})
        for name in ("mass_matrix", "bias"):
            q = np.array([0.3, -0.5, 0.02, -0.01])
            args = (q,) if name == "mass_matrix" else (q, np.array([0.7, -1.1, 0.3, 0.2]))
            ours, theirs = (getattr(r.model(stiffening=False, shapes="nominal"), name)(*args) for r in (tree, lumped))
            if place == "root":  # at the tip it shapes the modes of the beam alike as well
                np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-12)
            else:
                np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-9)


def test_order_of_the_file_does_not_matter() -> None:
    """Links may stand before the ones that carry them."""
    robot = random_tree(3)
    shuffled = [link if link.parent or not k else link.model_copy(update={"parent": robot.links[k - 1].name})
                for k, link in enumerate(robot.links)]  # fmt: skip
    shuffled[0] = shuffled[0].model_copy(update={"parent": "base"})
    loads = [load.model_copy(update={"link": load.link or robot.links[-1].name}) for load in robot.payloads]
    other = Robot(name="shuffled", gravity=robot.gravity, links=shuffled[::-1], payload=loads)
    a, b = (build_chain(r) for r in (robot, other))
    place = [b.coordinates.index(name) for name in a.coordinates]
    q, qd, _ = random_state(robot, a.n, a.n_joints, 3)
    M, bias = terms(a, "denoc", "M", "bias")(q, qd, qd)
    there = np.zeros((2, a.n))
    there[:, place] = q, qd
    other_M, other_bias = terms(b, "denoc", "M", "bias")(*there, there[1])
    assert error(np.array(other_M)[np.ix_(place, place)], M) < 1e-12
    assert error(np.array(other_bias).ravel()[place], np.array(bias).ravel()) < 1e-12


LINK = {"name": "arm", "beam": {"length": 1.3, "mass_per_length": 2.0, "EI_z": 90.0}, "shapes": {"bending_y": 1}}
BODY = {"rigid": {"mass": 0.4, "com": [0.1, 0.0, 0.0], "inertia": [0.01, 0.01, 0.01]}}
WRONG: list[tuple[dict[str, Any], str]] = [
    ({"links": [LINK, {"name": "side", "parent": "arn", **BODY}]}, "`arn`, which is not there.*arm"),
    ({"links": [{**LINK, "parent": "side"}, {"name": "side", "parent": "arm", **BODY}]}, "lead back to itself"),
    ({"links": [{**LINK, "parent": "arm"}]}, "lead back to itself"),
    ({"links": [LINK, {"name": "side", "at": {"x": 1.5}, **BODY}]}, "beyond the 1.3 m of link `arm`"),
    ({"links": [LINK, {"name": "side", "at": "middle", **BODY}]}, "tip, root or"),
    ({"links": [LINK, {"name": "side", "at": {"y": 1}, **BODY}]}, "tip, root or"),
    ({"links": [LINK, LINK]}, "different names"),
    ({"links": [{**LINK, "at": {"x": 0.1}}]}, "base, which has no stations"),
    ({"links": [{"name": "a", **BODY}, {"name": "b", "at": {"x": 0.1}, **BODY}]}, "which is no beam"),
    ({"links": [LINK], "payload": {"link": "hand", "mass": 1}}, "payload on link `hand`, which is not there"),
    ({"links": [LINK], "frames": [{"name": "eye", "link": "hand"}]}, "frame `eye` on link `hand`"),
    ({"links": [LINK], "frames": [{"name": "eye", "link": "arm", "x": 2.0}]}, "beyond the 1.3 m"),
    ({"links": [LINK], "frames": [{"name": "eye", "link": "arm", "x": 1.0, "at": "root"}]}, "`x` and `at`"),
    ({"links": [LINK], "frames": [{"name": "eye", "link": "arm"}] * 2}, "`eye` is taken"),
    ({"links": [{**LINK, "joint": {"type": "universal", "axes": [[0, 0, 1]]}}]}, "has 2 `axes`, not 1"),
    ({"links": [{**LINK, "joint": {"type": "universal", "axes": [[0, 0, 1], [0, 0, 2]]}}]}, "parallel"),
    ({"links": [{**LINK, "joint": {"type": "planar", "axis": [1, 0, 0]}}]}, "moves across z"),
    ({"links": [{**LINK, "joint": {"type": "cylindrical", "friction": {"viscous": 1}}}]}, "for each of its `axes`"),
    ({"links": [{**LINK, "joint": {"axes": [[0, 0, 1]]}}]}, "has no `axes`"),
]  # fmt: skip


@pytest.mark.parametrize(("content", "message"), WRONG)
def test_wrong_trees_are_refused_by_name(content: dict[str, Any], message: str) -> None:
    with pytest.raises(ModelError, match=message) as caught:
        Robot.from_dict({"name": "wrong", **content})
    assert "\n" not in str(caught.value)


def test_frames_bend_with_their_links() -> None:
    """Poses and Jacobians of frames on a station, a root and a tip, against differences of the poses."""
    robot = random_tree(8, all_flexible=True)
    link = next(link for link in robot.links if link.bends)
    frames = [
        {"name": "eye", "link": link.name, "x": 0.5, "origin": {"xyz": [1, -2, 3], "rpy": [1, 2, -1]}},
        {"name": "foot", "link": link.name, "at": "root", "origin": {"xyz": [0, 0.1, 0]}},
        {"name": "hand", "link": link.name, "origin": {"rpy": [0, 0, 1.2]}},
    ]  # fmt: skip
    model = Robot.from_dict({**robot.to_dict(), "frames": frames}).model(stiffening=False)
    q, qd, _ = random_state(robot, model.n, model.n_joints, 1)
    h = 1e-6
    for frame in ("eye", "foot", "hand", f"{link.name}.root", f"{link.name}.tip", "tip"):
        before, here, after = (model.pose(q + s * h * qd, frame=frame) for s in (-1, 0, 1))
        rate = (after - before) / (2 * h)
        turning = rate[:3, :3] @ here[:3, :3].T
        expected = np.array([turning[2, 1], turning[0, 2], turning[1, 0], *rate[:3, 3]])
        np.testing.assert_allclose(model.velocity(q, qd, frame=frame), expected, atol=1e-6 * np.abs(expected).max())
    assert np.array_equal(model.pose(q), model.tip_pose(q))
    assert np.array_equal(model.pose(q, frame="base"), np.eye(4))
    with pytest.raises(ModelError, match="frame: got 'hnd'"):
        model.pose(q, frame="hnd")


def test_energy_balance_of_a_tree() -> None:
    """Drives, damping, a branch inside a beam, a universal joint: what is gained is what was done."""
    robot = random_tree(11)
    model = robot.model(stiffening=False)
    q, qd, tau = random_state(robot, model.n, model.n_joints, 11, deflection=0.001)
    q = model.chain.followed(q)
    run = pliant.simulate(model, 0.2, q0=q, qd0=qd, torque=tau, rtol=1e-9, atol=1e-11)
    assert np.abs(run.energy_balance).max() < 1e-7 * np.abs(run.energy.kinetic).max()


def test_a_tree_is_kept_by_its_file(tmp_path: Any) -> None:
    robot = random_tree(5)
    robot.save(tmp_path / "tree.yaml")
    again = pliant.load(tmp_path / "tree.yaml")
    assert again == robot
    assert again.digest() == robot.digest()
    assert isinstance(Link(name="a", at={"x": 0.2}, **BODY).at, BeamStation)
    assert "hangs on" in str(robot)


@pytest.mark.parametrize("at", ["tip", "root", {"x": 0.5}])
def test_links_hang_where_they_say(at: Any) -> None:
    """The root of a link on a fixed joint is the frame of the same place, however the beam bends."""
    beam = {**LINK, "beam": {**LINK["beam"], "EI_y": 40.0}, "shapes": {"bending_y": 2, "bending_z": 1}}
    side = {"name": "side", "at": at, "joint": {"type": "fixed"}, **BODY}
    robot = Robot.from_dict(
        {"name": "hung", "links": [beam, side], "frames": [{"name": "seat", "link": "arm", "at": at}]}
    )
    model = robot.model(stiffening=False)
    q = np.array([0.7, 0.05, -0.02, 0.04])
    np.testing.assert_allclose(model.pose(q, frame="side.root"), model.pose(q, frame="seat"), atol=1e-14)
    away = {"tip": 1.3, "root": 0.0}[at] if isinstance(at, str) else 0.5
    assert np.linalg.norm(model.pose(q, frame="side.root")[:3, 3]) == pytest.approx(away, abs=0.02)
