"""Runs the comparisons of docs/validation.md, prints its tables and draws its figures. Five minutes.

python docs/images/make_validation.py
"""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from pliant import SimulationError
from pliant_bench import spin_up, two_link
from pliant_bench.peers import PeerRun

HERE = Path(__file__).parent
sys.path.append(str(HERE.parents[1] / "tests"))  # problems chosen by others are with the tests
ALPHA = {"solver": "generalized-alpha", "spectral_radius": 0.6, "reduced_integration": 2}


def released() -> None:
    """The two-link arm: everyone against the converged run."""
    exact = two_link.reference()
    runs: list[tuple[str, PeerRun]] = []
    for upper, fore in ((2, 2), (3, 3), (4, 4), (5, 5), (5, 6), (6, 6), (7, 7), (8, 8)):
        h = two_link.stable_step(upper, fore)
        runs.append(
            (f"pliant, {upper} + {fore} shapes, RK4 at {h * 1e3:.2f} ms", two_link.pliant_run(upper, fore, step=h))
        )
    for n, h in ((4, 2.5e-4), (6, 1.25e-4), (8, 2.5e-4), (8, 1.25e-4), (12, 5e-5), (16, 2.5e-5)):
        runs.append((f"Exudyn, 2 x {n} elements, trapezoidal, {h * 1e3:g} ms", two_link.exudyn_run(n, h)))
    for n in (6, 8):
        name = f"Exudyn, 2 x {n} elements, generalized alpha 0.6, 0.125 ms"
        runs.append((name, two_link.exudyn_run(n, 1.25e-4, **ALPHA)))
    for n, h in ((4, 1e-3), (8, 2e-3 / 6), (16, 8e-5), (32, 2e-5)):
        runs.append((f"MuJoCo, 2 x {n} springs, RK4 at {h * 1e3:.2g} ms", two_link.mujoco_run(n, h)))
    runs.append(("Pinocchio, 2 x 8 springs, RK4 at 0.33 ms", two_link.pinocchio_run(8)))
    print("| run | coordinates | angles, rad | deflections, m |\n|---|---|---|---|")
    for name, run in runs:
        angle, deflection = run.against(exact)
        print(f"| {name} | {run.settings['coordinates']} | {angle:.1e} | {deflection:.1e} |")
    found = dict(runs)
    draw_released(exact, {name: found[name] for name in found if name.startswith(("Exudyn, 2 x 16", "MuJoCo, 2 x 32"))})


def draw_released(exact: PeerRun, others: dict[str, PeerRun]) -> None:
    """Deflections of the fore link at the end of the run, and the differences all along it."""
    figure, (top, bottom) = plt.subplots(2, 1, figsize=(9, 6), layout="constrained")
    late = exact.t > 1.8
    top.plot(exact.t[late], exact.deflections[late, 1] * 1e3, "k", linewidth=2, label="pliant, 10 + 9 shapes")
    for name, run in others.items():
        top.plot(run.t[late], run.deflections[late, 1] * 1e3, "--", label=name)
        bottom.plot(run.t, (run.deflections - exact.deflections)[:, 1] * 1e3, linewidth=0.7, label=name)
    for side in (-1, 1):
        bottom.axhline(side * two_link.DEFLECTION * 1e3, color="0.5", linestyle=":")
    top.set(ylabel="tip deflection of the fore link, mm", title="The last 0.2 s of 2 s")
    bottom.set(xlabel="t, s", ylabel="difference, mm", title="All along; dotted: the limit of 0.03 mm")
    top.legend(fontsize=8)
    figure.savefig(HERE / "validation-two-link.png", dpi=110)


def spun() -> None:
    """The spin-up beam: peaks of the lag."""
    print("\n| speed, rad/s | T, s | exact | second-order | third-order | off |\n|---|---|---|---|---|---|")
    figure, axes = plt.subplots(figsize=(9, 3.6), layout="constrained")
    for speed, T in ((2.0, 15.0), (4.0, 15.0), (8.0, 15.0), (2.0, 5.0)):
        exact = spin_up.exudyn_run(speed, T, elements=16)
        peak = -exact.deflections.min()
        cells = []
        for order in ("second-order", "third-order", "off"):
            try:
                run = spin_up.pliant_run(speed, T, order, 4)
            except SimulationError:
                cells.append("runs away")
                continue
            lag = -run.deflections.min()
            cells.append(f"{lag:.4f} ({lag / peak - 1:+.2%})" if lag < 10 else "runs away")
            if (speed, T) == (2.0, 5.0):
                axes.plot(run.t, run.deflections, label=f"pliant, stiffening={order!r}", linewidth=1)
        print(f"| {speed:g} | {T:g} | {peak:.4f} | " + " | ".join(cells) + " |")
    axes.plot(exact.t, exact.deflections, "k--", label="Exudyn, 16 cable elements")
    axes.set(xlabel="t, s", ylabel="tip deflection, m", title="8 m beam brought to 2 rad/s in 5 s")
    axes.legend(fontsize=8)
    figure.savefig(HERE / "validation-spin-up.png", dpi=110)


def whirled_and_buckled() -> None:
    """The shaft and the strip of others, by both codes."""
    from other_codes.problems import lateral_buckling, rotating_shaft

    shaft, strip = rotating_shaft.ours(1)[0], lateral_buckling.ours(4)[0]
    few, many = (rotating_shaft.theirs(count, 1e-3)[0] for count in (12, 24))
    draw_whirled_and_buckled(shaft, many, many + (many - few) / 3, strip, lateral_buckling.theirs(32, 5e-4)[0])


def draw_whirled_and_buckled(shaft: np.ndarray, many: np.ndarray, limit: np.ndarray, *strips: np.ndarray) -> None:
    """Sideways displacements of the middle of the shaft, and of the strip."""
    figure, (top, bottom) = plt.subplots(2, 1, figsize=(9, 6), layout="constrained")
    t = 5e-3 * np.arange(len(shaft))
    top.plot(t, limit[:, 1] * 1e3, "k", linewidth=2.5, alpha=0.4, label="Exudyn, limit of 12 and 24 elements")
    top.plot(t, many[:, 1] * 1e3, "--", linewidth=1, label="Exudyn, 24 elements")
    top.plot(t, shaft[:, 1] * 1e3, linewidth=1, label="pliant, 2 x 1 piece")
    for line, name, color in zip(strips, ("pliant, 4 pieces", "Exudyn, 32 elements"), ("C1", "C0"), strict=True):
        bottom.plot(np.arange(len(line)), line * 1e3, color, linewidth=1, label=name)
    top.set(xlabel="t, s", ylabel="z of the middle, mm", title="Unbalanced shaft through its critical speed")
    bottom.set(xlabel="t, ms", ylabel="z of the middle, mm", title="Strip that buckles under the pull of a crank")
    for axes in (top, bottom):
        axes.legend(fontsize=8)
    figure.savefig(HERE / "validation-others.png", dpi=110)


if __name__ == "__main__":
    np.seterr(all="ignore")
    released()
    spun()
    whirled_and_buckled()
