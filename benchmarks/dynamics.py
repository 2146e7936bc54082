"""Forward dynamics against Pinocchio: the kernel, one checked call, a batch; operation counts; growth with the links.

    python -m benchmarks dynamics [--quick]

Ratios are times of `pinocchio.aba` called from Python over ours, in one process, in turns. The kernel is timed by a
compiled loop that calls its address; batches of 4,096 states run on one thread.
"""

from __future__ import annotations

import resource
import time

import numpy as np

from pliant import Model, load
from pliant.compute import set_threads
from pliant.robot import arms
from pliant_bench.arms import arm, rigid_chain, states
from pliant_bench.compiled_call import CALLS, kernel_loop
from pliant_bench.rigid_peers import pinocchio_arm
from pliant_bench.timing import Effort, alternating, best

BATCH = 4096


def kernel_time(model: Model) -> float:
    """Seconds of one evaluation of the compiled forward dynamics, called in a loop by address."""
    return best(kernel_loop(model, *(x[0] for x in states(model.n, model.n_joints))), 0.5) / CALLS


def compare(links: int, modes: int, joints: int) -> dict[str, float]:
    """Times of our arm and of a rigid Pinocchio chain of `joints` joints."""
    import pinocchio as pin

    ours = arm(links, modes).model(rotation="linear")
    q, qd, tau = (x[0] for x in states(ours.n, ours.n_joints))
    twin, data = pinocchio_arm(rigid_chain(arm(joints)))
    p, pd, ptau = (x[0] for x in states(joints, joints))
    if not modes:
        error = np.abs(ours.forward_dynamics(q, qd, tau) - pin.aba(twin, data, q, qd, tau)).max()
        assert error < 1e-9, error
    turns = alternating(
        {
            "pinocchio": lambda: pin.aba(twin, data, p, pd, ptau),
            "call": lambda: ours.forward_dynamics(q, qd, tau),
        },
        Effort(rounds=5, seconds=0.1),
    )
    times = {name: samples.least for name, samples in turns.items()}
    set_threads(1)
    many = states(ours.n, ours.n_joints, BATCH)
    times["batch"] = best(lambda: ours.forward_dynamics(*many), 1.0) / BATCH
    set_threads(None)
    times["kernel"] = kernel_time(ours)
    return times


def growth(sizes: tuple[int, ...]) -> tuple[float, float, list[tuple[int, float, float]]]:
    """Slope of kernel time over links in log-log, peak memory in GB, and (links, microseconds, compile seconds)."""
    rows = []
    for n in sizes:
        model = arm(n).model()
        begin = time.perf_counter()
        model.kernel("forward_dynamics").address  # noqa: B018 - compiles
        compiled = time.perf_counter() - begin
        rows.append((n, kernel_time(model) * 1e6, compiled))
    slope = np.polyfit(np.log([r[0] for r in rows]), np.log([r[1] for r in rows]), 1)[0]
    return float(slope), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20, rows


def default_cost() -> None:
    """What second order, the default, costs beside first order on bundled arms: operations, and kernels in turns."""
    print("arm, coordinates, mul and add of first and second order, kernel us, ratio")
    for name in arms():
        robot = load(name)
        plain, default = robot.model(stiffening="off"), robot.model()
        if not default.options.stiffening:
            continue
        x = plain.chain.rest(), np.zeros(plain.n), np.zeros(plain.n_joints)
        loops = {"plain": kernel_loop(plain, *x), "default": kernel_loop(default, *x)}
        t = {key: found.least / CALLS * 1e6 for key, found in alternating(loops, Effort(rounds=5, seconds=0.1)).items()}
        counts = [model.operation_count() for model in (plain, default)]
        text = ", ".join(f"{c['mul']} + {c['add']}" for c in counts)
        print(f"  {name}: {plain.n}, {text}, {t['plain']:.2f}, {t['default']:.2f}, {t['default'] / t['plain']:.2f}")


def main(quick: bool = False) -> None:
    """Print the tables."""
    print("operations of the whole forward dynamics (mul, add, div, trig)")
    for links, modes in ((2, 1), (6, 0), (6, 3)):
        for rotation in ("linear", "exact"):
            c = arm(links, modes).model(rotation=rotation, stiffening="off").operation_count()
            print(f"  {links} x {modes} {rotation:7s} {c['mul']:5d} {c['add']:5d} {c['div']:4d} {c['trig']:3d}")
    default_cost()
    try:
        import pinocchio as _  # noqa: F401
    except ImportError:
        print("pinocchio is not installed (make bench installs it): no ratios")
    else:
        for name, links, modes, joints in (("rigid 6R", 6, 0, 6), ("24-dof flexible (6 x 3)", 6, 3, 24)):
            t = compare(links, modes, joints)
            print(f"{name}: pinocchio.aba on {joints} joints {t['pinocchio'] * 1e6:.2f} us")
            for what in ("kernel", "call", "batch"):
                print(f"  {what:7s}{t[what] * 1e6:7.3f} us   {t['pinocchio'] / t[what]:6.1f} x")
    slope, memory, rows = growth((20, 50) if quick else (20, 50, 100, 200))
    print("links, kernel us, compile s:", ", ".join(f"{n}: {us:.1f}, {s:.1f}" for n, us, s in rows))
    print(f"slope of kernel time over links {slope:.2f}; peak memory of this process {memory:.2f} GB")
