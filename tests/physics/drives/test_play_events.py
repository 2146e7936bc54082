"""Gears with sharp play: steps of a run end where teeth touch and leave."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import pliant
from pliant.robot import Drive, Joint, Link, RigidBody, Robot
from pliant.simulation.runs import simulation
from pliant.simulation.runs.checks import limits

STIFFNESS, PLAY, INERTIA, ROTOR, RATE = 900.0, 6e-3, 0.7, 0.3, 0.4


def block(smoothing: float = 0.0) -> pliant.Model:
    """A block behind a gear with play, without gravity."""
    drive = Drive(stiffness=STIFFNESS, rotor_inertia=ROTOR, play=PLAY, play_smoothing=smoothing)
    body = RigidBody(mass=INERTIA, com=(0, 0, 0), inertia=(1, 1, 1), tip=(0.1, 0, 0))
    link = Link(name="block", joint=Joint(type="prismatic", axis=(1, 0, 0), drive=drive), rigid=body)
    return Robot(name="block", gravity=(0, 0, 0), links=[link]).model()


def exact(t: Any) -> Any:
    """Twist after a start in the middle of the play: constant rates in the gap, half-waves in contact."""
    w = np.sqrt(STIFFNESS * (INERTIA + ROTOR) / (INERTIA * ROTOR))
    gap, contact = PLAY / RATE, np.pi / w
    since = t - gap / 2  # of the first contact
    number, inside = np.divmod(since, gap + contact)
    side = np.where(number % 2 == 0, 1.0, -1.0)
    touching = side * (PLAY / 2 + RATE / w * np.sin(w * inside))
    free = side * (PLAY / 2 - RATE * (inside - contact))
    return np.where(since < 0, RATE * t, np.where(inside <= contact, touching, free))


def error(method: str, rtol: float, t_end: float = 2.0) -> tuple[float, pliant.Result]:
    run = pliant.simulate(
        block(), t_end, qd0={"block": 0.0, "block.motor": RATE}, rtol=rtol, atol=1e-3 * rtol, method=method,
        output_step=1e-3,
    )  # fmt: skip
    return float(np.abs(run["block.motor"] - run["block"] - exact(run.t)).max()), run


@pytest.mark.slow_cases("rodas5p-1e-07")
@pytest.mark.parametrize(("method", "rtol"), [("dop853", 1e-5), ("dopri5", 3e-7), ("rodas5p", 1e-7)])
def test_contacts_are_met_at_loose_tolerance(method: str, rtol: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Some fifty contacts in 2 s, the twist to 1e-6; over the kinks as they come it is ten times as far off."""
    met, run = error(method, rtol)
    assert met < 1e-6
    assert run.stats.events == ()
    monkeypatch.setattr(simulation, "gear_events", lambda model: ())
    assert error(method, rtol)[0] > 10 * met


def test_who_has_no_sharp_play_has_no_events() -> None:
    assert len(limits.gear_events(block())) == 2
    assert limits.gear_events(block(1e-4)) == ()
    assert limits.gear_events(pliant.load("two-link").model()) == ()
