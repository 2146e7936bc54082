"""Bodies from integrals: beams written as such are the same beams, points are summed one by one, formulations agree."""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np
import pytest

import pliant
from arms import sampled, unequal_arm
from bodies import body_of, body_of_beam, random_arm, random_body, random_points
from evaluation import evaluate, relative
from pliant import Joint, Link, Robot, Shapes
from pliant.algebra.quaternions import exponential, to_matrix
from pliant.analysis.counts import tape_count
from pliant.mechanics import FORMULATIONS, build_chain
from pliant.mechanics.links.kinematics import kinetic_energy
from trees import tree_state

NONLINEAR = [name for name in FORMULATIONS if name not in ("lagrange", "dual-screw")]
AGREE = 1e-9
SAME = 1e-12


def as_bodies(robot: Robot) -> Robot:
    """The robot with its beams written as bodies of the same integrals, named as their shapes are."""
    links = []
    for link in robot.links:
        if link.beam is not None:
            changes = {"beam": None, "shapes": None, "body": body_of_beam(link)}
            link = Link(**{name: getattr(link, name) for name in type(link).model_fields} | changes)
        links.append(link)
    return robot.model_copy(update={"links": tuple(links)})


def beams() -> Robot:
    """Two planes, torsion, stretch and rotary inertia, beside the axis and behind oblique joints."""
    shapes = Shapes(bending_y=2, bending_z=1, torsion=1, axial=1, boundary="clamped-free")
    changes = {
        "links.boom.shapes": shapes,
        "links.fore.shapes": Shapes(bending_y=1, bending_z=1, boundary="clamped-free"),
    }
    return unequal_arm().replace(changes)


@pytest.mark.slow
def test_a_beam_as_a_body_has_the_same_equations() -> None:
    """By every formulation: inertia, bias, accelerations and forces of an arm that is unequal in everything."""
    beam, body = (build_chain(robot) for robot in (beams(), as_bodies(beams())))
    assert beam.coordinates == body.coordinates
    q, qd = tree_state(beam, 3)
    tau = np.cos(np.arange(beam.n_joints))
    for name in FORMULATIONS:
        ours, theirs = (evaluate(chain, name, q, qd, tau) for chain in (body, beam))
        for term in ours:
            assert relative(ours[term], theirs[term]) < SAME, (name, term)


def test_a_beam_as_a_body_has_the_same_energy_and_frequencies() -> None:
    beam, body = (robot.model(stiffening="off") for robot in (beams(), as_bodies(beams())))
    q, qd = tree_state(beam.chain, 3)
    assert np.array(body.energy(q, qd)) == pytest.approx(np.array(beam.energy(q, qd)), rel=SAME)
    rest = beam.layout.rest()
    assert body.frequencies(rest) == pytest.approx(beam.frequencies(rest), rel=1e-10)
    assert body.pose(q) == pytest.approx(beam.pose(q), abs=SAME)


def test_kinetic_energy_is_that_of_the_points(rng: np.random.Generator) -> None:
    """A flying body: each point has its own velocity, each turning node its own rotation."""
    points = random_points(rng, 4)
    link = Link(name="body", joint=Joint(type="free"), body=body_of(points, rng))
    chain = build_chain(Robot(name="flying", links=[link], gravity=(0, 0, 0)))
    q, speeds = tree_state(chain, 5, deflection=0.2)
    Q, V = ca.SX.sym("q", chain.n_q), ca.SX.sym("v", chain.n)
    ours = float(ca.Function("T", [Q, V], [kinetic_energy(chain, Q, V)])(q, speeds))
    truth = points.kinetic_energy(speeds[:3], speeds[3:6], q[7:], speeds[6:])
    assert ours == pytest.approx(truth, rel=1e-13)


def compare(robot: Robot, seed: int) -> None:
    chain = build_chain(robot)
    q, qd = tree_state(chain, seed, deflection=0.05)
    tau = np.cos(np.arange(chain.n_joints))
    judge = evaluate(chain, "lagrange", q, qd, tau)
    for name in NONLINEAR:
        ours = evaluate(chain, name, q, qd, tau)
        for term in judge:
            assert relative(ours[term], judge[term]) < AGREE, (name, term)
    straight = q.copy(), qd.copy()
    for link in chain.links:
        straight[0][list(link.body_places)] = straight[1][list(link.body_indices)] = 0.0
    ours, judge = (evaluate(chain, name, *straight, tau) for name in ("dual-screw", "lagrange"))
    for term in judge:  # of first order in the elastic states, and so the same without them
        assert relative(ours[term], judge[term]) < AGREE, ("dual-screw", term)


@pytest.mark.parametrize("seed", sampled(range(40), 12))
def test_formulations_agree_on_arms_of_bodies(seed: int) -> None:
    compare(random_arm(seed, links=2 + seed % 2, drives=seed % 2 == 0), seed)


@pytest.mark.slow_cases("27")
@pytest.mark.parametrize("seed", sampled(range(40), 27))
def test_formulations_agree_on_trees_of_bodies(seed: int) -> None:
    compare(random_arm(seed, links=3, tree=True), seed)


def test_arms_of_bodies_hold_every_kind() -> None:
    """The few that are always tried have bodies, beams and links on further frames, all of them rigid links too."""
    few = [*random_arm(12, links=2).links, *random_arm(27, tree=True).links]
    assert any(link.beam is not None and link.shapes is not None for link in few)
    assert sum(link.body is not None for link in few) == 3
    assert any(getattr(link.at, "frame", None) == "elbow" for link in few)
    many = [link for seed in range(40) for link in random_arm(seed, tree=True).links]
    assert any(link.amplitudes == 0 for link in many)
    assert any(link.at == "root" for link in many)


def test_dual_screws_err_by_second_order() -> None:
    """Halved elastic states, a fourth of the error, in the inertia matrix and in the forces."""
    chain = build_chain(random_arm(12, links=2))
    errors = []
    for deflection in (2e-4, 1e-4):
        q, qd = tree_state(chain, 2, deflection)
        ours, judge = (evaluate(chain, name, q, qd, np.zeros(chain.n_joints)) for name in ("dual-screw", "lagrange"))
        errors.append([np.linalg.norm(ours[term] - judge[term]) for term in ("M", "inertial")])
    assert (np.divide(*errors) > 3.8).all()


def placed(R: Any, p: Any) -> np.ndarray:
    out = np.eye(4)
    out[:3, :3], out[:3, 3] = R, p
    return out


def test_frames_of_a_body_are_where_its_shapes_put_them(rng: np.random.Generator) -> None:
    """Pose of each frame, by its name and as the place of another link: joint, then place and shift, then turn and
    axes; and its Jacobian by differences."""
    body = random_body(rng, further=("elbow", "flange"))
    first = Link(name="arm", joint=Joint(axis=(0, 1, 0)), body=body)
    other = Link(
        name="hand", rigid=pliant.RigidBody(mass=1.0), joint=Joint(type="fixed"), parent="arm", at={"frame": "flange"}
    )
    camera = pliant.Frame(name="camera", link="arm", at={"frame": "elbow"}, origin={"xyz": [0.1, 0.2, 0.3]})
    model = Robot(name="frames", links=[first, other], frames=[camera]).model()
    q = rng.normal(size=model.n) * 0.2
    c = q[1:]
    joint = placed(to_matrix(exponential(np.array([0, q[0], 0]))), np.zeros(3))
    for number, name in enumerate(body.frames):
        turned = to_matrix(exponential(body.turn[number] @ c)) @ body.axes[number]
        truth = joint @ placed(turned, body.places[number] + body.shift[number] @ c)
        assert model.pose(q, frame=f"arm.{name}") == pytest.approx(truth, abs=1e-13)
        if name == "flange":
            assert model.pose(q, frame="hand.root") == pytest.approx(truth, abs=1e-13)
        if name == "elbow":
            assert model.pose(q, frame="camera") == pytest.approx(truth @ placed(np.eye(3), [0.1, 0.2, 0.3]), abs=1e-13)
    h, J = 1e-6, model.jacobian(q, frame="arm.elbow")
    for k in range(model.n):
        step = h * np.eye(model.n)[k]
        ahead, behind = (model.pose(q + sign * step, frame="arm.elbow")[:3, 3] for sign in (1, -1))
        assert J[3:, k] == pytest.approx((ahead - behind) / (2 * h), abs=1e-8)


def test_energy_balance_of_a_run(rng: np.random.Generator) -> None:
    """Kinetic, gravity and strain energy and what dampers took, of an arm of a body, a beam and a hand."""
    robot = random_arm(27, tree=True)
    model = robot.model(stiffening="off")
    q, qd = tree_state(model.chain, 3, deflection=1e-3)
    run = pliant.simulate(model, 0.3, q, qd, method="dop853", rtol=1e-10, atol=1e-12, limits=False)
    scale = run.energy.kinetic.max()
    assert np.abs(run.energy_balance).max() < 1e-7 * scale
    assert np.abs(run.power_residual).max() < 1e-8 * scale


def test_a_damping_ratio_is_that_of_every_mode(rng: np.random.Generator) -> None:
    """The body held at its root with a load at its tip."""
    body = random_body(rng)
    silent = body.lowest(3)
    silent = type(silent)(**{**silent._entries(), "mass": body.mass, "names": silent.names, "frames": silent.frames,
                             "about": "", "damping": np.zeros((3, 3))})  # fmt: skip
    link = Link(name="arm", joint=Joint(type="fixed"), body={"content": silent, "damping": 0.03},
                tip={"mass": 2.0, "com": [0.1, 0, 0.05], "inertia": [0.01, 0.02, 0.02]})  # fmt: skip
    model = Robot(name="damped", links=[link], gravity=(0, 0, 0)).model()
    assert model.damping_ratios(np.zeros(3)) == pytest.approx(np.full(3, 0.03), rel=1e-9)


def test_the_lowest_modes_of_a_body_are_its_own(rng: np.random.Generator) -> None:
    """All of them: the same arm in other coordinates. Some: their frequencies, and a mass and moments that stay."""
    body = random_body(rng, 4)
    model, turned, few = (
        Robot(name="arm", links=[Link(name="arm", body=one)]).model() for one in (body, body.lowest(4), body.lowest(2))
    )
    c, cd = rng.normal(size=(2, 4)) * 0.2
    V = body._modes[1]
    energy, other = (
        np.array(one.energy([0.3, *(T @ c)], [2.0, *(T @ cd)])) for one, T in ((model, V), (turned, np.eye(4)))
    )
    assert other == pytest.approx(energy, rel=1e-10)
    assert few.frequencies(np.zeros(3)) == pytest.approx(body.frequencies[:2], rel=1e-9)
    assert body.lowest(0).second == pytest.approx(body.second)


def test_a_body_costs_at_most_three_times_a_beam(rng: np.random.Generator) -> None:
    """Operations of the accelerations per link, full products against a beam in two planes with torsion and stretch of
    as many coordinates: 1.7 times, as docs/benchmarks.md says. A further link costs what the one before it did."""
    k, shapes = 8, Shapes(bending_y=3, bending_z=3, torsion=1, axial=1)
    beam, body = unequal_arm().link("boom").beam, random_body(rng, k)

    def counts(**own: Any) -> list[int]:
        links = [Link(name=f"link{i}", joint=Joint(axis=(0, i % 2, 1 - i % 2)), **own) for i in range(4)]
        arms = (build_chain(Robot(name="arm", links=links[:count])) for count in (2, 3, 4))
        found = [tape_count(chain, "denoc", "accelerations") for chain in arms]
        return np.diff([one.products + one.sums for one in found]).tolist()

    ours, theirs = counts(body=body), counts(beam=beam, shapes=shapes)
    assert ours[1] == pytest.approx(ours[0], rel=0.02)
    assert ours[0] / theirs[0] == pytest.approx(1.7, abs=0.1)
