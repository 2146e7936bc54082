"""What surrounds a command: an output that is full, names and locales that do not fit, compilers of all kinds."""

from __future__ import annotations

import ast
import os
import re
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

import pliant
from pliant.errors import ModelError, PliantError
from pliant.export import compiling
from sources import SOURCE, nodes, python_files, short

COMMAND = [sys.executable, "-c", "from pliant.cli import main; main()"]
NAME = "Prüfling ☃ 𝄞"
"""A locale of which no letter but ASCII can be written or opened."""
ASCII = {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}


# ------------------------------------------------------------------------------------------------------ standard output

MORE = [("--help",), ("--version",), ("info", "two-link", "--json")]


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="a system without /dev/full")
@pytest.mark.parametrize(
    "arguments", [("info", "two-link"), *(pytest.param(words, marks=pytest.mark.full) for words in MORE)]
)
def test_a_full_output_is_one_message(arguments: tuple[str, ...]) -> None:
    with open("/dev/full", "wb") as full:
        done = subprocess.run([*COMMAND, *arguments], stdout=full, stderr=subprocess.PIPE, timeout=60)
    text = done.stderr.decode()
    assert done.returncode == 1
    assert "standard output: could not be written" in text
    assert "Traceback" not in text
    assert "Exception ignored" not in text


@pytest.mark.full
def test_a_closed_reader_is_no_fault() -> None:
    process = subprocess.Popen([*COMMAND, "info", "two-link"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.close()
    assert process.stderr is not None
    assert "Traceback" not in process.stderr.read().decode()
    process.stderr.close()
    process.wait()


@pytest.mark.parametrize(
    "surroundings", [{"PYTHONIOENCODING": "latin-1:strict"}, pytest.param(ASCII, marks=pytest.mark.full)]
)
def test_names_are_printed_where_letters_are_missing(tmp_path: Path, surroundings: dict[str, str]) -> None:
    pliant.load("two-link").replace({"name": NAME}).save(tmp_path / "arm.yaml")
    command = [*COMMAND, "info", str(tmp_path / "arm.yaml")]
    done = subprocess.run(command, capture_output=True, timeout=60, env={**os.environ, **surroundings})
    assert done.returncode == 0, done.stderr
    assert b"fling" in done.stdout


# ----------------------------------------------------------------------------------------------------------- encodings


OPENS = re.compile(r"open\(|_text\(|run\(|Popen|check_output")


def _nameless(call: ast.Call) -> bool:
    """A call that opens a file as text without saying in which encoding."""
    keywords = {keyword.arg: keyword.value for keyword in call.keywords}
    if "encoding" in keywords:
        return False
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    if name == "read_text":
        return isinstance(call.func, ast.Attribute) and not call.args  # `robot.files.read_text` takes a path
    if name == "write_text":
        return True
    if name in ("run", "Popen", "check_output") and "text" in keywords:
        return True
    own = isinstance(call.func, ast.Attribute) and getattr(call.func.value, "id", "") in (
        "os",
        "webbrowser",
        "zarr",
        "xr",
    )
    mode = keywords.get("mode") or next((a for a in call.args[:2] if isinstance(a, ast.Constant)), None)
    text = mode is None or (isinstance(mode, ast.Constant) and "b" not in str(mode.value))
    return (name == "fdopen" or (name == "open" and not own)) and text and ast.unparse(call) not in BINARY


BINARY = {
    "self.shelf.open(name)",
    "self.shelf.open(self.name)",
    "self.open(name)",
    "self.path.open('r+b' if size else 'wb')",
    "archive.open('modelDescription.xml')",
}
"""Methods of our own of that name, and a mode that is worked out."""


def test_every_file_is_opened_with_its_encoding() -> None:
    bad = [
        f"{short(path)}, line {call.lineno}: {ast.unparse(call)}"
        for path in python_files()
        if OPENS.search(path.read_text(encoding="utf-8"))  # a file that names none of them is not parsed
        for call in nodes(path)
        if isinstance(call, ast.Call) and _nameless(call)
    ]
    assert not bad


def test_templates_open_files_with_their_encoding() -> None:
    for path in sorted(SOURCE.rglob("*.py.in")):
        lines = [line for line in path.read_text(encoding="utf-8").splitlines() if "_text(" in line or " open(" in line]
        assert not [line for line in lines if "encoding=" not in line], path.name


EVERYWHERE = """
import sys, warnings, pliant
warnings.simplefilter("ignore")
arm = pliant.load("two-link").replace({"name": sys.argv[1].encode("ascii").decode("unicode_escape")})
model = arm.model()
run = pliant.simulate(model, 0.02, output_step=0.01)
where = "" if sys.argv[2] == "plain" else "l\\xe4ufe"
def attempt(name, write):
    try:
        write()
        print(name, "written")
    except pliant.PliantError as error:
        print(name, "refused", ascii(str(error)))
for to in ("c", "casadi", "python", "latex", "fmu", "cuda"):
    attempt(to, lambda: pliant.export.export(model, to, f"{where}{to}", force=True))
writers = {"nc": run.save, "csv": run.to_csv, "html": run.to_html, "png": lambda path: run.plot("joints", path=path),
           "gif": run.to_video, "mp4": run.to_video, "yaml": arm.save}
for kind, write in writers.items():
    attempt(kind, lambda: write(f"{where}a.{kind}"))
attempt("scenario", lambda: pliant.Scenario(robot=arm, duration=1.0).save(f"{where}b.yaml"))
start = [[0.0] * 4]
attempt("store", lambda: pliant.simulate_batch(model, 0.01, q0=start, step=1e-3, store=f"{where}c.nc"))
study = {"scenario": {"robot": "two-link", "duration": 0.01, "method": "rk4", "step": 1e-3},
         "vary": {"payload.mass": [0.0, 1.0]}, "metrics": ["energy"]}
attempt("sweep", lambda: pliant.sweep(pliant.sweeps.SweepStudy.from_dict(study), f"{where}sweep", workers=1))
"""


@pytest.mark.full
@pytest.mark.parametrize("names", ["plain", "foreign"])
def test_files_where_letters_are_missing(tmp_path: Path, names: str) -> None:
    """Every writer, with a robot whose name has letters that the locale has not; then with such file names too."""
    given = NAME.encode("unicode_escape").decode("ascii")
    done = subprocess.run(
        [sys.executable, "-c", EVERYWHERE, given, names], capture_output=True, timeout=300, cwd=tmp_path,
        env={**os.environ, **ASCII},
    )  # fmt: skip
    text = done.stdout.decode("ascii", "replace")
    assert done.returncode == 0, done.stderr.decode("utf-8", "replace")
    expected = "written" if names == "plain" else "refused"
    assert text.count("\n") == 16
    assert all(line.split()[1] == expected for line in text.splitlines()), text


def test_a_name_that_the_locale_cannot_write(tmp_path: Path) -> None:
    code = "import pliant; pliant.load('two-link').save('l\\xe4ufe.yaml')"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, timeout=60, cwd=tmp_path, env={**os.environ, **ASCII}
    )
    assert b"PliantError" in done.stderr
    assert b"cannot write there" in done.stderr
    assert not list(tmp_path.iterdir())


# ----------------------------------------------------------------------------------------------------------- compilers


def _script(path: Path, text: str) -> str:
    path.write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


posix = pytest.mark.skipif(os.name != "posix", reason="shell scripts")


@posix
def test_flags_in_cc_are_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = tmp_path / "log"
    monkeypatch.setenv("CC", f"{_script(tmp_path / 'my-cc', f'echo $@ >> {log}; exec cc $@ -O0')} -O3 -DX='1 2'")
    assert compiling.find_compiler()[1:] == ["-O3", "-DX=1 2"]
    monkeypatch.setenv("CC", f"{tmp_path / 'my-cc'} -O3")
    pliant.export.export(pliant.load("two-link").model(), "fmu", tmp_path / "arm.fmu")
    lines = log.read_text(encoding="utf-8").splitlines()
    assert len(lines) >= 3
    assert all(line.startswith("-O3 ") for line in lines)
    assert not {"-O1", "-O2"} & set(" ".join(lines).split())


@posix
@pytest.mark.parametrize("given", ["no-such-compiler", "no-such-compiler -O3", "gcc 'unclosed"])
def test_a_compiler_that_is_not_there_is_said(given: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CC", given)
    with pytest.raises(PliantError, match="CC: got"):
        compiling.find_compiler()


@posix
def test_a_compiler_that_hangs_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With what it started: a child of its own holds the pipes open."""
    pid = tmp_path / "pid"
    monkeypatch.setenv("CC", _script(tmp_path / "slow-cc", f"sleep 600 & echo $! > {pid}; wait"))
    monkeypatch.setattr(compiling, "MOST_SECONDS", 1.0)
    with pytest.raises(PliantError, match="did not finish within 1 s"):
        pliant.export.export(pliant.load("two-link").model(), "fmu", tmp_path / "arm.fmu")
    child = int(pid.read_text(encoding="utf-8"))
    for _ in range(100):
        if not _alive(child):
            break
        time.sleep(0.02)
    assert not _alive(child)
    assert not (tmp_path / "arm.fmu").exists()


def _alive(pid: int) -> bool:
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8") if os.path.exists("/proc/self/stat") else ""
        os.kill(pid, 0)
    except (ProcessLookupError, FileNotFoundError):
        return False
    return ") Z " not in text


@posix
def test_words_of_a_compiler_in_another_encoding(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CC", _script(tmp_path / "angry-cc", r"printf 'f\374r nichts' >&2; exit 1"))
    with pytest.raises(PliantError, match=r"failed:\nf.r nichts"):
        pliant.export.export(pliant.load("two-link").model(), "fmu", tmp_path / "arm.fmu")


# -------------------------------------------------------------------------------------------------------- absurd times


@pytest.mark.parametrize("t_end", [1e10, 1e12, 1e99])
def test_a_run_of_ages_is_refused_by_name(t_end: float) -> None:
    model = pliant.load("two-link").model()
    words = r"t_end: got 1e\+\d+ s, expected at most 1e\+09 s"
    with pytest.raises(ModelError, match=words):
        pliant.simulate(model, t_end)
    with pytest.raises(ModelError, match=words):
        pliant.simulate_batch(model, t_end, q0=[[0.0] * 4])
    with pytest.raises(ModelError, match=words):
        pliant.Scenario(robot="two-link", duration=t_end).run()
