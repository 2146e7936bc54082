"""`sweep`: run all points of a study, and resume an interrupted one."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from pliant.base.signatures import checked
from pliant.base.stages import say, work
from pliant.compute.llvm.threads import processors
from pliant.errors import Interrupted, ModelError, PliantError
from pliant.sweeps import engines
from pliant.sweeps.journal import NAME, Journal, is_journal
from pliant.sweeps.outputs import SweepResult
from pliant.sweeps.points import Outcomes, Points, UserFunction
from pliant.sweeps.sweep_file import SweepStudy


@checked
def sweep(
    study: SweepStudy | str | os.PathLike[str],
    out: str | os.PathLike[str],
    *,
    workers: int | None = None,
    scheduler: str | None = None,
    function: UserFunction | None = None,
    retry_failed: bool = False,
    force: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> SweepResult:
    """Run a study, or the points of it that are left.

    Parameters
    ----------
    study : SweepStudy or path of a study file
    out : path
        Folder of the journal and the tables. If it has the journal of this study, the sweep goes on: points in the
        journal do not run again.
    workers : int, optional
        Local processes, all cores by default; 1 runs in this process.
    scheduler : str, optional
        Address of a Dask scheduler, `tcp://...`, whose workers have pliant installed.
    function : callable, optional
        Takes the `Result` of a point and returns further numbers by name. Other processes must be able to import it.
    retry_failed : bool
        Run failed points again.
    force : bool
        Begin anew in the folder of another sweep. Other folders are never changed.
    progress : callable, optional
        Called with the number of points done and of all points.

    Returns
    -------
    SweepResult
        All points; failed ones with their reasons.

    Raises
    ------
    Interrupted
        Ctrl-C, a KeyboardInterrupt; `.result` and the journal have the points that are done.

    Examples
    --------
    >>> study = pliant.sweeps.SweepStudy.from_dict({
    ...     "scenario": {"robot": "two-link", "duration": 0.05, "method": "rk4", "step": 1e-3},
    ...     "vary": {"payload.mass": {"values": [0.0, 1.0]}},
    ...     "metrics": ["energy"],
    ... })
    >>> result = pliant.sweep(study, "out", workers=1)
    >>> result.status
    ('finished', 'finished')
    """
    with work("sweep", "sweeping"):
        chosen = study if isinstance(study, SweepStudy) else SweepStudy.load(study)
        if workers is not None and workers < 1:
            raise ModelError(f"workers: got {workers}, expected at least 1")
        points = Points(chosen, function)
        run = _engine(points, workers, scheduler)
        folder = _folder(Path(out), force)
        extra = [] if function is None else [getattr(function, "__qualname__", repr(type(function).__name__))]
        journal = Journal(folder, chosen.digest(), [*chosen.metrics, *extra], len(points.values), retry_failed)
        try:
            todo = [k for k in range(len(points.values)) if k not in journal.known]
            if todo:
                for outcomes in run(todo):
                    journal.record(outcomes)
                    say(f"sweeping: {len(journal.known)} of {len(points.values)} points")
                    if progress is not None:
                        progress(len(journal.known), len(points.values))
        except KeyboardInterrupt:
            done = f"{len(journal.known)} of {len(points.values)} points done"
            found = SweepResult.of(chosen, journal.outcomes)
            raise Interrupted(f"sweep: interrupted with {done}; the same call goes on", found) from None
        finally:
            journal.close()
        result = SweepResult.of(chosen, journal.outcomes)
        result.write(folder)
        return result


Engine = Callable[[Sequence[int]], Iterator[Outcomes]]


def _engine(points: Points, workers: int | None, scheduler: str | None) -> Engine:
    """Engine for a study: the cluster, batches where they can, processes, or this process."""
    study = points.study
    reason = engines.batchable(points) if study.engine != "points" else "the study asks for single points"
    if scheduler is not None:
        return lambda todo: engines.on_cluster(study, todo, scheduler, points.function)
    if study.engine == "batch" and reason is not None:
        raise ModelError(f"engine: 'batch' cannot run this study: {reason}; expected 'auto' or 'points'")
    if reason is None:
        return lambda todo: engines.in_batches(points, todo)
    count = processors() if workers is None else workers
    if count == 1:
        return lambda todo: map(points.run, todo)
    return lambda todo: engines.in_processes(study, todo, count, points.function)


def _folder(folder: Path, force: bool) -> Path:
    """Make the folder; `force` removes the journal of another sweep."""
    if folder.exists() and not folder.is_dir():
        raise ModelError(f"{folder}: a file of this name is in the way; choose another folder")
    journal = folder / NAME
    if folder.is_dir() and any(folder.iterdir()) and not (is_journal(journal) if force else journal.exists()):
        raise ModelError(f"{folder}: holds something that is not a sweep; choose another folder, or empty it")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if force and journal.exists():
            journal.unlink()
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", "") or error
        raise PliantError(f"{folder}: cannot be made ({why}); choose another folder") from None
    return folder
