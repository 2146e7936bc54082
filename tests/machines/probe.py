"""Run by the interpreter of a variant: what computes there, as JSON. Needs NumPy and SciPy only."""

from __future__ import annotations

import ctypes
import json
import platform
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import numpy
import scipy.linalg  # loads its OpenBLAS

NAMES = [f"{prefix}openblas_get_corename{suffix}" for prefix in ("scipy_", "") for suffix in ("64_", "")]


def openblas() -> dict[str, str]:
    """The kernel in use by the OpenBLAS that each wheel carries."""
    found = {}
    for package in (numpy, scipy):
        for path in Path(f"{Path(package.__file__).parent}.libs").glob("*openblas*"):
            library = ctypes.CDLL(str(path))
            for function in (getattr(library, name) for name in NAMES if hasattr(library, name)):
                function.restype = ctypes.c_char_p
                found[package.__name__] = function().decode()
    return found


def features() -> list[str]:
    """Instruction sets that NumPy chooses at run time and that are switched on."""
    core = import_module(
        "numpy._core._multiarray_umath" if numpy.__version__ >= "2" else "numpy.core._multiarray_umath"
    )
    return [name for name in core.__cpu_dispatch__ if core.__cpu_features__.get(name)]


def versions() -> dict[str, str]:
    found = {"Python": platform.python_version()}
    for name in ("numpy", "scipy", "casadi", "llvmlite"):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


if __name__ == "__main__":
    machine = platform.machine()
    print(json.dumps({"machine": machine, "openblas": openblas(), "features": features(), "versions": versions()}))
