"""The loop that goes back through a run, as machine code against the same loop run by Python, one lane at a time."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import casadi as ca
import numpy as np
import pytest

from pliant.algebra.tableaux import explicit
from pliant.compute.compiled_loops.primitives import table
from pliant.compute.llvm.target import machine
from pliant.errors import ModelError
from pliant.integrators.packs import adjoint, adjoint_loop
from pliant.integrators.packs.adjoint import AdjointIntegrator, Adjoints, Differentiated, block_length
from pliant.integrators.packs.adjoint_loop import AdjointForm, AdjointJob, run_adjoints
from pliant.integrators.packs.pack import TimeSegments

PLAN = TimeSegments(np.array([0.0, 0.4]), np.array([0.1, 0.05]), np.array([4, 6]), np.array([-1, 0]), np.array([1, 0]))


def oscillator() -> Differentiated:
    """Van der Pol's with a force that grows in time: sums and products alone, which have one rounding each."""
    t, x, w, p, v = (ca.SX.sym(*named) for named in (("t",), ("x", 2), ("w", 1), ("p", 1), ("v", 2)))
    f = ca.vertcat(x[1], (p * (1 - x[0] * x[0])) * x[1] - x[0] + w * t)
    by_x = ca.vertcat(v[1] * (-((2 * p) * x[0]) * x[1] - 1), v[0] + v[1] * (p * (1 - x[0] * x[0])))
    product = ca.vertcat(by_x, v[1] * t, v[1] * ((1 - x[0] * x[0]) * x[1]))
    np.testing.assert_array_equal(ca.simplify(ca.jtimes(f, ca.vertcat(x, w, p), v, True)).shape, product.shape)
    ending = ca.vertcat(x[0] * x[1] + p * p, x[1], x[0], 2 * p)
    functions = [ca.Function("f", [t, x, w, p], [f]), ca.Function("g", [t, x, w, p, v], [product])]
    return Differentiated(*functions, ca.Function("e", [t, x, w, p], [ending]), 1, 1)


def by_python(monkeypatch: Any, run: Differentiated, x: Any, w: Any, p: Any, block: int) -> Adjoints:
    """The loop as it stands."""

    def stand_in(function: ca.Function, count: int) -> Any:
        def call(inp: Any, out: Any, work: Any) -> None:
            sizes = np.cumsum([0, 1, 2, 1, 1, 2])[: function.n_in() + 1]
            values = function(*([inp[k] for k in range(a, b)] for a, b in pairwise(sizes)))
            for k, value in enumerate(np.array(values).ravel()):
                out[k] = float(value)

        return call

    form = AdjointForm(explicit("rk4"), 2, 1, 1, 0, 1, True, (), by_w=1, by_p=1)
    steps, B = int(PLAN.count.sum()), len(x)
    blocks = -(-steps // block)
    begin = np.array([0, 4, 10])
    segment = np.searchsorted(begin, np.arange(0, steps, block), side="right") - 1
    scratch = np.zeros(form.starts[-1] + block * form.step_rows + blocks * 2 + 1)
    found = Adjoints(np.zeros(B), np.zeros((B, 2)), np.zeros((B, 2)), np.zeros((B, 2, 1)), np.zeros((B, 1)))
    early, late = PLAN.sides()
    end = np.array([0.7])
    job = table(
        AdjointJob(
            x, w, 2, p, 1, PLAN.t, PLAN.h, early, late, begin, PLAN.piece, 2, end, block, blocks, segment, found.value,
            found.end, found.by_x, found.by_w, 2, found.by_p,
        )
    )  # fmt: skip
    with monkeypatch.context() as patch:
        patch.setattr(adjoint_loop, "body", stand_in(run.rates, 2))
        patch.setattr(adjoint_loop, "product", stand_in(run.product, 4))
        patch.setattr(adjoint_loop, "ending", stand_in(run.ending, 4))
        run_adjoints(job.ctypes.data, scratch.ctypes.data, 0, B, form)
    return found


@pytest.mark.parametrize("block", [10, 3, 1])
def test_packs_have_the_bits_of_python(monkeypatch, block: int, rng) -> None:
    x, w, p = rng.normal(size=(5, 2)), rng.normal(size=(5, 2, 1)), rng.uniform(0.5, 2, size=(5, 1))
    run = oscillator()
    expected = by_python(monkeypatch, run, x, w, p, block)
    monkeypatch.setattr(adjoint, "machine", lambda: replace(machine(), fma=False))
    for width in (1, 4):
        found = AdjointIntegrator(run, explicit("rk4"), width)(x, w, p, PLAN, 0.7, block)
        for name in ("value", "end", "by_x", "by_w", "by_p"):
            np.testing.assert_array_equal(getattr(found, name), getattr(expected, name), name)
    assert np.abs(expected.by_w).min() > 0


def test_blocks_of_the_root_of_the_steps() -> None:
    assert [block_length(steps, 4) for steps in (1, 4, 400, 40_000)] == [1, 1, 10, 100]


def test_columns_are_checked() -> None:
    run = oscillator()
    with pytest.raises(ModelError, match=r"got columns of \(4, 4\) entries, expected \(5, 4\)"):
        Differentiated(run.rates, run.product, run.ending, 2, 1)
