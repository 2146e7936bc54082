"""Clamped-mass modes of links that carry others: frozen at a chosen configuration, or followed with the motion."""

from __future__ import annotations

from functools import cache
from typing import Any

import casadi as ca
import numpy as np
import pytest

import pliant
from oracle import material_points
from pliant import Beam, Joint, Link, Model, RigidBody, Robot, Shapes
from pliant.mechanics.links.maps.pose_dependent_roots import TrackedModes, angle_guess
from pliant.robot import Lump, Origin, Payload, TipLoad

BEAM = Beam(length=1.0, mass_per_length=2.0, EI_y=300.0, EI_z=400.0)


def carrying(tip_load: Any, links: int = 2, **shapes: Any) -> Robot:
    """A flexible link that carries one or two others and a payload."""
    given = Shapes(tip_load=tip_load, **{"boundary": "clamped-mass", "bending_y": 2, "bending_z": 1, **shapes})
    outer = [Link(name=f"outer{k}", beam=BEAM, shapes=Shapes(bending_y=1)) for k in range(1, links)]
    first = Link(name="inner", joint=Joint(hub=Lump(inertia=(0.1, 0.1, 0.1))), beam=BEAM, shapes=given)
    return Robot(
        name="carrying", gravity=(0, -9.81, -3), links=[first, *outer], payload=Lump(mass=0.5, inertia=(0.01,) * 3)
    )


@cache
def tracking() -> Model:
    return carrying("track").model("lagrange")


def state(model: Model, angle: float) -> tuple[np.ndarray, np.ndarray]:
    """An arm that is bent and moves."""
    q, qd = np.full(model.n, 0.01), np.full(model.n, 0.3)
    q[0], q[1], qd[0], qd[1] = 0.4, angle, 1.0, -1.5
    return q, qd


def test_auto_at_a_configuration_sees_what_is_there() -> None:
    """With the outer link at a right angle the load is its mass, its inertia about the tip, and no first moment."""
    model = carrying("auto", reference=(0.7, "90 deg")).model(stiffening="off")
    load = TipLoad(mass=2.5, inertia=(2.0 / 3 + 0.51, 0.01, 2.0 / 3 + 0.51), first_moment=0.0)
    by_hand = carrying(load).model(stiffening="off")
    assert model.frequencies() == pytest.approx(by_hand.frequencies(), rel=1e-12)
    straight = carrying("auto", reference=(1.0, 0.0)).model(stiffening="off")
    assert straight.frequencies() == pytest.approx(carrying("auto").model(stiffening="off").frequencies(), rel=1e-14)


@pytest.mark.slow
@pytest.mark.parametrize(
    "angle", [1.2, pytest.param(0.0, marks=pytest.mark.full), pytest.param(-2.5, marks=pytest.mark.full)]
)
def test_tracked_modes_equal_those_frozen_there(angle: float) -> None:
    followed, frozen = tracking(), carrying("auto", reference=(0.0, angle)).model("lagrange", stiffening="off")
    q = np.zeros(followed.n)
    q[:2] = 0.4, angle
    assert followed.frequencies(q) == pytest.approx(frozen.frequencies(q), rel=1e-9)
    assert np.abs(followed.mass_matrix(q) - frozen.mass_matrix(q)).max() < 1e-9 * np.abs(frozen.mass_matrix(q)).max()
    bent, rates = state(followed, angle)
    rates[1] = 0.0  # while the outer joint stands, the modes do
    for ours, theirs in zip(followed.energy(bent, rates), frozen.energy(bent, rates)):
        assert ours == pytest.approx(theirs, rel=1e-9)


@pytest.mark.parametrize("normalize", ["unit", "tip"])
def test_modes_under_a_load_by_quadrature(normalize: str) -> None:
    """Norms with the load, orthogonality with and without curvature, and beta^4 N as strain, of an eccentric load."""
    count, M, J, D = 3, 0.8, 0.3, -0.27
    modes = TrackedModes(count, M, angle_guess(lambda t: (0.0 * t + J, 0.0 * t + D), count, M), (0.4, 0.1), normalize)
    at, eta, h = modes.at(ca.SX.zeros(1), ca.SX(J), ca.SX(D)), ca.SX.sym("eta"), 1e-4
    values = ca.Function("psi", [eta], [ca.vertcat(*at.values(eta))])
    slopes = ca.Function("slope", [eta], [ca.vertcat(*at.slopes(eta))])
    points, weights = np.polynomial.legendre.leggauss(24)
    points, weights = (points + 1) / 2, weights / 2
    psi, tip, turn = np.array(values.map(24)(points)), np.array(values(1.0)), np.array(slopes(1.0))
    gram = psi * weights @ psi.T
    loaded = gram + M * tip @ tip.T + D * (tip @ turn.T + turn @ tip.T) + J * turn @ turn.T
    norm, beta = (np.array([float(x) for x in own]) for own in (at.norm, at.beta))
    assert loaded == pytest.approx(np.diag(norm), abs=1e-9 * norm.max())
    curvature = (np.array(slopes.map(24)(points + h)) - np.array(slopes.map(24)(points - h))) / (2 * h)
    assert curvature * weights @ curvature.T == pytest.approx(np.diag(beta**4 * norm), rel=1e-6, abs=1e-5)
    assert (gram.diagonal() if normalize == "unit" else tip[:, 0]) == pytest.approx(np.ones(count), rel=1e-12)


@pytest.mark.slow_cases("straight")
@pytest.mark.parametrize("robot", ["straight", pytest.param("turned", marks=pytest.mark.full)])
def test_kinetic_energy_of_positions(robot: str) -> None:
    """Half of the mass times the squared velocity of every material point, by differences of positions alone.

    A model that forgot how the modes change would conserve its own energy; this sees it.
    """
    model = tracking() if robot == "straight" else turned("track").model("lagrange")
    q, qd = state(model, 1.2)
    Q = ca.SX.sym("q", model.n)
    points = material_points(model.robot, model.chain, Q)
    where = ca.Function("where", [Q], [ca.vertcat(*(ca.vec(ca.densify(r)) for _, r in points))])
    h = 1e-5
    velocity = (np.array(where(q + h * qd)) - np.array(where(q - h * qd))).reshape(-1, 3) / (2 * h)
    kinetic = sum(m * v @ v for (m, _), v in zip(points, velocity)) / 2
    kinetic += 0.1 * qd[0] ** 2 / 2  # the hub has inertia and no mass
    assert model.energy(q, qd).kinetic == pytest.approx(kinetic, rel=1e-8)  # differences of second order


@pytest.mark.full
def test_energy_is_conserved_while_the_modes_follow() -> None:
    model = tracking()
    run = pliant.simulate(model, 0.3, *state(model, 1.2), method="dop853", rtol=1e-10, atol=1e-12)
    total = run.energy.total
    assert np.abs(total - total[0]).max() < 1e-7 * run.energy.kinetic.max()
    assert np.abs(run.power_residual).max() < 1e-9 * run.energy.kinetic.max()
    reaction = run.reaction("inner")  # the recursion over the same maps finds the same balance: no torque acts
    assert np.abs(reaction.moment[:, 2]).max() < 1e-9 * np.abs(reaction.moment).max()


@pytest.mark.full
def test_two_outer_joints() -> None:
    """Over a full turn of both, two frequencies nearly meet, which is refused; within limits they can be followed."""
    robot = carrying("track", links=3, bending_z=0)
    with pytest.raises(pliant.UnsupportedModel, match="limits"):
        robot.model("lagrange")
    limits = {"lower": "-100 deg", "upper": "100 deg"}
    robot = robot.replace({f"links.outer{k}.joint.limits": limits for k in (1, 2)})
    followed = robot.model("lagrange")
    frozen = carrying("auto", links=3, bending_z=0, reference=(0.0, 0.5, -0.8)).model(stiffening="off")
    q = np.zeros(followed.n)
    q[:3] = 0.0, 0.5, -0.8
    assert followed.frequencies(q) == pytest.approx(frozen.frequencies(q), rel=1e-9)


def turned(tip_load: Any, scale: float = 1.0, **shapes: Any) -> Robot:
    """A flexible link that carries a rigid one, whose joint is turned out of all planes; `scale` is of all beyond."""
    body = RigidBody(mass=2 * scale, com=(0.5, 0.1, 0), inertia=(0.05 * scale, 0.2 * scale, 0.2 * scale), tip=(1, 0, 0))
    change = {"links.outer1": Link(name="outer1", joint=Joint(origin=Origin(rpy=(0.3, 0.2, -0.5))), rigid=body)}
    return carrying(tip_load, **shapes).replace({**change, "payload": Lump(mass=0.5 * scale)})


@pytest.mark.slow
def test_a_turned_joint_is_followed() -> None:
    """The mass beyond was the sum of its squared sines and cosines, symbols to the trace, and became NaN."""
    followed = turned("track", bending_y=1, bending_z=0).model("lagrange")
    for angle in (1.2, -2.5):
        q = np.array([0.4, angle, *np.zeros(followed.n - 2)])
        frozen = turned("auto", bending_y=1, bending_z=0, reference=(0.0, angle)).model(stiffening="off")
        assert followed.frequencies(q) == pytest.approx(frozen.frequencies(q), rel=1e-9)


@pytest.mark.full
def test_with_next_to_nothing_beyond_the_modes_are_those_of_a_free_end() -> None:
    light, free = turned("track", 1e-10), turned(None, 1e-10, boundary="clamped-free")
    followed, fixed = light.model("lagrange"), free.model("lagrange", stiffening="off")
    q, qd = state(followed, 1.2)
    assert np.abs(followed.mass_matrix(q) - fixed.mass_matrix(q)).max() < 1e-7  # modes move by 1e-10 times 30 or so
    for ours, theirs in zip(followed.energy(q, qd), fixed.energy(q, qd)):
        assert ours == pytest.approx(theirs, rel=1e-7)


@pytest.mark.full
def test_a_turned_joint_against_fine_elements() -> None:
    """Folded back over the beam, modes of the straight arm miss by more than those that follow."""
    fine = Shapes(method="elements", count=3, bending_y=True, bending_z=True)
    true, followed, straight = (
        robot.model(formulation, stiffening="off")
        for robot, formulation in (
            (turned("auto").replace({"links.inner.shapes": fine}), "denoc"),
            (turned("track"), "lagrange"),
            (turned("auto"), "denoc"),
        )
    )
    errors = []
    for model in (followed, straight):
        low = [m.frequencies(np.array([0.4, -2.5, *np.zeros(m.n - 2)]))[:2] for m in (model, true)]
        errors.append(np.abs(low[0] / low[1] - 1).max())
    assert errors[0] < 0.02
    assert errors[0] < errors[1] / 2


def test_points_on_the_axis_of_the_tip_are_refused() -> None:
    """Two joints, the first of which turns the others along z: no inertia about z, whose logarithm is fitted."""
    point = RigidBody(mass=1.0, com=(0.6, 0, 0), tip=(0.6, 0, 0))
    limits = {"lower": "-60 deg", "upper": "60 deg"}
    outer = [
        Link(name=f"outer{k}", joint=Joint(origin=Origin(rpy=rpy), limits=limits), rigid=point)
        for k, rpy in ((1, (0, "90 deg", 0)), (2, (0, 0, 0)))
    ]
    robot = carrying("track", bending_z=0)
    robot = robot.model_copy(update={"links": (robot.links[0], *outer), "payload": Payload(mass=0.5)})
    with pytest.raises(pliant.UnsupportedModel, match="give the bodies there an inertia"):
        robot.model("lagrange")


def test_last_link_has_nothing_to_follow() -> None:
    robot = Robot(
        name="one",
        links=[Link(name="a", beam=BEAM, shapes=Shapes(boundary="clamped-mass", tip_load="track", bending_y=2))],
        payload=Lump(mass=1.0),
    )
    assert robot.model(stiffening="off").frequencies() == pytest.approx(
        robot.replace({"links.a.shapes.tip_load": "auto"}).model(stiffening="off").frequencies(), rel=1e-14
    )


@pytest.mark.parametrize(
    ("change", "options", "word"),
    [
        ({}, {"formulation": "denoc"}, "lagrange"),
        ({}, {"formulation": "lagrange", "stiffening": "third-order"}, "stiffening"),
        ({"links.inner.beam.rotary": (0.01, 0.01)}, {"formulation": "lagrange"}, "rotary"),
        ({"links.inner.shapes.axial": 1, "links.inner.beam.EA": 1e5}, {"formulation": "lagrange"}, "axial"),
        ({"links.outer1.joint.type": "prismatic"}, {"formulation": "lagrange"}, "limits"),
    ],
)
def test_what_does_not_follow(change: dict[str, Any], options: dict[str, Any], word: str) -> None:
    with pytest.raises(pliant.UnsupportedModel, match=word):
        carrying("track").replace(change).model(**options)


@pytest.mark.parametrize(
    ("shapes", "word"),
    [
        ({"bending_y": 1, "reference": (0.0,)}, "reference"),
        (
            {"boundary": "clamped-mass", "tip_load": "track", "method": "elements", "count": 2, "bending_y": True},
            "track",
        ),
    ],
)
def test_bad_boundaries(shapes: dict[str, Any], word: str) -> None:
    with pytest.raises(pliant.ModelError, match=word):
        Shapes(**shapes)


def test_reference_of_the_wrong_length() -> None:
    with pytest.raises(pliant.ModelError, match=r"reference.*2 moving joints"):
        carrying("auto", reference=(0.1,))


def test_payload_that_changes_the_modes_is_no_parameter() -> None:
    for tip_load in ("auto", "track"):
        with pytest.raises(pliant.ModelError, match="shape functions"):
            carrying(tip_load).model("lagrange", parameters=["payload.mass"])
