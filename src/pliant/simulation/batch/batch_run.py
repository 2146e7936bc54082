"""`simulate_batch`: thousands to millions of arms at once, on all cores in SIMD packs or on a graphics processor."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import ModuleType

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from pliant.arrays import Array, Integers, StateLike
from pliant.base.interrupts import TimeLimit, TimeOver, interruptible, require_time
from pliant.base.signatures import checked
from pliant.base.stages import reporter
from pliant.compute.llvm.target import machine
from pliant.errors import Interrupted, ModelError, SimulationError, UnsupportedModel, warn_user
from pliant.integrators.methods import has_fixed_steps
from pliant.integrators.settings import MOST_STEPS as MOST_FIXED_STEPS
from pliant.mechanics.loads.wrenches import Load
from pliant.model.damping_drift import drifted_rows
from pliant.model.model import Model
from pliant.model.robot import Robot, model_of
from pliant.model.stiffening.stiffening_order import is_checked
from pliant.model.validity import Findings, in_a_run, steep, tell
from pliant.options import BatchMethodName, DeviceName, PrecisionName
from pliant.protocols import Control, MovingBase, PrescribedMotion, Torque
from pliant.simulation.batch.arguments import Given
from pliant.simulation.batch.batch_equations import (  # fmt: skip
    BatchEquations,
    DeviceArray,
    composed,
    make_plan,
    output_times,
    read_drive,
)
from pliant.simulation.batch.devices import Cpu, Cuda, Stages
from pliant.simulation.batch.result import (  # fmt: skip
    AWAY,
    BROKEN,
    FINISHED,
    LIMITED,
    NOT_RUN,
    STATUS,
    STOPPED,
    UNBALANCED,
    BatchResult,
    BatchStats,
)
from pliant.simulation.batch.store import Device, Sink, sink
from pliant.simulation.runs.checks.energy_balance import ALLOWED, balance_of, touches
from pliant.simulation.runs.checks.limits import joint_limits, passing_words
from pliant.simulation.runs.checks.neglected_terms import (
    Farthest,
    asks_forces,
    differences,
    fitted_to_start,
    judge_histories,
    judge_speeds,
)
from pliant.simulation.runs.inputs import listed, read_breaks
from pliant.simulation.runs.quantities.internal_forces import RunHistory
from pliant.simulation.runs.simulation import MOST_ROWS, require_count, require_span

SLICES = 32
"""Slices in which a batch runs, for progress and Ctrl-C; fewer where a slice would take less than a moment."""
LEAST_STEPS = 1_000_000
"""Steps of a slice, at least: about a tenth of a second for the smallest arms."""
JUDGED_ROWS = 101
"""Rows of an arm at which its forces are judged after its run."""
SAMPLED = 1024
"""Arms whose energy is judged where histories stay on a device."""
LEAST_RTOL_SINGLE = 1e-6
MOST_STEPS = 1e7


@checked
def simulate_batch(
    model: Model | Robot,
    t_end: float,
    q0: DeviceArray | StateLike | None = None,
    qd0: DeviceArray | StateLike | None = None,
    torque: Torque | None = None,
    controller: Control | None = None,
    motion: Mapping[str, PrescribedMotion] | None = None,
    p: DeviceArray | ArrayLike | None = None,
    *,
    step: float | None = None,
    method: BatchMethodName = "auto",
    rtol: float = 1e-8,
    atol: float = 1e-10,
    output_step: float | None = None,
    device: DeviceName = "cpu",
    precision: PrecisionName = "double",
    progress: bool | Callable[[float], None] | None = None,
    store: str | os.PathLike[str] = "memory",
    loads: Sequence[Load] | Load = (),
    base: MovingBase | None = None,
    limits: bool = True,
    work: bool = False,
    breaks: Sequence[float] = (),
    equilibrium: bool = False,
    time_limit: float | None = None,
    max_steps: int | None = None,
) -> BatchResult:
    """Run many arms of one model from many states, under many torques, with many parameters.

    Arguments mean the same as in `simulate`, with a leading axis where arms differ. A batch is compiled whole and keeps
    many histories, so that four things differ: Python functions, and on a GPU sampled controllers, run one arm at a
    time, events other than limits are not searched for, the methods are those of the packs ("rk4", "dopri5"), and fewer
    rows are kept by default. Sensors of a sampled controller have noise of their own in each arm: in arm k that of
    sensors whose `seed` is larger by k.

    Parameters
    ----------
    model : Model or Robot
    t_end : float
        Duration, seconds.
    q0, qd0 : optional
        Initial states as in `simulate`, of all arms alike, or one per arm: (B, n), (B, n_joints), or a mapping from
        names to (B,). Arrays of a CUDA device are taken as they are, and the histories then stay there too.
    torque, controller : optional
        Constants (n_joints,) or (B, n_joints), or by joint; samples `(times, values[, kind])` with values (K, n_joints)
        or (B, K, n_joints), or by joint; or anything with `.expression(t, q, qd)` or a controller of `pliant.control`,
        compiled into the run. If the latter has `parameters` (names to CasADi symbols), they follow the model's in `p`.
    motion, loads, base : optional
        As in `simulate`, the same for all arms.
    p : (B, P) or (P,), optional
        Values of the model's parameters, and then of the controller's; nominal by default.
    step : float
        Largest step of "rk4" (needed); steps divide the time between rows evenly. Largest step of "dopri5".
    method : "auto", "rk4" or "dopri5"
        Fixed steps, or an error control of its own for every arm. "auto" takes "rk4" where a step is given, else
        "dopri5".
    rtol, atol : float
        Local error of adaptive steps.
    output_step : float, optional
        Spacing of the result; a hundredth of `t_end` by default.
    device, precision : "cpu" or "cuda", "double" or "single"
        Single precision is for the GPU.
    progress : bool or callable, optional
        A bar on long runs in a terminal by default; a function gets the fraction done.
    store : "memory" or path
        A path that ends in .nc or .zarr takes histories slice by slice, and appears when it is complete.
    limits : bool
        End an arm at the first row beyond the joint limits of the robot file (`BatchResult.stopped_by` names them); at
        once, if it starts beyond one, or at one and moving out. Ends of travel of sliding beams always end it.
    work : bool
        Also integrate the work done on each arm.
    breaks : sequence of float
        Further times at which steps end, as in `simulate`.
    equilibrium : bool
        Start at static rest, as in `simulate`.
    time_limit : float, optional
        Seconds of the clock that the call may take, compiling included. When it is over, arms keep the rows that they
        have reached, NaN after them, and the status 6, also in a file. On a GPU the slice that runs is finished first.
    max_steps : int, optional
        Steps that each arm may take, refused ones included; between two impulses of a prescribed motion, if it has any.
        Arms that need more have NaN after their last row and the status 6; with fixed steps those are all arms.

    Returns
    -------
    BatchResult
        Arms that broke down, ran away or met a limit have NaN after that row, and a status that says so. An arm runs
        away when its drives give it more energy than any arm holds, as in `simulate`; on a GPU this is not watched.
        Arms whose energy does not balance keep their histories and have the status 5; a GPU judges it where `work` is
        asked for, and where arms have contacts or stops.

    Raises
    ------
    SimulationError
        Every arm broke down or ran away; or `time_limit` was over before an arm was run.
    Interrupted
        Ctrl-C, a KeyboardInterrupt; `.result` holds the arms that had been run, unless a path was given.

    Examples
    --------
    >>> model = pliant.load("two-link").model(parameters=["payload.mass"])
    >>> batch = pliant.simulate_batch(model, 0.05, p=[[0.0], [0.5], [1.0]], step=1e-3)
    >>> batch.q.shape, [int(status) for status in batch.status]
    ((3, 51, 4), [0, 0, 0])
    """
    model = model_of(model)
    limit = TimeLimit(time_limit)
    with interruptible("simulate_batch"), limit.holds("simulate_batch"):
        if method == "auto":
            method = "dopri5" if step is None else "rk4"
        _check(t_end, method, step, rtol, atol, output_step, device, precision, time_limit=time_limit)
        require_count("max_steps", max_steps)
        loads = listed(loads)
        model = fitted_to_start(model, q0, qd0, loads, p, t_end, many=True, motion=motion, base=base)
        drives = read_drive(model, torque, "torque"), read_drive(model, controller, "controller")
        integrated = work or (device == "cuda" and touches(model))
        on_cpu = device == "cpu"
        f = composed(
            model, *drives, motion or {}, loads, base, integrated, looked_up=True, watched=on_cpu, sampled=on_cpu
        )
        given = Given.read(f, q0, qd0, *drives, p, device=device, equilibrium=equilibrium, loads=loads, t_end=t_end)
        fixed = step if has_fixed_steps(method) else None
        t = output_times(t_end, output_step, fixed)
        tell(model, drifted_rows(model, given.parameters))
        stops = f.composition.breaks(t_end, read_breaks(breaks), given.parameters, fixed_step=fixed)
        starts = given.samples.starts if given.samples else None
        impulses = replace(f.composition.impulses(stops, t_end), at_start=given.work is not None)
        ticks = f.composition.tick_times(t_end) if f.composition.ticks else None
        plan = make_plan(t, stops, starts, step, not has_fixed_steps(method), ticks)
        if max_steps is not None and plan.count.sum() > max_steps:
            plan = plan.within(max_steps)
            impulses = impulses.until(float(plan.t[-1]))
        stages = Stages(f, plan, impulses)
        begin = time.perf_counter()
        settings = (rtol, atol, step or t_end, min(MOST_STEPS, max_steps or np.inf))
        engine = (Cpu if on_cpu else Cuda)(f, given, stages, settings, method, precision, len(t))
        compiled = time.perf_counter() - begin
        run = _Run(
            f=f,
            given=given,
            engine=engine,
            t=t,
            limits=limits,
            work=work,
            acting=(loads, base),
            max_steps=max_steps,
        )
        stats = BatchStats(method, device, precision, evaluations=0, wall=0.0, compile=compiled)
        with reporter(progress, t_end) as report:
            return run(store, stats, report, t_end)


def _check(
    t_end: float, method: str, step: float | None, rtol: float, atol: float, output_step: float | None, device: str,
    precision: str, *, time_limit: float | None,
) -> None:  # fmt: skip
    numbers = {"t_end": t_end, "step": step, "output_step": output_step, "rtol": rtol, "atol": atol}
    for name, value in numbers.items():
        if value is not None and not (np.isfinite(value) and value > 0):
            raise ModelError(f"{name}: got {value!r}, expected a positive number")
    if time_limit is not None and not 0.0 < time_limit < np.inf:
        raise ModelError(f"time_limit: got {time_limit!r}, expected a positive number of seconds")
    require_span(t_end)
    for name, value, most in (("step", step, MOST_FIXED_STEPS), ("output_step", output_step, MOST_ROWS)):
        if value is not None and t_end > value * most:
            raise ModelError(f"{name}: got {value:g} s for a run of {t_end:g} s; expected at most {most:g} of them")
    fixed = has_fixed_steps(method)
    if fixed and step is None:
        raise ModelError(f"step: got none, expected one for method={method!r}; give it, or use method='dopri5'")
    if precision == "single" and device == "cpu":
        raise UnsupportedModel("precision: 'single' runs on the GPU; use precision='double' with device='cpu'")
    if precision == "single" and not fixed and rtol < LEAST_RTOL_SINGLE:
        raise ModelError(f"rtol: got {rtol!r}, expected at least {LEAST_RTOL_SINGLE} in single precision")


# ------------------------------------------------------------------------------------------------------------ run


@dataclass(frozen=True, eq=False)
class _Run:
    """A batch that runs slice by slice."""

    f: BatchEquations
    given: Given
    engine: Cpu | Cuda
    t: Array
    limits: bool
    work: bool
    acting: tuple[tuple[Load, ...], MovingBase | None]
    """Loads and motion of the base."""
    max_steps: int | None = None
    over: list[int] = field(default_factory=list)
    """Fixed steps that may have leapt over what the arm meets: the largest number of an arm in each slice."""
    left: Findings = field(default_factory=dict)
    """Findings about terms of second order that the model leaves out, under the forces of some arms."""
    farthest: Farthest = field(default_factory=Farthest)

    def __call__(
        self, store: str | os.PathLike[str], stats: BatchStats, report: Callable[[float], None] | None, t_end: float
    ) -> BatchResult:
        given, model, B = self.given, self.given.model, self.given.arms
        shapes: dict[str, tuple[int, ...]] = {"q": (len(self.t), model.n_q), "qd": (len(self.t), model.n)}
        shapes |= {"work": (len(self.t),)} if self.work else {}
        size = self._slice_size(shapes)
        target: Sink = (
            Device(self.engine.module) if given.on_device and store == "memory"
            else sink(store, model, self.t, given.names, B, shapes, self.engine.dtype, size)
        )  # fmt: skip
        parameters = np.broadcast_to(given.parameters, (B, given.parameters.shape[1]))
        begin = time.perf_counter()
        summaries, findings = [], in_a_run(model, np.zeros(model.n_q))
        told, done, cut = "", 0, 0
        try:
            for first, last in self._slices(size):
                require_time()
                arrays, summary = self._slice(first, last, given.on_device and target.path is None)
                target.put(first, arrays, parameters[first:last], summary)
                summaries.append(summary)
                done = last
                if isinstance(arrays["q"], np.ndarray):
                    own = parameters[first:last, : len(model.parameters)]
                    findings |= steep(model, arrays["q"]) | judge_speeds(model, arrays["qd"], own)
                if report is not None:
                    report(t_end * last / B)
                if self.engine.cut_short is not None:
                    raise self.engine.cut_short
        except KeyboardInterrupt:
            target.abort()
            if target.path is not None or given.on_device or not done:
                raise
            summaries.append(self._not_run(B - done))
            for values in target.finish(stats).values():
                values[done:] = np.nan
        except TimeOver as over:
            if not summaries:
                target.abort()
                raise
            cut = int((summaries[-1]["status"] == LIMITED).sum()) if self.engine.cut_short is over else 0
            counts = ((cut, "end before their time"), (B - done, "were not run"))
            told = f"{over}: " + ", ".join(f"{count} of {B} arms {words}" for count, words in counts if count)
            on = self.engine.module if given.on_device and target.path is None else np
            for start, last in self._slices(size):
                if start >= done:
                    blank = {name: on.full((last - start, *shape), np.nan) for name, shape in shapes.items()}
                    summaries.append(self._not_run(last - start, LIMITED))
                    target.put(start, blank, parameters[start:last], summaries[-1])
        except BaseException:
            target.abort()
            raise
        joined = {name: np.concatenate([s[name] for s in summaries]) for name in summaries[0]}
        stats = replace(stats, wall=time.perf_counter() - begin, evaluations=self._evaluations(joined))
        arrays = target.finish(stats)
        result = BatchResult(
            t=self.t, arrays=arrays, model=model, parameters=parameters, parameter_names=given.names, **joined,
            stats=stats, path=target.path, equations=self.f, inputs=self,
        )  # fmt: skip
        if (result.status == NOT_RUN).any():
            done = int((result.status != NOT_RUN).sum())
            raise Interrupted(f"simulate_batch: interrupted when {done} of {B} arms had been run", result)
        out_of_steps = int((np.isfinite(result.ended) & (result.status == LIMITED)).sum()) - cut
        if out_of_steps:
            told = f"limit of {self.max_steps} steps: {out_of_steps} of {B} arms end there" + (told and f"; {told}")
        if told:
            warn_user(f"stopped: {told}")
        if any(self.over):
            warn_user(passing_words(max(self.over)))
        return _judged(result, findings | self.left)

    @staticmethod
    def _not_run(count: int, status: int = NOT_RUN) -> dict[str, Array]:
        """Summary of arms that had not been run when Ctrl-C came, or when the time was over."""
        nothing = {"status": status, "ended": np.nan, "limit": -1, "steps": 0.0, "refused": 0.0}
        nothing["energy_error"] = np.nan
        kinds = {"status": np.int8, "limit": np.int16}
        return {name: np.full(count, value, dtype=kinds.get(name, float)) for name, value in nothing.items()}

    def _slice_size(self, shapes: dict[str, tuple[int, ...]]) -> int:
        each = 2 * sum(int(np.prod(shape)) for shape in shapes.values()) * np.dtype(self.engine.dtype).itemsize
        each += 0 if self.given.ticks is None else self.given.pieces()[0].nbytes
        most = max(1, int(self.engine.slice_bytes / each))
        if self.engine.module is not np:
            return most
        grain = 4 * machine().width
        least = LEAST_STEPS // max(1, int(self.engine.stages.plan.count.sum()) or len(self.t))
        return max(grain, min(most, max(least, -(-self.given.arms // SLICES))) // grain * grain)

    def _slices(self, size: int) -> Iterator[tuple[int, int]]:
        for first in range(0, self.given.arms, size):
            yield first, min(first + size, self.given.arms)

    def _slice(self, first: int, last: int, stay: bool) -> tuple[dict[str, DeviceArray], dict[str, Array]]:
        """Histories of some arms, and their summary, one number for each arm; histories `stay` on a device."""
        module = self.engine.module
        q, qd = (
            module.broadcast_to(x if len(x) == 1 else x[first:last], (last - first, x.shape[1]))
            for x in (module.asarray(self.given.q0), module.asarray(self.given.qd0))
        )
        start = self.f.start(q, qd, module)
        if self.f.has_work and self.given.work is not None:
            done = self.given.work
            start[:, -1] = module.asarray(done if len(done) == 1 else done[first:last])
        if self.f.composition.n_drive_states:
            pieces, own = self.given.of_arms(self.f, first, last)
            piece = 0 if self.given.samples is None else int(self.given.samples.piece(np.zeros(1))[0])
            start = self.f.loaded(start, pieces[:, piece], own, module)
        history, counts = self.engine(start.copy(), first)
        reached = int(self.engine.stages.plan.row.max()) + 1
        history[:, reached:] = np.nan  # rows that a limited run did not reach
        x = module.concatenate([start[:, None].astype(history.dtype), history], axis=1)
        if module is not np and not stay:
            x, counts, module = module.asnumpy(x), module.asnumpy(counts), np
        arrays = self._arrays(x, module)
        over = x[..., -1] > self.engine.ceilings[first:last, None] if self.f.watched else False
        summary = self._ends(arrays, over, module)
        if self.engine.cut_short is not None:
            left = np.isneginf(history[:, :, 0]).any(axis=1) & (summary["status"] == BROKEN)
            summary["status"][left] = LIMITED if isinstance(self.engine.cut_short, TimeOver) else NOT_RUN
        summary["energy_error"] = self._energy_errors(arrays, x[..., -1], first, module)
        summary["status"][(summary["status"] == FINISHED) & (summary["energy_error"] > ALLOWED)] = UNBALANCED
        if module is np and is_checked(self.given.model) and not self.left:
            self.left.update(judge_histories(self._histories(arrays, x, first)))
        counts = np.asarray(counts.get() if hasattr(counts, "get") else counts, dtype=float)
        if self.max_steps is not None:
            fixed = self.engine.stages.plan.count.any()
            spent = summary["ended"] == self.t[reached] if fixed else counts.sum(axis=1) >= self.max_steps
            summary["status"][spent & (summary["status"] == BROKEN)] = LIMITED
        if self.engine.stages.plan.count.any():
            self.over.append(int(counts[:, 1].max()))
            counts[:, 1] = 0.0
        return arrays, {**summary, "steps": counts[:, 0], "refused": counts[:, 1]}

    def _arrays(self, x: DeviceArray, module: ModuleType) -> dict[str, DeviceArray]:
        """All coordinates and rates, and the work if it was asked for."""
        c, f = self.f.composition, len(self.f.composition.free_places)
        if not c.prescribed:
            q, qd = x[..., :f], x[..., f : c.moving]
        else:
            q, qd = (module.zeros((*x.shape[:2], size), dtype=x.dtype) for size in (c.n_q, c.n))
            q[..., c.free_places], qd[..., c.free] = x[..., :f], x[..., f : c.moving]
            own = np.zeros(self.engine.own.shape[1])
            samples, pieces = self.given.samples, self.given.of_arms(self.f, 0, 1)[0][0]
            held = pieces[np.zeros(len(self.t), dtype=int) if samples is None else samples.piece(self.t)]
            t = self.engine.stages.impulses.behind(self.t)
            paths, rates = self.f.coordinate_kernel(t[:, None], np.zeros(self.f.n), held, own)
            for index in c.prescribed:
                place = c.place(index)
                q[..., place], qd[..., index] = module.asarray(paths[:, place]), module.asarray(rates[:, index])
        arrays = {"q": module.ascontiguousarray(q), "qd": module.ascontiguousarray(qd)}
        return arrays | ({"work": module.ascontiguousarray(x[..., -1])} if self.work else {})

    def _ends(self, arrays: dict[str, DeviceArray], over: DeviceArray, module: ModuleType) -> dict[str, Array]:
        """Blank the rows after the end of each arm, and those whose energy is `over` its ceiling; return status and
        time of the end, and the limit that was met."""
        q, qd = arrays["q"], arrays["qd"]
        over = module.broadcast_to(over, q.shape[:2])
        finite = module.isfinite(q).all(axis=2) & module.isfinite(qd).all(axis=2) & ~over
        bounds = joint_limits(self.given.model)
        held = [self.limits or limit.fatal for limit in bounds]
        Q, Qd = module.moveaxis(q, 2, 0), module.moveaxis(qd, 2, 0)
        inside = module.ones(finite.shape, dtype=bool)
        for limit, holds in zip(bounds, held):
            if holds:
                inside &= ~limit.left(Q, Qd)
        count = module.cumprod((finite & inside).astype(np.int8), axis=1).sum(axis=1)
        last = module.minimum(count, len(self.t) - 1)  # the row at which an arm ended that did not finish
        arms = module.arange(len(q))
        stopped = (count < len(self.t)) & finite[arms, last]
        found, Q, Qd = module.full(len(q), -1, dtype=np.int16), Q[:, arms, last], Qd[:, arms, last]
        for k, (limit, holds) in enumerate(zip(bounds, held)):
            if holds:
                found[stopped & (found < 0) & limit.left(Q, Qd)] = k
        count = module.where(stopped, module.maximum(count, 1), count)  # an arm beyond a limit at its start keeps that
        valid = module.arange(len(self.t)) < count[:, None]
        for values in arrays.values():
            values[~valid] = np.nan
        status = module.where(count == len(self.t), FINISHED, module.where(over[arms, last], AWAY, BROKEN))
        status = module.where(stopped, STOPPED, status).astype(np.int8)
        ended = module.where(count > 0, module.asarray(self.t)[module.maximum(count - 1, 0)], np.nan)
        each = {"status": status, "ended": ended, "limit": found}
        return {name: np.asarray(a.get() if hasattr(a, "get") else a) for name, a in each.items()}

    def _energy_errors(
        self, arrays: dict[str, DeviceArray], work: DeviceArray, first: int, module: ModuleType
    ) -> Array:
        """(b,) errors of the energy over what moved, NaN where the work was not integrated; of arms that stay on a
        device, only a sample is judged."""
        found = np.full(len(work), np.nan)
        if not self.f.has_work or not self.given.model.n:
            return found
        arms = np.arange(len(work)) if module is np else np.unique(np.linspace(0, len(work) - 1, SAMPLED).astype(int))
        q, qd, work = (
            np.asarray(values if module is np else values[arms].get(), dtype=float)
            for values in (arrays["q"], arrays["qd"], work)
        )
        known, count = self.given.parameters, len(self.given.model.parameters)
        p = (known if len(known) == 1 else known[first + arms])[:, :count] if count else None
        found[arms] = balance_of(self.given.model, self.t, q, qd, work, p, self.engine.precision).part
        return found

    def _histories(self, arrays: dict[str, DeviceArray], x: Array, first: int) -> Iterator[RunHistory]:
        """Some rows of the arms of a slice that go farthest, if their forces are to be judged."""
        model, c, (loads, base) = self.given.model, self.f.composition, self.acting
        if c.ticks or not len(x):
            return  # torques of a sampled controller are not kept
        times, P = self.engine.stages.impulses.behind(self.t), len(model.parameters)
        pieces, own = self.given.of_arms(self.f, first, first + len(x))
        samples, before = self.given.samples, own.shape[1] - self.given.parameters.shape[1]
        for arm in self.farthest.arms(arrays["q"], arrays["qd"]):
            ended = np.flatnonzero(np.isfinite(arrays["q"][arm]).all(axis=1))
            rows = ended[np.unique(np.linspace(0, len(ended) - 1, JUDGED_ROWS).astype(int))] if len(ended) else ended
            if not len(rows):
                continue
            t = times[rows]
            q, qd, state = (np.asarray(a[arm, rows], dtype=float) for a in (arrays["q"], arrays["qd"], x))
            held = own[0 if len(own) == 1 else arm]
            p = held[before : before + P]
            if not asks_forces(model, loads, base, p if P else None, qd, differences(t, qd)):
                continue
            piece = np.zeros(len(rows), dtype=int) if samples is None else samples.piece(t)
            given = pieces[0 if len(pieces) == 1 else arm][piece]
            found = self.f.force_kernel(t[:, None], state, given, np.tile(held, (len(rows), 1)))
            sizes = (model.n, c.m, len(model.constraints))
            qdd, tau, multipliers = (np.asarray(a).reshape(len(rows), size) for a, size in zip(found, sizes))
            yield RunHistory(
                model=model, t=t, q=q, qd=qd, qdd=qdd, parameters=p, push=tau[:, model.n_joints :],
                multipliers=multipliers, loads=loads, base=base,
            )  # fmt: skip

    def _evaluations(self, summary: dict[str, Array]) -> int:
        """Evaluations of the right-hand side of all arms together."""
        plan = self.engine.stages.plan
        if plan.count.any():
            return int(4 * plan.count.sum()) * self.given.arms
        return int(6 * (summary["steps"] + summary["refused"]).sum()) + len(plan.t) * self.given.arms

    def torques(self, q: Array, qd: Array, arms: slice) -> Array:
        """(B, N, m) torques that act on some arms in these states at the first N rows."""
        c, (B, N) = self.f.composition, q.shape[:2]
        if c.ticks:
            raise UnsupportedModel(
                "tau: torques of a sampled controller are not kept in a batch; run the arm by simulate"
            )
        unkept = c.equations.x[c.moving : -1]
        if unkept.shape[0] and ca.depends_on(c.equations.tau, unkept):
            raise UnsupportedModel(
                "tau: the states of the controller and of drives are not kept in a batch; run the arm by simulate"
            )
        rest = np.zeros((B, N, self.f.n - c.moving))
        x = np.concatenate([q[..., c.free_places], qd[..., c.free], rest], axis=2)
        t, samples = self.t[:N], self.given.samples
        piece = np.zeros(N, dtype=int) if samples is None else samples.piece(t)
        pieces, own = self.given.of_arms(self.f, *arms.indices(self.given.arms)[:2])
        tau = self.f.torque_kernel(t[:, None], np.nan_to_num(x), pieces[:, piece], own[:, None])
        tau = np.broadcast_to(tau, (B, N, c.m)).copy()
        tau[~np.isfinite(x).all(axis=2)] = np.nan
        return tau


def _judged(result: BatchResult, findings: Findings) -> BatchResult:
    """Warn of arms that broke down or ran away, and of other findings; raise `SimulationError` if no arm is left."""
    failed = np.flatnonzero((result.status == BROKEN) | (result.status == AWAY))
    if len(failed) == len(result):
        raise SimulationError(
            f"every arm {_how(result, failed)}, the first at t = {np.nanmin(result.ended):.4g} s; "
            f"{_remedy(result, failed)}", result,
        )  # fmt: skip
    if len(failed):
        warn_user(
            f"{len(failed)} of {len(result)} arms {_how(result, failed)} (the first: {failed[0]} at t = "
            f"{result.ended[failed[0]]:.4g} s); their histories end in NaN, see result.status"
        )
    lost = np.flatnonzero(result.status == UNBALANCED)
    if len(lost):
        worst = lost[np.argmax(result.energy_error[lost])]
        warn_user(
            f"energy: {len(lost)} of {len(result)} arms changed their energy by more than the work done on them, the "
            f"worst (arm {worst}) by {result.energy_error[worst]:.3g} of what moved, expected below {ALLOWED:.0%}; "
            "their steps are too long: give a smaller `step` or `rtol`"
        )
    tell(result.model, findings)
    return result


def _how(result: BatchResult, failed: Integers) -> str:
    """Ways in which arms failed, in words."""
    return " or ".join(STATUS[k] for k in np.unique(result.status[failed]))


def _remedy(result: BatchResult, failed: Integers) -> str:
    """Advice against the failure."""
    away = failed[result.status[failed] == AWAY]
    if len(away):
        return (
            "their drives gave them more energy than any arm holds; pliant.simulate of one of them names the joint and "
            "the likely cause, such as the sign of a gain"
        )
    return "reduce the step or the tolerance, or check that the arms are stable under these torques"
