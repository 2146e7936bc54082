"""Ctrl-C loses nothing that was computed; processes of a pool end with the one that started them."""

from __future__ import annotations

import cProfile
import multiprocessing
import os
import pstats
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np
import pytest

import pliant
from pliant.base import writing
from pliant.base.interrupts import Lifeline, hang_on, held_back, interruptible, pending
from pliant.base.writing import atomic_write, sweep_up
from pliant.compute.llvm import llvm
from pliant.integrators import methods as steppers
from pliant.simulation.batch.result import NOT_RUN
from pliant.sweeps import SweepStudy, sweep
from pliant.sweeps.points import Points

SIGNALS = pytest.mark.skipif(os.name != "posix", reason="signals to oneself are a matter of POSIX")


def _ctrl_c(*_: Any) -> None:
    os.kill(os.getpid(), signal.SIGINT)


def _ctrl_c_and_wait() -> None:
    _ctrl_c()
    time.sleep(1.0)  # which Python interrupts


def test_it_is_no_error_of_ours() -> None:
    assert issubclass(pliant.Interrupted, KeyboardInterrupt)
    assert not issubclass(pliant.Interrupted, Exception)
    assert pliant.Interrupted("why").result is None


@SIGNALS
@pytest.mark.usefixtures("python_handler")
def test_a_generator_that_is_closed_on_the_way_out_says_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Python prints what a generator raises while it is closed, and goes on."""
    space: dict[str, Any] = {"__name__": "pliant.somewhere"}
    exec("def numbers():\n    yield 1\n    yield 2", space)
    printed: list[Any] = []
    monkeypatch.setattr(sys, "unraisablehook", printed.append)

    def abandon() -> None:
        with interruptible("somewhere"):
            numbers = space["numbers"]()
            next(numbers)
            with suppress(KeyboardInterrupt):
                _ctrl_c_and_wait()
            del numbers

    with pytest.raises(pliant.Interrupted, match="somewhere"):
        abandon()
    assert printed == []


@SIGNALS
@pytest.mark.usefixtures("python_handler")
@pytest.mark.parametrize("method", ["rk4", "dop853", "rodas5p", "bdf"])
def test_ctrl_c_raises_with_what_was_computed(method: str) -> None:
    """In the middle of a run that would take days (a method of SUNDIALS looks up only in fiftieths of a run)."""
    model, t_end = pliant.load("two-link").model(), 20.0 if method == "bdf" else 1e6
    times: list[float] = []

    def progress(fraction: float) -> None:
        times.append(fraction)
        if len(times) == 2:
            _ctrl_c()

    with pytest.raises(pliant.Interrupted, match="interrupted at t =") as stopped:
        pliant.simulate(model, t_end, method=method, step=1e-3 if method == "rk4" else None, output_step=1.0,
                        progress=progress)  # fmt: skip
    found = stopped.value.result
    assert found.stats.status == "interrupted"
    assert 0 < found.t[-1] < t_end
    assert np.isfinite(found.q).all()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@SIGNALS
@pytest.mark.usefixtures("python_handler")
def test_ctrl_c_after_the_integration_keeps_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    model = pliant.load("two-link").model()
    expected = pliant.simulate(model, 0.05)
    real = pliant.Result.from_run

    def late(*given: Any, **more: Any) -> Any:
        _ctrl_c()
        time.sleep(0.01)  # Python hands the signal on
        return real(*given, **more)

    monkeypatch.setattr(pliant.Result, "from_run", late)
    with pytest.raises(pliant.Interrupted, match="had finished") as stopped:
        pliant.simulate(model, 0.05)
    assert stopped.value.result.stats.status == "finished"
    assert np.array_equal(stopped.value.result.q, expected.q)


def test_before_there_is_a_result(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("pliant.simulation.runs.simulation.compose", interrupted)
    with pytest.raises(pliant.Interrupted, match="before there was a result") as stopped:
        pliant.simulate(pliant.load("two-link").model(), 0.1)
    assert stopped.value.result is None


def test_a_batch_keeps_the_arms_that_were_run(monkeypatch: pytest.MonkeyPatch) -> None:
    model = pliant.load("two-link").model()
    monkeypatch.setattr("pliant.simulation.batch.batch_run.LEAST_STEPS", 100)
    starts = np.zeros((200, model.n))
    starts[:, 0] = np.linspace(-1, 1, 200)
    whole = pliant.simulate_batch(model, 0.02, starts, torque=[1.0, 0.5], step=1e-3)

    def progress(fraction: float) -> None:
        if fraction > 0.4:
            raise KeyboardInterrupt

    with pytest.raises(pliant.Interrupted, match="of 200 arms") as stopped:
        pliant.simulate_batch(model, 0.02, starts, torque=[1.0, 0.5], step=1e-3, progress=progress)
    found = stopped.value.result
    done = found.status != NOT_RUN
    assert 60 < done.sum() < 200
    assert np.array_equal(found.q[done], whole.q[done])
    assert np.array_equal(found.tau[done], whole.tau[done])
    assert np.isnan(found.q[~done]).all()


SWEEP = {
    "scenario": {"robot": "two-link", "duration": 0.01, "method": "rk4", "step": 1e-3},
    "vary": {"payload.mass": {"from": 0.0, "to": 1.0, "count": 8}},
    "metrics": ["energy"],
    "engine": "points",
}


@pytest.mark.slow
def test_a_sweep_keeps_its_points(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    study, real, count = SweepStudy.from_dict(SWEEP), Points.run, []

    def some(self: Points, point: int) -> Any:
        count.append(point)
        if len(count) == 4:
            raise KeyboardInterrupt
        return real(self, point)

    monkeypatch.setattr(Points, "run", some)
    with pytest.raises(pliant.Interrupted, match="3 of 8 points") as stopped:
        sweep(study, tmp_path, workers=1)
    assert stopped.value.result.status == ("finished",) * 3 + ("missing",) * 5
    assert sweep(study, tmp_path, workers=1).status == ("finished",) * 8


def test_a_fit_gives_the_best_that_it_had(monkeypatch: pytest.MonkeyPatch) -> None:
    from pliant.identification.residuals import Residuals

    model = pliant.load("two-link").model()
    run = pliant.simulate(model, 0.3, q0={"upper": 0.3}, output_step=0.01)
    data = pliant.identification.Recording(
        run.t, {"upper": run["upper"], "fore": run["fore"]}, noise=1e-4, q0={"upper": 0.3}
    )
    real, calls = Residuals.values, []

    def some(self: Residuals, u: Any) -> Any:
        calls.append(u)
        if len(calls) == 4:
            raise KeyboardInterrupt
        return real(self, u)

    monkeypatch.setattr(Residuals, "values", some)
    with pytest.raises(pliant.Interrupted, match="runs of the model") as stopped:
        pliant.identify(model, data, ["payload.mass"], start={"payload.mass": 0.8})
    found = stopped.value.result
    assert abs(found.values["payload.mass"]) < 0.8
    assert "interrupted" in found.message


# ------------------------------------------------------------------------------------------------------- holding


@SIGNALS
@pytest.mark.usefixtures("python_handler")
def test_a_hold_waits_once() -> None:
    with held_back() as hold:
        _ctrl_c()
        time.sleep(0.01)
        assert pending()
        with held_back() as inner:
            assert inner is hold
        with pytest.raises(KeyboardInterrupt):
            _ctrl_c_and_wait()
    assert hold.came
    assert not pending()
    with pytest.raises(KeyboardInterrupt):
        _ctrl_c_and_wait()


def test_threads_and_foreign_handlers_are_left_alone() -> None:
    seen: list[Any] = []
    with held_back():

        def look() -> None:
            with held_back() as inner:
                seen.append((inner.came, pending()))

        thread = threading.Thread(target=look)
        thread.start()
        thread.join()
    assert seen == [(False, False)]
    before = signal.signal(signal.SIGINT, lambda *_: None)
    try:
        mine = signal.getsignal(signal.SIGINT)
        with held_back():
            assert signal.getsignal(signal.SIGINT) is mine
    finally:
        signal.signal(signal.SIGINT, before)


# ----------------------------------------------------------------------------------------------------- processes


def _cut(line: Lifeline) -> None:
    line.cut()


def _lose(line: Lifeline) -> None:
    """What the system does when the process that holds the line is killed."""
    line._held.close()


@pytest.mark.parametrize("end", [_cut, _lose])
def test_processes_end_when_their_line_is_cut(end: Callable[[Lifeline], None]) -> None:
    context = multiprocessing.get_context("spawn")
    line = Lifeline(context)
    pool = ProcessPoolExecutor(1, context, hang_on, (line.end,))
    child = pool.submit(os.getpid).result(timeout=60)
    busy = pool.submit(time.sleep, 600.0)
    end(line)
    with pytest.raises(Exception, match="terminated abruptly"):
        busy.result(timeout=60)
    _all_gone([child], 5.0)
    pool.shutdown()


ORPHANS = """
import sys
from pliant.sweeps import SweepStudy, sweep
if __name__ == "__main__":
    study = SweepStudy.from_dict({**eval(sys.argv[1]), "scenario": {"robot": "two-link", "duration": 1e6,
                                                                    "method": "rk4", "step": 1e-5}})
    print("ready", flush=True)
    sweep(study, sys.argv[2], workers=2)
"""


def _alive(process: int) -> bool:
    try:
        state = Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except OSError:
        return False
    return state != "Z"


def _children(process: int) -> list[int]:
    found = []
    for path in Path(f"/proc/{process}/task").glob("*/children"):
        found += [int(child) for child in path.read_text().split()]
    return found


@pytest.mark.full
@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="needs the process tables of Linux")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL, signal.SIGINT])
def test_workers_of_a_sweep_do_not_outlive_it(tmp_path: Path, number: int) -> None:
    """In the middle of points that would take days, within five seconds."""
    (tmp_path / "run.py").write_text(ORPHANS)
    command = [sys.executable, str(tmp_path / "run.py"), repr(SWEEP), str(tmp_path / "out")]
    ready = partial(signal.signal, signal.SIGINT, signal.default_int_handler)
    parent = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                              preexec_fn=ready)  # fmt: skip
    assert parent.stdout is not None
    assert parent.stdout.readline() == "ready\n"
    children: list[int] = []
    end = time.monotonic() + 60
    while len(children) < 3 and time.monotonic() < end:  # two workers, and the tracker of their resources
        children = _children(parent.pid)
        time.sleep(0.1)
    time.sleep(3.0)
    parent.send_signal(number)
    parent.wait(timeout=20)
    _all_gone(children, 5.0)


def _all_gone(processes: list[int], seconds: float) -> None:
    end = time.monotonic() + seconds
    while any(_alive(process) for process in processes):
        assert time.monotonic() < end, [process for process in processes if _alive(process)]
        time.sleep(0.05)


@pytest.mark.parametrize("call", ["fsync", "replace", "umask"])
def test_ctrl_c_while_a_file_is_put_in_place_leaves_none_behind(
    call: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    target = tmp_path / "figure.svg"
    target.write_text("before", encoding="utf-8")
    writing = atomic_write(target)
    writing.__enter__().write_text("after", encoding="utf-8")
    with monkeypatch.context() as patch:
        patch.setattr(os, call, interrupted)
        with pytest.raises(KeyboardInterrupt):
            writing.__exit__(None, None, None)
    assert [path.name for path in tmp_path.iterdir()] == ["figure.svg"]
    assert target.read_text(encoding="utf-8") == "before"


# -------------------------------------------------------------------------------------------------- unfinished files

UNFINISHED = """
import os, sys
from pathlib import Path
from pliant.base.writing import atomic_write, unfinished
unfinished(Path(sys.argv[1]) / "folder", folder=True)
with atomic_write(Path(sys.argv[1]) / "run.nc") as partial:
    partial.write_text("half")
    os._exit(0)
"""


def test_files_of_dead_processes_are_swept_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writing, "_swept", set())
    subprocess.run([sys.executable, "-c", UNFINISHED, str(tmp_path)], check=True)
    assert len(list(tmp_path.glob(".*.part"))) == 2
    (tmp_path / ".mine.part").write_text("of somebody else's program")
    (tmp_path / ".run.nc.00000000-1-abc.part").write_text("of another machine, now")
    with atomic_write(tmp_path / "other") as living:
        living.write_text("whole")
        monkeypatch.setattr(writing, "_swept", set())
        sweep_up(tmp_path)
        assert living.exists()
    assert {path.name for path in tmp_path.iterdir()} == {"other", ".mine.part", ".run.nc.00000000-1-abc.part"}
    os.utime(tmp_path / ".run.nc.00000000-1-abc.part", (1, 1))
    monkeypatch.setattr(writing, "_swept", set())
    sweep_up(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {"other", ".mine.part"}


# ------------------------------------------------------------------------------- calls of code that is not Python's


@SIGNALS
@pytest.mark.usefixtures("python_handler")
def test_ctrl_c_does_not_wait_for_a_compile(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """What was begun ends by itself, and the next call finds it in the cache."""
    monkeypatch.setenv("PLIANT_CACHE_DIR", str(tmp_path / "cache"))
    model, compiled, asked = pliant.load("two-link").model(), llvm.object_code, threading.Event()
    made: list[int] = []

    def slowly(*given: Any) -> bytes:
        _ctrl_c()
        assert asked.wait(60.0)  # an hour, were it not for Ctrl-C
        made.append(len(given))
        return compiled(*given)

    monkeypatch.setattr(llvm, "object_code", slowly)
    with pytest.raises(pliant.Interrupted, match=r"mass_matrix.*: interrupted before there was a result"):
        model.mass_matrix(np.zeros(4))
    assert not made
    asked.set()
    assert model.mass_matrix(np.zeros(4)).shape == (4, 4)
    assert len(made) == 1
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert sys.getprofile() is None


@SIGNALS
@pytest.mark.usefixtures("python_handler")
def test_ctrl_c_does_not_wait_for_a_compile_within_a_run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PLIANT_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(steppers, "compiled_loop", llvm.compiled_loop.__wrapped__)
    compiled, ended = llvm.object_code, threading.Event()

    def slowly(text: str, target: Any, opt: int, loops: str = "") -> bytes:
        if loops:  # the stepping loop, when the run holds Ctrl-C back
            _ctrl_c()
            assert ended.wait(60.0)
        return compiled(text, target, opt, loops)

    monkeypatch.setattr(llvm, "object_code", slowly)
    with pytest.raises(pliant.Interrupted, match="simulate: interrupted at t = 0"):
        pliant.simulate(pliant.load("two-link").model(), 1e-3, method="dopri5")
    ended.set()


class Unreadable:
    """An argument at which CasADi asks Python, and Ctrl-C comes; it takes the interrupt for a wrong type."""

    def __SX__(self) -> Any:
        _ctrl_c()
        time.sleep(1.0)


@SIGNALS
@pytest.mark.usefixtures("python_handler")
def test_an_interrupt_that_is_lost_comes_again() -> None:
    with pytest.raises(NotImplementedError):
        ca.sin(Unreadable())  # so it is lost
    reached: list[str] = []

    @interruptible("a call")
    def call(goes_on: bool) -> None:
        with suppress(NotImplementedError):
            ca.sin(Unreadable())
        reached.append("here")
        if goes_on:
            pliant.load("two-link").model()
            reached.append("not here")

    for goes_on in (True, False):
        with pytest.raises(pliant.Interrupted, match="a call: interrupted"):
            call(goes_on)
    assert reached == ["here", "here"]
    assert sys.getprofile() is None
    assert pliant.load("two-link").model().n == 4


@SIGNALS
@pytest.mark.usefixtures("python_handler")
def test_what_cleans_up_is_not_interrupted_again() -> None:
    cleaned: list[int] = []

    @interruptible("a call")
    def call() -> None:
        try:
            _ctrl_c_and_wait()
        finally:
            pliant.load("two-link").model()
            cleaned.append(1)

    with pytest.raises(pliant.Interrupted):
        call()
    assert cleaned == [1]


@pytest.mark.slow_cases("plot")
@SIGNALS
@pytest.mark.usefixtures("python_handler")
@pytest.mark.parametrize("name", ["plot", "to_html", "to_video"])
def test_ctrl_c_ends_what_draws(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    result = pliant.simulate(pliant.load("two-link").model(), 0.05)
    inner = {"plot": "pliant.figures.plots.figure", "to_html": "pliant.viewer.page.page_data", "to_video": PICTURES}[
        name
    ]
    monkeypatch.setattr(inner, lambda *given, **named: _ctrl_c_and_wait())
    file = tmp_path / ("run.html" if name == "to_html" else "run.gif")
    with pytest.raises(pliant.Interrupted, match=f"{name}: interrupted before there was a result"):
        getattr(result, name)(*(() if name == "plot" else (file,)))
    assert not list(tmp_path.iterdir())


PICTURES = "pliant.viewer.video.pictures"
TRACED = """
import os, signal, sys, threading, time
signal.signal(signal.SIGINT, signal.default_int_handler)
import pliant
from pliant.base.stages import stage
robot = pliant.load("lab-arm").replace({"payload.mass": 1.25})

def sender():
    time.sleep(float(sys.argv[1]))
    sent.append(time.process_time())
    os.kill(os.getpid(), signal.SIGINT)

sent = []
threading.Thread(target=sender, daemon=True).start()
try:
    while True:
        pliant.simulate(robot.model(), 0.2, controller=pliant.control.PD(50.0, 5.0, [0.1, 0.1, 0.1])).tau
        robot = robot.replace({"payload.mass": robot.payload.mass + 0.25})
except KeyboardInterrupt as end:
    print(time.process_time() - sent[0], isinstance(end, pliant.Interrupted))
"""


@SIGNALS
@pytest.mark.full
@pytest.mark.parametrize("seconds", [0.5, 1.0, 2.0, 3.0, 4.0, 5.0, 7.0, 9.0, 12.0])
def test_a_script_ends_wherever_ctrl_c_comes(seconds: float, tmp_path: Path) -> None:
    """While it builds, traces, compiles, steps or reads; two seconds of the processor are one call of CasADi."""
    environment = {**os.environ, "PLIANT_CACHE_DIR": str(tmp_path / "cache")}
    said = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", TRACED, str(seconds)], env=environment, capture_output=True, text=True,
        timeout=300, check=True,
    ).stdout.split()  # fmt: skip
    assert float(said[0]) < 2.0


def test_a_profiler_sees_calls_and_stays() -> None:
    """`python -m cProfile script.py`: every call of pliant failed, since its profiler cannot be set by hand."""
    model, seen = pliant.load("two-link").model(), cProfile.Profile()
    with seen:
        pliant.simulate(model, 0.01)
        frequencies = model.frequencies()
    assert len(frequencies) == 2
    assert {"simulate", "frequencies"} <= {entry[0][2] for entry in pstats.Stats(seen).stats.items()}  # type: ignore[attr-defined]


WHILE_IMPORTED = """
import os, signal, sys

module, sys.argv = sys.argv[-1], ["pliant", "info", "two-link"]
signal.signal(signal.SIGINT, signal.default_int_handler)  # a run in the background would ignore it

class Finder:
    @staticmethod
    def find_spec(name, *_):
        if name == module:
            os.kill(os.getpid(), signal.SIGINT)

from pliant.cli import main
sys.meta_path.insert(0, Finder)
main()
"""


@pytest.mark.parametrize("module", ["typer", "pliant.cli.info", "numpy"])
def test_a_command_that_is_interrupted_while_it_starts(module: str) -> None:
    """One line and exit code 130, whichever module is being imported."""
    done = subprocess.run([sys.executable, "-c", WHILE_IMPORTED, module], capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stderr) == (130, "interrupted\n")


EARLY = """
import os, signal, sys

class Finder:
    @staticmethod
    def find_spec(name, *_):
        if name == "pliant.version":
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Finder)
signal.signal(signal.SIGINT, signal.default_int_handler)
"""


def test_a_command_that_is_interrupted_at_its_first_import(tmp_path: Path) -> None:
    """Before any line of the command line has run; a script that imports pliant gets Python's own interrupt."""
    (tmp_path / "sitecustomize.py").write_text(EARLY)
    paths = os.pathsep.join([str(tmp_path), *(path for path in sys.path if path)])

    def done(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([sys.executable, *words], capture_output=True, text=True, timeout=120,
                              env=os.environ | {"PYTHONPATH": paths}, cwd=tmp_path, check=False)  # fmt: skip

    command = done("-m", "pliant", "info", "two-link")
    assert (command.returncode, command.stderr) == (130, "interrupted\n")
    (tmp_path / "pliant").write_text("import pliant")
    for script in (("-c", "import pliant"), ("pliant",)):
        own = done(*script)
        assert own.returncode != 130
        assert "KeyboardInterrupt" in own.stderr


@SIGNALS
@pytest.mark.full
@pytest.mark.parametrize("form", ["module", "script"])
@pytest.mark.parametrize("name", ["info", "simulate", "view"])
def test_a_command_ends_in_one_line_wherever_ctrl_c_comes(name: str, form: str, tmp_path: Path) -> None:
    """At 30 moments between 0 and 2.5 s; what comes before the first line of pliant is Python's to answer."""
    script = Path(sys.executable).with_name("pliant")
    if form == "script" and not script.exists():
        pytest.skip("the script is not installed beside this Python")
    words = {"info": ["two-link"], "simulate": ["two-link", "--out", "out"], "view": ["run.nc", "--no-browser"]}[name]
    if name == "view":
        pytest.importorskip("viser", reason="the studio extra is not installed")
        pliant.simulate(pliant.load("two-link").model(), 0.05).save(tmp_path / "run.nc")
    begin = [sys.executable, "-m", "pliant"] if form == "module" else [str(script)]
    paths, ready = os.pathsep.join(path for path in sys.path if path), partial(signal.signal, signal.SIGINT)
    for moment in np.linspace(0.0, 2.5, 30):
        process = subprocess.Popen(
            [*begin, name, *words], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, cwd=tmp_path,
            env=os.environ | {"PYTHONPATH": paths}, preexec_fn=partial(ready, signal.default_int_handler),
        )  # fmt: skip
        time.sleep(moment)
        process.send_signal(signal.SIGINT)
        said = process.communicate(timeout=120)[1]
        before = process.returncode != 130 and f"{os.sep}pliant{os.sep}" not in said and "Ctrl-C" not in said
        assert process.returncode in (0, 130) or before, (moment, process.returncode, said)
        assert "Traceback" not in said or before, (moment, said)
        shutil.rmtree(tmp_path / "out", ignore_errors=True)
