"""Contacts: what a hit gives back, what sticks and slides, gaps by geometry, and that every formulation has them."""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np
import pytest

import pliant
from pliant import Beam, Frame, Joint, Link, RigidBody, Robot, Shapes
from pliant.mechanics.formulations.generalized_forces import strain_energy
from pliant.robot import Contact

G = 9.81


def falling(value: float, speed: float, exponent: float = 1.5) -> pliant.Model:
    """A ball of 0.5 kg on a vertical rail above the ground."""
    body = RigidBody(mass=0.5, com=(0, 0, 0), inertia=(1e-3, 1e-3, 1e-3), tip=(0, 0, 0))
    ball = Link(name="ball", joint=Joint(type="prismatic", axis=(0, 0, 1)), rigid=body)
    touch = Contact(name="ground", radius=0.05, stiffness=10 ** (6 * exponent), exponent=exponent,
                    restitution={"value": value, "speed": speed})  # fmt: skip
    return Robot(name="ball", links=[ball], contacts=[touch]).model()


@pytest.mark.parametrize("value", [0.3, 0.5, 0.8, 0.95])
@pytest.mark.parametrize("exponent", [1.0, 1.5])
def test_a_ball_comes_back_as_asked(value: float, exponent: float) -> None:
    """Dropped so that it hits with the stated speed: it rises to e^2 of the height."""
    height = 0.2
    speed = np.sqrt(2 * G * height)
    t_end = speed / G + value * speed / G
    model = falling(value, speed, exponent)
    run = pliant.simulate(model, t_end, {"ball": 0.05 + height}, rtol=1e-9)
    assert run["ball"][-1] - 0.05 == pytest.approx(value**2 * height, rel=0.06)
    begins, ends = ([t for t, name in run.stats.events if name == f"ground {word}"] for word in ("touches", "leaves"))
    assert len(begins) == len(ends) == 1
    assert begins[0] == pytest.approx(speed / G, abs=1e-6)
    free = run.t > ends[0]
    assert (run.qd[free, 0] + G * (run.t[free] - ends[0]))[0] == pytest.approx(value * speed, rel=0.03)
    assert np.abs(run["ground.gap"] - (run["ball"] - 0.05)).max() < 1e-14
    assert np.abs(run.energy_balance).max() < 1e-6
    assert run.energy.kinetic.max() > 0.9


def sled(angle: float, friction: float) -> pliant.Model:
    """A block of 2 kg that may slide along x, lift along z and not turn, on a slope by tilted gravity."""
    body = RigidBody(mass=2.0, com=(0, 0, 0), inertia=(1e-2, 1e-2, 1e-2), tip=(0, 0, 0))
    massless = RigidBody(mass=1e-9, com=(0, 0, 0), inertia=(1e-9, 1e-9, 1e-9), tip=(0, 0, 0))
    links = [
        Link(name="along", joint=Joint(type="prismatic", axis=(1, 0, 0)), rigid=massless),
        Link(name="up", joint=Joint(type="prismatic", axis=(0, 0, 1)), rigid=body),
    ]
    touch = Contact(name="slope", radius=0.05, stiffness=1e6, damping=1.0, friction=friction)
    gravity = (G * np.sin(angle), 0, -G * np.cos(angle))
    return Robot(name="sled", gravity=gravity, links=links, contacts=[touch]).model()


def test_a_block_sticks_below_its_angle_and_slides_above() -> None:
    """At 1 % below the angle whose tangent is the friction it creeps less than 1e-4 m/s, above it speeds up."""
    mu = 0.4
    depth = (2.0 * G * np.cos(np.arctan(mu)) / 1e6) ** (2 / 3)
    start = {"along": 0.0, "up": 0.05 - depth}
    still = pliant.simulate(sled(0.99 * np.arctan(mu), mu), 1.0, start, method="rodas5p")
    assert 0 < still.qd[-1, 0] < 1e-4
    assert still["along"][-1] < 1e-4
    angle = 1.01 * np.arctan(mu)
    runs = pliant.simulate(sled(angle, mu), 1.0, start, method="rodas5p")
    assert runs.qd[-1, 0] == pytest.approx(G * (np.sin(angle) - mu * np.cos(angle)), rel=0.02)
    steep = pliant.simulate(sled(0.6, mu), 0.5, start, method="rodas5p")
    assert steep.qd[-1, 0] == pytest.approx(0.5 * G * (np.sin(0.6) - mu * np.cos(0.6)), rel=0.01)
    assert steep["slope.friction"][-1] == pytest.approx(mu * steep["slope.force"][-1], rel=1e-9)


@pytest.mark.parametrize("stiffness", [1e6, 700.0])
def test_friction_turns_a_wheel_about_its_axle(stiffness: float) -> None:
    """A wheel that spins on the ground: friction half way between both surfaces is a moment about the axle, and pushes
    the cart; on soft ground the wheel is a quarter of its radius deep."""
    light = RigidBody(mass=1e-6, com=(0, 0, 0), inertia=(1e-9, 1e-9, 1e-9), tip=(0, 0, 0))
    wheel = RigidBody(mass=2.0, com=(0, 0, 0), inertia=(1e-2, 1e-2, 1e-2), tip=(0, 0, 0))
    links = [
        Link(name="along", joint=Joint(type="prismatic", axis=(1, 0, 0)), rigid=light),
        Link(name="up", joint=Joint(type="prismatic", axis=(0, 0, 1)), rigid=light),
        Link(name="wheel", joint=Joint(axis=(0, 1, 0)), rigid=wheel),
    ]
    touch = Contact(name="rim", radius=0.1, stiffness=stiffness, exponent=1.0, friction=0.3)
    model = Robot(name="cart", links=links, contacts=[touch]).model()
    depth = 2.0 * G / stiffness
    qdd = model.forward_dynamics([0.0, 0.1 - depth, 0.0], [0.0, 0.0, 20.0], np.zeros(3))
    assert qdd == pytest.approx([0.3 * G, 0.0, -0.3 * 2.0 * G * (0.1 - depth / 2) / 1e-2], rel=1e-4, abs=1e-4)


SURFACES: dict[str, dict[str, Any]] = {
    "plane": {"type": "plane"}, "sphere": {"type": "sphere", "radius": 0.1},
    "capsule": {"type": "capsule", "radius": 0.05, "length": 0.3}, "box": {"type": "box", "size": [0.2, 0.3, 0.1]},
}  # fmt: skip


def distance(kind: str, d: np.ndarray) -> float:
    """Of a point from a surface in its axes, by hand."""
    if kind == "plane":
        return float(d[2])
    if kind == "sphere":
        return float(np.linalg.norm(d)) - 0.1
    if kind == "capsule":
        return float(np.hypot(np.hypot(d[0], d[1]), max(abs(d[2]) - 0.15, 0.0))) - 0.05
    outside = np.maximum(np.abs(d) - [0.1, 0.15, 0.05], 0.0)
    return float(np.linalg.norm(outside))


def reaching(kind: str, flexible: bool, on_link: bool) -> Robot:
    """A spatial arm with a ball at its tip, and a surface on the base or on its first link."""
    beam = Beam(length=0.6, mass_per_length=1.5, EI_y=100.0, EI_z=100.0, GJ=80.0)
    shapes: dict[str, Any] = {"shapes": Shapes(bending_y=1, bending_z=1)} if flexible else {}
    axes = ((0, 0, 1), (0, 1, 0), (0, 0, 1))
    links = [Link(name=name, joint=Joint(axis=axis), beam=beam, **shapes) for name, axis in zip("abc", axes)]
    place = {"xyz": (0.8 if on_link else 1.4, 0.2, -0.3), "rpy": (0.3, -0.4, 0.6)}
    frame = Frame(name="wall", link="a" if on_link else "base", origin=place)
    touch = Contact(name="hit", radius=0.5, surface={**SURFACES[kind], "frame": "wall"}, stiffness=5e3, damping=0.3,
                    friction=0.6, stick_speed=0.05)  # fmt: skip
    return Robot(name="reaching", links=links, frames=[frame], contacts=[touch])


CASES = [*((kind, False, place) for kind in SURFACES for place in (False, True)),
         pytest.param("capsule", True, True, marks=pytest.mark.full)]  # fmt: skip


@pytest.mark.parametrize(("kind", "flexible", "on_link"), CASES)
def test_all_formulations_have_the_same_contact(
    kind: str, flexible: bool, on_link: bool, rng: np.random.Generator
) -> None:
    """Against gaps by hand, forces by differences of these, and friction that takes energy."""
    robot = reaching(kind, flexible, on_link)
    names = [name for name in pliant.robot.FORMULATIONS if not (flexible and name == "dual-screw")]
    models, bare = [robot.model(formulation=name) for name in names], robot.replace({"contacts": []}).model()
    n, h, met = bare.n, 1e-6, 0

    def gap(q: np.ndarray) -> float:
        ball, wall = bare.pose(q, frame="tip"), bare.pose(q, frame="wall")
        return distance(kind, wall[:3, :3].T @ (ball[:3, 3] - wall[:3, 3])) - 0.5

    x = ca.SX.sym("q", n)
    slope = ca.Function("V", [x], [ca.gradient(strain_energy(models[0].chain, x) - strain_energy(bare.chain, x), x)])
    for _ in range(12):
        q, qd = rng.uniform(-0.5, 0.5, n) * np.where(np.arange(n) < 3, 1.0, 0.03), rng.normal(size=n)
        found = [model.inverse_dynamics(q, qd, np.zeros(n)) for model in models]
        assert max(np.abs(a - found[0]).max() for a in found) < 1e-9 * np.abs(found[0]).max()
        more = found[0] - bare.inverse_dynamics(q, qd, np.zeros(n))
        if gap(q) > 0:
            assert np.abs(more).max() < 1e-9
            continue
        met += 1
        J = np.array([(gap(q + h * e) - gap(q - h * e)) / (2 * h) for e in np.eye(n)])
        pressed = 5e3 * (-gap(q)) ** 1.5
        assert np.array(slope(q)).ravel() == pytest.approx(-pressed * J, rel=1e-4, abs=1e-4 * pressed)
        whole = pressed * max(1 - 0.3 * (J @ qd), 0.0)
        lost = (more + whole * J) @ qd
        assert lost > 0.6 * whole * 0.05 or whole == 0.0
    assert met > 1


@pytest.mark.parametrize("exponent", [1.0, 1.5])
def test_an_own_step_resolves_a_hit(exponent: float) -> None:
    """The frequency at the depth of the hit, by Newton for a spring: sqrt(k / m)."""
    k, m, v = 1e6, 0.5, 1.0
    body = RigidBody(mass=m, com=(0, 0, 0), inertia=(1e-3, 1e-3, 1e-3), tip=(0, 0, 0))
    ball = Link(name="ball", joint=Joint(type="prismatic", axis=(0, 0, 1)), rigid=body)
    touch = Contact(name="ground", radius=0.05, stiffness=k, exponent=exponent, surface={"frame": "floor"})
    floor = Frame(name="floor", link="base", origin={"xyz": (0, 0, -1.0)})
    model = Robot(name="ball", links=[ball], contacts=[touch], frames=[floor]).model()
    depth = ((exponent + 1) * m * v**2 / (2 * k)) ** (1 / (exponent + 1))
    expected = np.sqrt(exponent * k * depth ** (exponent - 1) / m)
    assert pliant.Stepper(model).step_length == pytest.approx(0.4 / (1.3 * expected), rel=1e-9)


def test_batches_have_contacts() -> None:
    """An arm alone and among others to the bit, and a single run to rounding."""
    model = falling(0.6, 1.0, 1.0)
    given: dict[str, Any] = {"method": "rk4", "step": 2e-5, "output_step": 0.05}
    q0 = np.array([[0.1], [0.12], [0.15]])
    batch = pliant.simulate_batch(model, 0.3, q0, **given)
    assert np.array_equal(pliant.simulate_batch(model, 0.3, q0[1:2], **given).q[0], batch.q[1])
    run = pliant.simulate(model, 0.3, q0[1], **given)
    assert np.abs(batch.q[1] - run.q).max() < 1e-9
    assert run.qd[:, 0].max() > 0.1


def test_an_arm_rests_on_the_ground() -> None:
    """Statics know the contact where it is pressed."""
    model = falling(1.0, 1.0)
    depth = (0.5 * G / 1e9) ** (2 / 3)
    assert model.holding_torque([0.05 - depth]) == pytest.approx([0.0], abs=1e-9)
    stiff = 1.5 * 1e9 * np.sqrt(depth)
    assert model.frequencies([0.05 - depth], "free") == pytest.approx([np.sqrt(stiff / 0.5) / (2 * np.pi)])


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"frame": "tpi"}, "frame `tpi`, which is not there"),
        ({"surface": {"type": "sphere"}}, "a sphere needs `radius`, in m"),
        ({"surface": {"type": "plane", "radius": 1.0}}, "a plane has no `radius`; remove it"),
        ({"surface": {"type": "box", "size": [0.1, 0.0, 0.1]}}, "must be above 0"),
        ({"damping": 0.1}, "give one of them"),
        ({"exponent": 0.5}, "below 1"),
        ({"radius": -0.1}, "above 0"),
        ({"name": "ball"}, "called like a joint or a coupling"),
    ],
)
def test_contacts_that_cannot_be(change: dict[str, Any], words: str) -> None:
    """Each in one line that says what to do."""
    given = falling(0.5, 1.0).robot.to_dict()
    given["contacts"][0] |= change
    with pytest.raises(pliant.ModelError, match=words) as error:
        Robot.from_dict(given)
    assert len(str(error.value).strip().splitlines()) <= 2


def test_what_does_not_know_contacts_says_so() -> None:
    robot = reaching("plane", True, False)
    with pytest.raises(pliant.UnsupportedModel, match="contacts, and this arm has hit"):
        robot.to_mjcf()
    assert "contact hit: sphere at tip and plane at wall" in str(robot)
