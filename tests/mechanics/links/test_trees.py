"""Trees: links on tips, roots and stations of others, joints of several axes, held against points and energies."""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np
import pytest

import pliant
from arms import random_state, sampled
from oracle import by_differences
from pliant.analysis.counts import tape_count
from pliant.errors import ModelError, UnsupportedModel
from pliant.mechanics import FORMULATIONS, Equations, build_chain
from pliant.model.states import read_state
from pliant.robot import BaseBody, Beam, BeamStation, Joint, Link, Origin, RigidBody, Robot, Shapes
from trees import random_tree, tree_state

AGREE = 1e-9
NONLINEAR = ("denoc", "gibbs-appell", "recursive-lagrange")


def terms(chain: Any, name: str, *functions: str) -> ca.Function:
    """M, forces of inertia, and what else is asked, by one formulation, on CasADi's virtual machine."""
    q, qd, x = ca.SX.sym("q", chain.n_q), ca.SX.sym("qd", chain.n), ca.SX.sym("x", chain.n)
    e = Equations(chain, FORMULATIONS[name])
    found = {
        "M": lambda: e.mass_matrix(q), "bias": lambda: e.bias(q, qd), "forward": lambda: e.accelerations(q, qd, x),
        "inverse": lambda: e.inverse_dynamics(q, qd, x),
    }  # fmt: skip
    return ca.Function("f", [q, qd, x], [found[f]() for f in functions])


def error(ours: Any, truth: Any) -> float:
    a, b = (np.squeeze(np.array(x, dtype=float)) for x in (ours, truth))
    return float(np.abs(a - b).max() / np.abs(b).max())


def agree(seed: int, stiffening: Any, flying: bool) -> None:
    robot = random_tree(seed, flying=flying)
    chain = build_chain(robot, stiffening=stiffening)
    state = tree_state(chain, seed)
    x = np.cos(np.arange(chain.n))
    M, bias = (np.array(found) for found in terms(chain, "lagrange", "M", "bias")(*state, x))
    given = M @ x + bias.ravel()
    for name in NONLINEAR:
        functions = ("M", "bias", "inverse", *(("forward",) if FORMULATIONS[name].forward is not None else ()))
        found = terms(chain, name, *functions)(*state, given if "forward" in functions else x)
        truth = [M, bias, given if "forward" not in functions else M @ given + bias.ravel(), x]
        for function, ours, right in zip(functions, found, truth):
            assert error(ours, right) < AGREE, (name, function, seed)


@pytest.mark.slow_cases("4")
@pytest.mark.parametrize("seed", sampled([0, 4, 5], 0, 4))
def test_formulations_agree_on_trees(seed: int) -> None:
    """Inertia, bias, inverse and forward dynamics of random trees with drives, by every nonlinear formulation."""
    agree(seed, "off", flying=False)


@pytest.mark.slow_cases("3")
@pytest.mark.parametrize("seed", sampled([1, 3, 7], 1, 3))
def test_formulations_agree_on_flying_trees(seed: int) -> None:
    """Likewise with spherical and free joints and free bases."""
    agree(seed, "off", flying=True)


@pytest.mark.parametrize(("seed", "flying"), [(40, False), pytest.param(43, True, marks=pytest.mark.full)])
def test_formulations_agree_on_stiffened_trees(seed: int, flying: bool) -> None:
    """Likewise with beams that are followed to second order."""
    agree(seed, "second-order", flying)


@pytest.mark.full
@pytest.mark.parametrize("seed", range(100))
def test_formulations_agree_on_many_trees(seed: int) -> None:
    """Every third with stiffening, every other one with quaternions."""
    agree(seed, "second-order" if seed % 3 == 0 else "off", flying=seed % 2 == 1)


def test_many_trees_hold_every_kind() -> None:
    """The trees of the tests above are not all alike, and the few are not without what is new."""
    many = [random_tree(seed, flying=seed % 2 == 1) for seed in range(100)]
    links = [link for tree in many for link in tree.links]
    assert len({link.joint.type for link in links}) == 8
    assert {link.shapes.method for link in links if link.shapes is not None} == {"modes", "elements"}
    assert any(isinstance(link.at, BeamStation) for link in links)
    assert sum(any(freedom.elastic for freedom in tree.freedoms.values()) for tree in many) > 30
    flying = [random_tree(seed, flying=True) for seed in (1, 3, 7, 43)]
    kinds = {link.joint.type for tree in flying for link in tree.links}
    assert {"spherical", "free"} <= kinds
    assert any(tree.base.is_free for tree in flying)


def points_agree(robot: Robot, seed: int) -> None:
    chain = build_chain(robot)
    q, speeds = tree_state(chain, seed)
    truth = by_differences(robot, chain, q, speeds)
    for ours, right in zip(terms(chain, "lagrange", "M", "bias")(q, speeds, speeds), truth):
        assert error(ours, right) < AGREE  # measured: 2e-11, what differences leave


def slender(robot: Robot, **inertia: Any) -> Robot:
    """The robot with beams whose sections have next to no inertia of their own, or the given one, and with modes that
    do not ask for it."""
    changes: dict[str, Any] = {}
    for link in robot.links:
        if link.beam is not None:
            own = inertia or {"rotary": None, "polar_inertia": 1e-13}
            changes |= {f"links.{link.name}.beam.{name}": value for name, value in own.items()}
        if link.shapes is not None and link.shapes.method == "modes":
            changes |= {
                f"links.{link.name}.shapes.boundary": "clamped-free",
                f"links.{link.name}.shapes.tip_load": None,
            }
    return robot.replace(changes)


@pytest.mark.slow_cases("3")
@pytest.mark.parametrize("seed", sampled(range(40), 3, 4))
def test_lagrange_on_trees_is_that_of_points(seed: int) -> None:
    """The judge against differences of positions and nothing else: spherical and free joints, free bases, beams that
    bend in both planes, twist and stretch, links on stations inside them."""
    points_agree(slender(random_tree(seed, drives=False, flying=True, damping=False)), seed)


def test_points_know_a_branch_inside_a_beam() -> None:
    """One tree with all of it: a free base, a beam bent in both planes and twisted, a ball joint at a station of it."""
    points_agree(branched(), 1)


def branched() -> Robot:
    beam = Beam(length=1.3, mass_per_length=2.1, EI_y=70.0, EI_z=160.0, GJ=45.0, polar_inertia=1e-13)
    shapes = Shapes(boundary="clamped-free", bending_y=2, bending_z=1, torsion=1)
    arm = Link(name="arm", joint=Joint(axis=(0.36, 0.48, 0.8)), beam=beam, shapes=shapes)
    ball = Joint(type="spherical", origin=Origin(xyz=(0.1, -0.2, 0.05), rpy=(0.4, -0.7, 1.1)))
    body = RigidBody(mass=1.4, com=(0.1, -0.2, 0.3), inertia=(0.05, 0.06, 0.08), tip=(0.2, 0.1, -0.3))
    side = Link(name="side", parent="arm", at=BeamStation(x=0.5), joint=ball, rigid=body)
    end = Link(name="end", parent="arm", joint=Joint(type="free", origin=Origin(rpy=(0.2, 0.1, -0.4))), rigid=body)
    base = BaseBody(type="free", mass=4.0, com=(0.1, 0.2, -0.1), inertia=(0.4, 0.5, 0.7))
    return Robot(name="branched", gravity=(1.5, -2.5, -9.0), links=[arm, side, end], base=base)


@pytest.mark.parametrize("seed", sampled(range(12), 1))
def test_rotary_inertia_of_straight_beams_is_that_of_points(seed: int) -> None:
    """With points around the axis: the whole inertia, and what velocities do to the joints, while beams are straight.
    Bent beams keep it to first order in the bending, so that their own velocity terms differ by as much."""
    robot = slender(
        random_tree(seed, drives=False, flying=True, damping=False), rotary=(0.004, 0.009), polar_inertia=0.013
    )
    chain = build_chain(robot)
    q, speeds = tree_state(chain, seed, deflection=0.0)
    M, bias = by_differences(robot, chain, q, speeds)
    ours = terms(chain, "lagrange", "M", "bias")(q, speeds, speeds)
    joints = [k for link in chain.links for k in link.joint_indices]
    assert error(ours[0], M) < AGREE
    assert error(np.array(ours[1])[joints], bias[joints]) < AGREE


@pytest.mark.slow_cases("0", "1", "2")
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


@pytest.mark.parametrize("what", ["spherical", "free", "base"])
def test_dual_screw_refuses_quaternions(what: str) -> None:
    """By the name of what it has not, and with those that have it."""
    robot = branched()
    if what != "base":
        joint = Joint(type=what)
        robot = Robot(name="ball", links=[robot.links[0].model_copy(update={"joint": joint, "parent": "base"})])
    with pytest.raises(UnsupportedModel, match=r"'dual-screw' does not support spherical and free joints; use .*denoc"):
        robot.model("dual-screw", stiffening="off")


def grown(copies: int) -> Robot:
    """Copies of a tree of three links that hang on each other anywhere."""
    first, rng = branched(), np.random.default_rng(3)
    links: list[Link] = []
    for k in range(copies):
        onto = links[int(rng.integers(len(links)))].name if links else "base"
        for link in first.links:
            parent = onto if link.parent is None else f"{link.parent}_{k}"
            links.append(link.model_copy(update={"name": f"{link.name}_{k}", "parent": parent}))
    return Robot(name="grown", links=links, base=first.base)


@pytest.mark.slow
@pytest.mark.parametrize("copies", [(1, 2, 3), pytest.param((8, 16, 33, 67), marks=pytest.mark.full)])
def test_cost_is_linear_in_links(copies: tuple[int, ...]) -> None:
    """Operations of the recursion on trees that grow, up to 200 links, with quaternions and flexible links."""
    chains = [build_chain(grown(number)) for number in copies]
    for function in ("forward dynamics", "inverse dynamics"):
        counts = [tape_count(chain, "denoc", function) for chain in chains]
        operations = [count.products + count.sums + (count.divisions or 0) for count in counts]
        slope = np.polyfit(np.log(copies), np.log(operations), 1)[0]
        assert 0.85 < slope <= 1.15


def test_a_side_branch_without_joints_is_a_lump() -> None:
    """A rigid branch on a fixed joint weighs like a lump: at the tip, at the root, and inside a rigid beam."""
    lump = pliant.robot.Lump(mass=0.7, com=(0.1, -0.2, 0.05), inertia=(0.01, 0.02, 0.015))
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
            ours, theirs = (getattr(r.model(stiffening="off", shapes="nominal"), name)(*args) for r in (tree, lumped))
            np.testing.assert_allclose(ours, theirs, atol=1e-12 * np.abs(theirs).max())


@pytest.mark.slow_cases("lagrange")
@pytest.mark.parametrize("formulation", ["denoc", "lagrange"])
def test_equal_panels_move_alike(formulation: str) -> None:
    """A free body with two equal panels, one turned by half a turn about z: swapped panels are the same satellite, and
    symmetric motion stays so."""
    panel = {
        "parent": "base", "beam": {"length": 1.7, "mass_per_length": 0.9, "EI_y": 14.0, "EI_z": 60.0, "GJ": 9.0,
                                   "polar_inertia": 0.01},
        "shapes": {"boundary": "clamped-free", "bending_y": 1, "bending_z": 2, "torsion": 1},
    }  # fmt: skip
    axis = {"axis": [1, 0, 0], "friction": {"viscous": 0.1}}
    robot = Robot.from_dict({
        "name": "satellite", "gravity": [0, 0, 0],
        "base": {"type": "free", "mass": 40.0, "inertia": [3.0, 5.0, 6.0]},
        "links": [
            {"name": "right", **panel, "joint": {**axis, "origin": {"xyz": [0.4, 0, 0]}}},
            {"name": "left", **panel, "joint": {**axis, "origin": {"xyz": [-0.4, 0, 0], "rpy": [0, 0, "pi"]}}},
        ],
    })  # fmt: skip
    model = robot.model(formulation, stiffening="off")
    right, left = ([name.startswith(side) for name in model.speeds] for side in ("right", "left"))
    q, speeds = tree_state(model.chain, 4)
    swap = np.arange(model.n)
    swap[right], swap[left] = np.flatnonzero(left), np.flatnonzero(right)
    at_rest = model.chain.rest()
    own = q[7:].copy()  # joints and amplitudes; the same numbers on both sides
    at_rest[7:][np.array(right)[6:]] = at_rest[7:][np.array(left)[6:]] = own[np.array(right)[6:]]
    M = model.mass_matrix(at_rest)
    # a half turn about z takes one panel to the other, and x, y of twist and velocity of the body to their negatives
    half = np.ones(model.n)
    half[:6] = -1, -1, 1, -1, -1, 1
    np.testing.assert_allclose(half[:, None] * M[np.ix_(swap, swap)] * half, M, atol=1e-12 * np.abs(M).max())
    bias = model.bias(at_rest, speeds)
    other = model.bias(at_rest, half * speeds[swap])
    np.testing.assert_allclose(half * other[swap], bias, atol=1e-12 * np.abs(bias).max())
    same = np.where(np.array(left), speeds[swap], speeds) * np.array(
        [False] * 2 + [True] + [False] * 2 + [True] * (model.n - 5)
    )
    found = model.forward_dynamics(at_rest, same, [0.7, 0.7])
    np.testing.assert_allclose(found[right], found[left], atol=1e-12 * np.abs(found).max())
    np.testing.assert_allclose(found[[0, 1, 3, 4]], 0.0, atol=1e-12 * np.abs(found).max())


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
    ({"links": [LINK, {"name": "side", "at": "middle", **BODY}]}, "tip, root, {x"),
    ({"links": [LINK, {"name": "side", "at": {"y": 1}, **BODY}]}, "tip, root, {x"),
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
    ({"links": [{**LINK, "joint": {"type": "planar", "axis": [1, 0, 0]}}]}, "planar joint has its directions by"),
    ({"links": [{**LINK, "joint": {"type": "cylindrical", "friction": {"viscous": 1}}}]}, "for each of its `axes`"),
    ({"links": [{**LINK, "joint": {"axes": [[0, 0, 1]]}}]}, "has no `axes`"),
    ({"links": [LINK, {"name": "side", **BODY, "joint": {"type": "free", "drive": {"rotor_inertia": 1}}}]},
     "link `side`.*a free joint has no axes, and no `drive`; remove it"),
    ({"links": [{**LINK, "joint": {"type": "spherical", "axis": [0, 1, 0]}}]}, "no `axis`; remove it"),
    ({"links": [{**LINK, "joint": {"type": "spherical", "axes": [[0, 1, 0]]}}]}, "no `axes`; remove it"),
    ({"links": [LINK], "base": {"mass": 2.0}}, "a fixed base has no mass.*remove them, or make it `type: free`"),
    ({"links": [LINK], "base": {"type": "free"}}, "missing key `mass`: a free base needs one; give it"),
    ({"links": [LINK], "base": {"type": "floating", "mass": 2.0}}, "got 'floating', expected 'fixed' or 'free'"),
    ({"links": [{**LINK, "name": "base"}], "base": {"type": "free", "mass": 2.0}}, "give the link another name"),
]  # fmt: skip


@pytest.mark.parametrize(("content", "message"), WRONG)
def test_wrong_trees_are_refused_by_name(content: dict[str, Any], message: str) -> None:
    with pytest.raises(ModelError, match=message) as caught:
        Robot.from_dict({"name": "wrong", **content})
    assert "\n" not in str(caught.value)


WRONG_STATES: list[tuple[str, Any, str]] = [
    ("q0", {"base": {"quaternion": [0, 0, 0, 0]}}, r"\['base'\]: got a quaternion of zero length, expected"),
    ("q0", {"side": [0, 0, 0, 0]}, r"q0\['side'\]: got a quaternion of zero length"),
    ("q0", {"base.qw": 0.0}, "q0: got a quaternion of zero length for 'base', expected"),
    ("q0", {"base": {"quaternion": [1, 0, 0]}}, r"\['quaternion'\]: got \[1, 0, 0\], expected .* shape \(4,\)"),
    ("q0", {"base": {"rotation": np.ones((3, 3))}}, "got a matrix that is no rotation, expected an orthonormal"),
    ("q0", {"side": {"rotation": np.diag([1, 1, -1])}}, r"\['side'\]: got a matrix that is no rotation.*right-handed"),
    ("q0", {"base": {"position": [1, 2]}}, r"\['position'\]: got \[1, 2\], expected finite numbers of shape \(3,\)"),
    ("q0", {"base": {"rpy": ["north", 0, 0]}}, r"\['rpy'\]: got \['north', 0, 0\], expected finite numbers"),
    ("q0", {"base": {"rpy": [0, 0, 0], "quaternion": [1, 0, 0, 0]}}, "one turn at most"),
    ("q0", {"base": {"angles": 1}}, "got angles, expected position, rpy, quaternion, rotation"),
    ("qd0", {"base": {"speed": [1, 2, 3]}}, r"qd0\['base'\]: got speed, expected angular, linear"),
    ("qd0", {"base": [1, 2, 3]}, r"qd0\['base'\]: got list, expected angular, linear"),
    ("qd0", {"side": [1, 2]}, r"\['angular'\]: got \[1, 2\], expected finite numbers of shape \(3,\)"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "given", "message"), WRONG_STATES)
def test_wrong_poses_are_refused_by_name(name: str, given: Any, message: str) -> None:
    with pytest.raises(ModelError, match=message) as caught:
        read_state(branched().model(stiffening="off"), given, name)
    assert "\n" not in str(caught.value)


def test_poses_may_be_given_in_part() -> None:
    """What is not given is that of the arm at rest."""
    model = branched().model(stiffening="off")
    q = dict(zip(model.coordinates, read_state(model, {"base": {"position": [1, 2, 3]}, "side": [0, 0, 2, 0]}, "q0")))
    assert [q[f"base.{x}"] for x in ("x", "y", "z", "qw", "qx")] == [1, 2, 3, 1, 0]
    assert [q[f"side.{x}"] for x in ("qw", "qx", "qy", "qz")] == [0, 0, 1, 0]


def test_quaternions_of_zero_length_are_refused_in_arrays() -> None:
    model = branched().model(stiffening="off")
    q = model.chain.rest()
    q[3] = 0.0
    with pytest.raises(ModelError, match="q0: got a quaternion of zero length for 'base', expected"):
        read_state(model, q, "q0")


def test_frames_bend_with_their_links() -> None:
    """Poses and Jacobians of frames on a station, a root and a tip, against differences of the poses."""
    robot = random_tree(8, all_flexible=True)
    link = next(link for link in robot.links if link.bends)
    frames = [
        {"name": "eye", "link": link.name, "x": 0.5, "origin": {"xyz": [1, -2, 3], "rpy": [1, 2, -1]}},
        {"name": "foot", "link": link.name, "at": "root", "origin": {"xyz": [0, 0.1, 0]}},
        {"name": "hand", "link": link.name, "origin": {"rpy": [0, 0, 1.2]}},
    ]  # fmt: skip
    model = Robot.from_dict({**robot.to_dict(), "frames": frames}).model(stiffening="off")
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


@pytest.mark.slow_cases("11", "16")
@pytest.mark.parametrize("seed", sampled(range(100), 11, 16))
def test_energy_balance_of_a_tree(seed: int) -> None:
    """Drives, damping, branches inside beams, every kind of joint, free bases: what is gained is what was done."""
    model = random_tree(seed, 2 + seed % 3, flying=seed % 2 == 0).model(stiffening="off")
    q, qd = tree_state(model.chain, seed, deflection=1e-3)
    tau = np.random.default_rng(seed).normal(size=model.n_joints)
    run = pliant.simulate(model, 0.05, q0=q, qd0=qd, torque=tau, rtol=1e-9, atol=1e-11, limits=False)
    assert np.abs(run.energy_balance).max() < 1e-7 * np.abs(run.energy.kinetic).max()


def test_a_tree_is_kept_by_its_file(tmp_path: Any) -> None:
    robot = random_tree(5)
    robot.save(tmp_path / "tree.yaml")
    again = pliant.load(tmp_path / "tree.yaml")
    assert again == robot
    assert again.digest() == robot.digest()
    assert isinstance(Link(name="a", at={"x": 0.2}, **BODY).at, BeamStation)
    assert "hangs on" in str(robot)


@pytest.mark.slow_cases("at2")
@pytest.mark.parametrize("at", ["tip", "root", {"x": 0.5}])
def test_links_hang_where_they_say(at: Any) -> None:
    """The root of a link on a fixed joint is the frame of the same place, however the beam bends."""
    beam = {**LINK, "beam": {**LINK["beam"], "EI_y": 40.0}, "shapes": {"bending_y": 2, "bending_z": 1}}
    side = {"name": "side", "at": at, "joint": {"type": "fixed"}, **BODY}
    robot = Robot.from_dict(
        {"name": "hung", "links": [beam, side], "frames": [{"name": "seat", "link": "arm", "at": at}]}
    )
    model = robot.model(stiffening="off")
    q = np.array([0.7, 0.05, -0.02, 0.04])
    np.testing.assert_allclose(model.pose(q, frame="side.root"), model.pose(q, frame="seat"), atol=1e-14)
    away = {"tip": 1.3, "root": 0.0}[at] if isinstance(at, str) else 0.5
    assert np.linalg.norm(model.pose(q, frame="side.root")[:3, 3]) == pytest.approx(away, abs=0.02)
