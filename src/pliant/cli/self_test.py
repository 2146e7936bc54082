"""Self-test of `pliant doctor`: short runs of everything that users run, in parts with names.

A part returns, or raises an exception of any kind if it fails; the others run all the same.
"""

from __future__ import annotations

import ast
import functools
import os
import tempfile
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, get_args
from unittest.mock import patch

import numpy as np
from numpy.typing import ArrayLike

from pliant.arrays import Array
from pliant.errors import PliantError
from pliant.options import BatchMethodName, ExportName, FormulationName, MethodName, PackedName

if TYPE_CHECKING:
    from pliant.compute.llvm.kernel import Kernel
    from pliant.model.model import Model

T_END, STEP = 0.1, 5e-5
"""Duration (s) of the runs, and the step of methods that do not choose their own."""
START, TORQUE = (-1.5, 0.1, 0.0, 0.0), (1.0, 0.5)
LIMIT = 1e-6
"""Largest error of a run, relative to its largest coordinate; the midpoint rule with this step has 1.2e-7."""
SMALL = 1e-14
"""Largest relative error of a sine and a sum, which differ by a few roundings between libraries."""
FORMULATIONS = 1e-9
"""Largest difference of formulations, relative to the largest acceleration."""


@dataclass(frozen=True)
class SelfCheck:
    """Result of one part; `passed` is None if it could not be tried, and the message says why."""

    name: str
    passed: bool | None
    message: str
    seconds: float


class NotHere(Exception):
    """A part needs something that this machine lacks and that pliant can do without."""


def run_checks() -> list[SelfCheck]:
    """Run every part."""
    _model.cache_clear()
    _reference.cache_clear()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return [_tried(name, part) for name, part in parts().items()]


def parts() -> dict[str, Callable[[], None]]:
    """Parts of the self-test, by name."""
    names = get_args(MethodName)
    runs = {f"simulate, {'default' if name == 'auto' else name}": functools.partial(_run, name) for name in names}
    batches = {f"batch of runs, {name}": functools.partial(_batch_of_runs, name) for name in get_args(PackedName)}
    exports = {f"export to {kind}": functools.partial(_export, kind) for kind in get_args(ExportName)}
    return {
        "formulations": _formulations,
        "virtual machine": _virtual_machine,
        "arrays of any layout": _layouts,
        "cache": _cache,
        "no cache": _no_cache,
        **runs,
        "simulate, torque by a Python function": _python_torque,
        "batch of states": _batch_of_states,
        **batches,
        **exports,
    }


def _tried(name: str, part: Callable[[], None]) -> SelfCheck:
    """Run one part."""
    begin = time.perf_counter()
    passed: bool | None = True
    message = ""
    try:
        part()
    except NotHere as error:
        passed, message = None, str(error)
    except Exception as error:  # this command reports any error
        passed, message = False, f"{type(error).__name__}: {error}"
    return SelfCheck(name, passed, message, time.perf_counter() - begin)


# ------------------------------------------------------------------------- one evaluation


@functools.cache
def _model(formulation: FormulationName = "denoc") -> Model:
    from pliant.model.robot import load

    return load("two-link").model(formulation)


def _state() -> tuple[Array, ...]:
    """Coordinates, rates and torques of one state."""
    return np.array([0.3, -0.4, 0.01, -0.02]), np.array([1.0, -2.0, 0.1, 0.2]), np.array([0.5, -0.3])


def _require(found: ArrayLike, expected: Array, limit: float, what: str) -> None:
    """Raise unless arrays agree to `limit` of the largest element; with a limit of zero, bit by bit."""
    difference = float(np.abs(np.asarray(found) - expected).max() / np.abs(expected).max())
    if not difference <= limit:
        raise PliantError(f"{what} differs by {difference:.1e}, expected at most {limit:.0e}")


def _formulations() -> None:
    ours, judge = (_model(name).forward_dynamics(*_state()) for name in ("denoc", "lagrange"))
    _require(ours, judge, FORMULATIONS, "denoc, compared with lagrange,")


def _virtual_machine() -> None:
    """Check CasADi's virtual machine, which runs where no machine code can be made."""
    from pliant.compute.llvm.kernel import Kernel
    from pliant.compute.llvm.target import AGREEMENT

    compiled = _model().kernel("forward_dynamics")
    _require(Kernel(compiled.function, "vm")(*_state()), compiled(*_state()), AGREEMENT, "CasADi's virtual machine")


def _layouts() -> None:
    """Check the fast call for plain arrays, and the call for all others."""
    model = _model()
    strided = [np.repeat(x, 2)[::2] for x in _state()]
    model.forward_dynamics(*_state())  # compiles, and makes the fast call
    expected = model.forward_dynamics(*_state())
    _require(model.forward_dynamics(*strided), expected, 0.0, "a strided array")
    _require(model.forward_dynamics(*map(list, _state())), expected, 0.0, "a list")


# ------------------------------------------------------------------------------ the cache


def _small_kernel() -> Kernel:
    import casadi as ca

    from pliant.compute.llvm.kernel import Kernel

    x = ca.SX.sym("x", 2)
    return Kernel(ca.Function("f", [x], [ca.sin(x) + x[0] * x[1]]))


def _require_small_kernel() -> None:
    _require(_small_kernel()(np.array([0.3, -1.2])), np.sin([0.3, -1.2]) - 0.36, SMALL, "a small kernel")


def _cache() -> None:
    """Check that a kernel is compiled, written, and found again."""
    with tempfile.TemporaryDirectory() as folder, patch.dict(os.environ, PLIANT_CACHE_DIR=folder):
        for _ in range(2):
            _require_small_kernel()
        if not _small_kernel().is_cached():
            raise PliantError("a kernel that was compiled is not found again in the cache")


def _no_cache() -> None:
    """Check that kernels run with a cache folder that cannot be made."""
    with tempfile.NamedTemporaryFile() as file, patch.dict(os.environ, PLIANT_CACHE_DIR=f"{file.name}/objects"):
        _require_small_kernel()


# ----------------------------------------------------------------------------------- runs


@functools.cache
def _reference() -> Array:
    """Coordinates of the arm after `T_END`, by SciPy."""
    from scipy.integrate import solve_ivp

    model = _model()
    n = model.n

    def rates(_: float, x: Array) -> Array:
        return np.concatenate([x[n:], model.forward_dynamics(x[:n], x[n:], np.array(TORQUE))])

    start = np.concatenate([START, np.zeros(n)])
    found: Array = solve_ivp(rates, (0.0, T_END), start, "DOP853", rtol=1e-10, atol=1e-12).y[:n, -1]
    return found


def _run(method: MethodName) -> None:
    from pliant.integrators.methods import has_fixed_steps
    from pliant.simulation.runs.simulation import simulate

    step = STEP if has_fixed_steps(method) else None
    run = simulate(_model(), T_END, START, torque=TORQUE, method=method, step=step, progress=False)
    _require(run.q[-1], _reference(), LIMIT, f"a run by {run.stats.method}, compared with SciPy's,")


def _python_torque() -> None:
    from pliant.simulation.runs.simulation import simulate

    run = simulate(_model(), T_END, START, torque=lambda t, q, qd: np.array(TORQUE), progress=False)
    _require(run.q[-1], _reference(), LIMIT, "a run with Python in the loop, compared with SciPy's,")


def _batch_of_states() -> None:
    """Check a batch of states against the same states one by one."""
    model, rng = _model(), np.random.default_rng(0)
    states = [rng.normal(size=(100, x.size)) for x in _state()]
    alone = np.array([model.forward_dynamics(*row) for row in zip(*states)])
    _require(model.forward_dynamics(*states), alone, 0.0, "a batch, compared with its states one by one,")


def _batch_of_runs(method: BatchMethodName) -> None:
    """Check a batch of runs in two threads."""
    from pliant.compute.llvm.threads import set_threads
    from pliant.integrators.methods import has_fixed_steps
    from pliant.simulation.batch.batch_run import simulate_batch

    step = STEP if has_fixed_steps(method) else None
    set_threads(2)
    try:
        batch = simulate_batch(
            _model(), T_END, np.tile(START, (20, 1)), torque=TORQUE, method=method, step=step, rtol=1e-8, atol=1e-10,
            progress=False,
        )  # fmt: skip
    finally:
        set_threads(None)
    _require(batch.q[:, -1], np.tile(_reference(), (20, 1)), LIMIT, "a batch of runs, compared with SciPy's,")


# -------------------------------------------------------------------------------- exports


def _export(kind: ExportName) -> None:
    """Check that an export is written, and can be read where Python can read it."""
    from pliant.export import export

    if kind == "fmu":
        _require_compiler()
    with tempfile.TemporaryDirectory() as folder:
        target = export(_model(), kind, Path(folder) / "arm")
        for module in target.glob("*.py"):
            ast.parse(module.read_text(encoding="utf-8"))
        for function in target.glob("forward_dynamics.casadi"):
            _compare_function(function)


def _require_compiler() -> None:
    from pliant.export.compiling import find_compiler

    try:
        find_compiler()
    except PliantError as error:
        raise NotHere(str(error)) from error


def _compare_function(path: Path) -> None:
    """Check an exported function by reading it again and evaluating it."""
    import casadi as ca

    from pliant.compute.llvm.target import AGREEMENT

    found = np.array(ca.Function.load(str(path))(*_state())).ravel()
    _require(found, _model().forward_dynamics(*_state()), AGREEMENT, "the exported function")
