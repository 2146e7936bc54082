"""The arguments of a run, checked once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pliant.arrays import Array
from pliant.errors import ModelError
from pliant.integrators.methods import COMPILED, has_fixed_steps
from pliant.integrators.problem import Hold, Jumps, Problem, SampledInput
from pliant.integrators.state import RunPlan, make_plan
from pliant.integrators.sundials import MULTISTEP

MOST_STEPS = 1e10
"""Limit for a fixed-step run: a thousand seconds of the smallest arm, far more than anybody waits for a larger one."""
METHODS = ("auto", *COMPILED, *MULTISTEP)


@dataclass(frozen=True)
class Settings:
    """Arguments of a run, checked."""

    t0: float
    t1: float
    x0: Array
    p: Array
    outputs: Array | None
    method: str
    rtol: float
    atol: Array
    step: float | None
    plan: RunPlan
    hold: Hold | None
    jumps: Jumps | None


def prepare(
    problem: Problem,
    t_span: tuple[float, float],
    x0: npt.ArrayLike,
    method: str,
    rtol: float,
    atol: npt.ArrayLike,
    step: float | None,
    outputs: npt.ArrayLike | None,
    p: npt.ArrayLike | None,
    samples: SampledInput | None,
    hold: Hold | None,
    breaks: Sequence[float] | Array,
    jumps: Jumps | None,
) -> Settings:
    """Check the arguments of `solve`, each with a message that says what was expected."""
    if method not in METHODS:
        raise ModelError(f"method: got {method!r}, expected one of {', '.join(METHODS)}")
    t0, t1 = float(t_span[0]), float(t_span[1])
    if not (np.isfinite([t0, t1]).all() and t0 <= t1):
        raise ModelError(f"t_span: got ({t0}, {t1}), expected finite times with t0 <= t1")
    if step is not None and not (np.isfinite(step) and step > 0):
        raise ModelError(f"step: got {step}, expected a positive number of seconds")
    if has_fixed_steps(method) and step is None:
        raise ModelError(f"method {method!r} has a fixed step: give step=")
    if has_fixed_steps(method) and step is not None and t1 - t0 > step * MOST_STEPS:
        raise ModelError(
            f"step: got {step:g} s for a run of {t1 - t0:g} s, which takes more than {MOST_STEPS:g} steps; take longer "
            "steps, or an adaptive method"
        )
    if not (np.isfinite(rtol) and rtol >= 0):
        raise ModelError(f"rtol: got {rtol}, expected a number >= 0")
    weights = np.array(np.broadcast_to(np.asarray(atol, dtype=float), (problem.n,)))
    if not (weights >= 0).all() or not (weights + rtol > 0).all():
        raise ModelError("atol: expected numbers >= 0, and > 0 where rtol is 0")
    start = _vector("x0", x0, problem.n)
    parameters = _vector("p", np.zeros(problem.n_parameters) if p is None else p, problem.n_parameters)
    plan = make_plan(t0, t1, np.asarray(breaks, dtype=float).ravel(), samples, hold, jumps)
    if samples and plan.first + plan.table.shape[1] > problem.n_parameters:
        end = plan.first + plan.table.shape[1]
        raise ModelError(f"samples fill p[{plan.first}:{end}], but there are {problem.n_parameters} parameters")
    times = _output_times(outputs, t0, t1)
    return Settings(
        t0=t0, t1=t1, x0=start, p=parameters, outputs=times, method=method, rtol=float(rtol), atol=weights, step=step,
        plan=plan, hold=hold, jumps=jumps,
    )  # fmt: skip


def _vector(name: str, values: npt.ArrayLike, size: int) -> Array:
    vector = np.array(values, dtype=float)
    if vector.shape != (size,) or not np.isfinite(vector).all():
        raise ModelError(f"{name}: got shape {vector.shape}, expected {size} finite numbers")
    return vector


def _output_times(outputs: npt.ArrayLike | None, t0: float, t1: float) -> Array | None:
    if outputs is None:
        return None
    times = np.array(outputs, dtype=float)
    slack = 1e-9 * (t1 - t0) + 4 * np.spacing(max(abs(t0), abs(t1)))
    if times.ndim != 1 or not (np.diff(times) > 0).all():
        raise ModelError(f"outputs: got shape {times.shape}, expected strictly rising times")
    if len(times) and not (times[0] >= t0 - slack and times[-1] <= t1 + slack):
        raise ModelError(f"outputs: got times from {times[0]} to {times[-1]}, expected them within [{t0}, {t1}]")
    return np.asarray(np.clip(times, t0, t1))
