"""The 4x4 recursion against the energy judge, and its own pieces against their definitions."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import casadi as ca
import numpy as np
import pytest

from arms import random_robot, random_state
from pliant.algebra.inertia import Inertia
from pliant.mechanics import Chain, build_chain
from pliant.mechanics.formulations import denoc, denoc_matrices, lagrange
from pliant.mechanics.formulations import recursive_lagrange as book
from pliant.mechanics.formulations import recursive_lagrange as transforms
from pliant.mechanics.formulations.motion_equations import Equations, Formulation
from pliant.mechanics.links import kinematics
from pliant.mechanics.links.chain import BaseMotion
from pliant.mechanics.links.maps.link_maps import Moments
from pliant.robot import Beam, Joint, Link, Lump, Origin, RigidBody, Robot, Shapes

AGREEMENT = 1e-9  # relative, required of every formulation; measured 1e-15, and 5e-11 after solving with cond(M) = 1e5
PAIR = ("book", "lagrange")
LINKS_BEYOND_FLEXIBLE_ONES = (0, 2, 3)  # seeds whose robots have at least two links
SOURCES = {"book": book, "lagrange": lagrange, "denoc": denoc}


def functions(chain: Chain, name: str) -> ca.Function:
    """M and bias of (q, qd), rotors, strain and damping included."""
    source = SOURCES[name]
    equations = Equations(chain, Formulation(name, "", source.mass_matrix, source.inertial_forces))
    q, qd = ca.SX.sym("q", chain.n), ca.SX.sym("qd", chain.n)
    return ca.Function(name, [q, qd], [equations.mass_matrix(q), equations.bias(q, qd)])


def errors(found: list[ca.DM], expected: list[ca.DM]) -> np.ndarray:
    return np.array([np.linalg.norm(np.array(a - b)) / np.linalg.norm(np.array(b)) for a, b in zip(found, expected)])


def check(seed: int, stiffening: bool, drives: bool) -> None:
    """M, bias and the accelerations that follow from them."""
    robot = random_robot(seed, drives=drives)
    chain = build_chain(robot, stiffening=stiffening)
    q, qd, tau = random_state(robot, chain.n, chain.n_joints, seed)
    applied = ca.evalf(ca.mtimes(chain.actuation(), ca.SX(ca.DM(tau))))
    found, expected = ([*f, ca.solve(f[0], applied - f[1])] for f in (functions(chain, n)(q, qd) for n in PAIR))
    assert (errors(found, expected) < AGREEMENT).all(), errors(found, expected)


@pytest.mark.slow_cases("0", "3")
@pytest.mark.parametrize("seed", range(4))
def test_agrees_with_lagrange(seed: int) -> None:
    check(seed, stiffening="off", drives=seed % 2 == 1)


@pytest.mark.parametrize("seed", [pytest.param(100, marks=pytest.mark.full), 101])
def test_agrees_with_lagrange_when_shortening_stiffens(seed: int) -> None:
    check(seed, stiffening="second-order", drives=False)


def test_agrees_with_lagrange_on_a_moving_base() -> None:
    robot = random_robot(4)
    still = build_chain(robot)
    rng = np.random.default_rng(4)
    chain = replace(still, base=BaseMotion(*(ca.SX(ca.DM(rng.normal(size=3))) for _ in range(3))))
    q, qd, _ = random_state(robot, chain.n, chain.n_joints, 4)
    found, expected = (functions(chain, name)(q, qd) for name in PAIR)
    assert (errors(found, expected) < AGREEMENT).all()
    assert errors(found, functions(still, "book")(q, qd))[1] > 1e-2  # the base does matter


def test_agrees_with_lagrange_on_a_sliding_beam() -> None:
    """Beyond the paper: a beam that slides out of its hub on the tip of a bending and twisting one."""
    beam = Beam(length=1.0, mass_per_length=4.0, EI_y=90, EI_z=100, GJ=80, EA=1e5, polar_inertia=0.05)
    first = Link(name="first", beam=beam, shapes=Shapes(bending_y=1, bending_z=1, torsion=1))
    sliding = Link(
        name="sliding",
        joint=Joint(type="prismatic", axis=(1, 0, 0), origin=Origin(rpy=(0.3, 1.0, 0.2))),
        beam=Beam(length=0.6, mass_per_length=2.0, EI_y=90, EI_z=100, GJ=80, EA=1e5, slides=True, total_length=1.3),
        shapes=Shapes(bending_y=2, bending_z=1),
        tip=Lump(mass=0.3, inertia=(0.1, 0.1, 0.1)),
    )
    chain = build_chain(Robot(name="sliding", gravity=(1.0, -9.0, 2.0), links=[first, sliding]))
    rng = np.random.default_rng(0)
    q = rng.normal(size=chain.n) * 0.05
    q[:2] = 0.5, 0.7
    found, expected = (functions(chain, name)(q, np.linspace(-1.0, 1.0, chain.n)) for name in PAIR)
    assert (errors(found, expected) < AGREEMENT).all()


@pytest.mark.full
@pytest.mark.random
@pytest.mark.parametrize("seed", [*range(4, 8), *range(200, 300)])
def test_agrees_with_lagrange_on_many_robots(seed: int) -> None:
    check(seed, stiffening="second-order" if seed % 5 == 0 else "off", drives=seed % 2 == 1)


@pytest.mark.slow_cases("0-exact", "0-linear", "2-exact", "2-linear", "3-exact", "3-linear")
@pytest.mark.parametrize("rotation", ["exact", "linear"])
@pytest.mark.parametrize("seed", range(4))
def test_inverse_dynamics_is_mass_times_acceleration_plus_remainders(seed: int, rotation: str) -> None:
    robot = random_robot(seed, drives=True)
    chain = build_chain(robot, rotation=rotation)
    q, qd, qdd = (ca.SX.sym(name, chain.n) for name in ("q", "qd", "qdd"))
    whole = book.inverse_dynamics(chain, q, qd, qdd)
    parts = ca.mtimes(book.mass_matrix(chain, q), qdd) + book.inertial_forces(chain, q, qd)
    x, v, _ = random_state(robot, chain.n, chain.n_joints, seed)
    found, expected = ca.Function("f", [q, qd, qdd], [whole, parts])(x, v, np.cos(np.arange(chain.n)))
    assert errors([found], [expected])[0] < 1e-12  # the same sums in another order


@pytest.mark.slow_cases("2", "3")
@pytest.mark.parametrize("seed", LINKS_BEYOND_FLEXIBLE_ONES)
def test_linear_rotation_differs_by_second_order(seed: int) -> None:
    """1 + theta^ is not orthonormal: halving all elastic states must quarter the distance to the other recursion."""
    robot = random_robot(seed, all_flexible=True)
    chain = build_chain(robot, rotation="linear")
    q, qd, _ = random_state(robot, chain.n, chain.n_joints, seed, deflection=1.0)
    ours, theirs, judge = (functions(chain, name) for name in ("book", "denoc", "lagrange"))
    distance = []
    for scale in (4e-4, 2e-4):
        elastic = np.where(np.arange(chain.n) < chain.n_joints, 1.0, scale)
        M, h = ours(q * elastic, qd * elastic)
        M_theirs, h_theirs = theirs(q * elastic, qd * elastic)
        M_judge, _ = judge(q * elastic, qd * elastic)
        distance.append([float(ca.norm_fro(x)) for x in (M - M_theirs, h - h_theirs, M - M_judge)])
    ratios = np.array(distance[0]) / np.array(distance[1])
    assert (ratios > 3.8).all(), ratios  # 4 in the limit


# ------------------------------------------------------------------------------------------------ the pieces


@pytest.mark.parametrize("seed", range(4))
def test_transforms_are_time_derivatives(seed: int) -> None:
    """W from the placements; Wd, Wdd by automatic differentiation along the motion, without gravity."""
    robot = random_robot(seed).replace({"gravity": (0.0, 0.0, 0.0)})
    chain = build_chain(robot)
    q, qd, qdd = (ca.SX.sym(name, chain.n) for name in ("q", "qd", "qdd"))
    last = transforms.outward(chain, q, qd, qdd)[-1].ports[0]
    W = kinematics.tip_pose(chain, q)
    Wd = ca.jtimes(W, q, qd)
    Wdd = ca.jtimes(Wd, q, qd) + ca.jtimes(Wd, qd, qdd)
    f = ca.Function("f", [q, qd, qdd], [last.W, last.Wdd, W, Wdd])
    x, v, _ = random_state(robot, chain.n, chain.n_joints, seed, deflection=0.2)
    W_tip, Wdd_tip, pose, second = f(x, v, np.sin(np.arange(chain.n)))
    assert errors([W_tip, Wdd_tip], [pose, second]).max() < 1e-12


@pytest.mark.parametrize("seed", range(4))
def test_partial_transforms_are_derivatives_of_the_tip(seed: int) -> None:
    """P_j and P_jf of the last link are d W / d q and d W^ / d c."""
    robot = random_robot(seed, all_flexible=True)
    chain = build_chain(robot)
    q = ca.SX.sym("q", chain.n)
    last = transforms.outward(chain, q, ca.SX.zeros(chain.n))[-1]
    found, expected = [], []
    for index, P in zip(last.link.body_indices, last.ports[0].P):
        found.append(P)
        expected.append(ca.reshape(ca.jacobian(last.ports[0].W[:3, :], q[index]), 3, 4))
    for index, P in zip(last.link.joint_indices, last.P_joint):
        found.append(P)
        expected.append(ca.reshape(ca.jacobian(last.W[:3, :], q[index]), 3, 4))
    f = ca.Function("f", [q], [ca.vertcat(*found), ca.vertcat(*expected)])
    x, _, _ = random_state(robot, chain.n, chain.n_joints, seed, deflection=0.2)
    assert errors([f(x)[0]], [f(x)[1]])[0] < 1e-12


def test_pseudo_inertia_of_points() -> None:
    rng = np.random.default_rng(0)
    r, m = rng.normal(size=(7, 3)), rng.uniform(1, 2, 7)
    h = np.hstack([r, np.ones((7, 1))])
    moments = Moments(m.sum(), ca.SX(ca.DM(m @ r)), ca.SX(ca.DM(r.T @ (m[:, None] * r))))
    assert np.array(ca.evalf(transforms.pseudo_inertia(moments))) == pytest.approx(h.T @ (m[:, None] * h), rel=1e-14)


def test_rotary_coupling_is_the_antisymmetric_part_of_the_modal_inertia() -> None:
    """tr(omega^ H_f) = omega . (int r x phi_f + spin_f)."""
    rng = np.random.default_rng(1)
    H, spin, omega = rng.normal(size=(3, 3)), rng.normal(size=(3, 1)), rng.normal(size=3)
    moments = Moments(1.0, ca.SX(3, 1), ca.SX(3, 3), eps=ca.SX(3, 1), H=[ca.SX(ca.DM(H))], spin=ca.SX(ca.DM(spin)))
    modal = np.array(ca.evalf(transforms.modal_inertia(moments, 0)))
    expected = omega @ np.array(ca.evalf(moments.coupling()))[:, 0]
    assert np.trace(np.array(ca.skew(ca.DM(omega))) @ modal[:3]) == pytest.approx(expected, rel=1e-13)


@pytest.mark.parametrize("seed", range(4))
def test_intermediates_are_those_of_the_other_recursion(seed: int) -> None:
    """Angular velocity in W^T Wd; composite inertia in the pseudo-inertia F_h and in M~_h of [MS07] (28)."""
    robot = random_robot(seed)
    chain = build_chain(robot)
    x, v, _ = random_state(robot, chain.n, chain.n_joints, seed)
    q, qd = ca.SX(ca.DM(x)), ca.SX(ca.DM(v))
    links, motions = transforms.outward(chain, q, qd), denoc.outward_motion(chain, q, qd, None)
    blocks = denoc_matrices.link_blocks(chain, q)
    composite = None
    for h in reversed(range(len(links))):
        R, Rd = links[h].W[:3, :3], links[h].Wd[:3, :3]
        turning = ca.evalf(ca.mtimes(R.T, Rd) - ca.skew(motions[h].omega))
        assert float(ca.norm_inf(turning)) < 1e-12
        beyond = 0 if composite is None else ca.mtimes([blocks[h + 1].A.T, composite, blocks[h + 1].A])
        composite = blocks[h].M + beyond
        F = book.composites(chain, links)[h][1]
        ours = Inertia.rigid(F[3, 3], F[:3, 3], F[:3, :3]).matrix
        assert errors([ca.evalf(ours)], [ca.evalf(composite[:6, :6])])[0] < 1e-12


MASS, PLACE = 1.7, (0.2, -0.1, 0.3)


def arm(hub: Lump | None = None, tip: Lump | None = None) -> Robot:
    shapes = Shapes(boundary="clamped-free", bending_y=2, bending_z=1, torsion=1)
    beam = Beam(length=1.2, mass_per_length=2.0, EI_y=100, EI_z=120, GJ=80, EA=1e5, polar_inertia=0.02)
    first = Link(name="first", joint=Joint(origin=Origin(rpy=(0.3, 0.2, 0.1))), beam=beam, shapes=shapes)
    joint = Joint(axis=(0, 1, 0), origin=Origin(xyz=(0.1, 0.2, 0.0)), hub=hub or Lump())
    second = Link(name="second", joint=joint, beam=beam, shapes=shapes, tip=tip or Lump())
    return Robot(name="arm", links=[first, second])


@pytest.mark.parametrize("case", [2, 3])
def test_lumped_masses_add_what_their_points_add(case: int) -> None:
    """[ZZZ] cases 2 and 3: a point mass adds m J^T J, J from the position of the point by automatic differentiation."""
    lump = Lump(mass=MASS, com=PLACE)
    loaded = build_chain(arm(hub=lump) if case == 2 else arm(tip=lump))
    bare = build_chain(arm())
    q = ca.SX.sym("q", bare.n)
    *_, place = kinematics.placements(bare, q)
    point = (
        place.p + ca.mtimes(place.R, ca.DM(PLACE)) if case == 2 else place.p_tip + ca.mtimes(place.R_tip, ca.DM(PLACE))
    )
    J = ca.jacobian(point, q)
    added = book.mass_matrix(loaded, q) - book.mass_matrix(bare, q)
    found, expected = ca.Function("f", [q], [added, MASS * ca.mtimes(J.T, J)])(np.linspace(-0.3, 0.4, bare.n))
    assert errors([found], [expected])[0] < 1e-12


def test_irregular_rigid_link_is_its_pseudo_inertia() -> None:
    """[ZZZ] case 1: one rigid link on a revolute joint has the moment of inertia about its axis, products included."""
    com, inertia = np.array([0.2, -0.3, 0.4]), (0.5, 0.6, 0.7, 0.05, -0.04, 0.03)
    body = RigidBody(mass=2.0, com=tuple(com), inertia=inertia, tip=(1.0, 0.0, 0.0))
    axis = np.array([0.36, 0.48, 0.8])
    chain = build_chain(Robot(name="one", links=[Link(name="a", joint=Joint(axis=tuple(axis)), rigid=body)]))
    I = np.array([[0.5, 0.05, -0.04], [0.05, 0.6, 0.03], [-0.04, 0.03, 0.7]])
    I = I + 2.0 * (com @ com * np.eye(3) - np.outer(com, com))
    found = float(ca.evalf(book.mass_matrix(chain, ca.SX(ca.DM([0.7])))))
    assert found == pytest.approx(axis @ I @ axis, rel=1e-13)


# ------------------------------------------------------------------------------------------------ cost


@cache
def alternating(links: int, modes: int) -> Chain:
    """Revolute arm with axes turned by 90 degrees from link to link, `modes` bending shapes each."""
    made = [
        Link(
            name=f"link{k}",
            joint=Joint(origin=Origin(rpy=(np.pi / 2 if k % 2 else 0.0, 0.0, 0.0))),
            beam=Beam(length=1.0, mass_per_length=5.0, EI_y=900, EI_z=1000, GJ=800, EA=1e6),
            shapes=Shapes(bending_y=modes) if modes else None,
        )
        for k in range(links)
    ]
    return build_chain(Robot(name="alternating", links=made))


def operations(chain: Chain, what: str) -> int:
    q, qd, qdd = (ca.SX.sym(name, chain.n) for name in ("q", "qd", "qdd"))
    expression = book.mass_matrix(chain, q) if what == "mass" else book.inverse_dynamics(chain, q, qd, qdd)
    f = ca.Function("f", [q, qd, qdd], [expression])
    plain = {ca.OP_INPUT, ca.OP_OUTPUT, ca.OP_CONST}
    return sum(f.instruction_id(k) not in plain for k in range(f.n_instructions()))


@pytest.mark.slow
def test_remainders_cost_grows_linearly_and_mass_matrix_quadratically() -> None:
    """What makes the method recursive: differences of order two and three in the number of links vanish."""
    steps = [operations(alternating(n, 1), "inverse") for n in (4, 6, 8, 10)]
    assert np.abs(np.diff(steps, 2)).max() <= 0.02 * np.diff(steps).max()
    steps = [operations(alternating(n, 1), "mass") for n in (4, 6, 8, 10)]
    assert abs(np.diff(steps, 3)[0]) <= 0.02 * np.diff(steps, 2).max()


def test_cost_is_below_what_book_published() -> None:
    """Six links with three modes: 34,593 multiplications and 33,653 additions by Book's formulas ([KS09] Table 2)."""
    chain = alternating(6, 3)
    assert operations(chain, "mass") + operations(chain, "inverse") < (34593 + 33653) / 4
