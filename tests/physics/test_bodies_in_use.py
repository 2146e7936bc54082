"""An arm with a body from a file does what every arm does; what a body cannot do is refused by name."""

from __future__ import annotations

import json
import warnings
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import pliant
from bodies import body_of_beam, random_body
from pliant import Beam, Joint, Link, Robot, Shapes, UnsupportedModel
from pliant.analysis.counts import tape_count
from pliant.cli import app
from pliant.mechanics import build_chain
from pliant.model.coordinate_units import coordinate_units
from pliant.robot.parts.bodies.reduced_body import ReducedBody
from pliant.robot.stations import fraction

BEAM = Beam(length=0.7, mass_per_length=3.0, EI_y=800.0, EI_z=900.0)


@cache
def body() -> ReducedBody:
    return replace(random_body(np.random.default_rng(4), 2), about="points,\n\x1b[31mat random")


@cache
def robot() -> Robot:
    """A beam, a body behind it, and a hand on one of its further frames."""
    return Robot(
        name="mixed arm",
        links=[
            Link(name="upper", beam=BEAM, shapes=Shapes(bending_z=1)),
            Link(name="fore", joint=Joint(axis=(0, 1, 0)), body={"content": body(), "damping": 0.02}),
            Link(name="hand", parent="fore", at={"frame": "elbow"},
                 rigid={"mass": 0.5, "com": [0.05, 0, 0], "tip": [0.1, 0, 0], "inertia": [0.01] * 3}),
        ],
    )  # fmt: skip


@cache
def model() -> pliant.Model:
    return robot().model(stiffening="off")


@pytest.mark.slow
def test_info_shows_modes_frames_and_mass(tmp_path: Path) -> None:
    """As text and as data; what a file says of itself is no command to a terminal."""
    robot().save(tmp_path / "arm.yaml")
    shown = CliRunner().invoke(app, ["info", str(tmp_path / "arm.yaml")]).output
    assert "body of fore: points, [31mat random" in shown
    assert "\x1b" not in shown
    assert f"{body().mass:.4g} kg; frames at root [0, 0, 0], tip [" in shown
    assert f"frequencies alone, root held: {body().frequencies[0]:.4g}, " in shown
    assert "stiffening: none, it is linear in its coordinates" in shown
    told = json.loads(CliRunner().invoke(app, ["info", "--json", str(tmp_path / "arm.yaml")]).output)
    fore = told["links"][1]
    assert (fore["body"], fore["damping"]) == ("body", 0.02)
    assert fore["body_facts"]["frequencies_hz"] == pytest.approx(body().frequencies)
    assert told["links"][2]["hangs_on"] == "fore elbow"


@pytest.mark.slow
def test_statics_and_slopes() -> None:
    """Rest under weight balances, and accelerations change as their derivatives say."""
    m = model()
    q = m.equilibrium([0.0, 0.2, 0.1])
    rest = np.zeros(m.n)
    held = m.inverse_dynamics(q, rest, rest)
    assert np.abs(np.delete(held, [0, 1, 2])).max() < 1e-8
    found = m.forward_dynamics_derivatives(q, rest, held[:3])
    h = 1e-6
    for k in range(m.n):
        step = h * np.eye(m.n)[k]
        ahead, behind = (m.forward_dynamics(q + sign * step, rest, held[:3]) for sign in (1, -1))
        assert found.dq[:, k] == pytest.approx((ahead - behind) / (2 * h), rel=1e-5, abs=1e-5 * np.abs(found.dq).max())


def test_batches_and_steppers_make_the_run() -> None:
    m = model()
    q0 = np.concatenate([[0.1, 0.3, -0.2], np.zeros(m.n - 3)])
    run = pliant.simulate(m, 0.05, q0, method="rk4", step=1e-3, output_step=0.05)
    batch = pliant.simulate_batch(m, 0.05, np.tile(q0, (2, 1)), step=1e-3, method="rk4", output_step=0.05)
    assert batch.q[1, -1] == pytest.approx(run.q[-1], rel=1e-10)
    arm = pliant.Stepper(m, step=1e-3, q0=q0)
    arm.step(0.05, np.zeros(3))
    assert arm.q == pytest.approx(run.q[-1], rel=1e-10)


def test_a_force_on_a_frame_does_the_work_of_its_jacobian() -> None:
    m = model()
    q, force = np.linspace(0.3, -0.1, m.n), np.array([3.0, -2.0, 5.0])
    rest = np.zeros(m.n)
    for where in ({"frame": "fore.elbow"}, {"link": "fore", "x": "tip"}):
        J = m.jacobian(q, frame=where.get("frame", "fore.tip"))[3:]
        run = pliant.simulate(m, 1e-4, q, loads=[pliant.loads.Wrench(force=force, **where)], method="rk4", step=1e-4)
        expected = m.forward_dynamics(q, rest, np.zeros(3)) + np.linalg.solve(m.mass_matrix(q), J.T @ force)
        assert run.qdd[0] == pytest.approx(expected, rel=1e-9)


def test_rotations_of_frames_are_judged() -> None:
    """In the run, by the frame that turns most; small ones are not told."""
    m = Robot(name="arm", links=[Link(name="fore", body=body())], gravity=(0, 0, 0)).model()
    c = np.array([0.2, -0.1])
    turns = np.linalg.norm(body().turn @ c, axis=-1)
    with pytest.warns(
        UserWarning, match=rf"got a turn of {turns.max():.3g} rad of its frame `{body().frames[turns.argmax()]}`"
    ):
        run = pliant.simulate(m, 1e-3, [0.0, *c])
    (judged,) = run.validity
    assert judged.link == "fore"
    assert judged.slope == pytest.approx(turns.max(), rel=0.05)
    assert judged.source == "not judged: its body is linear"


def test_stiffening_is_none_of_a_body() -> None:
    """Levels change beams and leave bodies; an arm of bodies alone is not asked for one."""
    alone = Robot(name="arm", links=[Link(name="fore", body=body())])
    q, qd = np.array([0.2, 0.01, 0.02]), np.array([3.0, 0.1, 0.2])
    levels = [alone.model(stiffening=level).bias(q, qd) for level in ("off", "second-order", "third-order")]
    assert np.array_equal(levels[0], levels[1])
    assert np.array_equal(levels[0], levels[2])
    assert str(alone.model().level) == "off (auto: no beam bends, and no file of a body has its second order)"
    assert not alone.model().level.in_doubt
    mixed = robot().replace({"links.upper.shapes": "auto"}).model()
    assert mixed.level.stiffening == "second-order"
    assert len(mixed.choices) == 1


def test_a_body_without_second_order_that_spins_is_told() -> None:
    """At twice its first frequency: in frequencies, runs, batches and steppers; not slowly, and not who chose so."""
    robot = Robot(name="flap", gravity=(0, 0, 0), links=[Link(name="fore", body=body())])
    rate = 4 * np.pi * float(body().frequencies[0])

    def told(call: Any, **options: Any) -> list[str]:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            call(robot.model(**options))
        return [text for one in caught if (text := str(one.message)).startswith("stiffening:")]

    held = pliant.control.Sampled(pliant.control.PD(kp=1.0, kd=0.0, reference=[0.0], gravity="none"), 5e-6)

    def stepped(model: Any) -> None:
        pliant.Stepper(model, qd0=[rate], step=1e-6).step(1e-6)

    for call in (
        lambda model: model.frequencies(rates=[rate]),
        lambda model: pliant.simulate(model, 1e-5, qd0=[rate], progress=False),
        lambda model: pliant.simulate_batch(model, 1e-5, qd0=[rate], step=1e-6, progress=False),
        lambda model: pliant.simulate_batch(  # whose torques are not in its rows
            model, 1e-5, qd0=[rate], step=1e-6, controller=held, progress=False
        ),
        stepped,
    ):
        (text,) = told(call)
        assert "got a body without second order for link fore" in text
        assert "axial force changes link fore by up to" in text
        assert "reduce it anew with stiffening='second-order'" in text
    assert told(lambda model: model.frequencies(rates=[rate]), stiffening="off") == []
    assert told(lambda model: model.frequencies(rates=[0.02 * rate])) == []


@pytest.mark.parametrize("entry", ["run", "batch", "stepper"])
def test_a_body_without_second_order_is_told_by_all(entry: str) -> None:
    """On a base that spins with a joint that is fixed, where no joint has a speed, and under an axial load."""
    fixed = Robot(name="flap", gravity=(0, 0, 0), links=[Link(name="fore", joint=Joint(type="fixed"), body=body())])
    rate = 4 * np.pi * float(body().frequencies[0])
    axis = body().places[1] / np.linalg.norm(body().places[1])
    spin = np.cross(axis, [0.0, 0.0, 1.0])
    size = 0.3 * body().mass * rate**2  # N, of the order of what it carries in the spin

    def call(**acting: Any) -> list[str]:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            if entry == "stepper":
                pliant.Stepper(fixed.model(), step=1e-6, **acting).step(1e-6)
            else:
                run = pliant.simulate if entry == "run" else pliant.simulate_batch
                run(fixed.model(), 1e-5, method="rk4", step=1e-6, progress=False, **acting)
        return [text for one in caught if (text := str(one.message)).startswith("stiffening:")]

    for part, count in ((1.0, 1), (1e-6, 0)):
        pushed = pliant.loads.Wrench(force=-part * size * axis)
        for acting in (
            {"base": pliant.loads.Base(angular_velocity=spin * rate * np.sqrt(part))}, {"loads": [pushed]},
        ):  # fmt: skip
            found = call(**acting)
            assert len(found) == count
            assert all("got a body without second order for link fore" in text for text in found)


@pytest.mark.parametrize("to", ["c", "python", "casadi", "fmu"])
def test_exports(to: Any, tmp_path: Path) -> None:
    small = Robot(name="arm", links=[Link(name="fore", body=body())]).model()
    assert pliant.export.export(small, to, tmp_path / "out").exists()


def test_what_has_no_sections_is_told() -> None:
    m = model()
    run = pliant.simulate(m, 1e-3)
    for ask in (
        lambda: run.deflection("fore", 0.1),
        lambda: run.deflection("fore", "middle"),
        lambda: pliant.simulate(m, 1e-3, loads=[pliant.loads.Wrench(force=[0, 0, 1.0], link="fore", x=0.1)]),
        lambda: pliant.simulate(m, 1e-3, loads=[pliant.loads.Distributed(force=[0, 0, 1.0], link="fore")]),
    ):
        with pytest.raises(
            UnsupportedModel, match="a body from a file, which has no stations; use 'tip', or one of its"
        ):
            ask()
    with pytest.raises(UnsupportedModel, match="link 'fore' is no beam: it has no sections"):
        run.strain("fore", 0.0)
    assert np.isfinite(run.reaction("fore").force).all()
    assert run.deflection("fore").shape == (len(run), 3)


def test_zeros_of_a_symmetric_body_cost_nothing() -> None:
    """A planar beam as a body: noise of rounding in its integrals adds no operation."""
    link = Link(name="bar", beam=BEAM, shapes=Shapes(bending_y=2, boundary="clamped-free"))
    plain = body_of_beam(link)
    noise = np.random.default_rng(2)

    def noisy(x: np.ndarray, size: float) -> np.ndarray:
        return x + 1e-16 * size * noise.uniform(-1, 1, x.shape)

    products = noisy(plain.products, float(np.abs(plain.products).max()))
    rough = replace(plain, arms=noisy(plain.arms, float(np.abs(plain.arms).max())),
                    products=(products + products.transpose(1, 0, 3, 2)) / 2)  # fmt: skip
    counts = [
        tape_count(build_chain(Robot(name="arm", links=[Link(name="bar", body=one)])), "denoc", "accelerations")
        for one in (plain, rough)
    ]
    assert counts[0].products == counts[1].products
    assert counts[0].sums == counts[1].sums


def test_a_sliding_rod_is_no_body_from_a_file() -> None:
    """Its coordinate is a length, and it has stations."""
    joint = Joint(type="prismatic", axis=(1, 0, 0), limits={"lower": 0.2, "upper": 0.9})
    beam = Beam(slides=True, length=0.5, total_length=1.0, mass_per_length=2.0)
    m = Robot(name="rod", links=[Link(name="rod", joint=joint, beam=beam)]).model()
    assert coordinate_units(m) == ("m",)
    assert fraction(m.layout.links[0], "middle") == 0.5
