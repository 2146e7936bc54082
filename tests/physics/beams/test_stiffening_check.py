"""Check of the order that "auto" chose: loads, couplings, replaced numbers and spin raise it, or are told.

References are beam-columns of finite elements, written here: elastic stiffness less the geometric one of the axial
force, and what the force does as the beam turns.
"""

from __future__ import annotations

import pickle
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import casadi
import numpy as np
import pytest
from scipy.linalg import eigh

import pliant
from pliant import Beam, Joint, Link, Robot, Shapes
from pliant.loads import Base, Distributed, Wrench
from pliant.model.stiffening.stiffening_check import speeds_bound
from pliant.model.stiffening.stiffening_choice import loads_at_roots
from pliant.model.stiffening.stiffening_order import is_checked
from pliant.robot import Coupling, Limits, Lump, RigidBody
from pliant.simulation.runs.checks.neglected_terms import fitted_to_start

LENGTH, EI_Y, EI_Z, MASS, TIP = 1.7, 900.0, 640.0, 0.35, 0.21
EULER = (np.pi / 2 / LENGTH) ** 2 * EI_Z
"""Buckling load of the softer plane, N."""
SHAPES = {"bending_y": 3, "bending_z": 2}
CLOSE = 1e-3
"""A few modes with the projected second order against forty elements: near buckling, where a tenth of the
stiffness is left, frequencies differ by 4e-4."""


def mast(**changes: Any) -> Robot:
    """A column on a fixed joint, unequal in its planes, whose weight is nothing; `changes` by path."""
    beam = Beam(length=LENGTH, mass_per_length=MASS, EI_y=EI_Y, EI_z=EI_Z, GJ=330.0, polar_inertia=2e-4)
    link = Link(name="mast", joint=Joint(type="fixed"), beam=beam, shapes=Shapes(**SHAPES))
    robot = Robot(name="mast", gravity=(0, 0, 0), links=[link], payload=Lump(mass=TIP))
    return robot.model_copy(update=changes)


def boom(**shapes: Any) -> Robot:
    """The same on a joint of limited speed, which turns about the vertical beam."""
    robot = mast(gravity=(-9.81, 0.0, 0.0))
    link = robot.links[0].model_copy(update={"joint": Joint(axis=(1, 0, 0), limits=Limits(speed=0.05))})
    if shapes:
        link = link.model_copy(update={"shapes": Shapes(**shapes)})
    stiff = {f"links.mast.beam.{name}": 40 * value for name, value in (("EI_y", EI_Y), ("EI_z", EI_Z), ("GJ", 330.0))}
    return robot.model_copy(update={"links": (link,)}).replace(stiff)


def column(
    EI: float, force: Callable[[float], float], tip: float = TIP, spring: float = 0.0, count: int = 40
) -> tuple[Any, Any]:
    """Stiffness and mass of a clamped beam-column, its axial force (tension) a function of x, with a mass and a spring
    across at its tip; the deflection of the tip is the last but one."""
    h = LENGTH / count
    K, M = np.zeros((2, 2 * count + 2, 2 * count + 2))
    bent = EI / h**3 * np.array([
        [12, 6 * h, -12, 6 * h], [6 * h, 4 * h * h, -6 * h, 2 * h * h],
        [-12, -6 * h, 12, -6 * h], [6 * h, 2 * h * h, -6 * h, 4 * h * h],
    ])  # fmt: skip
    pulled = np.array([
        [36, 3 * h, -36, 3 * h], [3 * h, 4 * h * h, -3 * h, -h * h],
        [-36, -3 * h, 36, -3 * h], [3 * h, -h * h, -3 * h, 4 * h * h],
    ]) / (30 * h)  # fmt: skip
    moved = MASS * h / 420 * np.array([
        [156, 22 * h, 54, -13 * h], [22 * h, 4 * h * h, 13 * h, -3 * h * h],
        [54, 13 * h, 156, -22 * h], [-13 * h, -3 * h * h, -22 * h, 4 * h * h],
    ])  # fmt: skip
    for k in range(count):
        own = slice(2 * k, 2 * k + 4)
        K[own, own] += bent + force((k + 0.5) * h) * pulled
        M[own, own] += moved
    K[-2, -2] += spring
    M[-2, -2] += tip
    return K[2:, 2:], M[2:, 2:]


def hertz(*planes: tuple[Any, Any]) -> Any:
    """First frequency of each plane, Hz, ascending."""
    return np.sort([np.sqrt(eigh(K, M, eigvals_only=True)[0]) / 2 / np.pi for K, M in planes])


def told(call: Callable[[], Any]) -> list[str]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call()
    return [text for one in caught if (text := str(one.message)).startswith("stiffening:")]


@pytest.fixture(scope="module")
def auto() -> pliant.Model:
    return mast().model()


PUSH = Wrench(force=[-0.9 * EULER, 2.0, 0.0], axes="base")


def test_a_dead_load_softens_frequencies_and_sag(auto: pliant.Model) -> None:
    pressed = [column(EI, lambda x: -0.9 * EULER) for EI in (EI_Z, EI_Y)]
    plain = [column(EI, lambda x: 0.0) for EI in (EI_Z, EI_Y)]
    assert auto.level.can_rise
    assert told(lambda: auto.frequencies(loads=[PUSH])) == []
    off = mast().model(stiffening="off")
    for model, planes in ((auto, pressed), (off, plain)):  # who chooses first order gets it, and is not told
        found = model.frequencies({}, loads=[PUSH])[[0, 1]]
        assert found == pytest.approx(hertz(*planes), rel=CLOSE)
        K = planes[0][0]
        sag = np.linalg.solve(K, 2.0 * np.eye(len(K))[-2])[-2]
        tip = model.tip_pose(model.equilibrium([], [PUSH]))[:3, 3]
        assert tip[1] == pytest.approx(sag, rel=2e-3)  # deflections are moderate: terms of third order
    assert found[0] > 3 * hertz(*pressed)[0]  # which is what "auto" gave when it did not look
    found = auto.modes({}, loads=[PUSH])
    assert found.frequencies[0] == pytest.approx(hertz(*pressed)[0], rel=CLOSE)
    A = auto.linearize({}, loads=[PUSH]).A
    assert np.sort(np.abs(np.linalg.eigvals(A).imag))[0] / 2 / np.pi == pytest.approx(hertz(*pressed)[0], rel=CLOSE)
    assert auto.stiffness(np.zeros(auto.n), [PUSH]) == pytest.approx(
        mast().model(stiffening="second-order").stiffness(np.zeros(auto.n), [PUSH])
    )


@pytest.mark.full
def test_the_weight_of_a_line_load_and_a_custom_one(auto: pliant.Model) -> None:
    """A load along the beam, whose force falls towards the tip; one that does not say where it acts is not trusted."""
    along = Distributed(force=[-0.4 * EULER, 0.0, 0.0], axes="base")
    planes = [column(EI, lambda x: -0.4 * EULER * (LENGTH - x)) for EI in (EI_Z, EI_Y)]
    assert auto.frequencies({}, loads=[along])[[0, 1]] == pytest.approx(hertz(*planes), rel=CLOSE)

    class Somewhere:
        def expression(self, chain: Any, t: Any, q: Any, qd: Any) -> Any:
            return PUSH.expression(chain, t, q, qd)

    planes = [column(EI, lambda x: -0.9 * EULER) for EI in (EI_Z, EI_Y)]
    assert auto.frequencies({}, loads=[Somewhere()])[[0, 1]] == pytest.approx(hertz(*planes), rel=CLOSE)


@pytest.mark.full
def test_runs_batches_and_steppers_start_with_the_order_that_loads_ask_for(auto: pliant.Model) -> None:
    """An arm at rest under its load stays there, which is another place without second order."""
    rest = auto.equilibrium([], [PUSH])
    run = pliant.simulate(auto, 0.02, rest, loads=[PUSH], progress=False)
    batch = pliant.simulate_batch(auto, 0.02, rest, loads=[PUSH], step=5e-6, progress=False)
    stepper = pliant.Stepper(auto, q0=rest, loads=[PUSH], step=5e-6)
    stepper.step(0.02)
    for model, q in ((run.model, run.q[-1]), (batch.model, batch.q[0, -1]), (stepper.model, stepper.q)):
        assert model.level.raised
        assert "axial force changes link mast by up to 90 %" in str(model.level)
        assert np.abs(q - rest).max() < 1e-6 * np.abs(rest).max()
    assert pliant.simulate(auto, 1e-3, rest, progress=False).model is auto
    late = [Wrench(force=lambda t: [-0.9 * EULER * casadi.fmin(t / 0.02, 1.0), 0, 0])]
    assert pliant.simulate(auto, 0.02, loads=late, progress=False).model.level.raised


def test_a_raised_model_is_kept_where_it_goes(auto: pliant.Model) -> None:
    raised = pliant.simulate(auto, 1e-3, loads=[PUSH], progress=False).model
    copied = pickle.loads(pickle.dumps(raised))
    assert (copied.level, copied.options.stiffening) == (raised.level, "second-order")
    assert pliant.simulate(auto, 1e-3, loads=[PUSH], progress=False).model is raised
    assert raised.replace({"payload.mass": 0.3}).options.stiffening == "second-order"


# ------------------------------------------------------------------------------------------------ numbers


def weighed(payload: float, count: int = 40) -> Any:
    """First frequency of the boom under its own weight and that of its payload, Hz."""

    def force(x: float) -> float:
        return -9.81 * (payload + MASS * (LENGTH - x))

    return hertz(*(column(40 * EI, force, payload, count=count) for EI in (EI_Z, EI_Y)))[0]


HEAVY = 1900.0


def test_replaced_numbers_raise_the_order() -> None:
    """A payload of 0.85 of the buckling load in place of a light one."""
    plain = boom().model()
    assert plain.level.can_rise
    replaced = plain.replace({"payload.mass": HEAVY})
    assert replaced.level.raised
    assert replaced.frequencies({})[0] == pytest.approx(weighed(HEAVY), rel=CLOSE)
    assert plain.replace({"payload.mass": 0.3}).options.stiffening == "off"
    assert boom().model(stiffening="off").replace({"payload.mass": HEAVY}).options.stiffening == "off"

    opened = boom().model(parameters=["payload.mass"], shapes="nominal")
    assert opened.frequencies({}, p=[HEAVY])[0] == pytest.approx(weighed(HEAVY), rel=CLOSE)
    assert opened.frequencies({})[0] == pytest.approx(weighed(TIP), rel=CLOSE)
    assert pliant.simulate(opened, 1e-3, p=[HEAVY], progress=False).model.level.raised
    assert pliant.simulate(opened, 1e-3, progress=False).model is opened


@pytest.mark.full
def test_parameters_of_many_arms_raise_the_order() -> None:
    opened = boom().model(parameters=["payload.mass"], shapes="nominal")
    batch = pliant.simulate_batch(opened, 1e-3, p=[[TIP], [HEAVY], [1.0]], step=5e-6, progress=False)
    assert batch.model.level.raised
    stepper = pliant.Stepper(opened, step=5e-6)
    assert stepper.model is opened
    (text,) = told(lambda: stepper.change({"payload.mass": HEAVY}))
    assert "axial force changes link mast by up to 85 %" in text
    gradient = pliant.gradients.gradient(
        opened, 1e-3, terminal=lambda t, q, qd: q[1] ** 2, p=[HEAVY], method="rk4", step=5e-6
    )
    assert np.isfinite(gradient.value)


@pytest.mark.full
def test_spin_beyond_the_limits_raises_the_order() -> None:
    """Across its axis, at some times its first frequency."""
    model, named = spinning().model(), spinning().model(stiffening="second-order")
    assert model.level.can_rise
    rate = {"mast": 4 * np.pi * model.frequencies()[0]}
    assert model.frequencies(rates=rate) == pytest.approx(named.frequencies(rates=rate), rel=1e-9)
    assert pliant.simulate(model, 1e-4, qd0=rate, progress=False).model.level.raised
    linear = model.linearize({}, rate, joints="locked").A
    assert linear == pytest.approx(named.linearize({}, rate, joints="locked").A, rel=1e-9)


# ------------------------------------------------------------------------------------------------ couplings


def test_a_tendon_from_root_to_tip_softens() -> None:
    """Its pull presses the beam and follows it: buckling is that of a beam pinned at both ends, four times later."""
    pull = 2.5 * EULER
    tendon = Coupling(name="tendon", between=("mast.root", "mast.tip"), force={"value": -pull})
    model = mast(couplings=(tendon,)).model()
    assert model.level.reason == "the force of coupling tendon is not known"
    planes = [column(EI, lambda x: -pull, spring=pull / LENGTH) for EI in (EI_Z, EI_Y)]
    assert model.frequencies()[[0, 1]] == pytest.approx(hertz(*planes), rel=CLOSE)
    plain = hertz(*(column(EI, lambda x: 0.0) for EI in (EI_Z, EI_Y)))
    assert plain[0] > 1.2 * hertz(*planes)[0]


@pytest.mark.full
def test_guy_wires_with_preload_soften() -> None:
    """Two wires in one plane hold the tip by their springs and by their pull, and press the mast by it."""
    side, pull, spring = 0.6, 0.45 * EULER, 500.0
    frames = [
        pliant.Frame(name=f"anchor_{k}", link="base", origin={"xyz": (0, s * side, 0)}) for k, s in enumerate((1, -1))
    ]
    long = float(np.hypot(LENGTH, side))
    guys = [
        Coupling(name=f"guy_{k}", between=(f"anchor_{k}", "tip"),
                 spring={"stiffness": spring, "length": long, "preload": pull})
        for k in range(2)
    ]  # fmt: skip
    model = mast(couplings=tuple(guys), frames=tuple(frames)).model()
    press, sine = 2 * pull * LENGTH / long, side / long
    across = 2 * (spring * sine**2 + pull / long * (1 - sine**2)), 2 * pull / long
    planes = [column(EI, lambda x: -press, spring=k) for EI, k in zip((EI_Z, EI_Y), across)]
    assert model.frequencies()[[0, 1]] == pytest.approx(hertz(*planes), rel=CLOSE)


# ------------------------------------------------------------------------------------------------ what comes later


PRESSED = TIP + MASS * LENGTH
"""kg at the root of the column."""


def carriage(**changes: Any) -> Robot:
    """The column on a slide along it."""
    cart = Link(
        name="slide", joint=Joint(type="prismatic", axis=(1, 0, 0), limits=Limits(speed=50.0)),
        rigid=RigidBody(mass=2.3, inertia=(0.01, 0.02, 0.03)),
    )  # fmt: skip
    return mast(links=(cart, *mast().links), **changes)


def along(acceleration: float) -> float:
    """Part of the buckling load that this acceleration along the column asks for."""
    return acceleration * PRESSED / EULER


SPIN = 30.0
TIMES = np.linspace(0.0, 1.0, 401)
LATER: dict[str, tuple[Robot, Callable[[float], dict[str, Any]], float]] = {
    "a load that grows": (
        mast(),
        lambda part: {"loads": [Wrench(force=lambda t: [-0.9 * part * EULER * casadi.tanh(5 * t), 0, 0])]},
        0.9,
    ),
    "a pulse": (
        mast(),
        lambda part: {"loads": [
            Wrench(force=lambda t: [-5 * part * EULER * casadi.if_else(casadi.fabs(t - 0.6913) < 5e-4, 1, 0), 0, 0])
        ]},
        5.0,
    ),
    "a base that accelerates": (
        mast(), lambda part: {"base": Base(acceleration=lambda t: [1e3 * part * t, 3.0 * part, 0.0])}, along(1e3),
    ),
    "a base that turns": (
        mast(),
        lambda part: {"base": Base(angular_velocity=[0.0, 0.0, SPIN * np.sqrt(part)])},
        SPIN**2 * LENGTH * (TIP + MASS * LENGTH / 2) / EULER,
    ),
    "a slide that is moved": (
        carriage(), lambda part: {"motion": {"slide": lambda t: -300.0 * part * t**3 / 6}}, along(300.0),
    ),
    "a slide that is moved by a long series": (
        carriage(),
        lambda part: {"motion": {"slide": pliant.control.MeasuredMotion(TIMES, part * 150 * TIMES[:, None] ** 2)}},
        along(300.0),
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", LATER)
def test_what_is_known_of_a_run_raises_the_order(what: str) -> None:
    """Whenever it comes, and with the number of its largest force, by hand; a small part of it raises nothing."""
    robot, acting, part = LATER[what]
    model = robot.model()
    assert model.level.can_rise
    found = fitted_to_start(model, None, None, t_end=1.0, **acting(1.0))
    assert found.level.raised
    assert f"axial force changes link mast by up to {100 * part:.2g} %" in found.level.reason
    assert fitted_to_start(model, None, None, t_end=1.0, **acting(1e-4)) is model


def test_a_run_without_an_end_is_looked_at_for_hours() -> None:
    """As a stepper is: a load that comes after a second, and one that comes after an hour."""
    for late in (1.0, 3600.0):
        loads = [Wrench(force=lambda t, late=late: [-0.9 * EULER * casadi.tanh(t / late) ** 8, 0, 0])]
        assert fitted_to_start(mast().model(), None, None, loads, t_end=None).level.raised
        assert not fitted_to_start(mast().model(), None, None, loads, t_end=late / 100).level.raised


def test_motion_alone_raises_the_order_of_what_turns() -> None:
    """A joint that its motor's motion carries along is as fast as the motor."""
    model, rate = spinning().model(), 400.0
    slow, fast = (fitted_to_start(model, None, None, motion={"mast": lambda t, k=k: k * t}) for k in (0.01, rate))
    assert (slow.level.raised, fast.level.raised) == (False, True)


@pytest.mark.full
@pytest.mark.parametrize("what", LATER)
def test_runs_batches_and_steppers_know_what_comes(what: str) -> None:
    """They end where the model of second order does, and where that of first order does not."""
    robot, acting, _ = LATER[what]
    if what == "a pulse":
        pytest.skip("it moves nothing across")
    more = acting(1.0)
    side = Wrench(force=[0.0, 2.0, 1.0])
    more["loads"] = [*more.get("loads", ()), side]
    ends = []
    for model in (robot.model(), robot.model(stiffening="second-order"), robot.model(stiffening="off")):
        run = pliant.simulate(model, 0.3, progress=False, **more)
        batch = pliant.simulate_batch(model, 0.3, progress=False, **more)
        stepper = pliant.Stepper(model, method="dop853", **more)
        stepper.step(0.3)
        ends.append([run.q[-1], batch.q[0, -1], stepper.q])
    scale = np.abs(ends[1][0][-5:]).max()
    for own, right, wrong in zip(*ends):
        assert np.abs(own - right)[-5:].max() < 1e-6 * scale
        assert np.abs(wrong - right)[-5:].max() > 1e-2 * scale


ENTRIES: dict[str, Callable[..., Any]] = {
    "run": lambda model, more, torque: pliant.simulate(model, 0.05, torque=torque, progress=False, **more),
    "batch": lambda model, more, torque: pliant.simulate_batch(model, 0.05, torque=torque, progress=False, **more),
    "stepper": lambda model, more, torque: stepped(pliant.Stepper(model, step=1e-5, **more), torque),
    "steppers": lambda model, more, torque: stepped(pliant.Stepper(model, step=1e-5, count=2, **more), torque),
}


def stepped(stepper: pliant.Stepper, torque: Any) -> None:
    for _ in range(5):
        stepper.step(1e-2, torque)


@pytest.mark.parametrize(("part", "count"), [(0.3, 1), (3e-5, 0)])
@pytest.mark.parametrize("entry", ENTRIES)
def test_torques_that_press_are_told(entry: str, part: float, count: int) -> None:
    """Only a run shows how a slide accelerates: by its force over all masses, which presses the column by its part."""
    force = part * EULER / PRESSED * (2.3 + PRESSED)
    model = carriage().model()
    found = told(lambda: ENTRIES[entry](model, {}, [force]))
    assert len(found) == count
    assert all("axial force changes link mast by up to 30 %" in text for text in found)
    assert told(lambda: ENTRIES[entry](model, {}, [force])) == []


@pytest.mark.parametrize(("part", "count"), [(0.5, 1), (5e-4, 0)])
@pytest.mark.parametrize("entry", ["run", "batch", "stepper"])
def test_loads_on_what_cannot_rise_are_told_by_all(entry: str, part: float, count: int) -> None:
    model = mast().model("dual-screw")
    loads = [Wrench(force=[-part * EULER, 0.0, 0.0], axes="base")]
    found = told(lambda: ENTRIES[entry](model, {"loads": loads}, None))
    assert len(found) == count
    assert all("axial force changes link mast by up to 50 %" in text for text in found)


def test_accelerations_bound_what_links_carry() -> None:
    """Everything beyond, stretched out: by a joint that turns and by a slide."""
    robot = carriage()
    ((_, still),) = loads_at_roots(robot, {"slide": 0.0})
    ((_, shaken),) = loads_at_roots(robot, {"slide": 0.0}, {"slide": 70.0})
    assert still.axial == 0.0
    assert shaken.axial == pytest.approx(70.0 * PRESSED)
    turned = spinning()
    ((_, swung),) = loads_at_roots(turned, {"mast": 0.0}, {"mast": 70.0})
    assert swung.axial == pytest.approx(70.0 * LENGTH * PRESSED)


# ------------------------------------------------------------------------------------------------ what cannot rise


TRACKED = {"bending_y": 1, "bending_z": 1, "boundary": "clamped-mass", "tip_load": "track"}


@pytest.mark.parametrize(
    ("formulation", "shapes", "remedy"),
    [
        pytest.param("dual-screw", {}, "another formulation", marks=pytest.mark.full),
        (
            "lagrange",
            {"bending_y": 1, "bending_z": 1, "boundary": "clamped-mass", "tip_load": "track"},
            "tip_load: auto",
        ),
    ],
)
def test_what_has_no_second_order_is_told_with_numbers(formulation: Any, shapes: Any, remedy: str) -> None:
    robot = boom(**shapes)
    light, heavy = robot.model(formulation), robot.replace({"payload.mass": HEAVY}).model(formulation)
    assert told(light.frequencies) == []
    (text,) = told(heavy.frequencies)
    assert "axial force changes link mast by up to 85 %" in text
    assert remedy in text
    assert told(heavy.frequencies) == []
    again = robot.replace({"payload.mass": HEAVY}).model(formulation)
    assert len(told(lambda: pliant.simulate(again, 1e-3, progress=False))) == 1
    assert told(robot.replace({"payload.mass": HEAVY}).model(formulation, stiffening="off").frequencies) == []


@pytest.mark.full
def test_an_exported_plant_has_the_order_of_its_loads(auto: pliant.Model, tmp_path: Path) -> None:
    for name, loads in (("pressed", [PUSH]), ("free", [])):
        folder = pliant.export.export_c(auto, tmp_path / name, functions=["mass_matrix"], step=1e-5, loads=loads)
        assert ("stiffening second-order" in (folder / "README.md").read_text()) == (name == "pressed")


CHOICES = ("auto", "second-order")


class Pushed:
    """A constant torque as an expression."""

    def expression(self, t: Any, q: Any, qd: Any) -> Any:
        return casadi.DM(4e4)


def spinning() -> Robot:
    """The boom across its axis, without weight."""
    return boom().replace({"gravity": (0, 0, 0), "links.mast.joint.axis": (0, 0, 1)})


@pytest.mark.full
def test_sensitivities_of_a_run_have_the_order_of_its_spin() -> None:
    path = "links.mast.beam.EI_z"
    model, named = (spinning().model(stiffening=s, parameters=[path], shapes="nominal") for s in CHOICES)
    assert model.level.can_rise
    rate, pulled = 4 * np.pi * model.frequencies()[0], {"mast.bending_y.1": 1e-3}
    ask = {"quantity": lambda t, q, qd: q[1], "t_end": 0.01, "q0": pulled, "qd0": [rate, *[0.0] * 5]}
    found, right = (pliant.analysis.run_sensitivity(one, **ask) for one in (model, named))
    assert found.values == pytest.approx(right.values, rel=1e-9)
    assert found.gradient == pytest.approx(right.gradient, rel=1e-9)
    with pytest.raises(pliant.ModelError, match=r"torque: got .* expected an object with `expression"):
        pliant.analysis.run_sensitivity(model, **ask, torque=np.array([4e4]))
    driven = {**ask, "qd0": None, "torque": Pushed()}  # as fast as that by its end
    (text,) = told(lambda: pliant.analysis.run_sensitivity(model, **driven))
    assert "axial force changes link mast" in text
    model = spinning().model(parameters=[path], shapes="nominal")
    end = {"terminal": lambda t, q, qd: q[1], "step": 5e-6, "torque": np.array([4e4])}
    assert len(told(lambda: pliant.gradients.gradient(model, 0.01, **end))) == 1


@pytest.mark.full
def test_gradients_have_the_order_of_loads_that_grow(auto: pliant.Model) -> None:
    """By its end the load is what buckles the column but for a tenth."""
    late = [Wrench(force=lambda t: [-0.9 * EULER * casadi.fmin(t / 0.02, 1.0), 1.0, 0.0])]
    values = [
        pliant.gradients.gradient(one, 0.02, terminal=lambda t, q, qd: q[0], loads=late, method="dopri5").value
        for one in (auto, mast().model(stiffening="second-order"), mast().model(stiffening="off"))
    ]
    assert values[0] == pytest.approx(values[1], rel=1e-6)
    assert abs(values[2] - values[1]) > 1e-3 * abs(values[1])


@pytest.mark.full
def test_closed_loops_have_the_order_of_their_spin() -> None:
    model, named = spinning().model(), spinning().model(stiffening="second-order")
    rate, law = 4 * np.pi * model.frequencies()[0], pliant.control.PD(500.0, 5.0, [0.0])
    state = np.zeros(model.n), np.array([rate, *np.zeros(model.n - 1)])
    found, right = (pliant.analysis.closed_loop_matrix(one, law, 0.0, *state) for one in (model, named))
    assert found == pytest.approx(right, rel=1e-9)
    values = [
        pliant.analysis.eigenvalues_along(one, law, [0.0], tuple(x[None] for x in state)).values
        for one in (model, named)
    ]
    assert values[0] == pytest.approx(values[1], rel=1e-9)


@pytest.mark.full
def test_an_exported_unit_has_the_order_of_its_start(tmp_path: Path) -> None:
    model = spinning().model()
    for name, rate in (("slow", 0.01), ("fast", 400.0)):
        path = pliant.export.export_fmu(model, tmp_path / name, qd0={"mast": rate}, compilers=[])
        with zipfile.ZipFile(path) as unit:
            assert ("stiffening=second-order" in unit.read("sources/model.c").decode()) == (name == "fast")


@pytest.mark.full
def test_fits_have_the_order_of_their_recordings() -> None:
    """A column that is pressed to 0.9 of its buckling load: the stiffness that was measured comes out."""
    path, true = ["links.mast.beam.EI_z"], mast()
    run = pliant.simulate(
        true.model(stiffening="second-order"), 0.5, {"mast.bending_y.1": 0.004}, loads=[PUSH], output_step=2e-3,
        rtol=1e-9, progress=False,
    )  # fmt: skip
    y = run.tip[:, 1]
    noisy = y + 1e-4 * np.std(y) * np.random.default_rng(6).normal(size=len(y))
    recording = pliant.identification.Recording(run.t, {"tip.y": noisy}, loads=[PUSH], q0=run.q[0], qd0=run.qd[0])
    model = mast().model(parameters=path, shapes="nominal")
    assert model.level.can_rise
    found = pliant.identify(model, recording, path, start={path[0]: 1.02 * EI_Z})
    assert found.values[path[0]] == pytest.approx(EI_Z, rel=1e-3)


@pytest.mark.full
def test_bundled_arms_are_not_checked_in_vain() -> None:
    """One has a body without second order, which changes too little to be looked at more closely."""
    for name in pliant.robot.arms():
        model = pliant.load(name).model()
        assert is_checked(model) == (name == "box-arm")
        assert name != "box-arm" or not speeds_bound(model, None, None).noticed
