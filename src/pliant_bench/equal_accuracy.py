"""Engines by settings from coarse to fine, against one reference: who is faster at equal or better accuracy.

Times are those of the time stepping alone; building and compiling stand in a note.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from pliant_bench.findings import Comparison, Point, Report, Side
from pliant_bench.peers import PeerRun
from pliant_bench.timing import Timings

OURS = "pliant"
PAIRS = 7


@dataclass(frozen=True)
class Setting:
    """An engine with its discretization and its step."""

    engine: str
    label: str
    run: Callable[[], PeerRun]


@dataclass(frozen=True)
class CommonMotion:
    """A motion that all engines run: `error` weighs a run's angle and deflection errors, at most 1 is allowed."""

    part: str
    arm: str
    task: str
    t_end: float
    exact: PeerRun
    reference: str
    error: Callable[[float, float], float]

    def curve(self, report: Report, settings: list[Setting], rounds: int) -> dict[Setting, Point]:
        """All settings in turns; one that fails becomes a line."""
        walls: dict[Setting, list[float]] = {}
        errors: dict[Setting, tuple[float, float]] = {}
        built: dict[str, float] = {}
        for turn in range(rounds):
            for setting in settings if turn == 0 else list(walls):
                report.tell(f"{self.part}: {setting.engine}, {setting.label} ...")
                try:
                    run = setting.run()
                except Exception as error:  # a peer may break down at any setting, and the table says so
                    reason = (str(error).splitlines() or [""])[0]
                    report.failures.append(f"{self.part}: {setting.engine}, {setting.label} FAILED, {reason}")
                    walls.pop(setting, None)
                    continue
                walls.setdefault(setting, []).append(run.wall_simulation / self.t_end)
                errors[setting] = run.against(self.exact)
                built[setting.engine] = max(built.get(setting.engine, 0.0), run.wall_setup)
        for engine, seconds in built.items():
            report.note(
                f"{engine}: up to {seconds:.2g} s to build and compile the {self.arm} arm, not counted in the curve"
            )
        return {
            setting: Point(
                setting.engine, setting.label, *errors[setting], Timings(tuple(values)), self.error(*errors[setting])
            )
            for setting, values in walls.items()
        }  # fmt: skip

    def compare(
        self, report: Report, points: dict[Setting, Point], rival: str, pairs: int, asked: float | None
    ) -> None:
        """The rival's cheapest setting within the allowed error against our cheapest that is no less accurate, in
        turns."""
        theirs = cheapest({s: p for s, p in points.items() if s.engine == rival}, 1.0)
        ours = cheapest({s: p for s, p in points.items() if s.engine == OURS}, min(1.0, points[theirs].error))
        walls: dict[Setting, list[float]] = {ours: [], theirs: []}
        for _ in range(pairs):
            for setting in (ours, theirs):
                report.tell(f"{self.part}: {setting.engine}, {setting.label} ...")
                walls[setting].append(setting.run().wall_simulation / self.t_end)
        our_side, their_side = (
            Side(f"{s.engine}, {s.label}", Timings(tuple(walls[s])), points[s].error) for s in (ours, theirs)
        )
        report.comparisons.append(
            Comparison(
                part=self.part,
                arm=self.arm,
                task=f"{self.task}, {self.t_end:g} s, equal or better accuracy",
                unit="simulated second",
                ours=our_side,
                peer=their_side,
                reference=self.reference,
                asked=asked,
                accuracy=None if asked is None else 1.0,
            )
        )


def cheapest(points: dict[Setting, Point], allowed: float) -> Setting:
    """The fastest setting within an error; the most accurate one where none is."""
    within = {s: p.seconds.median for s, p in points.items() if p.error <= allowed}
    return min(within, key=lambda s: within[s]) if within else min(points, key=lambda s: points[s].error)
