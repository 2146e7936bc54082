"""Motion from samples: what a run looks up is the spline that the samples make, however many there are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np
import pytest

import pliant
from arms import unequal_arm
from pliant import simulate, simulate_batch
from pliant.control import PD, MeasuredMotion, Samples, Shaped, Waypoints, zv
from pliant.errors import ModelError, UnsupportedModel
from pliant.export import export
from pliant.loads import Wrench
from pliant.simulation.runs.equations.composition import compose

END = 0.4


def path(t: Any, k: int = 0) -> Any:
    """Positions over time, of a smooth motion that begins with a rate."""
    return (0.2 + 0.1 * k) * np.sin((5 + 2 * k) * t) + 0.1 * k


def exact(t: Any) -> Any:
    return 0.2 * ca.sin(5 * t)


def sampled(count: int = 201, until: float = END, **options: Any) -> MeasuredMotion:
    t = np.linspace(0.0, until, count)
    return MeasuredMotion(t, np.column_stack([path(t, k) for k in range(2)]), **options)


@pytest.fixture(scope="module")
def model() -> Any:
    return unequal_arm().model(stiffening="off")


# ------------------------------------------------------------------------------------------------------ polynomials


@pytest.mark.parametrize(
    ("options", "errors"),
    [({"order": 3}, (2e-10, 3e-4)), ({"order": 5}, (3e-14, 1e-7)), ({"order": 4, "window": 7}, (2e-9, 1e-3))],
)
def test_samples_give_position_and_acceleration(options: dict[str, Any], errors: tuple[float, float]) -> None:
    """Spline of order k: h^(k+1) in positions, h^(k-1) in accelerations; away from the ends, where nothing is known."""
    motion = sampled(**options)
    t = np.linspace(0.1, END - 0.1, 333)
    q, qd, qdd = motion(t)
    w = np.array([5.0, 7.0])
    a = np.array([0.2, 0.3])
    assert np.abs(q - np.column_stack([path(t, k) for k in range(2)])).max() < errors[0]
    assert np.abs(qdd + a * w**2 * np.sin(np.outer(t, w))).max() < errors[1]
    assert np.abs(np.gradient(q[:, 0], t)[1:-1] - qd[1:-1, 0]).max() < 1e-4


def test_local_polynomials_see_through_the_steps_of_an_encoder() -> None:
    """The acceleration at a sample is that of the polynomial fitted around it; a spline has the steps in it."""
    t = np.arange(0, 1.0, 0.004)
    q = np.round(0.5 * t**2 / 1.5e-5) * 1.5e-5
    local, spline = MeasuredMotion(t, q, order=4, window=17), MeasuredMotion(t, q)
    k = 100
    fitted = np.polyfit(t[k - 8 : k + 9] - t[k], q[k - 8 : k + 9], 4)
    x, v, a = local(t[k])
    np.testing.assert_allclose([x[0], v[0], a[0]], [fitted[-1], fitted[-2], 2 * fitted[-3]], rtol=1e-8)
    assert np.abs(local(t[20:-20])[2] - 1).max() < 0.15 < 1.0 < np.abs(spline(t[20:-20])[2] - 1).max()


def test_local_polynomials_are_continuous() -> None:
    """Position, rate and acceleration, where pieces meet."""
    t = np.linspace(0, 1, 101)
    motion = MeasuredMotion(t, np.round(np.sin(3 * t), 3), order=3, window=9)
    near = 1e-9
    for before, after, size in zip(motion(t[1:-1] - near), motion(t[1:-1] + near), (1e-8, 1e-7, 1e-4)):
        assert np.abs(after - before).max() < size


def test_a_break_parts_the_samples() -> None:
    t = np.linspace(0, 1, 101)
    motion = MeasuredMotion(t, np.abs(t - 0.5), breaks=[0.5])
    assert motion(0.5 - 1e-9)[1] == pytest.approx(-1)
    assert motion(0.5 + 1e-9)[1] == pytest.approx(1)
    assert np.abs(motion(t)[2]).max() < 1e-6


BAD = {
    "order": ({"order": 4}, "order: got 4, expected 3, 5 or 7"),
    "window": ({"order": 4, "window": 4}, "window: got 4 samples"),
    "even": ({"order": 2, "window": 4}, "window: got 4 samples"),
    "long": ({"order": 2, "window": 203}, "expected at least 203"),
    "break": ({"breaks": [0.1001]}, "breaks: got 0.1001 s, expected the time of a sample"),
    "first": ({"breaks": [0.0]}, "neither the first nor the last"),
}


@pytest.mark.parametrize("name", BAD)
def test_mistakes(name: str) -> None:
    options, message = BAD[name]
    with pytest.raises(ModelError, match=message):
        sampled(**options)


def test_local_polynomials_want_even_samples() -> None:
    t = np.delete(np.linspace(0, 1, 101), 40)
    with pytest.raises(ModelError, match=r"times: the step from 0.39 s is 0.02 s, the others take 0.0101"):
        MeasuredMotion(t, t, order=2, window=5)


# ------------------------------------------------------------------------------------------------------------- runs


@pytest.mark.slow
def test_all_ways_to_run_look_up_the_same(model: Any) -> None:
    """Beside the same motion as an expression: one run, a batch, one arm and many that are stepped."""
    samples = sampled(501, 0.5, order=5).motion(model, ["boom", "fore"])
    smooth = {"boom": exact, "fore": lambda t: 0.1 + 0.3 * ca.sin(7 * t)}
    fine = {"rtol": 1e-10, "atol": 1e-12, "output_step": 0.04}
    wanted = simulate(model, END, motion=smooth, **fine)
    found = simulate(model, END, motion=samples, **fine)
    scale = np.abs(wanted.q).max()
    assert np.abs(found.q - wanted.q).max() < 1e-8 * scale
    assert np.abs(found.qd - wanted.qd).max() < 1e-6
    assert np.abs(found.tau - wanted.tau)[1:-1].max() < 1e-3 * np.abs(wanted.tau).max()
    assert np.abs(found.energy_balance).max() < 1e-8 * np.abs(found.energy.total).max()
    batch = simulate_batch(model, END, motion=samples, **fine)
    assert np.abs(batch.q[0] - found.q).max() < 1e-8 * scale
    assert np.abs(batch.tau[0] - found.tau).max() < 1e-5 * np.abs(found.tau).max()
    for count in (None, 2):
        arm = pliant.Stepper(model, motion=samples, step=1e-4, count=count)
        for _ in range(7):
            arm.step(END / 8)
        kept = arm.save()
        arm.step(END / 8)
        assert np.abs(np.atleast_2d(arm.q)[0] - found.q[-1]).max() < 1e-7 * scale, count
        assert np.abs(np.atleast_2d(arm.tau)[0] - found.tau[-1]).max() < 1e-4 * np.abs(found.tau).max(), count
        last = arm.q
        arm.restore(kept)
        arm.step(END / 8)
        assert (arm.q == last).all()


def test_the_equations_do_not_grow_with_the_samples(model: Any) -> None:
    """And another series of the same form, even with other times, has the same compiled function."""
    sizes = [
        compose(model, None, None, sampled(count).motion(model, ["boom", "fore"]), (), None, False, looked_up=True)
        for count in (101, 4001)
    ]
    assert sizes[0].function.n_instructions() == sizes[1].function.n_instructions()
    assert sizes[0].recipe == sizes[1].recipe is not None


def test_a_series_that_comes_late_is_not_that_of_now(model: Any) -> None:
    """A shaper reads its trajectory at several times, of which a run looks up one at most."""
    late = Shaped(sampled(61), zv(12.0, 0.05))
    run = simulate(model, 0.2, motion=late.motion(model, ["boom", "fore"]), output_step=0.05)
    there, _, _ = late(run.t)
    assert np.abs(run["boom"] - there[:, 0]).max() < 1e-12
    assert np.abs(there[:, 0] - sampled(61)(run.t)[0][:, 0]).max() > 1e-3


def test_two_series_are_not_one(model: Any) -> None:
    """Motions of one form have equal equations only where the same series stand at the same places."""
    t = np.linspace(0, END, 101)
    one, two = (MeasuredMotion(t, path(t, k)) for k in range(2))
    runs = [
        simulate(model, 0.1, motion={"boom": a, "fore": b}, rtol=1e-9) for a, b in ((one, one), (one, two), (two, one))
    ]
    for run, (a, b) in zip(runs, ((one, one), (one, two), (two, one))):
        assert run["boom"][-1] == pytest.approx(a(0.1)[0][0], abs=1e-12)
        assert run["fore"][-1] == pytest.approx(b(0.1)[0][0], abs=1e-12)


@pytest.mark.full
def test_long_series_everywhere(model: Any) -> None:
    """Sampled torques, a reference and a load beside each other, each with its own times."""
    t, s = np.linspace(0, END, 301), np.linspace(0, END, 173)
    reference = Samples(t, np.column_stack([path(t, k) for k in range(3)]))
    push = Samples(s, np.column_stack([np.sin(9 * s), np.cos(4 * s), s]))
    torque = (np.linspace(0, END, 7), np.outer(np.arange(7.0), [1.0, -0.5, 0.2]))
    law = PD(20.0, 2.0, reference, gravity="none")
    options: dict[str, Any] = {
        "controller": law,
        "torque": torque,
        "loads": Wrench(force=push.expression),
        "rtol": 1e-9,
    }
    found = simulate(model, END, output_step=0.1, **options)

    def acting(time: float, q: Any, qd: Any) -> Any:
        joints = [model.index(joint) for joint in model.joints]
        motors = [
            model.index(f"{j}.motor") if f"{j}.motor" in model.coordinates else model.index(j) for j in model.joints
        ]
        assert len(joints) == len(motors)
        there, fast, _ = reference(time)
        value = np.interp(time, torque[0], np.arange(7.0)) * np.array([1.0, -0.5, 0.2])
        return value + 20 * (there - q[motors]) + 2 * (fast - qd[motors])

    breaks = [*t, *s, *torque[0]]
    wanted = simulate(
        model, END, torque=acting, loads=Wrench(force=push.expression), rtol=1e-9, output_step=0.1, breaks=breaks
    )
    assert np.abs(found.q - wanted.q).max() < 1e-6 * np.abs(wanted.q).max()
    batch = simulate_batch(model, END, output_step=0.1, **options)
    assert np.abs(batch.q[0] - found.q).max() < 1e-6 * np.abs(found.q).max()


def test_a_run_may_begin_within_a_record_and_end_with_it(model: Any) -> None:
    """No impulse where the record begins in motion, and no stop in the last row."""
    samples = sampled(201, order=5).motion(model, ["boom", "fore"])
    run = simulate(model, END, motion=samples, output_step=0.1)
    assert run.work[0] == 0.0
    assert run.qd[0, model.speed_index("boom")] == pytest.approx(1.0, abs=1e-6)
    assert run.qd[-1, model.speed_index("boom")] == pytest.approx(np.cos(5 * END), abs=1e-6)
    later = simulate(model, END + 0.1, motion=samples, output_step=0.05)
    assert later.qd[-1, model.speed_index("boom")] == 0.0
    assert np.abs(later.energy_balance).max() < 1e-5 * np.abs(later.energy.total).max()


def test_the_c_plant_refuses_series(model: Any, tmp_path: Path) -> None:
    t = np.linspace(0, END, 101)
    law = PD(20.0, 2.0, Samples(t, np.zeros((101, 3))), gravity="none")
    with pytest.raises(UnsupportedModel, match="a series of 100 pieces has no place in the C plant"):
        export(model, "c", tmp_path, step=1e-3, controller=law)


@pytest.mark.slow
def test_gradients_write_series_out(model: Any) -> None:
    """They hold pieces of torques alone; a reference of many pieces is slow there, and right."""
    t = np.linspace(0, 0.02, 61)
    law = PD(20.0, 2.0, Waypoints(t, np.column_stack([t, 2 * t, -t])), gravity="none")
    found = pliant.gradient(model, 0.02, controller=law, terminal=lambda t, q, qd: q[0] ** 2, step=1e-3)
    run = simulate(model, 0.02, controller=law, method="rk4", step=1e-3)
    assert found.value == pytest.approx(run.q[-1, 0] ** 2, rel=1e-9)
