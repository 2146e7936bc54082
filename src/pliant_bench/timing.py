"""Timing on a noisy machine: rivals take turns, and medians with quartiles are kept."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

Task = Callable[[], object]


@dataclass(frozen=True)
class Timings:
    """Positive numbers measured round after round: seconds, bytes, or ratios of them."""

    values: tuple[float, ...]

    @property
    def median(self) -> float:
        """Half of the rounds lie below."""
        return float(np.median(self.values))

    @property
    def quartiles(self) -> tuple[float, float]:
        """Half of the rounds lie between."""
        lower, upper = np.quantile(self.values, (0.25, 0.75))
        return float(lower), float(upper)

    @property
    def least(self) -> float:
        """Smallest sample, which other work on the machine disturbed least."""
        return min(self.values)

    def over(self, other: Timings) -> Timings:
        """Ratios round by round, so that a slow spell of the machine meets both sides of each."""
        if len(self.values) != len(other.values):
            raise ValueError(f"{len(self.values)} rounds over {len(other.values)}: only rounds taken in turns compare")
        return Timings(tuple(a / b for a, b in zip(self.values, other.values)))

    def scaled(self, factor: float) -> Timings:
        """Every sample times a factor: a whole run to one step, a batch to one state."""
        return Timings(tuple(factor * value for value in self.values))

    def to_dict(self) -> dict[str, object]:
        """Plain data."""
        return {"median": self.median, "quartiles": list(self.quartiles), "rounds": list(self.values)}


@dataclass(frozen=True)
class Effort:
    """Effort of a measurement: number of rounds, and the seconds of one task in one round."""

    rounds: int = 15
    seconds: float = 0.05
    processes: int = 5
    most: float = 30.0  # seconds for all rounds of one comparison, when one round is long
    quick: bool = False


BURSTS, FEWEST = 5, 3
TURNS = Effort(rounds=5, seconds=0.02, most=10.0)
"""For a claim on times within a study: enough to see on which side of 1 a ratio lies, and how far it spreads."""
QUICK = Effort(rounds=3, seconds=0.002, processes=1, quick=True)


def best(function: Task, seconds: float = 0.5, inner: int = 1) -> float:
    """Smallest time of one call, over repeats that fill `seconds`; `inner` calls per repeat."""
    function()
    smallest, end = float("inf"), time.perf_counter() + seconds
    while time.perf_counter() < end:
        begin = time.perf_counter()
        for _ in range(inner):
            function()
        smallest = min(smallest, (time.perf_counter() - begin) / inner)
    return smallest


def alternating(tasks: Mapping[str, Task], effort: Effort) -> dict[str, Timings]:
    """Seconds of one call of each task, round by round, in turns and in changing order.

    A round gives each task `effort.seconds` in up to five bursts of calls and keeps the mean of the fastest burst:
    other work on the machine comes in slices of milliseconds and seldom meets all five. Every task is called once
    before anything is timed, so that compilers have done their work.
    """
    begin = time.perf_counter()
    counts = {name: _calls(task, effort.seconds) for name, task in tasks.items()}
    found: dict[str, list[float]] = {name: [] for name in tasks}
    names = list(tasks)
    once = max(time.perf_counter() - begin, 1e-9) / 2  # every task was called at least twice
    for turn in range(min(effort.rounds, max(FEWEST, round(effort.most / once)))):
        first = turn % len(names)
        for name in names[first:] + names[:first]:
            bursts = min(BURSTS, counts[name])
            found[name].append(min(_burst(tasks[name], counts[name] // bursts) for _ in range(bursts)))
    return {name: Timings(tuple(values)) for name, values in found.items()}


def _calls(task: Task, seconds: float) -> int:
    """Calls that fill about `seconds`."""
    task()
    count = 1
    while (spent := count * _burst(task, count)) < seconds / 4:
        count *= 2
    return max(1, round(count * seconds / spent))


def _burst(task: Task, count: int) -> float:
    begin = time.perf_counter()
    for _ in range(count):
        task()
    return (time.perf_counter() - begin) / count
