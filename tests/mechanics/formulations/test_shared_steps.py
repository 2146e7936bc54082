"""Functions that links share: the same equations as written out, on arms unequal in everything, and short ones."""

from __future__ import annotations

from dataclasses import replace

import casadi as ca
import numpy as np
import pytest
from numpy.typing import NDArray

import pliant
from arms import random_robot, sampled, unequal_arm
from bodies import random_body
from flyers import satellite
from pliant import Beam, Joint, Link, Model, RigidBody, Robot, Shapes
from pliant.algebra.recursion_steps import Called, content_of
from pliant.compute import Kernel, Tape
from pliant.mechanics import Chain, build_chain, equations
from pliant.robot import Lump, Origin
from trees import random_tree, tree_state

SAME = 1e-11


def unequal_links(count: int) -> Robot:
    """Links that differ in every number and are of two kinds."""
    made = []
    for k in range(count):
        length = 0.3 + 0.013 * k
        beam = Beam(length=length, mass_per_length=2.0 - 0.03 * k, EI_y=70.0 + k, EI_z=160.0 - 2 * k, GJ=45.0, EA=3e4)
        turn = Origin(xyz=(0.01 + 0.003 * k, -0.02 * (k % 3), 0.0), rpy=(0.3 + 0.1 * k, 0.2, -0.1 * k))
        link = {"beam": beam, "shapes": Shapes(bending_y=1, bending_z=1, boundary="clamped-free")}
        if k % 3 == 2:
            body = RigidBody(
                mass=0.4 + 0.01 * k, com=(0.1, 0.01, 0.02), inertia=(1e-3, 4e-3, 5e-3), tip=(0.2, 0.01 * k, 0)
            )
            link = {"rigid": body}
        made.append(Link(name=f"l{k}", joint=Joint(origin=turn), tip=Lump(mass=0.1 + 0.01 * k), **link))
    return Robot(name="unequal links", gravity=(0.3, -9.0, 1.0), links=made)


def traced(chain: Chain, held: tuple[int, ...] = ()) -> ca.Function:
    """Accelerations, and the forces that give them."""
    e, n = equations(chain, "denoc"), chain.n
    q, qd, tau, qdd = (ca.SX.sym(s, k) for s, k in (("q", chain.n_q), ("qd", n), ("tau", chain.n_joints), ("qdd", n)))
    force = ca.mtimes(chain.actuation(), tau)
    found = [e.accelerations(q, qd, force, {k: ca.SX(0.3 + k) for k in held}), e.inverse_dynamics(q, qd, qdd)]
    return ca.Function("both", [q, qd, tau, qdd], found)


def both_ways(chain: Chain, seed: int, held: tuple[int, ...] = ()) -> tuple[list[NDArray], list[NDArray]]:
    q, qd = tree_state(chain, seed)
    for place, (low, high) in chain.travels().items():
        q[place] = low + 0.37 * (high - low)
    rng = np.random.default_rng(seed)
    state = q, qd, rng.normal(size=chain.n_joints), rng.normal(size=chain.n)
    ways = []
    for steps in (None, Called()):
        ways.append([np.asarray(x) for x in Kernel(traced(replace(chain, steps=steps), held))(*state)])
    return ways[0], ways[1]


def agree(one: list[NDArray], two: list[NDArray]) -> None:
    for a, b in zip(one, two, strict=True):
        assert np.abs(a - b).max() <= SAME * np.abs(a).max()


def test_bodies_of_other_numbers_share_functions(rng: np.random.Generator) -> None:
    """As many coordinates and the same turn of the tip make one form; what they differ in is handed over."""
    bodies = [replace(random_body(rng, 2, further=()), axes=np.stack([np.eye(3)] * 2)) for _ in range(3)]
    links = [Link(name=f"l{k}", joint=Joint(axis=(0, k % 2, 1 - k % 2)), body=body) for k, body in enumerate(bodies)]
    chain = build_chain(Robot(name="bodies", links=links))
    assert len({chain._kinds[id(link)][1].form for link in chain.links}) == 1
    agree(*both_ways(chain, 3))


@pytest.mark.slow_cases("0", "2", "3")
@pytest.mark.parametrize("seed", sampled(range(40), 0, 1, 2, 3))
def test_shared_and_written_out_are_the_same_arm(seed: int) -> None:
    kind, number = seed % 4, 700 + seed
    if kind == 0:
        model = Model(random_robot(number, links=4, drives=True), stiffening="off")
    elif kind == 1:
        model = Model(random_tree(number), stiffening="off")
    elif kind == 2:
        model = Model(random_tree(number, flying=True), stiffening="off")
    else:
        model = Model(random_robot(number, links=3, bending_only=True, prismatic=False), stiffening="second-order")
    agree(*both_ways(model.chain, seed))


def test_damping_that_grows_with_amplitudes() -> None:
    """Of one link out of two kinds; the other numbers are unequal as well."""
    arm = unequal_links(4).replace({"links.l0.shapes.damping_per_amplitude": 0.7, "links.l3.shapes.damping": 0.01})
    agree(*both_ways(arm.model(stiffening="off").chain, 5))


@pytest.mark.slow_cases("links", "satellite", "unequal")
@pytest.mark.parametrize("robot", [unequal_arm(), satellite(), unequal_links(9)], ids=["unequal", "satellite", "links"])
def test_arms_unequal_in_everything(robot: Robot) -> None:
    agree(*both_ways(Model(robot, stiffening="off").chain, 5))


def test_pieces() -> None:
    shapes = Shapes(method="elements", count=1, bending_y=True, bending_z=True)
    beam = pliant.load("spin-up").replace({"links.arm.beam.pieces": 4, "links.arm.shapes": shapes})
    agree(*both_ways(beam.model(stiffening="off").chain, 1))


@pytest.mark.full
def test_sliding_beams() -> None:
    agree(*both_ways(pliant.load("rrp").model(stiffening="off").chain, 2))


@pytest.mark.slow
def test_prescribed_coordinates() -> None:
    """Of a joint and of an amplitude, in one link of several that share their functions otherwise."""
    chain = Model(unequal_links(5), stiffening="off").chain
    agree(*both_ways(chain, 3, held=(1, chain.links[3].body_indices[0])))


@pytest.mark.slow_cases("6-off")
@pytest.mark.parametrize(("count", "stiffening"), [(6, "off"), (2, "second-order")])
def test_parameters_stay_symbols(count: int, stiffening: bool | str) -> None:
    """As data of a linear beam, and as symbols inside the functions of others."""
    robot = unequal_links(count)
    paths = ["links.l1.beam.mass_per_length", f"links.l{count - 1}.tip.mass"]
    model = Model(robot, stiffening=stiffening, parameters=paths, shapes="nominal")  # type: ignore[arg-type]
    values = np.array([1.1, 0.7])
    q, qd = tree_state(model.chain, 3)
    tau = np.linspace(-1, 1, model.n_joints)
    e = equations(replace(model.chain, steps=Called()), "denoc")
    s = [ca.SX.sym(name, k) for name, k in (("q", model.n_q), ("qd", model.n), ("tau", model.n_joints))]
    f = ca.Function("f", [*s, model.parameter_symbols], [e.forward_dynamics(*s)])
    exact = model.forward_dynamics(q, qd, tau, values)
    np.testing.assert_allclose(Kernel(f)(q, qd, tau, values), exact, rtol=1e-11, atol=1e-11 * np.abs(exact).max())


def functions(count: int, planar: bool = False) -> Tape:
    """Forward dynamics of a chain of links that differ in numbers."""
    robot = unequal_links(count)
    if planar:
        links = [link.model_copy(update={"joint": Joint(), "tip": Lump(mass=0.1)}) for link in robot.links[:2]]
        links = [link.model_copy(update={"name": f"l{k}"}) for k, link in enumerate(links * (count // 2))]
        robot = robot.model_copy(update={"links": tuple(links)})
    chain = replace(Model(robot, stiffening="off").chain, steps=Called())
    return Tape.from_function(traced(chain), [0], calls=True)


@pytest.mark.slow
def test_code_grows_with_kinds_and_not_with_links() -> None:
    short, long = functions(12), functions(24)
    assert len(long.callees) == len(short.callees)
    assert sum(map(len, long.callees)) == sum(map(len, short.callees))
    assert len(long.calls) > 1.9 * len(short.calls)


@pytest.mark.slow
def test_little_is_computed_in_vain() -> None:
    """Beside the same arm written out; a planar one stays planar."""
    chain = Model(unequal_links(24), stiffening="off").chain
    called, written = functions(24), Tape.from_function(traced(chain), [0])
    assert sum(called.count().values()) < 1.25 * sum(written.count().values())


def test_contents() -> None:
    one, other = (Model(unequal_links(3), stiffening="off").chain.links for _ in range(2))
    assert content_of(one[0].body) == content_of(other[0].body) != content_of(one[1].body)
    assert content_of(np.array([1.0])) != content_of(np.array([1]))
    assert content_of(len) == content_of(len)


@pytest.fixture(scope="module")
def long_arm() -> Model:
    return unequal_links(21).model(stiffening="off")


def test_a_long_arm_is_built_with_shared_functions_and_says_so(long_arm: Model) -> None:
    short, long = unequal_links(3).model(stiffening="off").statistics(), long_arm.statistics()
    assert short["calls"] == 0
    assert short["compiled"] == short["instructions"]
    assert long["calls"] > 100
    assert long["compiled"] < long["instructions"] / 2


@pytest.mark.slow
def test_forward_after_inverse_dynamics_alone_and_in_a_batch(long_arm: Model, rng: np.random.Generator) -> None:
    model = long_arm
    q, qd = 0.05 * rng.normal(size=(40, model.n)), 0.1 * rng.normal(size=(40, model.n))
    tau = rng.normal(size=(40, model.n_joints))
    qdd = model.forward_dynamics(q, qd, tau)
    np.testing.assert_array_equal(qdd[7], model.forward_dynamics(q[7], qd[7], tau[7]))
    needed = model.inverse_dynamics(q, qd, qdd)
    expected = tau @ np.asarray(ca.DM(model.chain.actuation())).T
    assert np.abs(needed - expected).max() < 1e-11 * np.abs(model.bias(q, qd)).max()  # strain cancels inertia


def test_a_run_keeps_its_energy(long_arm: Model) -> None:
    q = 0.01 * np.sin(np.arange(long_arm.n))
    run = pliant.simulate(long_arm, 0.02, q, rtol=1e-10, atol=1e-12, method="dop853", output_step=2e-3)
    assert np.abs(run.energy_balance).max() < 1e-8 * run.energy.kinetic.max()
