"""Runs that end when their time or their number of steps is over, with what was computed until then."""

from __future__ import annotations

import json
import math
import os
import signal
import threading
import time
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import pliant
from pliant.base.interrupts import TimeLimit
from pliant.base.stages import stage
from pliant.cli import app
from pliant.compute.llvm import llvm
from pliant.integrators.methods import has_fixed_steps
from pliant.simulation.batch import batch_run
from pliant.simulation.batch.devices import Cpu
from pliant.simulation.batch.result import STATUS, BatchResult
from pliant.sweeps import SweepStudy
from pliant.sweeps.engines import batchable, in_batches
from pliant.sweeps.points import Points

METHODS = ("rk4", "midpoint", "dopri5", "dop853", "rodas5p", "adams", "bdf")
LONG = 1e6
LIMIT = 1000.0
STOPPED = "stopped.*ends there"


@pytest.fixture(scope="module")
def arm() -> pliant.Model:
    return pliant.load("two-link").model()


class Clock:
    """The clock of time limits, which a test puts forward, so that nothing depends on how fast the machine is."""

    def __init__(self) -> None:
        self.passed = 0.0

    def perf_counter(self) -> float:
        return time.perf_counter() + self.passed

    def jump(self, *_: Any) -> None:
        self.passed += 2 * LIMIT


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    found = Clock()
    monkeypatch.setattr("pliant.base.interrupts.time", found)
    return found


def bounded(model: pliant.Model, t_end: float = LONG, **asked: Any) -> pliant.Result:
    with pytest.warns(UserWarning, match=STOPPED):
        return pliant.simulate(model, t_end, q0={"upper": 0.3}, output_step=t_end / 1e4, **asked)


def is_part(found: pliant.Result, t_end: float, words: str) -> None:
    assert found.stats.status == "stopped"
    assert found.stats.message.startswith(f"{words} at t = {found.t[-1]:.6g} s")
    assert 0 <= found.t[-1] < t_end
    assert np.isfinite(found.q).all()
    assert np.isfinite(found.tau).all()


@pytest.mark.parametrize("method", METHODS)
def test_a_run_stops_when_its_time_is_over(arm: pliant.Model, method: str, clock: Clock) -> None:
    """When it is told of for the first time, long before the years that it would take."""
    step = 1e-3 if has_fixed_steps(method) else None
    found = bounded(arm, method=method, step=step, time_limit=LIMIT, progress=clock.jump)
    is_part(found, 1e-3 * LONG, "time limit of 1000 s")


@pytest.mark.parametrize("method", METHODS)
def test_a_run_stops_after_so_many_steps(arm: pliant.Model, method: str) -> None:
    t_end = 20.0 if method in ("adams", "bdf") else 1.0
    found = bounded(arm, t_end, method=method, step=1e-3 if has_fixed_steps(method) else None, max_steps=150)
    is_part(found, t_end, "limit of 150 steps")
    steps = found.stats.steps + found.stats.rejected
    assert steps >= 150 if method in ("adams", "bdf") else steps == 150  # one call of these is thrown away
    assert found.t[-1] > 0
    if has_fixed_steps(method):
        assert found.t[-1] == pytest.approx(0.15)


def test_what_a_limited_run_computed_is_the_run(arm: pliant.Model) -> None:
    """And limits that are not reached change no bit of it."""
    asked = {"q0": {"upper": 0.3}, "output_step": 0.01}
    whole = pliant.simulate(arm, 0.5, **asked)
    free = pliant.simulate(arm, 0.5, time_limit=1e3, max_steps=10**9, **asked)
    assert np.array_equal(free.q, whole.q)
    assert free.stats.status == "finished"
    with pytest.warns(UserWarning, match=STOPPED):
        part = pliant.simulate(arm, 0.5, max_steps=whole.stats.steps // 2, **asked)
    rows = len(part) - 1  # the last row is the state that was reached
    assert 10 < rows < len(whole)
    assert np.array_equal(part.q[:rows], whole.q[:rows])


@pytest.mark.parametrize("sample_time", [None, 1e-3])
def test_a_slow_function_ends_with_the_step_that_it_is_in(
    arm: pliant.Model, sample_time: float | None, clock: Clock
) -> None:
    def slow(t: float, q: Any, qd: Any) -> Any:
        if q[0] != 0.3:  # else the run looks for jumps in time, before it begins
            clock.passed += LIMIT / 20
        return np.zeros(2)

    found = bounded(arm, 10.0, torque=slow, sample_time=sample_time, method="rk4", step=1e-3, time_limit=LIMIT)
    is_part(found, 10.0, "time limit of 1000 s")
    assert found.stats.steps == pytest.approx(21 if sample_time else 5, abs=2)  # by 20 calls, one or four for a step


def test_a_slow_search_for_jumps_of_a_function_ends(arm: pliant.Model, clock: Clock) -> None:
    def slow(t: float, q: Any, qd: Any) -> Any:
        clock.jump()
        return np.zeros(2)

    with pytest.raises(pliant.SimulationError, match="before there was a result"):
        pliant.simulate(arm, 10.0, torque=slow, time_limit=LIMIT)
    assert clock.passed == 2 * LIMIT


def test_events_before_the_limit_stay(arm: pliant.Model) -> None:
    passes = pliant.Event("passes", lambda t, q, qd: q[0], stop=False)
    found = bounded(arm, 1e3, events=[passes], max_steps=2000, method="dopri5")
    assert len(found.stats.events) == 1
    stops = pliant.Event("stops", lambda t, q, qd: q[0])
    assert pliant.simulate(arm, 1e3, q0={"upper": 0.3}, events=[stops], time_limit=60.0).stats.status == "event"


def test_a_compile_is_not_waited_for(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """It ends by itself, and the next call finds it in the cache; in a thread as well."""
    monkeypatch.setenv("PLIANT_CACHE_DIR", str(tmp_path / "cache"))
    compiled, asked, failed = llvm.object_code, threading.Event(), []

    def slowly(*given: Any) -> bytes:
        assert asked.wait(60.0)
        return compiled(*given)

    monkeypatch.setattr(llvm, "object_code", slowly)
    model = pliant.load("two-link").model()

    def run() -> None:
        with pytest.raises(pliant.SimulationError, match=r"time limit of 0.3 s was over before.*call again") as caught:
            pliant.simulate(model, 0.01, time_limit=0.3)
        failed.append(caught.value.result)

    run()
    thread = threading.Thread(target=run)
    thread.start()
    thread.join(60.0)
    assert failed == [None, None]
    asked.set()
    assert pliant.simulate(model, 0.01, time_limit=60.0).stats.status == "finished"


def test_the_clock_runs_from_the_call_on(arm: pliant.Model, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is traced or compiled first is part of it, and begins nothing when the time is over."""
    with pytest.raises(pliant.SimulationError, match=r"simulate: time limit of 1e-09 s was over before"):
        pliant.simulate(arm, 0.1, time_limit=1e-9)
    limit = TimeLimit(1e-9)
    ends = pytest.raises(pliant.SimulationError, match="a call: time limit")
    with stage("outside"), ends, limit.holds("a call"), stage("inside"):
        pytest.fail("a stage began")
    with stage("later"):
        pass
    assert TimeLimit(None).seconds is None


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"time_limit": 0.0}, "time_limit: got 0.0, expected a positive number of seconds"),
        ({"time_limit": math.inf}, "time_limit: got inf, expected"),
        ({"max_steps": 0}, "max_steps: got 0, expected 1 or more"),
    ],
)
def test_limits_that_are_none(arm: pliant.Model, asked: dict[str, Any], words: str) -> None:
    for run in (pliant.simulate, pliant.simulate_batch):
        with pytest.raises(pliant.ModelError, match=words):
            run(arm, 0.1, **asked)


# ------------------------------------------------------------------------------------------------------ batches


@pytest.mark.parametrize("store", ["memory", pytest.param("all.nc", marks=pytest.mark.full)])
def test_a_batch_gives_the_arms_that_were_run_in_time(
    arm: pliant.Model, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, store: str, clock: Clock
) -> None:
    monkeypatch.setattr(batch_run, "LEAST_STEPS", 100)
    starts = np.zeros((200, arm.n))
    starts[:, 0] = np.linspace(-1, 1, 200)
    whole = pliant.simulate_batch(arm, 0.02, starts, step=1e-3)

    def progress(fraction: float) -> None:
        if fraction > 0.4:
            clock.jump()

    asked = {"time_limit": LIMIT, "progress": progress, "store": store if store == "memory" else tmp_path / store}
    with pytest.warns(UserWarning, match=r"time limit of 1000 s: .* of 200 arms"):
        part = pliant.simulate_batch(arm, 0.02, starts, step=1e-3, **asked)
    if store != "memory":
        part = BatchResult.load(tmp_path / store)
    done = part.status == 0
    assert 60 < done.sum() < 200
    assert np.array_equal(part.q[done], whole.q[done])
    assert {STATUS[k] for k in part.status[~done]} == {"stopped"}
    assert np.isnan(part.q[~done]).all()


@pytest.mark.usefixtures("python_handler")
@pytest.mark.parametrize("step", [1e-3, None])
@pytest.mark.parametrize("by", ["clock", "ctrl-c"])
def test_arms_of_a_batch_end_where_they_are(
    arm: pliant.Model, step: float | None, by: str, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Amid the compiled loop, once six rows are there: they stay, to the last bit; rows behind the end are NaN."""
    starts = np.array([[-0.4, 0.2, 0.01, 0.0], [0.3, 0.5, 0.0, -0.01], [0.1, 0.0, 0.0, 0.0]])
    whole = pliant.simulate_batch(arm, 50.0, starts, step=step, output_step=25.0)
    end = clock.jump if by == "clock" else partial(os.kill, os.getpid(), signal.SIGINT)
    run = Cpu._run

    def watched(self: Cpu, x: Any, first: int, out: np.ndarray, halt: np.ndarray) -> np.ndarray:
        out.fill(np.nan)

        def watch() -> None:
            while not np.isfinite(out[:, 5]).all():
                time.sleep(0.005)
            end()

        threading.Thread(target=watch).start()
        return run(self, x, first, out, halt)

    monkeypatch.setattr(Cpu, "_run", watched)
    told = pytest.warns(UserWarning, match="time limit of 1000 s: 3 of 3 arms end before their time$")
    with told if by == "clock" else pytest.raises(pliant.Interrupted, match="0 of 3 arms") as caught:
        part = pliant.simulate_batch(arm, 1e5, starts, step=step, output_step=25.0, time_limit=LIMIT)
    if by == "ctrl-c":
        part = caught.value.result
    assert {STATUS[k] for k in part.status} == {"stopped" if by == "clock" else "not run"}
    assert np.array_equal(part.q[:, :3], whole.q)
    for k in range(3):
        rows = int(np.isfinite(part.q[k, :, 0]).sum())
        assert 6 < rows < len(part.t)
        assert np.isnan(part.q[k, rows:]).all()
        assert part.ended[k] == part.t[rows - 1]


@pytest.mark.parametrize("step", [1e-3, None])
def test_arms_of_a_batch_take_so_many_steps(arm: pliant.Model, step: float | None) -> None:
    starts = np.zeros((3, arm.n))
    starts[1:, 0] = 0.5, 1.0
    whole = pliant.simulate_batch(arm, 0.2, starts, step=step, output_step=0.01)
    most = int(whole.steps.max() // 2) if step is None else 105
    with pytest.warns(UserWarning, match=f"limit of {most} steps"):
        part = pliant.simulate_batch(arm, 0.2, starts, step=step, output_step=0.01, max_steps=most)
    stopped = part.status == STATUS.index("stopped")
    assert stopped.all() if step else stopped.any()
    assert (part.steps <= most).all()
    for k in np.flatnonzero(stopped):
        rows = int(np.isfinite(part.q[k, :, 0]).sum())
        assert 1 < rows < 21
        assert np.allclose(part.q[k, :rows], whole.q[k, :rows], rtol=0, atol=1e-12)
        assert part.ended[k] == pytest.approx(0.01 * (rows - 1))


# ------------------------------------------------------------------------------------------------ files, commands

SCENARIO = "robot: two-link\nduration: 1000000.0\noutput_step: 10.0\ninitial: {q: {upper: 0.3}}\n"


def test_a_scenario_sets_limits(tmp_path: Path, clock: Clock) -> None:
    (tmp_path / "run.yaml").write_text(f"{SCENARIO}max_steps: 50\ntime_limit: 1000\n")
    scenario = pliant.Scenario.load(tmp_path / "run.yaml")
    for changes, words in (({"time_limit": None}, "50 steps"), ({"max_steps": None}, "1000 s")):
        clock.passed = 0.0
        with pytest.warns(UserWarning, match=f"limit of {words}.*{STOPPED.removeprefix('stopped.*')}"):
            assert scenario.replace(**changes).run(progress=clock.jump).stats.status == "stopped"
    scenario.save(tmp_path / "again.yaml")
    assert pliant.Scenario.load(tmp_path / "again.yaml") == scenario


def test_the_command_writes_what_there_is_and_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def noted(*given: Any, time_limit: float | None, **more: Any) -> pliant.Result:
        asked.append(time_limit)
        return pliant.simulate(*given, **more)

    monkeypatch.setattr("pliant.simulation.scenario.scenario.simulate", noted)
    (tmp_path / "run.yaml").write_text(f"{SCENARIO}outputs: {{netcdf: null, csv: run.csv}}\n")
    options = ["--out", str(tmp_path / "out"), "--time-limit", "60", "--max-steps", "50", "--json"]
    done = CliRunner().invoke(app, ["simulate", str(tmp_path / "run.yaml"), *options])
    assert done.exit_code == 1, done.output
    facts = json.loads(done.stdout)
    assert (facts["status"], facts["message"][:17]) == ("stopped", "limit of 50 steps")
    assert len((tmp_path / "out" / "run.csv").read_text().splitlines()) == 2 + facts["rows"]
    assert asked == [60.0]


@pytest.mark.parametrize("engine", ["points", "batch"])
def test_points_of_a_sweep_have_limits(engine: str) -> None:
    study = {
        "scenario": {"robot": "two-link", "duration": 0.1, "method": "rk4", "step": 1e-3, "max_steps": 55},
        "vary": {"payload.mass": {"values": [0.0, 1.0]}},
        "metrics": ["energy"],
        "engine": engine,
    }
    points = Points(SweepStudy.from_dict(study))
    with pytest.warns(UserWarning, match="stopped") if engine == "points" else nullcontext():
        found = points.run(0) if engine == "points" else next(in_batches(points, [0, 1]))
    assert "55 steps" in found.failed[0] or "stopped at t = 0.055 s" in found.failed[0]
    study["scenario"] = {"robot": "two-link", "duration": 0.1, "method": "rk4", "step": 1e-3, "time_limit": 9.0}
    assert "`time_limit`" in (batchable(Points(SweepStudy.from_dict(study))) or "")
