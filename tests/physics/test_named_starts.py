"""Starts of linkages whose passive joints are named with a few digits: joints close the loops, links do not bend.

Closed places are those of closed forms: two circles meet in the tool of the five-bar, the piston stands where the rod
reaches its guide.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import casadi as ca
import numpy as np
import pytest

import pliant
from linkages import FOUR_BAR, bar, four_bar, four_bar_angles, passive
from pliant.errors import ModelError
from pliant.robot import Beam, Joint, Link, Loop, LoopJoint, Robot, Shapes
from pliant.simulation.runs.inputs import read_start
from simulation.gradients.test_mechanism_gradients import assert_near, differences

SAME = 1e-9
"""Of what follows from one closed place and from another that differs by Newton's last step, 1e-15 times the slopes."""


def slider_crank(crank: float) -> dict[str, float]:
    """Crank, rod (from the crank) and piston of the bundled arm."""
    a, rod, offset, beyond = 0.14, 0.42, 0.02, 0.56
    lean = np.arcsin((offset - a * np.sin(crank)) / rod)
    return {"crank": crank, "rod": lean - crank, "piston": a * np.cos(crank) + rod * np.cos(lean) - beyond}


def five_bar(right: float, left: float) -> dict[str, float]:
    """Motors and elbows of the bundled arm: the tool is where circles about both elbows meet, the upper one."""
    turns = np.radians([50 + np.degrees(right), 120 + np.degrees(left)])
    elbows = np.array([0.125, -0.125]) + np.array([0.28, 0.30]) * np.exp(1j * turns)
    across, (near, far) = elbows[1] - elbows[0], (0.40, 0.42)
    inner = np.arccos((near**2 + abs(across) ** 2 - far**2) / (2 * near * abs(across)))
    tool = elbows[0] + near * np.exp(1j * (np.angle(across) - inner))
    angles = np.angle(tool - elbows) - turns - np.radians([79.3168, -81.0295])
    return {"right": right, "right_outer": angles[0], "left": left, "left_outer": angles[1]}


ARMS: dict[str, tuple[str, dict[str, float]]] = {
    "piston": ("slider-crank", slider_crank(0.3)),
    "rod": ("slider-crank", slider_crank(-1.1)),
    "right_outer": ("five-bar", five_bar(0.2, 0.1)),
    "left_outer": ("five-bar", five_bar(-0.3, 0.2)),
}
"""By the passive joint that is named beside those with motors."""
MOTORS = ("crank", "right", "left")


@cache
def model(arm: str) -> pliant.Model:
    return pliant.load(arm).model()


@pytest.fixture
def silent() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


@pytest.fixture(params=["piston", *(pytest.param(name, marks=pytest.mark.full) for name in [*ARMS][1:])])
def arm(request) -> tuple[pliant.Model, np.ndarray, dict[str, float]]:
    """A model, its exactly closed state, and the same by names and to six digits."""
    name, closed = ARMS[request.param]
    found = model(name)
    q = np.array([closed.get(own, 0.0) for own in found.coordinates])
    return found, q, {own: round(x, 6) for own, x in closed.items() if own in (*MOTORS, request.param)}


def strain(found: pliant.Model, q: Any) -> float:
    return float(found.energy(q, np.zeros(found.n)).strain)


def test_frequencies_of_six_digits_are_those_of_the_closed_place(silent, arm) -> None:
    found, q, named = arm
    assert np.abs(found.gaps(q)).max() < 1e-15
    expected = found.frequencies(q)
    assert expected[0] > 20.0
    assert strain(found, read_start(found, named)[0]) == 0.0
    np.testing.assert_allclose(found.frequencies(named), expected, rtol=SAME)
    np.testing.assert_allclose(found.modes(named).frequencies, found.modes(q).frequencies, rtol=SAME)
    np.testing.assert_allclose(found.damping_ratios(named), found.damping_ratios(q), rtol=SAME)
    assert found.independent(named) == found.independent(q)
    A = found.linearize(q).A
    np.testing.assert_allclose(found.linearize(named).A, A, atol=SAME * np.abs(A).max())
    np.testing.assert_allclose(found.assemble(named, held=list(named)), q, atol=1e-14)
    everything = dict(zip(found.coordinates, q.round(6)))
    np.testing.assert_allclose(found.frequencies(everything), expected, rtol=SAME)


@pytest.mark.full
def test_runs_of_six_digits_begin_unbent(silent, arm) -> None:
    """All strain and motion at the start would be of the closing; weight alone is there."""
    found, q, named = arm
    run = pliant.simulate(found, 1e-4, named)
    np.testing.assert_allclose(run.q[0], q, atol=1e-14)
    many = pliant.simulate_batch(found, 1e-4, {name: np.array([x, x]) for name, x in named.items()}, step=1e-4)
    stepper = pliant.Stepper(found, step=1e-3)
    stepper.reset(named)
    scene = pliant.Scenario(robot=found.robot, duration=1e-4, initial={"q": named})
    for start in (run.q[0], many.q[1, 0], stepper.q, scene.run().q[0]):
        assert strain(found, start) == 0.0
        np.testing.assert_allclose(start, q, atol=1e-14)


@pytest.mark.full
def test_rest_and_speeds_of_six_digits(silent, arm) -> None:
    """Named passive joints are where rest is looked for; speeds of a few digits leave those of the amplitudes."""
    found, q, named = arm
    motors = [own for own in named if own in MOTORS]
    rest = found.equilibrium(named)
    np.testing.assert_allclose(rest, found.equilibrium(q), atol=1e-10)
    assert [rest[found.index(own)] for own in motors] == [named[own] for own in motors]
    joints = [k for k, own in enumerate(found.speeds) if "." not in own]
    still = [k for k in range(found.n) if k not in joints]
    J, driven = gap_slopes(found, q), [found.speed_index(own) for own in motors]
    others = [k for k in joints if k not in driven]
    rates = np.zeros(found.n)
    rates[driven] = 2.0 + np.arange(len(driven))
    rates[others] = -np.linalg.solve(J[:, others], J[:, driven] @ rates[driven])
    run = pliant.simulate(found, 1e-3, named, {own: round(rates[found.speed_index(own)], 4) for own in named})
    np.testing.assert_allclose(run.qd[0], rates, atol=1e-12)
    assert not run.qd[0, still].any()


def gap_slopes(found: pliant.Model, q: np.ndarray, h: float = 1e-4) -> np.ndarray:
    """(rows, n) by differences of eighth order: exact to 1e-12."""
    weights = {1: 4 / 5, 2: -1 / 5, 3: 4 / 105, 4: -1 / 280}
    steps = h * np.eye(found.n)
    return sum(
        w / h * (found.gaps(q + k * steps) - found.gaps(q - k * steps)).T for k, w in weights.items()
    )  # fmt: skip


def told(call: Callable[[], Any]) -> tuple[Any, list[str]]:
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        return call(), [str(one.message) for one in found]


def bending(**options: Any) -> Robot:
    """The four-bar with a coupler that bends."""
    links = list(four_bar().links)
    beam = Beam(length=FOUR_BAR["coupler"], mass_per_length=0.5, EI_y=8.0, EI_z=5.0)
    links[1] = Link(name="coupler", joint=passive(), beam=beam, shapes=Shapes(bending_y=2))
    return four_bar(**{"links": links, **options})


def test_what_is_far_off_is_told() -> None:
    """By how much it moves, whoever asks; a whole state likewise, and speeds."""
    found, (coupler, rocker) = four_bar().model(), four_bar_angles(0.7)
    far, moved = {"crank": 0.7, "rocker": rocker + 0.1}, "rocker by 0.1 rad"
    at = "the loops do not close there; moved to the nearest closed position: "
    expected = [0.7, coupler, rocker]
    q, words = told(lambda: found.assemble(far, held=["crank", "rocker"]))
    np.testing.assert_allclose(q, expected, atol=1e-13)
    assert words == [f"q: {at}{moved}"]
    again = four_bar().model()
    assert told(lambda: again.frequencies(far))[1] == [f"q: {at}{moved}"]
    assert told(lambda: again.frequencies(far))[1] == []  # once per model
    near = four_bar().model()
    for off in (0.01, 0.1):  # but not what is ten times as far off
        (text,) = told(lambda: near.assemble({**far, "rocker": rocker + off}, held=["crank", "rocker"]))[1]  # noqa: B023
        assert text == f"q: {at}rocker by {off:g} rad"
    run, words = told(lambda: pliant.simulate(four_bar().model(), 1e-3, far))
    assert words == [f"q0: {at}{moved}"]
    np.testing.assert_allclose(run.q[0], expected, atol=1e-13)
    words = told(lambda: pliant.simulate(four_bar().model(), 1e-3, [0.7, coupler, rocker + 0.1]))[1]
    assert [text.partition(" by ")[0] for text in words] == [f"q0: {at}rocker"]
    rates = {"crank": 2.0, "rocker": 0.3}
    run, words = told(lambda: pliant.simulate(four_bar().model(), 1e-3, {"crank": 0.7}, rates))
    assert len(words) == 1
    assert words[0].startswith("qd0: the loops do not move so; changed to the nearest speeds that they have: rocker by")
    gone = (four_bar_angles(0.7 + 1e-5)[1] - four_bar_angles(0.7 - 1e-5)[1]) / 2e-5
    assert run.qd[0, [0, 2]] == pytest.approx([2.0, 2.0 * gone], abs=1e-8)


@pytest.mark.full
def test_links_bend_where_joints_alone_do_not_close() -> None:
    """Crank and rocker are prescribed, and stand where the coupler must be shorter: it bends, and that is told."""
    links = list(bending().links)
    links[2] = bar("rocker", FOUR_BAR["rocker"], Joint(origin={"xyz": (FOUR_BAR["ground"], 0, 0)}), parent="base")
    found = bending(links=links).model(stiffening="second-order")
    at = [0.7, four_bar_angles(0.7)[1] + 0.05]
    paths = {"crank": lambda t: at[0] + t, "rocker": lambda t: at[1] + t}
    run, words = told(lambda: pliant.simulate(found, 1e-5, motion=paths))
    assert run.q[0, [0, 2]].tolist() == at
    assert np.abs(found.gaps(run.q[0])).max() < 1e-14
    assert any(
        text.startswith("q0: joints alone do not close the loops there; links are bent: coupler.") for text in words
    )
    q, words = told(lambda: found.assemble({"crank": at[0], "rocker": at[1]}, held=["crank", "rocker"]))
    np.testing.assert_allclose(q, run.q[0], atol=1e-9)
    run, words = told(lambda: pliant.simulate(found, 1e-5, {"crank": at[0], "rocker": at[1]}))  # named, not prescribed
    assert not run.q[0, 3:].any()
    assert [text.partition(";")[0] for text in words] == ["q0: the loops do not close there"]
    with pytest.raises(ModelError, match="loop `pin`"):
        four_bar(links=[*four_bar().links[:2], links[2]]).model().assemble([0.7, 0.3], held=["crank", "rocker"])


@pytest.mark.full
def test_each_arm_of_a_batch_closes_anew() -> None:
    """A passive joint is named with the digits of one arm; others are longer."""
    path = "links.rocker.joint.origin.xyz.0"
    found = bending().model(parameters=[path])
    named = {"crank": 0.7, "rocker": round(four_bar_angles(0.7)[1], 6)}
    p = np.array([[0.5], [0.5002], [0.4997]])
    many = pliant.simulate_batch(found, 1e-3, named, p=p, step=1e-3)
    for start, (ground,) in zip(many.q[:, 0], p):
        end, reach = FOUR_BAR["crank"] * np.exp(0.7j), FOUR_BAR["coupler"]
        across = ground - end
        d = abs(across)
        inner = np.arccos((reach**2 + d**2 - FOUR_BAR["rocker"] ** 2) / (2 * reach * d))
        whole = np.angle(across) + inner
        rocker = np.angle(end + reach * np.exp(1j * whole) - ground)
        np.testing.assert_allclose(start, [0.7, whole - 0.7, rocker, 0.0, 0.0], atol=1e-13)


@pytest.mark.full
def test_gradients_of_named_passive_joints() -> None:
    """A passive joint that is named follows the crank and the lengths, so that a cost does not hang on its number."""
    path = "links.rocker.joint.origin.xyz.0"
    found = bending().model(parameters=[path])
    rocker = round(four_bar_angles(0.7)[1], 6)
    options: dict[str, Any] = {"step": 2e-3, "method": "rk4"}

    def terminal(t: Any, q: Any, qd: Any) -> Any:
        return ca.dot(ca.DM([1.0, 2.0, 3.0, 40.0, 50.0]), q) + 0.1 * ca.dot(ca.DM([1.0, -2.0, 0.5, 3.0, 1.0]), qd)

    def cost(x: Any) -> float:
        start, speeds = {"crank": x[0], "rocker": x[1]}, {"crank": x[2], "rocker": x[3]}
        run = pliant.simulate(found, 0.01, start, speeds, p=[x[4]], **options)
        return float(terminal(0.01, ca.DM(run.q[-1]), ca.DM(run.qd[-1])))

    turns = (four_bar_angles(0.7 + 1e-5)[1] - four_bar_angles(0.7 - 1e-5)[1]) / 2e-5
    at = [0.7, rocker, 2.0, round(2.0 * turns, 4), 0.5]
    slopes = pliant.gradient(
        found, 0.01, {"crank": at[0], "rocker": at[1]}, {"crank": at[2], "rocker": at[3]}, p=[at[4]],
        terminal=terminal, **options,
    )  # fmt: skip
    assert slopes.value == pytest.approx(cost(at), rel=1e-9)
    numbers = [slopes["q0"][0], slopes["q0"][2], slopes["qd0"][0], slopes["qd0"][2], slopes["p"][0]]
    assert_near(numbers, differences(cost, at, 1e-4))
    np.testing.assert_allclose([numbers[1], numbers[3]], 0.0, atol=1e-8 * np.abs(numbers).max())


def test_what_is_left_free_closes_before_what_is_named() -> None:
    """Five links in a ring, two of its passive joints named: the others take the gap, and these stay."""
    lengths = [0.31, 0.27, 0.44, 0.23]
    links = [bar("a", lengths[0])] + [bar(name, x, passive()) for name, x in zip("bcd", lengths[1:])]
    ring = Loop(name="ring", between=("d.tip", "end"), joint=LoopJoint(type="spherical"))
    end = {"name": "end", "link": "base", "origin": {"xyz": (0.55, 0.05, 0)}}
    found = Robot(name="ring", links=links, frames=[end], loops=[ring], gravity=(0, -9.81, 0)).model()
    q, words = told(lambda: found.assemble({"a": 0.9, "b": -0.4, "c": -1.0, "d": -1.2}, held=["a"]))
    assert not words  # nothing that stays was named
    named = {own: round(x, 6) for own, x in zip("abc", q)}
    again, words = told(lambda: found.assemble(named, held=list(named)))
    assert not words
    np.testing.assert_allclose(again, q, atol=1e-5)
    two = {"a": 0.9, "b": named["b"]}
    kept = found.assemble({**two, "c": -1.1, "d": -1.1}, held=list(two))
    assert kept[:2].tolist() == list(two.values())
