"""Steps of runs and what they meet: contacts and cables are not leapt over, whatever the step before was.

The reference is a planar two-link arm written out by hand: Newton's law for both centers of mass, and the force of a
sphere on a round post (Hertz's, damped, with friction) at the point between the surfaces. SciPy integrates it with
steps of a fortieth of the way through the post.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import casadi
import numpy as np
import pytest
from scipy.integrate import solve_ivp

import pliant
from pliant import Beam, Frame, Joint, Link, RigidBody, Robot, Shapes
from pliant.integrators import solve
from pliant.robot import Contact

METHODS = ("dop853", "dopri5", "rodas5p")
SAME = 2e-4
"""Of rates of 7 rad/s: local errors of 1e-8 in some hundred steps, and a hit that spreads them; rodas5p controls
positions alone, and a hit turns errors of these into 5e-5. A hit that is missed is off by 1, a grazed post by 3e-3."""

SLOPES = 1e-3
"""Of slopes of 0.1 to 0.7 by a mass, whose differences by hand are good to 1e-5."""


@dataclass(frozen=True)
class Planar:
    """Two rigid links in the plane, a sphere about the tip, and a round post."""

    lengths: tuple[float, float] = (0.5, 0.5)
    masses: tuple[float, float] = (2.0, 2.0)
    centers: tuple[tuple[float, float], tuple[float, float]] = ((0.25, 0.0), (0.25, 0.0))
    inertias: tuple[float, float] = (0.05, 0.05)
    post: tuple[float, float] = (0.0, 1.0)
    radius: float = 0.02
    stiffness: float = 1e6
    damping: float = 0.0
    friction: float = 0.0
    stick_speed: float = 1e-2

    def contact(self, **change: Any) -> Contact:
        surface = {"type": "capsule", "radius": 0.02, "length": 0.4, "frame": "post"}
        given = {name: getattr(self, name) for name in ("radius", "stiffness", "damping", "friction", "stick_speed")}
        return Contact(**{"name": "hit", "surface": surface, **given, **change})

    def robot(self, contacts: list[Contact] | None = None) -> Robot:
        links = []
        for k, name in enumerate("ab"):
            I, (x, y) = self.inertias[k], self.centers[k]
            body = RigidBody(
                mass=self.masses[k], com=(x, y, 0), inertia=(I / 2, 2 * I / 3, I), tip=(self.lengths[k], 0, 0)
            )
            links.append(Link(name=name, joint=Joint(axis=(0, 0, 1)), rigid=body))
        post = Frame(name="post", link="base", origin={"xyz": (*self.post, 0.0)})
        return Robot(
            name="planar", gravity=(0, 0, 0), links=links, frames=[post], contacts=contacts or [self.contact()]
        )

    def model(self) -> pliant.Model:
        return _model(self)

    # ------------------------------------------------------------------------------------------------ by hand

    def tip(self, q: Any) -> complex:
        return self.lengths[0] * ahead(q[0]) + self.lengths[1] * ahead(q[0] + q[1])

    def gap(self, q: Any) -> float:
        return abs(self.tip(q) - complex(*self.post)) - self.radius - 0.02

    def rates(self, t: float, x: Any) -> list[float]:
        (m, n), v, spin = self.masses, x[2], x[2] + x[3]
        elbow = self.lengths[0] * ahead(x[0])
        first, second = (complex(*c) * ahead(angle) for c, angle in zip(self.centers, (x[0], x[0] + x[1])))
        # accelerations of the centers: by those of the joints, and by what turns
        A, B, C = 1j * first, 1j * (elbow + second), 1j * second
        a, b = -(v**2) * first, -(v**2) * elbow - spin**2 * second
        m11 = sum(self.inertias) + m * dot(A, A) + n * dot(B, B)
        m12, m22 = self.inertias[1] + n * dot(B, C), self.inertias[1] + n * dot(C, C)
        f1, f2 = -m * dot(A, a) - n * dot(B, b), -n * dot(C, b)
        u = -self.gap(x)
        if u > 0:
            away = self.tip(x) - complex(*self.post)
            normal = away / abs(away)
            point = self.tip(x) - normal * (self.radius - u / 2)
            speed = 1j * point * v + 1j * (point - elbow) * x[3]
            pressed = self.stiffness * u**1.5 * max(1.0 - self.damping * dot(speed, normal), 0.0)
            sliding = speed - dot(speed, normal) * normal
            push = pressed * normal - self.friction * pressed * sliding / max(abs(sliding), self.stick_speed)
            f1, f2 = f1 + dot(1j * point, push), f2 + dot(1j * (point - elbow), push)
        least = m11 * m22 - m12**2
        return [v, x[3], (m22 * f1 - m12 * f2) / least, (m11 * f2 - m12 * f1) / least]

    def run(self, q0: Any, qd0: Any, t_end: float) -> np.ndarray:
        """State at the end; beside the post by steps in which the tip moves by 2 mm."""
        t, x = 0.0, np.array([*q0, *qd0])
        while t < t_end:
            end, longest = min(t + 0.02, t_end), 5e-4 if self.gap(x) < 0.15 else np.inf
            x = solve_ivp(self.rates, (t, end), x, "DOP853", rtol=1e-10, atol=1e-12, max_step=longest).y[:, -1]
            t = end
        return x


def ahead(angle: float) -> complex:
    return complex(math.cos(angle), math.sin(angle))


def dot(a: complex, b: complex) -> float:
    return (a.conjugate() * b).real


@cache
def _model(arm: Planar) -> pliant.Model:
    return arm.robot().model()


EQUAL = Planar()
UNEQUAL = Planar(
    (0.53, 0.37), (2.1, 1.3), ((0.29, 0.02), (0.17, -0.015)), (0.061, 0.023), (-0.35, 0.81), 0.017, 8e5, 0.3, 0.4
)
GRAZED = replace(EQUAL, post=(0.0, 1.04 - 1.5e-4), friction=0.4)
"""Passed 0.15 mm deep by the outstretched arm, for 3 ms."""

CASES: dict[str, tuple[Planar, list[float], list[float], float]] = {
    "post": (EQUAL, [0.0, 0.0], [2.0, 0.0], 0.9),
    "unequal": (UNEQUAL, [0.2, 0.1], [2.3, -0.1], 1.2),
    "grazed": (GRAZED, [0.9, 0.0], [2.6, 0.0], 0.4),
    "touching": (EQUAL, [np.pi / 2 - 2 * np.arcsin(0.02), 0.0], [2.0, 0.0], 0.15),
    "pressed": (UNEQUAL, [1.8, 0.3368], [0.6, 0.8], 0.25),
}


@pytest.mark.parametrize("case", CASES)
def test_what_is_in_the_way_is_met_by_every_method(case: str) -> None:
    """Runs with rows at their ends alone, batches and steppers against the arm by hand."""
    arm, q0, qd0, t_end = CASES[case]
    if case == "touching":
        assert abs(arm.gap(q0)) < 1e-15
    if case == "pressed":
        assert -2e-3 < arm.gap(q0) < -1e-4
    expected, free = arm.run(q0, qd0, t_end), replace(arm, post=(9.0, 9.0)).run(q0, qd0, t_end)
    assert np.abs(expected - free).max() > 10 * SAME
    if case == "post":
        assert expected == pytest.approx([1.9129, -1.1998, 1.981, -7.103], abs=5e-4)
    model = arm.model()
    for method in METHODS:
        run = pliant.simulate(model, t_end, q0, qd0, method=method, output_step=t_end)
        assert np.concatenate([run.q[-1], run.qd[-1]]) == pytest.approx(expected, abs=SAME), method
        begins, ends = ([t for t, name in run.stats.events if name == f"hit {word}"] for word in ("touches", "leaves"))
        assert len(ends) == 1, method
        assert len(begins) == (case != "pressed") or case == "touching", method
        assert run.stats.energy_error < 1e-4
        alone = pliant.Stepper(model, method=method, q0=q0, qd0=qd0)
        alone.step(t_end)
        assert np.concatenate([alone.q, alone.qd]) == pytest.approx(expected, abs=SAME), method
    other = [x + 0.05 for x in qd0]
    batch = pliant.simulate_batch(model, t_end, q0, [qd0, other], output_step=t_end)
    assert np.concatenate([batch.q[0, -1], batch.qd[0, -1]]) == pytest.approx(expected, abs=SAME)
    many = pliant.Stepper(model, method="dopri5", q0=q0, qd0=[qd0, other], count=2)
    many.step(t_end)
    assert np.concatenate([many.q[0], many.qd[0]]) == pytest.approx(expected, abs=SAME)


THIN: dict[str, tuple[dict[str, Any], str]] = {
    "sphere": ({"type": "sphere", "radius": 0.01}, "contacts.0.surface.radius"),
    "capsule": ({"type": "capsule", "radius": 0.01, "length": 0.3}, "contacts.0.surface.radius"),
    "box": ({"type": "box", "size": [0.2, 0.02, 0.3]}, "contacts.0.surface.size.1"),
}


def pendulum(contact: dict[str, Any], parameters: tuple[str, ...] = (), turned: float = 0.0) -> pliant.Model:
    """A lopsided link of 0.63 m, and a frame on the way of its tip, 2.3 rad on."""
    body = RigidBody(mass=1.7, com=(0.31, 0.02, 0.01), inertia=(7e-3, 0.05, 0.055), tip=(0.63, 0.03, 0.0))
    link = Link(name="a", joint=Joint(axis=(0, 0, 1)), rigid=body)
    at = complex(0.63, 0.03) * ahead(2.3)
    post = Frame(name="post", link="base", origin={"xyz": (at.real, at.imag, 0), "rpy": (0, 0, 2.3 + turned)})
    touch = Contact(name="hit", stiffness=1e7, **contact)
    robot = Robot(name="pendulum", gravity=(0, 0, 0), links=[link], frames=[post], contacts=[touch])
    return robot.model(parameters=list(parameters))


@pytest.mark.parametrize("kind", THIN)
def test_nothing_thin_is_passed(kind: str) -> None:
    """From 1 mm to 0.1 m thick, at many speeds and from many starts: a link without friction and damping comes back."""
    surface, key = THIN[kind]
    model = pendulum({"radius": 0.015, "surface": {**surface, "frame": "post"}}, (key,))
    thick = np.array([1e-3, 4e-3, 0.02, 0.1])
    speeds, starts = np.array([0.05, 0.4, 1.7, 5.0, 11.0]), np.array([2.1, 1.31, -0.4, -2.83])
    grid = np.meshgrid(thick if kind == "box" else thick / 2, speeds, starts, indexing="ij")
    sizes, v, q = (each.ravel()[:, None] for each in grid)
    for k, speed in enumerate(speeds):
        some = v[:, 0] == speed
        t_end = 6.0 / speed
        batch = pliant.simulate_batch(model, t_end, q[some], v[some], p=sizes[some], output_step=t_end)
        assert batch.qd[:, -1, 0] == pytest.approx(-speed, rel=1e-4)
        assert batch.energy_error.max() < 1e-3
        size, start, method = sizes[some][4 * k % 16], starts[k % 4], METHODS[k % 3]
        run = pliant.simulate(model, t_end, [start], [speed], p=size, method=method, output_step=t_end)
        assert run.qd[-1, 0] == pytest.approx(-speed, rel=1e-3), method
        assert run.stats.energy_error < 1e-3


def ends(model: pliant.Model, t_end: float, q0: Any, qd0: Any) -> dict[str, np.ndarray]:
    """States at the end, by every method that chooses its steps."""
    found = {}
    for method in METHODS:
        run = pliant.simulate(model, t_end, q0, qd0, method=method, output_step=t_end)
        assert run.stats.energy_error < 1e-3, method
        found[method] = np.concatenate([run.q[-1], run.qd[-1]])
    batch = pliant.simulate_batch(model, t_end, q0, qd0, output_step=t_end)
    assert batch.energy_error.max() < 1e-3
    return found | {"batch": np.concatenate([batch.q[0, -1], batch.qd[0, -1]])}


@pytest.mark.full
def test_two_contacts_at_once_are_one_of_both_stiffnesses() -> None:
    arm, q0, qd0, t_end = CASES["unequal"]
    halves = [arm.contact(name=name, stiffness=arm.stiffness / 2) for name in ("one", "two")]
    expected = arm.run(q0, qd0, t_end)
    for method, found in ends(arm.robot(halves).model(), t_end, q0, qd0).items():
        assert found == pytest.approx(expected, abs=SAME), method


def test_a_cable_that_is_taut_for_a_moment_holds_the_link() -> None:
    """The tip passes the point farthest from the cable's anchor, where the cable is 4 mm too short, in a tenth of a
    second: a pendulum with the pull of the cable, by hand."""
    far, radius, anchor, short = 2.3, abs(complex(0.63, 0.03)), 0.3, 4e-3
    k, w, length = 1e5, 1e-3, radius + anchor - short
    bare = pendulum({"radius": 0.01, "surface": {"frame": "post", "type": "sphere", "radius": 0.01}}).robot
    at = -anchor * ahead(far)
    cable = pliant.robot.Cable(stiffness=k, length=length, smoothing=w)
    held = pliant.robot.Coupling(name="rope", between=("anchor", "tip"), cable=cable)
    frame = Frame(name="anchor", link="base", origin={"xyz": (at.real, at.imag, 0)})
    model = bare.replace({"contacts": [], "couplings": [held], "frames": [frame]}).model()
    inertia = 0.055 + 1.7 * (0.31**2 + 0.02**2)

    def rates(t: float, x: Any) -> list[float]:
        angle = x[0] + math.atan2(0.03, 0.63) - far
        L = math.sqrt(radius**2 + anchor**2 + 2 * radius * anchor * math.cos(angle))
        over = L - length
        pull = k * ((min(max(over, -w), w) + w) ** 2 / (4 * w) + max(over - w, 0.0))
        return [x[1], pull * radius * anchor * math.sin(angle) / L / inertia]

    speed, t_end = 1.7, 3.0
    span = {"rtol": 1e-10, "atol": 1e-12, "max_step": 5e-3}
    expected = solve_ivp(rates, (0.0, t_end), [-0.3, speed], "DOP853", **span).y[:, -1]
    assert expected[1] == pytest.approx(-speed, rel=1e-6)
    for method, found in ends(model, t_end, [-0.3], [speed]).items():
        assert found == pytest.approx(expected, abs=SAME), method
    for method in ("adams", "bdf"):  # which passed cables that are shorter by less
        with pytest.raises(pliant.UnsupportedModel, match="may step over what the arm meets"):
            pliant.simulate(model, t_end, [-0.3], [speed], method=method)


@pytest.mark.full
def test_a_bent_arm_is_held_in_the_middle_of_a_link() -> None:
    """A spatial arm of two unequal beams, whose forearm meets a box; against steps of a thousandth of the way there."""
    beams = [Beam(length=l, mass_per_length=m, EI_y=y, EI_z=z, GJ=40.0) for l, m, y, z in
             ((0.52, 1.3, 90.0, 60.0), (0.41, 0.8, 45.0, 70.0))]  # fmt: skip
    shapes = {"shapes": Shapes(bending_y=1, bending_z=1)}
    links = [Link(name=name, joint=Joint(axis=axis), beam=beam, **shapes)
             for name, axis, beam in zip("ab", ((0, 0, 1), (0, 0.6, 0.8)), beams)]  # fmt: skip
    middle = Frame(name="middle", link="b", at={"x": 0.23}, origin={"xyz": (0, 0.01, -0.02)})
    wall = Frame(name="wall", link="base", origin={"xyz": (-0.2, 0.7, 0.0), "rpy": (0, 0.2, 0.4)})
    law: dict[str, Any] = {"stiffness": 2e6, "damping": 0.2, "friction": 0.3, "stick_speed": 0.05}
    surface: dict[str, Any] = {"type": "box", "size": [0.3, 0.004, 0.5], "frame": "wall"}
    touch = Contact(name="hit", frame="middle", radius=0.012, surface=surface, **law)
    robot = Robot(name="bent", gravity=(0, 0, -1.0), links=links, frames=[middle, wall], contacts=[touch])
    model, q0, qd0, t_end = robot.model(), {"a": 0.6, "b": 0.1}, {"a": 3.0}, 0.5
    fine = pliant.simulate(model, t_end, q0, qd0, method="dop853", step=2e-4, rtol=1e-11, atol=1e-12)
    assert fine["hit.gap"].min() < -1e-4
    assert fine.stats.energy_error < 1e-6
    for method, found in ends(model, t_end, q0, qd0).items():
        joints = [0, 3, 6, 9]
        assert found[joints] == pytest.approx(np.concatenate([fine.q[-1], fine.qd[-1]])[joints], abs=3e-3), method


@pytest.mark.parametrize("method", ["rk4", "midpoint"])
def test_fixed_steps_that_may_pass_something_say_so(method: str) -> None:
    """A fixed step of 0.2 s goes twenty times as far as the post is thick; one of 1 ms sees it."""
    model = EQUAL.model()
    start: dict[str, Any] = {"q0": [0.05, 0.0], "qd0": [4.0, 0.0]}
    words = "may have been passed unseen"
    with pytest.warns(UserWarning, match=words):
        pliant.simulate(model, 0.6, **start, method=method, step=0.2)
    with pytest.warns(UserWarning, match=words):
        pliant.Stepper(model, method=method, step=0.2, **start).step(0.6)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        pliant.simulate(model, 0.6, **start, method=method, step=2e-4)
        if method == "rk4":
            pliant.simulate_batch(model, 0.6, **start, step=2e-4)
    if method == "rk4":
        with pytest.warns(UserWarning, match=words):
            batch = pliant.simulate_batch(model, 0.6, **start, step=0.2)
        assert batch.refused[0] == 0
        with pytest.warns(UserWarning, match=words):
            pliant.Stepper(model, step=0.2, count=2, **start).step(0.6)


def test_arms_that_meet_nothing_are_not_watched() -> None:
    free, met = pliant.load("two-link").model(), EQUAL.model()
    problems = [pliant.Stepper(model).composition.problem() for model in (free, met)]
    assert [(bool(problem.approach), problem.meets) for problem in problems] == [(False, 0), (True, 1)]


def test_a_start_at_the_surface_is_short() -> None:
    """A run that begins where the surfaces touch takes a first step of a twentieth of both radii, not of the run."""
    model, (_, q0, qd0, _) = EQUAL.model(), CASES["touching"]
    width, speed = 0.05 * 0.04, 2.0 * 1.0
    composition = pliant.Stepper(model).composition
    x0 = composition.start(np.array(q0), np.array(qd0))
    for method in METHODS:
        found = solve(composition.problem(), (0.0, 1.0), x0, method=method, p=composition.inputs_at(np.zeros(1))[0])
        assert 0.0 < np.diff(found.t)[0] <= 1.001 * width / speed, method


def test_steps_end_where_a_contact_begins() -> None:
    """The kink is at the end of a step, to the last digits that the dense output has."""
    arm, q0, qd0, t_end = CASES["post"]
    composition = pliant.Stepper(arm.model()).composition
    x0 = composition.start(np.array(q0), np.array(qd0))
    for method in METHODS:
        found = solve(composition.problem(), (0.0, t_end), x0, method=method, p=composition.inputs_at(np.zeros(1))[0])
        gaps = np.array([arm.gap(q) for q in found.x[:, :2]])
        begins = int(np.flatnonzero(gaps < 1e-9)[0])
        assert abs(gaps[begins]) < 1e-9
        assert gaps[begins + 1] < -1e-7


def test_steps_end_where_a_stop_begins() -> None:
    """A link that comes to a stop at 1 rad with 2 rad/s and turns back: a half-wave of a spring."""
    body = RigidBody(mass=1.7, com=(0.31, 0.02, 0.01), inertia=(7e-3, 0.05, 0.055), tip=(0.63, 0.03, 0.0))
    limits = pliant.robot.Limits(upper=1.0, stop=pliant.robot.Stop(stiffness=3e4))
    link = Link(name="a", joint=Joint(axis=(0, 0, 1), limits=limits), rigid=body)
    model = Robot(name="stopped", gravity=(0, 0, 0), links=[link]).model()
    composition = pliant.Stepper(model).composition
    x0, inertia = composition.start(np.zeros(1), np.array([2.0])), 0.055 + 1.7 * (0.31**2 + 0.02**2)
    held = np.pi * np.sqrt(inertia / 3e4)
    for method in METHODS:
        found = solve(composition.problem(), (0.0, 1.0), x0, method=method, p=composition.inputs_at(np.zeros(1))[0])
        for time in (0.5, 0.5 + held):
            assert np.abs(found.t - time).min() < 1e-7, method
        assert found.x[-1][:2] == pytest.approx([1.0 - 2.0 * (0.5 - held), -2.0], abs=SAME), method


@pytest.mark.full
@pytest.mark.parametrize("case", ["post", "unequal"])
def test_slopes_do_not_leap_over_what_is_met(case: str) -> None:
    """Sensitivities beside the run and gradients by adaptive steps, against differences of the arm by hand."""
    (arm, q0, qd0, t_end), path = CASES[case], "links.b.rigid.mass"
    model, mass, h = arm.robot().model(parameters=[path]), arm.masses[1], 1e-3
    either = [replace(arm, masses=(arm.masses[0], mass + s * h)).run(q0, qd0, t_end) for s in (1, -1)]
    values, slopes = arm.run(q0, qd0, t_end), (either[0] - either[1]) / (2 * h)
    for method in METHODS:
        found = pliant.analysis.run_sensitivity(
            model, lambda t, q, qd: casadi.vertcat(q, qd), t_end, q0, qd0, method=method
        )
        assert found.values.ravel() == pytest.approx(values, abs=SAME), method
        assert found.gradient.ravel() == pytest.approx(slopes, abs=SLOPES), method
        by = pliant.gradient(model, t_end, q0, qd0, terminal=lambda t, q, qd: qd[1], method=method)
        assert (by.value, by["p"][0]) == pytest.approx((values[3], slopes[3]), abs=SLOPES), method


def test_gradients_by_steps_that_may_pass_something_say_so() -> None:
    model = EQUAL.model()
    ask: dict[str, Any] = {"q0": [0.05, 0.0], "qd0": [4.0, 0.0], "terminal": lambda t, q, qd: q[0]}
    for call in (pliant.gradient, pliant.gradients.gradient_batch):
        with pytest.warns(UserWarning, match="may have been passed unseen"):
            call(model, 0.6, step=0.2, **ask)
