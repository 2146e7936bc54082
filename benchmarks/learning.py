"""Arms inside JAX and PyTorch: what a call costs beside the kernel itself, and beside the same arm written in JAX and
in PyTorch operations.

    JAX_PLATFORMS=cpu python -m benchmarks.learning [--quick]

The arm is the flexible one of six links and 24 freedoms. The plain implementation has exactly its operations: the
traced tape, one operation of JAX or PyTorch each, over rows of states. JAX compiles it under `jit`; PyTorch runs it as
it stands. Rivals take turns; printed are the least and the median of the times, and
medians of ratios round by round, with quartiles; rates are those of the least.
"""

from __future__ import annotations

import argparse
import platform
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from pliant.compute import get_threads
from pliant.compute.tape.operations import NAMES
from pliant.compute.tape.tape import Tape
from pliant.model import Model
from pliant_bench.arms import arm, states
from pliant_bench.timing import Effort, Timings, alternating

BATCH = 4096


def plain(model: Model, name: str, library: Any) -> Callable[..., Any]:
    """A function of a model as operations of `library` on columns of states."""
    tape = Tape.from_function(model.kernel(name).function)  # type: ignore[arg-type]
    rows = list(zip(tape.op.tolist(), tape.a.tolist(), tape.b.tolist(), tape.constant.tolist()))
    unary = {
        "neg": lambda x: -x, "sq": lambda x: x * x, "twice": lambda x: x + x, "inv": lambda x: 1.0 / x,
        "sin": library.sin, "cos": library.cos, "sqrt": library.sqrt,
    }  # fmt: skip
    binary = {
        "add": lambda x, y: x + y, "sub": lambda x, y: x - y, "mul": lambda x, y: x * y, "div": lambda x, y: x / y,
    }  # fmt: skip

    def evaluate(*arrays: Any) -> Any:
        columns = [array[..., k] for array in arrays for k in range(array.shape[-1])]
        values: list[Any] = []
        for op, a, b, constant in rows:
            kind = NAMES[op]
            if kind == "input":
                values.append(columns[a])
            elif kind == "const":
                values.append(constant)
            elif kind in unary:
                values.append(unary[kind](values[a]))
            else:
                values.append(binary[kind](values[a], values[b]))
        zero = columns[0] * 0.0
        return library.stack([values[k] + zero if k >= 0 else zero for k in tape.outputs.tolist()], -1)

    return evaluate


def said(title: str, seconds: Timings, states: int = 1) -> None:
    least, median, rate = seconds.least * 1e6, seconds.median * 1e6, states / seconds.least
    print(f"  {title:52}{least:12.1f} us at least, {median:.1f} in the middle; {rate:,.0f} states/s", flush=True)


def ratio(title: str, found: Timings, of: Timings) -> None:
    low, high = found.over(of).quartiles
    print(f"  {title:52}{found.over(of).median:12.2f}    ({low:.2f} - {high:.2f})", flush=True)


def library(name: str, model: Model, effort: Effort, quick: bool) -> None:
    """Print the table of JAX or of PyTorch."""
    many = states(model.n, model.n_joints, BATCH)
    one = tuple(np.ascontiguousarray(x[0]) for x in many)
    kernel = model.kernel("forward_dynamics")
    if name == "jax":
        import jax

        import pliant.jax as own

        jax.config.update("jax_enable_x64", True)
        wrap, put, operations = jax.jit, jax.device_put, jax.numpy

        def wait(x: Any) -> Any:
            return x.block_until_ready() if isinstance(x, jax.Array) else jax.block_until_ready(x)

        gradient = jax.jit(jax.grad(lambda *x: f(*x).sum(), (0, 1, 2)))
    else:
        import torch

        import pliant.torch as own  # type: ignore[no-redef]

        wrap, put, operations = (lambda f: f), torch.from_numpy, torch

        def wait(x: Any) -> Any:
            return x

        def gradient(*x: Any) -> Any:
            leaves = [a.detach().requires_grad_() for a in x]
            return torch.autograd.grad(f(*leaves).sum(), leaves)

    f, step = wrap(own.forward_dynamics(model)), wrap(own.step(model, 1e-4))
    rows, state = [put(x) for x in many], [put(x) for x in one]
    rival = wrap(plain(model, "forward_dynamics", operations))
    begin = time.perf_counter()
    expected = np.asarray(wait(f(*rows)))
    built = time.perf_counter() - begin
    few = [x[:8] for x in rows] if quick else rows
    begin = time.perf_counter()
    found = np.asarray(wait(rival(*few)))
    print(f"{name}: first call {built:.1f} s, of the plain implementation {time.perf_counter() - begin:.1f} s")
    np.testing.assert_allclose(found, expected[: len(found)], rtol=0, atol=1e-9 * np.abs(expected).max())
    trivial = wrap(lambda q, qd, tau: q + qd)
    tasks = {
        "kernel": lambda: kernel(*many),
        "batch": lambda: wait(f(*rows)),
        "step": lambda: wait(step(*rows)),
        "gradient": lambda: wait(gradient(*rows)),
        "plain": lambda: wait(rival(*few)),
    }
    times = alternating(tasks, effort)
    said(f"batch kernel, {BATCH} states", times["kernel"], BATCH)
    said(f"forward dynamics, {BATCH} states", times["batch"], BATCH)
    ratio("  over the batch kernel (1.3 at most is asked)", times["batch"], times["kernel"])
    said(f"Runge-Kutta step, {BATCH} states", times["step"], BATCH)
    said(f"gradient, {BATCH} states", times["gradient"], BATCH)
    ratio("  over forward dynamics", times["gradient"], times["batch"])
    said(f"plain implementation, {len(few[0])} states", times["plain"], len(few[0]))
    ratio("  over ours", times["plain"].scaled(BATCH / len(few[0])), times["batch"])
    alone = alternating(
        {
            "kernel": lambda: kernel.fast(*one),
            "one": lambda: wait(f(*state)),
            "gradient": lambda: wait(gradient(*state)),
            "add": lambda: wait(trivial(*state)),
        },
        effort,
    )
    said("one state, checked call of the kernel", alone["kernel"])
    said("one state (20 us at most is asked)", alone["one"])
    said("gradient of one state", alone["gradient"])
    said("one addition, for what the library itself takes", alone["add"])


def main(quick: bool = False) -> None:
    """Print both tables."""
    model = arm(6, 3).model(stiffening="off")
    effort = Effort(rounds=3, seconds=0.01, quick=True) if quick else Effort(rounds=15, seconds=0.2, most=60.0)
    length = model.kernel("forward_dynamics").function.n_instructions()
    print(f"{platform.machine()}, Python {platform.python_version()}, {get_threads()} threads; {length} instructions")
    for name in ("jax", "torch"):
        library(name, model, effort, quick)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a smoke run: small sizes, no meaning in the numbers")
    main(parser.parse_args().quick)
