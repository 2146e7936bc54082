"""Closed loops: positions of linkages with a closed form, constrained dynamics against a dense solve from poses."""

from __future__ import annotations

from dataclasses import replace

import casadi as ca
import numpy as np
import pytest

import pliant
from arms import sampled
from linkages import (
    bar,
    four_bar,
    four_bar_angles,
    passive,
    random_linkage,
    slider_crank,
    slider_crank_state,
)  # fmt: skip
from pliant.errors import ModelError, UnsupportedModel
from pliant.model.loops.assembly import mechanism
from pliant.model.states import displaced
from pliant.robot import Frame, Joint, Link, Loop, LoopJoint, Origin, Robot

TURN = np.linspace(0.0, 2 * np.pi, 25)
ABLE = ("denoc", "gibbs-appell", "recursive-lagrange", "lagrange")


def test_four_bar_through_a_turn() -> None:
    model = four_bar().model()
    q = model.assemble({"crank": 0.0, "rocker": 1.0}, held=["crank"])
    for crank in TURN:
        q[0] = crank
        q = model.assemble(q, held=["crank"])
        np.testing.assert_allclose(np.exp(1j * q), np.exp(1j * np.array([crank, *four_bar_angles(crank)])), atol=1e-12)


def test_slider_crank_through_a_turn() -> None:
    model = slider_crank().model()
    q = model.assemble(held=["crank"])
    for crank in TURN:
        q[0] = crank
        q = model.assemble(q, held=["crank"])
        *angles, place = slider_crank_state(crank)
        np.testing.assert_allclose(np.exp(1j * q[1:]), np.exp(1j * np.array(angles)), atol=1e-12)
        assert abs(model.pose(q, frame="piston.tip")[0, 3] - place) < 1e-12


@pytest.mark.parametrize("crank", [2.9, 4.4])
def test_a_loop_that_closes_the_wrong_way_round_is_tried_again(crank: float) -> None:
    """From a piston that stands along the crank the nearest closed position has it turned by half a turn."""
    q = slider_crank().model().assemble({"crank": crank}, held=["crank"])
    assert np.cos(q.sum()) == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize("kind", ["fixed", "prismatic"])
@pytest.mark.parametrize("rpy", [(-1.5, -0.75, 0.05), (1.64, -0.8, 0.42)])
def test_a_flying_link_is_not_held_half_a_turn_off(kind: str, rpy: tuple[float, float, float]) -> None:
    """Newton's steps from rest lead to frames half a turn apart, where the rows that turn are zero and hang on one
    another: a position that counts as closed there loses two of them."""
    flying = Link(name="b", joint=Joint(type="free"), parent="base", rigid=bar("b", 0.5).rigid)
    seat = Frame(name="seat", link="a", origin=Origin(xyz=(0.1, 0.2, -0.1), rpy=rpy))
    held = Loop(name="cut", between=("seat", "b.root"), joint=LoopJoint(type=kind))
    links = [bar("a", 0.4, Joint(axis=(0.2, 0.3, 1.0))), flying]
    model = Robot(name="held", links=links, frames=[seat], loops=[held]).model(stiffening="off")
    assert model.redundant == ()
    assert model.freedom == {"fixed": 1, "prismatic": 2}[kind]


def test_searches_stay_where_the_inertia_is_positive() -> None:
    """Bent by several radians, a link to second order may have an indefinite inertia matrix (combinations 278 and 370,
    moved and in other units): a search that comes by such a state is given up, and another one finds the rows."""
    sound = mechanism(slider_crank().model(), np.zeros(0))
    met: list[float] = []

    def mass(q: np.ndarray) -> np.ndarray:
        met.append(abs(q[1]))
        return sound.mass(q) * (-1 if met[-1] > most else 1)

    most, searched = np.inf, replace(sound, mass=mass)
    kept = searched.rank()
    most = 0.99 * max(met)
    assert searched.rank() == kept
    with pytest.raises(ModelError, match="not positive definite there"):
        searched.along(np.array([0.4, most + 1, -0.3]), np.ones(3))


def test_redundant_rows_are_found_and_told() -> None:
    model = four_bar().model()
    assert model.constraints == ("pin.x", "pin.y")
    assert model.redundant == ("pin.z", "pin.turn_1", "pin.turn_2")
    assert "redundant rows, left out: pin.z, pin.turn_1, pin.turn_2" in str(model)
    assert (model.freedom, four_bar().freedom, pliant.load("two-link").freedom) == (1, 1, 2)
    assert slider_crank().freedom == 1
    assert model.joints == ("crank",)
    assert model.n_joints == 1


def test_a_second_pin_is_redundant() -> None:
    """A parallelogram with a third parallel bar moves, though counting says that it does not."""
    span = 0.4
    legs = [
        bar(name, 0.3, None if name == "a" else passive(origin=Origin(xyz=(x, 0, 0))), parent="base")
        for name, x in (("a", 0.0), ("b", span), ("c", 2 * span))
    ]
    top = bar("top", 2 * span, passive(), parent="a")
    frames = [Frame(name="middle", link="top", at="root", origin=Origin(xyz=(span, 0, 0)))]
    loops = [Loop(name="one", between=("top.tip", "c.tip")), Loop(name="two", between=("middle", "b.tip"))]
    robot = Robot(name="three legs", links=[*legs, top], frames=frames, loops=loops)
    model = robot.model()
    assert model.constraints == ("one.x", "one.y", "two.x")
    assert model.freedom == 1


def test_a_rod_that_nothing_moves_is_redundant() -> None:
    """A loop from the pivot of a rigid link to a point of it, beside another loop and alone. In space, where axes are
    oblique, its slope is rounding."""
    end = [Frame(name="end", link="crank", at="root", origin=Origin(xyz=(0.11, 0.07, 0.02)))]
    rod = LoopJoint(type="distance", length=float(np.linalg.norm(end[0].origin.xyz)))
    still = Loop(name="rod", between=("base", "end"), joint=rod)
    model = four_bar(frames=end, loops=[*four_bar().loops, still]).model()
    assert model.constraints == ("pin.x", "pin.y")
    assert model.redundant[-1] == "rod.length"
    alone, tree = four_bar(frames=end, loops=[still]).model(), four_bar(loops=[]).model()
    assert (alone.constraints, alone.freedom) == ((), 3)
    q, qd = np.array([0.3, 0.4, 0.5]), np.ones(3)
    np.testing.assert_allclose(alone.forward_dynamics(q, qd, [1.0]), tree.forward_dynamics(q, qd, [1.0]), rtol=1e-12)
    assert pliant.simulate(alone, 0.01).stats.status == "finished"
    assert random_linkage(22)[0].model(stiffening="off").redundant == ("loop0.length",)


def test_loops_that_cannot_close_are_named() -> None:
    far = [Frame(name="far", link="base", origin=Origin(xyz=(5.0, 0, 0)))]
    with pytest.raises(ModelError, match=r"loop `rope` cannot be closed: one of its frames stays 4\.\d+ m away"):
        four_bar(frames=far, loops=[Loop(name="rope", between=("coupler.tip", "far"))]).model()
    turned = [Frame(name="over", link="rocker", origin=Origin(rpy=(np.pi, 0, 0)))]
    with pytest.raises(ModelError, match="half a turn"):
        four_bar(frames=turned, loops=[Loop(name="pin", between=("coupler.tip", "over"))]).model()


def test_singular_positions_are_named() -> None:
    """A parallelogram that lies flat: rows along its bars hang on one another."""
    flat = [
        bar("a", 0.3),
        bar("b", 0.4, passive()),
        bar("c", 0.3, passive(origin=Origin(xyz=(0.4, 0, 0))), parent="base"),
    ]
    robot = Robot(name="flat", links=flat, loops=[Loop(name="pin", between=("b.tip", "c.tip"))])
    with pytest.raises(ModelError, match="loop `pin`: the position is singular"):
        pliant.simulate(robot.model(), 0.1)


def test_of_several_loops_the_faulty_one_is_named() -> None:
    """A sound four-bar comes first: a flat parallelogram beside it, and a rocker that is mounted the wrong way."""
    flat = [
        bar("a", 0.3, parent="base"),
        bar("b", 0.4, passive()),
        bar("c", 0.3, passive(origin=Origin(xyz=(0.4, 0, 0))), parent="base"),
    ]
    first = four_bar()
    pins = [*first.loops, Loop(name="flat_pin", between=("b.tip", "c.tip"))]
    both = first.model_copy(update={"links": (*first.links, *flat), "loops": tuple(pins)})
    with pytest.raises(ModelError, match="loop `flat_pin`: the position is singular"):
        pliant.simulate(both.model(), 0.1, dict(zip(("crank", "coupler", "rocker"), (0.3, *four_bar_angles(0.3)))))
    over = Frame(name="over", link="c", origin=Origin(rpy=(np.pi, 0, 0)))
    pins[1] = Loop(name="turned_pin", between=("b.tip", "over"))
    with pytest.raises(ModelError, match="loop `turned_pin` closes only with one of its frames turned by half a turn"):
        both.model_copy(update={"frames": (over,), "loops": tuple(pins)}).model()


def test_dual_screw_refuses_loops() -> None:
    with pytest.raises(UnsupportedModel, match="'dual-screw' does not support closed loops"):
        four_bar().model("dual-screw")


# --------------------------------------------------------------------------------------------- an oracle from poses


def slopes(model: pliant.Model, robot: Robot, q: np.ndarray) -> np.ndarray:
    """(m, n) slopes of the rows that the model keeps, from poses and geometric Jacobians of the frames alone."""
    found = {}
    for loop in robot.loops:
        (A, B), (J_a, J_b) = (
            [f(q, frame=end) for end in loop.between] for f in (model.pose, model.jacobian)
        )  # fmt: skip
        R_a, gap = A[:3, :3], B[:3, 3] - A[:3, 3]
        turn = R_a.T @ (J_b[:3] - J_a[:3])
        shift = R_a.T @ (J_b[3:] - J_a[3:] + np.cross(gap, J_a[:3].T).T)
        d, R = R_a.T @ gap, R_a.T @ B[:3, :3]
        u, w = (np.array(axis) for axis in loop.joint.directions)
        across = np.eye(3)[[0, 1]] if tuple(u) == (0, 0, 1) else np.eye(3)[[1, 2]]
        rows = dict(zip(("x", "y", "z"), shift))
        rows["length"] = d @ shift / max(np.linalg.norm(d), 1e-300)
        rows |= dict(zip(("across_1", "across_2"), across @ shift))
        rows["twist"] = np.cross(R @ w, u) @ turn
        moved = np.array([np.cross(u, np.cross(column, R @ u)) for column in turn.T]).T
        rows |= dict(zip(("turn_1", "turn_2"), across @ moved))
        spun = [np.cross(column, R, axisb=0, axisc=0) for column in turn.T]
        axial = np.array([[X[2, 1] - X[1, 2], X[0, 2] - X[2, 0], X[1, 0] - X[0, 1]] for X in spun]).T / 2
        rows |= dict(zip(("turn_x", "turn_y", "turn_z"), axial))
        found |= {f"{loop.name}.{name}": row for name, row in rows.items()}
    return np.array([found[name] for name in model.constraints]).reshape(-1, model.n)


def second(model: pliant.Model, robot: Robot, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
    """gamma = dJ/dt qd by differences of sixth order along the motion."""
    h = 4e-3
    weights = {1: 45 / 60, 2: -9 / 60, 3: 1 / 60}
    total = 0.0
    for k, weight in weights.items():
        ahead, behind = (slopes(model, robot, displaced(model, q, s * k * h * qd)) @ qd for s in (1, -1))
        total = total + weight * (ahead - behind) / h
    return np.asarray(total)


def evaluated(model: pliant.Model, q: np.ndarray, qd: np.ndarray, tau: np.ndarray) -> list[np.ndarray]:
    """Accelerations and multipliers by CasADi's virtual machine: nothing is compiled."""
    e = model.equations

    def build(q: ca.SX, qd: ca.SX, tau: ca.SX) -> list[ca.SX]:
        found = e.constrained(q, qd, ca.mtimes(e.chain.actuation(), tau))
        return [found.qdd, found.multipliers]

    return [x.ravel() for x in numbers([q, qd, tau], build)]


def numbers(given: list[np.ndarray], build) -> list[np.ndarray]:
    symbols = [ca.SX.sym(f"x{k}", len(value)) for k, value in enumerate(given)]
    return [np.array(x, dtype=float) for x in ca.Function("f", symbols, build(*symbols))(*given)]


@pytest.mark.slow_cases("8")
@pytest.mark.parametrize("seed", sampled(range(40), 8))
def test_formulations_agree_with_a_dense_solve(seed: int) -> None:
    robot, q = random_linkage(seed)
    models = {name: robot.model(name, stiffening="off") for name in ABLE}
    judge = models["denoc"]  # of poses alone
    assert np.abs(judge.gaps(q)).max(initial=0.0) < 1e-12
    rng = np.random.default_rng(seed)
    J = slopes(judge, robot, q)
    qd = rng.normal(size=judge.n)
    qd -= np.linalg.pinv(J) @ (J @ qd)
    tau = rng.normal(size=judge.n_joints)
    e, m = models["lagrange"].equations, len(J)
    M, h = numbers([q, qd], lambda q, qd: [e.mass_matrix(q), e.bias(q, qd)])
    gamma = second(judge, robot, q, qd)
    KKT = np.block([[M, -J.T], [J, np.zeros((m, m))]])
    found = np.linalg.solve(KKT, np.concatenate([judge.actuation @ tau - h.ravel(), -gamma]))
    size = max(1.0, np.abs(found[: judge.n]).max())
    pull = max(1.0, np.abs(found[judge.n :]).max(initial=0.0))
    for name, model in models.items():
        assert model.constraints == judge.constraints
        qdd, multipliers = evaluated(model, q, qd, tau)
        np.testing.assert_allclose(qdd, found[: judge.n], atol=1e-9 * size, err_msg=name)
        np.testing.assert_allclose(multipliers, found[judge.n :], atol=1e-9 * pull, err_msg=name)
