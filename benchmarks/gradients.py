"""Gradients of whole runs: their time in runs, on this machine, in batches and on a GPU.

    python -m benchmarks gradients [--quick]
    python benchmarks/gradients.py prepare FOLDER     # where pliant is installed: emits sources and reference results
    python benchmarks/gradients.py run FOLDER         # where a GPU and CuPy are; pliant's dependencies are not needed

The run: 2 s of the bundled two-link arm by rk4 at 1 ms, driven by 200 samples of both torques, a cost at the end and
one along the run. Its gradient by all 400 numbers is compared with the run alone, loop against loop, in
turns; a batch with the batch of runs.
"""

from __future__ import annotations

import argparse
import time
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

SAMPLES, ARMS, DURATION, STEP = 200, 4096, 2.0, 1e-3


def drawn(arms: int) -> tuple[Any, Any, Any]:
    """Sample times, samples (arms, K, 2) and joint angles (arms, 2); the first arms are the same for any number."""
    rng = np.random.default_rng(0)
    values, q0 = rng.normal(size=(ARMS, SAMPLES, 2)).cumsum(axis=1) * 0.3, rng.normal(size=(ARMS, 2)) * 0.3
    return np.linspace(0.0, DURATION, SAMPLES), values[:arms], q0[:arms]


def arrival(t: Any, q: Any, qd: Any) -> Any:
    """The cost at the end."""
    return (q[0] - 1) ** 2 + (q[1] - 1) ** 2 + qd[0] ** 2 + qd[1] ** 2


def effort(t: Any, q: Any, qd: Any, tau: Any) -> Any:
    """The cost along the run."""
    return 1e-3 * (tau[0] ** 2 + tau[1] ** 2)


def inquiry(arms: int) -> Any:
    """The gradient asked for."""
    import pliant
    from pliant.simulation.gradients.request import Inquiry

    model = pliant.load("two-link").model(stiffening="off")
    times, values, q0 = drawn(arms)
    drive = (times, values if arms > 1 else values[0])
    start = q0 if arms > 1 else q0[0]
    return Inquiry.read(model, start, None, drive, None, {}, None, arrival, effort, None, (), None, False, arms > 1)


def plan_of(asked: Any) -> Any:
    """The steps."""
    from pliant.simulation.batch.batch_equations import make_plan

    stops = asked.f.composition.breaks(DURATION, [])
    return make_plan(np.array([0.0, DURATION]), stops, asked.given.samples.starts, STEP, False)


# ------------------------------------------------------------------------------------------------ this machine


def ratios(arms: int, quick: bool) -> dict[str, Any]:
    """Times of gradients over those of runs, of one arm or of a batch."""
    from pliant.algebra.tableaux import explicit
    from pliant.compute.tape.tape import Tape
    from pliant.integrators import solve
    from pliant.integrators.packs.adjoint import AdjointIntegrator, block_length
    from pliant.integrators.packs.pack import BatchIntegrator
    from pliant.simulation.runs.inputs import Inputs
    from pliant_bench.timing import Effort, alternating

    asked, width = inquiry(arms), 1 if arms == 1 else None
    plan, c, f = plan_of(asked), asked.f.composition, asked.f
    run = asked.run.differentiated([])
    rk4 = explicit("rk4")
    integrator, runs = AdjointIntegrator(run, rk4, width), BatchIntegrator(f.function, rk4, width)
    x, w, own = asked.starts(), asked.given.pieces(), asked.given.held(f)
    steps, out = int(plan.count.sum()), np.empty((arms, 1, f.n))
    back = partial(integrator, x, w, own, plan, DURATION)
    tasks = {
        "pack": lambda: runs(x[:, :-1].copy(), w, own, plan, out, np.zeros(4)),
        "all": lambda: back(steps),
        "fewest": lambda: back(block_length(steps, 4)),
    }
    if arms == 1:
        inputs = Inputs(c.model, c, [asked.given.torque, asked.given.controller], None, None, DURATION)
        problem, start = c.problem(), c.start(asked.given.q0[0], asked.given.qd0[0])
        tasks["run"] = lambda: solve(problem, (0.0, DURATION), start, method="rk4", step=STEP, outputs=[DURATION],
                                     p=inputs.p, samples=inputs.samples)  # fmt: skip
    found = alternating(tasks, Effort(rounds=3) if quick else Effort())
    alone = found.get("run", found["pack"])
    lengths = [len(Tape.from_function(one)) for one in (run.rates, run.product)]
    return {
        "arms": arms, "steps": steps, "operations": lengths, "run ms": alone.median * 1e3,
        "all": found["all"].over(alone), "fewest": found["fewest"].over(alone),
        "all over pack": found["all"].over(found["pack"]), "fewest over pack": found["fewest"].over(found["pack"]),
        "gradients/s": arms / found["all"].median,
    }  # fmt: skip


def main(quick: bool = False) -> None:
    """Print what was measured."""
    for arms in (1, 16 if quick else 256):
        row = ratios(arms, quick)
        print(f"{row['arms']} arms, {row['steps']} steps, operations of f and of its product {row['operations']}: "
              f"a run takes {row['run ms']:.2f} ms")  # fmt: skip
        for name, against in (("", "the loop of the runs"), (" over pack", "the loop of packs")):
            every, few = row[f"all{name}"], row[f"fewest{name}"]
            print(
                f"  against {against}: {every.median:.2f} runs with all stages kept, {few.median:.2f} with checkpoints"
            )
        print(f"  {row['gradients/s']:.0f} gradients by {2 * SAMPLES} numbers a second")


# -------------------------------------------------------------------------------------------------------- a GPU


def prepare(folder: Path) -> None:
    """Sources, and results of this machine for the first arms."""
    from pliant.algebra.tableaux import explicit
    from pliant.compute.tape.tape import Tape
    from pliant.integrators.cuda.adjoint import source
    from pliant.integrators.cuda.source import emit
    from pliant.simulation.gradients.discrete import adjoint

    asked = inquiry(8)
    run, plan = asked.run.differentiated([]), plan_of(asked)
    found = adjoint(asked, DURATION, asked.f.composition.breaks(DURATION, []), STEP, "all", "cpu")
    alone = emit(Tape.from_function(asked.f.function), explicit("rk4"), "double")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "adjoints.cu").write_text(source(run, explicit("rk4")))
    (folder / "steps.cu").write_text(alone.text)
    early, late = plan.sides()
    np.savez_compressed(
        folder / "gradients.npz", value=found.value, by_x=found.by_x, by_w=found.by_w, pieces=asked.given.pieces(),
        t=plan.t, h=plan.h, early=early, late=late, count=plan.count, piece=plan.piece, n=asked.run.n,
        by_w_size=run.by_w, shared=alone.shared_bytes, block=alone.block,
    )  # fmt: skip


def run(folder: Path) -> None:
    """Check and time them on the device."""
    import cupy as cp

    data = dict(np.load(folder / "gradients.npz"))
    times, values, q0 = drawn(ARMS)
    pieces = np.zeros((ARMS, SAMPLES + 1, 5, 2))
    pieces[:, 0, 0], pieces[:, 1:, 0], pieces[:, 1:, 4] = values[:, 0], values, times[:, None]
    pieces[:, 1:-1, 1] = np.diff(values, axis=1) / np.diff(times)[:, None]
    np.testing.assert_allclose(pieces[:8].reshape(8, SAMPLES + 1, 10), data["pieces"], rtol=1e-13)
    n, by_w, whole = int(data["n"]), int(data["by_w_size"]), np.int64
    W = cp.asarray(np.ascontiguousarray(pieces.reshape(ARMS, -1).T))
    start = np.zeros((n, ARMS))
    start[:2] = q0.T
    begin = np.concatenate([[0], np.cumsum(data["count"])]).astype(np.int64)
    steps, segments, P = int(begin[-1]), len(data["t"]), cp.zeros(1)
    moments = [cp.asarray(data[name]) for name in ("t", "h", "early", "late")]
    own, held = (P, whole(1), whole(0)), (W, whole(ARMS), whole(1))
    kernel = cp.RawModule(code=(folder / "adjoints.cu").read_text(), options=("--std=c++17",)).get_function("adjoints")
    print(f"{kernel.num_regs} registers, {kernel.local_size_bytes} bytes of local memory a thread")
    block_of, took = {"all": steps, "fewest": round((steps / 4) ** 0.5)}, {}
    for name, block in block_of.items():
        first = np.arange(0, steps, block)
        segment = cp.asarray(np.searchsorted(begin, first, side="right") - 1)
        kept, states = cp.empty(block * 4 * n * ARMS), cp.empty(len(first) * n * ARMS)
        for _ in range(4):
            X, sizes = cp.asarray(start), (ARMS, (n, ARMS), ((SAMPLES + 1) * by_w, ARMS), (0, ARMS))
            filled = [cp.zeros(size) for size in sizes]
            arguments = (X, *held, *own, *moments, cp.asarray(begin), cp.asarray(data["piece"].astype(np.int64)),
                         whole(segments), np.float64(DURATION), whole(block), whole(len(first)), segment, kept, states,
                         *filled, whole(ARMS))  # fmt: skip
            cp.cuda.Device().synchronize()
            tic = time.perf_counter()
            kernel((-(-ARMS // 64),), (64,), arguments)
            cp.cuda.Device().synchronize()
            took[name] = min(took.get(name, np.inf), time.perf_counter() - tic)
        for found, expected in ((filled[0].get(), data["value"]), (filled[1].get().T, data["by_x"]),
                                (filled[2].get().T.reshape(ARMS, SAMPLES + 1, by_w), data["by_w"])):  # fmt: skip
            error = np.abs(found[:8] - expected).max() / np.abs(expected).max()
            print(f"  {name}: off by {error:.1e} of the largest entry from the packs")
            assert error < 1e-9
    forward = cp.RawModule(code=(folder / "steps.cu").read_text(), options=("--std=c++17",)).get_function("steps")
    for _ in range(4):
        X, threads = cp.asarray(start[: n - 1].copy()), int(data["block"])
        cp.cuda.Device().synchronize()
        tic = time.perf_counter()
        for s in range(segments):
            piece = W[int(data["piece"][s]) * 10 :]
            when = [np.float64(data[name][s]) for name in ("t", "early", "late", "h")]
            arguments = (X, piece, *held[1:], *own, whole(ARMS), np.uint64(0), *when, whole(data["count"][s]))
            forward((-(-ARMS // threads),), (threads,), arguments, shared_mem=int(data["shared"]))
        cp.cuda.Device().synchronize()
        took["run"] = min(took.get("run", np.inf), time.perf_counter() - tic)
    for name in block_of:
        print(f"{name}: {ARMS} gradients in {took[name] * 1e3:.1f} ms ({ARMS / took[name]:.0f}/s), "
              f"{took[name] / took['run']:.2f} times the runs alone ({took['run'] * 1e3:.1f} ms)")  # fmt: skip


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("action", choices=["prepare", "run", "here"])
    parser.add_argument("folder", type=Path, nargs="?", default=Path("build/gradients"))
    options = parser.parse_args()
    {"prepare": prepare, "run": run, "here": lambda folder: main()}[options.action](options.folder)
