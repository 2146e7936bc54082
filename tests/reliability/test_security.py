"""What a file or a stranger can make pliant do: nothing. No pickles, no code from files, no door to other machines."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

import pliant
from pliant.sweeps import SweepStudy
from sources import nodes, python_files, short

from . import sound
from .damage import TAGS
from .readers import OUTSIDE, XML_BOMB

FORBIDDEN_MODULES = {
    "numba",  # keeps pickles beside the package
    "pickle",
    "cPickle",
    "dill",
    "cloudpickle",
    "marshal",
    "shelve",
    "code",
    "runpy",
    "pty",
    "ctypes.util",
}
FORBIDDEN_CALLS = {
    "eval", "exec", "compile", "__import__", "os.system", "os.popen", "os.execv", "os.spawnv", "yaml.load",
    "yaml.unsafe_load", "yaml.full_load", "np.load", "numpy.load", "joblib.load", "torch.load",
}  # fmt: skip
PICKLES = {  # who may pickle, and for whom
    "control/planning/search/time_limited.py": "a search and the process that it started, over its own pipes",
}
PROCESSES = {  # who may start a program, and which
    "mechanics/bodies/library_process.py": "a fresh interpreter in which a library reads a file, bounded",
    "control/planning/search/time_limited.py": "a fresh interpreter for a search that has a time limit",
    "export/compiling.py": "the C compiler, asked for by `pliant export --to fmu`",
    "viewer/video.py": "ffmpeg, asked for by `to_video`",
    "pliant_bench/start.py": "fresh interpreters that the benchmark times",
}
IMPORTS = {  # who may import by a name held in a variable
    "__init__.py": "pliant's own rooms",
    "cli/__init__.py": "pliant's own commands",
    "base/later.py": "pliant's own modules",
    "errors.py": "modules of extras, named where they are used",
    "pliant_studies/study.py": "pliant's own studies",
    "compute/llvm/fastcall.py": "NumPy's own core",
    "cli/sweep.py": "--function package.module:name, which the user types",
    "pliant_bench/session.py": "pliant's own benchmarks",
    "pliant_bench/first_result.py": "pliant's own benchmarks",
}


@pytest.mark.parametrize("path", python_files(), ids=short)
def test_no_source_executes_data(path: Path) -> None:
    name = short(path)
    for node in nodes(path):
        if isinstance(node, ast.Import | ast.ImportFrom):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else [node.module or ""]
            forbidden = FORBIDDEN_MODULES - ({"pickle"} if name in PICKLES else set())
            assert not forbidden & {*names}, f"{name}:{node.lineno} imports {names}"
            if "subprocess" in names:
                assert name in PROCESSES, f"{name}:{node.lineno} may start programs; say which in PROCESSES"
        if not isinstance(node, ast.Call):
            continue
        called = ast.unparse(node.func)
        assert called not in FORBIDDEN_CALLS, f"{name}:{node.lineno} calls {called}"
        arguments = {keyword.arg: ast.unparse(keyword.value) for keyword in node.keywords}
        assert arguments.get("allow_pickle", "False") == "False", f"{name}:{node.lineno}"
        assert arguments.get("shell", "False") == "False", f"{name}:{node.lineno} starts a shell"
        if called.endswith("import_module") and not isinstance(node.args[0], ast.Constant):
            assert name in IMPORTS, f"{name}:{node.lineno} imports by a name held in a variable; say whose in IMPORTS"


def test_the_list_is_no_longer_than_it_must_be() -> None:
    """An entry whose file starts nothing any more must go."""
    texts = {short(path): path.read_text(encoding="utf-8") for path in python_files()}
    for table, word in ((PROCESSES, "subprocess"), (PICKLES, "pickle"), (IMPORTS, "import_module")):
        assert [name for name in table if word not in texts.get(name, "")] == []


@pytest.mark.parametrize("tag", [tag for tag in TAGS if tag.startswith("!")])
def test_tags_execute_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tag: str) -> None:
    """In robot, scenario, sweep and identification files."""
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "file.yaml"
    path.write_text(f"name: {tag}\nrobot: {tag}\nscenario: {tag}\nlinks: {tag}\n")
    from pliant.identification.study_file import IdentificationStudy

    for load in (pliant.load, pliant.Scenario.load, SweepStudy.load, IdentificationStudy.load):
        with pytest.raises(pliant.ModelError, match="tag"):
            load(path)
    assert [p.name for p in tmp_path.iterdir()] == ["file.yaml"]


@pytest.mark.parametrize("text", [XML_BOMB, OUTSIDE])
def test_urdf_reads_no_entities(tmp_path: Path, text: str) -> None:
    (tmp_path / "arm.urdf").write_text(text)
    with pytest.raises(pliant.ModelError, match="entities"):
        pliant.load(tmp_path / "arm.urdf")


def test_a_study_cannot_name_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Metrics in a file are names of a table; a function of the user's own is typed on the command line."""
    (tmp_path / "trap.py").write_text("open('executed', 'w')\ndef metric(result): return {}\n")
    monkeypatch.chdir(tmp_path)
    for changes in ({"metrics": ["trap:metric"]}, {"function": "trap:metric"}, {"metrics": ["trap.metric"]}):
        with pytest.raises(pliant.ModelError):
            SweepStudy.from_dict({**sound.SWEEP, **changes})
    assert not (tmp_path / "executed").exists()


LISTENERS = """
import sys, time
from pathlib import Path
kind, source = sys.argv[1:]
if kind == "view":
    import pliant
    from pliant.viewer.browser.server import view
    server = view(pliant.Result.load(source), 18700)
else:
    from pliant.studio.studio import studio
    server = studio(Path(source).parent, None, 18800).server
print("ready", flush=True)
time.sleep(60)
"""


def _listening(pid: int) -> set[str]:
    """Addresses on which a process listens, from the kernel's own tables."""
    inodes = set()
    for link in Path(f"/proc/{pid}/fd").iterdir():
        try:
            target = os.readlink(link)
        except OSError:
            continue
        if target.startswith("socket:["):
            inodes.add(target[8:-1])
    found = set()
    for table in ("tcp", "tcp6", "udp", "udp6"):
        for line in Path(f"/proc/{pid}/net/{table}").read_text().splitlines()[1:]:
            cells = line.split()
            listens = cells[3] == "0A" if table.startswith("tcp") else True
            if listens and cells[9] in inodes:
                found.add(cells[1].split(":")[0])
    return found


LOOPBACK = {"0100007F", "00000000000000000000000001000000"}


@pytest.mark.full
@pytest.mark.skipif(not Path("/proc/self/net/tcp").exists(), reason="needs the socket tables of Linux")
@pytest.mark.parametrize("kind", ["view", "studio"])
def test_servers_listen_on_this_machine_only(tmp_path: Path, kind: str) -> None:
    pytest.importorskip("viser", reason="the studio extra is not installed")
    source = sound.result().save(tmp_path / "run.nc")
    command = [sys.executable, "-c", LISTENERS, kind, str(source)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        assert process.stdout is not None
        while (line := process.stdout.readline()) != "ready\n":
            assert line, "it ended before it was ready"
        time.sleep(0.5)
        addresses = _listening(process.pid)
        assert addresses, "it should listen somewhere"
        assert addresses <= LOOPBACK
    finally:
        process.kill()
        process.wait()


@pytest.mark.full
@pytest.mark.skipif(not Path("/proc/self/net/tcp").exists(), reason="needs the socket tables of Linux")
def test_a_sweep_opens_no_door(tmp_path: Path) -> None:
    """Neither it nor its workers listen anywhere, unless a scheduler is named."""
    code = (
        "import sys, time, threading\nfrom pathlib import Path\nfrom pliant.sweeps import SweepStudy, sweep\n"
        "if __name__ == '__main__':\n"
        "    study = SweepStudy.from_dict({**eval(sys.argv[1]), 'engine': 'points'})\n"
        "    sweep(study, sys.argv[2], workers=2, progress=lambda done, all: print('point', flush=True))\n"
    )
    (tmp_path / "run.py").write_text(code)
    command = [sys.executable, str(tmp_path / "run.py"), repr(sound.SWEEP), str(tmp_path / "out")]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "point\n"
    family = [process.pid, *(int(p) for p in _children(process.pid))]
    doors = {pid: _listening(pid) for pid in family if Path(f"/proc/{pid}/fd").exists()}
    process.communicate(timeout=120)
    assert not any(doors.values()), doors


def _children(pid: int) -> list[str]:
    return Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
