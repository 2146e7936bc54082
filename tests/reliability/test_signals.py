"""SIGINT, SIGTERM and SIGKILL at random moments of every command that takes long.

Whatever the moment: the exit code says what happened, no file is torn, no process is left after five seconds, and the
documented way to go on (the same command again) gives what an undisturbed run gives. Moments are seeded: the first six
of each command belong to the full set, the others to the long one.
"""

from __future__ import annotations

import csv
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

import pliant

pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs the process tables of Linux")
MOMENTS, IN_FULL = 50, 6
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGKILL)
LEAVES_WITHIN = 5.0
PLIANT = [sys.executable, "-c", "from pliant.cli import main; main()"]
BATCH = """
import sys
import numpy as np
import pliant
model = pliant.load("two-link").model()
starts = np.zeros((6000, model.n))
starts[:, 0] = np.linspace(-1.0, 1.0, len(starts))
try:
    pliant.simulate_batch(model, 0.5, starts, step=1e-3, output_step=0.05, store="out/runs.nc")
except pliant.Interrupted:
    sys.exit(130)
"""


@dataclass(frozen=True)
class Case:
    """A command, the same once more, and what it leaves."""

    command: Sequence[str]
    again: Sequence[str]
    prepare: Callable[[Path], Any]
    read: Callable[[Path], Any]


def _simulate(folder: Path) -> None:
    text = {"robot": "two-link", "duration": 40.0, "initial": {"q": {"upper": -1.0}},
            "outputs": {"netcdf": "run.nc", "csv": "run.csv", "figures": ["joints"]}}  # fmt: skip
    (folder / "case.yaml").write_text(yaml.safe_dump(text))


def _batch(folder: Path) -> None:
    (folder / "batch.py").write_text(BATCH)


def _sweep(folder: Path) -> None:
    scenario = {"robot": "two-link", "duration": 3.0, "method": "rk4", "step": 1e-4, "output_step": 0.01}
    vary = {"payload.mass": {"from": 0.0, "to": 1.0, "count": 12}}
    study = {"scenario": scenario, "vary": vary, "metrics": ["energy"], "engine": "points"}
    (folder / "case.yaml").write_text(yaml.safe_dump(study))


def _identify(folder: Path) -> None:
    run = pliant.simulate(pliant.load("two-link").model(), 2.0, q0={"upper": -1.0}, output_step=0.01)
    rows = np.column_stack([run.t, run["upper"], run["fore"]])
    np.savetxt(folder / "swing.csv", rows, delimiter=",", header="time,upper,fore", comments="")
    study = {
        "robot": "two-link",
        "parameters": {"links.upper.beam.EI_z": {"start": 1300.0}, "payload.mass": {"start": 0.4}},
        "runs": [{"data": "swing.csv", "columns": {"upper": "upper", "fore": "fore"}, "noise": {"upper": 1e-3},
                  "initial": {"q": {"upper": -1.0}}}],
    }  # fmt: skip
    (folder / "case.yaml").write_text(yaml.safe_dump(study))


def _nothing(folder: Path) -> None:
    """Needs no files."""


def _numbers(path: Path) -> Any:
    """What a finished study is judged by: all but what a clock measured."""
    return [(check["id"], check["verdict"]) for check in json.loads(path.read_text())["checks"]]


CASES = {
    "simulate": Case(
        [*PLIANT, "simulate", "case.yaml", "--out", "out"], [*PLIANT, "simulate", "case.yaml", "--out", "out"],
        _simulate, lambda out: pliant.Result.load(out / "run.nc").q.tobytes(),
    ),
    "batch": Case(
        [sys.executable, "batch.py"], [sys.executable, "batch.py"],
        _batch, lambda out: pliant.batch.BatchResult.load(out / "runs.nc").q.tobytes(),
    ),
    "sweep": Case(
        [*PLIANT, "sweep", "case.yaml", "--out", "out", "--workers", "2"],
        [*PLIANT, "sweep", "case.yaml", "--out", "out", "--workers", "2"],
        _sweep, lambda out: (out / "table.csv").read_text(),
    ),
    "identify": Case(
        [*PLIANT, "identify", "case.yaml", "--out", "out"],
        [*PLIANT, "identify", "case.yaml", "--out", "out", "--force"],
        _identify, lambda out: json.loads((out / "estimates.json").read_text()),
    ),
    "reproduce": Case(
        [*PLIANT, "reproduce", "all", "--quick", "--jobs", "2", "--out", "out"],
        [*PLIANT, "reproduce", "korayem-shafei", "--quick", "--out", "out"],
        _nothing, lambda out: _numbers(out / "korayem-shafei" / "checks.json"),
    ),
    "studio": Case(
        [*PLIANT, "studio", ".", "--no-browser", "--port", "PORT"],
        [*PLIANT, "studio", ".", "--no-browser", "--port", "PORT"],
        _nothing, lambda out: None,
    ),
}  # fmt: skip


def _start(command: Sequence[str], folder: Path) -> subprocess.Popen[str]:
    port = str(_free_port())
    return subprocess.Popen(
        [port if word == "PORT" else word for word in command], cwd=folder, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True, start_new_session=True, preexec_fn=_listen_to_ctrl_c,
    )  # fmt: skip


def _listen_to_ctrl_c() -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def _family(session: int) -> list[int]:
    """Living processes of a session, which children belong to however often they are handed on."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, _, own = path.read_text().rsplit(")", 1)[1].split()[:4]
        except OSError:
            continue
        if int(own) == session and state != "Z":
            found.append(int(path.parent.name))
    return found


def _undisturbed(case: Case, folder: Path) -> float:
    """Seconds that a whole run takes, or that a studio takes until it says where it is."""
    began = time.monotonic()
    process = _start(case.again, folder)
    if "studio" in case.again:
        assert process.stderr is not None
        assert "http://127.0.0.1" in process.stderr.readline()
        took = time.monotonic() - began
        process.send_signal(signal.SIGINT)
    _, error = process.communicate(timeout=300)
    assert process.returncode == 0, error
    return took if "studio" in case.again else time.monotonic() - began


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], tuple[float, Any]]:
    """How long a command takes, and what it leaves; found once, when the cache of kernels is warm."""
    known: dict[str, tuple[float, Any]] = {}

    def find(name: str) -> tuple[float, Any]:
        if name not in known:
            for _ in range(2):
                folder = tmp_path_factory.mktemp(name)
                CASES[name].prepare(folder)
                took = _undisturbed(CASES[name], folder)
            known[name] = took, CASES[name].read(folder / "out")
        return known[name]

    return find


def _cases() -> list[Any]:
    marks = [pytest.mark.full if k < IN_FULL else pytest.mark.long for k in range(MOMENTS)]
    return [pytest.param(name, k, marks=marks[k], id=f"{name}-{k}") for name in CASES for k in range(MOMENTS)]


@pytest.mark.parametrize(("name", "moment"), _cases())
def test_a_signal_at_any_moment(
    name: str, moment: int, expected: Callable[[str], tuple[float, Any]], tmp_path: Path
) -> None:
    case, (took, whole) = CASES[name], expected(name)
    case.prepare(tmp_path)
    rng = np.random.default_rng([moment, sorted(CASES).index(name)])
    number = SIGNALS[moment % 3]
    process = _start(case.command, tmp_path)
    time.sleep(float(rng.uniform(0.0, 1.3 * took)))
    if number == signal.SIGINT and moment % 2:  # as a terminal does it
        os.killpg(process.pid, number)
    else:
        process.send_signal(number)
    _, error = process.communicate(timeout=60)
    _judge_code(process.returncode, number, name, error)
    end = time.monotonic() + LEAVES_WITHIN
    while left := _family(process.pid):
        assert time.monotonic() < end, left
        time.sleep(0.05)
    _nothing_torn(tmp_path, number)
    _undisturbed(case, tmp_path)
    assert case.read(tmp_path / "out") == whole
    assert not list(tmp_path.rglob("*.part"))


def _judge_code(code: int, number: int, name: str, error: str) -> None:
    """The signal's own code, which shells show as 128 + number; 130 where Ctrl-C was answered; 0 if all was done."""
    if number == signal.SIGINT:
        assert code in (0, 130, -signal.SIGINT), (code, error)
        if code != -signal.SIGINT:  # which is Python's own end, while it loads pliant
            assert "Traceback" not in error, error
    else:
        assert code in (0, -number), (code, error)
        assert code != 0 or name != "studio", "a studio ends by its signal"


def _nothing_torn(folder: Path, number: int) -> None:
    """Every file that is there is whole; unfinished ones stay only where nobody could remove them."""
    readers: dict[str, Callable[[Path], Any]] = {
        ".yaml": lambda path: yaml.safe_load(path.read_text()),
        ".json": lambda path: json.loads(path.read_text()),
        ".nc": _read_netcdf,
        ".csv": _read_csv,
        ".png": lambda path: _ends(path, b"IEND\xaeB`\x82"),
        ".svg": lambda path: _ends(path, b"</svg>\n"),
        ".html": lambda path: _ends(path, b"</html>\n"),
    }
    for path in folder.rglob("*"):
        if path.name.endswith(".part"):
            assert number != signal.SIGINT, path
        elif path.is_file() and path.suffix in readers:
            readers[path.suffix](path)


def _read_netcdf(path: Path) -> None:
    import h5netcdf

    with h5netcdf.File(path) as file:
        for group in (file, *file.groups.values()):
            for variable in group.variables.values():
                _ = variable[...]


def _read_csv(path: Path) -> None:
    with path.open(newline="", encoding="utf-8") as file:
        widths = {len(row) for row in csv.reader(line for line in file if not line.startswith("#"))}
    assert len(widths) == 1, path


def _ends(path: Path, tail: bytes) -> None:
    assert path.read_bytes().endswith(tail), path
