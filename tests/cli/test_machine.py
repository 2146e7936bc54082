"""Commands about the installation, and manners of the whole command line."""

from __future__ import annotations

import importlib
import json
import os
import pkgutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import pliant
from pliant.algebra.tableau import ExplicitTableau
from pliant.algebra.tableaux import explicit
from pliant.cli import app, doctor
from pliant.cli.self_test import SelfCheck, parts
from pliant.compute.llvm import cache
from pliant.compute.llvm.kernel import BatchCode
from pliant.compute.tape.arguments import plain
from pliant.export import EXPORTS
from pliant.export.targets import Target
from pliant.integrators import METHODS

from .conftest import Run


def test_version_and_help(run: Run) -> None:
    assert run("--version").stdout == f"pliant {pliant.__version__}\n"
    for command in ((), ("info",), ("frequencies",), ("simulate",), ("count",), ("doctor",), ("cache",)):
        result = run(*command, "--help")
        assert result.exit_code == 0
        assert "Usage" in result.stdout


@pytest.fixture(scope="module")
def facts() -> Any:
    """What the doctor finds; everything that it runs is in the cache from here on."""
    return json.loads(CliRunner().invoke(app, ["doctor", "--json"]).stdout)


def _try_only(monkeypatch: pytest.MonkeyPatch, *names: str) -> None:
    chosen = {name: parts()[name] for name in names}
    monkeypatch.setattr("pliant.cli.self_test.parts", lambda: chosen)


def test_doctor_reports_and_computes(facts: Any, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    found = [SelfCheck(**check) for check in facts["self_test"]["checks"]]
    monkeypatch.setattr("pliant.cli.doctor.run_checks", lambda: found)
    assert facts["self_test"]["passed"]
    assert facts["versions"]["pliant"] == pliant.__version__
    assert facts["cache"]["location"] == str(cache.location())
    assert {"dev", "bench"} <= set(facts["extras"])
    text = run("doctor").stdout
    for word in ("processor", "LLVM", "cache", "compiler", "not needed", "GPU", "extras", "passed"):
        assert word in text


def test_doctor_runs_what_users_run(facts: Any) -> None:
    checks = facts["self_test"]["checks"]
    names = [check["name"] for check in checks]
    assert {"simulate, default", *(f"simulate, {name}" for name in METHODS[1:])} <= set(names)
    assert {f"export to {kind}" for kind in EXPORTS} <= set(names)
    assert {"formulations", "virtual machine", "cache", "no cache", "batch of states", "batch of runs, rk4"} <= set(
        names
    )
    assert all(check["passed"] is not False and check["seconds"] >= 0.0 for check in checks)


def _raises(message: str) -> Callable[..., Any]:
    def broken(*_: object, **__: object) -> None:
        raise ValueError(message)

    return broken


def _off(original: Callable[..., Any]) -> Callable[..., Any]:
    """Right but for one part in a thousand."""
    return lambda *given, **named: original(*given, **named) * (1.0 + 1e-3)


def _raises_for_lists(signature: Any, given: Any) -> Any:
    if any(isinstance(array, list) for array in given):
        raise ValueError("no lists")
    return plain(signature, given)


def _raises_for(message: str, *broken: str) -> Callable[[str], ExplicitTableau]:
    """Tableaux by name, but for some."""

    def of(name: str) -> ExplicitTableau:
        if name in broken:
            raise ValueError(message)
        return explicit(name)

    return of


def _broken_target(kind: str) -> Target:
    return Target(write=_raises(f"no {kind}"))


_BATCH = BatchCode.__call__


def _raises_but_for_energies(self: BatchCode, *given: Any) -> Any:
    """Every run looks at its energies in packs."""
    if self._signature.name != "energy":
        raise ValueError("no packs")
    return _BATCH(self, *given)


RUNS = ("batch of runs, rk4", "batch of runs, dopri5")
IMPLICIT = {  # what is broken, how, and the parts that must be named; every part falls to one break only
    "pliant.integrators.methods.explicit": (_raises_for("tableau dop853: dense order 7 violated", "dop853"),
        ("simulate, default", "simulate, dop853", "simulate, torque by a Python function")),
    "pliant.integrators.methods.rodas5p": (_raises("gamma"), ("simulate, rodas5p",)),
    "pliant.integrators.methods._midpoint": (_raises("no Jacobian"), ("simulate, midpoint",)),
    "pliant.integrators.driver.solve_sundials": (_raises("no CVODE"), ("simulate, adams", "simulate, bdf")),
    "pliant.cli.self_test.FORMULATIONS": (1e-30, ("formulations",)),
    "pliant.compute.llvm.vm.VirtualMachine.__call__": (_raises("no virtual machine"), ("virtual machine",)),
    "pliant.compute.llvm.cache.read": (lambda key: None, ("cache",)),
    "pliant.integrators.packs.pack.BatchIntegrator.__call__": (_raises("no loop"), RUNS),
    **{f"pliant.export.targets.{kind}.TARGET": (_broken_target(kind), (f"export to {kind}",)) for kind in EXPORTS},
}  # fmt: skip
EXPLICIT = {
    "pliant.integrators.methods.explicit": (
        _raises_for("no tableau", "rk4", "dopri5"),
        ("simulate, rk4", "simulate, dopri5"),
    ),
    "pliant.compute.llvm.kernel.plain": (_raises_for_lists, ("arrays of any layout",)),
    "pliant.compute.llvm.llvm.object_code": (_raises("no LLVM"), ("cache", "no cache")),
    "pliant.compute.llvm.kernel.BatchCode.__call__": (_raises_but_for_energies, ("batch of states",)),
    "pliant.compute.llvm.threads._executor": (_raises("no threads"), RUNS),
}


@pytest.mark.parametrize(
    "breaks", [pytest.param(IMPLICIT, id="implicit", marks=pytest.mark.full), pytest.param(EXPLICIT, id="explicit")]
)
def test_doctor_names_what_fails(facts: Any, run: Run, monkeypatch: pytest.MonkeyPatch, breaks: dict[str, Any]) -> None:
    """Each broken part is named with its message, and the others pass all the same. Exports, which take longest, are
    broken with the implicit methods."""
    if breaks is EXPLICIT:
        _try_only(monkeypatch, *(name for name in parts() if not name.startswith("export")))
    for place, (broken, _) in breaks.items():
        owner, _, key = place.partition(":")
        if key:
            monkeypatch.setitem(pkgutil.resolve_name(owner), key, broken)
        else:
            owner, name = place.rsplit(".", 1)
            monkeypatch.setattr(pkgutil.resolve_name(owner), name, broken)
    result = run("doctor", "--json")
    test = json.loads(result.stdout)["self_test"]
    failed = {check["name"]: check["message"] for check in test["checks"] if check["passed"] is False}
    assert sorted(failed) == sorted(part for _, parts in breaks.values() for part in parts)
    assert (result.exit_code, test["passed"]) == (1, False)
    for part, message in failed.items():
        assert message
        assert f"{part}: {message}" in result.stderr


def test_every_part_is_broken_above() -> None:
    assert {part for _, some in (*IMPLICIT.values(), *EXPLICIT.values()) for part in some} == set(parts())


def test_doctor_sees_wrong_numbers(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pliant.Model, "forward_dynamics", _off(pliant.Model.forward_dynamics))
    _try_only(monkeypatch, "formulations", "simulate, default")
    result = run("doctor")
    assert result.exit_code == 1
    assert "FAILED" in result.stdout
    assert "simulate, default: PliantError: a run by dop853, compared with SciPy's, differs by" in result.stderr


def test_doctor_without_a_compiler(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pliant.export.compiling.shutil.which", lambda name: None)
    _try_only(monkeypatch, "export to c", "export to fmu")
    result = run("doctor")
    assert result.exit_code == 0
    assert "not tried: export to fmu (fmu: no C compiler found" in result.stdout


@pytest.mark.full
def test_doctor_shows_the_chosen_target() -> None:
    code = "import sys; sys.argv = ['pliant', 'doctor', '--json']; from pliant.cli import main; main()"
    for cpu, returned in (("generic", 0), ("pdp-11", 2)):
        environment = {**os.environ, "PLIANT_CPU": cpu}
        done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
        assert done.returncode == returned, done.stderr
        if returned:
            assert "PLIANT_CPU: got 'pdp-11'" in done.stderr
        else:
            processor = json.loads(done.stdout)["processor"]
            assert (processor["pliant_cpu"], processor["cpu"]) == ("generic", "generic")
            assert processor["doubles_per_vector"] == 2


def test_cache_shows_and_clears(run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PLIANT_CACHE_DIR", str(tmp_path / "kernels"))
    cache.write("ab" * 32, b"object code")
    folder = tmp_path / "kernels" / cache.FOLDER
    (folder / f"left{cache.UNFINISHED}").write_bytes(bytes(1000))  # by a process that was killed
    shown = json.loads(run("cache", "--json").stdout)
    assert shown["kernels"] == 1
    assert shown["bytes"] == sum(path.stat().st_size for path in folder.glob("*.pliant*")) > 1000
    assert "removed 1 kernels" in run("cache", "--clear").stdout
    assert [path.name for path in folder.iterdir()] == [cache.MARKER]
    assert json.loads(run("cache", "--json").stdout) == {
        "location": str(folder),
        "kernels": 0,
        "bytes": 0,
        "limit": cache.LIMIT,
        "used": True,
    }


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="Windows has access lists instead of modes")
def test_cache_that_others_can_write_is_shown_as_such(
    run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PLIANT_CACHE_DIR", str(tmp_path))
    cache.location().mkdir()
    cache.location().chmod(0o777)
    assert "not used: others may write the folder, mode 0777" in run("cache").stdout
    assert not json.loads(run("cache", "--json").stdout)["used"]


def test_a_cache_of_nobody_is_one_line(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLIANT_CACHE_DIR", "~nosuch/kernels")
    for command in (("cache",), ("frequencies", "two-link")):
        answer = run(*command)
        assert answer.exit_code == 2
        (line,) = answer.stderr.splitlines()
        assert line.startswith("error: PLIANT_CACHE_DIR: got '~nosuch/kernels', expected the home of a user")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("info", "two-lnk"), "did you mean `two-link`?"),
        (("simulate", "hydraulic-cran"), "no bundled arm `hydraulic-cran`, did you mean `hydraulic-crane`?"),
        (("studio", "hydraulic-cran"), "did you mean `hydraulic-crane`?"),
        (("info", "."), "got a folder"),
        (("info", "two-link", "--flexible", "x.yaml"), "for URDF"),
        (("frequencies", "two-link", "--at", "1"), "expected 2 (upper, fore)"),
        (("frequencies", "two-link", "--at", "uper=1,fore=2"), "did you mean `upper`?"),
        (("frequencies", "two-link", "--at", "upper=1,2"), "all positions by name or all in order"),
        (("frequencies", "two-link", "--at", "upper=north"), "expected a position"),
        (("frequencies", "two-link", "--joints", "loose"), "loose"),
        (("count", "two-link", "--formulation", "denc"), "did you mean 'denoc'?"),
        (("frobnicate",), "frobnicate"),
        (("info", "two-link", "--jsn"), "--jsn"),
        (("simulate",), "SCENARIO"),
    ],
)
def test_mistakes_give_a_message_and_two(run: Run, arguments: tuple[str, ...], said: str) -> None:
    result = run(*arguments)
    assert result.exit_code == 2
    assert said in result.stderr
    assert result.stdout == ""
    assert "Traceback" not in result.stderr


def test_the_installed_command_starts_light() -> None:
    """Help loads none of the libraries that cost half a second each."""
    code = (
        "import sys, pliant.cli\n"
        "try: pliant.cli.app(['info', '--schema'])\n"
        "except SystemExit as leave: assert not leave.code\n"
        "print([m for m in ('llvmlite', 'xarray', 'matplotlib', 'scipy') if m in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr.strip() == "[]"


def test_a_closed_pipe_is_no_error() -> None:
    done = subprocess.run(
        f"'{sys.executable}' -c 'from pliant.cli import main; main()' info --schema | head -1",
        shell=True,
        capture_output=True,
        text=True,
    )
    assert done.stdout == "{\n"
    assert "Traceback" not in done.stderr


def test_doctor_says_when_nobody_keeps_bytecode(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A package whose modules are compiled at every start is named with the command that mends it."""
    package = tmp_path / "slow_package"
    (package / "inner").mkdir(parents=True)
    for file in ("__init__.py", "inner/__init__.py", "inner/module.py"):
        (package / file).write_text("", encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    importlib.import_module("slow_package.inner.module")
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    try:
        found = doctor._bytecode()
        assert found["lost"] >= 3
        assert str(package) in found["folders"]
        text = doctor._start(found)
        assert text.startswith(f"SLOW: {found['lost']} modules are compiled anew at every start (PYTHONDONTWRITE")
        subprocess.run([sys.executable, "-m", "compileall", "-q", str(package)], check=True)
        assert str(package) not in doctor._bytecode()["folders"]
    finally:
        for name in ("slow_package", "slow_package.inner", "slow_package.inner.module"):
            sys.modules.pop(name, None)
    assert doctor._start({"kept": 7, "lost": 0, "folders": []}) == "quick: bytecode of all 7 modules is kept"
