"""What the two-link rig is held against: the maker's lumped stages, without coupling, and an arm that does not ring."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from pliant.arrays import Array
from pliant.rigs import measured_run
from pliant.studies.rigs.two_link import ANGLES, CURRENTS, FIRST, WINDOWS, rows_of

STAGES = (
    (0.06353616, 0.170434272, 39.957193, 4.0, 0.0, 8.925),
    (0.00301955, 0.006438701, 6.857751, 1.5, 0.085608, 0.87),
)
"""The maker's hub and load (kg m^2), spring (N m/rad), viscous friction of both (N m s/rad), constant (N m/A)."""
PER_STRAIN = (106.03674540682414, 151.36857892763405)
"""Deflection (rad) per strain by the maker's formula."""
DAMPING = 0.01
"""Of critical, of a spring that has none of its own."""


def held_frequencies() -> list[float]:
    """Hz, of each stage with its hub held."""
    return [float(np.sqrt(spring / load) / (2 * np.pi)) for _, load, spring, *_ in STAGES]


def accelerations(run: Mapping[str, Array]) -> Array:
    """(N, 2) of both joints, by local polynomials over 68 ms."""
    from scipy.signal import savgol_filter

    angles = np.column_stack([run[name] for name in ANGLES])
    return np.asarray(savgol_filter(angles, 17, 4, deriv=2, delta=float(run["t_s"][1] - run["t_s"][0]), axis=0))


def _stepped(A: Array, B: Array, inputs: Array, start: Array, step: float) -> Array:
    """States (N, n) of x' = A x + B u with u held over each step."""
    from scipy.linalg import expm

    n = len(A)
    M = expm(np.block([[A, B[:, None]], [np.zeros((1, n + 1))]]) * step)
    x, found = start, []
    for u in inputs:
        found.append(x)
        x = M[:n, :n] @ x + M[:n, n] * u
    return np.array(found)


def strains_from_encoders(name: str) -> tuple[Array, Array]:
    """Behind the first second, strains (N, 2) of the maker's springs, and of loads that follow their hubs."""
    run = measured_run(name)
    step, acceleration = float(run["t_s"][1] - run["t_s"][0]), accelerations(run)
    lumped, rigid = [], []
    for k, (_, load, spring, _, friction, _) in enumerate(STAGES):
        loss = max(friction / load, 2 * DAMPING * np.sqrt(spring / load))
        A = np.array([[0.0, 1.0], [-spring / load, -loss]])
        x = _stepped(A, np.array([0.0, -1.0]), acceleration[:, k], np.zeros(2), step)
        lumped.append(x[:, 0] / PER_STRAIN[k])
        rigid.append(-load / spring * acceleration[:, k] / PER_STRAIN[k])
    late = run["t_s"] - run["t_s"][0] > FIRST
    return np.array(lumped).T[late], np.array(rigid).T[late]


def from_currents(name: str, bending: bool = True) -> list[Array]:
    """Angles and strains (N, 4) in every window by the maker's stages, or by stages whose springs do not give."""
    run, found = measured_run(name), []
    step = float(run["t_s"][1] - run["t_s"][0])
    for window in WINDOWS[name]:
        rows = rows_of(run, *window)
        angles, strains = [], []
        for k in (0, 1):
            start, current = float(run[ANGLES[k]][rows][0]), run[CURRENTS[k]][rows]
            angle, deflection = (_lumped if bending else _rigid)(k, start, current, step)
            angles.append(angle)
            strains.append(deflection / PER_STRAIN[k])
        found.append(np.column_stack([*angles, *strains]))
    return found


def _lumped(k: int, start: float, current: Array, step: float) -> tuple[Array, Array]:
    hub, load, spring, own, other, constant = STAGES[k]
    both = (hub + load) / (hub * load)
    A = np.array([
        [0, 0, 1, 0], [0, 0, 0, 1], [0, spring / hub, -own / hub, other / hub],
        [0, -both * spring, own / hub, -both * other],
    ])  # fmt: skip
    B = np.array([0.0, 0.0, constant / hub, -constant / hub])
    x = _stepped(A, B, current, np.array([start, 0.0, 0.0, 0.0]), step)
    return x[:, 0], x[:, 1]


def _rigid(k: int, start: float, current: Array, step: float) -> tuple[Array, Array]:
    hub, load, spring, own, _, constant = STAGES[k]
    J = hub + load
    x = _stepped(np.array([[0.0, 1.0], [0.0, -own / J]]), np.array([0.0, constant / J]), current,
                 np.array([start, 0.0]), step)  # fmt: skip
    acceleration = (constant * current - own * x[:, 1]) / J
    return x[:, 0], -load / spring * acceleration
