"""Debian roots: the next Python on this processor, and another processor by emulation.

A root is made by mmdebstrap, unpacked and not configured, so that nothing foreign has to run; wheels for it are fetched
by pip here. It is entered by chroot in a mount namespace of its own: what is mounted there is gone when the run ends,
however it ends. The source tree is seen there read-only.
"""

from __future__ import annotations

import os
import platform
import tempfile
from pathlib import Path

from machines.dependencies import EXTRAS, wanted
from machines.place import (
    BUILD,
    ROOT,
    Broken,
    Machine,
    Missing,
    built,
    caches,
    current,
    fresh,
    last,
    need,
    pip,
    tell,
    week,
    wheel,
)

SUITE, PYTHON = "trixie", "3.13"
PACKAGES = (
    "base-files", "base-passwd", "coreutils", "dash", "libc-bin", "libgcc-s1", "libgomp1", "libstdc++6", "python3",
    "tzdata",
)  # fmt: skip
COMPILERS = ("g++", "libc6-dev")
KEPT = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MPLBACKEND")
GLIBC = range(17, 42)
"""Debian trixie has glibc 2.41: wheels for any manylinux from 2.17 on run there."""

DEBIAN = {"x86_64": "amd64", "aarch64": "arm64"}
OTHER = {"x86_64": "aarch64", "aarch64": "x86_64"}
PROCESSOR = {"aarch64": "neoverse-n1", "x86_64": "max"}
"""What QEMU imitates: a common server processor without SVE; everything it has of x86-64, AVX2 and no AVX-512."""

ELF = {  # first 20 bytes of a program of that processor, as binfmt_misc wants them, and which bits of them count
    "aarch64": r"\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\xb7\x00",
    "x86_64": r"\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\x3e\x00",
}
MASK = r"\xff\xff\xff\xff\xff\xff\xff\x00\xff\xff\xff\xff\xff\xff\xff\xff\xfe\xff\xff\xff"

ENTER = r"""
set -e
root=$1 source=$2 site=$3 work=$4 magic=$5 qemu=$6
shift 6
mount -t proc proc "$root/proc"
mount --rbind /dev "$root/dev"
mount --bind "$source" "$root/pliant"
mount -o remount,bind,ro "$root/pliant"
mount --bind "$site" "$root/opt/pliant"
mount --bind "$work" "$root/scratch"
if [ -n "$magic" ]; then
  misc=/proc/sys/fs/binfmt_misc
  mount -t binfmt_misc none $misc
  printf %s ":pliant-$$:M::$magic:$qemu:F" > $misc/register
  trap 'echo -1 > $misc/pliant-$$' EXIT
  trap 'exit 143' INT TERM
fi
chroot "$root" /usr/bin/env -C /pliant "$@"
"""


def next_python() -> Machine:
    """Python 3.13 of Debian trixie, with the newest wheels for it."""
    return _root("next-python", platform.machine(), EXTRAS, COMPILERS)


def other_architecture() -> Machine:
    """The other of x86-64 and aarch64, by user-mode emulation: the smoke set."""
    here = platform.machine()
    if here not in OTHER:
        raise Missing(f"{here} has no counterpart here: x86_64 and aarch64 emulate each other")
    there = OTHER[here]
    return _root("other-architecture", there, (), (), need(f"qemu-{there}-static", "qemu-user-static"))


def _root(name: str, machine: str, extras: tuple[str, ...], packages: tuple[str, ...], qemu: str = "") -> Machine:
    if platform.system() != "Linux" or machine not in DEBIAN:
        raise Missing(f"roots of Debian need Linux on x86_64 or aarch64, this is {platform.system()} on {machine}")
    if os.geteuid():
        raise Missing("only root may enter a root")
    folder = BUILD / name
    root = _made(folder, machine, extras, packages)
    for point in ("pliant", "opt/pliant", "scratch"):
        (root / point).mkdir(parents=True, exist_ok=True)
    work, site = fresh(folder / "work"), wheel(folder)

    def inside(path: Path) -> str:
        return f"/scratch/{path.relative_to(work)}"

    arguments = [str(root), str(ROOT), str(site), str(work), ELF[machine] + ":" + MASK if qemu else "", qemu]
    variables = {
        **{key: os.environ[key] for key in KEPT if key in os.environ},
        **caches(work, inside),
        **({"QEMU_CPU": PROCESSOR[machine]} if qemu else {}),
        "HOME": "/scratch", "PATH": "/usr/bin", "LC_ALL": "C.UTF-8", "PYTHONPATH": "/opt/pliant:/opt/wheels",
        "PLIANT_TESTED": "/opt/pliant", "PYTHONPYCACHEPREFIX": "/var/cache/python",
        "HYPOTHESIS_STORAGE_DIRECTORY": "/scratch/hypothesis",
    }  # fmt: skip
    settings = ["--ignore-environment", *(f"{key}={value}" for key, value in variables.items())]
    start = ("unshare", "--mount", "sh", "-c", ENTER, "enter", *arguments, *settings)
    there = Machine("python3", {**os.environ}, start, bool(qemu), inside)
    code, said = there.run("-c", "print()")
    if code:
        raise Missing(f"the root cannot be entered: {last(said)}")
    return there


def _made(folder: Path, machine: str, extras: tuple[str, ...], packages: tuple[str, ...]) -> Path:
    root = folder / "root"
    tools = ("hypothesis", "pytest") if not extras else ("hypothesis", "pytest", "pytest-xdist")
    requirements = [str(requirement) for requirement in wanted(extras, tools)]
    recipe = [SUITE, machine, week(), *PACKAGES, *packages, *requirements]
    if not current(root, recipe):
        folder.mkdir(parents=True, exist_ok=True)
        include = ",".join((*PACKAGES, *packages))
        build = (need("mmdebstrap", "mmdebstrap"), "--quiet", "--variant=extract", f"--include={include}")
        done = tell(*build, f"--architectures={DEBIAN[machine]}", SUITE, str(root))
        if done.returncode:
            raise Missing(f"mmdebstrap made no root of {SUITE}: {last(done.stdout)}")
        programs = root / "usr" / "bin"
        if not (programs / f"python{PYTHON}").exists():
            raise Broken(f"{SUITE} has no Python {PYTHON}")
        for name, program in (("cc", "gcc"), ("c++", "g++")):  # a choice that configuring would have made
            if (programs / program).exists():
                (programs / name).symlink_to(program)
        _wheels(root, machine, requirements)
        built(root, recipe)
    return root


def _wheels(root: Path, machine: str, requirements: list[str]) -> None:
    """Fetch and unpack wheels for the Python of a root.

    In two steps, because `pip install` would choose versions that the Python at hand can run, `pip download` does not.
    """
    platforms = [f"--platform=manylinux_2_{minor}_{machine}" for minor in GLIBC] + [
        f"--platform=manylinux2014_{machine}"
    ]
    foreign = (f"--python-version={PYTHON}", "--only-binary=:all:", *platforms)
    with tempfile.TemporaryDirectory() as folder:
        pip("download", *foreign, "--dest", folder, *requirements)
        files = [str(path) for path in Path(folder).glob("*.whl")]
        target = ("--target", str(root / "opt" / "wheels"))
        pip("install", "--no-deps", "--no-compile", "--ignore-requires-python", *foreign, *target, *files)
