"""Saves, caches and processes under disturbance: killed, out of room, read-only, forked, threaded, crowded.

What the cache of object code does with damaged, foreign and shared files stands in
tests/compute/llvm/test_object_cache.py; a killed `Result.save` in tests/simulation/runs/test_results.py. Here are whole
models, and the other files that pliant writes.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import stat
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pliant
from pliant.batch import simulate_batch
from pliant.compute.llvm import cache

from . import sound
from .calls import model

STATE = np.array([0.3, -0.4, 0.01, -0.02]), np.array([1.0, -2.0, 0.1, 0.2]), np.array([0.5, -0.3])


# ---------------------------------------------------------------------------------------------------- full disks


def _writers() -> dict[str, Callable[[Path], Any]]:
    run = sound.result()
    many = simulate_batch(model(), 0.05, np.zeros((40, 4)), step=1e-3, output_step=1e-3)
    return {
        "run.nc": run.save,
        "run.csv": run.to_csv,
        "run.html": run.to_html,
        "run.png": lambda path: run.plot("joints", path=path),
        "run.gif": lambda path: run.to_video(path, fps=5),
        "many.nc": many.save,
        "arm.yaml": pliant.load("canadarm2").save,
        "case.yaml": pliant.Scenario(robot="canadarm2", duration=1.0).save,
    }


FULL = """
import resource, signal, sys
from pathlib import Path
sys.path[:0] = {path!r}
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # a write beyond the limit then fails as on a full disk
from reliability.test_disturbed import _writers
import pliant
writers, folder = _writers(), Path(sys.argv[1])
sys.dont_write_bytecode = True  # Python would leave cut byte code of what it imports
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, resource.RLIM_INFINITY))
for name, write in writers.items():
    (folder / name).write_bytes(b"old")
    try:
        write(folder / name)
        print(name, "written")
    except pliant.PliantError as error:
        print(name, "refused" if len(str(error)) > 10 else "silent")
"""


@pytest.mark.full
def test_a_full_disk_keeps_the_old_file(tmp_path: Path) -> None:
    """Files may grow to 1000 bytes only: every writer says so, and what was there before stays."""
    code = FULL.format(path=[str(Path(__file__).parents[1])])
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    names = ["run.nc", "run.csv", "run.html", "run.png", "run.gif", "many.nc", "arm.yaml", "case.yaml"]
    assert done.stdout.split() == [word for name in names for word in (name, "refused")], done.stdout
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == dict.fromkeys(names, b"old")


# -------------------------------------------------------------------------------------------------- killed saves

SAVE_FOREVER = """
import sys, pliant
robot, run = pliant.load("two-link"), pliant.Result.load(sys.argv[2])
scenario = pliant.Scenario(robot=robot, duration=1.0)
what = {"arm.yaml": robot.save, "case.yaml": scenario.save, "run.csv": run.to_csv}[sys.argv[3]]
print("ready", flush=True)
while True:
    what(sys.argv[1])
"""


@pytest.mark.full
@pytest.mark.parametrize("name", ["arm.yaml", "case.yaml", "run.csv"])
def test_killed_while_saving(tmp_path: Path, name: str) -> None:
    """Kill -9 at four moments: the file is always a whole one."""
    run = sound.result()
    source, target = run.save(tmp_path / "source.nc"), tmp_path / name
    read = {"arm.yaml": pliant.load, "case.yaml": pliant.Scenario.load, "run.csv": _csv}[name]
    command = [sys.executable, "-c", SAVE_FOREVER, str(target), str(source), name]
    for k in range(4):
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        time.sleep(0.02 + 0.0013 * k)
        process.send_signal(signal.SIGKILL)
        process.wait()
        if target.exists():
            read(target)


def _csv(path: Path) -> None:
    rows = path.read_text().splitlines()
    assert len(rows) == len(sound.result()) + 2
    assert len(rows[-1].split(",")) == len(rows[1].split(","))


# -------------------------------------------------------------------------------------------------------- caches


def _accelerations(_: Any = None) -> bytes:
    return bytes(pliant.load("two-link").model().forward_dynamics(*STATE).tobytes())


COLD = """
import sys
sys.path[:0] = {path!r}
import warnings
from reliability.test_disturbed import _accelerations
with warnings.catch_warnings(record=True) as seen:
    warnings.simplefilter("always")
    print(_accelerations().hex())
print(len([w for w in seen if "PLIANT_CACHE_DIR" in str(w.message)]))
"""


def _in_a_process(folder: Path) -> subprocess.Popen[str]:
    code = COLD.format(path=[str(Path(__file__).parents[1])])
    environment = {**os.environ, "PLIANT_CACHE_DIR": str(folder)}
    return subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    )


@pytest.mark.full
def test_two_processes_fill_one_cache(tmp_path: Path) -> None:
    """Both compile the same kernels at the same time into an empty folder, and a third finds them."""
    expected = _accelerations().hex()
    running = [_in_a_process(tmp_path / "objects") for _ in range(2)]
    answers = [process.communicate(timeout=120) for process in running]
    assert [out.split() for out, _ in answers] == [[expected, "0"]] * 2, answers
    folder = tmp_path / "objects" / cache.FOLDER
    files = sorted(path.name for path in folder.iterdir())
    assert files
    assert all(name.endswith(cache.SUFFIX) for name in files if name != cache.MARKER)
    before = {name: (folder / name).stat().st_mtime_ns for name in files}
    out, _ = _in_a_process(tmp_path / "objects").communicate(timeout=120)
    assert out.split() == [expected, "0"]
    assert {path.name: path.stat().st_mtime_ns for path in folder.iterdir()} == before


@pytest.mark.full
def test_a_read_only_cache_costs_a_warning(tmp_path: Path) -> None:
    """Root may write anywhere, so the folder stands below a file; that is the same OSError to the cache."""
    place = tmp_path / "objects"
    if os.geteuid() == 0:
        place.write_text("in the way")
        place = place / "below"
    else:
        place.mkdir(mode=stat.S_IRUSR | stat.S_IXUSR)
    out, error = _in_a_process(place).communicate(timeout=120)
    assert out.split() == [_accelerations().hex(), "1"], error


# ------------------------------------------------------------------------------------------- forks, spawns, threads


@pytest.mark.parametrize("method", ["fork", pytest.param("spawn", marks=pytest.mark.full)])
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_children_compute_what_the_parent_does(method: str) -> None:
    """A model that has compiled and threaded here goes on in children, and pickles by its description."""
    m = model()
    here = m.forward_dynamics(*STATE)
    m.forward_dynamics(*(np.tile(x, (5000, 1)) for x in STATE))  # starts the threads of batches
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context(method)) as pool:
        found = [pool.submit(_evaluate, m).result(timeout=100) for _ in range(2)]
    for there, batch in found:
        assert np.array_equal(there, here)
        assert (batch == here).all()


def _evaluate(m: pliant.Model) -> tuple[Any, Any]:
    return m.forward_dynamics(*STATE), m.forward_dynamics(*(np.tile(x, (3000, 1)) for x in STATE))


def test_threads_share_one_model() -> None:
    """Eight threads trace, compile, evaluate and simulate with one fresh model at once."""
    m = pliant.load("two-link").model(formulation="gibbs-appell")
    barrier, found, troubles = threading.Barrier(8), [], []

    def work() -> None:
        try:
            barrier.wait(60)
            a = m.forward_dynamics(*STATE)
            run = pliant.simulate(m, 0.02, STATE[0], torque=STATE[2], method="rk4", step=1e-3, progress=False)
            found.append(
                a.tobytes() + run.q.tobytes() + m.frequencies().tobytes() + m.energy(*STATE[:2]).total.tobytes()
            )
        except Exception as error:  # shown below
            troubles.append(error)

    with warnings.catch_warnings():
        workers = [threading.Thread(target=work) for _ in range(8)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join(120)
    assert not troubles
    assert len(found) == 8
    assert len(set(found)) == 1
