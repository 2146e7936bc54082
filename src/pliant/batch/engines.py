"""What runs a slice of a batch: packs on this machine, or a graphics processor."""

from __future__ import annotations

from typing import Any

import numpy as np

from pliant.batch.given import Given
from pliant.batch.inputs import BatchEquations
from pliant.integrate.runge_kutta import dopri5
from pliant.kernels.cuda import emit
from pliant.kernels.cuda_device import DeviceMarch, cupy, shared_bytes
from pliant.kernels.pack import March, Method, Plan
from pliant.kernels.tape import Tape

SLICE_BYTES = 64e6
"""Histories that are held at once on their way to a file."""
DEVICE_SHARE = 0.4
"""Part of the free device memory that histories may take at once."""


def _method(name: str) -> Method:
    pair = dopri5()
    return Method("rk4") if name == "rk4" else Method("dopri5", pair.A, pair.c, pair.error)


class Cpu:
    """SIMD packs in threads."""

    module: Any = np

    def __init__(
        self, f: BatchEquations, given: Given, plan: Plan, settings: tuple[float, ...], method: str, precision: str,
        n_rows: int,
    ) -> None:  # fmt: skip
        kept = f.composition.__dict__.setdefault("_marches", {})
        key = ("cpu", method, f.has_constant, f.with_work)
        if key not in kept:
            kept[key] = March(f.function, _method(method))
        self.march: March = kept[key]
        self.dtype = np.float64
        self.plan, self.settings, self.rows = plan, np.array(settings), n_rows
        self.own, self.pieces = given.held(f), given.pieces()
        self.slice_bytes = SLICE_BYTES

    def __call__(self, x: Any, first: int) -> tuple[Any, Any]:
        """Histories (b, rows - 1, n) behind the start, and step counts (b, 2), of arms first, first + 1, ..."""
        b = len(x)
        out = np.empty((b, self.rows - 1, self.march.n))
        own, pieces = (a if len(a) == 1 else a[first : first + b] for a in (self.own, self.pieces))
        counts = self.march(x, np.ascontiguousarray(pieces), np.ascontiguousarray(own), self.plan, out, self.settings)
        return out, counts


class Cuda:
    """One thread an arm."""

    def __init__(
        self, f: BatchEquations, given: Given, plan: Plan, settings: tuple[float, ...], method: str, precision: str,
        n_rows: int,
    ) -> None:  # fmt: skip
        self.module = cupy()
        kept = f.composition.__dict__.setdefault("_marches", {})
        key = ("cuda", method, precision, f.has_constant, f.with_work, int(self.module.cuda.Device().id))
        if key not in kept:
            pair = _method(method).table if method == "dopri5" else None
            states = f.typical_inputs(given.held(f)[0])
            source = emit(Tape.from_function(f.function), precision, pair, None, shared_bytes(), states)
            kept[key] = DeviceMarch(source)
        self.march: DeviceMarch = kept[key]
        self.dtype = self.march.dtype
        self.plan, self.settings, self.rows = plan, settings, n_rows
        self.own, self.pieces = self.module.asarray(given.held(f)), self.module.asarray(given.pieces())
        self.slice_bytes = DEVICE_SHARE * self.module.cuda.Device().mem_info[0]

    def __call__(self, x: Any, first: int) -> tuple[Any, Any]:
        """Likewise, on the device."""
        cp, b = self.module, len(x)
        own, pieces = (a if len(a) == 1 else a[first : first + b] for a in (self.own, self.pieces))
        out, counts = self.march(self.march.states(x), pieces, own, self.plan, self.rows - 1, self.settings)  # type: ignore[arg-type]
        return cp.ascontiguousarray(out.transpose(2, 0, 1)), cp.ascontiguousarray(counts.T)
