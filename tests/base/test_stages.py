"""What takes long is told while it lasts."""

from __future__ import annotations

import io
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import pliant
from pliant.base import stages
from pliant.base.stages import reporter
from pliant.compute.llvm import llvm
from pliant.compute.tape import trace_cache as records
from pliant.integrators import methods as steppers


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stages, "PATIENCE", 0.03)
    monkeypatch.setattr(stages, "EVERY", 0.01)


def until(heard: list[str], words: str) -> None:
    """Wait for a word; a stage that says nothing fails by the clock of the test."""
    end = time.monotonic() + 10.0
    while not any(words in text for text in heard):
        assert time.monotonic() < end, heard
        time.sleep(0.005)


def test_the_innermost_stage_is_told_and_the_end() -> None:
    heard: list[str] = []
    with stages.listening(heard.append), stages.stage("outside"):
        until(heard, "outside (0 s)")
        with stages.stage("inside"):
            until(heard, "inside (0 s)")
    assert heard[0] == "outside (0 s)"
    assert heard[-1] == ""


def test_what_is_quick_is_not_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stages, "PATIENCE", 60.0)
    heard: list[str] = []
    with stages.listening(heard.append), stages.stage("quick"):
        pass
    assert heard == []


def test_a_failure_ends_a_stage() -> None:
    heard: list[str] = []

    def failing() -> None:
        with stages.stage("failing"):
            until(heard, "failing")
            raise ZeroDivisionError

    with stages.listening(heard.append):
        with pytest.raises(ZeroDivisionError):
            failing()
        assert heard[-1] == ""
        heard.clear()
        with stages.stage("next"):
            until(heard, "next (0 s)")


def test_each_thread_has_listeners_of_its_own() -> None:
    """Two visitors of a page hear of their own runs alone, and a thread without one of none."""
    heard: dict[str, list[str]] = {"one": [], "two": []}

    def visit(name: str) -> None:
        with stages.listening(heard[name].append), stages.stage(name):
            until(heard[name], name)

    threads = [threading.Thread(target=visit, args=(name,)) for name in heard]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for name, texts in heard.items():
        assert {text.partition(" (")[0] for text in texts} == {name, ""}


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_line_in_a_terminal_is_written_over(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    with stages.stage("compiling"):
        end = time.monotonic() + 10.0
        while "compiling" not in screen.getvalue() and time.monotonic() < end:
            time.sleep(0.005)
    lines = screen.getvalue().split("\r")
    assert lines[1].rstrip() == "pliant: compiling (0 s)"
    assert lines[-2] == " " * stages.WIDTH  # nothing stays
    assert lines[-1] == ""


def test_nothing_is_written_where_nobody_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    file = io.StringIO()
    monkeypatch.setattr(sys, "stderr", file)
    with stages.stage("compiling"):
        time.sleep(0.06)
    assert file.getvalue() == ""


def test_a_first_run_says_what_it_does(monkeypatch: pytest.MonkeyPatch) -> None:
    """Building, tracing and compiling, with the arm's name; with progress=False nothing."""
    monkeypatch.setattr(records, "code_stamp", lambda: None)  # nothing is known
    monkeypatch.setattr(stages, "PATIENCE", 0.0)
    monkeypatch.setattr(stages, "EVERY", 0.001)
    robot = pliant.load("crane-4dof").replace({"name": "a crane"})
    heard: list[str] = []
    with stages.listening(heard.append):
        model = robot.model()
        assert any(text.startswith("building a crane") for text in heard)
        pliant.simulate(model, 0.01)
    assert any(text.startswith("tracing a run of a crane") for text in heard)
    heard.clear()
    with stages.listening(heard.append):
        pliant.simulate(robot.model("lagrange", stiffening="off"), 0.01, limits=False, progress=False)
    assert not any("run of" in text for text in heard)


def test_a_stage_says_how_far_it_is() -> None:
    heard: list[str] = []
    with stages.listening(heard.append), stages.work("a call", "working"):
        stages.say("working: 1 of 2")
        until(heard, "working: 1 of 2 (0 s)")
    stages.say("nobody works")
    assert heard[-1] == ""


def test_a_notebook_is_told_how_far_a_run_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its standard error is no terminal: no bar, but the line of a stage."""
    monkeypatch.setitem(sys.modules, "ipykernel", io)
    page = io.StringIO()
    monkeypatch.setattr(sys, "stderr", page)
    with reporter(None, 4.0) as report:
        assert report is not None
        report(1.0)
        end = time.monotonic() + 10.0
        while "simulating: 1 of 4 s" not in page.getvalue():
            assert time.monotonic() < end
            time.sleep(0.005)


def test_a_log_is_told_nothing_of_a_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    with reporter(None, 4.0) as report:
        assert report is None


class Clock:
    """The time, and what was added to it."""

    added = 0.0

    def perf_counter(self) -> float:
        return time.perf_counter() + self.added


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    own = Clock()
    monkeypatch.setattr(stages, "time", own)
    return own


def test_preparations_are_no_part_of_the_time_of_work(clock: Clock) -> None:
    first, worked = stages.prepared(), stages.working_time()
    with stages.preparation("outside"), stages.preparation("inside"):
        clock.added = 1000.0
    assert 1000.0 <= stages.prepared() - first < 1900.0  # once, though one is inside another
    assert stages.working_time() - worked < 900.0


def test_compiling_is_no_part_of_the_wall_time_of_a_run(
    clock: Clock, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Neither that of f before the run nor that of the stepping loop in it; and it is told."""
    monkeypatch.setenv("PLIANT_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(steppers, "compiled_loop", llvm.compiled_loop.__wrapped__)  # none is kept
    compiled = llvm.object_code

    def slowly(*given: Any) -> bytes:
        clock.added += 1000.0
        return compiled(*given)

    monkeypatch.setattr(llvm, "object_code", slowly)
    stats = pliant.simulate(pliant.load("two-link").model(), 1e-3, method="dopri5").stats
    assert stats.compile > 2000.0
    assert stats.wall < 900.0


CALLS: dict[str, Callable[[pliant.Result, Path], Any]] = {
    "drawing a figure": lambda run, folder: run.plot(),
    "writing a page": lambda run, folder: run.to_html(folder / "run.html"),
    "drawing a movie: ": lambda run, folder: run.to_video(folder / "run.gif"),
    "sweeping": lambda run, folder: pliant.sweep(STUDY, folder / "sweep", workers=1),
    "identifying: ": lambda run, folder: pliant.identify(
        run.model,
        pliant.identification.Recording(run.t, {"upper": run["upper"]}, noise=1e-4),
        ["payload.mass"],
        stages=[1.0],
    ),
    "searching a motion": lambda run, folder: pliant.control.rest_to_rest(
        run.model, [0.0, 0.0], [0.1, 0.1], duration=1.5, objective="effort", intervals=6
    ),
    "computing a gradient": lambda run, folder: pliant.gradient(
        run.model, 0.01, step=1e-3, terminal=lambda t, q, qd: q[0] ** 2
    ),
}
STUDY = pliant.sweeps.SweepStudy.from_dict(
    {
        "scenario": {"robot": "two-link", "duration": 0.05, "method": "rk4", "step": 1e-3},
        "vary": {"payload.mass": {"values": [0.0, 1.0]}},
        "metrics": ["energy"],
    }
)


@pytest.fixture(scope="module")
def run() -> pliant.Result:
    return pliant.simulate(pliant.load("two-link").model(), 0.2, q0={"upper": 0.3}, output_step=0.01)


QUICK = ("drawing a figure", "drawing a movie: ", "searching a motion", "computing a gradient")


@pytest.mark.parametrize("words", [w if w in QUICK else pytest.param(w, marks=pytest.mark.full) for w in CALLS])
def test_no_call_that_works_for_seconds_is_silent(
    words: str, run: pliant.Result, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stages, "PATIENCE", 0.0)
    monkeypatch.setattr(stages, "EVERY", 0.001)
    heard: list[str] = []
    with stages.listening(heard.append):
        CALLS[words](run, tmp_path)
    assert any(text.startswith(words) for text in heard), heard[:20]
