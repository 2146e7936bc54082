"""Where variants live (build/machines), how their tools come, and what a variant hands over to be run."""

from __future__ import annotations

import datetime
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[2]
BUILD = ROOT / "build" / "machines"


class Missing(Exception):
    """A variant cannot run here; the message says why."""


class Broken(Exception):
    """A variant should run here and does not."""


@dataclass(frozen=True)
class Machine:
    """An interpreter and its surroundings.

    `start` is put before `python` and its arguments; `inside` translates a folder of ours into its name over there.
    """

    python: str = sys.executable
    environment: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))
    start: tuple[str, ...] = ()
    smoke: bool = False
    inside: Callable[[Path], str] = str

    def run(self, *arguments: str, limit: float = 600.0) -> tuple[int, str]:
        """Run the interpreter there: its exit code, and all that it said. One that does not end is ended."""
        with tempfile.TemporaryFile("w+", encoding="utf-8") as said:
            process = subprocess.Popen(
                [*self.start, self.python, *arguments], env=dict(self.environment), cwd=ROOT, stdin=subprocess.DEVNULL,
                stdout=said, stderr=subprocess.STDOUT, start_new_session=True,
            )  # fmt: skip
            try:
                process.wait(limit)
            except BaseException as reason:
                _end(process)
                if isinstance(reason, subprocess.TimeoutExpired):
                    raise Broken(f"did not end within {limit:g} s") from None
                raise
            said.seek(0)
            return process.returncode, said.read()


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a process and its children; they have a moment to tidy up."""
    kill = os.killpg if hasattr(os, "killpg") else os.kill
    kill(process.pid, signal.SIGTERM)
    try:
        process.wait(10.0)
    except subprocess.TimeoutExpired:
        process.kill()


def fresh(folder: Path) -> Path:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


def caches(folder: Path, inside: Callable[[Path], str] = str) -> dict[str, str]:
    """Compiled code of a variant is its own, and compiled anew."""
    fresh(folder / "cache")
    cache = inside(folder / "cache")
    return {"PLIANT_CACHE_DIR": f"{cache}/kernels"}


def last(text: str) -> str:
    """The last line that says something."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1][:200] if lines else "no output"


def tell(*command: str, **options: object) -> subprocess.CompletedProcess[str]:
    """Run a tool; standard error joins standard output."""
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options)  # type: ignore[call-overload,no-any-return]


def need(program: str, package: str) -> str:
    """The path of a program, from Debian's packages where it is missing and they can be installed."""
    if not shutil.which(program):
        if not shutil.which("apt-get"):
            raise Missing(f"{program} is not installed, and there is no apt-get to install it with")
        if os.geteuid():
            raise Missing(f"{program} is not installed, and only root may install Debian's {package}")
        quiet = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
        install = ("apt-get", "install", "--yes", "--no-install-recommends", package)
        done = tell(*install, env=quiet)
        if done.returncode:  # the lists may be old, or not there at all
            tell("apt-get", "update", env=quiet)
            done = tell(*install, env=quiet)
        if done.returncode:
            raise Missing(f"{program} is not installed, and Debian's {package} does not install: {last(done.stdout)}")
    found = shutil.which(program)
    assert found
    return found


def pip(*arguments: str, python: str = sys.executable) -> None:
    """Run pip. Where no package index is within reach that is nobody's fault; what it refuses otherwise is ours."""
    command = (python, "-m", "pip", "--disable-pip-version-check", "--quiet")
    done = tell(*command, *arguments)
    if done.returncode:
        with tempfile.TemporaryDirectory() as folder:
            probe = tell(*command, "download", "--no-deps", "--no-cache-dir", "--dest", folder, "iniconfig")
        if probe.returncode:
            raise Missing(f"no package index within reach: {last(probe.stdout)}")
        reasons = [line for line in done.stdout.splitlines() if line.startswith("ERROR")]
        raise Broken("pip: " + " ".join(reasons or [last(done.stdout)]))


def wheel(folder: Path) -> Path:
    """The package as users get it, unpacked under `folder`: what environments other than the present one test."""
    place = fresh(folder / "wheel")
    pip("wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", str(place), str(ROOT))
    (made,) = place.glob("pliant-*.whl")
    pip("install", "--no-deps", "--no-compile", "--target", str(place / "site"), str(made))
    return place / "site"


def current(folder: Path, recipe: Iterable[str]) -> bool:
    """Whether a folder was built whole, by this recipe; if not, it is gone now."""
    stamp = folder / "built-from.txt"
    if stamp.exists() and stamp.read_text(encoding="utf-8") == "\n".join(recipe):
        return True
    shutil.rmtree(folder, ignore_errors=True)
    return False


def week() -> str:
    """Stands in recipes that take the newest versions: what was built from them is a week old at most."""
    year, number, _ = datetime.date.today().isocalendar()
    return f"week {number} of {year}"


def built(folder: Path, recipe: Iterable[str]) -> None:
    (folder / "built-from.txt").write_text("\n".join(recipe), encoding="utf-8")
