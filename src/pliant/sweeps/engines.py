"""Engines that run the points of a sweep: local SIMD batches, local processes, or a Dask cluster.

Each yields outcomes as they finish.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, ThreadPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from functools import partial
from itertools import islice
from multiprocessing.connection import Connection
from typing import TYPE_CHECKING, cast, get_args

import numpy as np

from pliant.arrays import Array, Integers
from pliant.base.interrupts import Lifeline, deaf_children, hang_on
from pliant.errors import ModelError, PliantError, SimulationError, UnsupportedModel, extra, install
from pliant.options import BatchMethodName, PackedName
from pliant.protocols import Torque
from pliant.sweeps.metrics import METRICS, Histories
from pliant.sweeps.points import Outcomes, Points, UserFunction, run_point, run_points
from pliant.sweeps.sweep_file import SweepStudy

if TYPE_CHECKING:
    from pliant.simulation.batch.result import BatchResult

ATTEMPTS = 3
"""Deaths of its worker after which a point is reported as failed."""
CHUNK = 8192
"""Arms of a batch between two entries in the journal."""
AHEAD = 2
"""Bundles of points in flight for each thread of a cluster."""
BUNDLES, LARGEST = 8, 32
"""Least number of bundles that each thread of a cluster gets of a study, and most points of a bundle."""
BATCH_METHODS = get_args(BatchMethodName)


# --------------------------------------------------------------------------------------------------------- batches


def batchable(points: Points) -> str | None:
    """Reason why the study cannot run as a batch; None if it can."""
    if points.function is not None:
        return "a function of your own reads whole results"
    if points.shared is None:
        return "something other than numbers of the robot, its start and constant torques varies, or changes the shapes"
    method = points.study.scenario.method
    if points.study.scenario.time_limit is not None:
        return "`time_limit` of the scenario is that of each run"
    if method not in BATCH_METHODS and points.study.engine != "batch":
        return f"method {method!r} does not run in batches ({', '.join(BATCH_METHODS)} do)"
    return None


def in_batches(points: Points, todo: Sequence[int]) -> Iterator[Outcomes]:
    """Run chunks of points by `simulate_batch`; while one runs, the metrics of the one before it are computed."""
    with ThreadPoolExecutor(1) as beside:
        before: Future[Outcomes] | None = None
        for first in range(0, len(todo), CHUNK):
            try:
                run = _chunk(points, np.array(todo[first : first + CHUNK]))
            except KeyboardInterrupt:
                if before is not None:
                    yield before.result()
                raise
            if before is not None:
                yield before.result()
            before = beside.submit(run)
        if before is not None:
            yield before.result()


def _chunk(points: Points, chosen: Integers) -> Callable[[], Outcomes]:
    """Run some points; return a function that computes their metrics."""
    from pliant.simulation.batch.batch_run import simulate_batch

    s, model = points.study.scenario, points.shared
    assert model is not None
    q, qd, torque, p = points.inputs(points.values[chosen])
    controller, motion = s.driving
    method = cast(PackedName, s.method if s.method in get_args(PackedName) else "dopri5")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # arms that break down are reported point by point
            batch = simulate_batch(
                model, s.duration, q0=q, qd0=qd, torque=torque, controller=controller, motion=motion or None,
                p=p if points.robot_paths else None, step=s.step, method=method, rtol=s.rtol,
                atol=s.atol or 1e-12, output_step=s.output_step, progress=False, **s.surroundings, limits=s.limits,
                breaks=s.breaks, max_steps=s.max_steps,
            )  # fmt: skip
    except SimulationError as error:  # every arm of the chunk
        return partial(Outcomes.failure, chosen, str(error))
    return partial(_measured, points, chosen, batch, torque, p)


def _measured(points: Points, chosen: Integers, batch: BatchResult, torque: Torque | None, p: Array) -> Outcomes:
    """Metrics of the arms that finished, and the reasons why the others did not."""
    from pliant.simulation.batch.result import STATUS, UNBALANCED

    good = np.flatnonzero(batch.status == 0)
    rows = slice(None) if len(good) == len(chosen) else good  # a view where all went well
    tau = _torques(batch, points, torque, len(chosen))
    moved = tuple(points.study.scenario.motion)
    h = Histories(batch.model, batch.t, batch.q[rows], batch.qd[rows], tau[rows], p[rows], moved)
    columns = {name: METRICS[name](h).tolist() for name in points.study.metrics} if len(good) else {}
    failed = {}
    for k in np.flatnonzero(batch.status != 0):
        how = STATUS[batch.status[k]] + (f", {batch.stopped_by[k]}," if batch.stopped_by[k] else "")
        failed[int(chosen[k])] = f"the run {how} at t = {batch.ended[k]:.6g} s"
        if batch.status[k] == UNBALANCED:
            part = batch.energy_error[k]
            failed[int(chosen[k])] = (
                f"energy: got an error of {part:.3g} of what moved; give a smaller `step` or `rtol`"
            )
    return Outcomes(chosen[good].tolist(), columns, failed)


def _torques(batch: BatchResult, points: Points, torque: Torque | None, count: int) -> Array:
    """(B, N, m) torques that acted; constants are not repeated row by row: then N is 1."""
    s = points.study.scenario
    if s.controller is not None or s.motion or isinstance(torque, tuple):
        return batch.tau
    constant = np.zeros(batch.model.layout.n_inputs) if torque is None else np.asarray(torque)
    return np.broadcast_to(np.atleast_2d(constant)[:, None], (count, 1, batch.model.layout.n_inputs))


# ------------------------------------------------------------------------------------------------------- processes


def in_processes(
    study: SweepStudy, todo: Sequence[int], workers: int, function: UserFunction | None
) -> Iterator[Outcomes]:
    """Run points in local processes; one that dies is replaced, and its points run again."""
    text, waiting = json.dumps(study.to_dict()), list(todo)
    attempts, context = dict.fromkeys(todo, 0), multiprocessing.get_context("spawn")
    while waiting:
        lifeline = Lifeline(context)
        pool = ProcessPoolExecutor(workers, context, _begin, (lifeline.end,))
        running: dict[Future[Outcomes], int] = {}
        try:
            while waiting or running:
                while waiting and len(running) < 2 * workers:
                    point = waiting.pop(0)
                    with deaf_children():
                        running[pool.submit(run_point, text, point, function)] = point
                done, _ = wait(running, return_when=FIRST_COMPLETED)
                for future in done:
                    outcomes = future.result()
                    del running[future]
                    yield outcomes
            pool.shutdown()
        except BrokenProcessPool:
            lost = list(running.values())
            waiting = [*lost, *waiting]
            for point in lost:
                attempts[point] += 1
                if attempts[point] >= ATTEMPTS:
                    waiting.remove(point)
                    yield Outcomes.failure([point], f"its process died {ATTEMPTS} times")
        finally:
            lifeline.cut()  # before the pool is left alone: points in the middle of a run end now
            pool.shutdown(wait=False, cancel_futures=True)


def _begin(lifeline: Connection) -> None:
    """Begin a worker: it ends with its parent, and uses one thread, because processes share the cores."""
    hang_on(lifeline)
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        os.environ[name] = "1"


# ------------------------------------------------------------------------------------------------------------ Dask


def bundles(todo: Sequence[int], threads: int) -> Iterator[Sequence[int]]:
    """Points in bundles, in order: several small ones for each thread, so that all threads finish together."""
    size = min(max(len(todo) // (BUNDLES * max(threads, 1)), 1), LARGEST)
    return (todo[first : first + size] for first in range(0, len(todo), size))


def on_cluster(
    study: SweepStudy, todo: Sequence[int], scheduler: str, function: UserFunction | None, patience: float = 10.0
) -> Iterator[Outcomes]:
    """Run points on a Dask cluster; points of workers that die are run by others.

    Points are sent in bundles, since a task costs the scheduler a millisecond. A bundle that is lost, which one point
    of it may have caused, is run again point by point.
    """
    remedy = f"--scheduler needs Dask, which is not installed; {install('sweep')}"
    dask = extra("distributed", remedy, UnsupportedModel)
    try:
        # never the default of the process: saving a file would then ask the cluster for a lock
        client = dask.Client(scheduler, timeout=patience, set_as_default=False)
    except (OSError, ValueError, TimeoutError) as error:
        raise ModelError(
            f"scheduler: {scheduler!r} cannot be reached ({error}); expected the address of a running Dask scheduler, "
            "such as tcp://10.0.0.1:8786"
        ) from None
    try:
        threads = sum(client.nthreads().values())
        text, of = json.dumps(study.to_dict()), {}
        waiting = bundles(todo, threads)
        stream = dask.as_completed([], loop=client.loop, raise_errors=False)

        def submit(chosen: Iterable[Sequence[int]]) -> None:
            for points in chosen:
                future = client.submit(run_points, text, points, function, pure=False, retries=ATTEMPTS)
                of[future.key] = points
                stream.add(future)

        submit(islice(waiting, max(4, AHEAD * threads)))  # few, so that a dead worker takes few with it
        for future in stream:
            if future.status not in ("finished", "error", "cancelled"):  # its worker died before we had it
                stream.add(future)
                continue
            submit(islice(waiting, 1))
            points = of.pop(future.key)
            if future.status == "finished":
                yield from future.result()
            elif len(points) > 1:
                submit([point] for point in points)
            else:
                yield Outcomes.failure(points, f"lost on the cluster: {future.exception()}")
    except OSError as error:
        raise PliantError(f"scheduler: the connection to {scheduler} broke ({error}); run again to go on") from error
    finally:
        client.close()
