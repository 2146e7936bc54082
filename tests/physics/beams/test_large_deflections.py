"""Beams in pieces against the exact rods: bent as far as they go, at rest and in motion.

One cubic per piece (`elements`, count 1), second-order stiffening unless said otherwise. Each tolerance is the error
measured, rounded up.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import casadi as ca
import numpy as np
import pytest

import pliant
from exact_cases import (
    BEND,
    BEND_START,
    BEND_TIPS,
    HEIGHT,
    PRINCETON,
    PRINCETON_ANGLES,
    PRINCETON_FORCES,
    SPIN_UP,
    SPIN_UP_LAGS,
    SPIN_UP_TIME,
    WIDTH,
    ExactBeam,
    elbow_frame,
    flying_spaghetti,
    princeton,
    princeton_force,
    robot_arm,
    rolled_up,
    simo_spin_up,
)
from exact_rods import Rod, TipLoad, bent_rod
from pliant import Beam, Joint, Link, Model, Robot, Shapes
from pliant.loads import Wrench
from pliant.robot import Origin
from pliant_bench.spin_up import angle

pytestmark = [
    pytest.mark.full,
    pytest.mark.filterwarnings("ignore:links:UserWarning"),
]  # slopes above 0.2 rad are meant

PLANE = Shapes(method="elements", count=1, bending_y=True)
SPACE = Shapes(method="elements", count=1, bending_y=True, bending_z=True, torsion=True)
DENSITY = 2700.0  # kg/m^3; without effect at rest


def pieces(
    beam: dict[str, Any], count: int, shapes: Shapes, root: Joint | None = None, name: str = "boom", **more: Any
) -> Robot:
    """A beam in `count` pieces."""
    own = Beam(**beam, pieces=count, **more)
    link = Link(name=name, joint=root or Joint(type="fixed"), beam=own, shapes=shapes)
    return Robot(name="pieces", gravity=(0, 0, 0), links=[link])


def rod_beam(rod: Rod, area: float, polar: float) -> dict[str, Any]:
    """A rod as the numbers of a beam."""
    stiffness = {"EI_y": rod.EI_y, "EI_z": rod.EI_z, "GJ": rod.GJ}
    return {
        "length": rod.length, "mass_per_length": DENSITY * area, "polar_inertia": DENSITY * polar, **stiffness
    }  # fmt: skip


# ----------------------------------------------------------------------------------------------------- Princeton's beam


@cache
def princeton_pieces(count: int, stiffening: Any = "second-order") -> Model:
    beam = rod_beam(PRINCETON, WIDTH * HEIGHT, WIDTH * HEIGHT * (WIDTH**2 + HEIGHT**2) / 12)
    return pieces(beam, count, SPACE).model(stiffening=stiffening)  # type: ignore[arg-type]


def princeton_error(model: Model, force: float, angle: float) -> float:
    """Of the tip's displacement, over its length."""
    q = model.equilibrium([], [Wrench(force=princeton_force(force, angle))])
    exact = princeton(force, angle)
    return float(np.linalg.norm(model.tip_pose(q)[:3, 3] - [PRINCETON.length, 0, 0] - exact) / np.linalg.norm(exact))


@pytest.mark.parametrize(
    ("count", "force", "worst"), [(4, 8.896, 0.0017), (4, 13.345, 0.0037), (8, 8.896, 0.0005), (8, 13.345, 0.001)]
)
def test_princeton(count: int, force: float, worst: float) -> None:
    """Bending in two planes and twist: the worst is at 15 degrees."""
    assert force in PRINCETON_FORCES
    errors = [princeton_error(princeton_pieces(count), force, angle) for angle in PRINCETON_ANGLES]
    assert 0.5 * worst < max(errors) < worst


def test_one_link_does_not_follow() -> None:
    """10 % at 45 degrees, 21 % at 90: neither bend-twist coupling nor the softening of a transverse load."""
    one = princeton_pieces(1)
    assert 0.09 < princeton_error(one, 13.345, 45) < 0.11
    assert 0.19 < princeton_error(one, 13.345, 90) < 0.22


# ----------------------------------------------------------------------------------------------------------- roll-up


def rolled(count: int, turns: float, stiffening: Any) -> float:
    """Largest distance of the ends of pieces from the circle, in lengths."""
    beam = {"length": 1.3, "mass_per_length": 0.7, "EI_y": 2.3, "EI_z": 1.9}
    model = pieces(beam, count, PLANE).model(stiffening=stiffening)  # type: ignore[arg-type]
    q = model.equilibrium([], [Wrench(moment=(0, 0, 2 * np.pi * turns * 1.9 / 1.3))])
    ends = np.array([model.pose(q, frame=f"boom.{k + 1}.tip")[:2, 3] for k in range(count)]) / 1.3
    shares = np.arange(1, count + 1) / count
    exact = np.array([share * rolled_up(turns * share) for share in shares])
    return float(np.linalg.norm(ends - exact, axis=1).max())


ROLLED = {
    ("second-order", 0.5): 1.61e-3, ("second-order", 0.75): 3.63e-3, ("second-order", 1.0): 6.54e-3,
    ("third-order", 0.5): 1.27e-4, ("third-order", 0.75): 4.28e-4, ("third-order", 1.0): 1.03e-3,
}  # with 8 pieces  # fmt: skip


@pytest.mark.parametrize(("stiffening", "turns"), ROLLED)
def test_order_of_the_roll_up(stiffening: Any, turns: float) -> None:
    """Third order, or fourth with all products, measured along the whole rod: the tip of a full circle is where it
    belongs by symmetry, with any pieces."""
    errors = np.array([rolled(count, turns, stiffening) for count in (4, 8, 16)])
    assert errors[1] == pytest.approx(ROLLED[stiffening, turns], rel=0.01)
    assert np.log2(errors[:-1] / errors[1:]) == pytest.approx(4 if stiffening == "third-order" else 3, abs=0.1)


# -------------------------------------------------------------------------------------- the bend of Bathe and Bolourchi


@pytest.mark.parametrize(("count", "worst"), [(4, 0.012), (8, 0.0018), (16, 0.0004)])
def test_bend_of_turned_pieces(count: int, worst: float) -> None:
    """A beam that is curved before it is loaded; straight pieces as long as the arc."""
    robot = pieces(rod_beam(BEND, 1.0, 1 / 6), count, SPACE, curvature=(0.0, 0.01))
    model = robot.model(stiffening="second-order")
    errors = []
    for force in BEND_TIPS:
        tip = model.tip_pose(model.equilibrium([], [Wrench(force=(0, 0, force))]))[:3, 3]
        exact = bent_rod(BEND, TipLoad((0, 0, force))).tip
        errors.append(np.linalg.norm(tip - exact) / np.linalg.norm(exact - BEND_START))
    assert 0.5 * worst < max(errors) < worst


# ----------------------------------------------------------------------------------------------------------- follower


@pytest.mark.parametrize(("count", "worst"), [(8, 1e-3), (16, 1e-4)])
def test_force_that_follows(count: int, worst: float) -> None:
    """F L^2/EI = 11: the end points backwards."""
    model = pieces({"length": 1.0, "mass_per_length": 1.0, "EI_y": 1.0, "EI_z": 1.0}, count, PLANE).model(
        stiffening="second-order"
    )
    tip = model.tip_pose(model.equilibrium([], [Wrench(force=(0, 11.0, 0), axes="section")]))[:3, 3]
    exact = bent_rod(Rod(1.0, 1.0, 1.0, 1.0), TipLoad((0, 11.0, 0), force_follows=True), steps=6).tip
    assert np.linalg.norm(tip - exact) < worst


# ------------------------------------------------------------------------------------------------------------ spin-up


def lags(model: Model, speed: float, t_end: float, output_step: float) -> tuple[np.ndarray, np.ndarray]:
    """Times, and how far the tip stays behind the direction of the root."""
    run = pliant.simulate(
        model, t_end, motion={"boom": angle(speed, SPIN_UP_TIME)}, method="dop853", output_step=output_step
    )
    (x, y), phi = run.tip[:, :2].T, run.q[:, 0]
    return run.t, x * np.sin(phi) - y * np.cos(phi)


@cache
def spin_up_pieces(count: int, stiffening: Any = "second-order") -> Model:
    beam = {"mass_per_length": SPIN_UP.mass_per_length, "EI_y": SPIN_UP.EI, "EI_z": SPIN_UP.EI}
    robot = pieces({"length": SPIN_UP.length, **beam}, count, PLANE, Joint())
    return robot.model(stiffening=stiffening)  # type: ignore[arg-type]


@pytest.mark.parametrize("speed", SPIN_UP_LAGS)
def test_spin_up(speed: float) -> None:
    """Eight pieces, 17 coordinates, past the peak: 1.4e-4 at 10 rad/s, less below."""
    model = spin_up_pieces(8)
    assert model.n == 17
    _, lag = lags(model, speed, 7.5, 0.01)
    assert lag.max() == pytest.approx(SPIN_UP_LAGS[speed], rel=2e-4)


def test_spin_up_converges() -> None:
    """2, 4 and 8 pieces at 10 rad/s: third order in the end."""
    errors = [lags(spin_up_pieces(count), 10.0, 7.5, 0.01)[1].max() / SPIN_UP_LAGS[10.0] - 1 for count in (2, 4, 8)]
    assert errors == pytest.approx([0.0055, 0.0011, 0.00014], rel=0.2)


def test_without_stiffening_pieces_lag_too_far() -> None:
    """By 3.5 % with eight: pieces alone do not replace it."""
    lag = lags(spin_up_pieces(8, "off"), 10.0, 7.5, 0.01)[1].max()
    assert lag / SPIN_UP_LAGS[10.0] - 1 == pytest.approx(0.035, abs=0.003)


# ---------------------------------------------------------------- histories of beams with shear and rotary inertia


def own_beam(beam: ExactBeam) -> dict[str, Any]:
    """Stretch, rotary inertia and, in a plane, shear as given. That of the beam in space, 3 EI/(GA L^2) = 3e-5, changes
    its history by 1e-4 of the peak and costs two coordinates more per piece."""
    stiffness = {"EI_y": beam.EI, "EI_z": beam.EI, "EA": beam.EA}
    stiffness |= {"GA_y": beam.GA, "GA_z": beam.GA} if beam.GJ is None else {"GJ": beam.GJ}
    inertia = {"rotary": (beam.rotary, beam.rotary), "polar_inertia": 2 * beam.rotary}
    return {"length": beam.length, "mass_per_length": beam.mass_per_length, **stiffness, **inertia}


STRETCHED = Shapes(method="elements", count=1, bending_y=True, axial=True)


@pytest.mark.parametrize(("count", "worst"), [(4, 3e-4), (8, 1e-4)])
def test_history_of_simo_and_vu_quoc(count: int, worst: float) -> None:
    """With their stretch, shear and rotary inertia, over the whole history: errors over the largest lag."""
    history = simo_spin_up()
    model = pieces(own_beam(history.beam), count, STRETCHED, Joint()).model(stiffening="second-order")
    turned = {"boom": angle(6.0, SPIN_UP_TIME)}
    run = pliant.simulate(model, history.t[-1], motion=turned, method="rodas5p", rtol=1e-6, output_step=0.01)
    (x, y), phi = run.tip[:, :2].T, run.q[:, 0]
    own = np.interp(history.t, run.t, y * np.cos(phi) - x * np.sin(phi))
    lag = history.column("lag")
    assert 0.5 * worst < np.abs(own - lag).max() / np.abs(lag).max() < worst


@pytest.mark.parametrize(("count", "worst"), [(4, 0.0035), (8, 0.0017), (16, 0.001)])
def test_robot_arm(count: int, worst: float) -> None:
    """The root's rate jumps behind t = 0: a rate that a run starts with is no jump."""
    history, late = robot_arm(), 1e-6
    model = pieces(own_beam(history.beam), count, STRETCHED, Joint()).model(stiffening="second-order")

    def turned(t: Any) -> Any:
        return 0.3 * ca.fmin(ca.fmax(t - late, 0), 5.0)

    run = pliant.simulate(
        model, 9.0, motion={"boom": turned}, breaks=[late, 5.0 + late], method="dop853", rtol=1e-7, output_step=0.01
    )
    assert 0.5 * worst < history.error(run.t, run.tip[:, :2] - [10.0, 0.0]) < worst


@pytest.mark.parametrize(("count", "worst"), [(8, 0.017), (16, 0.0038)])
def test_flying_spaghetti(count: int, worst: float) -> None:
    """On a free joint without inertia; the pulse acts on the free end."""
    history = flying_spaghetti()
    root = Joint(type="free", origin=Origin(rpy=(0.0, 0.0, -float(np.arctan2(8, 6)))))
    model = pieces(own_beam(history.beam), count, STRETCHED, root).model(stiffening="second-order")

    def pulse(t: Any) -> Any:
        return ca.if_else(t < 2.5, 1.0, 0.0)

    thrown = Wrench(force=lambda t: ca.vertcat(8 * pulse(t), 0, 0), moment=lambda t: ca.vertcat(0, 0, -80 * pulse(t)))
    run = pliant.simulate(model, 7.5, loads=[thrown], method="dop853", rtol=1e-7, output_step=0.01)
    assert 0.5 * worst < history.error(run.t, run.tip[:, :2] - [6.0, -8.0]) < worst


@pytest.mark.parametrize(("count", "worst"), [(4, (0.016, 0.023)), (8, (0.0055, 0.0075))])
def test_elbow_frame(count: int, worst: tuple[float, float]) -> None:
    """In space, with sections that carry their rotary inertia; else 3 and 4 % at tip and elbow with four pieces per
    beam, 1.1 and 1.4 % with eight."""
    tip, elbow = elbow_frame(), elbow_frame("elbow")
    bent = Joint(type="fixed", origin=Origin(rpy=(0.0, 0.0, np.pi / 2)))
    (first,), (second,) = (pieces(own_beam(tip.beam), count, SPACE, *joint).links for joint in ((), (bent, "fore")))
    links = [first, second]
    model = Robot(name="frame", gravity=(0, 0, 0), links=links).model(stiffening="second-order")

    def pulse(t: Any) -> Any:
        return ca.vertcat(0, 0, 50 * ca.fmax(ca.fmin(t, 2 - t), 0))

    pushed = Wrench(force=pulse, link="boom")
    run = pliant.simulate(model, 30.0, loads=[pushed], breaks=[1.0, 2.0], method="dop853", rtol=1e-6, output_step=0.02)
    errors = tip.error(run.t, run.tip - [10.0, 10.0, 0.0]), elbow.error(run.t, run.pose("boom.tip")[:, 2:3, 3])
    assert 0.5 * worst[0] < errors[0] < worst[0]
    assert 0.5 * worst[1] < errors[1] < worst[1]
