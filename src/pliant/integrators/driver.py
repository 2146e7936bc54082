"""`solve`: one run from start to end, in chunks short enough for Ctrl-C and a progress bar."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from pliant.algebra.tableaux import EXPLICIT
from pliant.algebra.tableaux import explicit as tableau_of
from pliant.arrays import Array
from pliant.base.interrupts import TimeOver, pending, require_time, time_limit
from pliant.base.stages import working_time
from pliant.errors import ModelError, UnsupportedModel
from pliant.integrators.methods import MethodLoop, first_guess, has_fixed_steps, least_step, make_loop
from pliant.integrators.problem import Events, Hold, Jumps, Problem, SampledInput, StageCallback
from pliant.integrators.settings import Settings, prepare
from pliant.integrators.solution import EventLog, Failure, Solution, Stats, Status, Stiffness, breakdown, stopped
from pliant.integrators.state import Rows, State
from pliant.integrators.step_loops.loop_state import Clock, LoopStatus, Tally
from pliant.integrators.stiffness import CHEAP_STEPS, LEAST_GAIN, choose, difference_jacobian, measure
from pliant.integrators.sundials import MULTISTEP, solve_sundials

CHUNK_SECONDS = 0.15
ASKED = "asked for"
"""Reason given for a method that `auto` did not choose."""
CRAWL_NOISE = 30.0  # a crawling explicit run shakes the stiff modes by its own error, about the tolerance
NEVER = np.iinfo(np.int64).max


def solve(
    problem: Problem,
    t_span: tuple[float, float],
    x0: npt.ArrayLike,
    *,
    method: str = "auto",
    rtol: float = 1e-8,
    atol: npt.ArrayLike = 1e-10,
    step: float | None = None,
    outputs: npt.ArrayLike | None = None,
    p: npt.ArrayLike | None = None,
    samples: SampledInput | None = None,
    hold: Hold | None = None,
    breaks: Sequence[float] | Array = (),
    jumps: Jumps | None = None,
    callback: StageCallback | None = None,
    n_callback: int = 0,
    events: Events | None = None,
    progress: Callable[[float], None] | None = None,
    max_steps: int | None = None,
) -> Solution:
    """Integrate a problem from t_span[0] to t_span[1].

    Parameters
    ----------
    problem : Problem
    t_span : (t0, t1) with t0 <= t1
    x0 : (n,)
    method : str
        ``rk4`` and ``midpoint`` (fixed step), ``dopri5``, ``dop853``, ``rodas5p`` (adaptive), ``adams``, ``bdf``
        (SUNDIALS), or ``auto``.
    rtol, atol : float, and float or (n,)
        Local error per step; a coordinate with infinite `atol` is not controlled.
    step : float, optional
        The step of a fixed-step method (shortened so that every stretch between breaks is divided evenly); the largest
        step of an adaptive one.
    outputs : (M,), optional
        Times of the rows wanted, by dense output, without effect on the steps. Without it there is a row at every step.
    p : (n_parameters,), optional
        Values of p at the start, default 0.
    samples, hold : optional
        Piecewise constant input from a table, or from a Python function called at sample times.
    breaks : sequence of float
        Further times at which f is not smooth; steps end exactly there.
    jumps : Jumps, optional
        Times at which the state itself jumps; a row at such a time shows the state behind the jump.
    callback, n_callback : optional
        `callback(t, x, p)` is called at every stage and fills p, a view of the first `n_callback` parameters.
        An exception in it stops the run and is raised again here. x is a view that changes later: copy what you keep.
    events : Events, optional
    progress : callable, optional
        Called with the time reached, a few times per second and at the end.
    max_steps : int, optional
        Stop after so many steps, those that were refused included; where only `adams` and `bdf` see it: at the last of
        their calls that stays below.

    Returns
    -------
    Solution
        A run that breaks down, meets `max_steps` or the time limit of `pliant.base.interrupts`, or is interrupted by
        Ctrl-C, comes back with what it has, as "failed", "stopped" or "interrupted".
    """
    begin = working_time()
    run = prepare(
        problem, t_span, x0, method=method, rtol=rtol, atol=atol, step=step, outputs=outputs, p=p, samples=samples,
        hold=hold, breaks=breaks, jumps=jumps,
    )  # fmt: skip
    if method in MULTISTEP:
        if problem.closing:
            raise UnsupportedModel(
                f"method {method!r} does not close loops after its steps; use dop853, dopri5, rodas5p, rk4 or midpoint"
            )
        if problem.meets:
            raise UnsupportedModel(
                f"method {method!r} may step over what the arm meets (contacts, stops, cables, ends of cylinders); use "
                "dop853, dopri5 or rodas5p"
            )
        if callback is not None or events is not None:
            raise UnsupportedModel(
                f"method {method!r} has neither events nor a Python function at every stage; "
                "use dop853, dopri5 or rodas5p, or sample and hold the function"
            )
        return solve_sundials(problem, run, progress, max_steps)
    state = State(problem, run.t0, run.x0, run.p, callback, n_callback)
    rows = Rows(problem.n, run.outputs, events)
    driver = _Driver(run, state, rows, progress, max_steps)
    return driver.solution(driver.drive(), working_time() - begin)


class _Driver:
    """Call the compiled loop chunk by chunk, and act on the status that it returns."""

    def __init__(
        self, run: Settings, state: State, rows: Rows, progress: Callable[[float], None] | None, max_steps: int | None
    ) -> None:
        self.run, self.state, self.rows = run, state, rows
        self.progress, self.max_steps = progress, max_steps
        self.method = run.method
        self.explicit = "dopri5" if run.rtol > 1e-5 else "dop853"
        self.reason = ASKED
        self.stiffness: Stiffness | None = None
        self.message = ""
        self.failure: Failure | None = None
        self._last_report = time.perf_counter()

    # ------------------------------------------------------------ start

    def _start(self) -> bool:
        """Set p at the start, choose the method and the first step. False: f is not finite at the start."""
        state, run = self.state, self.run
        if run.plan.row_at_start >= 0:
            width = run.plan.table.shape[1]
            state.p[run.plan.first : run.plan.first + width] = run.plan.table[run.plan.row_at_start]
        if run.hold and run.plan.held_at_start:
            state.hold(run.hold)
        self.rows.start(state, run.t0)
        slope = state.evaluate(run.t0, run.x0)
        if not np.isfinite(slope).all():
            self._fail(
                "non-finite", int(np.argmin(np.isfinite(slope))), 0.0, "the derivative is not finite at the start"
            )
            return False
        m = state.problem.n_positions
        if not np.array_equal(slope[:m], run.x0[m : 2 * m]):
            raise ModelError(f"n_positions = {m}: the first {m} derivatives must be exactly the next {m} states")
        state.clock[Clock.H_MIN] = least_step(run.t0, run.t1)
        state.clock[Clock.H_MAX] = run.step or np.inf
        state.tally[Tally.CHECK_AT] = NEVER
        if self.method == "auto":
            self.method, self.reason = self._decide()
            state.tally[Tally.CHECK_AT] = 0
        fixed = has_fixed_steps(self.method)
        state.clock[Clock.H] = (
            run.step if fixed else first_guess(state, self.method, run.t1 - run.t0, slope, run.rtol, run.atol)
        )
        return True

    # ------------------------------------------------------------ auto

    def _measure(self, explicit: str, span: float, noise: float = 1.0) -> Stiffness:
        state, run = self.state, self.run
        t, x = float(state.clock[Clock.T]), state.x.copy()
        tableau = tableau_of(explicit)
        return measure(
            difference_jacobian(lambda z: state.evaluate(t, z), x),
            state.evaluate(t, x),
            x,
            span=max(span, 1e-300),
            rtol=run.rtol,
            atol=run.atol,
            n_positions=state.problem.n_positions,
            stability=tableau.stability,
            order=tableau.order,
            noise=noise,
        )

    def _decide(self, noise: float = 1.0) -> tuple[str, str]:
        self.stiffness = self._measure(self.explicit, self.run.t1 - float(self.state.clock[Clock.T]), noise)
        return choose(self.stiffness, self.explicit)

    def _recheck(self) -> bool:
        """Choose the method again when an explicit run crawls; return whether it changed."""
        state = self.state
        method, reason = self._decide(CRAWL_NOISE)
        state.tally[Tally.CHECK_AT] = 2 * state.tally[Tally.STEPS] + 1000
        if method == self.method:
            return False
        self.method, self.reason = method, f"changed at t = {state.clock[Clock.T]:.6g}: {reason}"
        state.tally[Tally.FRESH] = 1
        return True

    # ------------------------------------------------------------ the run

    def drive(self) -> Status:
        """Run to the end; rows computed so far stay in the buffers whatever happens."""
        try:
            if not self._start():
                return "failed"
            if self.run.t1 == self.run.t0:
                return self._finish("finished", "nothing to integrate")
            return self._loop()
        except KeyboardInterrupt:
            return self._finish("interrupted", f"interrupted at t = {self.state.clock[Clock.T]:.6g}")
        except TimeOver as over:
            return self._finish("stopped", stopped(str(over), float(self.state.clock[Clock.T])))

    def _loop(self) -> Status:
        state = self.state
        stepper = self._stepper()
        limited = time_limit() is not None
        most = 1 if limited and self.state.callback else NEVER  # a Python function may take seconds at any stage
        budget = 1 if limited else 32
        while True:
            attempts = int(state.tally[Tally.STEPS] + state.tally[Tally.REJECTED])
            allowed = min(budget, most) if self.max_steps is None else min(budget, most, self.max_steps - attempts)
            if allowed <= 0:
                return self._finish("stopped", stopped(f"limit of {attempts} steps", float(state.clock[Clock.T])))
            begin = time.perf_counter()
            status = stepper.advance(allowed)
            end = time.perf_counter()
            if status == LoopStatus.RUNNING:
                budget = int(budget * min(8.0, max(0.25, CHUNK_SECONDS / (end - begin)))) + 1
            elif status == LoopStatus.ROOM:
                self.rows.grow()
                stepper.refresh()
            elif status == LoopStatus.HOLD:
                self._at_break()
            elif status == LoopStatus.STIFF:
                stepper = self._stepper() if self._recheck() else stepper
            else:
                return self._end(status)
            if pending():
                raise KeyboardInterrupt
            require_time()
            if end - self._last_report > CHUNK_SECONDS:
                self._report()
                self._last_report = end

    def _at_break(self) -> None:
        """Act at the break that was just crossed: let the state jump, then call the held function."""
        run, state, plan = self.run, self.state, self.run.plan
        at = int(state.tally[Tally.BREAK]) - 1
        if run.jumps is not None and plan.jumps[at] >= 0:
            state.x[:] = run.jumps.function(int(plan.jumps[at]), state.x.copy(), state.p)
            self.rows.amend(state)
        if run.hold is not None and plan.holds[at]:
            state.hold(run.hold)

    def _stepper(self) -> MethodLoop:
        return make_loop(self.method, self.state, self.run.plan, self.rows, self.run.rtol, self.run.atol)

    def _report(self) -> None:
        if self.progress:
            self.progress(float(self.state.clock[Clock.T]))

    def _end(self, status: int) -> Status:
        clock = self.state.clock
        worst, tried = int(self.state.tally[Tally.WORST]), float(clock[Clock.TRIED])
        if status == LoopStatus.DONE:
            return self._finish("finished", "")
        if status == LoopStatus.EVENT:
            return self._finish("event", f"stopped by an event at t = {clock[Clock.T]:.6g}")
        if status == LoopStatus.CALLBACK:
            self.state.raise_again()
        kind, words = breakdown(status, self.run.t1, float(clock[Clock.H_MIN]))
        self._fail(kind, worst, tried, words)
        return "failed"

    def _fail(self, kind: str, index: int, step: float, message: str) -> None:
        t = float(self.state.clock[Clock.T])
        self.failure = Failure(kind, t, step, index)  # type: ignore[arg-type]
        self.message = f"{message} at t = {t:.6g}, step {step:.3g}, coordinate {index}"

    def _finish(self, status: Status, message: str) -> Status:
        self.message = message
        if status != "interrupted":
            self._report()
        return status

    # ------------------------------------------------------------ the result

    def solution(self, status: Status, wall: float) -> Solution:
        """Result from the contents of the buffers."""
        tally, rows = self.state.tally, self.rows
        count, logged = int(tally[Tally.ROWS]), int(tally[Tally.LOGGED])
        order = np.argsort(rows.log_t[:logged], kind="stable")
        events = EventLog(rows.log_t[order], rows.log_x[order], rows.log_event[order])
        whole = count == len(rows.t)
        t, x = (rows.t, rows.x) if whole else (rows.t[:count].copy(), rows.x[:count].copy())
        t_end, x_end = float(self.state.clock[Clock.T]), self.state.x.copy()
        stats = self._stats(status, wall)
        return Solution(
            t=t, x=x, status=status, message=self.message, stats=stats, t_end=t_end, x_end=x_end, events=events,
            failure=self.failure,
        )  # fmt: skip

    def _stats(self, status: Status, wall: float) -> Stats:
        tally = self.state.tally
        crawling = False
        adaptive = self.method in EXPLICIT and not has_fixed_steps(self.method)
        if adaptive and 15 * tally[Tally.CRAWL] > max(0.2 * tally[Tally.STEPS], 100):
            found = self._measure(self.method, self.run.t1 - self.run.t0, CRAWL_NOISE)
            crawling = bool(found.explicit_steps > CHEAP_STEPS and found.gain >= LEAST_GAIN)
            self.stiffness = found if crawling or self.stiffness is None else self.stiffness
        return Stats(
            method=self.method, reason=self.reason, steps=int(tally[Tally.STEPS]), rejected=int(tally[Tally.REJECTED]),
            rhs=int(tally[Tally.RHS]), jacobians=int(tally[Tally.JACOBIANS]), factorizations=int(tally[Tally.LUS]),
            wall=wall, crawling=crawling, stiffness=self.stiffness, over=int(tally[Tally.OVER]),
        )  # fmt: skip
