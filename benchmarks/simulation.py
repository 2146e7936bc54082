"""Runs of the two-link arm against SciPy's loop on the same kernel; a stiff arm by two methods; the first result.

python -m benchmarks simulation [--quick]
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time

import numpy as np

import pliant
from pliant_bench.timing import best

START = np.array([-np.pi / 2, np.radians(5), 0, 0])
FIRST = "import pliant; m = pliant.load('two-link').model(stiffening='off'); pliant.simulate(m, 1.0, [-1.5, 0.1, 0, 0])"


def scipy_seconds(model: pliant.Model) -> float:
    """Two seconds by solve_ivp(DOP853, rtol 1e-9), each stage a call of the same compiled function."""
    from scipy.integrate import solve_ivp

    tau, f = np.zeros(2), model.forward_dynamics
    rhs = lambda t, x: np.concatenate([x[4:], f(x[:4], x[4:], tau)])  # noqa: E731
    x0 = np.concatenate([START, np.zeros(4)])
    return best(lambda: solve_ivp(rhs, (0, 2), x0, method="DOP853", rtol=1e-9, atol=1e-12), 2.0)


def stiff_arm() -> pliant.Model:
    """Two steel rods of 0.5 m, four elements each, that bend, twist and stretch: from 1 Hz to 20 kHz, damped by 1 %."""
    beam = {"length": 0.5, "material": "steel", "section": {"shape": "rod", "diameter": 0.012}}
    shapes = pliant.Shapes(method="elements", count=4, bending_y=True, torsion=True, axial=True, damping=0.01)
    links = [pliant.Link(name=name, beam=pliant.Beam(**beam), shapes=shapes) for name in ("upper", "fore")]
    return pliant.Robot(name="stiff arm", gravity=(0, -9.81, 0), links=links).model(stiffening="off")


def stiff(t_end: float) -> tuple[float, float, float]:
    """Seconds of dopri5 and of auto, compiled before, and the distance of their tips."""
    model = stiff_arm()
    q0 = model.equilibrium([-np.pi / 2, 0.1])
    runs = {}
    for method in ("rodas5p", "dopri5"):
        pliant.simulate(model, t_end / 100, q0, method=method)  # compile both loops and the exact Jacobian
    for method in ("auto", "dopri5"):
        begin = time.perf_counter()
        run = pliant.simulate(model, t_end, q0, method=method, rtol=1e-6, atol=1e-8, output_step=t_end / 200)
        runs[method] = (time.perf_counter() - begin, run.tip, run.stats.method)
    return runs["dopri5"][0], runs["auto"][0], float(np.abs(runs["auto"][1] - runs["dopri5"][1]).max())


def first_result(cache: str) -> float:
    """Seconds of a fresh process from import to a finished run."""
    env = {**os.environ, "PLIANT_CACHE_DIR": cache}
    begin = time.perf_counter()
    subprocess.run([sys.executable, "-c", FIRST], check=True, env=env)
    return time.perf_counter() - begin


def main(quick: bool = False) -> None:
    """Print the tables."""
    model = pliant.load("two-link").model(stiffening="off")
    ours = best(lambda: pliant.simulate(model, 2.0, START, method="rk4", step=1e-4), 2.0)
    theirs = scipy_seconds(model)
    print(f"two-link, 2 s: rk4 at 0.1 ms {ours * 1e3:.1f} ms; SciPy {theirs * 1e3:.0f} ms; ratio {theirs / ours:.1f}")
    slow, fast, apart = stiff(0.05 if quick else 5.0)
    print(f"stiff arm: dopri5 {slow:.2f} s, auto {fast:.2f} s, ratio {slow / fast:.1f}, tips {apart:.1e} m apart")
    with tempfile.TemporaryDirectory() as cache:
        cold = first_result(cache)
        warm = min(first_result(cache) for _ in range(3))
    print(f"first result in a fresh process: {cold:.1f} s with empty caches, {warm:.1f} s with warm ones")
