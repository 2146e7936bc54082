"""The machines that the core tests run on, by name."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from machines import dependencies, roots
from machines.place import BUILD, Broken, Machine, Missing, caches, fresh, last

KERNELS = {"x86_64": ("Nehalem", "Haswell"), "aarch64": ("ARMV8", "NEOVERSEN1")}
"""Of OpenBLAS, by processor: SSE against AVX2 with fused multiplication, plain against tuned NEON."""
PROBE = Path(__file__).with_name("probe.py")


@dataclass(frozen=True)
class Variant:
    """`quick` ones run in the environment at hand and need nothing installed."""

    name: str
    what: str
    prepare: Callable[[], Machine]
    quick: bool = False


def surroundings(machine: Machine) -> dict[str, Any]:
    """What a machine says of itself: processor, OpenBLAS kernels, instruction sets of NumPy, versions."""
    code, said = machine.run("-c", PROBE.read_text(encoding="utf-8"))
    if code:
        raise Broken(f"the probe failed: {last(said)}")
    return dict(json.loads(said.splitlines()[-1]))


def here(name: str, **settings: str) -> Machine:
    """The present interpreter with other settings and a cache of its own."""
    return Machine(environment={**os.environ, **caches(BUILD / name), **settings})


def openblas(kernel: str) -> Machine:
    machine = here(f"openblas-{kernel.lower()}", OPENBLAS_CORETYPE=kernel)
    found = surroundings(machine)["openblas"]
    if not found:
        raise Missing("NumPy and SciPy carry no OpenBLAS here")
    if any(used.lower() != kernel.lower() for used in found.values()):
        raise Missing(f"OpenBLAS has no kernel {kernel} for this processor: it uses {found}")
    return machine


def no_simd() -> Machine:
    features = surroundings(here("no-simd"))["features"]
    if not features:
        raise Missing("NumPy chooses no instruction set at run time here")
    machine = here("no-simd", NPY_DISABLE_CPU_FEATURES=",".join(features))
    left = surroundings(machine)["features"]
    if left:
        raise Broken(f"NumPy still uses {left}")
    return machine


COMPILE = "import pliant; pliant.load('two-link').model().forward_dynamics([0.0] * 4, [0.0] * 4, [0.0] * 2)"


def generic() -> Machine:
    """Kernels are kept under names that hold their processor: the same names would mean the same code."""
    machines = [here("generic"), here("generic", PLIANT_CPU="generic")]
    names = [kernels(machine) for machine in machines]
    if names[0] == names[1]:
        raise Missing("PLIANT_CPU=generic makes the same kernels as none")
    return here("generic", PLIANT_CPU="generic")


def kernels(machine: Machine) -> set[str]:
    """Names under which a machine keeps the kernels of a small model."""
    folder = fresh(Path(machine.environment["PLIANT_CACHE_DIR"]))
    code, said = machine.run("-c", COMPILE)
    found = {path.name for path in folder.glob("*/*.pliant")}
    if code or not found:
        raise Broken(f"no kernel was made: {last(said)}")
    return found


PROCESSOR = platform.machine()
VARIANTS = (
    Variant("generic", "kernels for the plainest processor of this kind (PLIANT_CPU)", generic, quick=True),
    *(
        Variant(
            f"openblas-{kernel.lower()}", f"OpenBLAS with its kernel {kernel}", partial(openblas, kernel), quick=True
        )
        for kernel in KERNELS.get(PROCESSOR, ())
    ),
    Variant("no-simd", "NumPy without the instruction sets that it chooses at run time", no_simd, quick=True),
    Variant("lowest", "the lowest allowed version of every dependency", dependencies.lowest),
    Variant("newest", "the newest allowed version of every dependency", dependencies.newest),
    Variant("next-python", f"Python {roots.PYTHON} of Debian {roots.SUITE}", roots.next_python),
    Variant("other-architecture", f"{roots.OTHER.get(PROCESSOR)}, emulated: the smoke set", roots.other_architecture),
)
