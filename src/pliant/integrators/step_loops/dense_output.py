"""Between the ends of a step: dense output, and rows of the result."""

from __future__ import annotations

from pliant.compute.compiled_loops.primitives import Doubles, shift
from pliant.integrators.step_loops.loop_closing import normalize
from pliant.integrators.step_loops.loop_state import Ode, Record, StepState, Tally


def interpolate(ode: Ode, step: StepState, theta: float) -> None:
    """z = x + Q_1 theta + ... + Q_d theta^d."""
    n = ode.n
    for k in range(n):
        total = 0.0
        for back in range(step.degree):
            total = total * theta + step.Q[(step.degree - 1 - back) * n + k]
        step.z[k] = step.x[k] + theta * total
    normalize(ode, step.z)


def polynomial(ode: Ode, step: StepState, dense: Doubles, K: Doubles, stages: int, scale: float) -> None:
    """Q_d = scale * sum_j dense[j, d] K_j."""
    n = ode.n
    for d in range(step.degree):
        Q = shift(step.Q, d * n)
        for k in range(n):
            Q[k] = 0.0
        for j in range(stages):
            weight = scale * dense[j * step.degree + d]
            if weight != 0.0:
                for k in range(n):
                    Q[k] += weight * K[j * n + k]


def write_row(ode: Ode, record: Record, t: float, z: Doubles) -> None:
    """Write one more row of the result."""
    row = ode.tally[Tally.ROWS]
    record.t[row] = t
    for k in range(ode.n):
        record.x[row * ode.n + k] = z[k]
    ode.tally[Tally.ROWS] = row + 1


def wants_dense(ode: Ode, record: Record, t_new: float, adaptive: bool) -> bool:
    """Return True if a row, an event or a gap needs the state strictly inside the step."""
    following = ode.tally[Tally.NEXT]
    watched = record.events > 0 or (adaptive and ode.meets > 0)
    return watched or (following < record.requested and record.times[following] < t_new)
