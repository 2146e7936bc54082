"""Results of a bench: comparisons of one task by two engines, first results of fresh processes, curves, notes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from pliant_bench.peers import absent
from pliant_bench.timing import Timings


class Finding:
    """Fields that become plain data by their names."""

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {name: value.to_dict() if hasattr(value, "to_dict") else value for name, value in vars(self).items()}


@dataclass(frozen=True)
class Side(Finding):
    """One engine's answer: its time, and its error against the comparison's reference."""

    engine: str
    seconds: Timings
    error: float | None = None


@dataclass(frozen=True)
class Comparison(Finding):
    """The same task for pliant and for a peer, taken in turns.

    Attributes
    ----------
    part, arm, task : str
        Part of the bench, arm, and task.
    unit : str
        Unit of work that the seconds are for: "evaluation", "state and core", "simulated second".
    ours, peer : Side
    reference : str
        Reference of both errors, and their unit.
    asked : float, optional
        The least ratio that counts as success.
    accuracy : float, optional
        If given, success needs our error to be at most this, and at most the peer's.
    """

    part: str
    arm: str
    task: str
    unit: str
    ours: Side
    peer: Side
    reference: str
    asked: float | None = None
    accuracy: float | None = None

    @property
    def ratio(self) -> Timings:
        """Times of the peer over ours: above 1 pliant is faster."""
        return self.peer.seconds.over(self.ours.seconds)

    @property
    def met(self) -> bool | None:
        """True if the target is met, None where there is no target."""
        if self.asked is None:
            return None
        enough = self.ratio.median >= self.asked
        if self.accuracy is None:
            return enough
        ours, peer = self.ours.error, self.peer.error
        return enough and ours is not None and ours <= self.accuracy and (peer is None or ours <= peer)

    def to_dict(self) -> dict[str, Any]:
        """Plain data; the ratio is the peer's seconds over ours, round by round."""
        return {**super().to_dict(), "ratio": self.ratio.to_dict(), "met": self.met}


@dataclass(frozen=True)
class Start(Finding):
    """A fresh process: imports, building and compiling the arm, the first result, the most memory it held."""

    engine: str
    arm: str
    imports: Timings  # s
    build: Timings  # s, to the first evaluation
    run: Timings | None  # s, the first run of 1 s, where the engine has runs
    process: Timings  # s, wall time of the process from the outside
    memory: Timings | None  # bytes, where the system tells


@dataclass(frozen=True)
class Point(Finding):
    """One setting of one engine on a work-precision curve."""

    engine: str
    settings: str
    angle_error: float  # rad
    deflection_error: float  # m
    seconds: Timings  # per simulated second
    error: float  # the larger of both, each over what is allowed


@dataclass
class Report:
    """Report that grows while the parts run, so that an interrupted bench keeps its results. All was measured on
    `machine`."""

    machine: str = ""
    comparisons: list[Comparison] = field(default_factory=list)
    starts: list[Start] = field(default_factory=list)
    points: list[Point] = field(default_factory=list)
    verdicts: list[tuple[str, bool]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    tell: Callable[[str], None] = lambda _: None

    def note(self, text: str) -> None:
        """A line below the tables, once."""
        if text not in self.notes:
            self.notes.append(text)

    def lacks(self, peer: str, module: str) -> bool:
        """Return whether a peer is absent. If so, a note says how to get it."""
        reason = absent(module)
        if reason:
            self.note(f"{peer}: left out, {reason}")
        return reason is not None

    def ask(self, part: str, peer: str, module: str, measure: Callable[[], None]) -> None:
        """Run the measurements with one peer. A peer that is absent or fails becomes a line, and the rest goes on."""
        if self.lacks(peer, module):
            return
        self.tell(f"{part}: {peer} ...")
        try:
            measure()
        except Exception as error:  # a peer's version may break in any way, and the table says so
            lines = str(error).splitlines() or [""]
            self.failures.append(f"{part}: {peer} FAILED, {type(error).__name__}: {lines[0]}")

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        verdicts = [{"asked": text, "met": met} for text, met in self.all_verdicts()]
        lists = {
            name: [{**x.to_dict(), "machine": self.machine} for x in getattr(self, name)]
            for name in ("comparisons", "starts", "points")
        }
        return {**lists, "verdicts": verdicts, "notes": self.notes, "failures": self.failures}

    def all_verdicts(self) -> list[tuple[str, bool]]:
        """All targets, and whether each is met."""
        found = [
            (f"{c.asked:g} x {c.peer.engine}, {c.arm}, {c.task}: {c.ratio.median:.3g} x", c.met)
            for c in self.comparisons
            if c.asked is not None and c.met is not None
        ]
        return [(f"{text} ({self.machine})", met) for text, met in found + self.verdicts]
