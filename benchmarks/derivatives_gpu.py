"""Matrices of derivatives on a GPU, beside the machine that prepares them.

    python benchmarks/derivatives_gpu.py prepare FOLDER    # where pliant is installed: sources and reference results
    python benchmarks/derivatives_gpu.py run FOLDER        # where a GPU and CuPy are; CasADi is not needed

Accelerations and their derivatives by q, qd and tau of many states, all arrays on the device before and after. What was
prepared is checked first, to 1e-11 of the largest entry.
"""

from __future__ import annotations

import argparse
import pickle
import time
from pathlib import Path
from typing import Any

import numpy as np

CHECKED, BATCHES = 256, (4_096, 65_536)
MEMORY = 227 * 1024
"""Shared memory that a block may have, compute capability 9.0."""


def prepare(folder: Path) -> None:
    """Sources, and results of this machine for some states."""
    from pliant.compute.cuda.rows import columns_source
    from pliant.model.building import traced
    from pliant.robot import load
    from pliant_bench.arms import arm, states

    folder.mkdir(parents=True, exist_ok=True)
    arms = {"two-link": load("two-link"), "rigid 6R": arm(6), "24-dof flexible": arm(6, 3)}
    found = {}
    for name, robot in arms.items():
        model = robot.model(stiffening="off")
        kernel = model.kernel("forward_dynamics_derivatives")
        given = states(model.n, model.n_joints, CHECKED)
        expected = model.forward_dynamics_derivatives(*given)
        many = [np.resize(x, (BATCHES[0], *x.shape[1:])) for x in given]
        begin = time.perf_counter()
        model.forward_dynamics_derivatives(*many)
        begin = time.perf_counter()
        model.forward_dynamics_derivatives(*many)
        took = (time.perf_counter() - begin) / BATCHES[0]
        source = columns_source(traced(model, "forward_dynamics_derivatives"), kernel.signature, MEMORY)
        found[name] = source, given, tuple(expected), took
    (folder / "derivatives.pickle").write_bytes(pickle.dumps(found))


def run(folder: Path) -> None:
    """Check and time them on the device."""
    import cupy as cp

    from pliant.compute.cuda.device_rows import DeviceColumns

    found: dict[str, Any] = pickle.loads((folder / "derivatives.pickle").read_bytes())
    print(cp.cuda.runtime.getDeviceProperties(0)["name"].decode())
    for name, (source, given, expected, took) in found.items():
        begin = time.perf_counter()
        code = DeviceColumns(source)
        made = code([cp.asarray(x) for x in given], (CHECKED,))
        compiled = time.perf_counter() - begin
        worst = max(float(np.abs(cp.asnumpy(a) - b).max() / np.abs(b).max()) for a, b in zip(made, expected))
        assert worst < 1e-11, (name, worst)
        times = []
        for count in BATCHES:
            arrays = [cp.asarray(np.resize(x, (count, *x.shape[1:]))) for x in given]
            code(arrays, (count,))
            cp.cuda.Device().synchronize()
            begin = time.perf_counter()
            for _ in range(5):
                code(arrays, (count,))
            cp.cuda.Device().synchronize()
            times.append((time.perf_counter() - begin) / 5 / count)
        ns = ", ".join(f"{count} states: {t * 1e9:.1f} ns a state" for count, t in zip(BATCHES, times))
        print(
            f"{name}: error {worst:.1e}, compiled in {compiled:.1f} s; {ns}; prepared on: {took * 1e9:.0f} ns",
            flush=True,
        )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["prepare", "run"])
    parser.add_argument("folder", type=Path)
    arguments = parser.parse_args()
    {"prepare": prepare, "run": run}[arguments.what](arguments.folder)
