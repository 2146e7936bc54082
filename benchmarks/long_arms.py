"""Long arms: from a robot to its first evaluation, and one evaluation, with functions that links share and written out.

    python benchmarks/long_arms.py [WORD ...]     # only arms whose names have one of the words

Each line is one fresh process with an empty cache. `model` is load and checks, `trace` and `compile` are those of
`forward_dynamics`, `call` one evaluation from Python. The last column is the same arm with every link written out,
where that takes no minutes.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

import numpy as np

WRITTEN_OUT = ("100 links x 4", "6 x 8 elements", "100 rigid links", "10 rigid links", "12 links x 6")


def modal(count: int, y: int, z: int) -> Any:
    """Equal beams, axes in turn at right angles: the load beyond gives each its own modes."""
    from pliant import Beam, Joint, Link, Robot, Shapes
    from pliant.robot import Origin

    beam = Beam(length=1.0, mass_per_length=5.0, EI_y=1e3, EI_z=1.4e3, GJ=800, EA=1e7, polar_inertia=0.01)
    turns = [Joint(origin=Origin(rpy=(np.pi / 2 * (k % 2), 0.0, 0.0))) for k in range(count)]
    shapes = Shapes(bending_y=y, bending_z=z)
    links = [Link(name=f"link{k}", joint=joint, beam=beam, shapes=shapes) for k, joint in enumerate(turns)]
    return Robot(name="beams", gravity=(0.0, -9.81, 0.0), links=links)


def rigid(count: int) -> Any:
    """Equal rigid links, axes in turn at right angles."""
    from pliant import Joint, Link, RigidBody, Robot
    from pliant.robot import Origin

    body = RigidBody(mass=0.5, com=(0.12, 0.01, 0.02), inertia=(0.001, 0.004, 0.005), tip=(0.25, 0.0, 0.01))
    turns = [Joint(origin=Origin(rpy=(np.pi / 2 * (k % 2), 0.0, 0.0))) for k in range(count)]
    links = [Link(name=f"link{k}", joint=joint, rigid=body) for k, joint in enumerate(turns)]
    return Robot(name="rigid", gravity=(0.0, -9.81, 0.0), links=links)


def elements(count: int) -> Any:
    """Six beams in finite elements, which bend in two planes."""
    from pliant import Shapes

    shapes = Shapes(method="elements", count=count, bending_y=True, bending_z=True)
    return modal(6, 1, 1).replace({f"links.link{k}.shapes": shapes for k in range(6)})


ARMS: dict[str, tuple[Callable[[], Any], bool | str]] = {
    "12 links x 6": (lambda: modal(12, 3, 2), False),
    "100 links x 4": (lambda: modal(100, 2, 1), False),
    "6 x 8 elements": (lambda: elements(8), False),
    "6 x 8 elements, second order": (lambda: elements(8), "second-order"),
    "10 rigid links": (lambda: rigid(10), False),
    "100 rigid links": (lambda: rigid(100), False),
    "1,000 rigid links": (lambda: rigid(1000), False),
}


def measured(name: str, written_out: bool) -> dict[str, float]:
    """Times of this process, in seconds and microseconds."""
    from pliant.mechanics.links import chain

    if written_out:
        chain.MANY_LINKS = chain.MANY_COORDINATES = 10**9
    make, stiffening = ARMS[name]
    robot = make()
    times = [time.perf_counter()]
    model = robot.model(stiffening=stiffening)
    times.append(time.perf_counter())
    kernel = model.kernel("forward_dynamics")
    instructions = kernel.n_instructions()
    times.append(time.perf_counter())
    rng = np.random.default_rng(0)
    state = 0.05 * rng.normal(size=model.n_q), rng.normal(size=model.n), rng.normal(size=model.n_joints)
    kernel(*state)
    times.append(time.perf_counter())
    single, best = kernel.fast, float("inf")
    for _ in range(20):
        start = time.perf_counter()
        for _ in range(20):
            single(*state)
        best = min(best, (time.perf_counter() - start) / 20)
    found = dict(zip(("model", "trace", "compile"), np.diff(times).tolist()))
    return found | {"call": 1e6 * best, "n": model.n, "run": instructions, "compiled": kernel.code_length()}


def fresh(name: str, written_out: bool) -> dict[str, float]:
    """The same of a process of its own, with an empty cache."""
    with tempfile.TemporaryDirectory() as folder:
        given = {**os.environ, "PLIANT_CACHE_DIR": folder}
        command = [sys.executable, __file__, "--measure", name, *(["--written-out"] if written_out else [])]
        done = subprocess.run(command, env=given, capture_output=True, text=True, check=True)
    return dict(json.loads(done.stdout.splitlines()[-1]))


def main() -> None:
    """All arms, or those that are asked for."""
    if "--measure" in sys.argv:
        name = sys.argv[sys.argv.index("--measure") + 1]
        print(json.dumps(measured(name, "--written-out" in sys.argv)))
        return
    print(f"{platform.machine()}, Python {platform.python_version()}, load {os.getloadavg()[0]:.1f}\n")
    print("| arm | coordinates | instructions run / compiled | model s | trace s | compile s | call µs | written out |")
    print("|---|---|---|---|---|---|---|---|")
    costs: dict[str, float] = {}
    for name in [name for name in ARMS if len(sys.argv) == 1 or any(word in name for word in sys.argv[1:])]:
        found, other = fresh(name, False), "-"
        costs[name] = found["call"]
        if name in WRITTEN_OUT:
            plain = fresh(name, True)
            other = f"{plain['trace'] + plain['compile']:.1f} s, {plain['call']:.1f} µs"
        print(
            f"| {name} | {found['n']:.0f} | {found['run']:,.0f} / {found['compiled']:,.0f} | {found['model']:.1f} "
            f"| {found['trace']:.1f} | {found['compile']:.1f} | {found['call']:.1f} | {other} |", flush=True,
        )  # fmt: skip
    if {"10 rigid links", "1,000 rigid links"} <= costs.keys():
        slope = np.log(costs["1,000 rigid links"] / costs["10 rigid links"]) / np.log(100)
        print(f"\nslope of a call from 10 to 1,000 rigid links: {slope:.2f}")


if __name__ == "__main__":
    main()
