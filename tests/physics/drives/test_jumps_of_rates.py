"""A prescribed rate that jumps strikes all that is free; at the start of a run too, and never unseen."""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np
import pytest

import pliant
from arms import unequal_arm
from pliant import Beam, Joint, Link, Robot, Shapes, simulate, simulate_batch
from pliant.control import MeasuredMotion
from pliant.errors import ModelError, UnsupportedModel
from pliant.simulation.runs.equations.composition import compose

LENGTH, STIFFNESS, DENSITY = 0.8, 3.0, 0.4
BETA = np.array([1.8751040687119611, 4.694091132974175, 7.854757438237613])
"""Roots of cos b cosh b = -1."""
SPEED = 0.7


@pytest.fixture(scope="module")
def hub() -> Any:
    beam = Beam(length=LENGTH, mass_per_length=DENSITY, EI_z=STIFFNESS, polar_inertia=0.0)
    link = Link(name="hub", joint=Joint(), beam=beam, shapes=Shapes(boundary="clamped-free", bending_y=3))
    return Robot(name="hub and beam", gravity=(0, 0, 0), links=[link]).model(stiffening="off")


def ringing(t: Any) -> Any:
    """Deflection of the tip after the hub has jumped to SPEED at t = 0. Modes of a clamped beam of unit mean square
    have 2, -2, 2 at the tip and the moment 2 L^2 / b^2; turning at SPEED lowers their stiffness."""
    natural = (BETA / LENGTH) ** 2 * np.sqrt(STIFFNESS / DENSITY)
    turning = np.sqrt(natural**2 - SPEED**2)
    size = -SPEED * 2 * LENGTH / BETA**2 * np.array([2.0, -2.0, 2.0]) / turning
    return np.sin(np.outer(np.maximum(t, 0.0), turning)) @ size


TIMES = np.arange(161) / 400
MOTIONS: dict[str, tuple[Any, dict[str, Any], float]] = {
    "named": (lambda t: SPEED * t, {"qd0": {"hub": 0.0}}, 0.0),
    "by the path": (lambda t: ca.if_else(t > 0, SPEED * t, 0), {}, 0.0),
    "later": (lambda t: ca.if_else(t > 0.05, SPEED * (t - 0.05), 0), {}, 0.05),
    "sampled": (
        MeasuredMotion(TIMES, SPEED * np.maximum(TIMES - 0.05, 0), breaks=[0.05]), {}, 0.05,
    ),
    "declared": (lambda t: SPEED / 2 * (t - 0.05 + ca.sqrt((t - 0.05) ** 2 + 1e-60)), {"breaks": [0.05]}, 0.05),
}  # fmt: skip


@pytest.mark.parametrize("kind", MOTIONS)
def test_a_hub_that_jumps_leaves_its_beam_behind(hub: Any, kind: str) -> None:
    motion, given, at = MOTIONS[kind]
    run = simulate(hub, 0.3, motion={"hub": motion}, rtol=1e-10, atol=1e-13, output_step=0.005, **given)
    exact = ringing(run.t - at)
    found = run.deflection("hub", "tip")[:, 1]
    assert np.abs(found - exact).max() < 1e-6 * np.abs(exact).max()
    assert np.abs(exact).max() > 0.01
    assert np.abs(run.energy_balance).max() < 1e-8 * run.energy.kinetic.max()
    struck = int(np.searchsorted(run.t, at - 1e-9))
    assert run.work[struck] == pytest.approx(run.energy.kinetic[struck], rel=1e-9)
    assert run.work[struck] > 1e-5


@pytest.fixture(scope="module")
def unequal() -> Any:
    return unequal_arm().model(stiffening="off", parameters=["payload.mass"], shapes="nominal")


@pytest.mark.slow
def test_a_jump_at_the_start_of_an_unequal_arm(unequal: Any) -> None:
    """By the mass matrix of `lagrange`: momenta of what is free stay, and the work is the kinetic energy gained. Rates
    that were there before go on."""
    q0 = {"boom": 0.3, "fore": -0.4, "hand": 0.1, "boom.bending_y.1": 0.01}
    qd0 = {"boom": 0.5, "fore": -0.3, "boom.bending_y.2": 0.2}
    motion = {"boom": lambda t: 0.3 + 0.9 * t, "hand": lambda t: 0.1 - 0.2 * t}
    options: dict[str, Any] = {"motion": motion, "p": [0.8]}
    run = simulate(unequal, 0.02, q0, qd0, output_step=0.01, rtol=1e-9, **options)
    reference = unequal_arm().model(
        formulation="lagrange", stiffening="off", parameters=["payload.mass"], shapes="nominal"
    )
    M = reference.mass_matrix(run.q[0], [0.8])
    names = list(unequal.speeds)
    before = np.zeros(unequal.n)
    for name, value in {**qd0, "boom.motor": 0.5, "hand": -0.2}.items():
        before[names.index(name)] = value
    held = [names.index("boom"), names.index("hand")]
    change = run.qd[0] - before
    assert change[held] == pytest.approx([0.4, 0.0], abs=1e-14)
    momentum = M @ change
    assert np.abs(np.delete(momentum, held)).max() < 1e-12 * np.abs(momentum).max()
    work = (run.qd[0] @ M @ run.qd[0] - before @ M @ before) / 2
    assert run.work[0] == pytest.approx(work, rel=1e-12)
    assert abs(work) > 0.01
    batch = simulate_batch(unequal, 0.02, q0, qd0, output_step=0.01, work=True, motion=motion, p=[[0.8], [0.2]])
    assert np.abs(batch.qd[0, 0] - run.qd[0]).max() < 1e-12
    assert batch.work[0, 0] == pytest.approx(work, rel=1e-12)
    assert abs(batch.work[1, 0] - work) > 1e-4
    arm = pliant.Stepper(unequal, q0=q0, qd0=qd0, **options)
    assert np.abs(arm.qd - run.qd[0]).max() < 1e-12
    arm.state = arm.state
    assert np.abs(arm.qd - run.qd[0]).max() < 1e-12


def test_what_is_not_named_goes_with_its_path(hub: Any) -> None:
    """A run may begin in motion, with a beam that turns with its hub; so may one from a whole state of another."""
    for qd0 in (None, np.zeros(hub.n), {"hub.bending_y.1": 0.0}):
        run = simulate(hub, 0.01, qd0=qd0, motion={"hub": lambda t: SPEED * t}, output_step=0.01)
        assert run.qd[0].tolist() == [SPEED, 0.0, 0.0, 0.0]
        assert run.work[0] == 0.0


KINK = 0.0321
UNSEEN: dict[str, tuple[Any, str]] = {
    "rate": (
        lambda t: 0.01 * ca.acos(ca.cos(10 * (t - KINK) + np.pi)),
        r"its rate jumps by -0\.(2|19)\d*, from 0\.(1|09)\d*",
    ),
    "position": (lambda t: ca.atan2(ca.sin(np.pi / KINK * t), ca.cos(np.pi / KINK * t)), "its position jumps by -6.28"),
}


@pytest.mark.parametrize("what", UNSEEN)
def test_a_jump_that_nobody_declared_is_refused(hub: Any, what: str) -> None:
    """With its time and its size, by every way to run."""
    motion, message = UNSEEN[what]
    wanted = rf"motion\['hub'\]: {message}.* at t = 0\.0321\d* s, which is not declared"
    for run in (simulate, simulate_batch):
        with pytest.raises(ModelError, match=wanted):
            run(hub, 0.05, motion={"hub": motion})
    with pytest.raises(ModelError, match=wanted):
        pliant.Stepper(hub, motion={"hub": motion}).step(0.05)


@pytest.mark.parametrize("width", [1e-3, 1e-7])
def test_steep_motion_is_no_jump(hub: Any, width: float) -> None:
    """A rate that turns within a ten-millionth of a second does so the less the nearer one looks."""
    motion = {"hub": lambda t: 0.2 * ca.sqrt((t - 0.0301) ** 2 + width**2)}
    composed = compose(hub, None, None, motion, (), None, False)
    assert len(composed.impulses(np.array([0.01]), 0.05).times) == 0


def test_slopes_do_not_pass_a_jump(hub: Any) -> None:
    with pytest.raises(UnsupportedModel, match="a prescribed rate jumps"):
        pliant.gradient(hub, 0.01, qd0={"hub": 0.0}, motion={"hub": lambda t: SPEED * t}, step=1e-3,
                        terminal=lambda t, q, qd: q[1])  # fmt: skip
