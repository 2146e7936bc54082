"""A quadratic program as arrays, and its solution by the compiled loop."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from pliant.compute.compiled_loops.primitives import table
from pliant.compute.llvm.llvm import compiled_loop
from pliant.compute.nmpc.quadratic_program import TOLD, QuadraticProgram, WorkingSet, run_program, working_sizes


@dataclass
class Given:
    """1/2 z^T z + g^T z with low <= G z <= high; rows with a finite weight are soft, with a square besides."""

    g: np.ndarray
    G: np.ndarray
    low: np.ndarray
    high: np.ndarray
    weight: np.ndarray | None = None
    curve: np.ndarray | None = None
    iterations: int = 500
    y: np.ndarray = field(default_factory=lambda: np.zeros(0))
    told: np.ndarray = field(default_factory=lambda: np.zeros(TOLD))

    def solve(self, plain: bool = False, cold: bool = True) -> tuple[np.ndarray, int]:
        """The solution and its status, by machine code, or by Python as the loop stands."""
        n, rows = len(self.g), len(self.G)
        self.y = np.zeros(rows) if cold or not len(self.y) else self.y
        self.weight = np.full(rows, np.inf) if self.weight is None else self.weight
        self.curve = np.ones(rows) if self.curve is None else self.curve
        arrays = {
            "g": self.g, "G": self.G, "width": np.full(rows, n, dtype=np.int64), "low": self.low, "high": self.high,
            "weight": np.concatenate([self.weight, self.curve]), "z": np.zeros(n), "y": self.y, "value": np.zeros(rows),
            "told": self.told,
        }  # fmt: skip
        arrays = {name: np.ascontiguousarray(value) for name, value in arrays.items()}
        program = QuadraticProgram(n, rows, self.iterations, *arrays.values())
        sizes = working_sizes(rows)
        parts = {name: np.zeros(k, dtype=np.int64 if name == "row" else float) for name, k in sizes.items()}
        given = table(program, WorkingSet(**parts))
        return arrays["z"], (run_program if plain else compiled_loop(run_program))(given.ctypes.data)
