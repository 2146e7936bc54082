"""Compiled runs on a graphics processor: launches, and states that stay on the device."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pliant.compute.cuda.device import DeviceArray, cupy
from pliant.errors import UnsupportedModel
from pliant.integrators.step_control import FIRST_ERROR

if TYPE_CHECKING:
    from pliant.integrators.cuda.source import Source
    from pliant.integrators.packs.pack import TimeSegments

WAVES = 16
"""Blocks that follow each other on a multiprocessor in one launch of a chunked kernel; bounds its scratch memory."""


class DeviceIntegrator:
    """Runs of one `Source` on the current device."""

    def __init__(self, source: Source) -> None:
        self.cp = cp = cupy()
        self.source = source
        self.dtype = np.float64 if source.precision.name == "double" else np.float32
        try:
            module = cp.RawModule(code=source.text, options=("--std=c++17",))
            self.kernels = [module.get_function(name) for name in source.kernels]
            self.closing = [module.get_function(name) for name in source.closing]
            self.ends = [module.get_function(name) for name in ("fill", "drain")] if source.slots else []
        except Exception as error:
            raise UnsupportedModel(f"The GPU code of these equations could not be compiled: {error}") from error
        for kernel in (*self.kernels, *self.closing):
            if source.shared_bytes:
                kernel.max_dynamic_shared_size_bytes = source.shared_bytes
        processors = int(cp.cuda.Device().attributes["MultiProcessorCount"])
        self.tile = processors * source.choice.blocks * WAVES

    @property
    def local_bytes(self) -> int:
        """Bytes of slow local memory for each thread, for values that the compiler could not hold in registers."""
        return max(int(kernel.local_size_bytes) for kernel in self.kernels)

    def states(self, x: DeviceArray) -> DeviceArray:
        """Copy states (B, n) of host or device to device columns (n, B)."""
        return self.cp.array(self.cp.asarray(x).T, dtype=self.dtype, order="C", copy=True)

    def __call__(
        self, X: DeviceArray, w: DeviceArray, p: DeviceArray, plan: TimeSegments, rows: int,
        settings: tuple[float, ...] | None = None,
    ) -> tuple[DeviceArray, DeviceArray]:  # fmt: skip
        """Run the columns of `X` (n, B), which end as final states; return (rows, n, B) and step counts (2, B)."""
        cp, B = self.cp, X.shape[1]
        out = cp.full((rows, *X.shape), np.nan, dtype=self.dtype)
        control = cp.zeros((5, B), dtype=self.dtype)  # step, last error, refused, steps taken, steps refused
        control[1] = FIRST_ERROR
        own = self._columns(cp.asarray(p, dtype=self.dtype))
        held_by_piece = cp.asarray(w, dtype=self.dtype)
        piece, held = -1, own
        columns = (plan.t, plan.h, *plan.sides(self.dtype), plan.count, plan.row, plan.piece)
        for t, h, early, late, count, row, wanted in zip(*columns):
            if wanted != piece:
                piece, held = int(wanted), self._columns(held_by_piece[:, int(wanted)])
            target = out[row] if row >= 0 else None
            if self.source.slots:
                self._chunks(X, (*held, *own), (t, early, late), float(h), int(count))
                if target is not None:
                    target[...] = X
                continue
            address = np.uint64(0) if target is None else target
            times = map(np.float64, (t, early, late, h))
            arguments: tuple[object, ...] = (X, *held, *own, np.int64(B), address, *times)
            if self.source.adaptive:
                assert settings is not None
                arguments = (*arguments, *map(np.float64, settings), control)
            else:
                arguments = (*arguments, np.int64(count))
            grid = (-(-B // self.source.block),), (self.source.block,)
            self.kernels[0](*grid, arguments, shared_mem=self.source.shared_bytes)
        return out, control[3:]

    def _chunks(
        self, X: DeviceArray, inputs: tuple[object, ...], times: tuple[float, float, float], h: float, count: int
    ) -> None:  # fmt: skip
        """Take `count` steps of every arm, tile by tile."""
        cp, source, B = self.cp, self.source, X.shape[1]
        t, early, late = times
        per_tile = self.tile * source.block
        G = cp.empty(min(self.tile, -(-B // source.block)) * source.block * source.slots, dtype=self.dtype)
        for first in range(0, B, per_tile):
            arms = min(per_tile, B - first)
            span = (np.int64(first), np.int64(first + arms))
            transfer = (G, X, np.int64(first), np.int64(B))
            grid = (-(-arms // source.block),), (source.block,)
            self.ends[0](*grid, transfer)
            stages = [(self.kernels, clock) for clock in source.clock] + [(self.closing, 1.0)]
            for step in range(count):
                for stage, (kernels, clock) in enumerate(stages):
                    now = max(min(t + (step + clock) * h, late), early)
                    moment = (np.float64(now), np.float64(h), np.int32(stage))
                    for kernel in kernels:
                        kernel(*grid, (G, *inputs, *span, *moment), shared_mem=source.shared_bytes)
            self.ends[1](*grid, transfer)

    def _columns(self, a: DeviceArray) -> tuple[DeviceArray, np.int64, np.int64]:
        """Rows of arms as columns, with the distances of rows and of arms; a single row is shared by all arms."""
        a = self.cp.ascontiguousarray(a.T)
        return (a, np.int64(1), np.int64(0)) if a.shape[1] == 1 else (a, np.int64(a.shape[1]), np.int64(1))
