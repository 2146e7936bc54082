"""The cache of object code: found again, never trusted blindly, shared by threads, forks and processes."""

from __future__ import annotations

import errno
import gc
import os
import subprocess
import sys
import threading
import time
import warnings
from pathlib import Path

import casadi as ca
import numpy as np
import pytest

from pliant.compute import Kernel, set_threads
from pliant.compute.llvm import cache, fastcall, llvm
from pliant.compute.llvm.target import machine
from pliant.errors import ModelError

STATE = np.array([0.3, -1.2])


def function(factor: float = 1.0) -> ca.Function:
    x = ca.SX.sym("x", 2)
    return ca.Function("f", [x], [factor * ca.sin(x) + x[0] * x[1]])


def expected(factor: float = 1.0) -> np.ndarray:
    return factor * np.sin(STATE) + STATE[0] * STATE[1]


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    monkeypatch.setenv("PLIANT_CACHE_DIR", str(tmp_path / "objects"))
    Kernel(ca.Function("f", [], [ca.SX(1)]))()  # the call interface has its own entry: once per process
    cache.clear()
    return tmp_path / "objects" / cache.FOLDER


def stored(folder: Path) -> list[Path]:
    """Kernels and records in a cache folder."""
    return [path for path in folder.iterdir() if path.name != cache.MARKER]


def compiles(monkeypatch) -> list[str]:
    """Record what is compiled from now on."""
    seen: list[str] = []
    original = llvm.object_code
    monkeypatch.setattr(llvm, "object_code", lambda text, *rest: seen.append(text) or original(text, *rest))
    return seen


def test_second_kernel_is_loaded(folder, monkeypatch):
    seen = compiles(monkeypatch)
    assert not Kernel(function()).is_cached()
    np.testing.assert_allclose(Kernel(function())(STATE), expected(), rtol=1e-15)
    assert (cache.entries(), len(seen)) == (1, 1)
    assert Kernel(function()).is_cached()
    np.testing.assert_allclose(Kernel(function())(STATE), expected(), rtol=1e-15)
    assert len(seen) == 1


def test_size_and_clear(folder):
    assert (cache.location(), cache.entries(), cache.size()) == (folder, 0, 0)
    kernel = Kernel(function())
    kernel(STATE)
    assert cache.size() == sum(path.stat().st_size for path in stored(folder)) > 0
    assert cache.clear() == 1
    assert (cache.entries(), cache.size(), cache.clear()) == (0, 0, 0)
    np.testing.assert_allclose(kernel(STATE), expected(), rtol=1e-15)  # what is in memory goes on


def test_files_of_others_stay(folder, monkeypatch):
    """In the chosen folder, and in the folder of the cache; without its marker nothing is removed at all."""
    cache.write("ab" * 32, b"object code")
    others = [folder.parent / "report.tmp", folder.parent / "old.pliant", folder / "notes.tmp", folder / "arm.yaml"]
    for path in others:
        path.write_bytes(b"mine")
    (folder / "sub.pliant").mkdir()
    monkeypatch.setattr(cache, "LIMIT", len(cache._MARK))  # larger files, the marker too, would not be read
    monkeypatch.setattr(cache, "_LOOK", 0)
    cache.write("cd" * 32, b"object code")
    assert cache.entries() == 1  # the oldest went
    assert cache.clear() == 1
    assert cache.entries() == 0
    assert {path.read_bytes() for path in others} == {b"mine"}
    cache.write("ab" * 32, b"object code")
    (folder / cache.MARKER).write_bytes(b"something else")
    assert (cache.entries(), cache.size(), cache.clear()) == (0, 0, 0)
    assert (folder / f"{'ab' * 32}{cache.SUFFIX}").exists()


@pytest.mark.parametrize(
    "damage",
    [
        pytest.param(lambda data: b"", id="empty"),
        pytest.param(lambda data: data[:-100], id="truncated"),
        pytest.param(lambda data: data[: len(cache.MAGIC) + 5], id="cut in the head"),
        pytest.param(lambda data: data[:300] + bytes([data[300] ^ 1]) + data[301:], id="one bit"),
        pytest.param(lambda data: os.urandom(len(data)), id="noise"),
        pytest.param(lambda data: data + b"\0", id="longer"),
        pytest.param(lambda data: data.replace(cache.MAGIC, b"pliant object 0\n"), id="another format"),
    ],
)
def test_damaged_files_are_rebuilt(folder, monkeypatch, damage):
    Kernel(function())(STATE)
    (path,) = stored(folder)
    whole = path.read_bytes()
    path.write_bytes(damage(whole))
    seen = compiles(monkeypatch)
    np.testing.assert_allclose(Kernel(function())(STATE), expected(), rtol=1e-15)
    assert len(seen) == 1
    assert path.read_bytes() == whole


# --------------------------------------------------------------------------------------------------- foreign hands

MODES = pytest.mark.skipif(not hasattr(os, "geteuid"), reason="Windows has access lists instead of modes")


def plant(folder: Path, factor: float) -> Path:
    """Under the name of `function(1.0)`, sound code of another function with the right checksum: what a thief of
    results would do."""
    Kernel(function(factor))(STATE)
    (path,) = stored(folder)
    data = path.read_bytes()[len(cache.MAGIC) + 32 :]
    path.unlink()
    key = llvm._function_key(function(), "single", machine())[0]
    cache.write(key, data)
    return folder / f"{key}{cache.SUFFIX}"


def give_away(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """To another user; who is not root may not do that, and becomes another user instead."""
    if os.geteuid() == 0:
        os.chown(path, 12345, -1)
    else:
        monkeypatch.setattr(os, "geteuid", lambda: 12345)


def warned(monkeypatch: pytest.MonkeyPatch, *factors: float) -> list[str]:
    """What is said while kernels are made; their numbers are right."""
    monkeypatch.setattr(cache, "_warned", False)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        for factor in factors:
            np.testing.assert_allclose(Kernel(function(factor))(STATE), expected(factor), rtol=1e-15)
    return [str(one.message) for one in seen]


@MODES
@pytest.mark.parametrize("mode", [None, 0o777, 0o770, 0o1777, 0o702])
@pytest.mark.parametrize("of", ["folder", "file"])
def test_planted_kernels_do_not_run(folder, monkeypatch, mode, of):
    """Another owner, or anybody else who may write the folder or the file: one warning, and our own numbers."""
    planted = plant(folder, 9.0)
    victim = folder if of == "folder" else planted
    assert Kernel(function())(STATE) == pytest.approx(expected(9.0))  # the plant works where the hand is trusted
    give_away(victim, monkeypatch) if mode is None else victim.chmod(mode)
    before = planted.read_bytes()
    (said,) = warned(monkeypatch, 1.0, 1.0)
    assert "belongs to" in said or "others may write" in said
    if of == "folder":  # neither read nor written
        assert planted.read_bytes() == before
        assert stored(folder) == [planted]


@MODES
def test_files_of_ones_own_are_private(folder):
    mask = os.umask(0)
    try:
        Kernel(function())(STATE)
    finally:
        os.umask(mask)
    assert folder.stat().st_mode & 0o777 == 0o700
    assert [path.stat().st_mode & 0o777 for path in stored(folder)] == [0o600]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes with names")
@pytest.mark.parametrize("thing", ["pipe", "folder", "link"])
def test_what_is_no_file_is_passed_by(folder, tmp_path, monkeypatch, thing):
    """A pipe would wait for ever for its writer."""
    path = plant(folder, 9.0)
    other = tmp_path / "elsewhere"
    os.replace(path, other)
    {"pipe": lambda: os.mkfifo(path), "folder": path.mkdir, "link": lambda: path.symlink_to(other)}[thing]()
    monkeypatch.setattr(cache, "_warned", True)
    np.testing.assert_allclose(Kernel(function())(STATE), expected(), rtol=1e-15)


def test_relative_xdg_folders_are_ignored(monkeypatch, tmp_path):
    """ "If an implementation encounters a relative path ... it should consider the path invalid and ignore it."""
    if sys.platform in ("win32", "darwin"):
        pytest.skip("other systems have other folders")
    monkeypatch.delenv("PLIANT_CACHE_DIR", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    for given, found in (("cache", ".cache"), ("./x", ".cache"), ("", ".cache"), (str(tmp_path / "x"), "x")):
        monkeypatch.setenv("XDG_CACHE_HOME", given)
        assert cache.location() == tmp_path / found / cache.FOLDER


def test_a_user_who_does_not_exist(monkeypatch):
    """Asked for by name it is a mistake; a process without a home merely has no cache."""
    monkeypatch.setenv("PLIANT_CACHE_DIR", "~nosuch/kernels")
    with pytest.raises(ModelError, match="PLIANT_CACHE_DIR: got '~nosuch/kernels'"):
        Kernel(function(31.0))(STATE)
    monkeypatch.delenv("PLIANT_CACHE_DIR")
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(Path, "expanduser", nobody)
    (said,) = warned(monkeypatch, 32.0, 33.0)
    assert "home folder" in said


def nobody(path: Path) -> Path:
    raise RuntimeError("Could not determine home directory.")


def test_the_oldest_go_first(folder, monkeypatch):
    monkeypatch.setattr(cache, "LIMIT", 10_000)
    monkeypatch.setattr(cache, "_LOOK", 0)
    for k in range(12):
        cache.write(f"{k:064x}", bytes(1000))
        os.utime(folder / f"{k:064x}{cache.SUFFIX}", (k + 1, k + 1))
        assert cache.size() <= 10_000
    left = sorted(int(path.stem, 16) for path in stored(folder))
    assert left == list(range(left[0], 12))
    assert 5 <= len(left) <= 9
    (folder / "left.pliant-unfinished").write_bytes(bytes(100))  # by a process that was killed long ago
    os.utime(folder / "left.pliant-unfinished", (1, 1))
    (folder / "now.pliant-unfinished").write_bytes(bytes(100))
    cache.write("f" * 64, b"")
    assert [path.name for path in folder.iterdir() if path.suffix == cache.UNFINISHED] == ["now.pliant-unfinished"]


def test_foreign_files_are_rebuilt(folder, monkeypatch):
    Kernel(function(2.0))(STATE)
    (foreign,) = stored(folder)
    Kernel(function(3.0))(STATE)
    (own,) = set(stored(folder)) - {foreign}
    own.write_bytes(foreign.read_bytes())  # sound, but of another kernel
    np.testing.assert_allclose(Kernel(function(3.0))(STATE), expected(3.0), rtol=1e-15)


@pytest.mark.parametrize(
    "change",
    [{"cpu": "other"}, {"features": "+other"}, {"triple": "other-unknown-linux-gnu"}, {"width": 16}, {"fma": None}],
)
def test_another_machine_has_another_key(change):
    from dataclasses import replace

    here = machine()
    assert llvm._function_key(function(), "single", here) != llvm._function_key(
        function(), "single", replace(here, **change)
    )


def test_keys_differ_by_function_kind_and_emitter(monkeypatch):
    here = machine()
    keys = {llvm._function_key(function(k), kind, here) for k in (1.0, 2.0) for kind in ("single", "batch")}
    monkeypatch.setattr(llvm, "emitter", lambda: "another version")
    assert len(keys | {llvm._function_key(function(), "single", here)}) == 5


def test_a_folder_that_cannot_be_made_costs_one_warning(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("PLIANT_CACHE_DIR", str(tmp_path / "file" / "objects"))
    monkeypatch.setattr(cache, "_warned", False)
    with pytest.warns(UserWarning, match="PLIANT_CACHE_DIR"):
        first = Kernel(function(5.0))(STATE)
    np.testing.assert_allclose(first, expected(5.0), rtol=1e-15)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_allclose(Kernel(function(6.0))(STATE), expected(6.0), rtol=1e-15)
    assert (cache.entries(), cache.size(), cache.clear()) == (0, 0, 0)


def test_a_full_disk_leaves_nothing_behind(folder, monkeypatch):
    def full(*paths: str) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    monkeypatch.setattr(cache, "_warned", True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_allclose(Kernel(function(7.0))(STATE), expected(7.0), rtol=1e-15)
    assert stored(folder) == []


@pytest.mark.parametrize("count", [1, 100])
def test_threads_share_one_kernel(folder, chain, monkeypatch, count):
    seen = compiles(monkeypatch)
    kernel = Kernel(chain(5))
    rng = np.random.default_rng(0)
    arrays = [rng.normal(size=(count, 5))[0 if count == 1 else slice(None)] for _ in range(2)]
    found: list[tuple[np.ndarray, ...]] = []
    start = threading.Barrier(8)

    def call() -> None:
        start.wait()
        found.append(kernel(*arrays))

    workers = [threading.Thread(target=call) for _ in range(8)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert (len(found), len(seen)) == (8, 1)
    for result in found:
        for a, b in zip(result, found[0], strict=True):
            np.testing.assert_array_equal(a, b)


OLD: list[object] = []
"""Kernels of other tests call through it, so it has to stay."""


def test_threads_share_one_call_interface(monkeypatch):
    """All fast calls point into one object: of two, one would be freed under the calls that were made with it."""
    made, real = [], fastcall._Interface

    def slowly() -> object:
        made.append(real())
        time.sleep(0.05)  # long enough for the others to come by
        return made[-1]

    monkeypatch.setattr(fastcall, "_Interface", slowly)
    OLD.append(fastcall._interface())
    made.clear()
    fastcall._made_once.cache_clear()
    start = threading.Barrier(8)

    def call() -> None:
        start.wait()
        fastcall._interface()

    workers = [threading.Thread(target=call) for _ in range(8)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert len(made) == 1


SCRIPT = """
import casadi as ca, numpy as np
from pliant.compute import Kernel
x = ca.SX.sym("x", 8)
y = x
for k in range(60):
    y = ca.sin(y) * x[k % 8] + ca.vertcat(y[1:], y[0]) / (k + 1)
f = ca.Function("f", [x], [y])
state = np.linspace(0.1, 0.8, 8)
found = Kernel(f)(state)
batch = Kernel(f)(np.tile(state, (64, 1)))
assert (batch == found).all()
print(found.tobytes().hex())
"""


def test_processes_that_compile_at_once(folder):
    command = [sys.executable, "-c", SCRIPT]
    running = [subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in range(3)]
    answers = [process.communicate(timeout=120) for process in running]
    assert [process.returncode for process in running] == [0, 0, 0], answers
    assert len({out for out, _ in answers}) == 1
    assert all(path.suffix == cache.SUFFIX for path in stored(folder))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_forked_children_go_on(chain, monkeypatch):
    """A child uses kernels of its parent, compiles its own, and has threads of its own."""
    monkeypatch.setattr("pliant.compute.llvm.threads.LEAST_SHARED", 0)
    set_threads(2)
    kernel = Kernel(chain(3))
    rng = np.random.default_rng(0)
    arrays = [rng.normal(size=(500, 3)) for _ in range(2)]
    before = kernel(*arrays)
    one = kernel(*[x[0].copy() for x in arrays])
    child = os.fork()
    if child == 0:
        import signal

        signal.alarm(60)  # a deadlock ends in failure
        good = all((a == b).all() for a, b in zip(kernel(*arrays), before))
        good &= all((a == b).all() for a, b in zip(kernel(*[x[0].copy() for x in arrays]), one))
        good &= bool(np.allclose(Kernel(function(11.0))(STATE), expected(11.0), rtol=1e-15))
        os._exit(0 if good else 1)
    _, status = os.waitpid(child, 0)
    set_threads(None)
    assert os.waitstatus_to_exitcode(status) == 0


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_fork_while_another_thread_compiles(folder, chain):
    """The fork waits for the compile, so that the child finds the lock free."""
    kernel = Kernel(chain(12))
    worker = threading.Thread(target=lambda: kernel.address)
    worker.start()
    child = os.fork()
    if child == 0:
        import signal

        signal.alarm(60)
        os._exit(0 if np.allclose(Kernel(function(12.0))(STATE), expected(12.0), rtol=1e-15) else 1)
    _, status = os.waitpid(child, 0)
    worker.join()
    assert os.waitstatus_to_exitcode(status) == 0


def test_machine_code_lives_as_long_as_its_kernel():
    kernels = [Kernel(function(float(k))) for k in range(20, 30)]
    addresses = {kernel.address for kernel in kernels}
    assert len(addresses) == 10
    del kernels[::2]
    for k, kernel in zip(range(21, 30, 2), kernels):
        np.testing.assert_allclose(kernel(STATE), expected(float(k)), rtol=1e-15)


def test_kernels_in_reference_cycles_are_collected_safely():
    """A garbage collector finalizes the members of a cycle in any order."""
    for k in range(20):
        x = ca.SX.sym("x", 2)
        holder = {"kernel": Kernel(ca.Function("f", [x], [ca.sin(x) * k]))}
        holder["self"] = holder
        assert holder["kernel"](np.ones(2)).shape == (2,)
        del holder, x
    gc.collect()


def test_a_folder_behind_a_link_is_not_used(tmp_path, monkeypatch):
    """Somebody may have linked it to a folder of the user: nothing there is made, read or removed."""
    monkeypatch.setattr(cache, "_warned", False)
    (tmp_path / "named").mkdir()
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.pliant").write_text("mine")
    (tmp_path / "named" / cache.FOLDER).symlink_to(tmp_path / "mine")
    monkeypatch.setenv("PLIANT_CACHE_DIR", str(tmp_path / "named"))
    with pytest.warns(UserWarning, match="the folder is a link"):
        cache.write("key", b"data")
    assert cache.read("key") is None
    assert [path.name for path in (tmp_path / "mine").iterdir()] == ["thesis.pliant"]
    (tmp_path / "mine" / cache.MARKER).write_bytes(cache._MARK)
    assert (cache.clear(), cache.entries(), cache.size()) == (0, 0, 0)
    assert (tmp_path / "mine" / "thesis.pliant").read_text() == "mine"
