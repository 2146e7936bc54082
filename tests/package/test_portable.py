"""Nothing in the source that only one system has, unless there is another way beside it."""

from __future__ import annotations

import ast
import errno
import os
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from pliant.base.writing import atomic_write
from sources import nodes, python_files, short

FILES = python_files()
IDS = [short(path) for path in FILES]
ROOMS = sorted({name.split("/")[0] for name in IDS})

MODULES = {
    *("crypt", "curses", "fcntl", "grp", "nis", "ossaudiodev", "posix", "posixpath", "pty", "pwd", "readline"),
    *("resource", "spwd", "syslog", "termios", "tty", "uvloop"),
}
CALLS = {
    *(f"os.{name}" for name in (
        "O_CLOEXEC", "O_DIRECTORY", "O_NOFOLLOW", "O_NONBLOCK", "SCHED_OTHER", "WNOHANG", "chown", "chroot", "confstr",
        "ctermid", "fchdir", "fchmod", "fchown", "fork", "forkpty", "geteuid", "getegid", "getgid", "getgroups",
        "getloadavg", "getpgid", "getpgrp", "getpriority", "getrusage", "getsid", "getuid", "initgroups", "killpg",
        "lchown", "link", "lockf", "major", "memfd_create", "minor", "mkfifo", "mknod", "nice", "openpty", "pathconf",
        "pidfd_open", "pipe2", "posix_fadvise", "posix_fallocate", "posix_spawn", "pread", "preadv", "pwrite",
        "pwritev", "register_at_fork", "rename", "sched_getaffinity", "sched_setaffinity", "sched_yield", "sendfile",
        "set_blocking", "setgid", "setpgid", "setpgrp", "setpriority", "setsid", "setuid", "statvfs", "symlink",
        "sync", "sysconf", "tcgetpgrp", "ttyname", "uname", "unshare", "wait", "wait3", "wait4", "waitid", "waitpid",
    )),
    *(f"signal.{name}" for name in (
        "SIGALRM", "SIGCHLD", "SIGHUP", "SIGKILL", "SIGPIPE", "SIGQUIT", "SIGTSTP", "SIGUSR1", "SIGUSR2", "SIGWINCH",
        "alarm", "pause", "pthread_kill", "pthread_sigmask", "setitimer", "siginterrupt", "sigwait",
    )),
    *("select.poll", "select.epoll", "select.kqueue", "socket.AF_UNIX", "socket.SO_REUSEPORT", "time.tzset"),
    *("asyncio.create_unix_server", "mmap.PROT_READ", "mmap.MAP_PRIVATE", "ctypes.RTLD_GLOBAL"),
}  # fmt: skip
ENDS = {name.split(".")[-1] for name in CALLS}
METHODS = {"symlink_to", "hardlink_to", "lchmod", "owner", "group", "rename"}
"""Of paths. A rename over a file that exists fails on Windows; `replace` does the same everywhere."""
KEYWORDS = {"preexec_fn", "start_new_session", "pass_fds", "process_group", "user", "umask"}
FOLDERS = ("/dev/", "/proc/", "/sys/", "/tmp", "/var/", "/etc/", "/usr/", "/bin/")

GUARDED = {  # (file, what) -> the line that leads around it where the system has it not
    ("mechanics/bodies/held_stiffness.py", "os.sysconf"): "except (AttributeError, OSError, ValueError):",
    ("mechanics/bodies/library_tasks.py", "resource"): "with suppress(ImportError, OSError, ValueError):",
    ("mechanics/bodies/library_tasks.py", "/proc/self/statm"): "with suppress(ImportError, OSError, ValueError):",
    ("compute/llvm/llvm.py", "os.register_at_fork"): 'if hasattr(os, "register_at_fork"):',
    ("compute/llvm/threads.py", "os.register_at_fork"): 'if hasattr(os, "register_at_fork"):',
    ("compute/llvm/threads.py", "os.sched_getaffinity"): 'if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1',
    ("compute/llvm/cache.py", "os.geteuid"): 'if not hasattr(os, "geteuid"):',
    ("base/interrupts.py", "signal.pthread_sigmask"): 'if not hasattr(signal, "pthread_sigmask"):',
    ("base/writing.py", "/proc/self/ns/pid"): 'except OSError:\n        numbers = ""',
    ("base/writing.py", "os.posix_fallocate"): 'if self.room and hasattr(os, "posix_fallocate"):',
    ("pliant_bench/session.py", "os.getloadavg"): 'if hasattr(os, "getloadavg") else None',
    ("pliant_bench/first_result.py", "resource"): "except ImportError:  # Windows",
    ("pliant_bench/first_result.py", "/proc/self/status"): "if page.exists():",
    ("simulation/batch/store.py", "/proc/meminfo"): "with suppress(OSError), open(",
    ("cli/doctor.py", "/proc/driver/nvidia/version"): "os.path.exists(",
    ("export/compiling.py", "start_new_session="): 'start_new_session=os.name == "posix"',
    ("export/compiling.py", "os.killpg"): 'if os.name == "posix":',
    ("export/compiling.py", "signal.SIGKILL"): 'if os.name == "posix":',
    ("export/placing.py", "os.rename"): "if target.exists():\n            _replace(work, target)\n        else:",
    ("control/planning/search/time_limited.py", "start_new_session="): 'start_new_session=os.name == "posix"',
}


def only_somewhere(tree: Iterable[ast.AST]) -> Iterator[tuple[str, int]]:
    """What only some systems have, with its line."""
    for node in tree:
        if isinstance(node, ast.Import | ast.ImportFrom):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else [node.module or ""]
            yield from ((name, node.lineno) for name in names if name.split(".")[0] in MODULES)
            if isinstance(node, ast.ImportFrom):
                full = (f"{node.module}.{alias.name}" for alias in node.names)
                yield from ((name, node.lineno) for name in full if name in CALLS)
        elif isinstance(node, ast.Attribute) and node.attr in ENDS:
            name = ast.unparse(node)
            if name in CALLS:
                yield name, node.lineno
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.startswith(FOLDERS):
            yield node.value, node.lineno
        if isinstance(node, ast.Call):
            yield from _in_call(node)


def _in_call(node: ast.Call) -> Iterator[tuple[str, int]]:
    name = ast.unparse(node.func)
    if isinstance(node.func, ast.Attribute) and node.func.attr in METHODS and name not in CALLS and len(node.args) < 2:
        yield f".{node.func.attr}", node.lineno
    if name.split(".")[-1] in ("Popen", "run", "check_output", "check_call"):
        yield from ((f"{word.arg}=", node.lineno) for word in node.keywords if word.arg in KEYWORDS)
    if name.split(".")[-1] in ("get_context", "set_start_method"):
        yield from (("fork", node.lineno) for word in node.args if "fork" in ast.unparse(word))


@pytest.mark.parametrize("room", ROOMS)
def test_what_one_system_lacks_has_an_alternative(room: str) -> None:
    """Nothing is found that is not in the list, and nothing is in the list that is not found."""
    listed = {entry for entry in GUARDED if entry[0].split("/")[0] == room}
    for name, path in zip(IDS, FILES):
        for what, line in only_somewhere(nodes(path)) if name.split("/")[0] == room else ():
            guard, where = GUARDED.get((name, what)), f"{name}:{line}"
            assert guard is not None, f"{where}: not every system has {what}; add another way, and list it in GUARDED"
            assert guard in path.read_text(encoding="utf-8"), f"{where}: the way around {what} is gone"
            listed.discard((name, what))
    assert not listed, "listed in vain"


def test_all_that_is_listed_is_looked_for() -> None:
    assert {name for name, _ in GUARDED} <= set(IDS)


@pytest.mark.parametrize(
    "code",
    [
        "import fcntl", "from resource import getrusage", "os.fork()", "from os import fork", "os.killpg(1, 2)",
        "signal.signal(signal.SIGALRM, f)", "open('/dev/shm/x')", "os.rename(a, b)", "path.symlink_to(other)",
        "path.rename(other)", "subprocess.run(c, preexec_fn=f)", "multiprocessing.get_context('fork')", "select.poll()",
    ],
)  # fmt: skip
def test_the_judge_sees_it(code: str) -> None:
    assert list(only_somewhere(ast.walk(ast.parse(code))))


WINDOWS_LIKE = """
import os, sys
for name in {names!r}:
    if hasattr(os, name):
        delattr(os, name)
os.process_cpu_count = os.cpu_count  # of Python 3.13, which asks for the affinity elsewhere
for name in {modules!r}:
    sys.modules[name] = None
import numpy as np, pliant
from pliant.batch import simulate_batch
model = pliant.load("two-link").model()
run = pliant.simulate(model, 0.01, progress=False)
run.save("run.nc")
assert np.array_equal(pliant.Result.load("run.nc").q, run.q)
simulate_batch(model, 0.01, np.zeros((9, 4)), step=1e-3, progress=False)
pliant.export.export(model, "c", "arm")
print(pliant.compute.get_threads())
"""


def test_a_run_without_what_only_posix_has(tmp_path: Path) -> None:
    """Python itself and its libraries keep what they took at their start; pliant finds nothing of it."""
    code = WINDOWS_LIKE.format(
        names=["register_at_fork", "sched_getaffinity", "posix_fallocate", "getloadavg", "fork", "getuid"],
        modules=["fcntl", "resource", "pwd", "grp", "termios"],
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) == os.cpu_count() or "PLIANT_THREADS" in os.environ


def test_only_files_open_for_writing_are_flushed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Windows refuses the others."""
    fcntl = pytest.importorskip("fcntl")
    flush = os.fsync

    def strict(handle: int) -> None:
        if fcntl.fcntl(handle, fcntl.F_GETFL) & (os.O_WRONLY | os.O_RDWR) == 0:
            raise OSError(errno.EBADF, "Bad file descriptor")
        flush(handle)

    monkeypatch.setattr(os, "fsync", strict)
    with atomic_write(tmp_path / "file") as path:
        path.write_bytes(b"whole")
    assert (tmp_path / "file").read_bytes() == b"whole"
