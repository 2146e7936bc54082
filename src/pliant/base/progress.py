"""Progress of a long run: a bar in a terminal after the first seconds, else a stage, which a notebook shows."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from pliant.base.stages import heard, say, stage

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

PATIENCE = 1.5
"""Seconds after which the bar appears."""


@contextmanager
def reporter(
    progress: bool | Callable[[float], None] | None, t_end: float, doing: str = "simulating", unit: str = " s"
) -> Iterator[Callable[[float], None] | None]:
    """Yield a function of the time reached, or None. It calls `progress` with the fraction done, or updates a bar on
    standard error or a stage."""
    if callable(progress):
        given = progress
        yield lambda t: given(min(t / t_end, 1.0))
    elif progress is False or (progress is None and not (sys.stderr.isatty() or heard())):
        yield None
    elif progress is None and not sys.stderr.isatty():
        with stage(doing):
            yield lambda t: say(f"{doing}: {t:.3g} of {t_end:.3g}{unit}")
    else:
        bar = _Bar(t_end, 0.0 if progress else PATIENCE, doing, unit)
        try:
            yield bar.update
        finally:
            bar.close()


class _Bar:
    def __init__(self, total: float, patience: float, doing: str, unit: str) -> None:
        self.doing, self.unit = doing, unit
        self.total, self.patience, self.begin = total, patience, time.perf_counter()
        self.display: Progress | None = None
        self.task: TaskID

    def update(self, t: float) -> None:
        if self.display is None:
            if time.perf_counter() - self.begin < self.patience:
                return
            from rich.console import Console
            from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

            columns = (
                TextColumn(self.doing),
                BarColumn(),
                TextColumn("{task.completed:.3g} of {task.total:.3g}" + self.unit),
                TimeRemainingColumn(),
            )
            self.display = Progress(*columns, console=Console(stderr=True), transient=True)
            self.display.start()
            self.task = self.display.add_task("run", total=self.total)
        self.display.update(self.task, completed=t)

    def close(self) -> None:
        if self.display is not None:
            self.display.stop()
