"""Rest-to-rest motions through elastic drives: processor time of the search, and where simulated runs end.

    python benchmarks/rest_to_rest.py [WORD ...]     # only arms whose names have one of the words

The bundled laboratory arm, with its sixteen coordinates and with ten; without Coulomb friction, whose stick a planned
motion cannot know, and with it. `cold` is the first search with an empty cache, what is traced and compiled
included, `warm` the same again. Ends are distances of the tip from rest, the largest after the end, by prescribed
motion and by PD with the torques of the motion.
"""

from __future__ import annotations

import os
import platform
import sys
import tempfile
import time
from typing import Any

START, GOAL, DURATION = [0.0, -0.4, 0.5], [0.8, 0.3, -0.4], 0.8


def arms() -> dict[str, Any]:
    """By name."""
    import pliant

    lab = pliant.load("lab-arm")
    shapes = {"bending_y": 1, "bending_z": 1, "torsion": 0}
    fewer = {f"links.{link}.shapes.{name}": count for link in ("upper", "fore") for name, count in shapes.items()}
    smooth = {f"links.{link}.joint.friction.coulomb": 0.0 for link in ("base", "upper", "fore")}
    return {
        "ten": lab.replace(fewer | smooth), "ten, Coulomb friction": lab.replace(fewer), "sixteen": lab.replace(smooth),
        "sixteen, Coulomb friction": lab,
    }  # fmt: skip


def measured(name: str, robot: Any) -> str:
    """A line of the table."""
    import numpy as np

    import pliant
    from pliant.control import PD, natural_gains, rest_to_rest

    spent = []
    for _ in range(2):
        model, begin = robot.model(), time.process_time()
        move = rest_to_rest(model, START, GOAL, duration=DURATION)
        spent.append(time.process_time() - begin)
    rest = model.tip_pose(model.equilibrium(GOAL))[:3, 3]
    kp, kd = natural_gains(model, GOAL, 30.0 / (2 * np.pi))
    tracked: dict[str, Any] = {"controller": PD(kp, kd, move.trajectory, gravity="none"), "torque": move.torque}
    ends = []
    for driven in ({"motion": move.motion(model)}, tracked):
        run = pliant.simulate(model, DURATION + 0.5, q0=move.q0, **driven)
        ends.append(1e3 * np.linalg.norm(run.tip[run.t >= DURATION] - rest, axis=1).max())
    return f"| {name} | {spent[0]:.1f} s | {spent[1]:.1f} s | {move.iterations} | {ends[0]:.4f} mm | {ends[1]:.4f} mm |"


def main(words: list[str]) -> None:
    """The table."""
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    with tempfile.TemporaryDirectory() as cache:
        os.environ["PLIANT_CACHE_DIR"] = cache
        print(f"{platform.machine()}, Python {platform.python_version()}")
        print("| coordinates | cold | warm | iterations | end, prescribed | end, PD |\n|---|---|---|---|---|---|")
        for name, robot in arms().items():
            if not words or any(word in name for word in words):
                print(measured(name, robot), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
