"""`simulate`: dynamics, controller, torques, loads and prescribed motion put together as one expression and stepped.

They make a single function xdot = f(t, x, p), traced and compiled like any other: state x = [free q, their rates,
controller states, drive states, work], inputs p = [held torques, samples, parameters of the model].
Controllers and trajectories are seen only through their expressions; the integrators see only addresses.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from pliant.arrays import Array, StateLike
from pliant.base.interrupts import TimeLimit, held_back, interruptible
from pliant.base.later import LaterModule
from pliant.base.signatures import checked
from pliant.base.stages import listening, prepared, reporter, stage
from pliant.errors import Interrupted, ModelError, SimulationError, warn_user
from pliant.integrators.driver import solve
from pliant.integrators.methods import has_fixed_steps
from pliant.integrators.problem import Events, Jumps
from pliant.integrators.solution import EventLog, Solution
from pliant.integrators.step_loops.loop_state import EventKind
from pliant.integrators.sundials import MULTISTEP
from pliant.model.damping_drift import drifted_rows
from pliant.model.model import Model
from pliant.model.robot import Robot, model_of
from pliant.model.stiffening.stiffening_order import is_checked
from pliant.model.validity import in_a_run, tell
from pliant.options import MethodName
from pliant.protocols import Control, MovingBase, PrescribedMotion, Torque
from pliant.simulation.runs.checks.advice import MANY_STEPS, advice
from pliant.simulation.runs.checks.energy_balance import ALLOWED, STATUS, balance_of
from pliant.simulation.runs.checks.limits import contact_events, gear_events, joint_limits, passing_words
from pliant.simulation.runs.checks.runaway import breakdown_message, ceiling, ran_away
from pliant.simulation.runs.equations.composition import Composition, Event, compose
from pliant.simulation.runs.equations.rate_jumps import Impulses
from pliant.simulation.runs.inputs import Inputs, listed, one_table, read_breaks, read_start, read_torque
from pliant.simulation.runs.quantities.measured_series import MeasuredSeries
from pliant.simulation.runs.results import Readings, Result

if TYPE_CHECKING:
    from pliant.control.sensing.sensors import Sensor
    from pliant.mechanics.loads.wrenches import Load
    from pliant.simulation.runs.checks import neglected_terms
    from pliant.simulation.runs.quantities import measured_channels
else:  # they make expressions
    neglected_terms, measured_channels = (
        LaterModule(f"pliant.{name}")
        for name in ("simulation.runs.checks.neglected_terms", "simulation.runs.quantities.measured_channels")
    )

MOST_ROWS = 1e7
"""Rows of a result, at most: more would fill the memory."""
LONGEST = 1e9
"""Seconds of a run, at most (32 years): later, a double tells times apart to a tenth of a microsecond only."""
SEEN = 50
"""Rows of the result of a run that ran away, at least."""


@checked
def simulate(
    model: Model | Robot,
    t_end: float,
    q0: StateLike | None = None,
    qd0: ArrayLike | Mapping[str, ArrayLike | Mapping[str, ArrayLike]] | None = None,
    torque: Torque | None = None,
    controller: Control | None = None,
    motion: Mapping[str, PrescribedMotion] | None = None,
    method: MethodName = "auto",
    rtol: float = 1e-8,
    atol: float = 1e-10,
    step: float | None = None,
    output_step: float | None = None,
    progress: bool | Callable[[float], None] | None = None,
    *,
    loads: Sequence[Load] | Load = (),
    base: MovingBase | None = None,
    sample_time: float | None = None,
    events: Sequence[Event] = (),
    limits: bool = True,
    p: ArrayLike | None = None,
    breaks: Sequence[float] = (),
    equilibrium: bool = False,
    sensors: Sequence[Sensor] = (),
    time_limit: float | None = None,
    max_steps: int | None = None,
) -> Result:
    """Run an arm from a state and return its history.

    Parameters
    ----------
    model : Model or Robot
    t_end : float
        Duration, seconds.
    q0, qd0 : optional
        State at the start: a mapping from names of coordinates to values, the joints `(n_joints,)`, or all coordinates
        `(n,)`. Coordinates that are not given are those of the undeformed arm at rest (a sliding beam has its free
        length). Motors of elastic drives that are not given stand and turn with their joints. Prescribed coordinates
        begin on their paths. Their rate before the start is the one named in `qd0`, or else that of the path before
        t = 0. A jump from there is an impulse on all that is free. "equilibrium" is static rest with the joints at
        zero. An angle may be text, as "90 deg".
    torque : optional
        Constant `(n_joints,)` or a mapping from joints to numbers; samples `(times, values)` with values
        `(K, n_joints)` or a mapping from joints to `(K,)`, linear in between (or `(times, values, "cubic")`,
        `"hold"`); a function of `(t, q, qd)`, called at every stage unless
        `sample_time` is given; or anything with `.expression(t, q, qd)` in CasADi operations, which is compiled into
        the run.
    controller : optional
        Like `torque`, and added to it; or an object of `pliant.control`.
    motion : mapping, optional
        Prescribed coordinates by name (a joint, or `joint.motor`), each a trajectory or a function of t in CasADi
        operations that returns the position. A prescribed joint is moved on its link side, and the motor of an elastic
        drive follows through its spring. The torque that the motion needs is in the result.
    method : str
        "auto", or one of `pliant.integrators.METHODS`.
    rtol, atol : float
        Local error of adaptive methods.
    step : float, optional
        Step of fixed-step methods, largest step of adaptive ones.
    output_step : float, optional
        Spacing of the result; by default t_end / 1000 (every step of a fixed-step method if that is coarser).
    progress : bool or callable, optional
        By default long runs in a terminal show a bar, and before it tracing and compiling if these take longer than a
        second. False shows nothing. A function is called with the fraction done.
    loads : sequence, optional
        Objects of `pliant.loads`: wrenches, distributed loads.
    base : optional
        Motion of the base, see `pliant.loads.Base`.
    sample_time : float, optional
        Call a Python torque or controller function this often and hold its value.
    events : sequence of Event, optional
        Conditions to record or to stop at.
    limits : bool
        Stop where a joint leaves the limits that the robot file gives it: at once, if it starts beyond one, or at one
        and moving out.
    p : (P,) array, optional
        Values of the model's parameters.
    breaks : sequence of float
        Times at which a Python function jumps or has a kink: steps end there, and either side is seen as it is.
        Trajectories, samples and loads declare theirs; comparisons of the time in CasADi operations are found. A
        prescribed rate may jump at a break, which is an impulse on all that is free; elsewhere such a jump is an error.
    equilibrium : bool
        Let amplitudes and motors that `q0` does not name settle first, under gravity and the loads at t = 0.
    sensors : sequence of Sensor
        Objects of `pliant.control` that read the run, each at its own times: `result.measured`. A controller reads
        sensors of its own.
    time_limit : float, optional
        Seconds of the clock that the call may take. Compiling counts, and is not waited for when the time is over. A
        step that has begun is finished, with its calls of a Python function, and so is one call of CasADi that traces.
    max_steps : int, optional
        Steps of the integrator that the run may take, refused ones included.

    Returns
    -------
    Result
        Up to `t_end` or the first stopping event (`result.stats.status` says which). Status "energy error" and a
        warning say that the energy of the arm changed by more than the work done on it, by 1 % of what moved or more:
        steps were too long, and the run is wrong. Status "stopped" and a warning say that `time_limit` or `max_steps`
        was reached; `result.stats.message` names it and the time of the last row.

    Raises
    ------
    SimulationError
        The run broke down, or its drives ran away with the arm: the message names the time, the coordinate or joint,
        and the likely cause; `error.result` holds what was computed. Or `time_limit` was over before there was a
        result.
    Interrupted
        Ctrl-C, a KeyboardInterrupt; `.result` holds what was computed, a finished run included.

    Examples
    --------
    >>> model = pliant.load("two-link").model()
    >>> result = pliant.simulate(model, 0.1, q0={"upper": 0.3}, torque=[10.0, 0.0])
    >>> result.stats.status, result.q.shape
    ('finished', (1001, 4))
    >>> bool(np.abs(result.energy_balance).max() < 1e-5)
    True
    """
    model = model_of(model)
    with interruptible("simulate"), listening(None) if progress is False else nullcontext():
        deadline = TimeLimit(time_limit)
        _check_options(model, t_end, method, output_step, sample_time, time_limit=time_limit)
        require_count("max_steps", max_steps)
        begun = prepared()
        with deadline.holds("simulate"), stage(f"preparing a run of {model.robot.name}"):
            if model.level.can_rise:
                model = neglected_terms.fitted_to_start(
                    model, q0, qd0, listed(loads), p, t_end, motion=motion, base=base
                )
            drives = [read_torque(model, torque, "torque"), read_torque(model, controller, "controller")]
            if p is not None:
                tell(model, drifted_rows(model, p))
            acting, sampled = listed(loads), one_table(*drives) is not None
            composed = compose(
                model, drives[0].traced, drives[1].traced, motion or {}, acting, base, has_table=sampled, tuned=True,
                looked_up=True, closed=True,
            )  # fmt: skip
            inputs = Inputs(model, composed, drives, p, sample_time)
            hold = inputs.hold(t_end)
            on_paths, before = composed.on_paths, composed.before_start
            q, qd, work = read_start(model, q0, qd0, equilibrium, acting, p, placed=on_paths, before=before)
            x0 = composed.start(q, qd, inputs.at_start(q, qd) if composed.n_drive_states else None)
            x0[-1] = 0.0 if work is None else work
            bounds = joint_limits(model, limits)
            met = [*contact_events(model), *(gear_events(model) if method not in MULTISTEP else ())]
            watch = _watched(composed, [*events, *(limit.event for limit in bounds), *met])
            fixed = step if has_fixed_steps(method) else None
            called = inputs.called_over(q, qd) if inputs.callback is not None else None
            stops = composed.breaks(t_end, read_breaks(breaks), inputs.parameters, called, fixed)
            impulses = None
            if composed.prescribed:
                impulses = replace(composed.impulses(stops, t_end), at_start=work is not None)
            left = [k for k, limit in enumerate(bounds, len(events)) if limit.left(*composed.full_state(0.0, x0))]
            problem = replace(composed.problem(), ceiling=float(ceiling(composed, inputs.functions, qd, float(t_end))))
        end = 0.0 if left else float(t_end)
        rows = _output_times(t_end, output_step) if end else np.zeros(1)
        watching = measured_channels.Watching(model, sensors, composed, rows, end) if len(sensors) else None
        with reporter(progress, t_end) as report, held_back() as interrupt:
            run = partial(
                solve, problem, x0=x0, method=method, rtol=rtol, atol=composed.tolerances(atol), step=step, p=inputs.p,
                samples=inputs.samples, hold=hold, breaks=stops, jumps=_jumps(composed, impulses),
                callback=inputs.callback, n_callback=inputs.n_callback, events=watch.kernel if watch else None,
                progress=report, max_steps=max_steps,
            )  # fmt: skip
            with deadline.holds("simulate"):
                solution = whole = run((0.0, end), outputs=rows if watching is None else watching.outputs)
            if watching is not None:
                solution, whole = watching.split(whole)
            if ran_away(solution) and len(solution.t) < SEEN and hold is None:  # too soon for rows of the whole run
                again = run((0.0, solution.t_end), outputs=np.linspace(0.0, solution.t_end, SEEN))
                solution = replace(solution, t=again.t, x=again.x)
            if left:
                limit = bounds[left[0] - len(events)]
                tell(model, {f"start {limit.name}": limit.told(q)})
                log = EventLog(np.zeros(1), x0[None], np.array(left[:1]))
                solution = replace(solution, status="event", message="stopped by an event at t = 0", events=log)
            measured = {} if watching is None else watching.read(whole, inputs, impulses)
            result = _finish(
                composed=composed, inputs=inputs, watch=watch, impulses=impulses, x0=x0, solution=solution,
                compiled=prepared() - begun, measured=measured,
            )  # fmt: skip
        if interrupt.came or solution.status == "interrupted":
            told = solution.message or "interrupted when the run had finished"
            raise Interrupted(f"simulate: {told}; what was computed is `.result` of this", result)
        return result


def _jumps(composed: Composition, impulses: Impulses | None) -> Jumps | None:
    """Jumps of the state where prescribed rates jump."""
    if impulses is None or not len(impulses.times):
        return None

    def behind(k: int, x: Array, p: Array) -> Array:
        t, kernel = impulses.behind(impulses.times[k : k + 1]), composed.impulse_kernel
        return np.asarray(kernel(t, x, p, impulses.before[k], impulses.after[k]))

    return Jumps(behind, impulses.times)


@dataclass(frozen=True)
class _Watch:
    """Events of a run and their names."""

    kernel: Events
    names: tuple[str, ...]
    fatal: tuple[bool, ...]


def _watched(composed: Composition, chosen: Sequence[Event]) -> _Watch | None:
    if not chosen:
        return None
    kernel = composed.event_kernel(tuple(chosen))
    direction = [event.direction for event in chosen]
    terminal = [EventKind.CUT if event.cut else int(event.stop) for event in chosen]
    found = Events(kernel.address, len(chosen), direction, terminal, owner=kernel)
    return _Watch(found, tuple(event.name for event in chosen), tuple(event.fatal for event in chosen))


def _finish(
    *,
    composed: Composition,
    inputs: Inputs,
    watch: _Watch | None,
    impulses: Impulses | None,
    x0: Array,
    solution: Solution,
    compiled: float,
    measured: dict[str, MeasuredSeries],
) -> Result:
    """Result of a solution, with warnings of what was found in it; raises `SimulationError` if the run failed."""
    model, solution = composed.model, _told_by_name(composed, solution)
    t = solution.t if impulses is None else impulses.behind(solution.t)
    q, qd, extra = composed.histories(t, solution.x)
    history = inputs.history(solution.t, q, qd)
    names = () if watch is None else tuple(watch.names[k] for k in solution.events.index)
    result = Result.from_run(
        model=model,
        solution=solution,
        q=q,
        qd=qd,
        work=extra[:, -1],
        parameters=inputs.parameters,
        events=names,
        readings=Readings(lambda: composed.torques(t, solution.x, history, inputs.parameters)),
        loads=composed.loads,
        base=composed.base,
        drives=extra[:, composed.n_states : -1] * model.layout.drive_units if composed.n_drive_states else None,
    )
    result = replace(result, stats=replace(result.stats, compile=compiled), measured=measured)
    if solution.status == "failed":
        raise SimulationError(breakdown_message(composed, inputs, x0, solution), result)
    if watch is not None and len(names) and solution.status == "event" and watch.fatal[int(solution.events.index[-1])]:
        raise SimulationError(
            f"{names[-1]} at t = {solution.t_end:.6g} s: the model does not hold beyond; "
            "end the run earlier or change the motion",
            result,
        )
    return _judged(result, composed, solution)


def _told_by_name(composed: Composition, solution: Solution) -> Solution:
    """Solution with finite rows only, closed by the state at which it ended, and with names in its messages."""
    if solution.failure is not None:  # the message tells what went off the scale; its rows are not kept
        good = np.isfinite(solution.x).all(axis=1)
        message = solution.message.replace(f", coordinate {solution.failure.index}", "")  # named elsewhere
        solution = replace(solution, t=solution.t[good], x=solution.x[good], message=message)
    if solution.t_end > solution.t[-1:].max(initial=0.0) and (solution.failure is None or ran_away(solution)):
        # an event, Ctrl-C or the stop of a runaway between two rows: its state closes the history
        t, x = np.append(solution.t, solution.t_end), np.vstack([solution.x, solution.x_end])
        solution = replace(solution, t=t, x=x)
    found = solution.stats.stiffness
    if found is None:
        return solution
    reason = solution.stats.reason.replace(f"(coordinate {found.index})", f"({composed.state_name(found.index)})")
    return replace(solution, stats=replace(solution.stats, reason=reason))


def _judged(result: Result, composed: Composition, solution: Solution) -> Result:
    """The result with its energy error; warn of what was found in it."""
    model = composed.model
    doubts = neglected_terms.judge_run(result) if is_checked(model) else {}
    result, lost = _balanced(result)
    if solution.stats.crawling or solution.stats.steps >= MANY_STEPS:
        tell(model, advice(composed, solution.stats))
    tell(model, in_a_run(model, result.q) | doubts)
    if solution.status == "stopped":
        warn_user(f"stopped: {solution.message}; the result ends there")
    if solution.stats.over:
        warn_user(passing_words(solution.stats.over))
    if lost:  # each time: it is about this run, not about the model
        warn_user(lost)
    return result


def _balanced(result: Result) -> tuple[Result, str]:
    """The result with its energy error, and the message if it is too large."""
    model, stats = result.model, result.stats
    if not (len(result) and model.n):
        return result, ""
    p = result.parameters if model.parameters else None
    found = balance_of(model, result.t, result.q[None], result.qd[None], result.work[None], p)
    part, lost = float(found.part[0]), ""
    stats = replace(stats, energy_error=part)
    if part > ALLOWED:
        lost = found.finding()
        status = STATUS if stats.status == "finished" else stats.status
        stats = replace(stats, status=status, message="; ".join(filter(None, [stats.message, lost])))
    return replace(result, stats=stats), lost


def _output_times(t_end: float, output_step: float | None) -> Array:
    count = 1000 if output_step is None else max(1, round(t_end / output_step))
    if output_step is not None and abs(count * output_step - t_end) > 1e-9 * t_end:
        times = np.arange(0.0, t_end, output_step)
        return np.append(times, t_end) if times[-1] < t_end else times
    return np.linspace(0.0, t_end, count + 1)


def require_span(t_end: float) -> None:
    """Raise `ModelError` if a run is so long that its times cannot be told apart."""
    if t_end > LONGEST:
        raise ModelError(
            f"t_end: got {t_end:g} s, expected at most {LONGEST:g} s (32 years), beyond which steps are lost in the "
            "rounding of the time; shorten the run"
        )


def require_count(name: str, value: int | None) -> None:
    """Raise `ModelError` if a number of steps is given and below one."""
    if value is not None and value < 1:
        raise ModelError(f"{name}: got {value!r}, expected 1 or more")


def _check_options(
    model: Model, t_end: float, method: str, output_step: float | None, sample_time: float | None,
    *, time_limit: float | None,
) -> None:  # fmt: skip
    seconds = {"t_end": t_end, "output_step": output_step, "sample_time": sample_time, "time_limit": time_limit}
    for name, value in seconds.items():
        if value is not None and not (np.isfinite(value) and value > 0):
            raise ModelError(f"{name}: got {value!r}, expected a positive number of seconds")
    require_span(t_end)
    if output_step is not None and t_end > output_step * MOST_ROWS:
        raise ModelError(
            f"output_step: got {output_step:g} s for a run of {t_end:g} s; expected at most {MOST_ROWS:g} rows"
        )


__all__ = ["Event", "simulate"]
