"""Small vibrations about the rest state, which is taken where no state is given: against a chain of rigid segments and
closed forms."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.linalg import eigh

import pliant
from pliant import Beam, Joint, Link, RigidBody, Robot, Shapes
from pliant.analysis import finite_difference, frequency_sensitivity
from pliant.loads import Wrench
from pliant.model.equilibrium import statics
from pliant.robot import Lump

LENGTH, EI, MASS, GRAVITY = 2.3, 5.0, 0.45, 9.81


def sagging(pieces: int = 8, shapes: int = 1, **changes: Any) -> Robot:
    """A level cantilever in eight pieces that sags by a third of its length."""
    beam = Beam(length=LENGTH, mass_per_length=MASS, EI_y=EI, EI_z=3 * EI, pieces=pieces)
    link = Link(name="rod", joint=Joint(type="fixed"), beam=beam, shapes=Shapes(bending_z=shapes, damping=0.01))
    return Robot(name="rod", links=[link], **{"gravity": (0, 0, -GRAVITY), **changes})


def chain(count: int, straight: bool = False) -> tuple[float, float]:
    """First frequency, Hz, and sag of the tip, m, of rigid segments with springs between them, by their Lagrangian in
    absolute angles; kinetic energy sum M_ij cos(a_i - a_j) a_i' a_j' / 2."""
    h = LENGTH / count
    m = MASS * h
    arms = h * (np.tri(count, count, -1) + np.eye(count) / 2)  # of the center of k by the angle of i
    bend = np.diff(np.eye(count), axis=0)
    S = EI / h * bend.T @ bend
    S[0, 0] += 2 * EI / h
    w, a = m * GRAVITY * arms.sum(axis=0), np.zeros(count)
    for _ in range(0 if straight else 50):
        a = a - np.linalg.solve(S - np.diag(w * np.sin(a)), S @ a + w * np.cos(a))
    M = m * arms.T @ arms * np.cos(a[:, None] - a[None]) + m * h * h / 12 * np.eye(count)
    squares = eigh(S - np.diag(w * np.sin(a)), M, eigvals_only=True)
    return float(np.sqrt(squares[0]) / 2 / np.pi), float(h * np.sin(a).sum())


def refined(k: int, **options: Any) -> float:
    """To fourth order in the length of the segments."""
    coarse, fine = (chain(count, **options)[k] for count in (40, 80))
    return fine + (fine - coarse) / 3


def test_a_sagging_arm_vibrates_about_its_rest() -> None:
    model = sagging().model()
    rest = model.equilibrium([])
    assert model.tip_pose(rest)[2, 3] == pytest.approx(refined(1), rel=5e-3)  # of eight pieces of one shape each
    assert model.frequencies()[0] == pytest.approx(refined(0), rel=5e-3)
    assert model.frequencies({})[0] == pytest.approx(refined(0, straight=True), rel=5e-3)
    assert model.frequencies()[0] > 1.1 * model.frequencies({})[0]
    every = model.frequencies(rest)
    assert model.frequencies("equilibrium") == pytest.approx(every, rel=1e-12)
    for found in (model.modes(), pliant.analysis.controllability(model, joints="locked")):
        assert found.frequencies[0] == pytest.approx(every[0], rel=1e-9)
    assert model.damping_ratios() == pytest.approx(model.damping_ratios(rest), rel=1e-9)
    np.testing.assert_allclose(model.linearize().A, model.linearize(rest).A, rtol=1e-9, atol=1e-6)


@pytest.mark.full
@pytest.mark.parametrize("ask", ["frequencies", "linearize"])
def test_a_rest_beyond_small_slopes_is_told(ask: str) -> None:
    """One piece that sags by a third of its length has half of the right frequency."""
    model = sagging(pieces=1).model()
    with pytest.warns(UserWarning, match=r"links.rod: got a slope of .* or write `pieces: \d+` in its beam"):
        getattr(model, ask)()


def test_rest_under_loads_and_spin() -> None:
    model = sagging(3, 1).model()
    lift = [Wrench(force=[0.0, 0.0, 0.5 * MASS * LENGTH * GRAVITY])]
    assert model.frequencies(loads=lift) == pytest.approx(model.frequencies(model.equilibrium([], lift), loads=lift))
    assert model.frequencies(loads=lift)[0] < 0.99 * model.frequencies()[0]
    spun = sagging(1).replace({"links.rod.joint": {"axis": [0, 0, 1]}}).model()
    rate = {"rod": 3.0}
    turning = spun.equilibrium([0.0], rates=rate)
    assert spun.frequencies(rates=rate) == pytest.approx(spun.frequencies(turning, rates=rate), rel=1e-9)


def test_passive_joints_hang_at_rest() -> None:
    """A pendulum that is described level swings about where it hangs."""
    bob = RigidBody(mass=1.7, com=(0.6, 0, 0), tip=(0.6, 0, 0))
    link = Link(name="bob", joint=Joint(axis=(0, 1, 0), actuated=False), rigid=bob)
    model = Robot(name="pendulum", gravity=(0, 0, -GRAVITY), links=[link]).model()
    assert model.frequencies() == pytest.approx([np.sqrt(GRAVITY / 0.6) / 2 / np.pi], rel=1e-9)


def test_without_weight_nothing_is_solved_for(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*given: Any, **named: Any) -> Any:
        raise AssertionError("a rest was looked for")

    monkeypatch.setattr(statics, "settled", refused)
    model = sagging(gravity=(0, 0, 0)).model()
    assert model.frequencies() == pytest.approx(model.frequencies({}), rel=1e-15)


@pytest.mark.full
def test_nothing_bends_in_free_fall() -> None:
    falling = pliant.load("free-flyer").replace({"gravity": (0, 0, -GRAVITY)}).model()
    assert falling.frequencies() == pytest.approx(falling.frequencies({}), rel=1e-15)


@pytest.mark.full
def test_the_rest_moves_with_the_parameters() -> None:
    """Derivatives of the frequencies at rest, those of the rest included, against differences of whole arms."""
    path = "links.rod.beam.EI_y"
    robot = sagging(3, 1, payload=Lump(mass=0.1)).replace({"links.rod.shapes.damping": 0.0})
    found = frequency_sensitivity(robot.model(parameters=[path], stiffening="second-order", shapes="nominal"))
    slope = finite_difference(robot, path, lambda r: r.model(stiffening="second-order").frequencies())
    assert found.gradient[0, 0] == pytest.approx(slope[0], rel=1e-5)
    fixed = frequency_sensitivity(robot.model(parameters=[path], stiffening="second-order", shapes="nominal"), {})
    assert abs(fixed.gradient[0, 0] / slope[0] - 1) > 0.1
