"""A quadratic program as arrays, and its solution by the compiled loop."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from pliant.horizon.interior_point import TOLD, Program, Sides, run_program, side_sizes
from pliant.kernels.compiled_loop import compiled
from pliant.kernels.primitives import table


@dataclass
class Given:
    """1/2 z^T H z + g^T z with low <= [z; z_i - z_(i - lag); G z] <= high; rows with a finite weight are soft."""

    H: np.ndarray
    g: np.ndarray
    G: np.ndarray
    low: np.ndarray
    high: np.ndarray
    weight: np.ndarray | None = None
    curve: float = 0.0
    lag: int = 1
    iterations: int = 50
    told: np.ndarray = field(default_factory=lambda: np.zeros(TOLD))

    @property
    def C(self) -> np.ndarray:
        one = np.eye(len(self.g))
        return np.vstack([one, one - np.eye(len(self.g), k=-self.lag), self.G])

    def solve(self, plain: bool = False) -> tuple[np.ndarray, int]:
        n, rows = len(self.g), len(self.G)
        m = 2 * n + rows
        weight = np.full(m, np.inf) if self.weight is None else self.weight
        arrays = {
            "H": np.triu(self.H), "factor": np.zeros((n, n)), "g": self.g.astype(float), "G": self.G.astype(float),
            "width": np.full(rows, n, dtype=np.int64), "low": self.low, "high": self.high,
            "weight": np.concatenate([weight, np.full(m, self.curve)]), "z": np.zeros(n), "value": np.zeros(m),
            "told": self.told,
        }  # fmt: skip
        arrays = {name: np.ascontiguousarray(value) for name, value in arrays.items()}
        program = Program(n, rows, self.lag, self.iterations, *arrays.values())
        sizes = side_sizes(n, rows)
        kept = {name: np.zeros(size, dtype=np.int64 if name == "row" else float) for name, size in sizes.items()}
        sides = Sides(**kept)
        given = table(program, sides)
        run = run_program if plain else compiled(run_program)
        status = run(given.ctypes.data)
        return arrays["z"], status
