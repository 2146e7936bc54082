"""Same inputs, same bits on one machine: alone or in a batch, one thread or two, now or later, compiled or found.

Kernels by themselves are held to this in tests/compute/llvm/test_bits.py; here are whole models and runs.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pliant
from pliant.batch import simulate_batch
from pliant.compute import set_threads
from pliant.control import LQR, PD, PID, ComputedTorque, Quintic, Sampled

from .calls import model

GOAL = Quintic([-1.5, 0.1], [-1.2, 0.3], 0.1)
Q = {"joints": 1.0, "rates": 0.1}
CONTROLLERS = {
    "none": None,
    "pid": PID(kp=50.0, ki=5.0, kd=5.0, reference=GOAL),
    "computed-torque": ComputedTorque(kp=100.0, kd=20.0, reference=GOAL),
    "lqr": LQR([-1.5, 0.1], Q, 1.0),
    "sampled": Sampled(PD(kp=50.0, kd=5.0, reference=GOAL), 5e-3),
}
METHODS = {"rk4": 1e-3, "midpoint": 1e-3, "dopri5": None, "dop853": None, "rodas5p": None, "auto": None}


def _run(m: pliant.Model, method: str = "dop853", controller: str = "none") -> bytes:
    step = METHODS[method]
    run = pliant.simulate(
        m, 0.05, {"upper": -1.5, "fore": 0.1}, torque=[1.0, 0.5], controller=CONTROLLERS[controller], method=method,
        step=step, progress=False,
    )  # fmt: skip
    parts = (run.t, run.q, run.qd, run.work, run.tau, run.energy.total, run.tip)
    return hashlib.sha256(b"".join(np.ascontiguousarray(part).tobytes() for part in parts)).digest()


def digest() -> str:
    """Everything below in one number; what a fresh process computes again."""
    m = pliant.load("two-link").model()
    parts = [_run(m, method) for method in METHODS] + [_run(m, controller=name) for name in CONTROLLERS]
    q = np.random.default_rng(0).normal(size=(50, 4)) * 0.1
    parts.append(simulate_batch(m, 0.02, q, step=1e-3).q.tobytes())
    parts.append(m.frequencies(q[0]).tobytes() + m.linearize(q[0]).A.tobytes())
    return hashlib.sha256(b"".join(parts)).hexdigest()


@pytest.fixture
def threads() -> Iterator[Any]:
    yield set_threads
    set_threads(None)


@pytest.mark.parametrize("method", METHODS)
def test_a_run_repeats_itself(method: str) -> None:
    """With the same model, and with another one made of the same robot."""
    first = _run(model(), method)
    assert _run(model(), method) == first
    assert _run(pliant.load("two-link").model(), method) == first


def test_functions_of_a_model_repeat_themselves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With an empty cache too: a new model, the same once more, and another that finds what was compiled."""
    monkeypatch.setenv("PLIANT_CACHE_DIR", str(tmp_path))
    q, qd = np.random.default_rng(3).normal(size=(2, 4))
    made = [pliant.load("two-link").replace({"payload.mass": 0.123}).model() for _ in range(2)]
    for name in ("energy", "momentum", "center_of_mass", "bias", "tip_pose"):
        arguments = (q,) if name in ("tip_pose", "center_of_mass") else (q, qd)
        found = [np.asarray(getattr(m, name)(*arguments)).tobytes() for m in (made[0], *made)]
        assert len(set(found)) == 1, name


@pytest.mark.slow_cases("computed-torque")
@pytest.mark.parametrize("controller", CONTROLLERS)
def test_a_controlled_run_repeats_itself(controller: str) -> None:
    assert _run(pliant.load("two-link").model(), controller=controller) == _run(model(), controller=controller)


def test_the_judge_sees_the_last_bit() -> None:
    m = pliant.load("two-link").replace({"payload.mass": 1e-15}).model()
    assert _run(m) != _run(model())


def test_one_state_or_many_one_thread_or_two(threads: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pliant.compute.llvm.threads.LEAST_SHARED", 0)
    rng = np.random.default_rng(1)
    q, qd, tau = rng.normal(size=(1001, 4)), rng.normal(size=(1001, 4)), rng.normal(size=(1001, 2))
    m = model()
    for name, arrays in {
        "forward_dynamics": (q, qd, tau), "bias": (q, qd), "mass_matrix": (q,), "tip_pose": (q,), "jacobian": (q,),
        "inverse_dynamics": (q, qd, qd),
    }.items():  # fmt: skip
        function = getattr(m, name)
        alone = np.array([function(*row) for row in zip(*arrays, strict=True)])
        for count in (1, 2):
            threads(count)
            assert np.array_equal(function(*arrays), alone), (name, count)
        assert np.array_equal(function(*(x[::-1].copy() for x in arrays)), alone[::-1]), name


@pytest.mark.parametrize("method", ["rk4", "dopri5"])
def test_batches_of_runs(threads: Any, method: str) -> None:
    """One thread or two, whole or in parts, in any order."""
    m, q = model(), np.random.default_rng(2).normal(size=(37, 4)) * 0.1
    options: dict[str, Any] = {"step": 1e-3, "method": method, "torque": [1.0, 0.5]}
    threads(1)
    whole = simulate_batch(m, 0.02, q, **options)
    threads(2)
    assert np.array_equal(simulate_batch(m, 0.02, q, **options).q, whole.q)
    assert np.array_equal(simulate_batch(m, 0.02, q[::-1].copy(), **options).q, whole.q[::-1])
    for part in (slice(0, 1), slice(5, 12), slice(36, 37)):
        assert np.array_equal(simulate_batch(m, 0.02, q[part], **options).q, whole.q[part])


FRESH = "import sys; sys.path[:0] = {path!r}; from reliability.test_determinism import digest; print(digest())"


@pytest.mark.full
def test_fresh_processes_with_cold_and_warm_caches(tmp_path: Path) -> None:
    """Cold compile, then object code from the disk, each in a process of its own, with other seeds of hashing."""
    here = digest()
    code = FRESH.format(path=[str(Path(__file__).parents[1])])
    for seed in ("0", "1"):
        environment = {**os.environ, "PLIANT_CACHE_DIR": str(tmp_path / "objects"), "PYTHONHASHSEED": seed}
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, env=environment, timeout=300
        )
        assert done.stdout.strip() == here, done.stderr
