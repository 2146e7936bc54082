"""C compilers: find one, ask for which platform it compiles, run it, and end it in time."""

from __future__ import annotations

import os
import platform
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pliant.errors import PliantError

MOST_SECONDS = 600.0
"""Seconds that a compiler may take."""


@dataclass(frozen=True)
class Platform:
    """Platform of a shared library: processor and system, as FMI 3 calls them."""

    processor: str
    system: str

    @classmethod
    def of(cls, triple: str, flags: Sequence[str] = ()) -> Platform:
        """Platform of a compiler's target, such as `x86_64-w64-mingw32`, and of flags that change it."""
        first, _, rest = triple.strip().lower().partition("-")
        processor = {"amd64": "x86_64", "x64": "x86_64", "arm64": "aarch64"}.get(first, first)
        if processor in ("i386", "i486", "i586", "i686") or (processor == "x86_64" and "-m32" in flags):
            processor = "x86"
        elif processor.startswith("armv") or processor == "arm":
            processor = "aarch32"
        for system, words in _SYSTEMS.items():
            if any(word in rest for word in words):
                return cls(processor, system)
        return cls(processor, rest.split("-")[0] or "none")

    @classmethod
    def here(cls) -> Platform:
        """Platform of this machine."""
        return cls.of(f"{platform.machine()}-{sys.platform}")

    def folder(self, fmi: str) -> str:
        """Folder of the binary: the tuple of FMI 3.0, or the names that FMI 2.0 lists."""
        bits = {"x86_64": "64", "x86": "32"}.get(self.processor)
        if fmi == "2.0" and bits and self.system in _SHORT:
            return f"{_SHORT[self.system]}{bits}"
        return f"{self.processor}-{self.system}"

    @property
    def extension(self) -> str:
        """Extension of a shared library."""
        return {"darwin": ".dylib", "windows": ".dll"}.get(self.system, ".so")


_SYSTEMS = {
    "windows": ("mingw", "windows", "win32", "cygwin", "msys"),
    "darwin": ("darwin", "macos"),
    "linux": ("linux",),
}
_SHORT = {"linux": "linux", "darwin": "darwin", "windows": "win"}


def find_compiler() -> list[str]:
    """A C compiler and its flags: those of CC, such as `gcc -O3`, else cc, gcc or clang."""
    given = os.environ.get("CC", "").strip()
    if given:
        return compiler_of(given, "CC", "unset or set CC")
    for name in ("cc", "gcc", "clang"):
        if found := shutil.which(name):
            return [found]
    raise PliantError(
        "fmu: no C compiler found (looked for CC, cc, gcc, clang), and a functional mock-up unit holds compiled code; "
        "install gcc or clang, set CC to its path, or write the sources alone (compilers=[], --sources-only)"
    )


def compiler_of(given: str, name: str = "compilers", help: str = "install it, or name another one") -> list[str]:
    """Command and flags of a compiler, with the full path of its program."""
    if whole := shutil.which(given):  # a path with blanks in it
        return [whole]
    try:
        words = shlex.split(given, posix=os.name == "posix")
    except ValueError:  # a quotation that is not closed
        words = []
    found = shutil.which(words[0]) if words else None
    if found is None:
        raise PliantError(f"{name}: got {given!r}, expected a C compiler that is there, with or without flags; {help}")
    return [found, *words[1:]]


def target_platform(compiler: list[str]) -> Platform:
    """Platform for which a compiler compiles, as it reports; that of a cross compiler is not this machine."""
    said = run_compiler([*compiler, "-dumpmachine"]).split()
    if len(said) != 1 or "-" not in said[0]:
        raise PliantError(
            f"fmu: the compiler {compiler[0]} does not say for which platform it compiles (-dumpmachine gave "
            f"{' '.join(said)[:80]!r}); use gcc or clang"
        )
    return Platform.of(said[0], compiler[1:])


def compile_library(compiler: list[str], target: Platform, sources: Mapping[Path, str], library: Path) -> None:
    """Compile C sources into a shared library that exports only marked functions.

    Each source is optimized at its own level (`-O2`), unless the flags of the compiler have one.
    """
    library.parent.mkdir(parents=True)
    windows, own = target.system == "windows", any(word.startswith("-O") for word in compiler[1:])
    flags = ["-std=c99", "-fvisibility=hidden", *([] if windows else ["-fPIC"])]
    with tempfile.TemporaryDirectory() as folder:
        objects = [str(Path(folder) / f"{source.stem}.o") for source in sources]
        for (source, level), compiled in zip(sources.items(), objects):
            run_compiler([*compiler, *([] if own else [level]), *flags, "-c", str(source), "-o", compiled])
        flags = ["-shared", *(["-static-libgcc"] if windows else [])]
        run_compiler([*compiler, *flags, *objects, "-lm", "-o", str(library)])


def run_compiler(command: list[str]) -> str:
    """Run a compiler in a session of its own, so that all it started can be ended with it; return its output."""
    with tempfile.TemporaryFile() as words:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=words, stderr=words, start_new_session=os.name == "posix"
        )
        try:
            code = process.wait(MOST_SECONDS)
        except BaseException as error:
            _end(process)
            if isinstance(error, subprocess.TimeoutExpired):
                raise PliantError(
                    f"fmu: the compiler {command[0]} did not finish within {MOST_SECONDS:g} s and was ended; "
                    "set CC to another one"
                ) from None
            raise
        words.seek(0)
        said = words.read(20_000).decode("utf-8", "replace").strip()[:2000]
        if code:
            raise PliantError(f"fmu: the compiler {command[0]} failed:\n{said}")
        return said


def _end(process: subprocess.Popen[bytes]) -> None:
    if os.name == "posix":
        os.killpg(process.pid, signal.SIGKILL)  # it leads the group of its own session
    else:
        process.kill()
    process.wait()
