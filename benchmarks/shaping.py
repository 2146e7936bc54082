"""Shaped motions of every arm that bends: what is left to swing and how long they take, beside the plain motion.

    python benchmarks/shaping.py [ARM ...]           # all by default, each in a process of its own
    python benchmarks/shaping.py --table FOLDER      # the table of what was measured there

`least` is the time that no motion of the motors over the same distances takes less than, within the same limits of
speed, acceleration and jerk, whether the arm rings behind it or not: what ends at rest cannot be faster.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

URDF = Path(__file__).parents[1] / "examples" / "urdf"
TURN = math.pi / 180
MOVES: dict[str, tuple[list[float], list[float], float | None]] = {
    "boom": ([0.0, 0.5, -0.9], [0.4, 0.8, -0.6], None),
    "box-arm": ([-0.4, 0.5], [0.4, -0.3], None),
    "canadarm2": ([1.2566, -1.2566, 0, 0, 0], [1.0566, -1.0066, 0.15, 0.1, 0], 50.0),
    "crane-4dof": ([0, 0.5236, 2.0944, 0.5236], [0.6, 0.8, 1.5, 0.3], 2.0),
    "lab-arm": ([0.0, -0.4, 0.5], [0.8, 0.3, -0.4], None),
    "rrp": ([0, 0, 0.4], [1.0, 0.6, 0.7], None),
    "space-arm": ([0, 0.4, -0.8, 0.2, 0, 0], [0.25, 0.6, -0.5, 0.1, 0.1, 0], None),
    "spin-up": ([0.0], [1.0], 0.4),
    "two-link": ([-0.6, 0.4], [0.3, -0.5], 2.0),
    "ur5_like.urdf": (
        [TURN * x for x in (0, -60, 80, -110, -90, 0)],
        [TURN * x for x in (40, -40, 60, -100, -90, 0)],
        None,
    ),
    "five-bar": ([0.0, 0.0], [0.3, -0.2], None),
    "free-flyer": ([0, 0, 0, 0, 0.4, -0.8, 0.2, 0, 0], [0, 0, 0, 0.25, 0.6, -0.5, 0.1, 0.1, 0], None),
    "hydraulic-crane": ([0.0], [0.6], None),
    "parallelogram": ([0.0, 0.0, 0.0], [0.5, 0.3, -0.3], None),
    "slider-crank": ([0.3], [1.6], None),
}
"""Start, goal and payload, kg; by default the described one."""
LIMITS = {"ur5_like.urdf": {"acceleration_limit": 8.0, "jerk_limit": 160.0}}
"""Where the file has none."""


def arm_of(name: str) -> Any:
    """The robot, a bundled one or that of the example."""
    import pliant

    if not name.endswith(".urdf"):
        return pliant.load(name)
    return pliant.load(URDF / name, flexible=URDF / "ur5_like_side.yaml", tip="tool0")


def measured(name: str, payload_error: float) -> dict[str, Any]:
    """What one motion leaves behind and takes."""
    import numpy as np

    import pliant
    from pliant.control.planning.stated_limits import stated_limits

    start, goal, payload = MOVES[name]
    limits = LIMITS.get(name, {})
    model, begin = arm_of(name).model(), time.process_time()
    found = pliant.plan(
        model, start, goal, payload=payload, payload_error=payload_error, progress=False, **limits
    )  # fmt: skip
    ends = found.trajectory(np.array([0.0, found.duration]))[0]
    least = stated_limits(model, limits)[0].shortest(ends[1] - ends[0])
    return {**found.to_dict(), "least": float(least), "spent": time.process_time() - begin}


def line(name: str, exact: dict[str, Any], robust: dict[str, Any]) -> str:
    """Of the table."""
    here, off = exact["residual"]["as described"], [robust["residual"][key]["ratio"] for key in robust["residual"]]
    cells = (
        f"`{name}`, {exact['frequency']:.3g} Hz", exact["method"], f"{exact['least']:.4g} s",
        f"{exact['plain_duration']:.4g} s, {1e3 * here['plain']:.3g} mm",
        f"{exact['duration']:.4g} s, {1e3 * here['shaped']:.2g} mm, {here['ratio']:.1g}",
        f"{robust['duration']:.4g} s; {', '.join(f'{x:.2g}' for x in off)}",
        f"{100 * max(*exact['shares'].values(), *robust['shares'].values()):.1f} %",
        f"{exact['spent']:.0f} s, {robust['spent']:.0f} s",
    )  # fmt: skip
    return f"| {' | '.join(cells)} |"


def table(folder: Path) -> None:
    """Of all that was measured."""
    print(f"{platform.machine()}, Python {platform.python_version()}, {time.strftime('%Y-%m-%d')}")
    print("| arm | by | least | plain | shaped | payload off by 20 %: exact, +, - | of the limits | processor time |")
    print("|---|---|---|---|---|---|---|---|")
    for name in MOVES:
        files = [folder / f"{name}-{error}.json" for error in (0.0, 0.2)]
        if all(file.exists() for file in files):
            print(line(name, *(json.loads(file.read_text(encoding="utf-8")) for file in files)))


def main() -> None:
    """Measure, each arm in a process of its own, then print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("arms", nargs="*", metavar="ARM", help=", ".join(MOVES))
    parser.add_argument("--out", type=Path, default=Path("out") / "shaping", help="folder of the numbers")
    parser.add_argument("--table", type=Path, metavar="FOLDER", help="print what is there, and measure nothing")
    parser.add_argument("--one", nargs=2, metavar=("ARM", "ERROR"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        print(json.dumps(measured(options.one[0], float(options.one[1]))))
        return
    if options.table is None:
        options.out.mkdir(parents=True, exist_ok=True)
        for name in options.arms or MOVES:
            for error in (0.0, 0.2):
                command = [sys.executable, "-W", "ignore", __file__, "--one", name, str(error)]
                done = subprocess.run(
                    command, env=os.environ | {"OMP_NUM_THREADS": "1"}, check=True, stdout=subprocess.PIPE, text=True
                )
                (options.out / f"{name}-{error}.json").write_text(done.stdout, encoding="utf-8")
    table(options.table or options.out)


if __name__ == "__main__":
    main()
