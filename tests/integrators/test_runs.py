"""Runs from outside: interrupts, progress, breakdowns, chunks, threads, agreement of methods."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import casadi as ca
import numpy as np
import pytest

from odes import KEPLER_START, explosive, held, kepler, make, make_events, oscillator, pendulum
from pliant.compute import Kernel
from pliant.integrators import METHODS, driver, solve

FIXED = ("rk4", "midpoint")
COMPILED = ["rk4", "midpoint", "dopri5", "dop853", "rodas5p"]


@pytest.fixture
def interruptible():
    """Ctrl-C arrives, even where the tests were started in the background, which makes shells ignore it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize("method", COMPILED)
@pytest.mark.usefixtures("interruptible")
def test_interrupt_keeps_what_was_computed(method):
    solve(pendulum(), (0, 0.1), [1.0, 0.0], method=method, step=0.01)  # compile before the clock starts
    timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    begin = time.perf_counter()
    run = solve(pendulum(), (0, 5e7), [1.0, 0.0], method=method, step=0.01, outputs=np.arange(0, 1e6, 10.0))
    waited = time.perf_counter() - begin
    assert run.status == "interrupted"
    assert waited < 1.5  # 0.3 s, a chunk of 0.15 s, and a slow machine
    assert 0 < run.t_end < 5e7
    assert len(run.t) == np.floor(run.t_end / 10.0) + 1
    assert np.isfinite(run.x).all()


def test_interrupt_inside_a_python_function():
    def law(t, x, p):
        if t > 1.0:
            raise KeyboardInterrupt

    run = solve(held(), (0, 10), [1.0], callback=law, n_callback=1, method="dopri5")
    assert run.status == "interrupted"
    assert 0.1 < run.t_end <= 1.0


@pytest.mark.usefixtures("interruptible")
@pytest.mark.parametrize("method", ["adams", "bdf"])
def test_interrupt_of_multistep_methods(method):
    def progress(t):
        if t >= 3.0:
            raise KeyboardInterrupt

    run = solve(pendulum(), (0, 10), [1.0, 0.0], method=method, progress=progress, outputs=np.linspace(0, 10, 101))
    assert run.status == "interrupted"
    assert run.t_end == 3.0
    assert len(run.t) == len(run.x) == 31


def test_progress_rises_to_the_end(monkeypatch):
    monkeypatch.setattr(driver, "CHUNK_SECONDS", 0.01)
    seen: list[float] = []
    solve(pendulum(), (0, 500.0), [1.0, 0.0], method="rk4", step=1e-3, progress=seen.append)
    assert len(seen) > 3
    assert (np.diff(seen) > 0).all()
    assert seen[-1] == 500.0


@pytest.mark.parametrize("method", COMPILED)
def test_chunks_do_not_change_a_bit(method, monkeypatch):
    crossing = make_events(lambda t, x, p: x[0], 4, terminal=False)
    step = 0.003 if method in FIXED else None
    runs = []
    for seconds in (10.0, 1e-9):  # one chunk; chunks of a few steps
        monkeypatch.setattr(driver, "CHUNK_SECONDS", seconds)
        runs.append(solve(kepler(), (0, 12), KEPLER_START, method=method, step=step, rtol=1e-9, events=crossing))
    for name in ("t", "x"):
        assert np.array_equal(getattr(runs[0], name), getattr(runs[1], name))
        assert np.array_equal(getattr(runs[0].events, name), getattr(runs[1].events, name))
    assert runs[0].stats.rhs == runs[1].stats.rhs


@pytest.mark.parametrize("method", [m for m in METHODS if m not in FIXED])
def test_explosion_is_reported_with_what_came_before(method):
    run = solve(explosive(), (0, 2), [1.0, 1.0, 0.0], method=method, rtol=1e-8)
    assert run.status == "failed"
    # x = 1/(1 - t): sundials stops at the chunk before, the others at the singularity
    assert 0.89 < run.failure.t < 1.0 + 1e-6
    assert run.t_end == run.failure.t
    assert len(run.t) > 10
    assert np.isfinite(run.x).all()
    if method not in ("adams", "bdf"):
        assert run.failure.index == 1
        assert run.failure.step < 1e-9
        assert "coordinate 1" in run.message


@pytest.mark.parametrize("method", FIXED)
def test_explosion_with_a_fixed_step(method):
    run = solve(explosive(), (0, 20), [1.0, 1.0, 0.0], method=method, step=0.01)
    assert run.status == "failed"
    assert run.failure.index == 1
    assert run.failure.step == pytest.approx(0.01)
    assert run.failure.t > 0.95
    assert np.isfinite(run.x).all()


@pytest.mark.parametrize("method", ["dopri5", "dop853", "rodas5p", *FIXED, "bdf"])
def test_a_run_ends_where_its_last_state_exceeds_the_ceiling(method):
    problem = replace(make(lambda t, x, p: ca.vertcat(x[0], 3 * x[1]), 2), ceiling=20.0)
    step = {"step": 0.01} if method in FIXED else {}
    run = solve(problem, (0, 5), [1.0, 1.0], method=method, **step)
    assert (run.status, run.failure.kind, run.failure.index) == ("failed", "runaway", 1)
    assert run.x_end[1] > 20.0
    assert np.log(20.0) / 3 < run.t_end < 1.5  # bdf is asked twenty times in a run
    assert (run.x[:-1, 1] < 20.0).all() or method == "bdf"


def closing(build):
    """A function [t, x, p] -> [x, moved, least] as a kernel."""
    t, x, p = ca.SX.sym("t"), ca.SX.sym("x", 2), ca.SX(0, 1)
    return Kernel(ca.Function("closing", [t, x, p], [ca.densify(ca.vertcat(*build(x)))]))


@pytest.mark.parametrize("method", COMPILED)
def test_every_step_ends_on_what_is_closed(method):
    """A point on the unit circle whose rate leads off it: behind each step it is brought back, and methods agree."""
    problem = make(lambda t, x, p: ca.vertcat(-x[1], x[0]) + 0.1 * x, 2)
    kernel = closing(lambda x: (x / ca.norm_2(x), ca.fabs(ca.norm_2(x) - 1), ca.SX(1)))
    step = {"step": 0.01} if method in FIXED else {}
    run = solve(replace(problem, closing=kernel.address, owner=(problem, kernel)), (0, 1), [1.0, 0.0], method=method,
                outputs=None, **step)  # fmt: skip
    np.testing.assert_allclose(np.hypot(*run.x.T), 1.0, rtol=1e-15)
    np.testing.assert_allclose(run.x[-1], [np.cos(1), np.sin(1)], atol=1e-4 if method in FIXED else 1e-6)


@pytest.mark.parametrize("method", COMPILED)
def test_what_cannot_be_closed_ends_the_run(method):
    problem = make(lambda t, x, p: ca.vertcat(-x[1], x[0]), 2)
    singular = closing(lambda x: (x, ca.SX(0), x[0] - 0.9))
    open_still = closing(lambda x: (x, ca.SX(1), ca.SX(1)))
    for kernel, latest in ((singular, 0.6), (open_still, 0.3)):
        closed = replace(problem, closing=kernel.address, owner=(problem, kernel))
        run = solve(closed, (0, 1), [1.0, 0.0], method=method, step=0.01 if method in FIXED else 0.1)
        assert (run.status, run.failure.kind) == ("failed", "singular")
        assert run.t_end < latest


def test_start_that_is_not_finite():
    problem = make(lambda t, x, p: 1 / x, 2)
    run = solve(problem, (0, 1), [1.0, 0.0], method="dopri5")
    assert run.status == "failed"
    assert (run.failure.kind, run.failure.index) == ("non-finite", 1)


def test_limit_of_steps():
    run = solve(pendulum(), (0, 1e6), [1.0, 0.0], method="dopri5", max_steps=500)
    assert (run.status, run.failure) == ("stopped", None)
    assert run.message == f"limit of 500 steps at t = {run.t_end:.6g} s"
    assert run.stats.steps + run.stats.rejected == 500


@pytest.mark.parametrize("method", COMPILED)
def test_rows_at_every_step_outgrow_the_first_buffer(method):
    run = solve(oscillator(), (0, 50.0), [1.0, 0.0], method=method, step=0.01)
    assert len(run.t) == run.stats.steps + 1 > 4000
    assert run.t[0] == 0.0
    assert run.t[-1] == 50.0
    assert (np.diff(run.t) > 0).all()


def test_nothing_to_integrate():
    run = solve(pendulum(), (1.0, 1.0), [1.0, 0.0])
    assert run.status == "finished"
    assert run.x.tolist() == [[1.0, 0.0]]


def test_energy_of_an_orbit_with_dop853():
    run = solve(kepler(), (0, 20 * np.pi), KEPLER_START, method="dop853", rtol=1e-12, atol=1e-12)
    energy = 0.5 * (run.x[:, 2:] ** 2).sum(axis=1) - 1 / np.hypot(run.x[:, 0], run.x[:, 1])
    # some hundred steps, each within 1e-12 of the size of the state
    assert np.abs(energy - energy[0]).max() < 2e-10
    assert run.x_end == pytest.approx(KEPLER_START, abs=1e-8)


@pytest.mark.parametrize(("method", "margin"), [("adams", 1e3), ("bdf", 1e3), ("rodas5p", 1e2), ("dopri5", 1e2)])
@pytest.mark.parametrize("rtol", [1e-6, 1e-9])
def test_methods_agree_with_dop853(method, margin, rtol):
    """Local tolerance becomes global error times the number of steps, a few hundred for the multistep methods."""
    rows = np.linspace(0, 5, 101)
    options = {"rtol": rtol, "atol": rtol, "outputs": rows}
    reference = solve(kepler(), (0, 5), KEPLER_START, method="dop853", rtol=1e-12, atol=1e-12, outputs=rows)
    run = solve(kepler(), (0, 5), KEPLER_START, method=method, **options)
    assert run.stats.method == method
    assert np.array_equal(run.t, rows)
    assert np.abs(run.x - reference.x).max() < margin * rtol


def test_coordinate_without_tolerance_is_not_controlled():
    """A fast oscillation that nobody asked for does not hold the steps back."""
    slow_fast = make(lambda t, x, p: ca.vertcat(-x[0], 1e3 * ca.cos(1e3 * t)), 2)
    free = solve(slow_fast, (0, 10), [1.0, 0.0], method="dop853", atol=[1e-10, np.inf])
    controlled = solve(slow_fast, (0, 10), [1.0, 0.0], method="dop853", atol=1e-10)
    assert free.stats.steps < controlled.stats.steps / 20
    assert free.x_end[0] == pytest.approx(np.exp(-10), abs=1e-8)


def test_many_threads_at_once():
    starts = np.linspace(0.5, 2.5, 16)

    def run(angle):
        return solve(pendulum(), (0, 50), [angle, 0.0], method="dop853").x_end

    alone = [run(a) for a in starts]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(run, starts))
    assert np.array_equal(alone, together)


def test_import_is_light():
    code = "import sys, pliant.integrators; print([m for m in ('llvmlite', 'scipy') if m in sys.modules])"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"
