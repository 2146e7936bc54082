"""Simple models of the two-link rig for comparison: the maker's lumped stages, without coupling, and rigid ones."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from pliant.arrays import Array
from pliant_studies.measured.measured_runs import measured_run
from pliant_studies.rigs.two_link import ANGLES, CURRENTS, FIRST, WINDOWS, rows_of

STAGES = (
    (0.06353616, 0.170434272, 39.957193, 4.0, 0.0, 8.925),
    (0.00301955, 0.006438701, 6.857751, 1.5, 0.085608, 0.87),
)
"""Numbers of the maker for each stage: hub and load (kg m^2), spring (N m/rad), viscous friction of both (N m s/rad),
torque constant (N m/A)."""
PER_STRAIN = (106.03674540682414, 151.36857892763405)
"""Deflection (rad) per strain by the maker's formula."""
DAMPING = 0.01
"""Damping ratio of a spring that has none of its own."""


def held_frequencies() -> list[float]:
    """Frequencies (Hz) of each stage with its hub held."""
    return [float(np.sqrt(spring / load) / (2 * np.pi)) for _, load, spring, *_ in STAGES]


def accelerations(run: Mapping[str, Array]) -> Array:
    """(N, 2) accelerations of both joints, by local polynomials over 68 ms."""
    from scipy.signal import savgol_filter

    angles = np.column_stack([run[name] for name in ANGLES])
    return np.asarray(savgol_filter(angles, 17, 4, deriv=2, delta=float(run["t_s"][1] - run["t_s"][0]), axis=0))


@dataclass(frozen=True)
class Stage:
    """One stage as a step x+ = A x + B u, whose first state is an angle, and the strain by state and input."""

    A: Array
    B: Array
    by_state: Array
    by_input: float = 0.0

    def strain(self, x: Array, u: float) -> float:
        """Strain of the base gauge."""
        return float(self.by_state @ x + self.by_input * u)


def _held(A: Array, B: Array, step: float) -> tuple[Array, Array]:
    """Matrices of the step of x' = A x + B u with constant u."""
    from scipy.linalg import expm

    n = len(A)
    M = expm(np.block([[A, B[:, None]], [np.zeros((1, n + 1))]]) * step)
    return M[:n, :n], M[:n, n]


def lumped_stage(k: int, step: float) -> Stage:
    """Stage of the maker: hub and load on a spring."""
    hub, load, spring, own, other, constant = STAGES[k]
    both = (hub + load) / (hub * load)
    A = np.array([
        [0, 0, 1, 0], [0, 0, 0, 1], [0, spring / hub, -own / hub, other / hub],
        [0, -both * spring, own / hub, -both * other],
    ])  # fmt: skip
    B = np.array([0.0, 0.0, constant / hub, -constant / hub])
    return Stage(*_held(A, B, step), np.array([0.0, 1.0, 0.0, 0.0]) / PER_STRAIN[k])


def rigid_stage(k: int, step: float) -> Stage:
    """Stage with a rigid spring; its strain follows from the load's acceleration."""
    hub, load, spring, own, _, constant = STAGES[k]
    J = hub + load
    per_acceleration = -load / spring / PER_STRAIN[k]
    A, B = np.array([[0.0, 1.0], [0.0, -own / J]]), np.array([0.0, constant / J])
    return Stage(*_held(A, B, step), per_acceleration * A[1], per_acceleration * constant / J)


def _stepped(A: Array, B: Array, inputs: Array, start: Array) -> Array:
    """States (N, n) under inputs that are constant over each step."""
    x, found = start, []
    for u in inputs:
        found.append(x)
        x = A @ x + B * u
    return np.array(found)


def strains_from_encoders(name: str) -> tuple[Array, Array]:
    """Strains (N, 2) after the first second: of the maker's springs, and of loads that follow their hubs."""
    run = measured_run(name)
    step, acceleration = float(run["t_s"][1] - run["t_s"][0]), accelerations(run)
    lumped, rigid = [], []
    for k, (_, load, spring, _, friction, _) in enumerate(STAGES):
        loss = max(friction / load, 2 * DAMPING * np.sqrt(spring / load))
        A = np.array([[0.0, 1.0], [-spring / load, -loss]])
        x = _stepped(*_held(A, np.array([0.0, -1.0]), step), acceleration[:, k], np.zeros(2))
        lumped.append(x[:, 0] / PER_STRAIN[k])
        rigid.append(-load / spring * acceleration[:, k] / PER_STRAIN[k])
    late = run["t_s"] - run["t_s"][0] > FIRST
    return np.array(lumped).T[late], np.array(rigid).T[late]


def from_currents(name: str, bending: bool = True) -> list[Array]:
    """Angles and strains (N, 4) in every window by the maker's stages, or by stages with rigid springs."""
    run, found = measured_run(name), []
    step = float(run["t_s"][1] - run["t_s"][0])
    for window in WINDOWS[name]:
        rows = rows_of(run, *window)
        angles, strains = [], []
        for k in (0, 1):
            stage, current = (lumped_stage if bending else rigid_stage)(k, step), run[CURRENTS[k]][rows]
            start = np.concatenate([[run[ANGLES[k]][rows][0]], np.zeros(len(stage.A) - 1)])
            x = _stepped(stage.A, stage.B, current, start)
            angles.append(x[:, 0])
            strains.append(x @ stage.by_state + current * stage.by_input)
        found.append(np.column_stack([*angles, *strains]))
    return found
