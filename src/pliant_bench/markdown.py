"""The report as a page of Markdown: ratios first, then start-up and memory, the curve, what was asked, notes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from pliant_bench.findings import Comparison, Point, Report, Start
from pliant_bench.timing import Timings

SCALES = ((1.0, "s"), (1e-3, "ms"), (1e-6, "us"), (1e-9, "ns"))


def markdown(report: Report, facts: dict[str, Any]) -> str:
    """The whole page."""
    pieces = [
        "# pliant beside its peers",
        ", ".join(str(facts[name]) for name in ("date", "machine", "system", "python") if name in facts)
        + (f"; `{facts['command']}`" if "command" in facts else ""),
        "Times are medians of rounds taken in turns, with quartiles in brackets. A ratio is the peer's time over "
        "pliant's, round by round: above 1 pliant is faster.",
    ]
    if facts.get("quick"):
        pieces.append("**Quick run: it shows that everything works, its numbers mean nothing.**")
    if report.comparisons:
        pieces += [
            "## Ratios",
            _rows(COMPARISON, map(_comparison, report.comparisons), report.machine),
            _references(report),
        ]
    if report.starts:
        pieces += ["## Fresh processes", _rows(START, map(_start, report.starts), report.machine)]
    if report.points:
        pieces += ["## Work and precision, two-link arm", _rows(POINT, map(_point, report.points), report.machine)]
    if verdicts := report.all_verdicts():
        pieces += ["## Asked", "\n".join(f"- {'met' if met else '**NOT MET**'}: {text}" for text, met in verdicts)]
    if lines := [*report.failures, *report.notes]:
        pieces += ["## Notes", "\n".join(f"- {line}" for line in lines)]
    return "\n\n".join(pieces) + "\n"


COMPARISON = ("part", "arm", "task", "per", "pliant", "peer", "ratio", "error", "peer's error", "asked", "verdict")
START = ("engine", "arm", "import", "build, first evaluation", "first run of 1 s", "whole process", "memory")
POINT = ("engine", "settings", "per simulated second", "angles, rad", "deflections, m", "error over allowed")


def _comparison(c: Comparison) -> tuple[str, ...]:
    return (
        c.part, c.arm, c.task, c.unit, f"{c.ours.engine}: {duration(c.ours.seconds)}",
        f"{c.peer.engine}: {duration(c.peer.seconds)}", times(c.ratio), _small(c.ours.error), _small(c.peer.error),
        f"{c.asked:g} x" if c.asked is not None else "", {None: "", True: "met", False: "**NOT MET**"}[c.met],
    )  # fmt: skip


def _references(report: Report) -> str:
    found = dict.fromkeys(f"{c.part}, per {c.unit}: {c.reference}" for c in report.comparisons)
    return "Errors are held against:\n\n" + "\n".join(f"- {text}" for text in found)


def _start(s: Start) -> tuple[str, ...]:
    steps = (s.imports, s.build, s.run, s.process)
    memory = f"{s.memory.median / 1e6:.0f} MB" if s.memory else "–"
    return (s.engine, s.arm, *(duration(x) if x else "–" for x in steps), memory)


def _point(p: Point) -> tuple[str, ...]:
    return (
        p.engine, p.settings, duration(p.seconds), _small(p.angle_error), _small(p.deflection_error),
        f"{p.error:.2g}",
    )  # fmt: skip


def duration(samples: Timings) -> str:
    """Median and quartiles in a unit that fits."""
    scale, unit = next((pair for pair in SCALES if samples.median >= pair[0]), SCALES[-1])
    lower, upper = samples.quartiles
    return f"{samples.median / scale:.3g} {unit} ({lower / scale:.3g}–{upper / scale:.3g})"


def times(samples: Timings) -> str:
    """A ratio with its quartiles."""
    lower, upper = samples.quartiles
    return f"{samples.median:.3g} x ({lower:.3g}–{upper:.3g})"


def _small(value: float | None) -> str:
    return "" if value is None else f"{value:.1e}"


def _rows(head: Sequence[str], rows: Iterable[Sequence[str]], machine: str) -> str:
    """A table; every row says where it was measured, so that it can be quoted alone."""
    lines = [(*head, "measured on"), ["---"] * (len(head) + 1), *((*row, machine) for row in rows)]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)
