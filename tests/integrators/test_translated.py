"""The stepping loops as machine code against the same loops run by Python."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

from odes import make_events, pendulum
from pliant.compute.compiled_loops.translate import Module
from pliant.compute.llvm import llvm
from pliant.integrators import methods as steppers
from pliant.integrators import solve

METHODS = [("rk4", {"step": 0.05}), ("dopri5", {}), ("dop853", {}), ("rodas5p", {}), ("midpoint", {"step": 0.05})]


def by_python(loop, watch):
    return lambda address, budget: loop(address, budget, watch)


def unfused(loop, watch):
    """Machine code with no freedom in its arithmetic, for the machine has no other word for x y + z than Python."""
    module = Module(flags="")
    module.entry("loop", loop, watch=watch)
    code = llvm.compile_text("", "loop", module.text())
    found = ctypes.CFUNCTYPE(*[ctypes.c_int64] * 3)(code.address)
    found.code = code
    return found


@pytest.mark.parametrize("events", [False, True])
@pytest.mark.parametrize(("method", "options"), METHODS, ids=[name for name, _ in METHODS])
def test_machine_code_has_the_bits_of_python(monkeypatch, method, options, events) -> None:
    watched = make_events(lambda t, x, p: x[0] - 0.3, 2, terminal=[False]) if events else None
    runs = []
    for form in (by_python, unfused):
        monkeypatch.setattr(steppers, "compiled_loop", form)
        runs.append(
            solve(pendulum(), (0.0, 1.5), [1.0, 0.1], method=method, rtol=1e-6, atol=1e-8, events=watched,
                  outputs=np.linspace(0, 1.5, 8), breaks=[0.7], **options)
        )  # fmt: skip
    plain, translated = runs
    assert plain.status == translated.status == "finished"
    np.testing.assert_array_equal(plain.x, translated.x)
    np.testing.assert_array_equal(plain.events.t, translated.events.t)
    assert (len(plain.events.t) > 0) == events
    assert (plain.stats.steps, plain.stats.rejected, plain.stats.rhs) == (
        translated.stats.steps, translated.stats.rejected, translated.stats.rhs,
    )  # fmt: skip
