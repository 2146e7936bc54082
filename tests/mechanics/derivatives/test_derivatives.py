"""Derivatives of the dynamics against complex steps through the elimination, on arms unequal in everything."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
from numpy.typing import NDArray

from arms import random_robot, sampled, unequal_arm, unequal_two_link
from complex_steps import slopes
from flyers import satellite, small
from pliant import Model, load
from pliant.control import PD
from pliant.loads import Wrench
from pliant.mechanics.derivatives.inertia_factor import factor
from pliant.model.building import traced
from pliant.robot import Robot
from pliant.simulation.runs.equations.composition import compose
from pliant_bench.arms import arm
from trees import random_tree, tree_state

NEAR = 1e-10


def robot_of(seed: int) -> tuple[Robot, dict[str, object]]:
    """Sixty arms: chains with and without drives, stiffened ones, trees, free bases, links in pieces."""
    kind, number = seed % 6, 300 + seed
    if kind == 0:
        return random_robot(number, drives=True), {"stiffening": "off"}
    if kind == 1:
        return random_robot(number, bending_only=True, prismatic=False), {"stiffening": "second-order"}
    if kind == 2:
        return random_tree(number), {"stiffening": "off"}
    if kind == 3:
        return random_tree(number, flying=True), {"stiffening": "off"}
    if kind == 4:
        return random_robot(number, links=2, bending_only=True, elements=False, all_flexible=True), {
            "stiffening": "third-order"
        }
    robot = random_robot(number, links=2, elements=False, prismatic=False, all_flexible=True)
    links = [link.model_copy(update={"beam": link.beam.model_copy(update={"pieces": 2})}) for link in robot.links]  # type: ignore[union-attr]
    return Robot(**{**robot.model_dump(), "links": [link.model_dump() for link in links]}), {}


def state_of(model: Model, seed: int) -> tuple[NDArray, NDArray, NDArray]:
    q, qd = tree_state(model.chain, seed)
    for place, (low, high) in model.chain.travels().items():
        q[place] = low + 0.37 * (high - low)
    return q, qd, np.random.default_rng(seed).normal(size=model.n_joints) * 5


def by_complex_steps(model: Model, function: str, *state: NDArray) -> list[NDArray]:
    """Derivatives of a function by displacements along the speeds and by its other inputs."""
    speeds = ca.SX.sym("speeds", model.n)
    q = ca.SX.sym("q", model.n_q)
    along = np.array(ca.Function("G", [q], [ca.densify(ca.jacobian(model.chain.rates(q, speeds), speeds))])(state[0]))
    sizes = [along.shape[1], *(x.size for x in state[1:])]
    directions = np.zeros((sum(x.size for x in state), sum(sizes)))
    directions[: along.shape[0], : along.shape[1]] = along
    directions[along.shape[0] :, along.shape[1] :] = np.eye(sum(sizes[1:]))
    found = slopes(model.kernel(function).tape, np.concatenate(state), directions)  # type: ignore[arg-type]
    return np.split(found, np.cumsum(sizes)[:-1], axis=1)


def agree(found: NDArray, exact: NDArray) -> bool:
    """To 1e-10 of the largest entry of the block."""
    return bool(np.abs(found - exact).max(initial=0.0) <= NEAR * np.abs(exact).max(initial=0.0))


@pytest.mark.slow_cases("2")
@pytest.mark.parametrize("seed", sampled(range(60), 0, 2))
def test_derivatives_are_those_of_complex_steps(seed: int) -> None:
    robot, options = robot_of(seed)
    model = Model(robot, **options)  # type: ignore[arg-type]
    q, qd, tau = state_of(model, seed)
    found = model.forward_dynamics_derivatives(q, qd, tau)
    np.testing.assert_allclose(found.qdd, model.forward_dynamics(q, qd, tau), rtol=1e-12, atol=1e-12)
    for block, exact in zip(found[1:], by_complex_steps(model, "forward_dynamics", q, qd, tau), strict=True):
        assert agree(block, exact)
    inverse = model.inverse_dynamics_derivatives(q, qd, found.qdd)
    for block, exact in zip(inverse[1:], by_complex_steps(model, "inverse_dynamics", q, qd, found.qdd), strict=True):
        assert agree(block, exact)


@pytest.mark.slow_cases("gibbs-appell", "lagrange", "recursive-lagrange")
@pytest.mark.parametrize("formulation", ["lagrange", "gibbs-appell", "recursive-lagrange", "dual-screw"])
def test_other_formulations_by_their_own_matrix(formulation: str) -> None:
    model = Model(unequal_two_link(), formulation, stiffening="off")  # type: ignore[arg-type]
    state = state_of(model, 3)
    found = model.forward_dynamics_derivatives(*state)
    exact = by_complex_steps(model, "forward_dynamics", *state)
    assert all(agree(a, b) for a, b in zip(found[1:], exact, strict=True))


@pytest.fixture(
    scope="module", params=["unequal", "free", "parameters", pytest.param("satellite", marks=pytest.mark.full)]
)
def products(request: pytest.FixtureRequest) -> Model:
    if request.param == "free":
        return Model(small())
    if request.param == "satellite":
        return Model(satellite(damping=0.01), stiffening="off")
    paths = ["payload.mass", "links.boom.beam.EI_y", "links.hand.rigid.com.1"] if request.param == "parameters" else []
    return Model(unequal_arm(), stiffening="off", parameters=paths, shapes="nominal")


@pytest.mark.slow_cases(
    "free-forward", "free-inverse", "parameters-forward", "parameters-inverse", "unequal-forward", "unequal-inverse"
)
@pytest.mark.parametrize("kind", ["forward", "inverse"])
def test_products_are_those_of_the_matrices(products: Model, kind: str, rng: np.random.Generator) -> None:
    model = products
    q, qd, tau = state_of(model, 5)
    third = tau if kind == "forward" else rng.normal(size=model.n)
    p = model.nominal_parameters * 1.1 if model.parameters else None
    _, *by = getattr(model, f"{kind}_dynamics_derivatives")(q, qd, third, p)
    d = [rng.normal(size=block.shape[1]) for block in by]
    changed = {"dp": d[3]} if p is not None else {}
    along = getattr(model, f"{kind}_dynamics_jvp")(q, qd, third, *d[:3], p=p, **changed)
    np.testing.assert_allclose(along, sum(B @ x for B, x in zip(by, d, strict=True)), rtol=1e-9, atol=1e-9)
    w = rng.normal(size=model.n)
    rows = getattr(model, f"{kind}_dynamics_vjp")(q, qd, third, w, p=p)
    assert all(agree(row, w @ block) for row, block in zip(rows, by, strict=True))


@pytest.mark.slow_cases(
    "free-forward", "parameters-forward", "parameters-inverse", "unequal-forward", "unequal-inverse"
)
@pytest.mark.parametrize("kind", ["forward", "inverse"])
def test_second_products_are_slopes_of_the_first(products: Model, kind: str, rng: np.random.Generator) -> None:
    model = products
    q, qd, tau = state_of(model, 6)
    third = tau if kind == "forward" else rng.normal(size=model.n)
    p = model.nominal_parameters * 1.1 if model.parameters else np.zeros(0)
    w = rng.normal(size=model.n)
    d = [rng.normal(size=size) for size in (model.n, model.n, third.size, p.size)]
    tape = model.kernel(f"{kind}_dynamics_vjp").tape  # type: ignore[arg-type]
    speeds, symbol = ca.SX.sym("speeds", model.n), ca.SX.sym("q", model.n_q)
    rates = ca.Function("rates", [symbol, speeds], [ca.densify(model.chain.rates(symbol, speeds))])
    direction = np.concatenate([np.array(rates(q, d[0])).ravel(), *d[1:], np.zeros(model.n)])
    exact = slopes(tape, np.concatenate([q, qd, third, p, w]), direction[:, None])[:, 0]
    changed = {"p": p, "dp": d[3]} if p.size else {}
    found = getattr(model, f"{kind}_dynamics_hvp")(q, qd, third, w, *d[:3], **changed)
    assert agree(np.concatenate(found), exact)


@pytest.mark.slow_cases("free", "parameters")
def test_inverse_of_the_inertia_matrix(products: Model) -> None:
    q, _, _ = state_of(products, 7)
    product = products.mass_matrix_inverse(q) @ products.mass_matrix(q)
    np.testing.assert_allclose(product, np.eye(products.n), atol=1e-9)


@pytest.mark.slow_cases("21", "9")
@pytest.mark.parametrize("seed", [3, 9, 21])
def test_factors_of_trees_whose_amplitudes_are_not_coupled(seed: int) -> None:
    """What has no entry in one place, or is zero for one right-hand side, must not be lost for others."""
    robot, options = robot_of(seed)
    model = Model(robot, **options)  # type: ignore[arg-type]
    q, _, _ = state_of(model, seed)
    symbol = ca.SX.sym("q", model.n_q)
    inverse = ca.Function("inverse", [symbol], [ca.densify(factor(model.chain, symbol).inverse())])
    np.testing.assert_allclose(np.array(inverse(q)) @ model.mass_matrix(q), np.eye(model.n), atol=1e-9)


def test_batches_have_the_bits_of_single_states(rng: np.random.Generator) -> None:
    model = load("two-link").model()
    q, qd, tau = (rng.normal(size=(37, k)) for k in (model.n, model.n, model.n_joints))
    many = model.forward_dynamics_derivatives(q, qd, tau)
    for k in (0, 17, 36):
        one = model.forward_dynamics_derivatives(q[k], qd[k], tau[k])
        assert all(np.array_equal(a[k], b) for a, b in zip(many, one, strict=True))


@pytest.mark.slow
def test_jacobian_of_a_run_is_that_of_complex_steps(rng: np.random.Generator) -> None:
    model = Model(unequal_arm(), stiffening="off", parameters=["payload.mass"], shapes="nominal")
    push = Wrench(force=lambda t: ca.vertcat(1.0, ca.sin(3 * t), -2.0), axes="section")
    law = PD(kp=[30.0, 20.0, 50.0], kd=[3.0, 2.0, 5.0], reference=[0.3, 0.2, 0.1])
    run = compose(model, None, law, {}, (push,), None, False)
    x, p = 0.1 * rng.normal(size=run.size), rng.normal(size=run.n_p) + 2.0
    by_x, by_t = run.jacobian(np.array([0.3]), x, p)
    exact = slopes(run.rhs.tape, np.array([0.3, *x, *p]), np.eye(1 + x.size + p.size)[:, : 1 + x.size])
    assert run.implicit
    assert agree(by_x, exact[:, 1:])
    assert agree(by_t, exact[:, 0])


@pytest.mark.parametrize("sizes", [pytest.param((15, 30, 60), marks=pytest.mark.full)])
def test_operations_grow_with_the_square_of_a_chain(sizes: tuple[int, ...]) -> None:
    """All tapes, those of groups once per column, on rigid chains."""
    counts = []
    for links in sizes:
        function = traced(arm(links).model(), "forward_dynamics_derivatives")
        columns = [
            function.first.size2_out(function.first.n_out() - len(function.seconds) + k)
            for k in range(len(function.seconds))
        ]
        walks = sum(K * f.n_instructions() for K, f in zip(columns, function.seconds, strict=True))
        counts.append(function.first.n_instructions() + walks)
    slopes_of_log = np.diff(np.log2(counts))
    assert slopes_of_log.max() <= 2.1, counts
