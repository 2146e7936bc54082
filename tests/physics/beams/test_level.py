"""What `stiffening="auto"` takes: against closed forms of what it judges by, and against what a run then needs."""

from __future__ import annotations

import pickle
import warnings
from typing import Any

import numpy as np
import pytest

import pliant
from pliant import Beam, Joint, Link, Robot, Shapes
from pliant.model.stiffening.stiffening_choice import choose, effects, loads_at_roots, worst
from pliant.model.stiffening.stiffening_order import NOTICED
from pliant.options import FormulationName
from pliant.robot import Limits, Lump
from pliant.simulation.runs.checks.neglected_terms import judge_speeds

LENGTH, EI_Y, EI_Z, GJ = 0.7, 90.0, 60.0, 25.0


def arm(payload: float = 0.4, speed: float | None = 0.2, stiff: float = 1.0, **shapes: Any) -> Robot:
    """One beam, unequal in its planes, that turns about the vertical z; gravity along its axis bends nothing."""
    beam = Beam(
        length=LENGTH, mass_per_length=1e-3, EI_y=stiff * EI_Y, EI_z=stiff * EI_Z, GJ=stiff * GJ, polar_inertia=1e-6
    )
    joint = Joint(limits=None if speed is None else Limits(speed=speed))
    link = Link(name="boom", joint=joint, beam=beam, shapes=Shapes(**(shapes or {"bending_y": 2, "bending_z": 1})))
    return Robot(name="arm", gravity=(-9.81, 0, 0), links=[link], payload=Lump(mass=payload))


def test_axial_force_is_measured_by_the_buckling_load() -> None:
    """A column with a heavy mass on top: its squared frequency falls by the part of Euler's load that it carries."""
    robot = arm(payload=12.0, bending_y=3, bending_z=3)
    found = worst(robot, {"boom": 0.0})
    assert (found.link, found.through) == ("boom", "axial force")
    assert found.size == pytest.approx(12.0 * 9.81 * (2 * LENGTH / np.pi) ** 2 / EI_Z, rel=1e-3)
    plain, stiffened = (robot.model(stiffening=level).frequencies()[0] for level in ("off", "second-order"))
    assert 1 - (stiffened / plain) ** 2 == pytest.approx(found.size, rel=0.02)


def test_spin_is_measured_by_what_it_pulls() -> None:
    """A payload on a turning beam pulls it outwards by m w^2 L: its frequency across the plane rises by as much."""
    robot, speed = arm(payload=2.0, bending_z=3).replace({"gravity": (0, 0, 0)}), 4.0
    pull = 2.0 * speed**2 * LENGTH
    found = worst(robot, {"boom": speed})
    assert found.size == pytest.approx(pull * (2 * LENGTH / np.pi) ** 2 / EI_Y, rel=1e-3)
    model = robot.model(stiffening="second-order")
    spun = model.frequencies(rates={"boom": speed})[0]
    assert (spun / model.frequencies()[0]) ** 2 - 1 == pytest.approx(found.size, rel=0.02)


def test_moments_are_measured_by_the_lateral_buckling_load() -> None:
    robot = arm(payload=3.0, bending_y=2, torsion=2).replace({"gravity": (0, 0, -9.81), "payload.com": (0, 0, 0)})
    part = 3.0 * 9.81 * LENGTH**2 / (4.013 * np.sqrt(EI_Z * GJ))
    sizes = {effect.through: effect.size for effect in _effects(robot)}
    assert sizes["bending with twist"] == pytest.approx(part**2, rel=1e-3)
    assert sizes["twist"] == 0.0  # the payload sits on the axis
    off = {e.through: e.size for e in _effects(robot.replace({"payload.com": (0, 0.1, 0)}))}
    assert off["twist"] == pytest.approx(3.0 * 9.81 * 0.1 * LENGTH / GJ, rel=1e-3)


def _effects(robot: Robot) -> Any:
    ((link, carried),) = loads_at_roots(robot, {"boom": 0.0})
    return effects(link, carried)


@pytest.mark.parametrize(
    ("robot", "options", "level", "reason"),
    [
        (arm(), {}, "second-order", "axial force changes link boom by up to 1.3 %"),
        (arm(stiff=100.0), {}, "off", "weight and limits.speed change no link by 0.1%"),
        (arm(stiff=100.0, speed=None), {}, "second-order", "joint boom has no limits.speed"),
        (arm(stiff=100.0, speed=60.0), {}, "second-order", "axial force changes link boom"),
        (arm(), {"formulation": "dual-screw"}, "off", "the formulation dual-screw has none"),
        (arm(), {"rotation": "linear"}, "off", "rotation='linear' is of first order"),
        (arm(), {"stiffening": "off"}, "off", ""),
        (pliant.load("puma"), {}, "off", "no link bends"),
    ],
)
def test_the_level_and_its_reason(robot: Robot, options: Any, level: Any, reason: str) -> None:
    model = robot.model(**options)
    assert (model.options.stiffening, model.level.stiffening) == (level, level)
    assert model.level.reason.startswith(reason)
    assert model.level.asked == options.get("stiffening", "auto")  # what a fit makes the model of other numbers with
    assert str(model).splitlines()[1] == f"stiffening: {model.level}"
    assert pickle.loads(pickle.dumps(model)).level == model.level


def test_every_bundled_arm_that_bends_is_followed_to_second_order() -> None:
    levels = {name: choose(pliant.load(name), "denoc", "exact", "auto").stiffening for name in pliant.robot.arms()}
    assert {name for name, level in levels.items() if level != "second-order"} == {"puma"}


def test_auto_is_the_very_model_that_it_names() -> None:
    robot = arm()
    auto, named = robot.model(), robot.model(stiffening="second-order")
    assert auto.chain is named.chain
    run = pliant.simulate(auto, 0.1, [0.3, 0.01, 0, 0], progress=False)
    assert run.options["stiffening"] == "second-order"


# ------------------------------------------------------------------------------------------ a run looks again


def warned(model: pliant.Model, speed: float, batch: bool = False, **options: Any) -> list[str]:
    """What a run tells that comes to this speed by its torque: that of a start would raise the order."""
    inertia = float(model.mass_matrix(np.zeros(model.n))[0, 0])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        run = pliant.simulate_batch if batch else pliant.simulate
        run(model, 0.2, torque=[inertia * speed / 0.2], progress=False, **options)
    return [text for w in caught if (text := str(w.message)).startswith("stiffening:")]


@pytest.mark.slow_cases("True")
@pytest.mark.parametrize("batch", [False, True])
def test_a_run_that_spins_faster_than_the_limits_said_is_told_once(batch: bool) -> None:
    model = arm(stiff=100.0).model()
    assert warned(model, 0.2, batch) == []
    (text,) = warned(model, 60.0, batch)
    for words in ("off (auto: weight and limits.speed", "axial force changes link boom", "stiffening='second-order'"):
        assert words in text
    assert warned(model, 60.0, batch) == []


def test_a_load_that_presses_is_told() -> None:
    """One that the run does not see coming, since it hangs on where the arm is."""

    def press(force: float) -> Any:
        return [pliant.loads.Wrench(force=lambda t, q, qd: [-force * q[0] / 0.02, 0, 0], axes="link")]

    assert warned(arm(stiff=100.0).model(), 0.2, loads=press(400.0))
    assert not warned(arm(stiff=100.0).model(), 0.2, loads=press(4.0))


@pytest.mark.parametrize("formulation", ["dual-screw", "denoc"])
def test_a_formulation_without_second_order_is_told_of_where_it_matters(formulation: FormulationName) -> None:
    found = warned(arm(payload=2.0).model(formulation), 0.0)
    assert [("another formulation" in text) for text in found] == ([True] if formulation == "dual-screw" else [])


def test_arms_of_a_batch_that_ended_early_have_no_rates() -> None:
    model, rates = arm(stiff=100.0).model(), np.zeros((2, 5, 4))
    rates[:, 2:] = np.nan
    assert judge_speeds(model, rates) == {}
    rates[0, 1, 0] = 60.0
    assert "axial force" in judge_speeds(model, rates)["stiffening"]


def test_who_chooses_first_order_is_not_told() -> None:
    assert warned(arm(payload=2.0).model(stiffening="off"), 20.0) == []


def test_what_is_left_out_is_below_what_is_noticed() -> None:
    """Where "auto" leaves second order out, the frequencies of the arm under its loads say so too."""
    robot = arm(stiff=100.0)
    assert robot.model().options.stiffening == "off"
    plain, stiffened = (robot.model(stiffening=level).frequencies() for level in ("off", "second-order"))
    assert np.abs(stiffened / plain - 1).max() < NOTICED / 2
