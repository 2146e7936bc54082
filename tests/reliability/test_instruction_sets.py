"""The same arm compiled for different processors: one evaluation and one run agree as docs/reliability.md says.

Each target has a process of its own, since `PLIANT_CPU` holds for a whole process.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest

import pliant
from pliant.compute.llvm.target import AGREEMENT, machine
from pliant.export.c.check import TOLERANCE
from pliant.export.typical_states import reference_states

RTOL, ATOL = 1e-8, 1e-10  # of `simulate`, by default
BETWEEN = {"x86_64": "x86-64-v3,-fma", "aarch64": "cortex-a53"}.get(machine().architecture, "generic")
"""AVX registers but no fused multiply-add: neither the baseline nor what most machines have."""
RUNS = {"two-link": (1.5, {"upper": 0.3, "fore": 0.2}), "spin-up": (1.0, None)}


QUICK = ("two-link", "spin-up")


def compute(path: str, quick: bool) -> None:
    """What a process of its own computes: accelerations of bundled arms and, unless `quick`, runs of two."""
    found: dict[str, np.ndarray] = {"target": np.array([machine().cpu, str(machine().width)])}
    for name in QUICK if quick else pliant.robot.arms():
        model = pliant.load(name).model()
        states = reference_states(model, 5)
        rows = zip(states["q"], states["qd"], states["tau"], strict=True)
        found[name] = np.array([model.forward_dynamics(*row) for row in rows])
    for name, (t_end, start) in ({} if quick else RUNS).items():
        run = pliant.simulate(pliant.load(name).model(), t_end, start, output_step=0.05, progress=False)
        assert run.t[-1] == t_end
        found[f"run {name}"] = np.hstack([run.q, run.qd])
    np.savez(path, **found)


CHILD = """
import sys
sys.path[:0] = {path!r}
from reliability.test_instruction_sets import compute
compute({to!r}, {quick})
"""


def results(cpu: str, quick: bool) -> dict[str, np.ndarray]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "results.npz"
        code = CHILD.format(path=[str(Path(__file__).parents[1])], to=str(path), quick=quick)
        environment = {**os.environ, "PLIANT_CPU": cpu}
        done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
        if "this machine's" in done.stderr:
            pytest.skip(done.stderr.strip().splitlines()[-1])
        assert done.returncode == 0, done.stderr
        with np.load(path) as file:
            return dict(file)


def condition(name: str) -> float:
    model = pliant.load(name).model()
    return max(float(np.linalg.cond(M)) for M in model.mass_matrix(reference_states(model, 5)["q"]))


@pytest.mark.parametrize(
    ("cpu", "quick"),
    [
        ("generic", True),
        pytest.param("generic", False, marks=pytest.mark.full),
        pytest.param(BETWEEN, False, marks=pytest.mark.full),
    ],
)
def test_targets_agree(cpu: str, quick: bool) -> None:
    here, there = results("", quick), results(cpu, quick)
    assert there["target"].tolist() == [cpu.split(",")[0], {"x86-64-v3,-fma": "4"}.get(cpu, "2")]
    differences, lines = [], []
    for name in QUICK if quick else pliant.robot.arms():
        scale = np.abs(here[name]).max(axis=1)
        differences.append(float((np.abs(there[name] - here[name]).max(axis=1) / scale).max()))
        lines.append(f"{name}: differs by {differences[-1]:.1e}, cond(M) = {condition(name):.1e}")
    assert max(differences) <= AGREEMENT, "\n".join(lines)
    for name in () if quick else RUNS:
        run, other = here[f"run {name}"], there[f"run {name}"]
        allowed = 10 * (RTOL * np.abs(run).max(axis=0) + ATOL)
        assert (np.abs(other - run).max(axis=0) <= allowed).all(), name


def test_exported_code_is_held_to_the_same_rule() -> None:
    assert TOLERANCE == AGREEMENT == 1e-11


LOOP = """
from pliant.integrators.step_loops.explicit_loop import run_explicit
from pliant.compute.llvm import llvm
made = llvm.object_code
def told(text, target, *options):
    print(target.cpu, target.features)
    return made(text, target, *options)
llvm.object_code, llvm.cache.read = told, lambda key: None
llvm.compiled_loop(run_explicit, watch=False)
"""


def test_stepping_loops_follow() -> None:
    environment = {**os.environ, "PLIANT_CPU": "generic"}
    said = subprocess.run([sys.executable, "-c", LOOP], env=environment, capture_output=True, text=True, check=True)
    assert said.stdout.strip() == f"generic {machine().named('generic').features}".strip()
