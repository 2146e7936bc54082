"""Rests that an arm would leave: told with numbers, and the stable ones beside them, against closed forms."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.special import ellipk

import pliant
from linkages import DOWN, bar, passive
from pliant import Beam, Joint, Link, Robot, Shapes
from pliant.errors import PliantError
from pliant.loads import Wrench
from pliant.model.equilibrium import closed_statics
from pliant.robot import Drive, Loop, LoopJoint, Origin, RigidBody

LENGTH, MASS, EI_Y, EI_Z = 0.8, 0.9, 11.0, 7.0
EULER = np.pi**2 * EI_Z / (4 * LENGTH**2)
"""N, of a column that is clamped at its root and free at its tip."""
PIECE = Shapes(method="elements", count=1, bending_y=True)


@cache
def column(pieces: int | None, stiffening: Any = "third-order") -> pliant.Model:
    beam: dict[str, Any] = {"length": LENGTH, "mass_per_length": MASS, "EI_y": EI_Y, "EI_z": EI_Z}
    shapes = Shapes(bending_y=3) if pieces is None else PIECE
    beam |= {"pieces": pieces} if pieces else {}
    link = Link(name="column", beam=Beam(**beam), shapes=shapes)
    return Robot(name="column", gravity=(0, 0, 0), links=[link]).model(stiffening=stiffening)


def press(part: float, across: float = 0.0, axes: str = "base") -> list[Wrench]:
    """A push on the tip by this part of Euler's load."""
    return [Wrench(force=(-part * EULER, across, 0.0), axes=axes)]  # type: ignore[arg-type]


def elastica(part: float) -> float:
    """Angle (rad) by which the tip of the column turns: P/P_E = (2 K(sin(alpha/2)) / pi)^2."""
    return float(brentq(lambda a: (2 * ellipk(np.sin(a / 2) ** 2) / np.pi) ** 2 - part, 1e-3, 3.0))


def tip_angle(model: pliant.Model, q: Any) -> float:
    T = model.tip_pose(q)
    return float(np.arctan2(T[1, 0], T[0, 0]))


def told(call: Callable[[], Any]) -> tuple[Any, list[str]]:
    """What a call gives, and its warnings of rest."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        result = call()
    return result, [text for text in map(str, (one.message for one in found)) if "unstable rest" in text]


def test_a_straight_column_above_its_load_is_told() -> None:
    """With the rate at which it falls; below its load, and pulled, nothing is told."""
    model = column(4, "auto").robot.model()  # which has told nothing yet
    q, words = told(lambda: model.equilibrium([0.0], press(1.5)))
    assert not q.any()
    rate = -2 * np.pi * model.frequencies(q, loads=press(1.5))[0]
    assert rate > 0
    (text,) = words
    assert f"grows e-fold in {1 / rate:.3g} s" in text
    assert f"stiffness is negative, {-(rate**2):.4g} (rad/s)^2" in text
    assert "stable=True" in text
    assert "`pieces`" in text
    for loads in (press(0.97), press(-3.0), press(0.5, 0.3)):
        assert told(lambda loads=loads: column(4, "auto").equilibrium([0.0], loads))[1] == []
    q = model.equilibrium([0.0], press(1.5), stable=True)  # second order, 4 pieces: 1.0 degree more
    assert abs(tip_angle(model, q)) == pytest.approx(elastica(1.5), abs=np.radians(1.1))


def test_a_column_whose_order_the_load_raises_settles_bent() -> None:
    """On a fixed joint "auto" begins with first order; what was asked for goes on to the model that takes over."""
    (link,) = column(4).robot.links
    fixed = link.model_copy(update={"joint": Joint(type="fixed")})
    model = Robot(name="column", gravity=(0, 0, 0), links=[fixed]).model()
    assert model.level.can_rise
    q, words = told(lambda: model.equilibrium([], press(1.5), stable=True))
    assert words == []
    assert abs(tip_angle(model, q)) == pytest.approx(elastica(1.5), abs=np.radians(1.1))


@pytest.mark.full
def test_the_bent_column_is_the_elastica() -> None:
    """At 1.5 of Euler's load the tip turns by 98.67 degrees, to either side, whatever the joint is held at."""
    model, alpha = column(8), elastica(1.5)
    assert np.degrees(alpha) == pytest.approx(98.671, abs=1e-3)
    q, words = told(lambda: model.equilibrium([0.0], press(1.5), stable=True))
    assert words == []
    assert abs(tip_angle(model, q)) == pytest.approx(alpha, abs=np.radians(0.02))  # third order, 8 pieces: 0.014 deg
    assert model.frequencies(q, loads=press(1.5))[0] > 2.0
    torque = 1.5 * EULER * abs(model.tip_pose(q)[1, 3])  # of the push about the root
    assert abs(model.holding_torque(q, press(1.5))[0]) == pytest.approx(torque, rel=1e-9)
    below = model.equilibrium([0.0], press(0.9), stable=True)
    assert not below.any()


@pytest.mark.full
@pytest.mark.parametrize("part", [1.02, 1.1, 1.5, 2.0])
def test_elasticas_by_pieces(part: float) -> None:
    """Sixteen pieces; near the load the angle hangs on the last digits of it."""
    q = column(16).equilibrium([0.0], press(part), stable=True)
    assert abs(tip_angle(column(16), q)) == pytest.approx(elastica(part), abs=np.radians(0.02))


@pytest.mark.full
def test_a_push_that_newton_does_not_follow() -> None:
    """A small load across the column chooses the side; the rest that Newton's method misses is found."""
    model = column(8)
    for side in (0.01, -0.01):
        q = model.equilibrium([0.0], press(1.5, side * EULER), stable=True)
        assert np.sign(tip_angle(model, q)) == np.sign(side)
        assert model.frequencies(q, loads=press(1.5, side * EULER))[0] > 2.0


def test_a_beam_in_one_piece_names_the_remedy() -> None:
    with pytest.raises(PliantError, match=r"stable: no stable rest found; .*`pieces: 8` in the beam of column"):
        column(None).equilibrium([0.0], press(1.5), stable=True)


@pytest.mark.full
def test_loads_that_follow_are_judged_by_their_roots() -> None:
    """Beck's column flutters from 20.05 EI/L^2 on, 8.13 of Euler's loads, and nothing is downhill of it."""
    model = column(4, "second-order")
    assert told(lambda: model.equilibrium([0.0], press(7.5, axes="section")))[1] == []
    (text,) = told(lambda: model.equilibrium([0.0], press(8.7, axes="section")))[1]
    assert "Hz about it grows; reduce the loads or stiffen the links" in text
    assert "stable=True" not in text
    with pytest.raises(PliantError, match=r"stable: got an unstable rest .* no rest downhill"):
        model.equilibrium([0.0], press(8.7, axes="section"), stable=True)


def test_what_is_held_is_not_judged() -> None:
    """A rigid rod on its head: a joint that is held is no rest, a motor that is held lets its spring give way."""
    rigid = RigidBody(mass=2.3, com=(0.4, 0, 0), inertia=(0.01, 0.02, 0.02), tip=(0.8, 0, 0))

    def inverted(stiffness: float) -> pliant.Model:
        drive = Drive(gear_ratio=30, rotor_inertia=1e-5, stiffness=stiffness)
        return Robot(name="rod", links=[Link(name="rod", joint=Joint(drive=drive), rigid=rigid)], gravity=DOWN).model()

    tipping = 2.3 * 9.81 * 0.4  # N m/rad
    soft, stiff = inverted(0.8 * tipping), inverted(1.2 * tipping)
    assert told(lambda: soft.equilibrium([np.pi / 2]))[1] == []
    assert told(lambda: stiff.equilibrium([np.pi / 2], held="motors"))[1] == []
    _, (text,) = told(lambda: soft.equilibrium([np.pi / 2], held="motors"))
    rate = np.sqrt(0.2 * tipping / (0.02 + 2.3 * 0.16))
    assert f"along rod the stiffness is negative, {-(rate**2):.4g}" in text
    q = soft.equilibrium([np.pi / 2], held="motors", stable=True)
    lean = brentq(lambda a: 0.8 * a - np.sin(a), 0.1, 3.0)  # spring against weight
    assert abs(q[0] - np.pi / 2) == pytest.approx(lean, abs=1e-9)


def test_passive_joints_on_their_heads(monkeypatch) -> None:
    """They are left for a stable rest; what still stands on its head is told."""
    robot = Robot(name="two", links=[bar("a", 0.4), bar("b", 0.3, passive())], gravity=DOWN)
    up = {"a": 0.3, "b": np.pi / 2 - 0.3}
    q, words = told(lambda: robot.model().equilibrium(up))
    assert words == []
    assert np.sin(q[0] + q[1]) == pytest.approx(-1.0, abs=1e-12)
    monkeypatch.setattr(closed_statics, "KICKS", 0)
    q, words = told(lambda: robot.model().equilibrium(up))
    rate = 1.5 * 9.81 / 0.3
    assert np.sin(q[0] + q[1]) == pytest.approx(1.0, abs=1e-12)
    assert f"along b the stiffness is negative, {-rate:.4g} (rad/s)^2" in words[0]


def test_an_arch_snaps_through() -> None:
    """Two bars on a spring of a sliding support, of which the apex is pushed down: above the load of its limit point
    it rests hanging through, by the balance of a closed form."""
    half, rise, k = 0.5, 0.12, 900.0
    arm = float(np.hypot(half, rise))
    spring = {"name": "spring", "between": ["wall", "slide.tip"], "spring": {"stiffness": k, "length": 0.3}}
    wall = {"name": "wall", "link": "base", "origin": {"xyz": (2 * half + 0.3, 0, 0)}}
    guide = passive(type="prismatic", axis=(1, 0, 0), origin=Origin(xyz=(2 * half, 0, 0)))
    body = RigidBody(mass=0.3, inertia=(1e-3, 1e-3, 1e-3), tip=(0, 0, 0))
    slide = Link(name="slide", parent="base", rigid=body, joint=guide)
    links = [bar("left", arm, passive()), bar("right", arm, passive()), slide]
    pin = Loop(name="pin", between=("right.tip", "slide.tip"), joint=LoopJoint(type="spherical"))
    model = Robot(name="arch", links=links, loops=[pin], frames=[wall], couplings=[spring], gravity=(0, 0, 0)).model()

    def needed(angle: float) -> float:
        """Force on the apex at this angle of the bars: V = k s^2 / 2 with s = 2 (arm cos - half), height arm sin."""
        return 4 * k * (arm * np.cos(angle) - half) * np.tan(angle)

    start = float(np.arctan2(rise, half))
    angles = np.linspace(0, start, 2001)
    forces = [needed(x) for x in angles]
    limit, at = max(forces), float(angles[int(np.argmax(forces))])
    for push, low, high in ((0.7 * limit, at, start), (1.2 * limit, -1.4, -start)):
        load = [Wrench(force=(0.0, -push, 0.0), link="left")]
        q, words = told(lambda load=load: model.equilibrium({"left": start, "right": -2 * start}, load))
        assert words == []
        expected = brentq(lambda a, push=push: needed(a) - push, low, high)
        assert q[0] == pytest.approx(expected, abs=1e-9)
