"""A stand-in for CuPy: NumPy's arrays, and CUDA source compiled as C++ whose threads run one after the other.

With it the emitted kernels and everything around them are tested where there is no GPU.
"""

from __future__ import annotations

import ctypes
import re
import shutil
import subprocess
import tempfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

COMPILER = shutil.which("g++") or shutil.which("clang++")
MEMORY = 256 * 1024

SHIM = """
#include <cmath>
#define __global__
#define __device__
#define __forceinline__ inline
#define __constant__ static const
#define __launch_bounds__(...)
#define __shared__
struct Index { int x; };
static Index threadIdx, blockIdx;
"""
SIGNATURE = re.compile(r'extern "C" __global__ void __launch_bounds__\([^)]*\) (\w+)\(([^)]*)\)')
KINDS = {np.int64: ctypes.c_longlong, np.float64: ctypes.c_double, np.int32: ctypes.c_int, np.uint64: ctypes.c_void_p}


def launchers(code: str) -> str:
    """One function a kernel that runs all its threads."""
    text = []
    for name, arguments in SIGNATURE.findall(code):
        given = ", ".join(re.findall(r"(\w+)(?:,|$)", arguments))
        text.append(
            f'extern "C" void launch_{name}(int blocks, int threads, {arguments}) {{ '
            "for (int b = 0; b < blocks; ++b) for (int t = 0; t < threads; ++t) "
            f"{{ blockIdx.x = b; threadIdx.x = t; {name}({given}); }} }}"
        )
    return "\n".join(text)


class RawModule:
    """Source compiled for the processor."""

    def __init__(self, code: str, options: tuple[str, ...] = ()) -> None:
        kind = re.search(r"extern __shared__ (\w+) memory", code)
        memory = f"{kind[1]} memory[{MEMORY} / sizeof({kind[1]})];" if kind else ""
        with tempfile.TemporaryDirectory() as folder:
            path, library = Path(folder) / "kernel.cpp", Path(folder) / "kernel.so"
            path.write_text("\n".join([SHIM, code, memory, launchers(code)]))
            found = [option for option in options if option.startswith("-I")]
            command = [COMPILER, "-O1", "-w", "-shared", "-fPIC", "-std=c++17", *found, str(path), "-o", str(library)]
            subprocess.run(command, check=True)
            self.library = ctypes.CDLL(str(library))

    def get_function(self, name: str) -> Kernel:
        return Kernel(getattr(self.library, f"launch_{name}"))


class Kernel:
    """A kernel with CuPy's way of being called."""

    local_size_bytes = 0
    max_dynamic_shared_size_bytes = 48 * 1024

    def __init__(self, launch: Any) -> None:
        self.launch = launch

    def __call__(self, grid: tuple[int], block: tuple[int], arguments: tuple[Any, ...], shared_mem: int = 0) -> None:
        assert shared_mem <= max(self.max_dynamic_shared_size_bytes, 48 * 1024)
        assert shared_mem <= MEMORY
        self.launch(grid[0], block[0], *(_passed(a) for a in arguments))


def _passed(a: Any) -> Any:
    if isinstance(a, np.ndarray):
        assert a.flags.c_contiguous
        return ctypes.c_void_p(a.ctypes.data)
    return KINDS[type(a)](int(a) if isinstance(a, np.integer) else float(a))


class _Device:
    id = 0
    attributes = {"MaxSharedMemoryPerBlockOptin": 232448, "MultiProcessorCount": 1}
    mem_info = (10**9, 10**9)


class FakeCupy:
    """NumPy under CuPy's name."""

    RawModule = RawModule
    cuda = SimpleNamespace(Device=_Device, runtime=SimpleNamespace(getDeviceCount=lambda: 1))
    asnumpy = staticmethod(np.asarray)

    def __getattr__(self, name: str) -> Any:
        return getattr(np, name)
