"""The model: published numbers, another library, batches, parameters, bad input."""

from __future__ import annotations

import concurrent.futures
import json
import pickle
from dataclasses import replace

import casadi as ca
import numpy as np
import pytest

import pliant
from arms import random_robot, random_state
from pliant import ModelError
from pliant.model import Formulation
from pliant.robot.coordinates import Layout
from pliant.robot.stations import locate

FORMULATIONS = list(pliant.robot.FORMULATIONS)


@pytest.fixture(scope="module")
def two_link() -> pliant.Model:
    return pliant.load("two-link").model()


def test_names_and_sizes(two_link: pliant.Model) -> None:
    assert two_link.n == 4
    assert two_link.n_joints == 2
    assert two_link.coordinates[2:] == tuple(f"{name}.bending_y.1" for name in two_link.coordinates[:2])


@pytest.mark.parametrize("name", ["two-link", "rrp", "free-flyer", "hydraulic-crane", "box-arm"])
def test_the_layout_knows_the_links_of_the_chain(name: str) -> None:
    """As plain data from a file: what runs, figures and pages ask of them needs no equations."""
    model = pliant.load(name).model()
    assert model.layout.links == model.chain.link_facts
    assert Layout.from_facts(json.loads(json.dumps(model.layout.facts()))) == model.layout


def test_the_length_of_a_link_in_the_layout_is_open_where_it_is_a_parameter() -> None:
    model = pliant.load("two-link").model(parameters=["links.upper.beam.length"], shapes="nominal")
    assert [link.length for link in model.layout.links] == [None, 1.0]
    run = pliant.simulate(model, 0.01, p=[1.25], output_step=0.01)
    assert locate(model.layout, "upper", 0.5, lambda place: 1.25) == (0, 0.4)
    np.testing.assert_array_equal(run.deflection("upper", 0.625), run.deflection("upper", "middle"))
    with pytest.raises(ModelError, match="its length is a parameter of the model"):
        locate(model.layout, "upper", 0.5)


# ------------------------------------------------------------------------------------------ the PUMA of paper 003


def test_puma_three_ways() -> None:
    """Recursive, Cholesky on M, and the residual of inverse dynamics: [MS07] against itself."""
    model = pliant.load("puma").model()
    rng = np.random.default_rng(3)
    for _ in range(20):
        q, qd, tau = rng.normal(size=(3, 6)) * [[2], [3], [30]]
        qdd = model.forward_dynamics(q, qd, tau)
        cholesky = np.linalg.solve(model.mass_matrix(q), tau - model.bias(q, qd))
        scale = np.abs(qdd).max()
        assert np.abs(qdd - cholesky).max() < 1e-11 * scale
        residual = model.inverse_dynamics(q, qd, qdd) - tau
        assert np.abs(residual).max() < 1e-11 * max(np.abs(model.mass_matrix(q)).max() * scale, 30)


def test_puma_inertia_matrix_is_the_audited_one() -> None:
    M = pliant.load("puma").model().mass_matrix(np.zeros(6))
    values = np.linalg.eigvalsh(M)
    assert values[0] == pytest.approx(2.762e-4, rel=1e-3)
    assert values[-1] / values[0] == pytest.approx(1.135e4, rel=1e-3)


# ------------------------------------------------------------------------------------------ another library


def numbers(x: object) -> np.ndarray:
    return np.array(ca.DM(x), dtype=float)


def pinocchio_twin(robot: pliant.Robot):
    pin = pytest.importorskip("pinocchio", reason="pinocchio (extra bench) is not installed")
    from pliant.mechanics import build_chain

    chain = build_chain(robot)
    twin, parent = pin.Model(), 0
    twin.gravity.linear = np.array(robot.gravity)
    placement = pin.SE3.Identity()
    for link in chain.links:
        placement = placement * pin.SE3(numbers(link.joint.origin_rotation.matrix), numbers(link.joint.origin).ravel())
        axis = np.array(link.joint.axes[0])
        joint = pin.JointModelRevoluteUnaligned(axis) if link.joint.turning else pin.JointModelPrismaticUnaligned(axis)
        parent = twin.addJoint(parent, joint, placement, link.name)
        body = link.body.inertia
        m, s, D = float(body.m), numbers(body.s).ravel(), numbers(body.D)
        com = s / m
        inertia = np.trace(D) * np.eye(3) - D - m * (com @ com * np.eye(3) - np.outer(com, com))
        twin.appendBodyToJoint(parent, pin.Inertia(m, com, inertia), pin.SE3.Identity())
        placement = pin.SE3(numbers(link.body.tip_rotation.matrix), numbers(link.body.tip_position).ravel())
    return pin, twin


@pytest.mark.slow_cases("0", "1", "2")
@pytest.mark.parametrize("seed", range(4))
def test_rigid_arms_equal_pinocchio(seed: int) -> None:
    robot = random_robot(seed, links=4, damping=False)
    changes = {f"links.{link.name}.shapes": None for link in robot.links if link.shapes is not None}
    changes |= {f"links.{link.name}.joint.type": "revolute" for link in robot.links if link.joint.type == "fixed"}
    robot = robot.replace(changes)
    model = robot.model()
    pin, twin = pinocchio_twin(robot)
    data = twin.createData()
    q, qd, tau = random_state(robot, model.n, model.n_joints, seed)
    assert np.allclose(model.forward_dynamics(q, qd, tau), pin.aba(twin, data, q, qd, tau), rtol=1e-10, atol=1e-10)
    assert np.allclose(model.bias(q, qd), pin.nle(twin, data, q, qd), rtol=1e-10, atol=1e-10)
    M = pin.crba(twin, data, q)
    assert np.allclose(model.mass_matrix(q), np.triu(M) + np.triu(M, 1).T, rtol=1e-10, atol=1e-10)


# ------------------------------------------------------------------------------------------ batches


def test_batch_gives_the_bits_of_single_states(two_link: pliant.Model) -> None:
    rng = np.random.default_rng(0)
    q, qd, tau = rng.normal(size=(257, 4)), rng.normal(size=(257, 4)), rng.normal(size=(257, 2))
    together = two_link.forward_dynamics(q, qd, tau)
    single = np.array([two_link.forward_dynamics(*state) for state in zip(q, qd, tau)])
    assert np.array_equal(together, single)
    from pliant.compute import set_threads

    try:
        set_threads(1)
        assert np.array_equal(two_link.forward_dynamics(q, qd, tau), together)
    finally:
        set_threads(None)


def test_leading_axes_broadcast(two_link: pliant.Model) -> None:
    q = np.zeros((3, 1, 4))
    assert two_link.mass_matrix(q).shape == (3, 1, 4, 4)
    assert two_link.forward_dynamics(q, np.zeros((5, 4)), np.zeros(2)).shape == (3, 5, 4)
    assert two_link.energy(q, np.zeros(4)).total.shape == (3, 1)
    assert two_link.tip_pose(q).shape == (3, 1, 4, 4)
    assert two_link.jacobian(q).shape == (3, 1, 6, 4)


# ------------------------------------------------------------------------------------------ parameters


def test_parameters_equal_rebuilt_robots() -> None:
    robot = random_robot(4, links=2, elements=False).replace({})
    name = next(link.name for link in robot.links if link.beam is not None)
    paths = [f"links.{name}.beam.EI_z", f"links.{name}.beam.mass_per_length", f"links.{name}.tip.mass", "gravity.1"]
    paths = [path for path in paths if path in robot.paths()]
    model = robot.model(parameters=paths, shapes="nominal", stiffening="off")
    q, qd, tau = random_state(robot, model.n, model.n_joints, 1)
    assert np.array_equal(
        model.forward_dynamics(q, qd, tau), model.forward_dynamics(q, qd, tau, model.nominal_parameters)
    )
    bare = {"boundary": "clamped-free", "bending_y": 1, "bending_z": 1}
    free = {f"links.{link.name}.shapes": bare for link in robot.links if link.shapes is not None}
    robot = robot.replace(free)  # clamped-free shapes do not depend on any parameter
    model = robot.model(parameters=paths, stiffening="off")
    q, qd, tau = random_state(robot, model.n, model.n_joints, 1)
    values = np.array([robot.paths()[path] * 1.3 + 0.1 for path in paths])
    rebuilt = robot.replace(dict(zip(paths, values))).model(stiffening="off")
    ours, theirs = model.forward_dynamics(q, qd, tau, values), rebuilt.forward_dynamics(q, qd, tau)
    assert np.abs(ours - theirs).max() < 1e-10 * np.abs(theirs).max()


def test_lengths_and_drives_as_parameters() -> None:
    robot = pliant.load("lab-arm")
    names = [link.name for link in robot.links if link.beam is not None and link.shapes is not None]
    candidates = [f"links.{names[0]}.beam.length", f"links.{names[0]}.joint.drive.stiffness", "payload.mass"]
    paths = [path for path in candidates if path in robot.paths()]
    assert len(paths) >= 2
    free = {f"links.{name}.shapes.boundary": "clamped-free" for name in names}
    free |= {f"links.{name}.shapes.tip_load": None for name in names}
    free |= {f"links.{name}.shapes.damping": 0.0 for name in names}  # dampers stay when numbers change
    robot = robot.replace(free)
    model = robot.model(parameters=paths, stiffening="off")
    q, qd, tau = random_state(robot, model.n, model.n_joints, 2)
    values = model.nominal_parameters * 1.25
    rebuilt = robot.replace(dict(zip(paths, values))).model(stiffening="off")
    ours, theirs = model.forward_dynamics(q, qd, tau, values), rebuilt.forward_dynamics(q, qd, tau)
    assert np.abs(ours - theirs).max() < 1e-10 * np.abs(theirs).max()


def test_parameter_that_changes_the_shapes_is_refused() -> None:
    robot = pliant.load("two-link")
    name = robot.links[0].name
    loaded = robot.replace({f"links.{name}.shapes": {"bending_y": 1, "boundary": "clamped-mass", "tip_load": "auto"}})
    outer = f"links.{robot.links[1].name}.beam.mass_per_length"
    with pytest.raises(ModelError, match=f"changes the shape functions of {name}"):
        loaded.model(parameters=[outer])
    assert loaded.model(parameters=[outer], shapes="nominal", stiffening="off").parameters == (outer,)
    assert loaded.model(parameters=[f"links.{name}.beam.EI_z"], stiffening="off").n == 4


# ------------------------------------------------------------------------------------------ statics and vibration


def cantilever(modes: int = 3, **beam: float) -> pliant.Robot:
    data = {"length": 1.0, "mass_per_length": 2.0, "EI_z": 50.0, "EI_y": 80.0, **beam}
    return pliant.Robot(
        name="beam", gravity=(0, -9.81, 0),
        links=[pliant.Link(name="arm", beam=pliant.Beam(**data), shapes=pliant.Shapes(bending_y=modes, bending_z=1))],
    )  # fmt: skip


def test_frequencies_of_a_cantilever() -> None:
    found = cantilever().model().frequencies({})  # of the straight beam
    unit = np.sqrt(50.0 / 2.0) / (2 * np.pi)
    exact = np.sort(
        [
            1.8751040687**2 * unit,
            4.6940911330**2 * unit,
            7.8547574382**2 * unit,
            1.8751040687**2 * unit * np.sqrt(80 / 50),
        ]
    )
    assert found == pytest.approx(exact, rel=1e-9)


def test_free_joint_adds_a_pendulum_frequency() -> None:
    """Hanging straight down with a stiff beam: a rod pendulum, sqrt(3 g / 2 L)."""
    model = cantilever(EI_z=5e7, EI_y=5e7).model()
    found = model.frequencies(np.array([-np.pi / 2, 0, 0, 0, 0]), joints="free")
    assert found[0] == pytest.approx(np.sqrt(1.5 * 9.81) / (2 * np.pi), rel=1e-5)


def test_upright_pendulum_has_a_negative_frequency() -> None:
    model = cantilever(EI_z=5e7, EI_y=5e7).model()
    assert model.frequencies(np.array([np.pi / 2, 0, 0, 0, 0]), joints="free")[0] < 0


def test_equilibrium_is_the_drooping_beam() -> None:
    """Uniform load on a cantilever: w L^4 / 8 EI, within the truncation of three clamped-free modes."""
    robot = cantilever(EI_z=5000.0)
    model = robot.model()
    q = model.equilibrium([0.0])
    tip = model.tip_pose(q)[1, 3]
    assert tip == pytest.approx(-2.0 * 9.81 / (8 * 5000.0), rel=2e-3)
    assert model.holding_torque(q) == pytest.approx(2.0 * 9.81 / 2, rel=1e-5)
    assert np.abs(model.forward_dynamics(q, np.zeros(5), model.holding_torque(q))).max() < 1e-8


@pytest.mark.slow
def test_statics_and_vibration_follow_the_parameters() -> None:
    """What a model with inputs says for values is what the arm that is rebuilt with these values says."""
    path, value = "payload.mass", 3.0
    robot = pliant.load("two-link")
    given, built = robot.model(parameters=[path], shapes="nominal"), robot.replace({path: value}).model()
    p, joints, loads = [value], [-1.0, 0.5], [pliant.loads.Wrench(force=[0.0, -2.0, 0.0])]
    q = built.equilibrium(joints, loads)
    for find in (
        lambda m, p: m.equilibrium(joints, loads, p=p),
        lambda m, p: m.holding_torque(q, loads, p=p),
        lambda m, p: m.stiffness(q, loads, p=p),
        lambda m, p: m.frequencies(q, "free", loads, p=p),
        lambda m, p: np.abs(m.modes(q, loads=loads, p=p).shapes),
        lambda m, p: m.linearize(q, p=p).A,
    ):
        np.testing.assert_allclose(find(given, p), find(built, None), rtol=1e-9, atol=1e-12)
        assert not np.allclose(find(given, None), find(built, None), rtol=1e-4)
    with pytest.raises(ModelError, match=r"p: .*expected"):
        given.equilibrium(joints, loads, p=[1.0, 2.0])


def test_linearisation_equals_differences() -> None:
    robot = random_robot(6, links=2)
    model = robot.model()
    q, qd, tau = random_state(robot, model.n, model.n_joints, 6)
    A, B, C, D = model.linearize(q, qd, tau)
    n, h = model.n, 1e-6

    def rate(x: np.ndarray, u: np.ndarray) -> np.ndarray:
        return np.concatenate([x[n:], model.forward_dynamics(x[:n], x[n:], u)])

    x = np.concatenate([q, qd])
    by_state = np.column_stack([(rate(x + h * e, tau) - rate(x - h * e, tau)) / (2 * h) for e in np.eye(2 * n)])
    by_input = np.column_stack([(rate(x, tau + h * e) - rate(x, tau - h * e)) / (2 * h) for e in np.eye(len(tau))])
    assert np.abs(A - by_state).max() < 1e-6 * np.abs(A).max()
    assert np.abs(B - by_input).max() < 1e-6 * np.abs(B).max()
    assert np.array_equal(C, np.eye(2 * n))
    assert not D.any()


def test_a_formulation_that_is_not_in_the_registry() -> None:
    """Functions, runs and pickles use it; its name alone leads nowhere."""
    by_matrix = replace(pliant.robot.FORMULATIONS["denoc"], name="by matrix", forward=None)
    robot = pliant.load("puma")
    model, usual = robot.model(by_matrix), robot.model()
    state = np.random.default_rng(5).normal(size=(3, 6))
    assert np.allclose(model.forward_dynamics(*state), usual.forward_dynamics(*state), rtol=1e-11)
    assert model.operation_count() != usual.operation_count()
    assert pickle.loads(pickle.dumps(model)).operation_count() == model.operation_count()
    runs = [pliant.simulate(m, 0.1, qd0=state[0]) for m in (model, usual)]
    assert runs[0].options["formulation"] == "by matrix"
    assert np.allclose(runs[0].q, runs[1].q, atol=1e-9)
    assert not np.array_equal(runs[0].q, runs[1].q)  # other operations, other round-off
    with pytest.raises(ModelError, match="by matrix"):
        robot.model("by matrix")


@pytest.mark.slow_cases("denoc")
@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_jacobian_is_the_derivative_of_the_pose(formulation: str) -> None:
    robot = random_robot(8, links=2)
    model = robot.model(formulation=formulation)
    q, qd, _ = random_state(robot, model.n, model.n_joints, 8)
    h = 1e-6
    before, after = model.tip_pose(q - h * qd), model.tip_pose(q + h * qd)
    rate = (after - before) / (2 * h)
    twist = model.jacobian(q) @ qd
    W = rate[:3, :3] @ model.tip_pose(q)[:3, :3].T
    assert np.allclose(twist[3:], rate[:3, 3], atol=1e-7)
    assert np.allclose(twist[:3], [W[2, 1], W[0, 2], W[1, 0]], atol=1e-7)


# ------------------------------------------------------------------------------------------ sharing


def test_pickle_and_threads(two_link: pliant.Model) -> None:
    copy = pickle.loads(pickle.dumps(two_link))
    state = np.full(4, 0.1), np.full(4, 0.2), np.ones(2)
    expected = two_link.forward_dynamics(*state)
    assert np.array_equal(copy.forward_dynamics(*state), expected)
    fresh = pliant.load("two-link").model()
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: fresh.forward_dynamics(*state), range(64)))
    assert all(np.array_equal(x, expected) for x in found)


# ------------------------------------------------------------------------------------------ bad input


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((np.zeros(3), np.zeros(4), np.zeros(2)), r"q.*4"),
        ((np.zeros(4), np.zeros(4), np.zeros(3)), r"tau.*2"),
        ((np.zeros(4), np.full(4, np.nan), np.zeros(2)), r"qd.*finite|qd.*nan"),
        ((np.zeros(4), [0, 0, np.inf, 0], np.zeros(2)), r"qd"),
        ((np.zeros((3, 4)), np.zeros((2, 4)), np.zeros(2)), r"broadcast|batch"),
        (("abcd", np.zeros(4), np.zeros(2)), r"q"),
        ((np.zeros(4) + 1j, np.zeros(4), np.zeros(2)), r"q"),
    ],
)
def test_wrong_input_is_named(two_link: pliant.Model, arguments: tuple, message: str) -> None:
    with pytest.raises(ModelError, match=message):
        two_link.forward_dynamics(*arguments)


def test_unknown_options_are_refused() -> None:
    robot = pliant.load("two-link")
    with pytest.raises(ModelError, match="denoc"):
        robot.model(formulation="newton")
    with pytest.raises(ModelError, match="rotation"):
        robot.model(rotation="small")
    with pytest.raises(ModelError, match="stiffening"):
        robot.model(stiffening="fourth-order")
    with pytest.raises(ModelError, match="not a number of this robot"):
        robot.model(parameters=["links.upper.beam.EI"])
    with pytest.raises(ModelError, match=r"parameters: got 'payload\.mass' 2 times, expected each number once"):
        robot.model(parameters=["payload.mass", "links.fore.beam.EI_z", "payload.mass"])


def test_coordinate_without_inertia_is_named() -> None:
    """A slender rod that turns about its own axis has nothing to turn."""
    beam = pliant.Beam(length=1.0, mass_per_length=1.0)
    robot = pliant.Robot(name="bad", links=[pliant.Link(name="arm", joint=pliant.Joint(axis=(1, 0, 0)), beam=beam)])
    with pytest.raises(ModelError, match=r"arm: the inertia matrix is singular.*add inertia about its axis"):
        robot.model()


@pytest.mark.parametrize("own", [False, True])
def test_matrices_of_one_coordinate_stay_matrices(own: bool) -> None:
    """By a formulation of the registry and by one that is not in it."""
    robot = pliant.Robot(name="pendulum", links=[pliant.Link(name="rod", rigid=pliant.RigidBody.slender_rod(2.0, 0.7))])
    denoc = pliant.robot.FORMULATIONS["denoc"]
    model = robot.model(Formulation("own", "nobody", denoc.mass_matrix, denoc.inertial_forces) if own else "denoc")
    found = model.matrices([0.3], [0.1])
    assert [x.shape for x in found] == [(1, 1), (1,), (1,), (1, 1), (1,)]
