"""Cylinders with mass: their halves as links on a sliding pair, against uniform bars written by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import pliant
from coupled_arms import EYE, LIFT, PIVOT, boom, lift_length
from pliant import Robot

BARREL, ROD = 14.0, 9.0
SIXTH = {1: 45, 2: -9, 3: 1}
"""Weights over 60 h of central differences of sixth order."""


def heavy(reverse: bool) -> Robot:
    """The boom on a cylinder with mass, whose barrel is at the foot, or at the boom, which is the last link."""
    given = boom().to_dict()
    given["couplings"][0]["cylinder"]["mass"] = [BARREL, ROD]
    if reverse:
        given["couplings"][0]["between"] = ["eye", "foot"]
    return Robot.from_dict(given)


def by_hand(angle: float, rate: float, reverse: bool) -> tuple[float, float]:
    """Kinetic energy, and weight times height, of the boom and of two round bars as long as the cylinder that is drawn
    in: the barrel with its bore from one end, the rod to the other."""
    length, (bore, ring) = LIFT["dead_length"], LIFT["areas"]
    eye = np.exp(1j * angle) * complex(*EYE)
    line, line_rate = eye - complex(*PIVOT), 1j * rate * eye
    u = line / abs(line)
    omega = float((line_rate * np.conj(line)).imag) / abs(line) ** 2
    swing = length / 2 * 1j * omega * u
    low, high = (BARREL, bore), (ROD, bore - ring)
    if reverse:
        low, high = high, low
    kinetic = 0.5 * (90.0 + 150.0 * (1.3**2 + 0.1**2)) * rate**2
    height = 150.0 * (np.exp(1j * angle) * complex(1.3, 0.1)).imag
    for (mass, area), center, speed in (
        (low, complex(*PIVOT) + length / 2 * u, swing), (high, eye - length / 2 * u, line_rate - swing),
    ):  # fmt: skip
        about = mass * (length**2 / 12 + area / np.pi / 4)
        kinetic += 0.5 * (mass * abs(speed) ** 2 + about * omega**2)
        height += mass * center.imag
    return float(kinetic), 9.81 * float(height)


@pytest.mark.parametrize("reverse", [False, True])
def test_halves_are_uniform_bars(reverse: bool) -> None:
    """Kinetic energy and weight at three places, 1e-9 and 1e-12."""
    robot = heavy(reverse)
    assert (robot.links[-1].name, robot.freedom) == ("boom", 1)
    model, rate, h = robot.model(), 0.7, 1e-3

    def closed(angle: float) -> Any:
        return model.assemble({"boom": angle}, held=["boom"])

    weights = []
    for angle in (0.2, 0.5, 0.9):
        slope = sum(w * (closed(angle + k * h) - closed(angle - k * h)) for k, w in SIXTH.items()) / (60 * h)
        energy, (kinetic, weight) = model.energy(closed(angle), rate * slope), by_hand(angle, rate, reverse)
        assert energy.kinetic == pytest.approx(kinetic, rel=1e-9)
        weights.append(energy.gravity - weight)
        assert closed(angle)[model.coordinates.index("lift_barrel" if reverse else "lift_rod")] == pytest.approx(
            lift_length(angle)[0] - LIFT["dead_length"], abs=1e-12
        )
    np.testing.assert_allclose(weights, weights[0], rtol=0, atol=1e-9)


def test_a_heavy_cylinder_is_written_as_its_links() -> None:
    """What is saved has links, a loop and a coupling without mass, and reads as the same arm."""
    robot = heavy(False)
    assert [link.name for link in robot.links] == ["lift_barrel", "lift_rod", "boom"]
    assert [loop.name for loop in robot.loops] == ["lift_pin"]
    assert robot.couplings[0].cylinder.mass is None
    assert Robot.from_dict(robot.to_dict()) == robot


def test_a_foot_on_a_beam() -> None:
    """The fold cylinder of a crane, whose barrel hangs on a station of the boom: closed at any angle, and three
    freedoms as before."""
    given = pliant.load("hydraulic-crane").to_dict()
    for coupling, mass in zip(given["couplings"], ([30.0, 18.0], [22.0, 12.0])):
        coupling["cylinder"]["mass"] = mass
    robot = Robot.from_dict(given)
    assert [link.name for link in robot.links][1:3] == ["boom", "lift_barrel"]
    assert robot.link("fold_barrel").at.x == 2.2
    assert robot.links[-1].name == "jib"
    plain = pliant.load("hydraulic-crane")
    assert robot.carried(6) == plain.carried(2)
    assert robot.freedom == plain.freedom == 3
    model = robot.model()
    for boom_angle, jib in ((0.1, -0.5), (0.44, -1.05), (0.9, -1.6)):
        q = model.assemble({"boom": boom_angle, "jib": jib}, held=["boom", "jib"])
        assert np.abs(model.gaps(q)).max() < 1e-12
        assert all(0 < q[model.coordinates.index(name)] < 0.86 for name in ("lift_rod", "fold_rod"))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"mass": [14.0, -1.0]}, "above 0"),
        ({"mass": 14.0}, "two numbers above 0"),
        ({"mass": [14.0, 9.0], "between": ["boom.tip", "eye"]}, "both frames of a cylinder with `mass`"),
        ({"mass": [14.0, 9.0], "link": "lift_rod"}, "links need different names; `lift_rod`"),
    ],
)
def test_masses_that_cannot_be(change: dict[str, Any], words: str) -> None:
    given = boom().to_dict()
    given["couplings"][0]["cylinder"]["mass"] = change["mass"]
    given["couplings"][0]["between"] = change.get("between", ["foot", "eye"])
    if "link" in change:
        given["links"].insert(0, {"name": change["link"], "rigid": {"mass": 1.0, "inertia": [0.1, 0.1, 0.1]}})
        given["links"][1]["parent"] = "base"
    with pytest.raises(pliant.ModelError, match=words):
        Robot.from_dict(given)
