"""What a sweep costs beside the bare batch of the same runs: study, metrics, journal, tables and summary figure.

    python -m benchmarks sweeps [--quick]

Both take turns, models compiled before. What a sweep does once (tables and figure above all) is told apart from what
it does for each point by two sizes.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable

from pliant.batch import simulate_batch
from pliant.sweeps import SweepStudy, sweep
from pliant.sweeps.points import Points

DURATION, STEP = 2.0, 1e-3


def study(count: int) -> SweepStudy:
    """Two-link arms that differ in payload and stiffness, falling for 2 s, all four default metrics."""
    return SweepStudy.from_dict({
        "scenario": {
            "robot": "two-link", "initial": {"q": {"upper": 0.0, "fore": 0.0}}, "duration": DURATION, "method": "rk4",
            "step": STEP,
        },
        "vary": {
            "payload.mass": {"from": 0.0, "to": 2.0},
            "links.upper.beam.EI_z": {"from": 500, "to": 2000, "scale": "log"},
        },
        "sample": {"method": "random", "count": count, "seed": 1},
    })  # fmt: skip


def measure(count: int, rounds: int) -> tuple[float, float]:
    """Smallest times of the bare batch and of the sweep."""
    chosen = study(count)
    points = Points(chosen)
    q, qd, torque, p = points.inputs(points.values)

    def bare() -> None:
        assert points.shared is not None
        simulate_batch(points.shared, DURATION, q, qd, torque, p=p, step=STEP, progress=False)

    def whole() -> None:
        with tempfile.TemporaryDirectory() as folder:
            sweep(chosen, folder)

    def seconds(work: Callable[[], None]) -> float:
        begin = time.perf_counter()
        work()
        return time.perf_counter() - begin

    seconds(bare), seconds(whole)
    turns = [(seconds(bare), seconds(whole)) for _ in range(rounds)]
    return min(a for a, _ in turns), min(b for _, b in turns)


def main(quick: bool = False) -> None:
    """Print both sizes, the cost of a point and the cost of a study."""
    sizes, rounds = ((500, 2000), 1) if quick else ((10_000, 50_000), 3)
    found = {count: measure(count, rounds) for count in sizes}
    for count, (bare, whole) in found.items():
        print(f"{count} points: batch {bare:.2f} s, sweep {whole:.2f} s, {100 * (whole / bare - 1):.1f} % more")
    small, large = sizes
    added = {count: whole - bare for count, (bare, whole) in found.items()}
    each = (added[large] - added[small]) / (large - small)
    share = each / (found[large][0] / large)
    print(f"a point {1e6 * each:.1f} us, {100 * share:.1f} % of its run; a study {added[small] - small * each:.2f} s")


if __name__ == "__main__":
    main()
