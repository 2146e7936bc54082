"""Linkages in batches and steppers, with motions that jump, on bases that move, at limits and at events."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

import pliant
from linkages import FOUR_BAR, bar, four_bar, four_bar_angles, passive, slider_crank
from physics.loops.test_linkages import four_bar_work
from pliant import loads
from pliant.errors import ModelError, SimulationError, UnsupportedModel
from pliant.model.loops.assembly import mechanism
from pliant.robot import Drive, Joint, Limits, Loop, LoopJoint, Origin, Robot

CRANKS = np.array([0.7, 1.0, 1.5, 2.0, 2.5])
METHODS = {"rk4": {"step": 1e-3}, "dopri5": {}}


@pytest.mark.parametrize("method", METHODS)
def test_batches_are_single_runs(method: str) -> None:
    """Closed at every row, of the same bits whoever runs beside, and as `simulate` has it."""
    model = four_bar().model()
    options = {"method": method, "output_step": 0.1, "torque": [0.5], **METHODS[method]}
    many = pliant.simulate_batch(model, 0.5, q0={"crank": CRANKS}, **options)
    alone = pliant.simulate_batch(model, 0.5, q0={"crank": CRANKS[2]}, **options)
    single = pliant.simulate(model, 0.5, q0={"crank": CRANKS[2]}, **options)
    np.testing.assert_array_equal(many.q[2], alone.q[0])
    np.testing.assert_array_equal(many.qd[2], alone.qd[0])
    np.testing.assert_allclose(alone.q[0], single.q, atol=1e-12 if method == "rk4" else 1e-7)
    assert np.abs(model.gaps(many.q)).max() < 1e-15
    by = mechanism(model, model.nominal_parameters)
    assert max(np.abs(by.slopes(q) @ qd).max() for q, qd in zip(many.q[:, -1], many.qd[:, -1])) < 1e-13


def test_batches_over_parameters_close_each_arm() -> None:
    path = "links.rocker.joint.origin.xyz.0"
    model = four_bar().model(parameters=[path])
    p = np.array([[0.48], [0.5], [0.52]])
    found = pliant.simulate_batch(model, 0.2, q0={"crank": 0.7}, p=p, method="rk4", step=1e-3, output_step=0.1)
    assert np.abs([model.gaps(q, v) for q, v in zip(found.q, p)]).max() < 1e-15
    single = pliant.simulate(model, 0.2, q0={"crank": 0.7}, p=p[2], method="rk4", step=1e-3, output_step=0.1)
    np.testing.assert_allclose(found.q[2], single.q, atol=1e-12)


def test_a_locked_arm_of_a_batch_ends() -> None:
    links = [
        bar("a", 0.3),
        bar("b", 0.3, passive()),
        bar("c", 0.3, passive(origin=Origin(xyz=(0.5, 0, 0))), parent="base"),
    ]
    model = Robot(name="locks", links=links, loops=[Loop(name="pin", between=("b.tip", "c.tip"))]).model()
    path = {"a": lambda t: 1.0 + 2.0 * t}
    with pytest.raises(SimulationError, match=r"every arm broke down, the first at t = 0\.3"):
        pliant.simulate_batch(model, 2.0, q0={"a": 1.0}, motion=path, method="rk4", step=1e-3, output_step=0.1)


@pytest.mark.parametrize("count", [None, 3])
def test_steppers_stay_closed_and_follow_a_run(count: int | None) -> None:
    model = four_bar().model()
    arm = pliant.Stepper(model, step=1e-3, q0={"crank": 0.7}, count=count)
    run = pliant.simulate(model, 0.2, q0={"crank": 0.7}, torque=[0.3], method="rk4", step=1e-3, output_step=0.1)
    for k in range(1, 3):
        for _ in range(10):
            arm.step(0.01, [0.3])
        np.testing.assert_allclose(np.atleast_2d(arm.q)[-1], run.q[k], atol=1e-12)
    assert np.abs(model.gaps(arm.q)).max() < 1e-15
    kept = arm.save()
    arm.step(0.01)
    ahead = arm.q
    arm.restore(kept)
    arm.step(0.01)
    np.testing.assert_array_equal(arm.q, ahead)
    arm.reset({"crank": 1.1})
    assert np.abs(model.gaps(arm.q)).max() < 1e-14
    assert np.atleast_2d(arm.q)[0, 0] == 1.1


def test_a_closed_start_of_an_arm_with_an_elastic_drive_is_taken_as_it_is() -> None:
    links = list(four_bar().links)
    links[0] = bar("crank", FOUR_BAR["crank"], Joint(drive=Drive(gear_ratio=50, rotor_inertia=1e-5, stiffness=300.0)))
    model = four_bar(links=links).model()
    q = model.assemble({"crank": 0.7, "crank.motor": 0.7}, held=["crank"])
    run = pliant.simulate(model, 0.01, q0=q)
    np.testing.assert_array_equal(run.q[0], q)
    assert np.abs(run.energy_balance).max() < 1e-7 * max(run.energy.kinetic.max(), 1e-3)


def test_a_gear_that_is_wound_up_at_rest_starts_so() -> None:
    """By a whole state, and by `equilibrium`: under its holding torque nothing moves."""
    links = list(four_bar().links)
    links[0] = bar("crank", FOUR_BAR["crank"], Joint(drive=Drive(gear_ratio=50, rotor_inertia=1e-5, stiffness=300.0)))
    model = four_bar(links=links).model()
    named = {"crank": 0.7, "rocker": 1.6}
    q = model.equilibrium(named)
    assert abs(q[model.index("crank.motor")] - 0.7) > 1e-3
    for start, settles in ((named, True), (q, False)):
        run = pliant.simulate(model, 0.05, start, torque=model.holding_torque(q), equilibrium=settles)
        np.testing.assert_allclose(run.q, np.tile(q, (len(run), 1)), atol=1e-8)


def test_an_own_step_of_a_stepper() -> None:
    assert 1e-3 < pliant.Stepper(four_bar().model()).step_length < np.inf


# ------------------------------------------------------------------------------------------------- prescribed


def test_a_jump_of_the_crank_gives_everything_its_speed() -> None:
    """From rest to 3 rad/s at once: its work is the energy that the closed form has then."""
    model, speed = four_bar(gravity=(0, 0, 0)).model(), 3.0
    motion = {"crank": lambda t: 0.7 + speed * ca.fmax(t - 0.1, 0)}
    run = pliant.simulate(model, 0.2, motion=motion, rtol=1e-10, atol=1e-12, output_step=0.02)
    behind = run.t > 0.1 + 1e-9
    assert np.abs(run.qd[run.t < 0.1 - 1e-9]).max() == 0.0
    assert np.abs(run.energy_balance).max() < 1e-9
    inertia, _ = four_bar_work(run["crank"][behind])
    np.testing.assert_allclose(run.energy.kinetic[behind], inertia * speed**2 / 2, rtol=1e-7)
    expected = np.array([[angle, *four_bar_angles(angle)] for angle in run["crank"]])
    np.testing.assert_allclose(np.exp(1j * run.q), np.exp(1j * expected), atol=1e-8)
    many = pliant.simulate_batch(model, 0.2, motion=motion, method="rk4", step=1e-3, output_step=0.1)
    np.testing.assert_allclose(many.q[0, -1], run.q[-1], atol=1e-7)


@pytest.mark.slow
def test_a_jump_of_a_bending_linkage_leaves_the_other_momenta() -> None:
    """At the start too: what is free keeps its momentum but for the impulses along the loops."""
    from mechanics.derivatives.test_closed_derivatives import bending

    model = bending().model()
    path = {"crank": lambda t: 0.7 + 2.0 * t}
    run = pliant.simulate(model, 1e-4, qd0={"crank": 0.0}, motion=path, method="rk4", step=1e-5)
    q, qd = run.q[0], run.qd[0]
    by = mechanism(model, model.nominal_parameters)
    J, p = by.slopes(q)[:2], model.mass_matrix(q) @ qd
    assert np.abs(J @ qd).max() < 1e-12
    assert qd[0] == 2.0
    pull = np.linalg.lstsq(J[:, 1:].T, p[1:], rcond=None)[0]
    np.testing.assert_allclose(J[:, 1:].T @ pull, p[1:], atol=1e-12 * np.abs(p).max())
    np.testing.assert_allclose(run.energy_balance, 0.0, atol=1e-9)


def test_a_base_that_accelerates_is_gravity() -> None:
    still = four_bar(gravity=(0, 0, 0)).model()
    lifted = loads.Base(acceleration=(0.0, 9.81, 0.0))
    options = {"q0": {"crank": 0.7}, "rtol": 1e-10, "atol": 1e-12, "output_step": 0.05}
    moved, heavy = (
        pliant.simulate(still, 0.5, base=lifted, **options),
        pliant.simulate(four_bar().model(), 0.5, **options),
    )
    np.testing.assert_allclose(moved.q, heavy.q, atol=1e-9)
    np.testing.assert_allclose(moved.multipliers, heavy.multipliers, atol=1e-6)
    rope = LoopJoint(type="distance", length=FOUR_BAR["crank"])
    held = four_bar(loops=[*four_bar().loops, Loop(name="rope", between=("world", "crank.tip"), joint=rope)])
    with pytest.raises(UnsupportedModel, match="loop `rope`: not built for the world beside a base that moves"):
        pliant.simulate(held.model(), 0.1, base=lifted)


def test_limits_and_events_in_a_loop() -> None:
    """A passive rocker with a limit ends the run there; an event is found on the closed linkage."""
    links = list(four_bar().links)
    links[2] = bar("rocker", FOUR_BAR["rocker"], passive(origin=Origin(xyz=(0.5, 0, 0)), limits=Limits(upper=1.75)),
                   parent="base")  # fmt: skip
    model = four_bar(links=links).model()
    run = pliant.simulate(model, 2.0, q0={"crank": 0.7}, torque=[3.0])
    assert run.stats.status == "event"
    assert run["rocker"][-1] == pytest.approx(1.75, abs=1e-9)
    assert np.abs(model.gaps(run.q[-1])).max() < 1e-14
    level = pliant.Event("level", lambda t, q, qd: q[2] - 1.7)
    found = pliant.simulate(four_bar().model(), 2.0, q0={"crank": 0.7}, torque=[3.0], events=[level])
    assert found.stats.status == "event"
    assert found["rocker"][-1] == pytest.approx(1.7, abs=1e-7)
    assert np.abs(model.gaps(found.q[-1])).max() < 1e-14


def test_a_jump_that_loops_do_not_allow_is_refused() -> None:
    rocker = bar("rocker", 0.35, Joint(origin={"xyz": (0.5, 0, 0)}), parent="base")
    model = four_bar(links=[*four_bar().links[:2], rocker]).model()
    start = four_bar_angles(0.7)[1]
    with pytest.raises(ModelError, match="the position is singular"):
        pliant.simulate(model, 0.1, motion={"crank": lambda t: 0.7 + t, "rocker": lambda t: start - t})


def test_a_slider_crank_at_given_speed_in_a_batch() -> None:
    model = slider_crank().model()
    path = {"crank": lambda t: 5.0 * t}
    found = pliant.simulate_batch(model, 0.3, motion=path, method="dopri5", output_step=0.1)
    single = pliant.simulate(model, 0.3, motion=path, output_step=0.1)
    np.testing.assert_allclose(found.q[0], single.q, atol=1e-7)
    np.testing.assert_allclose(found.tau[0], single.tau, atol=1e-5)
