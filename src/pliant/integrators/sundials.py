"""The multistep methods of SUNDIALS, `adams` and `bdf`, through CasADi's interface to CVODES."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from pliant.algebra.quaternions import normalize
from pliant.arrays import Array
from pliant.base.interrupts import TimeOver, pending, require_time, time_limit
from pliant.base.stages import working_time
from pliant.compute.tape import one_sided_time
from pliant.errors import ModelError
from pliant.integrators.problem import Problem
from pliant.integrators.solution import EventLog, Failure, Solution, Stats, Status, breakdown, stopped
from pliant.integrators.state import RunPlan
from pliant.integrators.step_loops.loop_state import LoopStatus

if TYPE_CHECKING:
    import casadi as ca

    from pliant.integrators.settings import Settings

MULTISTEP = ("adams", "bdf")
CHUNKS = 20  # calls into CVODES between two breaks, so that Ctrl-C is heard; each restarts at order one, so not more
MOST_CHUNKS = 200  # of a run
FIRST = 1e-6  # part of a limited run in its first call
GROWTH = 4.0  # of its calls, until one takes
LONG = 0.1  # seconds, or an eighth of the steps that are left
DEFAULT_ROWS = 501


class _Multistep:
    """CVODES on one problem, with counts of its steps and evaluations.

    An integrator of CasADi is made for fixed output times and takes long to make. Here it runs over the fraction
    s = (t - start)/length of a call, so that one integrator serves all calls of equal length with rows at the same
    fractions. Last states without a tolerance on which nothing depends (the work) are quadratures: they shorten no
    step.
    """

    def __init__(self, problem: Problem, run: Settings, smallest: float) -> None:
        import casadi as ca

        if problem.expression is None:
            raise ModelError(f"method {run.method!r} needs Problem.expression, a casadi.Function f(t, x, p)")
        is_function = isinstance(problem.expression, ca.Function)
        f: Any = problem.expression if is_function else problem.expression()
        used = np.unique(f.jac_sparsity(0, 1).get_triplet()[1])  # states on which f depends
        self.n = int(max(np.flatnonzero(np.isfinite(run.atol)).max(initial=0), used.max(initial=0))) + 1
        s, x, p = ca.MX.sym("s"), ca.MX.sym("x", self.n), ca.MX.sym("p", problem.n_parameters)
        start, length, early, late = (ca.MX.sym(name) for name in ("start", "length", "early", "late"))
        t = ca.fmax(ca.fmin(start + s * length, late), early)
        rates = length * f(t, ca.vertcat(x, ca.DM.zeros(problem.n - self.n)), p)
        self._make = ca.integrator
        self.dae: dict[str, Any] = {
            "t": s, "x": x, "p": ca.vertcat(p, start, length, early, late), "ode": rates[: self.n],
            "quad": rates[self.n :],
        }  # fmt: skip
        finite = run.atol[np.isfinite(run.atol)]
        self.options: dict[str, Any] = {
            "linear_multistep_method": run.method,
            "reltol": run.rtol,
            "abstol": float(finite.min(initial=1.0)),
            "max_num_steps": 1_000_000,
            "show_eval_warnings": False,
            "disable_internal_warnings": True,
        }
        self.steps = {"min_step_size": smallest, **({"max_step_size": run.step} if run.step else {})}
        self.counts = {"nsteps": 0, "netfails": 0, "nfevals": 0, "nlinsetups": 0}
        self._made: dict[tuple[float, ...], ca.Function] = {}

    @property
    def attempts(self) -> int:
        """Steps, those that were refused included."""
        return self.counts["nsteps"] + self.counts["netfails"]

    def advance(self, t: float, x: Array, p: Array, times: Array) -> Array:
        """States (M, n) at the given times after t; f may jump at t and at the last of them."""
        length = float(times[-1] - t)
        key = (float(f"{length:.11e}"), *((times - t) / length).round(11).tolist())
        if key not in self._made:
            steps = {name: value / length for name, value in self.steps.items()}
            self._made[key] = self._make("multistep", "cvodes", self.dae, 0.0, list(key[1:]), self.options | steps)
        call = [t, length, one_sided_time.after(t), one_sided_time.before(times[-1])]
        integrator = self._made[key]
        found = integrator(x0=x[: self.n], p=np.concatenate([p, call]))
        states = np.hstack([np.array(found["xf"]).T, x[self.n :] + np.array(found["qf"]).T])
        for name in self.counts:
            self.counts[name] += int(integrator.stats().get(name, 0))
        return states


def solve_sundials(
    problem: Problem, run: Settings, progress: Callable[[float], None] | None, max_steps: int | None = None
) -> Solution:
    """Run adams or bdf over the segments of the plan. Without `outputs` there are 501 rows at equal distances.

    A run with a limit of steps or time begins with short calls, which grow while they are quick; the call in which the
    steps are over is left out.
    """
    begin = working_time()
    t0, t1, plan, hold, jumps = run.t0, run.t1, run.plan, run.hold, run.jumps
    multistep = _Multistep(problem, run, 4 * float(np.spacing(max(abs(t0), abs(t1)))))
    times = np.linspace(t0, t1, DEFAULT_ROWS) if run.outputs is None else run.outputs
    rows = np.empty((len(times), problem.n))
    done = int(np.searchsorted(times, t0, side="right"))
    rows[:done] = run.x0
    t, x, p = t0, run.x0.copy(), run.p.copy()
    status: Status = "finished"
    message, failure = "", None
    try:
        _sample(plan, plan.row_at_start, p)
        if hold and plan.held_at_start:
            hold.function(t, x.copy(), p)
        limited = max_steps is not None or time_limit() is not None
        length, ends = FIRST * (t1 - t0) if limited else np.inf, _stops(t0, plan.breaks, times)
        while t < t1:
            require_time()
            stop = _end(t, t + length, ends[np.searchsorted(ends, t, side="right")], times)
            before, began = multistep.attempts, time.perf_counter()
            wanted = times[done : np.searchsorted(times, stop, side="right")]
            grid = wanted if len(wanted) and wanted[-1] == stop else np.append(wanted, stop)
            states = normalize(multistep.advance(t, x, p, grid), problem.quaternions)
            if limited:
                left = np.inf if max_steps is None else max_steps - multistep.attempts
                if left < 0:
                    status, message = "stopped", stopped(f"limit of {max_steps} steps", t)
                    break
                quick = time.perf_counter() - began < LONG and 8 * (multistep.attempts - before) < left
                length *= GROWTH if quick else 1.0 / GROWTH
            rows[done : done + len(wanted)] = states[: len(wanted)]
            t, x, done = stop, states[-1], done + len(wanted)
            if not np.isfinite(x).all():
                raise RuntimeError("the state stopped being finite")
            if x[-1] > problem.ceiling:
                status, message = "failed", breakdown(LoopStatus.RUNAWAY, t1, 0.0)[1]
                failure = Failure("runaway", t, float("nan"), problem.n - 1)
                break
            if stop in plan.breaks[:-1]:
                at = int(np.searchsorted(plan.breaks, stop))
                _sample(plan, int(plan.which[at]), p)
                if jumps and plan.jumps[at] >= 0:
                    x = jumps.function(int(plan.jumps[at]), x, p)
                    rows[done - 1 : done][times[done - 1 : done] == stop] = x
                if hold and plan.holds[at]:
                    hold.function(t, x.copy(), p)
            if progress:
                progress(t)
            if pending():
                raise KeyboardInterrupt
    except KeyboardInterrupt:
        status, message = "interrupted", f"interrupted at t = {t:.6g}"
    except TimeOver as over:
        status, message = "stopped", stopped(str(over), t)
    except RuntimeError as error:  # what CasADi raises when CVODES gives up
        status, failure = "failed", Failure("sundials", t, float("nan"), -1)
        message = f"SUNDIALS gave up after t = {t:.6g}: {str(error).strip().splitlines()[-1]}"
    c = multistep.counts
    wall = working_time() - begin
    stats = Stats(
        method=run.method, reason="asked for", steps=c["nsteps"], rejected=c["netfails"], rhs=c["nfevals"], jacobians=0,
        factorizations=c["nlinsetups"], wall=wall,
    )  # fmt: skip
    log = EventLog(np.empty(0), np.empty((0, problem.n)), np.empty(0, np.int64))
    return Solution(
        t=times[:done], x=rows[:done], status=status, message=message, stats=stats, t_end=t, x_end=x, events=log,
        failure=failure,
    )  # fmt: skip


def _stops(t0: float, breaks: Array, rows: Array) -> list[float]:
    """Ends of the calls: every break, and between breaks every m-th row, or equal parts where there are few rows."""
    found: list[float] = []
    count = max(1, min(CHUNKS, MOST_CHUNKS // len(breaks)))
    for start, end in zip([t0, *breaks[:-1]], breaks):
        inside = rows[(rows > start) & (rows < end)]
        every = max(1, -(-len(inside) // count))
        parts = inside[every - 1 :: every] if len(inside) >= count else np.linspace(start, end, count + 1)[1:-1]
        found += [*parts.tolist(), float(end)]
    return found


def _end(t: float, farthest: float, stop: float, rows: Array) -> float:
    """End of the next call: `stop`, or, where that lies beyond the farthest time, the last row before it, or it."""
    if farthest >= stop:
        return stop
    inside = rows[np.searchsorted(rows, t, side="right") : np.searchsorted(rows, farthest, side="right")]
    return float(inside[-1]) if len(inside) else farthest


def _sample(plan: RunPlan, row: int, p: Array) -> None:
    if row >= 0:
        p[plan.first : plan.first + plan.table.shape[1]] = plan.table[row]
