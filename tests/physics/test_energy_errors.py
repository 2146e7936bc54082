"""Runs whose energy does not balance say so: single runs by all methods, batches, steppers, sweeps; others do not."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest

import pliant
from pliant.batch import BatchResult
from pliant.errors import ModelError
from pliant.robot import Robot
from pliant.sweeps import SweepStudy, sweep

START = {"upper": 2.1, "fore": -0.7}
LONG = 0.12
"""A step of rk4, s, with which the double pendulum loses some 4 % of its energy in 3 s; of 0.01 s it loses 1e-5."""


def pendulum() -> Robot:
    """Two rigid links that are alike in nothing, with a payload beside the axis."""
    links = [
        {
            "name": name, "joint": {"type": "revolute", "axis": [0.0, 1.0, 0.0]},
            "rigid": {"mass": mass, "com": [0.4 * length, 0.0, 0.02], "tip": [length, 0.0, 0.01],
                      "inertia": [0.01, mass * length**2 / 12, mass * length**2 / 12]},
        }
        for name, mass, length in (("upper", 3.0, 0.7), ("fore", 1.2, 0.45))
    ]  # fmt: skip
    return Robot.from_dict({"name": "pendulum", "links": links, "payload": {"mass": 0.4, "com": [0.05, 0.0, 0.0]}})


@pytest.fixture(scope="module")
def model() -> pliant.Model:
    return pendulum().model(parameters=["payload.mass"])


def by_hand(result: pliant.Result) -> float:
    """Error of the energy over what moved, from the definitions."""
    e = result.energy
    rest = e.gravity + e.strain
    moved = e.kinetic.max() + rest.max() - rest.min() + np.abs(np.diff(result.work)).sum()
    return float(np.abs(e.total - e.total[0] - result.work + result.work[0]).max() / moved)


@pytest.mark.parametrize(
    ("method", "coarse", "fine"),
    [
        ("rk4", {"step": LONG}, {"step": 0.01}),
        ("midpoint", {"step": LONG}, {"step": 0.002}),
        ("dopri5", {"rtol": 0.01, "atol": 0.01}, {}),
        ("rodas5p", {"rtol": 0.03, "atol": 0.03}, {}),
        ("bdf", {"rtol": 1e-2, "atol": 1e-2}, {}),
    ],
)
def test_a_run_that_loses_energy_says_so(model, method, coarse, fine) -> None:
    """In its status, when printed and in a warning, each time; the same run with shorter steps does not."""
    for _ in range(2):
        with pytest.warns(UserWarning, match=r"^energy: got an error of .* expected below 1%.*`step`"):
            wrong = pliant.simulate(model, 3.0, START, method=method, output_step=0.03, **coarse)
    assert wrong.stats.status == "energy error"
    assert wrong.stats.energy_error > 0.01
    assert wrong.stats.energy_error == pytest.approx(by_hand(wrong), rel=1e-2)  # but for the part that stands still
    assert "energy: got an error" in str(wrong)
    assert "energy error" in repr(wrong)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        right = pliant.simulate(model, 3.0, START, method=method, output_step=0.03, **fine)
    assert right.stats.status == "finished"
    assert right.stats.energy_error < 0.01
    assert "energy" not in str(right)


def test_work_that_is_done_is_no_error(model, tmp_path: Path) -> None:
    """Torques feed the arm and a jump of a prescribed rate strikes it; files keep the error."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        driven = pliant.simulate(model, 1.0, START, torque=[4.0, -1.0])
        struck = pliant.simulate(model, 1.0, motion={"fore": lambda t: 0.8 * t}, qd0={"fore": 0.0})
    assert np.abs(np.diff(driven.work)).sum() > 1.0
    assert max(driven.stats.energy_error, struck.stats.energy_error) < 1e-6
    assert pliant.Result.load(driven.save(tmp_path / "run.nc")).stats == driven.stats


@pytest.mark.parametrize("gravity", [(0.0, 0.0, -9.81), (0.0, 0.0, 0.0)])
def test_an_arm_that_stands_still_is_no_error(gravity) -> None:
    """Where nothing moves, rounding is all there is: at rest, held up, in space, and below the tolerance."""
    robot = pendulum().model_copy(update={"gravity": gravity})
    model = robot.model()
    down = np.array([np.pi / 2, 0.0])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for q0, qd0 in ((down, None), (down + 1e-9, None), (down, [1e-11, 0.0]), (down, [1e-7, -1e-7])):
            assert pliant.simulate(model, 2.0, q0, qd0).stats.status == "finished"
        held = pliant.control.PD(400.0, 40.0, down - 0.6, gravity="reference")
        assert pliant.simulate(model, 5.0, down - 0.6, controller=held).stats.status == "finished"


def test_arms_of_a_batch_are_told_apart(model, tmp_path: Path) -> None:
    """Of three arms the one that swings loses its energy; numbers are those of single runs, and files keep them."""
    q0 = np.array([[np.pi / 2, 0.01], [START["upper"], START["fore"]], [np.pi / 2, 0.02]])
    with pytest.warns(UserWarning, match=r"^energy: 1 of 3 arms .* \(arm 1\)"):
        batch = pliant.simulate_batch(model, 3.0, q0, step=LONG, output_step=0.12, p=[[0.4], [0.4], [0.1]])
    assert batch.status.tolist() == [0, 5, 0]
    assert np.isfinite(batch.q).all()
    with pytest.warns(UserWarning, match="^energy"):
        alone = pliant.simulate(model, 3.0, START, method="rk4", step=LONG, output_step=0.12)
    assert batch.energy_error[1] == pytest.approx(alone.stats.energy_error, rel=1e-9)
    assert batch.arm(1).stats.status == "energy error"
    assert batch.arm(0).stats.status == "finished"
    again = BatchResult.load(batch.save(tmp_path / "batch.nc"))
    assert again.energy_error == pytest.approx(batch.energy_error)
    assert again.status.tolist() == [0, 5, 0]
    with pytest.raises(ModelError, match="work=True"):
        _ = batch.work  # it was integrated, but not asked for


def test_a_sweep_counts_such_a_point_as_failed(tmp_path: Path) -> None:
    scenario = {"robot": pendulum().to_dict(), "duration": 3.0, "step": LONG, "method": "rk4", "output_step": 0.12,
                "initial": {"q": {"upper": np.pi / 2, "fore": 0.0}}}  # fmt: skip
    for engine in ("batch", "points"):
        vary = {"initial.q.fore": [0.01, -2.0]}
        study = {"scenario": scenario, "vary": vary, "metrics": ["energy"], "engine": engine}
        result = sweep(SweepStudy.from_dict(study), tmp_path / engine, workers=1)
        assert result.status == ("finished", "failed")
        assert result.messages[1].startswith("energy: got an error of")


@pytest.mark.parametrize("count", [None, 2])
def test_a_stepper_that_loses_energy_says_so(model, count) -> None:
    """Once; states, parameters and torques that its caller sets are no loss."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        arm = pliant.Stepper(model, step=0.005, q0=START, count=count)
        for k in range(12):
            arm.change({"payload.mass": 0.1 + 0.1 * (k % 3)})
            arm.step(0.05, [3.0 * (-1) ** k, 0.5])
        arm.state = ([0.3, 0.2], [1.0, -2.0])
        kept = arm.save()
        for _ in range(5):
            arm.step(0.05)
        arm.restore(kept)
        arm.step(0.05)
        assert np.max(arm.energy_error) < 1e-3
    arm = pliant.Stepper(model, step=LONG, q0=START, count=count)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        for _ in range(25):
            arm.step(LONG)
    assert [str(one.message).startswith("energy: got an error") for one in told] == [True]
    assert np.shape(arm.energy_error) == (() if count is None else (2,))
    assert np.min(arm.energy_error) > 0.01
