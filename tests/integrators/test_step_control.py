"""The choice of steps, by its values; and what is written of it for CUDA."""

from __future__ import annotations

import ctypes
import math
import subprocess
from pathlib import Path

import casadi as ca
import numpy as np
import pytest

from cuda_shim import COMPILER, SHIM, FakeCupy
from pliant.algebra.tableaux import explicit
from pliant.compute import Kernel
from pliant.compute.cuda.text import Precision
from pliant.compute.tape.tape import Tape
from pliant.integrators import Problem, solve, step_control
from pliant.integrators.cuda import device_integrator
from pliant.integrators.cuda.c_functions import controller
from pliant.integrators.cuda.source import emit
from pliant.integrators.packs.pack import BatchIntegrator, TimeSegments
from pliant.integrators.step_control import exponents, first_step, next_step, scaled, step_ratio

ALPHA, BETA = exponents(5)


def test_ratios_of_steps() -> None:
    """err^-alpha times the error before to the beta, within limits; 1e-7 is what `power` leaves."""
    assert (pytest.approx(0.17), pytest.approx(0.04)) == (ALPHA, BETA)
    expected = 0.9 * 0.02**-ALPHA * 0.3**BETA
    assert step_ratio(0.02, 0.3, False, ALPHA, BETA) == pytest.approx(expected, rel=1e-6)
    assert step_ratio(0.02, 0.3, True, ALPHA, BETA) == 1.0  # behind a refusal
    assert step_ratio(1e-12, 1.0, False, ALPHA, BETA) == 8.0
    assert step_ratio(5.0, 1e-4, False, ALPHA, BETA) == pytest.approx(0.9 * 5.0**-ALPHA, rel=1e-6)
    assert step_ratio(1e9, 1.0, False, ALPHA, BETA) == 0.2
    assert step_ratio(math.inf, 1.0, False, ALPHA, BETA) == step_ratio(math.nan, 1.0, False, ALPHA, BETA) == 0.1


def test_a_step_that_was_cut_short_keeps_the_plan() -> None:
    assert next_step(0.1, 1.0, 2.0) == 1.0
    assert next_step(0.6, 1.0, 2.0) == 1.2
    assert next_step(1.0, 1.0, 0.5) == 0.5
    assert next_step(1.0, 1.0, 0.995) == 0.995  # not cut
    assert next_step(0.1, 1.0, 0.5) == 0.05  # refused all the same


def test_first_steps_and_scales() -> None:
    assert first_step(2.0, 4.0) == 0.005
    assert first_step(0.0, 4.0) == first_step(2.0, 0.0) == step_control.LEAST_FIRST
    assert scaled(-0.5, -4.0, 3.0, 0.1, 0.6) == pytest.approx(0.5 / (0.6 + 0.1 * 4.0))


@pytest.mark.skipif(COMPILER is None, reason="no C++ compiler on this machine")
def test_what_is_written_for_cuda_computes_the_same(tmp_path: Path) -> None:
    """To 1e-6: the C library's pow instead of ours."""
    code = f"""{SHIM}{controller(Precision("double"))}
    extern "C" double found(int which, double a, double b, double c) {{
        return which == 0 ? step_ratio(a, b, c > 0, {ALPHA}, {BETA}) : which == 1 ? next_step(a, b, c)
             : which == 2 ? first_step(a, b) : scaled(a, b, c, 0.1, 0.2);
    }}"""
    (tmp_path / "control.cpp").write_text(code)
    library = tmp_path / "control.so"
    command = [str(COMPILER), "-shared", "-fPIC", str(tmp_path / "control.cpp"), "-o", str(library)]
    subprocess.run(command, check=True)
    found = ctypes.CDLL(str(library)).found
    found.restype, found.argtypes = ctypes.c_double, [ctypes.c_int, *[ctypes.c_double] * 3]
    rng = np.random.default_rng(2)
    for a, b, c in [*(10.0 ** rng.uniform(-8, 3, size=(300, 3))), (math.inf, 1.0, 0.0), (math.nan, 1.0, 1.0)]:
        expected = (step_ratio(a, b, c > 0.01, ALPHA, BETA), next_step(a, b, c), first_step(a, b),
                    scaled(a, b, c, 0.1, 0.2))  # fmt: skip
        for which, value in enumerate(expected):
            given = (a, b, c - 0.01 if which == 0 else c)
            assert found(which, *given) == pytest.approx(value, rel=1e-6, nan_ok=True)


@pytest.mark.skipif(COMPILER is None, reason="no C++ compiler on this machine")
@pytest.mark.parametrize("stiffness", [100.0, pytest.param(1000.0, marks=pytest.mark.full)])
def test_single_runs_packs_and_threads_of_a_gpu_take_the_same_steps(monkeypatch, stiffness) -> None:
    """A mass that swings against a stiff wall: every contact is a refusal, and a new choice. Their first steps differ,
    so that contacts fall elsewhere into a step: 8 % of the refusals. One rule less in one of them is a third or more.
    """
    monkeypatch.setattr(device_integrator, "cupy", lambda: FakeCupy())
    t, x, none = ca.SX.sym("t"), ca.SX.sym("x", 2), (ca.SX.sym("w", 0), ca.SX.sym("p", 0))
    rate = ca.vertcat(x[1], -x[0] - stiffness * ca.fmax(x[0] - 0.5, 0))
    start, zero, held = np.array([[2.0, 0.0]]), np.zeros(1, int), (np.zeros((1, 1, 0)), np.zeros((1, 0)))
    plan, settings = TimeSegments(np.zeros(1), np.array([40.0]), zero, zero, zero), (1e-5, 1e-7, 40.0, 1e6)
    f, kernel = ca.Function("f", [t, x, *none], [rate]), Kernel(ca.Function("g", [t, x, none[1]], [rate]))
    problem = Problem(kernel.address, 2, 0, owner=kernel)
    run = solve(problem, (0.0, 40.0), start[0], method="dopri5", rtol=1e-5, atol=1e-7)
    packs = BatchIntegrator(f, explicit("dopri5"))(start.copy(), *held, plan, np.zeros((1, 1, 2)), np.array(settings))
    device = device_integrator.DeviceIntegrator(emit(Tape.from_function(f), explicit("dopri5")))
    _, threads = device(device.states(start), *held, plan, 1, settings)
    single = np.array([run.stats.steps, run.stats.rejected])
    assert single.min() > 50
    np.testing.assert_allclose(packs[0], single, rtol=0.15)
    np.testing.assert_allclose(threads[:, 0], packs[0], rtol=0.05)
