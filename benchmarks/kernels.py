"""Kernels of four sizes: compile, reload, one state, one checked call, a batch.

    python benchmarks/kernels.py [--quick]

Compile and reload are seconds of processor time, each done once; every other time is the smallest of many short runs,
so that other work on the machine shows least. The tapes are the forward dynamics of rigid serial arms by articulated
bodies, written without any of pliant's own dynamics.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Callable

import casadi as ca
import numpy as np

os.environ["PLIANT_CACHE_DIR"] = tempfile.mkdtemp(prefix="pliant-bench-")

from pliant.compute import Kernel, set_threads
from pliant.compute.llvm import cache
from pliant.compute.llvm.llvm import compiled_loop
from pliant_bench.compiled_call import repeat
from pliant_bench.timing import best

JOINTS = (3, 6, 22, 192)  # about 250, 1,000, 6,500 and 65,000 instructions
STATES = 4096
AXIS = ca.DM([0, 0, 1, 0, 0, 0])


def skew(w: ca.SX) -> ca.SX:
    return ca.blockcat([[0, -w[2], w[1]], [w[2], 0, -w[0]], [-w[1], w[0], 0]])


def motion_cross(v: ca.SX) -> ca.SX:
    return ca.blockcat([[skew(v[:3]), ca.SX(3, 3)], [skew(v[3:]), skew(v[:3])]])


def transform(q: ca.SX, i: int) -> ca.SX:
    """Motion transform of joint i: 1 m links, axes alternately parallel and at right angles."""
    c, s = ca.cos(q), ca.sin(q)
    R = ca.blockcat([[c, s, 0], [-s, c, 0], [0, 0, 1]])
    if i % 2:
        R = R @ ca.SX(ca.DM([[1, 0, 0], [0, 0, 1], [0, -1, 0]]))
    return ca.blockcat([[R, ca.SX(3, 3)], [-R @ skew(ca.SX(ca.DM([1, 0, 0]))), R]])


def arm(n: int) -> ca.Function:
    """Forward dynamics of n links by articulated bodies."""
    q, qd, tau = (ca.SX.sym(name, n) for name in ("q", "qd", "tau"))
    c = skew(ca.SX(ca.DM([0.5, 0, 0])))
    inertia = ca.blockcat([[ca.diag([0.02, 0.11, 0.12]) + c @ c.T, c], [c.T, ca.SX.eye(3)]])
    X = [transform(q[i], i) for i in range(n)]
    I, p, bias, v = [inertia] * n, [], [], ca.SX.zeros(6)
    for i in range(n):
        v = X[i] @ v + AXIS * qd[i]
        bias.append(motion_cross(v) @ (AXIS * qd[i]))
        p.append(-motion_cross(v).T @ (inertia @ v))
    U, w, u = [ca.SX()] * n, [ca.SX()] * n, [ca.SX()] * n
    for i in reversed(range(n)):
        U[i] = I[i] @ AXIS
        w[i], u[i] = 1 / U[i][2], tau[i] - p[i][2]
        if i:
            Ia = I[i] - (U[i] * w[i]) @ U[i].T
            pa = p[i] + Ia @ bias[i] + U[i] * (u[i] * w[i])
            I[i - 1] = I[i - 1] + ca.tril2symm(ca.tril(X[i].T @ Ia @ X[i]))
            p[i - 1] = p[i - 1] + X[i].T @ pa
    a, qdd = ca.SX(ca.DM([0, 0, 0, 0, 0, 9.81])), []
    for i in range(n):
        a = X[i] @ a + bias[i]
        qdd.append((u[i] - ca.dot(U[i], a)) * w[i])
        a = a + AXIS * qdd[i]
    return ca.Function(f"arm{n}", [q, qd, tau], [ca.vertcat(*qdd)], ["q", "qd", "tau"], ["qdd"])


def processor_time(run: Callable[[], object]) -> float:
    """Seconds that this process computed."""
    start = time.process_time()
    run()
    return time.process_time() - start


def measure(n: int, seconds: float) -> dict[str, float]:
    f, loop = arm(n), compiled_loop(repeat)
    rng = np.random.default_rng(n)
    q, qd, tau = rng.normal(size=(3, n))
    batch = [rng.normal(size=(STATES, n)) for _ in range(3)]
    row: dict[str, float] = {"joints": n}
    single, many = Kernel(f), Kernel(f)
    row["compile s"] = processor_time(lambda: single.address)
    row["compile batch s"] = processor_time(lambda: many(*batch))
    row["reload ms"] = 1e3 * processor_time(lambda: Kernel(f).address)
    expected = Kernel(f, "vm")(q, qd, tau)
    np.testing.assert_allclose(single(q, qd, tau), expected, rtol=1e-8, atol=1e-8 * np.abs(expected).max())
    row["instructions"] = len(single.tape)

    given, found = np.concatenate([q, qd, tau]), np.empty(n)
    count = max(1, 3_000_000 // len(single.tape) // 10)
    places = given.ctypes.data, found.ctypes.data
    loop(single.address, *places, 1)
    row["kernel ns"] = 1e9 / count * best(lambda: loop(single.address, *places, count), seconds)

    def calls(function: Callable[..., object]) -> float:
        def run() -> None:
            for _ in range(count):
                function(q, qd, tau)

        return 1e9 / count * best(run, seconds)

    row["call ns"] = calls(single)
    row["fast call ns"] = calls(single.fast)
    for threads in (1, 2):
        set_threads(threads)
        run = min(STATES, max(64, 20_000_000 // len(single.tape)))
        part = [x[:run] for x in batch]
        row[f"batch ns/state, {threads} thr"] = 1e9 / run * best(lambda part=part: many(*part), seconds)
    set_threads(None)
    return row


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="the two small tapes, few repeats")
    quick = parser.parse_args().quick
    rows = [measure(n, 0.1 if quick else 0.5) for n in (JOINTS[:2] if quick else JOINTS)]
    for name in rows[0]:
        print(f"{name:24}" + "".join(f"{row[name]:>12.4g}" for row in rows))
    cache.clear()


if __name__ == "__main__":
    sys.exit(main())
